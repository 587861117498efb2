//! Metrics of a subscriber, for Prometheus and the monitor.

use crate::distribution::{BusWatch, DistributionMetrics, Latencies};
use crate::options::metrics_of;
use std::time::{Duration, Instant};
use tickwire_distribution::{FromPublisher, Participant, PublisherStatus, Subscriber, TopicSet};
use tickwire_monitor::{BusFacts, BusRole, MonitorBuilder, PublisherState};
use tickwire_telemetry::metrics::{Counter, Gauge, Metrics};

/// Minimum time between two publications.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// Counters and distributions of a subscriber.
pub struct SubscribeMetrics {
    all: Metrics,
    received: Vec<Counter>,
    duplicates: Counter,
    /// Matched publishers by topic.
    matched: Vec<Gauge>,
    publishers: PublisherMetrics,
    times: DistributionMetrics,
    published: Instant,
    watch: BusWatch,
}

/// Counts of publishers that are gone, and of their samples. They never fall, though the list of publishers may shrink.
struct PublisherMetrics {
    gone: (Counter, u64),
    lost: (Counter, u64),
    missing: (Counter, u64),
}

impl PublisherMetrics {
    fn new(all: &Metrics) -> Self {
        let counter = |name, help| (all.counter(name, help, &[]), 0);
        Self {
            gone: counter(
                "subscribe_gone_publishers",
                "Publishers that disappeared without announcing their end",
            ),
            lost: counter(
                "subscribe_lost_samples",
                "Samples that publishers wrote after the match and that were not received",
            ),
            missing: counter("subscribe_missing_samples", "Samples missing between received ones"),
        }
    }

    fn publish(&mut self, publishers: &[FromPublisher]) {
        let gone =
            publishers.iter().filter(|one| matches!(one.standing, PublisherStatus::Gone)).count();
        let lost = publishers.iter().filter_map(|one| one.lost).sum();
        let missing = publishers.iter().map(|one| one.holes).sum();
        let Self { gone: of_gone, lost: of_lost, missing: of_missing } = self;
        for ((counter, most), count) in
            [(of_gone, gone as u64), (of_lost, lost), (of_missing, missing)]
        {
            *most = count.max(*most);
            counter.set(*most);
        }
    }
}

impl SubscribeMetrics {
    /// Registers the metrics.
    pub fn new(sets: &[TopicSet]) -> Self {
        let all = metrics_of("subscribe");
        let received = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.counter("subscribe_received_samples", "Samples received", &labels)
        };
        let help = "Samples repeated or out of order";
        let matched = |set: &TopicSet| {
            let labels = [("kind", set.name.as_str())];
            all.gauge("subscribe_matched_publishers", "Writers that match the reader", &labels)
        };
        Self {
            matched: sets.iter().map(matched).collect(),
            publishers: PublisherMetrics::new(&all),
            received: sets.iter().map(received).collect(),
            duplicates: all.counter("subscribe_duplicate_samples", help, &[]),
            times: DistributionMetrics::new(&all, "subscribe"),
            published: Instant::now(),
            watch: BusWatch::default(),
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
        self.watch.tell_monitor(builder, BusRole::Subscriber, transport, sets);
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
        self.publishers.publish(&publishers);
        let stations = subscriber.stations();
        // If the middleware does not answer, its last answer stays.
        self.watch.look(|| Some((stations.matched().ok()?, Vec::new())));
        let topics = self.watch.topics(&received);
        for (gauge, topic) in self.matched.iter().zip(&topics) {
            gauge.set(topic.matched.into());
        }
        self.watch.publish(BusFacts {
            topics,
            counts: vec![
                ("duplicate_samples", duplicates),
                ("unreadable_samples", stations.unreadable()),
                ("refused_echoes", stations.echoes_refused()),
            ],
            publishers: publishers.iter().map(publisher_state).collect(),
            late_joiners: 0,
        });
    }
}

fn publisher_state(publisher: &FromPublisher) -> PublisherState {
    PublisherState {
        standing: match publisher.standing {
            PublisherStatus::Present => "present",
            PublisherStatus::Done { .. } => "done",
            PublisherStatus::Stopped { .. } => "stopped",
            PublisherStatus::Gone => "gone",
        },
        received_samples: publisher.received(),
        written_samples: publisher.written(),
        lost_samples: publisher.lost,
        missing_samples: publisher.holes,
        last_values: publisher.last_values,
        duplicate_samples: publisher.duplicates,
    }
}
