//! Distributions of times in the form of the API.

use hdrhistogram::Histogram;
use tickwire_host::histogram;
use tickwire_telemetry::metrics::Distribution;

use crate::state::Quantiles;

/// Upper bounds of the buckets of histograms and heat maps, in nanoseconds; one more bucket holds all times above.
pub const BOUNDS_NS: [u64; 22] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
];

/// Returns the quantiles of a distribution; all 0 if it is empty.
pub(crate) fn quantiles(times: &Histogram<u64>) -> Quantiles {
    let summary = histogram::LatencySummary::from(times);
    Quantiles {
        count: summary.count,
        p50_ns: summary.p50_ns,
        p99_ns: summary.p99_ns,
        p999_ns: summary.p999_ns,
        max_ns: summary.max_ns,
    }
}

/// Returns the counts of the buckets: one for each bound, and one above the last.
pub(crate) fn buckets(times: &Histogram<u64>) -> Vec<u64> {
    let mut counts = vec![0; BOUNDS_NS.len() + 1];
    for recorded in times.iter_recorded() {
        let value = recorded.value_iterated_to();
        let at = BOUNDS_NS.partition_point(|bound| *bound < times.lowest_equivalent(value));
        if let Some(count) = counts.get_mut(at) {
            *count += recorded.count_at_value();
        }
    }
    counts
}

/// A distribution, and the part of it that the last second added.
#[derive(Debug)]
pub(crate) struct LatencyWatch {
    distribution: Distribution,
    now: Histogram<u64>,
    second: Histogram<u64>,
    /// Quantiles of all times, computed once a second rather than for each state.
    quantiles: Quantiles,
    buckets: Vec<u64>,
}

impl LatencyWatch {
    pub(crate) fn new(distribution: Distribution) -> Self {
        let (now, second) = (histogram::latency(), histogram::latency());
        let (quantiles, buckets) = (quantiles(&now), buckets(&now));
        Self { distribution, now, second, quantiles, buckets }
    }

    /// Reads the distribution again; the times added since the last call are those of the last second.
    pub(crate) fn end_second(&mut self) {
        let now = self.distribution.copy();
        self.second.clone_from(&now);
        if self.second.subtract(&self.now).is_err() {
            // Counts never fall, except that a distribution was reset: then all its times are new.
            self.second.clone_from(&now);
        }
        self.now = now;
        self.quantiles = quantiles(&self.now);
        self.buckets = buckets(&self.now);
    }

    /// Quantiles of all times.
    pub(crate) const fn quantiles(&self) -> Quantiles {
        self.quantiles
    }

    /// Counts of all times between the bounds.
    pub(crate) fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// Returns the times of the last second.
    pub(crate) const fn second(&self) -> &Histogram<u64> {
        &self.second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_is_not_above_their_bounds() {
        let mut times = histogram::latency();
        for time_ns in [1, 100, 101, 1_000_000_000, 30_000_000_000] {
            histogram::record(&mut times, time_ns);
        }
        let counts = buckets(&times);
        assert_eq!((counts[0], counts[1], counts[21], counts[22]), (2, 1, 1, 1));
        assert_eq!(counts.iter().sum::<u64>(), times.len());
    }

    #[test]
    fn a_second_has_what_came_in_it() {
        let distribution = Distribution::default();
        let mut watched = LatencyWatch::new(distribution.clone());
        distribution.record(100);
        watched.end_second();
        distribution.record(200);
        distribution.record(200);
        watched.end_second();
        assert_eq!((watched.quantiles().count, watched.second().len()), (3, 2));
        assert_eq!(watched.buckets().iter().sum::<u64>(), 3);
        assert_eq!(quantiles(watched.second()).p50_ns, 200);
        watched.end_second();
        assert_eq!(quantiles(watched.second()), Quantiles::default());
    }
}
