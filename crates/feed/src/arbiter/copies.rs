//! Packets that could not be decoded, and other copies of them that may be good.

use super::agreement::CopyComparison;
use super::window::HeldPacket;
use super::{Arbiter, Line, LineTrust, PacketArrival, PacketHeader};

/// Most differing copies kept of held packets. They are rare: one line has sent a wrong packet.
const ALTERNATIVES_MAX: usize = 16;

/// The packet delivered last.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastDelivery {
    pub(super) source: PacketHeader,
    /// True if it replaced a rejected packet.
    pub(super) is_replacement: bool,
}

impl Arbiter {
    /// Reports that the packet delivered last cannot be decoded. Call it before any other method.
    ///
    /// Returns true if another copy of the packet is expected. The number is then delivered again
    /// with other bytes, or comes out as a separate [`Gap`](super::Gap) that no gap counter
    /// includes, when the hold time of the rejected packet is over or the other line has the same
    /// bytes.
    ///
    /// A copy is expected once, and only if the other line has not sent one, is not far behind, and
    /// the hold time is not over. The first packet of a line may be this copy. A differing copy
    /// that arrived while the packet was held is used at once.
    pub fn reject(&mut self) -> bool {
        let Some(LastDelivery { source, is_replacement }) = self.delivered.take() else {
            return false;
        };
        let PacketHeader { seq_num, .. } = source;
        if is_replacement || self.next != Some(seq_num.saturating_add(1)) {
            return false;
        }
        let known = self.alternatives.iter().position(|(of, _)| *of == seq_num);
        if known.is_none() && !self.expects_copy(&source) {
            return false;
        }
        self.rejected = Some(source);
        self.go_back_to(seq_num);
        if let Some((_, copy)) = known.map(|index| self.alternatives.swap_remove(index)) {
            let counters = &mut self.lines[copy.line.index()];
            counters.duplicate -= 1;
            counters.replacement += 1;
            self.note_differing(source.line, seq_num, CopyComparison::Undecodable);
            self.hold(seq_num, copy);
        }
        true
    }

    /// True if the other line may still send the number of a packet.
    fn expects_copy(&self, source: &PacketHeader) -> bool {
        let PacketHeader { seq_num, line, received_ns, .. } = *source;
        let other = line.other();
        let state = &self.states[other.index()];
        let is_near = state.epoch == self.epoch
            && !state.has_left
            && self.standing(other) != LineTrust::Doubtful
            && state.highest.is_some_and(|n| seq_num.saturating_sub(n) <= self.window.span());
        let has_not_begun = state.last_received_ns.is_none() && self.is_alive(other);
        let until_ns = received_ns.saturating_add(self.options.hold_ns);
        (is_near || has_not_begun)
            && self.now_ns < until_ns
            && !self.history.fate(seq_num).was_seen_on(other)
    }

    /// Accepts the held copy of a number whose other copy was rejected: an unconfirmed copy is better
    /// than a gap. Returns false if no copy is held, one was already accepted, or its line is excluded.
    pub(super) fn accept_unconfirmed_copy(&mut self, seq_num: u64) -> bool {
        let Some(held) = self.window.at(seq_num).copied() else { return false };
        if self.history.fate(seq_num).was_accepted()
            || self.standing(held.line) == LineTrust::Doubtful
        {
            return false;
        }
        self.accept_unconfirmed(seq_num, &held);
        true
    }

    /// Accepts an unconfirmed packet. If it replaces a rejected one, it moves from `first` to
    /// `replacement`; as it was never compared, it does not prove the rejected one wrong.
    pub(super) fn accept_unconfirmed(&mut self, seq_num: u64, held: &HeldPacket) {
        let HeldPacket { line, hash, .. } = *held;
        *self.taken_counter(line, seq_num) -= 1;
        self.history.mark_accepted(seq_num, line, hash);
        *self.taken_counter(line, seq_num) += 1;
        self.top = self.top.max(seq_num + 1);
    }

    /// Returns the counter in which a held packet is included: `replacement` if it was accepted
    /// in place of a rejected one, else `first`, as for every unconfirmed packet.
    pub(super) fn taken_counter(&mut self, line: Line, seq_num: u64) -> &mut u64 {
        let is_replacement = self.rejected.is_some_and(|rejected| rejected.seq_num == seq_num)
            && self.history.fate(seq_num).was_accepted();
        let counters = &mut self.lines[line.index()];
        if is_replacement { &mut counters.replacement } else { &mut counters.first }
    }

    /// Steps back so that the number delivered last is the next one again.
    fn go_back_to(&mut self, seq_num: u64) {
        self.history.unmark_accepted(seq_num);
        let fate = self.history.fate(seq_num);
        for line in Line::ALL.into_iter().filter(|line| !fate.was_seen_on(*line)) {
            let lost = &mut self.lines[line.index()].lost;
            *lost = lost.saturating_sub(1);
        }
        self.next = Some(seq_num);
    }

    /// Counts an accepted packet: the first with its number, or a better copy of a rejected one.
    pub(super) fn note_replacement(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let rejected = self.rejected.filter(|rejected| rejected.seq_num == seq_num);
        let counters = &mut self.lines[line.index()];
        *(if rejected.is_some() { &mut counters.replacement } else { &mut counters.first }) += 1;
        if let Some(rejected) = rejected.filter(|rejected| rejected.line != line) {
            self.note_differing(rejected.line, seq_num, CopyComparison::Undecodable);
        }
    }

    /// Handles a copy of a held number: a copy that differs is kept, in case the held one is
    /// rejected.
    pub(super) fn keep_alternative(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { seq_num, hash, .. } = *arrival;
        let Some(held) = self.window.at(seq_num) else { return };
        let is_full = self.alternatives.len() >= ALTERNATIVES_MAX;
        let is_known = self.alternatives.iter().any(|(of, _)| *of == seq_num);
        if !is_full && !is_known && held.hash != hash {
            let copy = self.store(arrival);
            self.alternatives.push((seq_num, copy));
        }
    }

    /// Handles a packet whose number was rejected. Returns true if it is the rejected packet again;
    /// if it comes from the other line, that ends the wait.
    pub(super) fn is_rejected(&mut self, line: Line, seq_num: u64, hash: u64) -> bool {
        let Some(rejected) = self.rejected else { return false };
        let is_same = rejected.seq_num == seq_num && rejected.hash == hash;
        if is_same && line != rejected.line {
            self.released = self.released.max(seq_num.saturating_add(1));
        }
        is_same
    }

    /// True if `seq_num` was rejected and no copy is expected any more: it is delivered now, or
    /// lost.
    pub(super) fn end_rejection(&mut self, seq_num: u64) -> bool {
        self.rejected.take_if(|rejected| rejected.seq_num == seq_num).is_some()
    }

    /// Drops copies of numbers below `next`.
    pub(super) fn forget_copies(&mut self, next: u64) {
        let Self { alternatives, window, .. } = self;
        alternatives.retain(|(seq_num, copy)| {
            let is_wanted = *seq_num >= next;
            if !is_wanted {
                window.discard(*copy);
            }
            is_wanted
        });
        self.rejected.take_if(|rejected| rejected.seq_num < next);
    }
}
