//! Lines that disagree: copies that differ, lines that are not yet compared, excluded lines.

use super::line::ArbitratedLine;
use super::{Arbiter, ExclusionReason, Line, LineEvent, LineTrust, PacketArrival};

/// Result of comparing a copy with the other line's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyComparison {
    /// The copies are equal.
    Equal,
    /// The copies differ, and the other line delivered first in this epoch.
    Differs,
    /// The copies differ, and this line skipped numbers that the other one sent.
    LeavesOut,
    /// The copies differ, and this one could not be decoded.
    Undecodable,
}

/// Most events kept until they are polled.
const EVENTS_MAX: usize = 16;

impl Arbiter {
    /// Returns the next change in the trust or silence of a line since the last call; the latest 16
    /// are kept.
    pub fn poll_event(&mut self) -> Option<LineEvent> {
        self.events.pop_front()
    }

    /// True while packets that only this line sent are withheld, because its copies differ.
    pub fn is_excluded(&self, line: Line) -> bool {
        self.standing(line) == LineTrust::Doubtful
    }

    pub(super) fn standing(&self, line: Line) -> LineTrust {
        if self.is_wrong_for_certain(line) {
            return LineTrust::Doubtful;
        }
        self.states[line.index()].standing(self.options.differing_max)
    }

    /// True if an untrusted line is the only usable one: the other one is silent, untrusted too, or
    /// stopped where this line continues.
    pub(super) fn is_stand_in(&self, line: Line) -> bool {
        let other = line.other();
        self.standing(other) != LineTrust::Trusted || !self.is_alive(other) || self.takes_over(line)
    }

    /// True if packets that only this line has are delivered: the line is trusted, or replaces the
    /// other one.
    pub(super) fn is_heard(&self, line: Line) -> bool {
        match self.standing(line) {
            LineTrust::Trusted => true,
            LineTrust::Unproven => self.is_stand_in(line),
            LineTrust::Doubtful => false,
        }
    }

    /// Records that a copy of this line is equal to the other line's packet.
    pub(super) fn note_agreement(&mut self, line: Line) {
        if self.states.iter().all(ArbitratedLine::is_plain) {
            return;
        }
        self.dispute = None;
        let is_proof = self.standing(line.other()) == LineTrust::Trusted;
        self.states[line.index()].is_trusted |= is_proof;
        for line in Line::ALL {
            self.note_copy(line, CopyComparison::Equal);
        }
    }

    pub(super) fn note_differing(&mut self, line: Line, seq_num: u64, comparison: CopyComparison) {
        self.push_event(LineEvent::Differing { line, seq_num });
        self.lines[line.index()].differing += 1;
        self.note_copy(line, comparison);
    }

    /// Records the result of a comparison, and excludes the line or restores it.
    fn note_copy(&mut self, line: Line, comparison: CopyComparison) {
        let differing_max = self.options.differing_max.max(1);
        let is_wrong_for_certain = self.is_wrong_for_certain(line);
        let state = &mut self.states[line.index()];
        let differing = state.note_copy(comparison != CopyComparison::Equal);
        let is_excluded = differing >= differing_max || is_wrong_for_certain;
        let was_excluded = std::mem::replace(&mut state.is_excluded, is_excluded);
        let reason = match comparison {
            CopyComparison::LeavesOut => ExclusionReason::LeavesOut,
            CopyComparison::Undecodable => ExclusionReason::Undecodable,
            CopyComparison::Differs | CopyComparison::Equal => ExclusionReason::Second,
        };
        match (was_excluded, is_excluded) {
            (false, true) => self.push_event(LineEvent::Excluded { line, reason }),
            (true, false) => self.push_event(LineEvent::Resumed { line }),
            _ => {}
        }
    }

    pub(super) fn push_event(&mut self, event: LineEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Removes a packet from the window without delivering it.
    pub(super) fn drop_held(&mut self, seq_num: u64) {
        let Some(held) = self.window.take(seq_num) else { return };
        *self.taken_counter(held.line, seq_num) -= 1;
        self.lines[held.line.index()].excluded += 1;
    }

    /// Holds a packet of an untrusted line until it can be compared with the other line's copy.
    pub(super) fn hold_unconfirmed(&mut self, arrival: &PacketArrival<'_>, is_in_window: bool) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        if !is_in_window {
            self.lines[line.index()].excluded += 1;
            return;
        }
        self.lines[line.index()].first += 1;
        self.history.mark_seen(seq_num, line);
        let held = self.store(arrival);
        self.window.insert(seq_num, held);
        self.counters.held_peak = self.counters.held_peak.max(self.window.held());
    }

    /// Handles a packet whose number is held unconfirmed. Returns true if the packet is accepted in
    /// place of the held one.
    pub(super) fn settle_unconfirmed(&mut self, arrival: &PacketArrival<'_>) -> bool {
        let PacketArrival { line, seq_num, hash, received_ns, .. } = *arrival;
        let Some(held) = self.window.at(seq_num).copied() else { return true };
        if held.line == line {
            self.lines[line.index()].duplicate += 1;
            return false;
        }
        if held.hash == hash {
            self.end_dispute(received_ns);
            let is_proof = self.standing(line) == LineTrust::Trusted;
            self.states[held.line.index()].is_trusted |= is_proof;
            Line::ALL.into_iter().for_each(|line| self.note_copy(line, CopyComparison::Equal));
        } else {
            self.note_differing(held.line, seq_num, CopyComparison::Differs);
        }
        self.drop_held(seq_num);
        let counters = &mut self.lines[held.line.index()];
        counters.excluded -= 1;
        counters.duplicate += 1;
        true
    }

    /// Removes all unconfirmed packets from the window.
    pub(super) fn drop_unconfirmed(&mut self, next: u64) {
        let mut from = next;
        while let Some(seq_num) = self.window.first_at_or_behind(from, next) {
            if !self.history.fate(seq_num).was_accepted() {
                self.drop_held(seq_num);
            }
            from = seq_num + 1;
        }
    }

    /// True if the held packet with the next number may be delivered. A packet of a line that is
    /// excluded is dropped at its turn.
    pub(super) fn is_deliverable(&mut self, next: u64) -> bool {
        let Some(held) = self.window.at(next) else { return false };
        let (line, received_ns, is_overdue) = (held.line, held.received_ns, held.is_overdue);
        if self.history.fate(next).was_accepted() {
            return is_overdue || !self.waits_for_copy(line, next, received_ns);
        }
        match self.standing(line) {
            LineTrust::Trusted => true,
            LineTrust::Unproven => next < self.released || self.is_stand_in(line),
            LineTrust::Doubtful => {
                if next < self.released {
                    self.drop_held(next);
                }
                false
            }
        }
    }
}
