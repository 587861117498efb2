//! State of the topics of a bus, as the middleware reports it, for metrics and monitor.

use tickwire_distribution::TopicSet;
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{BusDescription, BusFacts, BusRole, BusTap, MonitorBuilder, TopicFacts};

/// Interval at which the middleware is queried for matched peers, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// The last answer of the middleware, and the connection to the monitor.
#[derive(Default)]
pub struct BusWatch {
    tap: Option<BusTap>,
    looked_ns: Option<u64>,
    matched: Vec<u32>,
    backlogs: Vec<Option<u64>>,
    late: LateJoiners,
}

impl BusWatch {
    /// Adds the topics to a monitor.
    pub fn tell_monitor(
        &mut self,
        builder: &mut MonitorBuilder,
        role: BusRole,
        transport: &str,
        sets: &[TopicSet],
    ) {
        let topics = sets.iter().map(|set| set.name.clone()).collect();
        let description = BusDescription { role, transport: transport.to_owned(), topics };
        self.tap = Some(builder.set_bus(description));
    }

    /// Queries the middleware for matched peers and backlogs by topic set, at most once per [`LOOK_NS`].
    pub fn look(&mut self, ask: impl FnOnce() -> Option<(Vec<u32>, Vec<Option<u64>>)>) {
        let now_ns = monotonic_ns();
        if self.looked_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < LOOK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        if let Some((matched, backlogs)) = ask() {
            (self.matched, self.backlogs) = (matched, backlogs);
        }
    }

    /// Returns the facts of the topics; `samples` has the number of samples of each.
    pub fn topics(&self, samples: &[u64]) -> Vec<TopicFacts> {
        let topic = |(set, samples): (usize, &u64)| TopicFacts {
            samples: *samples,
            matched: self.matched.get(set).copied().unwrap_or(0),
            backlog: self.backlogs.get(set).copied().flatten(),
        };
        samples.iter().enumerate().map(topic).collect()
    }

    /// Counts the readers that matched since the last call on topics that already had samples. Returns the total
    /// since the start, for the topic with the most such readers.
    pub fn late_joiners(&mut self, topics: &[TopicFacts]) -> u64 {
        self.late.count(topics)
    }

    /// Publishes the counts to the monitor, if there is one.
    pub fn publish(&self, facts: BusFacts) {
        if let Some(tap) = &self.tap {
            tap.publish(monotonic_ns(), facts);
        }
    }
}

/// Readers that matched after samples had been written, by topic.
#[derive(Default)]
struct LateJoiners {
    before: Vec<TopicFacts>,
    counts: Vec<u64>,
}

impl LateJoiners {
    fn count(&mut self, topics: &[TopicFacts]) -> u64 {
        self.counts.resize(topics.len(), 0);
        for (index, topic) in topics.iter().enumerate() {
            let before = self.before.get(index).copied().unwrap_or_default();
            if before.samples > 0 {
                self.counts[index] += u64::from(topic.matched.saturating_sub(before.matched));
            }
        }
        topics.clone_into(&mut self.before);
        self.counts.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_come_after_samples_are_late_joiners() {
        let mut late = LateJoiners::default();
        let facts = |samples, matched| TopicFacts { samples, matched, backlog: None };
        assert_eq!(late.count(&[facts(0, 2)]), 0);
        assert_eq!(late.count(&[facts(10, 2)]), 0);
        // One reader leaves, two join.
        assert_eq!(late.count(&[facts(20, 1)]), 0);
        assert_eq!(late.count(&[facts(30, 3)]), 2);
    }
}
