//! Prometheus metrics of a subscriber.

use crate::distribution::{DistributionMetrics, Latencies};
use std::time::{Duration, Instant};
use tickwire_distribution::{Ledger, TopicSet};
use tickwire_telemetry::metrics::{Counter, Metrics};

/// Minimum time between two publications.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// Counters and distributions of a subscriber.
pub struct SubscribeMetrics {
    all: Metrics,
    received: Vec<Counter>,
    duplicates: Counter,
    times: DistributionMetrics,
    published: Instant,
}

impl SubscribeMetrics {
    /// Registers the metrics.
    pub fn new(sets: &[TopicSet]) -> Self {
        let all = Metrics::new();
        let received = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.counter("subscribe_received_samples", "Samples received", &labels)
        };
        let help = "Samples repeated or out of order";
        Self {
            received: sets.iter().map(received).collect(),
            duplicates: all.counter("subscribe_duplicate_samples", help, &[]),
            times: DistributionMetrics::new(&all, "subscribe"),
            published: Instant::now(),
            all,
        }
    }

    /// Returns the set of metrics.
    pub fn all(&self) -> &Metrics {
        &self.all
    }

    /// Publishes the counts, unless less than [`PUBLISH_EVERY`] has passed since the last time.
    pub fn publish(&mut self, ledger: &Ledger, latencies: &Latencies) {
        if self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let publishers = ledger.publishers();
        for (set, counter) in self.received.iter().enumerate() {
            counter.set(publishers.iter().map(|one| one.samples[set]).sum());
        }
        self.duplicates.set(publishers.iter().map(|one| one.duplicates).sum());
        self.times.publish(latencies);
    }
}
