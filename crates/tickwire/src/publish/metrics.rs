//! Metrics of a publisher, for Prometheus and the monitor.

use super::engine::{DECODE, PUBLISHED, Publishing};
use crate::distribution::{DistributionMetrics, TopicMetrics};
use crate::options::metrics_of;
use tickwire_distribution::TopicSet;
use tickwire_monitor::{MessageTimes, MonitorBuilder};
use tickwire_telemetry::metrics::{Counter, Metrics};

/// Counters and distributions of a publisher, beside those of its feed.
pub struct PublishMetrics {
    all: Metrics,
    topics: TopicMetrics,
    refused: Counter,
    times: DistributionMetrics,
}

impl PublishMetrics {
    /// Registers the metrics.
    pub fn new(sets: &[TopicSet]) -> Self {
        let all = metrics_of("publish");
        let help = "Messages with values no sample can hold";
        Self {
            topics: TopicMetrics::new(&all, sets),
            refused: all.counter("publish_refused_messages", help, &[]),
            times: DistributionMetrics::new(&all, "publish"),
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
        self.topics.tell_monitor(builder, transport, sets);
    }

    /// Publishes the current counts.
    pub fn publish(&mut self, publishing: &Publishing) {
        let refused = publishing.counters().refused;
        self.refused.set(refused);
        if let Some(publisher) = publishing.publisher() {
            self.topics.publish(publisher, &[("refused_messages", refused)]);
        }
        self.times.publish(publishing.latencies());
    }
}
