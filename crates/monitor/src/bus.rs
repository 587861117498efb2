//! Topics that a process writes or reads, as reported by the thread that does so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::rates::Rates;
use crate::words::counted;

/// A thread that has not published for this long is shown as stalled, in nanoseconds. A write may wait for a
/// subscriber.
const STALLED_NS: u64 = 2_000_000_000;

/// Role of a process: it writes samples or reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusRole {
    /// The process writes.
    Publisher,
    /// The process reads.
    Subscriber,
}

/// Describes a set of topics before their first sample.
#[derive(Clone, Debug)]
pub struct BusDescription {
    /// Role of the process: it writes the topics or reads them.
    pub role: BusRole,
    /// The transport of the samples, such as `dds`.
    pub transport: String,
    /// Names of the topics.
    pub topics: Vec<String>,
}

/// Counts of a topic at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicFacts {
    /// Samples written or received.
    pub samples: u64,
    /// Number of readers that match the writer, or of writers that match the reader.
    pub matched: u32,
    /// Samples that the slowest reader has still to acknowledge (DDS) or to read (shared memory, up to an eighth of the ring
    /// too many); `None` if unknown, as for a reader's topic.
    pub backlog: Option<u64>,
}

/// A publisher at one moment, as a subscriber knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PublisherState {
    /// `present`, `done`, `stopped` or `gone` (it disappeared without announcing its end).
    pub standing: &'static str,
    /// Samples received from it.
    pub received_samples: u64,
    /// Samples that it reported to have written; `null` before it has ended.
    pub written_samples: Option<u64>,
    /// Samples that it wrote after the match and that were not received; `null` while that is unknown.
    pub lost_samples: Option<u64>,
    /// Samples missing between received ones.
    pub missing_samples: u64,
    /// Samples from before the match: the last values that a late subscriber gets.
    pub last_values: u64,
    /// Samples received again or out of order.
    pub duplicate_samples: u64,
}

/// Counts of the publishing or subscribing thread at one moment.
#[derive(Clone, Debug, Default)]
pub struct BusFacts {
    /// The topics, in the order of their description.
    pub topics: Vec<TopicFacts>,
    /// Further counts, named as the metrics without prefix and unit.
    pub counts: Vec<(&'static str, u64)>,
    /// The publishers that a subscriber knows; empty for a publisher.
    pub publishers: Vec<PublisherState>,
    /// Number of readers that matched after samples had been written, of the topic with the most of them; 0 for a
    /// subscriber.
    pub late_joiners: u64,
}

/// A topic, as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub struct TopicState {
    /// Name of the topic.
    pub name: String,
    /// Samples written or received.
    pub samples: u64,
    /// Samples a second, over the last second.
    pub samples_per_second: f64,
    /// Number of readers that match the writer, or of writers that match the reader.
    pub matched: u32,
    /// Samples that the slowest reader has still to acknowledge (DDS) or to read (shared memory, up to an eighth of the ring
    /// too many), as of at most a second ago; `null` if no reader says so, and for a subscriber.
    pub backlog_samples: Option<u64>,
}

/// The topics that a process writes or reads, as the API shows them.
#[derive(Clone, Debug, Serialize)]
pub struct BusState {
    /// `publisher` or `subscriber`.
    pub role: &'static str,
    /// The transport of the samples.
    pub transport: String,
    /// `waiting` before the first publication, `live`, or `stalled`: the thread does not publish, for example because a
    /// write waits.
    pub status: &'static str,
    /// Milliseconds since the thread last published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// The topics.
    pub topics: Vec<TopicState>,
    /// Number of readers that matched after samples had been written, of the topic with the most of them; 0 for a
    /// subscriber.
    pub late_joiners: u64,
    /// Further counts, named as the metrics without prefix and unit.
    pub counts: BTreeMap<&'static str, u64>,
    /// The publishers that a subscriber knows.
    pub publishers: Vec<PublisherState>,
}

#[derive(Debug)]
struct LatestBus {
    description: BusDescription,
    facts: BusFacts,
    published_ns: Option<u64>,
    rates: Rates,
}

impl LatestBus {
    fn take(&mut self, now_ns: u64, facts: BusFacts) {
        self.rates.note(now_ns, facts.topics.iter().map(|topic| topic.samples).collect());
        self.facts = facts;
        self.published_ns = Some(now_ns);
    }

    fn state(&self, now_ns: u64) -> BusState {
        let age_ns = self.published_ns.map(|at_ns| now_ns.saturating_sub(at_ns));
        let role = self.description.role;
        let topic = |(index, name): (usize, &String)| {
            let of = self.facts.topics.get(index).copied().unwrap_or_default();
            TopicState {
                name: name.clone(),
                samples: of.samples,
                samples_per_second: self.rates.of(index),
                matched: of.matched,
                backlog_samples: of.backlog,
            }
        };
        BusState {
            role: match role {
                BusRole::Publisher => "publisher",
                BusRole::Subscriber => "subscriber",
            },
            transport: self.description.transport.clone(),
            status: match age_ns {
                None => "waiting",
                Some(age_ns) if age_ns > STALLED_NS => "stalled",
                Some(_) => "live",
            },
            published_ms: age_ns.map(|age_ns| age_ns / 1_000_000),
            topics: self.description.topics.iter().enumerate().map(topic).collect(),
            late_joiners: self.facts.late_joiners,
            counts: self.facts.counts.iter().copied().collect(),
            publishers: self.facts.publishers.clone(),
        }
    }
}

/// Handle with which the thread that writes or reads publishes its counts. No call blocks: while the monitor reads, a
/// publication is skipped.
#[derive(Clone, Debug)]
pub struct BusTap(Arc<Mutex<LatestBus>>);

impl BusTap {
    pub(crate) fn new(description: BusDescription) -> Self {
        let (facts, rates) = (BusFacts::default(), Rates::default());
        Self(Arc::new(Mutex::new(LatestBus { description, facts, published_ns: None, rates })))
    }

    /// Publishes the counts as of `now_ns` of the monotonic clock.
    pub fn publish(&self, now_ns: u64, facts: BusFacts) {
        if let Ok(mut known) = self.0.try_lock() {
            known.take(now_ns, facts);
        }
    }

    pub(crate) fn state(&self, now_ns: u64) -> BusState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).state(now_ns)
    }
}

/// Returns the reason if the thread of a bus does not publish any more.
pub(crate) fn stall(bus: &BusState) -> Option<String> {
    let is_stalled = bus.status == "stalled";
    is_stalled.then(|| format!("{}: its thread does not run, or a write waits", bus.role))
}

/// Returns the reasons why the data of a bus cannot be trusted.
pub(crate) fn not_ready(bus: &BusState) -> Vec<String> {
    let name = bus.role;
    let mut reasons = Vec::from_iter(stall(bus));
    let has_peer = bus.topics.iter().any(|topic| topic.matched > 0);
    if reasons.is_empty() && bus.role == "subscriber" && !has_peer {
        reasons.push(format!("{name}: it has no publisher"));
    }
    let gone = bus.publishers.iter().filter(|publisher| publisher.standing == "gone").count();
    if gone > 0 {
        let publishers = counted(gone as u64, "publisher", "publishers");
        reasons.push(format!("{name}: {publishers} disappeared without ending the topic"));
    }
    let lost: u64 = bus.publishers.iter().filter_map(|publisher| publisher.lost_samples).sum();
    if lost > 0 {
        let samples = counted(lost, "sample is", "samples are");
        reasons.push(format!("{name}: {samples} lost"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(samples: u64, matched: u32) -> BusFacts {
        let topics = vec![TopicFacts { samples, matched, backlog: Some(7) }];
        let counts = vec![("dropped_samples", 2)];
        BusFacts { topics, counts, publishers: Vec::new(), late_joiners: 2 }
    }

    #[test]
    fn a_publisher_that_stops_publishing_is_stalled() {
        let topics = vec!["Quote".to_owned()];
        let transport = "dds".to_owned();
        let tap = BusTap::new(BusDescription { role: BusRole::Publisher, transport, topics });
        assert_eq!(tap.state(0).status, "waiting");
        for (tenth, samples) in [(1, 0), (2, 10), (3, 20), (4, 30)] {
            tap.publish(tenth * 100_000_000, facts(samples, 2));
        }
        let state = tap.state(500_000_000);
        assert_eq!((state.late_joiners, state.status), (2, "live"));
        assert_eq!(
            (state.topics[0].samples_per_second, state.counts["dropped_samples"]),
            (100.0, 2)
        );
        assert_eq!(state.topics[0].backlog_samples, Some(7));
        let state = tap.state(9_000_000_000);
        assert_eq!(not_ready(&state).len(), 1, "{:?}", not_ready(&state));
    }

    #[test]
    fn a_subscriber_says_why_it_is_not_ready() {
        let topics = vec!["Quote".to_owned()];
        let transport = "dds".to_owned();
        let tap = BusTap::new(BusDescription { role: BusRole::Subscriber, transport, topics });
        tap.publish(0, facts(0, 0));
        assert_eq!(not_ready(&tap.state(0)), ["subscriber: it has no publisher"]);
        let publisher = PublisherState {
            standing: "gone",
            received_samples: 9,
            written_samples: None,
            lost_samples: Some(3),
            missing_samples: 3,
            last_values: 0,
            duplicate_samples: 0,
        };
        tap.publish(1, BusFacts { publishers: vec![publisher], ..facts(9, 1) });
        let wanted = [
            "subscriber: 1 publisher disappeared without ending the topic",
            "subscriber: 3 samples are lost",
        ];
        assert_eq!(not_ready(&tap.state(1)), wanted);
    }
}
