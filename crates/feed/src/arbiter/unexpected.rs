//! Unexpected numbers: they begin a new epoch, or mean a gap.

use super::epochs::Transition;
use super::line::ArbitratedLine;
use super::place::Stand;
use super::window::HeldPacket;
use super::{Arbiter, Line, LineTrust, PacketArrival, UnexpectedPolicy};

/// Consecutive unexpected numbers of one line, each above the previous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnexpectedRun {
    pub(super) first: u64,
    pub(super) highest: u64,
    packets: u32,
}

impl UnexpectedRun {
    pub(super) const fn new(seq_num: u64) -> Self {
        Self { first: seq_num, highest: seq_num, packets: 1 }
    }

    /// True if a number lies inside the run, at most `reach` above it or `reorder_max` below it.
    pub(super) fn is_continued_by(&self, seq_num: u64, reach: u64, reorder_max: u64) -> bool {
        seq_num.saturating_add(reorder_max) >= self.first
            && seq_num.saturating_sub(self.highest) <= reach
    }

    pub(super) fn take(&mut self, seq_num: u64) {
        self.first = self.first.min(seq_num);
        if seq_num > self.highest {
            self.highest = seq_num;
            self.packets = self.packets.saturating_add(1);
        }
    }
}

/// A packet that is assigned again once an epoch has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPacket {
    pub(super) seq_num: u64,
    pub(super) held: HeldPacket,
    /// Position of the packet's line when the packet arrived.
    pub(super) stand: Stand,
    /// True if it was counted as late, false if as unexpected.
    pub(super) is_late: bool,
    /// Number of times the packet was assigned again.
    pub(super) replays: u8,
}

/// A packet that fits no epoch after this many attempts is dropped.
const REPLAYS_MAX: u8 = 4;

impl Arbiter {
    /// Counts a packet that does not fit the current epoch, and keeps it because it may begin the
    /// next one.
    pub(super) fn handle_unexpected(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        self.note_unexpected(arrival);
        let packets_min = match self.options.unexpected {
            UnexpectedPolicy::Follow { packets_min } => packets_min,
            // The packet may belong to the epoch that was announced on the line.
            UnexpectedPolicy::Drop if self.states[line.index()].announced_first.is_some() => {
                u32::MAX
            }
            UnexpectedPolicy::Drop => {
                self.lines[line.index()].unexpected += 1;
                return;
            }
        };
        let (reach, reorder_max) = (self.window.span(), self.options.reorder_max);
        let state = &mut self.states[line.index()];
        let run = match &mut state.run {
            Some(run) if run.is_continued_by(seq_num, reach, reorder_max) => {
                run.take(seq_num);
                *run
            }
            Some(run) if state.has_left => *run,
            _ => *state.run.insert(UnexpectedRun::new(seq_num)),
        };
        let has_left = state.has_left;
        self.lines[line.index()].unexpected += 1;
        self.keep(arrival, false);
        let is_run = run.packets >= packets_min.max(1);
        if is_run && self.is_run_beside_other(line, &run) {
            self.come_back(line, &run);
        } else if has_left {
            self.begin_when_due();
        } else if is_run {
            self.follow(line);
        }
    }

    /// True if a line sends numbers at the position of the other one in the current epoch, and the
    /// other one has sent within the hold time. The lines differed, so one of them deviated and has
    /// returned.
    fn is_run_beside_other(&self, line: Line, run: &UnexpectedRun) -> bool {
        let is_told = self.states[line.index()].announced_first.is_some();
        if self.dispute.is_none() || is_told {
            return false;
        }
        let reorder_max = self.options.reorder_max;
        let is_beside = |highest: u64| run.is_continued_by(highest, reorder_max, reorder_max);
        let since_ns = self.now_ns.saturating_sub(self.options.hold_ns);
        // The line itself has a run, so `staying` excludes it.
        self.staying().any(|other| {
            other.last_received_ns >= Some(since_ns) && other.highest.is_some_and(is_beside)
        })
    }

    /// Ends the run of unexpected numbers of a line when it then sends the other line's packet of
    /// the current epoch. The numbers of the run were the first of this epoch, which the other line
    /// had lost.
    pub(super) fn end_run_by_copy(&mut self, line: Line, seq_num: u64) {
        let reorder_max = self.options.reorder_max;
        let run = self.states[line.index()].run;
        let ended = run.filter(|run| {
            seq_num > run.highest && run.is_continued_by(seq_num, reorder_max, reorder_max)
        });
        if let Some(run) = ended {
            self.come_back(line, &run);
        }
    }

    /// Returns a line that continued elsewhere to the current epoch; its packets there no longer go
    /// back.
    fn come_back(&mut self, line: Line, run: &UnexpectedRun) {
        let state = &mut self.states[line.index()];
        state.highest = Some(run.highest);
        state.below = None;
        state.has_left = false;
        state.run = None;
        let Self { pending, window, .. } = self;
        pending.retain(|known| {
            let is_of_other = known.held.line != line;
            if !is_of_other {
                window.discard(known.held);
            }
            is_of_other
        });
    }

    /// Counts a packet whose content the books do not have, unless its line may carry another
    /// channel. A line that was never compared counts only if the packet continues beyond its held
    /// ones.
    fn note_unexpected(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, received_ns, .. } = *arrival;
        let goes_on =
            || self.states[line.index()].is_followed_by(seq_num, self.options.reorder_max);
        let counts = match self.standing(line) {
            LineTrust::Trusted => true,
            LineTrust::Unproven => goes_on(),
            LineTrust::Doubtful => false,
        };
        if counts {
            self.unexpected_in_a_row = self.unexpected_in_a_row.saturating_add(1);
            self.is_unexpected_behind |= self.next.is_none_or(|next| seq_num < next);
            self.unexpected_ns = self.unexpected_ns.max(received_ns);
        }
    }

    /// Keeps a packet, already counted, that may belong to the next epoch. It is assigned again
    /// when that begins.
    pub(super) fn keep(&mut self, arrival: &PacketArrival<'_>, is_late: bool) {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let is_same = |known: &PendingPacket| {
            (known.seq_num, known.held.line, known.held.hash) == (seq_num, line, arrival.hash)
        };
        if self.pending.iter().rev().take(4).any(is_same) {
            return;
        }
        let replays = self.replaying.map_or(0, |_| self.replays + 1);
        if replays > REPLAYS_MAX {
            return;
        }
        if self.pending.len() as u64 >= self.window.span() {
            let Some(oldest) = self.pending.pop_front() else { return };
            self.window.discard(oldest.held);
        }
        let stand = self.replayed_stand.unwrap_or(self.states[line.index()].stand());
        let held = self.store(arrival);
        self.pending.push_back(PendingPacket { seq_num, held, stand, is_late, replays });
    }

    /// Drops the run of unexpected numbers of a line that continues in the current epoch. The
    /// packets are kept: they may have overtaken the SequenceReset that explains them.
    pub(super) fn forget_run(&mut self, line: Line) {
        let state = &mut self.states[line.index()];
        state.run = state.run.filter(|_| state.has_left);
    }

    /// Drops pending packets whose line has continued in the epoch by more than `reorder_max`
    /// numbers: they do not belong to the next epoch.
    pub(super) fn forget_old_pending(&mut self) {
        while let Some(oldest) = self.pending.front().copied() {
            let state = &self.states[oldest.held.line.index()];
            if state.run.is_some() || !self.is_overtaken(&oldest) {
                return;
            }
            self.window.discard(oldest.held);
            self.pending.pop_front();
        }
    }

    /// True if the line of a pending packet has advanced by more than `reorder_max` numbers.
    fn is_overtaken(&self, pending: &PendingPacket) -> bool {
        let state = &self.states[pending.held.line.index()];
        let from = pending.stand.highest.unwrap_or(self.first);
        state.epoch == pending.stand.epoch && state.stand().back(from) > self.options.reorder_max
    }

    /// Queues pending packets to be assigned again, those of `line` or all, and drops overtaken
    /// ones.
    pub(super) fn replay_pending(&mut self, line: Option<Line>) {
        for _ in 0..self.pending.len() {
            let Some(known) = self.pending.pop_front() else { return };
            if line.is_some_and(|line| known.held.line != line) {
                self.pending.push_back(known);
            } else if self.is_overtaken(&known) {
                self.window.discard(known.held);
            } else {
                self.replay.push_back(known);
            }
        }
    }

    /// Handles a run that is long enough: its line has left the current epoch, if packets that only
    /// it sends are delivered.
    fn follow(&mut self, line: Line) {
        if self.is_heard(line) {
            let state = &mut self.states[line.index()];
            state.has_left = true;
            state.left_ns = self.now_ns;
            self.begin_when_due();
        }
    }

    /// Begins the epoch, or skips the gap, that a line has shown without a SequenceReset. It does
    /// so after the hold time, because packets of the current epoch may still arrive, or at once if
    /// no more packets of the next epoch can be kept and no line contradicts it.
    pub(super) fn begin_when_due(&mut self) {
        let is_full = self.pending.len() as u64 >= self.window.span();
        let told = self.announced_first();
        let is_settled = is_full && (told.is_some() || !self.is_contradicted());
        let is_due = |due_ns| self.now_ns >= due_ns || is_settled;
        if !self.leaving_due_ns().is_some_and(is_due) {
            return;
        }
        if let Some(to) = told {
            let entering = self.states.map(|state| state.has_left);
            self.transition = Some(Transition { to, reset: None, entering });
            return;
        }
        if !is_settled && self.goes_on_in_epoch() {
            return self.disbelieve_runs();
        }
        let left = self.states.iter().filter(|state| state.has_left);
        let Some(first) = left.filter_map(|state| state.run).map(|run| run.first).min() else {
            return;
        };
        if self.confirm_leaps_of_left() {
            return;
        }
        let first = self.first_kept_near(first);
        if self.take_lone_packet_before(first) {
            return;
        }
        if first < self.top.max(self.next.unwrap_or(0)) {
            let entering = self.states.map(|state| state.has_left);
            self.transition = Some(Transition { to: first, reset: None, entering });
        } else {
            self.jump_to(first);
        }
    }

    /// True if a trusted line has continued in the current epoch since another one left it. Either
    /// it is behind, or the other line's numbers are not those of a reset.
    fn goes_on_in_epoch(&self) -> bool {
        let Some(left_ns) = self.left().map(|state| state.left_ns).min() else { return false };
        let is_newer = |state: &ArbitratedLine| {
            state.last_received_ns.is_some_and(|last_ns| last_ns > left_ns)
        };
        self.staying().any(is_newer)
    }

    /// True if a trusted line has passed the number at which another one left the current epoch, by
    /// more than `reorder_max`. Before that, the line may only be behind.
    fn is_contradicted(&self) -> bool {
        let Some(left_at) = self.left().map(|state| state.highest).min() else { return false };
        let reach = left_at.unwrap_or(self.first).saturating_add(self.options.reorder_max);
        self.staying().any(|state| state.highest.is_some_and(|highest| highest > reach))
    }

    /// Returns the lines that have left the current epoch.
    fn left(&self) -> impl Iterator<Item = &ArbitratedLine> {
        self.states.iter().filter(|state| state.has_left)
    }

    /// Returns the lines that are in the current epoch and show no sign of another. They have
    /// agreed with the other line and are not wrong for certain. A line that is excluded by a
    /// guess is included, because it may be the right one.
    fn staying(&self) -> impl Iterator<Item = &ArbitratedLine> {
        let is_staying = |line: &Line| {
            let state = &self.states[line.index()];
            !state.has_left
                && state.run.is_none()
                && state.epoch == self.epoch
                && self.is_alive(*line)
                && state.is_trusted
                && !self.is_wrong_for_certain(*line)
        };
        Line::ALL.into_iter().filter(is_staying).map(|line| &self.states[line.index()])
    }

    /// Drops the runs of lines that left the epoch: the other line would have shown the reset by
    /// now.
    fn disbelieve_runs(&mut self) {
        for state in self.states.iter_mut().filter(|state| state.has_left) {
            state.has_left = false;
            state.run = None;
        }
    }

    /// Returns the lowest kept number that `first` may have overtaken, or that only the other line
    /// has sent.
    fn first_kept_near(&self, first: u64) -> u64 {
        let reorder_max = self.options.reorder_max;
        let is_near = |seq_num: &u64| seq_num.saturating_add(reorder_max) >= first;
        let kept = self.pending.iter().filter(|kept| !self.is_overtaken(kept));
        kept.map(|kept| kept.seq_num).filter(is_near).min().map_or(first, |near| near.min(first))
    }

    /// Treats numbers far ahead as a gap: stops waiting for everything below `first`.
    fn jump_to(&mut self, first: u64) {
        self.release_all();
        self.released = self.released.max(first);
        let reorder_max = self.options.reorder_max;
        for line in Line::ALL {
            let state = &self.states[line.index()];
            // A line with a run up to there follows too, though its run is still too short for it
            // to leave.
            let is_beyond =
                state.run.is_some_and(|run| run.first.saturating_add(reorder_max) >= first);
            if !state.has_left && !is_beyond {
                continue;
            }
            self.replay_pending(Some(line));
            self.states[line.index()].has_left = false;
            self.forget_run(line);
        }
    }

    /// Returns the time at which the epoch that a line has shown begins; `None` if no line has
    /// left.
    pub(super) fn leaving_due_ns(&self) -> Option<u64> {
        let has_left = |line: &Line| self.states[line.index()].has_left;
        if self.transition.is_some() || !Line::ALL.iter().any(has_left) {
            return None;
        }
        let is_awaited = |line: Line| !has_left(&line) && self.is_alive(line);
        let left_ns =
            || self.states.iter().filter(|state| state.has_left).map(|state| state.left_ns);
        let is_any_staying = self.staying().next().is_some();
        let wait_ns = if is_any_staying { self.options.hold_ns } else { self.wait_ns() };
        let due_ns = left_ns().min()?.saturating_add(wait_ns);
        let short_ns = left_ns().max()?.saturating_add(self.short_wait_ns());
        if self.is_start_shown_by_all() {
            return left_ns().min();
        }
        if self.goes_on_in_epoch() {
            return Some(left_ns().min()?.saturating_add(self.options.skew_ns));
        }
        let is_any_awaited = Line::ALL.into_iter().any(is_awaited);
        Some(if is_any_awaited { due_ns } else { due_ns.min(short_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_by_rising_numbers_and_counts_each_once() {
        let mut run = UnexpectedRun::new(10);
        for seq_num in [10, 11, 10, 13, 9] {
            assert!(run.is_continued_by(seq_num, 16, 2));
            run.take(seq_num);
        }
        assert_eq!((run.first, run.highest, run.packets), (9, 13, 3));
        assert!(!run.is_continued_by(6, 16, 2) && !run.is_continued_by(30, 16, 2));
    }
}
