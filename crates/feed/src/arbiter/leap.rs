//! Leaps: packets far ahead of every known number, whose number may be damaged.
//!
//! After a large loss a line continues from its leap, so its next packet confirms the number of the
//! first one; so does a further leap. A packet with a damaged number stands alone, and its line
//! continues below it. Until one or the other is seen, the packet waits beside the window: it
//! neither ends a wait nor moves the position of its line.

use super::line::ArbitratedLine;
use super::unexpected::PendingPacket;
use super::{Arbiter, Line, LineTrust, OUT_OF_SEQUENCE_MIN, PacketArrival};

/// Packets of a line below its leap, not sent by it before, that prove the number of the leap
/// wrong. A single one may only be out of order.
const CONTRADICTIONS_MIN: u32 = 2;

/// Upper bound of [`Arbiter::leap_reach`](super::Arbiter): a number further ahead is a leap,
/// however far packets may be out of order. No packet has more messages, so on feeds that number
/// messages the next packet confirms a leap.
const LEAP_REACH_MAX: u64 = 127;

/// A packet far ahead of every known number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leap {
    pending: PendingPacket,
    /// Packets that its line sent below it since.
    contradictions: u32,
    /// True if it has waited for longer than the hold time.
    is_overdue: bool,
}

impl Arbiter {
    /// True if any leap is pending.
    pub(super) fn has_leap(&self) -> bool {
        self.leaps.iter().any(Option::is_some)
    }

    /// Handles a packet of the current epoch that is a leap or confirms one; a confirmed leap is
    /// assigned again. Returns true if it was one of the two.
    pub(super) fn sort_leap(&mut self, arrival: &PacketArrival<'_>) -> bool {
        let PacketArrival { line, seq_num, hash, .. } = *arrival;
        let own = self.leaps[line.index()].map(|leap| leap.pending);
        if own.is_some_and(|own| (own.seq_num, own.held.hash) == (seq_num, hash)) {
            self.lines[line.index()].duplicate += 1;
            return true;
        }
        if own.is_some_and(|own| self.is_confirming(line, seq_num, own.seq_num)) {
            self.confirm_leap(line);
            self.sort_later(arrival);
            return true;
        }
        let is_copy = self.history.fate(seq_num).was_seen_on(line);
        if own.is_some_and(|own| seq_num < own.seq_num) && !is_copy {
            self.contradict_leap(line);
        }
        let other = self.leaps[line.other().index()].map(|leap| leap.pending.seq_num);
        if other.is_some_and(|other| self.is_confirming(line, seq_num, other)) {
            self.confirm_leap(line.other());
            self.sort_later(arrival);
        } else if self.is_leap(line, seq_num) {
            // A line that rises further after its leap does not contradict it.
            self.confirm_leap(line);
            self.lines[line.index()].unexpected += 1;
            let pending = self.pend(arrival);
            let leap = Leap { pending, contradictions: 0, is_overdue: false };
            self.leaps[line.index()] = Some(leap);
        } else {
            return false;
        }
        true
    }

    /// True if a number of a trusted line is further ahead of all known packets than reordering
    /// explains.
    fn is_leap(&self, line: Line, seq_num: u64) -> bool {
        let reach = self.leap_reach();
        let is_far = |known: u64| seq_num.saturating_sub(known) > reach;
        is_far(self.top)
            && self.next.is_some_and(is_far)
            && self.states[line.index()].highest.is_some_and(is_far)
            && self.standing(line) == LineTrust::Trusted
    }

    /// True if a number of a line is near a leap, and nearer to it than to the line's position.
    fn is_confirming(&self, line: Line, seq_num: u64, leap: u64) -> bool {
        let from_leap = leap.abs_diff(seq_num);
        let is_nearer = |highest: u64| from_leap < highest.abs_diff(seq_num);
        from_leap <= self.leap_reach() && self.states[line.index()].highest.is_none_or(is_nearer)
    }

    /// Returns how far ahead a number may be without being a leap.
    pub(super) fn leap_reach(&self) -> u64 {
        self.options.reorder_max.min(LEAP_REACH_MAX)
    }

    /// Copies a packet that will be assigned again; until then it counts as unexpected.
    fn pend(&mut self, arrival: &PacketArrival<'_>) -> PendingPacket {
        let stand = self.states[arrival.line.index()].stand();
        let held = self.store(arrival);
        PendingPacket { seq_num: arrival.seq_num, held, stand, is_late: false, replays: 0 }
    }

    fn sort_later(&mut self, arrival: &PacketArrival<'_>) {
        self.lines[arrival.line.index()].unexpected += 1;
        let pending = self.pend(arrival);
        self.replay.push_back(pending);
    }

    /// Queues a leap to be assigned again.
    fn confirm_leap(&mut self, line: Line) {
        let Some(Leap { pending: leap, .. }) = self.leaps[line.index()].take() else { return };
        self.sort_again_before_those_behind(leap);
    }

    /// Queues a pending packet to be assigned again. Pending packets of its line that arrived later
    /// are assigned from the line's position after this packet.
    fn sort_again_before_those_behind(&mut self, first: PendingPacket) {
        let is_behind = |known: &&mut PendingPacket| {
            (known.held.line, known.stand.epoch) == (first.held.line, first.stand.epoch)
                && known.held.received_ns >= first.held.received_ns
        };
        for known in self.pending.iter_mut().filter(is_behind) {
            known.stand.highest = known.stand.highest.max(Some(first.seq_num));
        }
        self.replay.push_back(first);
    }

    /// Takes the leaps of lines that have left the epoch: these lines continued elsewhere, not
    /// below their leaps. The leaps are assigned before a gap is declared or an epoch begins,
    /// because one of them may be the SequenceReset that explains it. Returns true if there was
    /// one.
    pub(super) fn confirm_leaps_of_left(&mut self) -> bool {
        let has_leap =
            |line: &Line| self.states[line.index()].has_left && self.leaps[line.index()].is_some();
        let confirmed = Line::ALL.map(|line| has_leap(&line).then_some(line));
        confirmed.iter().flatten().for_each(|line| self.confirm_leap(*line));
        confirmed.iter().any(Option::is_some)
    }

    /// Queues the lowest out-of-reach packet that a line sent before the packets by which it left
    /// the epoch: it belongs to this epoch, amid the numbers that the line lost. `first` is the
    /// lowest number that the lines have sent since they left the epoch. If it is lower, a number further ahead than the
    /// history reaches counts as damaged. Returns true if there was one.
    pub(super) fn take_lone_packet_before(&mut self, first: u64) -> bool {
        let top = self.top.max(self.next.unwrap_or(0));
        let behind_max = self.options.behind_max as u64;
        let end = if first >= top { first } else { top.saturating_add(behind_max) };
        let alone = Line::ALL.into_iter().flat_map(|line| self.pending_before_run(line));
        let beyond = alone.filter(|(_, known)| (top..end).contains(&known.seq_num));
        let lowest = beyond.min_by_key(|(_, known)| known.seq_num).map(|(index, _)| index);
        let Some(lone) = lowest.and_then(|index| self.pending.remove(index)) else { return false };
        self.release_all();
        self.released = self.released.max(lone.seq_num);
        self.sort_again_before_those_behind(lone);
        true
    }

    /// Returns the pending packets of a line, with their places, that arrived before those by which
    /// it left the epoch; none if it has not left.
    fn pending_before_run(&self, line: Line) -> impl Iterator<Item = (usize, &PendingPacket)> {
        let ArbitratedLine { run, has_left, .. } = self.states[line.index()];
        let is_of_run = move |known: &PendingPacket| {
            run.is_some_and(|run| (run.first..=run.highest).contains(&known.seq_num))
        };
        let is_own = move |known: &PendingPacket| has_left && known.held.line == line;
        let own = self.pending.iter().enumerate().filter(move |(_, known)| is_own(known));
        own.take_while(move |(_, known)| !is_of_run(known))
    }

    /// Records that the line continues below its leap.
    fn contradict_leap(&mut self, line: Line) {
        let Some(leap) = &mut self.leaps[line.index()] else { return };
        leap.contradictions += 1;
        if leap.contradictions >= CONTRADICTIONS_MIN {
            self.forget_leap(line);
        }
    }

    fn forget_leap(&mut self, line: Line) {
        if let Some(leap) = self.leaps[line.index()].take() {
            self.window.discard(leap.pending.held);
        }
    }

    /// Removes all leaps; they are assigned again in another epoch.
    pub(super) fn pend_leaps(&mut self) {
        let leaps = self.leaps.iter_mut().filter_map(Option::take);
        self.pending.extend(leaps.map(|leap| leap.pending));
    }

    /// Returns the time at which the next leap is overdue or accepted as it is.
    pub(super) fn leap_due_ns(&self) -> Option<u64> {
        self.leaps.iter().flatten().map(|leap| self.due_ns(leap)).min()
    }

    fn due_ns(&self, leap: &Leap) -> u64 {
        let wait_ns = if leap.is_overdue { self.options.skew_ns } else { self.wait_ns() };
        leap.pending.held.received_ns.saturating_add(wait_ns.min(self.options.skew_ns))
    }

    /// Accepts leaps that nothing has contradicted for `skew_ns`. Once a leap has waited for the
    /// hold time, packets count as out of sequence, because those before the leap may be missing.
    pub(super) fn end_leaps(&mut self) {
        for line in Line::ALL {
            let Some(leap) = self.leaps[line.index()] else { continue };
            if self.now_ns < self.due_ns(&leap) {
                continue;
            }
            if leap.is_overdue || self.wait_ns() >= self.options.skew_ns {
                self.confirm_leap(line);
            } else {
                self.leaps[line.index()] = Some(Leap { is_overdue: true, ..leap });
                self.unexpected_in_a_row = self.unexpected_in_a_row.max(OUT_OF_SEQUENCE_MIN);
                self.unexpected_ns = self.unexpected_ns.max(leap.pending.held.received_ns);
            }
        }
    }

    /// Adjusts deadlines after the clock was set back.
    pub(super) fn limit_leaps(&mut self, now_ns: u64) {
        for leap in self.leaps.iter_mut().flatten() {
            let held = &mut leap.pending.held;
            held.received_ns = held.received_ns.min(now_ns);
        }
    }
}
