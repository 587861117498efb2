//! The receiver's clocks: converts time stamps of the time of day, which may step, to the monotonic
//! clock.

use crate::arrivals::Incoming;
use crate::scenario::Scenario;
use tickwire_net::clock::{Clocks, KernelTimes, StampWindow};
use tickwire_net::inject::{ClockStep, stamp};

/// Packets that arrive within this time are taken from their sockets together.
pub(crate) const BATCH_NS: u64 = 100_000;

/// The time at which a packet is handed to the handler, and its receive time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveTimes {
    pub(crate) taken_ns: u64,
    pub(crate) received_ns: u64,
}

/// The clocks of the receiver at a moment.
struct ReceiverClocks<'s> {
    now_ns: u64,
    steps: &'s [ClockStep],
}

impl Clocks for ReceiverClocks<'_> {
    fn monotonic_ns(&self) -> u64 {
        self.now_ns
    }

    fn unix_ns(&self) -> u64 {
        stamp(self.steps, self.now_ns)
    }
}

/// Returns the times of all packets. Without clock steps each packet is taken immediately.
pub(crate) fn receive(scenario: &Scenario, incoming: &[Incoming]) -> Vec<ReceiveTimes> {
    let steps = &scenario.clock_steps[..];
    if steps.is_empty() {
        let at_once = |incoming: &Incoming| {
            let at_ns = incoming.at_ns;
            ReceiveTimes { taken_ns: at_ns, received_ns: at_ns }
        };
        return incoming.iter().map(at_once).collect();
    }
    let start_ns = incoming.first().map_or(0, |incoming| incoming.at_ns);
    let mut times = KernelTimes::with_clocks(&ReceiverClocks { now_ns: start_ns, steps });
    let mut received = Vec::with_capacity(incoming.len());
    let mut empty_ns = start_ns;
    for batch in incoming.chunk_by(|a, b| a.at_ns / BATCH_NS == b.at_ns / BATCH_NS) {
        let taken_ns = batch.last().map_or(0, |last| last.at_ns);
        times.check(&ReceiverClocks { now_ns: taken_ns, steps });
        let window = StampWindow { empty_ns, taken_ns };
        received.extend(batch.iter().map(|packet| {
            let stamped = times.monotonic_ns(stamp(steps, packet.at_ns), window);
            ReceiveTimes { taken_ns, received_ns: stamped.unwrap_or(taken_ns) }
        }));
        empty_ns = taken_ns;
    }
    received
}
