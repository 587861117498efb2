//! Metrics of a publisher, for Prometheus and the monitor.

use super::engine::{DECODE, PUBLISHED, Publishing};
use crate::distribution::{BusWatch, DistributionMetrics};
use tickwire_distribution::TopicSet;
use tickwire_monitor::{BusFacts, BusRole, MessageTimes, MonitorBuilder};
use tickwire_telemetry::metrics::{Counter, Gauge, Metrics};

/// Counters and distributions of a publisher, beside those of its feed.
pub struct PublishMetrics {
    all: Metrics,
    written: Vec<Counter>,
    /// Matched subscribers by topic.
    matched: Vec<Gauge>,
    /// Whether samples are not acknowledged, by topic.
    unacknowledged: Vec<Gauge>,
    late: Counter,
    dropped: Counter,
    stalled: Counter,
    refused: Counter,
    times: DistributionMetrics,
    watch: BusWatch,
}

impl PublishMetrics {
    /// Registers the metrics.
    pub fn new(sets: &[TopicSet]) -> Self {
        let all = Metrics::new();
        let written = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.counter("publish_written_samples", "Samples written", &labels)
        };
        let gauges = |name: &str, help: &str| {
            sets.iter().map(|set| all.gauge(name, help, &[("kind", set.name.as_str())])).collect()
        };
        let counter = |name, help| all.counter(name, help, &[]);
        Self {
            matched: gauges("publish_matched_subscribers", "Readers that match the writer"),
            unacknowledged: gauges(
                "publish_unacknowledged_topics",
                "1 while a reliable reader has samples still to acknowledge",
            ),
            late: counter(
                "publish_late_joiners",
                "Readers that matched after samples were written, of the topic with most of them",
            ),
            written: sets.iter().map(written).collect(),
            dropped: counter(
                "publish_dropped_samples",
                "Samples dropped: a subscriber's buffer stayed full",
            ),
            stalled: counter("publish_stalled_writes", "Writes that had to wait for a subscriber"),
            refused: counter("publish_refused_messages", "Messages with values no sample can hold"),
            times: DistributionMetrics::new(&all, "publish"),
            watch: BusWatch::default(),
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
        self.watch.tell_monitor(builder, BusRole::Publisher, transport, sets);
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
            // If the middleware does not answer, its last answer stays.
            self.watch.look(|| Some((publisher.matched().ok()?, publisher.backlogs().ok()?)));
            let topics = self.watch.topics(&counters.written);
            for ((matched, unacknowledged), topic) in
                self.matched.iter().zip(&self.unacknowledged).zip(&topics)
            {
                matched.set(topic.matched.into());
                unacknowledged.set(topic.has_backlog.unwrap_or(false).into());
            }
            let late_joiners = self.watch.late_joiners(&topics);
            self.late.set(late_joiners);
            self.watch.publish(BusFacts {
                topics,
                counts: vec![
                    ("dropped_samples", counters.dropped),
                    ("stalled_writes", counters.stalls),
                    ("refused_messages", refused),
                    ("unlisted_samples", counters.unlisted),
                ],
                publishers: Vec::new(),
                late_joiners,
            });
        }
        self.times.publish(publishing.latencies());
    }
}
