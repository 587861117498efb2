//! Wait that would have been long enough for the packets that arrived too late.

use std::collections::VecDeque;

use super::{Arbiter, PacketArrival};

/// Most waits remembered.
const WAITS_MAX: usize = 64;

/// The shortest waits that would have been long enough for all late packets, in nanoseconds; `None`
/// if no packet was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldNeeded {
    /// For [`hold_ns`](super::ArbiterOptions::hold_ns).
    pub two_lines_ns: Option<u64>,
    /// For [`reorder_ns`](super::ArbiterOptions::reorder_ns), which applies while only one line can
    /// send the missing number.
    pub single_line_ns: Option<u64>,
}

/// A wait whose missing numbers were declared lost because its time was over.
#[derive(Clone, Copy, Debug)]
struct EndedWait {
    /// Missing numbers from this one ...
    first: u64,
    /// ... to before this one.
    end: u64,
    /// Arrival time of the first later packet.
    since_ns: u64,
    is_single_line: bool,
}

/// The waits that ended last, and the longest delay of a packet that arrived after its wait.
#[derive(Debug, Default)]
pub(super) struct EndedWaits {
    /// In ascending order of their numbers.
    waits: VecDeque<EndedWait>,
    needed: HoldNeeded,
}

impl EndedWaits {
    /// Drops the waits, because their numbers or times are no longer valid.
    pub(super) fn forget(&mut self) {
        self.waits.clear();
    }

    fn add(&mut self, wait: EndedWait) {
        if self.waits.len() >= WAITS_MAX {
            self.waits.pop_front();
        }
        self.waits.push_back(wait);
    }

    fn note_late(&mut self, seq_num: u64, received_ns: u64) {
        let is_of = |wait: &&EndedWait| (wait.first..wait.end).contains(&seq_num);
        let Some(wait) = self.waits.iter().rev().find(is_of) else { return };
        // A packet that arrives when the time is over is too late.
        let needed_ns = received_ns.saturating_sub(wait.since_ns).saturating_add(1);
        let HoldNeeded { two_lines_ns, single_line_ns } = &mut self.needed;
        let longest_ns = if wait.is_single_line { single_line_ns } else { two_lines_ns };
        *longest_ns = (*longest_ns).max(Some(needed_ns));
    }
}

impl Arbiter {
    /// Returns how long the arbiter would have had to wait for the packets that arrived after their
    /// numbers were declared lost. Counts only packets of the last 64 gaps.
    pub const fn hold_needed(&self) -> HoldNeeded {
        self.ended_waits.needed
    }

    /// Ends the wait for all missing numbers before `end`; the first later packet arrived at
    /// `since_ns`.
    pub(super) fn release_to(&mut self, end: u64, since_ns: u64) {
        if end <= self.released {
            return;
        }
        let first = self.released.max(self.next.unwrap_or(0));
        // Most packets behind a gap follow one another, so nothing is missing before them.
        let is_complete =
            end <= first || end == first + 1 && self.history.fate(first).was_accepted();
        if !is_complete {
            let is_single_line = self.is_single_line();
            self.ended_waits.add(EndedWait { first, end, since_ns, is_single_line });
        }
        self.released = end;
    }

    /// Records a packet whose number was declared lost.
    pub(super) fn note_late(&mut self, arrival: &PacketArrival<'_>) {
        self.ended_waits.note_late(arrival.seq_num, arrival.received_ns);
    }
}
