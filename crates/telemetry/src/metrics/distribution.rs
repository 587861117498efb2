//! Distributions of times.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hdrhistogram::Histogram;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

use tickwire_host::histogram;

/// Upper bounds of the exported buckets, in nanoseconds.
const BOUNDS_NS: [u64; 25] = [
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
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Labels of exemplars; buckets have no exemplars.
type NoExemplar = [(&'static str, &'static str); 0];

/// A distribution that other threads can read. Clones share the same data.
#[derive(Clone, Debug)]
pub struct Distribution {
    times: Arc<Mutex<Histogram<u64>>>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { times: Arc::new(Mutex::new(histogram::latency())) }
    }
}

impl Distribution {
    fn lock(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the published times by all times that a thread has recorded so far, in nanoseconds. If the distribution
    /// is being read, it does nothing instead of waiting; the next call then publishes.
    pub fn publish(&self, times: &Histogram<u64>) {
        let mut shared = match self.times.try_lock() {
            Ok(shared) => shared,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        shared.reset();
        // Fails only for histograms with other bounds, and this crate has only one kind.
        let _ = shared.add(times);
    }

    /// Returns a copy of the times published last. A thread that publishes at the same moment skips that publication.
    pub fn copy(&self) -> Histogram<u64> {
        self.lock().clone()
    }

    /// Records one time in nanoseconds. Only for threads that may wait for a lock.
    pub fn record(&self, time_ns: u64) {
        histogram::record(&mut self.lock(), time_ns);
    }
}

impl TypedMetric for Distribution {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Distribution {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let times = self.lock();
        let mut buckets = Vec::with_capacity(BOUNDS_NS.len() + 1);
        let mut below = 0;
        for bound_ns in BOUNDS_NS {
            let count = times.count_between(below, bound_ns);
            buckets.push((bound_ns as f64 / 1e9, count));
            below = bound_ns + 1;
        }
        buckets.push((f64::INFINITY, times.count_between(below, u64::MAX)));
        let sum = times.mean() * times.len() as f64 / 1e9;
        encoder.encode_histogram::<NoExemplar>(sum, times.len(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_does_not_wait_for_a_reader() {
        let (distribution, mut times) = (Distribution::default(), histogram::latency());
        histogram::record(&mut times, 5);
        let reader = distribution.lock();
        distribution.publish(&times);
        assert_eq!(reader.len(), 0);
        drop(reader);
        distribution.publish(&times);
        assert_eq!(distribution.lock().len(), 1);
    }
}
