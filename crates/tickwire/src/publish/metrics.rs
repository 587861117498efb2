//! Metrics of a publisher, for Prometheus and the monitor.

use super::engine::{DECODE, PUBLISHED, Publishing};
use crate::distribution::{BusMonitor, DistributionMetrics};
use tickwire_distribution::TopicSet;
use tickwire_monitor::{BusFacts, BusRole, MessageTimes, MonitorBuilder, TopicFacts};
use tickwire_telemetry::metrics::{Counter, Metrics};

/// Counters and distributions of a publisher, beside those of its feed.
pub struct PublishMetrics {
    all: Metrics,
    written: Vec<Counter>,
    dropped: Counter,
    stalled: Counter,
    refused: Counter,
    times: DistributionMetrics,
    monitor: Option<BusMonitor>,
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
            monitor: None,
            all,
        }
    }

    /// The metrics of the publisher and its feed.
    pub fn all(&self) -> &Metrics {
        &self.all
    }

    /// Times to decode and to publish a message.
    pub fn message_times(&self) -> MessageTimes {
        let publish = Some(self.times.of(PUBLISHED));
        MessageTimes { decode: self.times.of(DECODE), books: None, publish }
    }

    /// Adds the topics to a monitor.
    pub fn tell_monitor(
        &mut self,
        builder: &mut MonitorBuilder,
        transport: &str,
        sets: &[TopicSet],
    ) {
        self.monitor = Some(BusMonitor::new(builder, BusRole::Publisher, transport, sets));
    }

    /// Publishes the current counts.
    pub fn publish(&mut self, publishing: &Publishing) {
        let refused = publishing.counters().refused;
        self.refused.set(refused);
        if let Some(publisher) = publishing.publisher() {
            let counters = publisher.counters();
            for (counter, count) in self.written.iter().zip(&counters.written) {
                counter.set(*count);
            }
            self.dropped.set(counters.dropped);
            self.stalled.set(counters.stalls);
            if let Some(monitor) = &mut self.monitor {
                // If the middleware does not answer, its last answer stays.
                monitor.look(|| Some((publisher.matched().ok()?, publisher.backlogs().ok()?)));
                let topic = |(index, samples): (usize, &u64)| TopicFacts {
                    samples: *samples,
                    matched: monitor.matched(index),
                    has_backlog: monitor.has_backlog(index),
                };
                let facts = BusFacts {
                    topics: counters.written.iter().enumerate().map(topic).collect(),
                    counts: vec![
                        ("dropped_samples", counters.dropped),
                        ("stalled_writes", counters.stalls),
                        ("refused_messages", refused),
                        ("unlisted_samples", counters.unlisted),
                    ],
                    publishers: Vec::new(),
                };
                monitor.publish(facts);
            }
        }
        self.times.publish(publishing.latencies());
    }
}
