//! Handover: a line begins to send when the other one has died.
//!
//! The new line was never compared, so it may carry another channel. Normally it replaces the other
//! line once the other line counts as silent. It does so sooner if its very first packet is near
//! the number with which the other line would continue, and the other line sends nothing from then
//! on, for twice its longest pause. If the other line had already paused for that long, only the
//! very next number counts as near.

use super::{Arbiter, Line, PacketArrival};

/// Fewest consecutive packets of the new line.
const PACKETS_MIN: u32 = 8;

/// Packets that a line must have sent before its pauses are known: more than the bursts at the
/// start of a day.
const PAUSES_MIN: u32 = 256;
/// The longest pause is taken over the last `PAUSES` to `2 * PAUSES` packets.
const PAUSES: u32 = 1024;

/// Silence before a handover, as a multiple of the longest pause.
const PAUSES_FACTOR: u64 = 2;

/// Consecutive first packets of a line that begin where the other line stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct SingleLineRun {
    pub(super) began_ns: u64,
    highest: u64,
    /// Packets since the other line's last one.
    packets: u32,
    /// True if this line replaces the other one, until the other one sends anything.
    has_taken_over: bool,
}

/// The longest pauses between packets of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    longest_ns: u64,
    longest_before_ns: u64,
    packets: u32,
    is_known: bool,
}

impl Pauses {
    /// Records the time since the previous packet.
    #[inline]
    pub(super) fn take(&mut self, pause_ns: u64) {
        self.longest_ns = self.longest_ns.max(pause_ns);
        self.packets += 1;
        if self.packets >= PAUSES {
            let longest_before_ns = self.longest_ns;
            *self = Self { longest_before_ns, is_known: true, ..Self::default() };
        }
    }

    fn longest_ns(&self) -> Option<u64> {
        let is_known = self.is_known || self.packets >= PAUSES_MIN;
        is_known.then(|| self.longest_ns.max(self.longest_before_ns))
    }
}

impl Arbiter {
    /// Records a packet of a line that was never compared, and checks whether it continues where
    /// the other one stopped.
    #[cold]
    pub(super) fn note_alone(&mut self, arrival: &PacketArrival<'_>, is_first: bool) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let (reorder_max, began_ns) = (self.options.reorder_max, self.now_ns);
        let is_beginning = is_first && self.is_where_other_stopped(line, seq_num);
        let has_taken_over = self.takes_over(line);
        let alone = &mut self.states[line.index()].alone;
        *alone = match *alone {
            None if is_beginning => Some(SingleLineRun {
                began_ns,
                highest: seq_num,
                packets: 1,
                has_taken_over: false,
            }),
            Some(alone) if has_taken_over => Some(SingleLineRun { has_taken_over, ..alone }),
            Some(alone) if seq_num <= alone.highest => Some(alone),
            Some(alone) if seq_num - alone.highest <= reorder_max => {
                let packets = alone.packets.saturating_add(1);
                Some(SingleLineRun { highest: seq_num, packets, ..alone })
            }
            _ => None,
        };
    }

    /// True if a line with this number continues where the other one stopped. If the other line
    /// pauses for longer than ever before, its channel has either continued without it or pauses
    /// too. In the second case only the very next number continues it, and a near number belongs to
    /// another channel.
    fn is_where_other_stopped(&self, line: Line, seq_num: u64) -> bool {
        let Some(next) = self.next else { return false };
        let other = &self.states[line.other().index()];
        let highest = other.highest.filter(|_| other.epoch == self.epoch);
        let stopped_at = highest.map_or(next, |highest| next.max(highest.saturating_add(1)));
        let is_pausing = self.pause_over_ns(line.other()).is_some_and(|at_ns| self.now_ns > at_ns);
        let reach = if is_pausing { 0 } else { self.options.reorder_max };
        seq_num >= next && seq_num.saturating_sub(stopped_at) <= reach
    }

    /// Records that a line sent a packet, so the other one did not continue where it stopped,
    /// unless this packet is only out of order.
    #[inline]
    pub(super) fn end_alone(&mut self, line: Line) {
        let (now_ns, hold_ns) = (self.now_ns, self.options.hold_ns);
        let alone = &mut self.states[line.other().index()].alone;
        alone.take_if(|alone| now_ns > alone.began_ns.saturating_add(hold_ns));
        if let Some(alone) = alone {
            alone.packets = 0;
        }
    }

    /// True if a line has replaced the other one, which seems dead.
    pub(super) fn takes_over(&self, line: Line) -> bool {
        let Some(alone) = self.states[line.index()].alone else { return false };
        let is_late = || self.takes_over_at_ns(line).is_some_and(|at_ns| self.now_ns > at_ns);
        alone.has_taken_over || is_late()
    }

    /// Returns the time at which a line takes over, if the other one sends nothing until then.
    pub(super) fn takes_over_at_ns(&self, line: Line) -> Option<u64> {
        self.states[line.index()].alone.filter(|alone| alone.packets >= PACKETS_MIN)?;
        self.pause_over_ns(line.other())
    }

    /// Returns the time after which a line has been silent for longer than it ever pauses.
    fn pause_over_ns(&self, line: Line) -> Option<u64> {
        let state = &self.states[line.index()];
        let pause_ns = state.pauses.longest_ns()?.saturating_mul(PAUSES_FACTOR);
        Some(state.last_received_ns?.saturating_add(pause_ns.max(self.options.hold_ns)))
    }
}
