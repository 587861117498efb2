//! Histograms of times.

use hdrhistogram::Histogram;

/// A histogram of times in nanoseconds.
pub struct Times(Histogram<u64>);

impl Times {
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("valid bounds"))
    }

    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }

    pub fn quantile(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }
}

/// Returns the median.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}
