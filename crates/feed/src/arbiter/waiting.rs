//! Waiting times for missing numbers, and detection of silent lines.

use super::{Arbiter, Line, LineEvent, LineTrust, PacketHeader};

/// Consecutive numbers that prove that a line continues.
const IN_A_ROW_MIN: u32 = 2;

/// Shortest time until a packet whose line continues below it is examined again. With a shorter
/// wait it would be due again at once, without end. Packets queued behind it wait as much longer,
/// so it is short; a caller wakes up 100 times per millisecond at most.
const RECHECK_MIN_NS: u64 = 10_000;

impl Arbiter {
    /// Declares numbers lost whose hold time is over at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.note_time(now_ns);
        self.end_leaps();
        self.begin_when_due();
        self.release_due();
        self.note_silent_lines();
    }

    /// Returns the time at which the next line is reported as silent.
    pub(crate) fn silence_due_ns(&self) -> Option<u64> {
        Line::ALL.into_iter().filter_map(|line| self.silence_reported_at_ns(line)).min()
    }

    /// Returns the time at which a line is reported as silent: after twice `silent_after_ns`,
    /// because packets of an idle channel are about `silent_after_ns` apart. After a silence of
    /// both lines, the other line may send a moment earlier: then `silent_after_ns` counts once,
    /// from its first packet. `None` if the line is already reported, or if the other line sends
    /// nothing either: silence of all lines is silence of the channel.
    fn silence_reported_at_ns(&self, line: Line) -> Option<u64> {
        if self.states[line.index()].is_silent || self.options.lines != [true; 2] {
            return None;
        }
        let silent_ns = self.silent_at_ns(line)?;
        let other = &self.states[line.other().index()];
        let is_other_heard = other.last_received_ns.is_some_and(|ns| ns >= silent_ns);
        let since_ns = silent_ns.max(other.resumed_ns);
        is_other_heard.then(|| since_ns.saturating_add(self.options.silent_after_ns))
    }

    fn note_silent_lines(&mut self) {
        for line in Line::ALL {
            if self.silence_reported_at_ns(line).is_some_and(|at_ns| self.now_ns >= at_ns) {
                let state = &mut self.states[line.index()];
                state.is_silent = true;
                let since_ns = state.last_received_ns;
                self.push_event(LineEvent::Silent { line, since_ns, at_ns: self.now_ns });
            }
        }
    }

    /// Reports that a silent line has sent a packet.
    #[cold]
    pub(super) fn end_silence(&mut self, line: Line) {
        self.states[line.index()].is_silent = false;
        self.push_event(LineEvent::Heard { line, at_ns: self.now_ns });
    }

    /// Ends the waits that are over at the current time; returns true if there was one.
    pub(super) fn release_due(&mut self) -> bool {
        let Some(next) = self.next.filter(|_| self.window.held() > 0 || self.rejected.is_some())
        else {
            return false;
        };
        let released = self.released;
        if self.is_on_probation != [false; 2] {
            self.end_probations(next);
        }
        // The oldest packet has not waited even for the shorter time, or not for the time that
        // applies.
        let rejected_ns = self.rejected.map(|rejected| rejected.received_ns);
        let since_ns = self.window.oldest_ns().into_iter().chain(rejected_ns).min();
        let is_before = |wait_ns: u64| {
            since_ns.is_some_and(|since_ns| self.now_ns < since_ns.saturating_add(wait_ns))
        };
        if is_before(self.short_wait_ns()) {
            return self.released > released;
        }
        let wait_ns = self.wait_ns();
        if is_before(wait_ns) {
            return self.released > released;
        }
        let now_ns = self.now_ns;
        let is_due = |since_ns: u64| now_ns >= since_ns.saturating_add(wait_ns);
        while let Some((ns, seq_num)) = self.window.oldest(next).filter(|(ns, _)| is_due(*ns)) {
            self.window.pop_oldest();
            if self.comes_from_below(seq_num) {
                let since_ns = now_ns.saturating_add(RECHECK_MIN_NS.saturating_sub(wait_ns));
                self.window.queue(seq_num, since_ns);
            } else if self.history.fate(seq_num).was_accepted() {
                self.release_to(seq_num, ns);
            } else {
                self.end_probation(seq_num);
            }
        }
        if let Some(PacketHeader { seq_num, .. }) = self.rejected.filter(|r| is_due(r.received_ns))
        {
            let is_replaced = self.accept_unconfirmed_copy(seq_num);
            let lost = u64::from(!is_replaced);
            self.released = self.released.max(seq_num.saturating_add(lost));
            return is_replaced || self.released > released;
        }
        self.released > released
    }

    /// True if the line of a held packet continues below it, number by number: the missing packets
    /// may still arrive, and the number of the held packet may be wrong.
    fn comes_from_below(&self, seq_num: u64) -> bool {
        let Some(held) = self.window.at(seq_num) else { return false };
        self.states[held.line.index()].below.is_some_and(|below| {
            below.seq_num < seq_num
                && below.in_a_row >= IN_A_ROW_MIN
                && below.at_ns >= held.received_ns
                && self.now_ns < below.at_ns.saturating_add(self.options.skew_ns)
        })
    }

    /// True if a line was never compared and does not replace the other.
    fn is_unconfirmed(&self, line: Line) -> bool {
        self.standing(line) == LineTrust::Unproven && !self.is_stand_in(line)
    }

    /// Ends the probation of packets whose line has been compared since, or replaces the other one.
    fn end_probations(&mut self, next: u64) {
        let ended = Line::ALL.map(|line| {
            let is_on_probation = &self.is_on_probation[line.index()];
            *is_on_probation && !self.is_unconfirmed(line)
        });
        if ended == [false; 2] {
            return;
        }
        let mut from = next;
        while let Some(seq_num) = self.window.first_at_or_behind(from, next) {
            let line = self.window.at(seq_num).map(|held| held.line);
            let is_ended = line.is_some_and(|line| ended[line.index()]);
            if is_ended && !self.history.fate(seq_num).was_accepted() {
                self.end_probation(seq_num);
            }
            from = seq_num + 1;
        }
        for line in Line::ALL {
            self.is_on_probation[line.index()] &= !ended[line.index()];
        }
    }

    /// Ends the probation of an unconfirmed packet that has waited for long enough, or whose line
    /// is now trusted. It keeps waiting while the other line may send a copy; if that line is
    /// silent, this one replaces it. Missing numbers before it are waited for as usual.
    fn end_probation(&mut self, seq_num: u64) {
        let Some(held) = self.window.at(seq_num).copied() else { return };
        let line = held.line;
        match self.standing(line) {
            LineTrust::Doubtful => self.drop_held(seq_num),
            LineTrust::Unproven if !self.is_stand_in(line) => {
                self.unexpected_in_a_row = self.unexpected_in_a_row.saturating_add(1);
                self.unexpected_ns = self.unexpected_ns.max(held.received_ns);
                self.is_on_probation[line.index()] = true;
            }
            _ => {
                self.accept_unconfirmed(seq_num, &held);
                if held.is_overdue {
                    self.release_to(seq_num, held.received_ns);
                }
            }
        }
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout) for held packets;
    /// `None` while none is held.
    pub fn poll_timeout(&self) -> Option<u64> {
        let rejected = self.rejected.map(|rejected| rejected.received_ns);
        let since_ns = self.window.oldest_ns().into_iter().chain(rejected).min();
        let held = since_ns.map(|since_ns| {
            let due_ns = since_ns.saturating_add(self.wait_ns());
            // A line that falls silent in the meantime shortens the wait.
            let short_ns = since_ns.saturating_add(self.short_wait_ns());
            due_ns.min(short_ns.max(self.next_silence_ns()))
        });
        let is_on_probation = self.window.held() > 0 && self.is_on_probation != [false; 2];
        let silence_ns = is_on_probation.then(|| self.next_silence_ns());
        let others = silence_ns.filter(|silence_ns| *silence_ns < u64::MAX);
        let others = others.into_iter().chain(self.leaving_due_ns()).chain(self.leap_due_ns());
        held.into_iter().chain(others).min()
    }

    /// Returns the arrival time of the last packet on a line, whatever happened to it; `None`
    /// before the first.
    pub fn last_received_ns(&self, line: Line) -> Option<u64> {
        self.states[line.index()].last_received_ns
    }

    pub(super) fn short_wait_ns(&self) -> u64 {
        self.options.reorder_ns.min(self.options.hold_ns)
    }

    /// Returns the wait for a missing number: the hold time if the other line may send it, else the
    /// reorder time of a single line.
    pub(super) fn wait_ns(&self) -> u64 {
        if self.is_single_line() { self.short_wait_ns() } else { self.options.hold_ns }
    }

    /// True if only one line can send missing numbers.
    pub(super) fn is_single_line(&self) -> bool {
        Line::ALL.iter().any(|line| !self.can_bring(*line))
    }

    pub(super) fn can_bring(&self, line: Line) -> bool {
        self.is_alive(line) && self.standing(line) != LineTrust::Doubtful
    }

    /// True if a line is configured and not silent.
    pub(super) fn is_alive(&self, line: Line) -> bool {
        self.options.lines[line.index()]
            && self.silent_at_ns(line).is_none_or(|silent_ns| self.now_ns < silent_ns)
    }

    fn silent_at_ns(&self, line: Line) -> Option<u64> {
        let last_ns = self.states[line.index()].last_received_ns.or(self.started_ns)?;
        Some(last_ns.saturating_add(self.options.silent_after_ns))
    }

    /// Returns the time at which the next line falls silent or takes over.
    fn next_silence_ns(&self) -> u64 {
        let silent = Line::ALL.into_iter().filter_map(|line| self.silent_at_ns(line));
        let taken_over = Line::ALL.into_iter().filter_map(|line| self.takes_over_at_ns(line));
        let changes = silent.chain(taken_over.map(|at_ns| at_ns.saturating_add(1)));
        changes.filter(|at_ns| *at_ns > self.now_ns).min().unwrap_or(u64::MAX)
    }

    /// Sets the time. If the clock was set back by more than the hold time, waits restart, except
    /// those that are over: no number is declared lost too early, and no wait lasts until the old
    /// time returns.
    pub(super) fn note_time(&mut self, now_ns: u64) {
        self.started_ns.get_or_insert(now_ns);
        if now_ns >= self.now_ns {
            self.now_ns = now_ns;
            return;
        }
        if self.now_ns - now_ns <= self.options.hold_ns {
            return;
        }
        self.now_ns = now_ns;
        self.ended_waits.forget();
        self.window.limit_times(now_ns);
        let limit = |ns: &mut u64| *ns = (*ns).min(now_ns);
        self.started_ns.iter_mut().for_each(limit);
        self.states.iter_mut().filter_map(|state| state.last_received_ns.as_mut()).for_each(limit);
        self.states.iter_mut().for_each(|state| limit(&mut state.resumed_ns));
        self.states.iter_mut().for_each(|state| limit(&mut state.left_ns));
        self.states.iter_mut().for_each(|state| limit(&mut state.entered_ns));
        self.states
            .iter_mut()
            .filter_map(|state| state.below.as_mut())
            .for_each(|below| limit(&mut below.at_ns));
        self.states
            .iter_mut()
            .filter_map(|state| state.alone.as_mut())
            .for_each(|alone| limit(&mut alone.began_ns));
        self.limit_leaps(now_ns);
        limit(&mut self.unexpected_ns);
        self.rejected.iter_mut().for_each(|rejected| limit(&mut rejected.received_ns));
        let queued = self.pending.iter_mut().chain(&mut self.replay);
        let queued = queued.map(|pending| &mut pending.held);
        let copies = self.alternatives.iter_mut().map(|(_, copy)| copy);
        let parked = self.parked.iter_mut().map(|parked| &mut parked.held);
        queued.chain(copies).chain(parked).for_each(|held| held.limit_times(now_ns));
        self.past.iter_mut().for_each(|past| limit(&mut past.ended_ns));
    }
}
