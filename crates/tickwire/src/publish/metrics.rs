//! Prometheus metrics of a publisher.

use super::engine::Publishing;
use crate::distribution::DistributionMetrics;
use tickwire_distribution::TopicSet;
use tickwire_telemetry::metrics::{Counter, Metrics};

/// Counters and distributions of a publisher, beside those of its feed.
pub struct PublishMetrics {
    all: Metrics,
    written: Vec<Counter>,
    dropped: Counter,
    stalled: Counter,
    refused: Counter,
    times: DistributionMetrics,
}

impl PublishMetrics {
    /// Registers the metrics.
    pub fn new(sets: &[TopicSet]) -> Self {
        let all = Metrics::new();
        let written = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.counter("publish_written_samples", "Samples written", &labels)
        };
        let counter = |name, help| all.counter(name, help, &[]);
        Self {
            written: sets.iter().map(written).collect(),
            dropped: counter(
                "publish_dropped_samples",
                "Samples dropped: a subscriber's buffer stayed full",
            ),
            stalled: counter("publish_stalled_writes", "Writes that had to wait for a subscriber"),
            refused: counter("publish_refused_messages", "Messages with values no sample can hold"),
            times: DistributionMetrics::new(&all, "publish"),
            all,
        }
    }

    /// The metrics of the publisher and its feed.
    pub fn all(&self) -> &Metrics {
        &self.all
    }

    /// Publishes the current counts.
    pub fn publish(&self, publishing: &Publishing) {
        self.refused.set(publishing.counters().refused);
        if let Some(publisher) = publishing.publisher() {
            let counters = publisher.counters();
            for (counter, count) in self.written.iter().zip(&counters.written) {
                counter.set(*count);
            }
            self.dropped.set(counters.dropped);
            self.stalled.set(counters.stalls);
        }
        self.times.publish(publishing.latencies());
    }
}
