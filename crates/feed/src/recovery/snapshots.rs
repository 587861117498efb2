//! Snapshots: used, compared, or kept until the lines reach them.

use super::fragments::Assembled;
use super::instrument::is_wrong;
use super::pending::{PENDING_LEVELS_MAX, PendingSnapshot};
use super::{Continuity, Recovery, SnapshotOutcome, StaleReason};
use crate::book::{BookFault, BookUpdate, LevelAction, OrderAction, PriceAction};
use crate::market::{
    BookKind, Instrument as Id, LevelName, Snapshot, SnapshotFragment, SnapshotLevel,
};

impl Recovery {
    /// Handles a snapshot, or a part of one, that arrived on this line of the snapshot feed (0 or
    /// 1; larger values count as 1). It may arrive at any time.
    pub fn handle_snapshot(&mut self, line: usize, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        let line = line.min(1);
        match self.assemblies[line].take(snapshot) {
            Assembled::Whole => self.handle_whole(snapshot),
            Assembled::Partial => SnapshotOutcome::Partial,
            Assembled::Incomplete => {
                self.counters.incomplete_snapshots += 1;
                SnapshotOutcome::Incomplete
            }
            Assembled::Complete => {
                let assembly = std::mem::replace(
                    &mut self.assemblies[line],
                    super::fragments::Assembly::new(),
                );
                let (levels, depth) = (assembly.levels(), assembly.depth());
                let fragment = SnapshotFragment::Whole;
                let whole = Snapshot { levels, depth, fragment, ..*snapshot };
                let outcome = self.handle_whole(&whole);
                self.assemblies[line] = assembly;
                outcome
            }
        }
    }

    /// Records a message of the snapshot feed that is no snapshot, and its number there.
    pub fn note_other_on_snapshot_feed(&mut self, line: usize, seq_num: Option<u64>) {
        self.assemblies[line.min(1)].note_other(seq_num);
    }

    /// Records that a packet of the snapshot feed could not be decoded.
    pub fn note_loss_on_snapshot_feed(&mut self, line: usize) {
        self.assemblies[line.min(1)].note_loss();
    }

    fn handle_whole(&mut self, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        if self.options.continuity == Continuity::RptSeq && snapshot.rpt_seq.is_none() {
            return SnapshotOutcome::NoRptSeq;
        }
        if self.instruments.get(snapshot.instrument.index()).is_none() {
            return SnapshotOutcome::TooOld;
        }
        // Times of the lines show whether the time of a reset proves anything.
        self.watch_times();
        if !self.sessions.is_current(snapshot, self.now_ns, self.options.skew_ns) {
            self.counters.old_session_snapshots += 1;
            return SnapshotOutcome::OldSession;
        }
        self.touch(snapshot.instrument);
        let is_fresh = self.instruments[snapshot.instrument.index()].stale(self.gap).is_none();
        if self.is_ahead(snapshot) {
            self.counters.ahead_snapshots += 1;
            if self.sessions.has_begun() {
                self.note_ahead(snapshot.last_seq_num.saturating_add(1));
            }
            return if is_fresh { SnapshotOutcome::NotNeeded } else { self.wait(snapshot) };
        }
        self.note_caught_up();
        let is_later = self.sessions.is_later(snapshot.sending_time);
        match is_fresh {
            true if !self.is_comparable(snapshot) => SnapshotOutcome::NotNeeded,
            true => self.verify(snapshot, is_later),
            false if is_later => self.wait(snapshot),
            false => self.recover(snapshot),
        }
    }

    /// Starts reading the SendingTimes of the lines for a while, because more snapshots will come.
    fn watch_times(&mut self) {
        self.times_until_ns = self.now_ns.saturating_add(self.options.skew_ns);
    }

    /// Takes over the depth in a snapshot.
    fn learn_depth_of(&mut self, snapshot: &Snapshot<'_>) {
        if let (Some(depth), None) = (snapshot.depth, self.options.depth) {
            let instrument = &mut self.instruments[snapshot.instrument.index()];
            instrument.learn_depth(BookKind::Outright, depth);
        }
    }

    /// True if a snapshot includes numbers that no line has reached.
    fn is_ahead(&self, snapshot: &Snapshot<'_>) -> bool {
        let end = snapshot.last_seq_num.saturating_add(1);
        self.options.is_numbered && (!self.sessions.has_begun() || end > self.sessions.position())
    }

    /// Keeps a snapshot until the lines have reached its number and its SendingTime.
    fn wait(&mut self, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        let id = snapshot.instrument;
        if self.has_better_pending(id) {
            return SnapshotOutcome::Ahead;
        }
        if let Err(fault) = self.build(snapshot) {
            return self.refuse(fault);
        }
        let deadline = self.now_ns.saturating_add(self.options.skew_ns);
        let has_begun = self.sessions.has_begun();
        self.drop_pending(id);
        if self.pending_levels.saturating_add(snapshot.levels.len()) > PENDING_LEVELS_MAX {
            return SnapshotOutcome::Ahead;
        }
        self.keep(id, Box::new(PendingSnapshot::new(snapshot, has_begun.then_some(deadline))));
        let instrument = &mut self.instruments[id.index()];
        if instrument.broken == Some(StaleReason::NoSnapshot) {
            instrument.broken = Some(StaleReason::Ahead);
        }
        SnapshotOutcome::Ahead
    }

    /// True if a pending snapshot only waits for its time and will make the book fresh: a later
    /// snapshot would have to wait longer.
    fn has_better_pending(&self, id: Id) -> bool {
        let instrument = &self.instruments[id.index()];
        instrument.pending.as_ref().is_some_and(|pending| {
            pending.last_seq_num < self.sessions.position()
                && instrument.recovers_by(&pending.snapshot(), self.options.continuity, self.gap)
        })
    }

    /// Makes a snapshot wait, and lowers the thresholds of number, SendingTime and deadline to its
    /// own.
    fn keep(&mut self, id: Id, mut pending: Box<PendingSnapshot>) {
        pending.is_ahead = pending.last_seq_num >= self.sessions.position();
        if pending.is_ahead {
            self.pending_first = self.pending_first.min(pending.last_seq_num);
        } else if let Some(sending_time) = pending.sending_time {
            self.pending_sent = self.pending_sent.min(sending_time);
        }
        let deadline_ns = pending.deadline_ns.unwrap_or(u64::MAX);
        self.pending_due_ns = self.pending_due_ns.min(deadline_ns);
        self.pending_levels += pending.levels();
        self.pending.push(id);
        self.instruments[id.index()].pending = Some(pending);
    }

    fn drop_pending(&mut self, id: Id) {
        let pending = self.instruments[id.index()].pending.take();
        if let Some(pending) = pending {
            self.pending_levels = self.pending_levels.saturating_sub(pending.levels());
            self.pending.retain(|waiting| *waiting != id);
        }
    }

    /// Uses the snapshots that the lines have reached, and drops those whose numbers the lines did
    /// not reach in time. A snapshot that waited only for its SendingTime is used at its deadline:
    /// no line is further behind.
    #[cold]
    pub(super) fn take_pending(&mut self) {
        let (now_ns, position) = (self.now_ns, self.sessions.position());
        let deadline = now_ns.saturating_add(self.options.skew_ns);
        let waiting = std::mem::take(&mut self.pending);
        self.forget_thresholds();
        for id in waiting {
            let Some(mut pending) = self.instruments[id.index()].pending.take() else { continue };
            let is_over = now_ns >= *pending.deadline_ns.get_or_insert(deadline);
            if pending.is_ahead && is_over {
                continue;
            }
            let is_ahead = pending.last_seq_num >= position;
            if is_ahead || !is_over && self.sessions.is_later(pending.sending_time) {
                self.keep(id, pending);
                continue;
            }
            self.touch(id);
            if self.instruments[id.index()].stale(self.gap).is_some() {
                let outcome = self.recover(&pending.snapshot());
                let is_taken =
                    matches!(outcome, SnapshotOutcome::Recovered | SnapshotOutcome::Loaded(_));
                self.counters.mismatches += u64::from(is_taken && pending.is_contradiction);
            }
        }
    }

    /// Resets the thresholds of the waiting snapshots.
    pub(super) fn forget_thresholds(&mut self) {
        self.pending_first = u64::MAX;
        self.pending_sent = u64::MAX;
        self.pending_due_ns = u64::MAX;
        self.pending_levels = 0;
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout); `None` while no
    /// snapshot waits.
    pub fn poll_timeout(&self) -> Option<u64> {
        let pending = Some(self.pending_due_ns).filter(|due_ns| *due_ns < u64::MAX);
        [pending, self.behind_due_ns()].into_iter().flatten().min()
    }

    /// Uses or drops snapshots that have waited for the lines for long enough.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.set_time(now_ns);
        if self.now_ns >= self.pending_due_ns {
            self.take_pending();
        }
        self.check_behind();
    }

    /// Ends the input: snapshots that wait only for their time are used.
    pub fn finish(&mut self) {
        let has_times = self.sessions.has_times();
        self.sessions.set_times(false);
        self.take_pending();
        self.sessions.set_times(has_times);
    }

    /// True if a fresh book and a snapshot are at the same update.
    fn is_comparable(&self, snapshot: &Snapshot<'_>) -> bool {
        let instrument = &self.instruments[snapshot.instrument.index()];
        if instrument.is_from_before_clear(snapshot) {
            return false;
        }
        let end = snapshot.last_seq_num.saturating_add(1);
        match self.options.continuity {
            Continuity::RptSeq => {
                let rpt_seq = snapshot.rpt_seq.unwrap_or(0);
                let counts_anew = rpt_seq < instrument.rpt_seq && end >= instrument.known_to;
                rpt_seq == instrument.rpt_seq || counts_anew
            }
            Continuity::SeqNum => end == self.sessions.position().max(instrument.known_to),
        }
    }

    /// Compares a fresh book with a snapshot at the same update. A snapshot that differs and may
    /// belong to the next session waits, and the book is stale meanwhile.
    fn verify(&mut self, snapshot: &Snapshot<'_>, is_later: bool) -> SnapshotOutcome {
        if !is_later {
            self.learn_depth_of(snapshot);
        }
        if let Err(fault) = self.build(snapshot) {
            return self.refuse(fault);
        }
        let by = self.options.continuity;
        let instrument = &mut self.instruments[snapshot.instrument.index()];
        let is_same_update =
            by == Continuity::SeqNum || snapshot.rpt_seq == Some(instrument.rpt_seq);
        let is_equal = instrument.books == self.scratch;
        // If levels may be missing because the depth of the feed is unknown, only the known levels
        // are compared.
        let is_equal_as_far_as_known =
            !instrument.books.is_complete() && instrument.books.is_prefix_of(&self.scratch);
        if is_same_update && is_equal {
            instrument.note_proven(snapshot.last_seq_num.saturating_add(1));
            self.counters.verified += 1;
            return SnapshotOutcome::Verified;
        }
        if is_later && !(is_same_update && is_equal_as_far_as_known) {
            instrument.broken = Some(StaleReason::Contradicted);
            let outcome = self.wait(snapshot);
            if let Some(pending) = &mut self.instruments[snapshot.instrument.index()].pending {
                pending.is_contradiction = true;
            }
            return outcome;
        }
        instrument.load(&mut self.scratch, snapshot, by);
        if is_same_update && is_equal_as_far_as_known {
            self.counters.verified += 1;
            return SnapshotOutcome::Verified;
        }
        self.counters.mismatches += 1;
        SnapshotOutcome::Mismatch
    }

    fn recover(&mut self, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        let by = self.options.continuity;
        let index = snapshot.instrument.index();
        self.learn_depth_of(snapshot);
        // On feeds with entries that empty several books, the lost packets may have emptied the
        // book.
        let is_before_gap = snapshot.last_seq_num.saturating_add(1) < self.gap.end;
        if self.instruments[index].is_too_old(snapshot, by, self.gap)
            || self.has_scoped_clears && is_before_gap
        {
            return SnapshotOutcome::TooOld;
        }
        if let Err(fault) = self.build(snapshot) {
            return self.refuse(fault);
        }
        self.drop_pending(snapshot.instrument);
        let instrument = &mut self.instruments[index];
        let held_before = instrument.held.len();
        self.counters.applied += instrument.load(&mut self.scratch, snapshot, by);
        self.held_total -= held_before - instrument.held.len();
        match instrument.stale(self.gap) {
            Some(reason) => SnapshotOutcome::Loaded(reason),
            None => {
                self.counters.recovered += 1;
                self.counters.recovered_by_snapshot += 1;
                SnapshotOutcome::Recovered
            }
        }
    }

    fn refuse(&mut self, fault: BookFault) -> SnapshotOutcome {
        self.counters.faulty_snapshots += 1;
        SnapshotOutcome::Faulty(fault)
    }

    /// Builds the snapshot's book in `scratch`.
    fn build(&mut self, snapshot: &Snapshot<'_>) -> Result<(), BookFault> {
        let instrument = &self.instruments[snapshot.instrument.index()];
        let may_cross = instrument.may_cross.unwrap_or(self.session_may_cross);
        self.scratch.clear_to_depth_of(&instrument.books);
        for entry in snapshot.levels {
            let Some(book) = self.scratch.get_mut(entry.kind) else { continue };
            if let LevelName::Level(level) = entry.name {
                let levels = book.len(entry.side) as u32;
                if level <= levels {
                    return Err(BookFault::Hole { side: entry.side, level, levels });
                }
            }
            book.apply(&update_of(entry))?;
        }
        for kind in BookKind::ALL {
            let Some(book) = self.scratch.get_mut(kind) else { continue };
            book.note_complete();
            if let Some(fault) = book.check_changed().filter(|fault| is_wrong(fault, may_cross))
                && self.options.checks
            {
                return Err(fault);
            }
        }
        Ok(())
    }
}

/// Returns the update that creates a level or order of a snapshot.
fn update_of(entry: &SnapshotLevel) -> BookUpdate {
    let SnapshotLevel { side, name, content: level, .. } = *entry;
    match name {
        LevelName::Price => BookUpdate::ByPrice { side, action: PriceAction::New, level },
        LevelName::Level(position) => {
            BookUpdate::ByLevel { side, level: position, action: LevelAction::New(level) }
        }
        LevelName::Order(id) => {
            let action = OrderAction::New { side, price: level.price, size: level.size };
            BookUpdate::ByOrder { id, action }
        }
    }
}
