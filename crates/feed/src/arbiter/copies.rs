//! Packets that could not be decoded, and copies of them that may be better.

use super::window::Held;
use super::{Arbiter, Line};

/// Most copies kept that differ from the packet held with their number. They are rare: a line has
/// brought something wrong.
const ALTERNATIVES_MAX: usize = 16;

/// A packet that was delivered and rejected: another copy of it is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rejected {
    pub(super) seq_num: u64,
    /// The packet, to know an equal copy by.
    pub(super) held: Held,
}

/// The packet delivered last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) seq_num: u64,
    pub(super) held: Held,
    /// Whether it came in place of a rejected one.
    pub(super) is_substitute: bool,
}

impl Arbiter {
    /// Says that the packet delivered last cannot be decoded; to be called before anything else is.
    /// Returns whether another copy of it is waited for: its number is then delivered once more with
    /// other bytes, or comes out as a [`Gap`](super::Gap) of its own that no counter of gaps has,
    /// when the hold time of the rejected packet is over or the other line brought the same bytes.
    ///
    /// A copy is waited for once, and only if the other line has not brought one, is not far behind and
    /// has time left. A copy that came while the packet was held, and differs, is there already.
    pub fn reject(&mut self) -> bool {
        let Some(Delivered { seq_num, held, is_substitute }) = self.delivered.take() else {
            return false;
        };
        if is_substitute || self.next != Some(seq_num.saturating_add(1)) {
            return false;
        }
        let known = self.alternatives.iter().position(|(of, _)| *of == seq_num);
        if known.is_none() && !self.expects_copy(seq_num, &held) {
            return false;
        }
        self.window.keep(held);
        self.rejected = Some(Rejected { seq_num, held });
        self.go_back_to(seq_num);
        self.oldest_ns =
            Some(self.oldest_ns.map_or(held.received_ns, |ns| ns.min(held.received_ns)));
        if let Some((_, copy)) = known.map(|index| self.alternatives.swap_remove(index)) {
            let counters = &mut self.lines[copy.line.index()];
            counters.duplicate -= 1;
            counters.substitute += 1;
            self.hold(seq_num, copy);
        }
        true
    }

    /// Whether the other line may be about to bring the number of a packet.
    fn expects_copy(&self, seq_num: u64, held: &Held) -> bool {
        let other = held.line.other();
        let is_near = self.highest[other.index()]
            .is_some_and(|highest| seq_num.saturating_sub(highest) <= self.window.span());
        let until_ns = held.received_ns.saturating_add(self.options.hold_ns);
        is_near && self.now_ns < until_ns && !self.history.fate(seq_num).was_seen_on(other)
    }

    /// Undoes the step behind the number delivered last.
    fn go_back_to(&mut self, seq_num: u64) {
        self.history.unmark_accepted(seq_num);
        let fate = self.history.fate(seq_num);
        for line in Line::ALL.into_iter().filter(|line| !fate.was_seen_on(*line)) {
            let lost = &mut self.lines[line.index()].lost;
            *lost = lost.saturating_sub(1);
        }
        self.next = Some(seq_num);
    }

    /// Takes a copy of a number that is held: where it differs it may be wanted.
    pub(super) fn keep_alternative(&mut self, now_ns: u64, line: Line, seq_num: u64, bytes: &[u8]) {
        let Some(held) = self.window.at(seq_num) else { return };
        let is_full = self.alternatives.len() >= ALTERNATIVES_MAX;
        let is_known = self.alternatives.iter().any(|(of, _)| *of == seq_num);
        if !is_full && !is_known && self.window.bytes(held) != bytes {
            let copy = self.window.store(line, now_ns, bytes);
            self.alternatives.push((seq_num, copy));
        }
    }

    /// Takes a packet with the number that was rejected. Returns whether it is the same as the one
    /// rejected: from the other line that ends the wait.
    pub(super) fn is_rejected(&mut self, line: Line, seq_num: u64, bytes: &[u8]) -> bool {
        let Some(rejected) = self.rejected else { return false };
        let is_same = rejected.seq_num == seq_num && self.window.bytes(&rejected.held) == bytes;
        if is_same && line != rejected.held.line {
            self.released = self.released.max(seq_num.saturating_add(1));
        }
        is_same
    }

    /// Whether `seq_num` was rejected and no more is waited for: it is delivered now, or given up.
    pub(super) fn end_rejection(&mut self, seq_num: u64) -> bool {
        let rejected = self.rejected.take_if(|rejected| rejected.seq_num == seq_num);
        if let Some(rejected) = rejected {
            self.window.discard(rejected.held);
        }
        rejected.is_some()
    }

    /// Forgets copies of numbers below `next`.
    pub(super) fn forget_copies(&mut self, next: u64) {
        let Self { alternatives, window, rejected, .. } = self;
        alternatives.retain(|(seq_num, copy)| {
            let is_wanted = *seq_num >= next;
            if !is_wanted {
                window.discard(*copy);
            }
            is_wanted
        });
        if let Some(rejected) = rejected.take_if(|rejected| rejected.seq_num < next) {
            window.discard(rejected.held);
        }
    }
}
