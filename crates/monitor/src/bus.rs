//! Topics that a process writes to or reads from a bus, as the thread that does so tells of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::rates::Rates;

/// Silence of the thread after which it is called stalled, in nanoseconds. A write may wait for a subscriber.
const STALLED_NS: u64 = 2_000_000_000;

/// Whether a process writes samples or reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusRole {
    /// It writes.
    Publisher,
    /// It reads.
    Subscriber,
}

/// Topics before their first sample.
#[derive(Clone, Debug)]
pub struct BusDescription {
    /// Whether they are written or read.
    pub role: BusRole,
    /// What carries samples, such as `dds`.
    pub transport: String,
    /// Their names.
    pub topics: Vec<String>,
}

/// What is known of a topic at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicFacts {
    /// Samples written or received.
    pub samples: u64,
    /// Readers that match the writer, or writers that match the reader.
    pub matched: u32,
    /// Whether a reliable reader has not acknowledged all samples yet; `None` where that is unknown, as it is to readers.
    pub has_backlog: Option<bool>,
}

/// What a subscriber knows of a publisher at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PublisherState {
    /// `present`, `done`, `stopped` or `gone` (it went without a word).
    pub standing: &'static str,
    /// Samples that came of it.
    pub received_samples: u64,
    /// Samples that it says it wrote; `null` before it has ended.
    pub written_samples: Option<u64>,
    /// Samples that it wrote since the two met and that did not come; `null` while that is unknown.
    pub lost_samples: Option<u64>,
    /// Samples that are missing between those that came.
    pub missing_samples: u64,
    /// Samples from before the two met: the last values that a late subscriber gets.
    pub last_values: u64,
    /// Samples that came again or out of order.
    pub duplicate_samples: u64,
}

/// What the thread of a bus counts, at one moment.
#[derive(Clone, Debug, Default)]
pub struct BusFacts {
    /// The topics, in the order of their description.
    pub topics: Vec<TopicFacts>,
    /// Further counts, by the names of the metrics without unit and prefix.
    pub counts: Vec<(&'static str, u64)>,
    /// The publishers, if this is a subscriber.
    pub publishers: Vec<PublisherState>,
}

/// A topic.
#[derive(Clone, Debug, Serialize)]
pub struct TopicState {
    /// Its name.
    pub name: String,
    /// Samples written or received.
    pub samples: u64,
    /// Samples a second, of the last second.
    pub samples_per_second: f64,
    /// Readers that match the writer, or writers that match the reader.
    pub matched: u32,
    /// Whether a reliable reader has not acknowledged all samples yet; `null` where that is unknown.
    pub has_backlog: Option<bool>,
}

/// Topics that a process writes or reads.
#[derive(Clone, Debug, Serialize)]
pub struct BusState {
    /// `publisher` or `subscriber`.
    pub role: &'static str,
    /// What carries samples.
    pub transport: String,
    /// `waiting` before the first publication, `live`, or `stalled`: its thread tells nothing, as when a write waits.
    pub status: &'static str,
    /// Milliseconds since its thread published; `null` before the first time.
    pub published_ms: Option<u64>,
    /// The topics.
    pub topics: Vec<TopicState>,
    /// Readers that matched after samples had been written; of a topic that has the most of them. 0 for subscribers.
    pub late_joiners: u64,
    /// Further counts, by the names of the metrics without unit and prefix.
    pub counts: BTreeMap<&'static str, u64>,
    /// The publishers that a subscriber knows of.
    pub publishers: Vec<PublisherState>,
}

#[derive(Debug)]
struct LatestBus {
    description: BusDescription,
    facts: BusFacts,
    published_ns: Option<u64>,
    rates: Rates,
    /// By topic.
    late: Vec<u64>,
}

impl LatestBus {
    fn take(&mut self, now_ns: u64, facts: BusFacts) {
        for (index, topic) in facts.topics.iter().enumerate() {
            let before = self.facts.topics.get(index).copied().unwrap_or_default();
            if let Some(late) = self.late.get_mut(index).filter(|_| before.samples > 0) {
                *late += u64::from(topic.matched.saturating_sub(before.matched));
            }
        }
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
                has_backlog: of.has_backlog,
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
            late_joiners: match role {
                BusRole::Publisher => self.late.iter().copied().max().unwrap_or(0),
                BusRole::Subscriber => 0,
            },
            counts: self.facts.counts.iter().copied().collect(),
            publishers: self.facts.publishers.clone(),
        }
    }
}

/// The end of the thread that writes or reads. No call blocks: while the monitor reads, a publication is skipped.
#[derive(Clone, Debug)]
pub struct BusTap(Arc<Mutex<LatestBus>>);

impl BusTap {
    pub(crate) fn new(description: BusDescription) -> Self {
        let late = vec![0; description.topics.len()];
        let (facts, rates) = (BusFacts::default(), Rates::default());
        Self(Arc::new(Mutex::new(LatestBus {
            description,
            facts,
            published_ns: None,
            rates,
            late,
        })))
    }

    /// Publishes what is counted at `now_ns` of the monotonic clock.
    pub fn publish(&self, now_ns: u64, facts: BusFacts) {
        if let Ok(mut known) = self.0.try_lock() {
            known.take(now_ns, facts);
        }
    }

    pub(crate) fn state(&self, now_ns: u64) -> BusState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).state(now_ns)
    }
}

/// Why what a bus tells cannot be trusted.
pub(crate) fn not_ready(bus: &BusState) -> Vec<String> {
    let name = bus.role;
    let mut reasons = Vec::new();
    match (bus.role, bus.status) {
        (_, "stalled") => {
            reasons.push(format!("{name}: its thread does not run, or a write waits"))
        }
        ("subscriber", _) if bus.topics.iter().all(|topic| topic.matched == 0) => {
            reasons.push(format!("{name}: no publisher is there"));
        }
        _ => {}
    }
    let gone = bus.publishers.iter().filter(|publisher| publisher.standing == "gone").count();
    if gone > 0 {
        reasons.push(format!("{name}: {gone} publishers went without a word"));
    }
    let lost: u64 = bus.publishers.iter().filter_map(|publisher| publisher.lost_samples).sum();
    if lost > 0 {
        reasons.push(format!("{name}: {lost} samples are lost"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(samples: u64, matched: u32) -> BusFacts {
        let topics = vec![TopicFacts { samples, matched, has_backlog: Some(false) }];
        BusFacts { topics, counts: vec![("dropped_samples", 2)], publishers: Vec::new() }
    }

    #[test]
    fn readers_that_come_after_samples_are_late_joiners() {
        let topics = vec!["Quote".to_owned()];
        let transport = "dds".to_owned();
        let tap = BusTap::new(BusDescription { role: BusRole::Publisher, transport, topics });
        assert_eq!(tap.state(0).status, "waiting");
        tap.publish(100_000_000, facts(0, 2));
        tap.publish(200_000_000, facts(10, 2));
        assert_eq!(tap.state(200_000_000).late_joiners, 0);
        // One leaves, two come.
        tap.publish(300_000_000, facts(20, 1));
        tap.publish(400_000_000, facts(30, 3));
        let state = tap.state(500_000_000);
        assert_eq!((state.late_joiners, state.status), (2, "live"));
        assert_eq!(
            (state.topics[0].samples_per_second, state.counts["dropped_samples"]),
            (100.0, 2)
        );
        let state = tap.state(9_000_000_000);
        assert_eq!(not_ready(&state).len(), 1, "{:?}", not_ready(&state));
    }

    #[test]
    fn a_subscriber_says_why_it_is_not_ready() {
        let topics = vec!["Quote".to_owned()];
        let transport = "dds".to_owned();
        let tap = BusTap::new(BusDescription { role: BusRole::Subscriber, transport, topics });
        tap.publish(0, facts(0, 0));
        assert_eq!(not_ready(&tap.state(0)), ["subscriber: no publisher is there"]);
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
        assert_eq!(not_ready(&tap.state(1)).len(), 2);
    }
}
