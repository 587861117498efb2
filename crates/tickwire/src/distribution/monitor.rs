//! Publishes the topics of a bus to the monitor.

use tickwire_distribution::TopicSet;
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{BusDescription, BusFacts, BusRole, BusTap, MonitorBuilder};

/// Interval at which the middleware is queried for matched peers, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// The connection to the monitor, and the last answer of the middleware.
pub struct BusMonitor {
    tap: BusTap,
    looked_ns: Option<u64>,
    matched: Vec<u32>,
    backlogs: Vec<bool>,
}

impl BusMonitor {
    /// Adds the topics to a monitor.
    pub fn new(
        builder: &mut MonitorBuilder,
        role: BusRole,
        transport: &str,
        sets: &[TopicSet],
    ) -> Self {
        let topics = sets.iter().map(|set| set.name.clone()).collect();
        let description = BusDescription { role, transport: transport.to_owned(), topics };
        let tap = builder.set_bus(description);
        Self { tap, looked_ns: None, matched: Vec::new(), backlogs: Vec::new() }
    }

    /// Queries the middleware for matched peers and backlogs by topic set, at most once per [`LOOK_NS`].
    pub fn look(&mut self, ask: impl FnOnce() -> Option<(Vec<u32>, Vec<bool>)>) {
        let now_ns = monotonic_ns();
        if self.looked_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < LOOK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        if let Some((matched, backlogs)) = ask() {
            (self.matched, self.backlogs) = (matched, backlogs);
        }
    }

    /// Returns the number of matched peers of a topic set.
    pub fn matched(&self, set: usize) -> u32 {
        self.matched.get(set).copied().unwrap_or(0)
    }

    /// Returns true if samples of a topic set are not acknowledged yet; `None` if unknown.
    pub fn has_backlog(&self, set: usize) -> Option<bool> {
        self.backlogs.get(set).copied()
    }

    /// Publishes the counts to the monitor.
    pub fn publish(&self, facts: BusFacts) {
        self.tap.publish(monotonic_ns(), facts);
    }
}
