//! Epochs of sequence numbers: the epoch of each line, and late packets of past epochs.

use super::history::FateHistory;
use super::unexpected::PendingPacket;
use super::window::HeldPacket;
use super::{Arbiter, ArbiterOutput, Line, PacketArrival};

/// Most past epochs remembered, whatever their age.
const PAST_MAX: usize = 4;

/// An epoch that ended less than the skew bound ago.
#[derive(Debug)]
pub(super) struct PastEpoch {
    pub(super) epoch: u64,
    /// First number, as far as known.
    pub(super) first: u64,
    /// The number after the last one. If no reset ended the epoch, later numbers may exist that
    /// were not seen.
    pub(super) end: u64,
    /// Number and hash of the packet whose SequenceReset ended it.
    reset: Option<(u64, u64)>,
    pub(super) ended_ns: u64,
    pub(super) history: FateHistory,
}

/// An epoch that begins once the held packets of the current one have been polled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transition {
    /// First number of the new epoch.
    pub(super) to: u64,
    /// Number and hash of the packet with the SequenceReset.
    pub(super) reset: Option<(u64, u64)>,
    /// The lines that enter the new epoch.
    pub(super) entering: [bool; 2],
}

impl PastEpoch {
    fn is_copy(&self, arrival: &PacketArrival<'_>) -> bool {
        self.history.fate(arrival.seq_num).is_copy(arrival.hash)
    }

    /// True if the other line sent an equal packet.
    fn is_agreed(&self, arrival: &PacketArrival<'_>) -> bool {
        let fate = self.history.fate(arrival.seq_num);
        let line = arrival.line;
        self.is_copy(arrival) && fate.was_seen_on(line.other()) && !fate.was_seen_on(line)
    }

    /// True if a number belongs to this epoch, which ends with its SequenceReset. Without a
    /// SequenceReset, numbers after the last one may belong to it too.
    pub(super) fn may_have(&self, seq_num: u64) -> bool {
        self.reset.is_none() || seq_num < self.end
    }
}

impl Arbiter {
    /// Reports that the packet delivered last carried a SequenceReset: the next packet of its epoch
    /// has the number `seq_num`. Lines that have sent this packet enter the new epoch. The other
    /// line stays in the old epoch until it sends the reset, or a number or packet that does not
    /// belong to the old epoch.
    ///
    /// If no packet was delivered since the last call of another method, all lines enter the new
    /// epoch, and held packets are delivered first.
    pub fn reset(&mut self, seq_num: u64) {
        let seq_num = seq_num.min(super::SEQ_NUM_MAX);
        let Some(delivered) = self.delivered.take() else {
            return self.begin_with(seq_num);
        };
        self.next.get_or_insert(seq_num);
        let source = delivered.source;
        let fate = self.history.fate(source.seq_num);
        let entering = Line::ALL.map(|line| {
            let state = &self.states[line.index()];
            state.epoch == self.epoch && (state.has_left || fate.was_seen_on(line))
        });
        self.unhold();
        let reset = Some((source.seq_num, source.hash));
        self.transition = Some(Transition { to: seq_num, reset, entering });
    }

    /// Moves all lines to a new epoch after the held packets are delivered.
    fn begin_with(&mut self, seq_num: u64) {
        self.next.get_or_insert(seq_num);
        if let Some(parked) = self.parked.take() {
            let counters = &mut self.lines[parked.held.line.index()];
            counters.first -= 1;
            counters.not_polled += 1;
            self.window.discard(parked.held);
        }
        self.transition = Some(Transition { to: seq_num, reset: None, entering: [true; 2] });
    }

    /// Removes all held packets from the window; they are assigned again in the epoch that begins.
    fn unhold(&mut self) {
        self.forget_copies(u64::MAX);
        self.released = self.next.unwrap_or(0);
        let mut pending: Vec<PendingPacket> = Vec::new();
        self.pend_leaps();
        let next = self.next.unwrap_or(0);
        while let Some(seq_num) = self.window.first_from(next) {
            let Some(held) = self.window.take_out(seq_num) else { break };
            self.history.unmark_accepted(seq_num);
            pending.push(self.unheld(seq_num, held));
        }
        let parked = self.parked.take().map(|parked| (parked.seq_num, parked.held));
        pending.extend(parked.map(|(seq_num, held)| self.unheld(seq_num, held)));
        for PendingPacket { held, .. } in &pending {
            let counters = &mut self.lines[held.line.index()];
            counters.first -= 1;
            counters.unexpected += 1;
        }
        self.replay_pending(None);
        pending.extend(self.replay.drain(..));
        pending.sort_by_key(|pending| pending.held.received_ns);
        self.replay.extend(pending);
    }

    fn unheld(&self, seq_num: u64, held: HeldPacket) -> PendingPacket {
        let stand = self.states[held.line.index()].stand();
        PendingPacket { seq_num, held, stand, is_late: false, replays: 0 }
    }

    /// Assigns the next pending packet as if it arrived now.
    pub(super) fn replay_next(&mut self) -> bool {
        let Some(PendingPacket { seq_num, held, stand, is_late, replays }) =
            self.replay.pop_front()
        else {
            return false;
        };
        let counters = &mut self.lines[held.line.index()];
        *(if is_late { &mut counters.late } else { &mut counters.unexpected }) -= 1;
        let (line, hash) = (held.line, held.hash);
        let (received_ns, packet) = (held.received_ns, [].as_slice().into());
        self.replays = replays;
        self.replaying = Some(held);
        self.replayed_stand = Some(stand);
        self.sort_packet(&PacketArrival { received_ns, line, seq_num, hash, packet });
        self.replayed_stand = None;
        if let Some(unused) = self.replaying.take() {
            self.window.discard(unused);
        }
        true
    }

    /// Begins an epoch.
    pub(super) fn begin_epoch(&mut self, transition: Transition) -> ArbiterOutput<'static> {
        let Transition { to, reset, entering } = transition;
        self.forget_copies(u64::MAX);
        self.pend_leaps();
        self.replay_pending(None);
        let history = self.new_history();
        self.past.push_back(PastEpoch {
            epoch: self.epoch,
            first: self.first,
            end: self.next.unwrap_or(to),
            reset,
            ended_ns: self.now_ns,
            history: std::mem::replace(&mut self.history, history),
        });
        self.epoch += 1;
        for (state, is_entering) in self.states.iter_mut().zip(entering) {
            if is_entering {
                state.enter(self.epoch, self.now_ns);
            }
            state.run = None;
        }
        self.next = Some(to);
        self.first = to;
        self.released = to;
        self.ended_waits.forget();
        self.top = to;
        self.leader = None;
        self.unexpected_in_a_row = 0;
        self.is_unexpected_behind = false;
        self.is_on_probation = [false; 2];
        self.window.forget_arrivals();
        if self.past.len() > PAST_MAX {
            self.forget_oldest_epoch();
        }
        self.counters.resets += 1;
        ArbiterOutput::Reset { seq_num: to }
    }

    /// Drops the oldest past epoch. A line that is still in it counts as new and must be compared
    /// again.
    fn forget_oldest_epoch(&mut self) {
        let Some(past) = self.past.pop_front() else { return };
        for state in self.states.iter_mut().filter(|state| state.epoch <= past.epoch) {
            state.enter(past.epoch + 1, self.now_ns);
            state.is_trusted = false;
        }
    }

    /// Drops all past epochs, once every line has left them. A packet that equals one of theirs is
    /// a new one from then on.
    pub(crate) fn forget_past(&mut self) {
        while !self.past.is_empty() {
            self.forget_oldest_epoch();
        }
    }

    /// Drops past epochs that ended longer ago than the skew bound.
    pub(super) fn forget_old_epochs(&mut self) {
        let is_over =
            |past: &PastEpoch| self.now_ns > past.ended_ns.saturating_add(self.options.skew_ns);
        if self.past.front().is_some_and(is_over) {
            self.forget_oldest_epoch();
        }
    }

    /// Counts a packet of a past epoch, and advances the position of its line.
    pub(super) fn note_past(&mut self, arrival: &PacketArrival<'_>, index: usize) {
        let PacketArrival { line, seq_num, hash, .. } = *arrival;
        self.lines[line.index()].old_epoch += 1;
        let Some(past) = self.past.get(index) else { return };
        let (epoch, end) = (past.epoch, past.end);
        let is_agreed = past.is_agreed(arrival);
        let is_reset = past.reset == Some((seq_num, hash));
        if is_agreed {
            self.note_agreement(line);
        }
        let state = &mut self.states[line.index()];
        if state.epoch > epoch {
            return;
        }
        if state.epoch < epoch {
            state.enter(epoch, self.now_ns);
        }
        if is_reset {
            state.enter(epoch + 1, self.now_ns);
        } else if seq_num < end.saturating_add(self.window.span()) {
            state.note_highest(seq_num);
        }
    }
}
