//! Metrics of published topics, and their state in the monitor.

use super::BusWatch;
use tickwire_distribution::{Outlets, TopicSet};
use tickwire_monitor::{BusFacts, BusRole, MonitorBuilder};
use tickwire_telemetry::metrics::{Counter, Gauge, Metrics};

/// Counters of the topics of a publisher.
pub struct TopicMetrics {
    written: Vec<Counter>,
    /// Matched subscribers by topic.
    matched: Vec<Gauge>,
    /// Samples that the slowest subscriber has still to acknowledge or to read, by topic.
    backlogs: Vec<Gauge>,
    late: Counter,
    dropped: Counter,
    stalled: Counter,
    watch: BusWatch,
}

impl TopicMetrics {
    /// Registers the metrics.
    pub fn new(all: &Metrics, sets: &[TopicSet]) -> Self {
        let written = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.counter("publish_written_samples", "Samples written", &labels)
        };
        let gauges = |name: &str, help: &str| {
            sets.iter().map(|set| all.gauge(name, help, &[("kind", set.name.as_str())])).collect()
        };
        let counter = |name, help| all.counter(name, help, &[]);
        Self {
            written: sets.iter().map(written).collect(),
            matched: gauges("publish_matched_subscribers", "Readers that match the writer"),
            backlogs: gauges(
                "publish_backlog_samples",
                "Samples that the slowest subscriber has still to acknowledge (DDS) or to read (shared memory)",
            ),
            late: counter(
                "publish_late_joiners",
                "Readers that matched after samples were written, of the topic with most of them",
            ),
            dropped: counter(
                "publish_dropped_samples",
                "Samples dropped: a subscriber's buffer stayed full",
            ),
            stalled: counter("publish_stalled_writes", "Writes that had to wait for a subscriber"),
            watch: BusWatch::default(),
        }
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

    /// Publishes the current counts; `more` are further ones for the monitor.
    pub fn publish(&mut self, publisher: &Outlets, more: &[(&'static str, u64)]) {
        let counters = publisher.counters();
        for (counter, count) in self.written.iter().zip(&counters.written) {
            counter.set(*count);
        }
        self.dropped.set(counters.dropped);
        self.stalled.set(counters.stalls);
        // If the middleware does not answer, its last answer stays.
        self.watch.look(|| Some((publisher.matched().ok()?, publisher.backlogs().ok()?)));
        let topics = self.watch.topics(&counters.written);
        for ((matched, backlog), topic) in self.matched.iter().zip(&self.backlogs).zip(&topics) {
            matched.set(topic.matched.into());
            backlog.set(topic.backlog.unwrap_or(0));
        }
        let late_joiners = self.watch.late_joiners(&topics);
        self.late.set(late_joiners);
        let own = [
            ("dropped_samples", counters.dropped),
            ("stalled_writes", counters.stalls),
            ("unlisted_samples", counters.unlisted),
        ];
        self.watch.publish(BusFacts {
            topics,
            counts: own.iter().chain(more).copied().collect(),
            publishers: Vec::new(),
            late_joiners,
        });
    }
}
