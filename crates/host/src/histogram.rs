//! Distributions of times, in nanoseconds.

use hdrhistogram::Histogram;

/// Longest time that is recorded exactly, in nanoseconds: one minute.
pub const LONGEST_NS: u64 = 60_000_000_000;

/// Number of significant digits.
const DIGITS: u8 = 3;

/// Returns an empty distribution of times from 1 ns to [`LONGEST_NS`] with three significant
/// digits. It has a constant size of about 220 KiB.
pub fn latency() -> Histogram<u64> {
    match Histogram::new_with_bounds(1, LONGEST_NS, DIGITS) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("constant bounds in order: {error:?}"),
    }
}

/// Records a time. 0 counts as 1 ns, and longer times count as [`LONGEST_NS`].
pub fn record(histogram: &mut Histogram<u64>, time_ns: u64) {
    histogram.saturating_record(time_ns.clamp(1, LONGEST_NS));
}

/// The figures of a distribution for tables, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of recorded times.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stdev_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl From<&Histogram<u64>> for LatencySummary {
    fn from(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: histogram.len(),
            mean_ns: histogram.mean(),
            stdev_ns: histogram.stdev(),
            p50_ns: histogram.value_at_quantile(0.5),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_the_bounds_count_as_the_bounds() {
        let mut histogram = latency();
        for time_ns in [0, 1, u64::MAX] {
            record(&mut histogram, time_ns);
        }
        assert_eq!(histogram.len(), 3);
        assert_eq!(histogram.min(), 1);
        assert!(histogram.max() >= LONGEST_NS);
    }

    #[test]
    fn a_summary_tells_the_distribution() {
        let mut histogram = latency();
        (1..=1000).for_each(|time_ns| record(&mut histogram, time_ns));
        let summary = LatencySummary::from(&histogram);
        assert_eq!((summary.count, summary.p50_ns, summary.p99_ns), (1000, 500, 990));
        assert_eq!((summary.p999_ns, summary.max_ns), (999, 1000));
        assert!((summary.mean_ns - 500.5).abs() < 1.0 && (summary.stdev_ns - 288.7).abs() < 1.0);
        assert_eq!(LatencySummary::from(&latency()), LatencySummary::default());
    }
}
