//! Epochs of sequence numbers: which one a line is in, and what becomes of late packets of those before.

use super::history::History;
use super::unexpected::Pending;
use super::{Arbiter, Arrival, Line, Output};

/// Most past epochs remembered, whatever their age.
const PAST_MAX: usize = 4;

/// An epoch that ended less than the skew bound ago.
#[derive(Debug)]
pub(super) struct Past {
    epoch: u64,
    /// Its first number, as far as is known.
    first: u64,
    /// The number after its last one; later ones were not seen if nothing said that it ended.
    end: u64,
    /// Number and hash of the packet whose SequenceReset ended it.
    reset: Option<(u64, u64)>,
    pub(super) ended_ns: u64,
    history: History,
    reorder_max: u64,
}

/// Where a packet of a line in a past epoch belongs.
enum Place {
    /// In that epoch.
    Past,
    /// In that epoch, and it is the packet that ended it.
    Reset,
    /// In a later epoch.
    Later,
}

/// An epoch that begins once what is held of the current one has been polled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transition {
    /// Its first number.
    pub(super) to: u64,
    /// Number and hash of the packet that said so.
    pub(super) reset: Option<(u64, u64)>,
    /// The lines that are in it.
    pub(super) entering: [bool; 2],
}

impl Past {
    fn is_copy(&self, arrival: &Arrival<'_>) -> bool {
        self.history.fate(arrival.seq_num).is_copy(arrival.hash)
    }

    /// Whether a packet is equal to one that the other line brought.
    fn is_agreed(&self, arrival: &Arrival<'_>) -> bool {
        let other = arrival.line.other();
        self.is_copy(arrival) && self.history.fate(arrival.seq_num).was_seen_on(other)
    }

    /// Where a packet belongs whose line has brought numbers up to `highest` of this epoch;
    /// `is_later_copy` says that it is equal to a packet of a later epoch, and the next one begins at
    /// `next_first`.
    fn place(
        &self,
        arrival: &Arrival<'_>,
        highest: Option<u64>,
        is_later_copy: bool,
        next_first: u64,
    ) -> Place {
        let Arrival { seq_num, hash, .. } = *arrival;
        if self.reset == Some((seq_num, hash)) {
            return Place::Reset;
        }
        let behind = highest.map_or(0, |highest| highest.saturating_sub(seq_num));
        let goes_back = highest.is_some_and(|highest| seq_num <= highest);
        let fate = self.history.fate(seq_num);
        let is_later = if fate.is_copy(hash) {
            is_later_copy && behind > self.reorder_max
        } else if is_later_copy || (self.reset.is_some() && seq_num >= self.end) {
            true
        } else if goes_back {
            fate.was_accepted() || behind > self.reorder_max
        } else if highest.is_none() {
            // Of a line that brings its first packet, what is nearer to the next epoch is of it.
            let is_before = seq_num < self.first;
            fate.was_accepted()
                || (is_before && seq_num.abs_diff(next_first) < self.first - seq_num)
        } else {
            false
        };
        if is_later { Place::Later } else { Place::Past }
    }

    /// Whether a packet may be a late one of this epoch, by its number: it was declared lost, or follows
    /// the last one of an epoch that no SequenceReset ended.
    fn has_lost(&self, seq_num: u64) -> bool {
        let reorder = if self.reset.is_none() { self.reorder_max } else { 0 };
        let end = self.end.saturating_add(reorder);
        (self.first..end).contains(&seq_num) && !self.history.fate(seq_num).was_accepted()
    }
}

impl Arbiter {
    /// Says that the packet delivered last carried a SequenceReset: the next packet of its epoch has the
    /// number `seq_num`. Lines that have brought this packet enter the new epoch; a line that has not
    /// stays in the old one until it shows the reset, or a number or packet that is not of the old epoch.
    ///
    /// If no packet was delivered since the last call of anything else, all lines enter the new epoch, and
    /// what is held is delivered first.
    pub fn reset(&mut self, seq_num: u64) {
        let seq_num = seq_num.min(super::SEQ_NUM_MAX);
        self.next.get_or_insert(seq_num);
        let Some(delivered) = self.delivered.take() else {
            if let Some(parked) = self.parked.take() {
                let counters = &mut self.lines[parked.held.line.index()];
                counters.first -= 1;
                counters.not_polled += 1;
                self.window.discard(parked.held);
            }
            self.transition = Some(Transition { to: seq_num, reset: None, entering: [true; 2] });
            return;
        };
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

    /// Takes everything held out of the window, to be sorted again in the epoch that begins.
    fn unhold(&mut self) {
        self.forget_copies(u64::MAX);
        self.released = self.next.unwrap_or(0);
        let mut pending: Vec<Pending> = Vec::new();
        let next = self.next.unwrap_or(0);
        while let Some(seq_num) = self.window.first_from(next) {
            let Some(held) = self.window.take_out(seq_num) else { break };
            self.history.unmark_accepted(seq_num);
            pending.push(Pending { seq_num, held, replays: 0 });
        }
        let parked = self.parked.take().map(|parked| (parked.seq_num, parked.held));
        pending.extend(parked.map(|(seq_num, held)| Pending { seq_num, held, replays: 0 }));
        for Pending { held, .. } in &pending {
            let counters = &mut self.lines[held.line.index()];
            counters.first -= 1;
            counters.unexpected += 1;
        }
        self.replay_pending(None);
        pending.extend(self.replay.drain(..));
        pending.sort_by_key(|pending| pending.held.received_ns);
        self.replay.extend(pending);
    }

    /// Sorts a packet that was pending, as if it came now.
    pub(super) fn replay_next(&mut self) -> bool {
        let Some(Pending { seq_num, held, replays }) = self.replay.pop_front() else {
            return false;
        };
        self.lines[held.line.index()].unexpected -= 1;
        let (line, hash) = (held.line, held.hash);
        let (received_ns, packet) = (held.received_ns, [].as_slice().into());
        self.replays = replays;
        self.replaying = Some(held);
        self.sort_packet(&Arrival { received_ns, line, seq_num, hash, packet });
        if let Some(unused) = self.replaying.take() {
            self.window.discard(unused);
        }
        true
    }

    /// Begins an epoch.
    pub(super) fn begin_epoch(&mut self, transition: Transition) -> Output<'static> {
        let Transition { to, reset, entering } = transition;
        self.forget_copies(u64::MAX);
        self.replay_pending(None);
        let history = self.new_history();
        self.past.push_back(Past {
            epoch: self.epoch,
            first: self.first,
            end: self.next.unwrap_or(to),
            reset,
            ended_ns: self.now_ns,
            reorder_max: self.options.reorder_max,
            history: std::mem::replace(&mut self.history, history),
        });
        self.epoch += 1;
        for (state, is_entering) in self.states.iter_mut().zip(entering) {
            if is_entering {
                state.enter(self.epoch);
            }
            state.run = None;
        }
        self.next = Some(to);
        self.first = to;
        self.released = to;
        self.top = to;
        self.leader = None;
        self.window.forget_arrivals();
        if self.past.len() > PAST_MAX {
            self.forget_oldest_epoch();
        }
        self.counters.resets += 1;
        Output::Reset { seq_num: to }
    }

    /// Forgets an epoch; a line that is still in it is as good as new, and has to agree first.
    fn forget_oldest_epoch(&mut self) {
        let Some(past) = self.past.pop_front() else { return };
        for state in self.states.iter_mut().filter(|state| state.epoch <= past.epoch) {
            state.enter(past.epoch + 1);
            state.is_trusted = false;
        }
    }

    /// Whether a packet is of a past epoch: its line has not come to the current one, or it is late.
    pub(super) fn is_past(&mut self, arrival: &Arrival<'_>) -> bool {
        let is_over =
            |past: &Past| self.now_ns > past.ended_ns.saturating_add(self.options.skew_ns);
        if self.past.front().is_some_and(is_over) {
            self.forget_oldest_epoch();
        }
        if self.is_late(arrival) {
            self.lines[arrival.line.index()].old_epoch += 1;
            return true;
        }
        let line = arrival.line.index();
        let mut index = 0;
        while let Some(past) = self.past.get(index) {
            let epoch = past.epoch;
            let state = self.states[line];
            if epoch >= state.epoch {
                let is_agreed = past.is_agreed(arrival);
                let end = past.end;
                let next_first = self.past.get(index + 1).map_or(self.first, |next| next.first);
                let is_later_copy = self.history.fate(arrival.seq_num).is_copy(arrival.hash)
                    || self.past.iter().skip(index + 1).any(|past| past.is_copy(arrival));
                match past.place(arrival, state.highest, is_later_copy, next_first) {
                    Place::Later => self.states[line].enter(epoch + 1),
                    Place::Reset => {
                        if is_agreed {
                            self.note_agreement(arrival.line);
                        }
                        self.states[line].enter(epoch + 1);
                        self.lines[line].old_epoch += 1;
                        return true;
                    }
                    Place::Past => {
                        if is_agreed {
                            self.note_agreement(arrival.line);
                        }
                        if arrival.seq_num < end.saturating_add(self.window.span()) {
                            self.states[line].note_highest(arrival.seq_num);
                        }
                        self.lines[line].old_epoch += 1;
                        return true;
                    }
                }
            }
            index += 1;
        }
        false
    }

    /// Whether a packet is a late one of an epoch before that of its line. The number that the line is
    /// expected to bring next never is.
    fn is_late(&self, arrival: &Arrival<'_>) -> bool {
        let Arrival { line, seq_num, hash, .. } = *arrival;
        let state = &self.states[line.index()];
        let own = self.past.iter().find(|past| past.epoch == state.epoch);
        let (first, history) =
            own.map_or((self.first, &self.history), |past| (past.first, &past.history));
        let expected = state.highest.map_or(first, |highest| highest + 1);
        if seq_num == expected || history.fate(seq_num).is_copy(hash) {
            return false;
        }
        let is_far = seq_num > expected.saturating_add(self.options.reorder_max);
        let is_late = |past: &Past| past.is_copy(arrival) || (is_far && past.has_lost(seq_num));
        self.past.iter().filter(|past| past.epoch < state.epoch).any(is_late)
    }
}
