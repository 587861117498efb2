//! Metrics of a subscriber, for Prometheus and the monitor.

use crate::distribution::{BusMonitor, DistributionMetrics, Latencies};
use std::time::{Duration, Instant};
use tickwire_distribution::{FromPublisher, Participant, Standing, Subscriber, TopicSet};
use tickwire_monitor::{BusFacts, BusRole, MonitorBuilder, PublisherState, TopicFacts};
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
    monitor: Option<BusMonitor>,
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
            monitor: None,
            all,
        }
    }

    /// Returns the set of metrics.
    pub fn all(&self) -> &Metrics {
        &self.all
    }

    /// Adds the topics to a monitor.
    pub fn tell_monitor(
        &mut self,
        builder: &mut MonitorBuilder,
        transport: &str,
        sets: &[TopicSet],
    ) {
        self.monitor = Some(BusMonitor::new(builder, BusRole::Subscriber, transport, sets));
    }

    /// Publishes the counts, unless less than [`PUBLISH_EVERY`] has passed since the last time.
    pub fn publish<P: Participant>(&mut self, subscriber: &Subscriber<P>, latencies: &Latencies) {
        if self.published.elapsed() < PUBLISH_EVERY {
            return;
        }
        self.published = Instant::now();
        let publishers = subscriber.ledger().publishers();
        let received = |set: usize| publishers.iter().map(|one| one.samples[set]).sum::<u64>();
        let received: Vec<u64> = (0..self.received.len()).map(received).collect();
        for (counter, count) in self.received.iter().zip(&received) {
            counter.set(*count);
        }
        let duplicates = publishers.iter().map(|one| one.duplicates).sum();
        self.duplicates.set(duplicates);
        self.times.publish(latencies);
        let Some(monitor) = &mut self.monitor else { return };
        // If the middleware does not answer, its last answer stays.
        monitor.look(|| Some((subscriber.stations().matched().ok()?, Vec::new())));
        let topic = |(index, samples): (usize, u64)| TopicFacts {
            samples,
            matched: monitor.matched(index),
            has_backlog: None,
        };
        let stations = subscriber.stations();
        let facts = BusFacts {
            topics: received.into_iter().enumerate().map(topic).collect(),
            counts: vec![
                ("duplicate_samples", duplicates),
                ("unreadable_samples", stations.unreadable()),
                ("refused_echoes", stations.echoes_refused()),
            ],
            publishers: publishers.iter().map(publisher_state).collect(),
        };
        monitor.publish(facts);
    }
}

fn publisher_state(publisher: &FromPublisher) -> PublisherState {
    PublisherState {
        standing: match publisher.standing {
            Standing::Present => "present",
            Standing::Done { .. } => "done",
            Standing::Stopped { .. } => "stopped",
            Standing::Gone => "gone",
        },
        received_samples: publisher.received(),
        written_samples: publisher.written(),
        lost_samples: publisher.lost,
        missing_samples: publisher.holes,
        last_values: publisher.last_values,
        duplicate_samples: publisher.duplicates,
    }
}
