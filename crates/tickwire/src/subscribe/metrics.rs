//! What a subscriber counts, for Prometheus.

use super::ledger::Ledger;
use crate::distribution::{DistributionMetrics, Kind, Latencies};
use std::time::{Duration, Instant};
use tickwire_telemetry::metrics::{Counter, Metrics};

/// Least time between two publications.
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
    /// Names them all.
    pub fn new() -> Self {
        let all = Metrics::new();
        let received = |kind: Kind| {
            let labels = [("kind", kind.name())];
            all.counter("subscribe_received_samples", "Samples received", &labels)
        };
        let help = "Samples that came again or out of order";
        Self {
            received: Kind::ALL.into_iter().map(received).collect(),
            duplicates: all.counter("subscribe_duplicate_samples", help, &[]),
            times: DistributionMetrics::new(&all, "subscribe"),
            published: Instant::now(),
            all,
        }
    }

    /// The set.
    pub fn all(&self) -> &Metrics {
        &self.all
    }

    /// Publishes the counts, unless that was done a moment ago.
    pub fn publish(&mut self, ledger: &Ledger, latencies: &Latencies) {
        if self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let publishers = ledger.publishers();
        for (kind, counter) in self.received.iter().enumerate() {
            counter.set(publishers.iter().map(|one| one.samples.0[kind]).sum());
        }
        self.duplicates.set(publishers.iter().map(|one| one.duplicates).sum());
        self.times.publish(latencies);
    }
}
