//! Updates of lost packets that a replay service sent again.
//!
//! A replayed update is applied to a stale book if it is the next one after the book's last update:
//! by RptSeq, or by the order of gaps if only packets are numbered. A book that lacks nothing since
//! the gap, because it was emptied or a later snapshot arrived, takes over only the RptSeq of the
//! update. Updates that arrived live after the gap follow from the held ones. A replayed update
//! that does not fit is not used, and the book waits for a snapshot that includes it.

use super::gaps::Around;
use super::instrument::{InstrumentState, LastGap, UpdatePlace};
use super::{Continuity, Recovery, StaleReason, UpdateOutcome};
use crate::arbiter::Gap;
use crate::market::{Clear, ClearScope, Update};

impl Recovery {
    /// Handles an update of a replayed packet. Pass the packets of a gap in ascending order, and
    /// the gaps in the order in which they were declared.
    pub fn handle_replayed(&mut self, update: &Update) -> UpdateOutcome {
        let by = self.options.continuity;
        let around = self.gaps.around(update.seq_num);
        let (Some(around), Some(instrument)) =
            (around, self.instruments.get_mut(update.instrument.index()))
        else {
            self.counters.old += 1;
            return UpdateOutcome::Old;
        };
        let was_stale = instrument.stale(self.gap).is_some();
        // A clear in the same gap may still be missing: updates that arrived live wait until all of
        // the gap was replayed.
        let is_alone = self.has_scoped_clears && !instrument.lacks_nothing_since(self.gap);
        let held = instrument.held.len();
        let may_begin_empty = !self.options.carries_over;
        let outcome = match instrument.place_replayed(update, by, around, may_begin_empty) {
            UpdatePlace::Old => {
                self.counters.old += 1;
                UpdateOutcome::Old
            }
            UpdatePlace::Next => {
                match instrument.apply_replayed(update, by, around.own, is_alone) {
                    Ok(applied) => {
                        self.counters.replayed += 1;
                        self.counters.applied += applied;
                        match instrument.stale(self.gap) {
                            Some(reason) => UpdateOutcome::Held(reason),
                            None if was_stale => {
                                self.counters.recovered += 1;
                                UpdateOutcome::Recovered
                            }
                            None => UpdateOutcome::Applied,
                        }
                    }
                    Err(reason) => {
                        self.counters.broken += 1;
                        UpdateOutcome::Held(reason)
                    }
                }
            }
            UpdatePlace::Unreachable(reason) => {
                instrument.need_snapshot_after(update, reason);
                UpdateOutcome::Held(reason)
            }
        };
        self.held_total -= held.saturating_sub(instrument.held.len());
        self.touch(update.instrument);
        outcome
    }

    /// Handles a replayed clear. Updates that arrived after it are uncertain, so the books wait for
    /// snapshots, unless they already contain one from after the gap.
    pub fn handle_replayed_clear(&mut self, clear: &Clear<'_>) {
        let Some(Around { own, .. }) = self.gaps.around(clear.seq_num) else { return };
        self.has_scoped_clears = true;
        let cleared = match clear.scope {
            ClearScope::Channel => self.ids.iter().collect(),
            ClearScope::Field { index, text } => self.ids.with_field(index, text),
        };
        for id in cleared {
            let Some(instrument) = self.instruments.get_mut(id.index()) else { continue };
            // RptSeq does not count the clear: updates after the gap prove nothing.
            if instrument.base_end.max(instrument.cleared_to) < own.end {
                instrument.broken = instrument.broken.or(Some(StaleReason::Gap));
                self.touch(id);
            }
        }
    }

    /// Records that every packet of a gap was replayed: books that were fresh before it and took
    /// its updates are fresh again.
    pub fn handle_gap_filled(&mut self, gap: Gap) {
        let stale_before = self.stale_count();
        let Some(filled) = self.gaps.fill(gap) else { return };
        self.gap = self.gaps.last();
        let end = filled.next_first.unwrap_or(u64::MAX);
        for instrument in &mut self.instruments {
            let held = instrument.held.len();
            let waits_for_none = held == 0 && instrument.dropped.is_none();
            if waits_for_none || instrument.stale(filled.before).is_some() {
                continue;
            }
            self.counters.applied += match self.options.continuity {
                Continuity::SeqNum => instrument.apply_held_before(end),
                // An update that does not follow marks its book as broken.
                Continuity::RptSeq => instrument.apply_held_that_follow(end).unwrap_or(0),
            };
            self.held_total -= held - instrument.held.len();
        }
        self.counters.recovered += stale_before.saturating_sub(self.stale_count());
        self.touch_all();
    }

    fn stale_count(&self) -> u64 {
        let is_stale = |instrument: &&InstrumentState| instrument.stale(self.gap).is_some();
        self.instruments.iter().filter(is_stale).count() as u64
    }
}

impl InstrumentState {
    fn place_replayed(
        &self,
        update: &Update,
        by: Continuity,
        around: Around,
        may_begin_empty: bool,
    ) -> UpdatePlace {
        let Around { before, own } = around;
        let place = match by {
            Continuity::RptSeq => self.place_replayed_by_rpt_seq(update, may_begin_empty),
            Continuity::SeqNum => {
                self.stale(before).map_or(UpdatePlace::Next, UpdatePlace::Unreachable)
            }
        };
        match place {
            // Only its RptSeq is used.
            UpdatePlace::Next if by == Continuity::RptSeq => UpdatePlace::Next,
            _ if self.lacks_nothing_since(own) => UpdatePlace::Old,
            place => place,
        }
    }

    fn place_replayed_by_rpt_seq(&self, update: &Update, may_begin_empty: bool) -> UpdatePlace {
        let Some(found) = update.rpt_seq else {
            return UpdatePlace::Unreachable(StaleReason::NoRptSeq);
        };
        let expected = self.rpt_seq.saturating_add(1);
        match self.broken {
            None | Some(StaleReason::RptSeqGap { .. }) if found < expected => UpdatePlace::Old,
            None | Some(StaleReason::RptSeqGap { .. }) if found == expected => UpdatePlace::Next,
            None | Some(StaleReason::RptSeqGap { .. }) => {
                UpdatePlace::Unreachable(StaleReason::RptSeqGap { expected, found })
            }
            Some(StaleReason::NoSnapshot | StaleReason::Reset)
                if found == 1 && self.rpt_seq == 0 && may_begin_empty =>
            {
                UpdatePlace::Next
            }
            Some(reason) => UpdatePlace::Unreachable(reason),
        }
    }

    /// Applies a replayed update that is the next one, and then the held ones that follow it,
    /// unless it is to be applied alone. Returns how many were applied. Any gap may have arrived
    /// after them.
    fn apply_replayed(
        &mut self,
        update: &Update,
        by: Continuity,
        own: LastGap,
        is_alone: bool,
    ) -> Result<u64, StaleReason> {
        let was_broken = self.broken.is_some();
        match update.rpt_seq {
            Some(rpt_seq) if self.lacks_nothing_since(own) => {
                self.rpt_seq = rpt_seq;
                self.broken = None;
            }
            _ => self.apply(update, 0)?,
        }
        if is_alone || by == Continuity::SeqNum || !was_broken && self.held.is_empty() {
            return Ok(1);
        }
        Ok(1 + self.apply_held_that_follow(u64::MAX)?)
    }

    /// Applies held updates with numbers below `end` that follow by RptSeq. Returns how many; an
    /// update that does not follow makes the book stale.
    fn apply_held_that_follow(&mut self, end: u64) -> Result<u64, StaleReason> {
        let mut applied = 0;
        while let Some(held) = self.held.front().copied() {
            if held.seq_num >= end {
                // The updates before it may be in the next gap.
                return Ok(applied);
            }
            match held.rpt_seq {
                Some(rpt_seq) if rpt_seq <= self.rpt_seq => {}
                Some(rpt_seq) if rpt_seq - 1 == self.rpt_seq => {
                    self.apply(&held, 0)?;
                    applied += 1;
                }
                _ => break,
            }
            self.held.pop_front();
        }
        let next = self.held.front().map(|held| held.rpt_seq).or(self.dropped.map(|(_, of)| of));
        if let Some(next) = next {
            let expected = self.rpt_seq.saturating_add(1);
            let found = next.unwrap_or(expected);
            self.broken = Some(StaleReason::RptSeqGap { expected, found });
        }
        Ok(applied)
    }

    /// Applies held updates with numbers below `end`, on a feed that numbers only packets. The book
    /// becomes stale if an update was dropped for lack of room, or replayed too early.
    fn apply_held_before(&mut self, end: u64) -> u64 {
        if self.dropped.is_some_and(|(seq_num, _)| seq_num < end) {
            self.broken = Some(StaleReason::Gap);
            return 0;
        }
        let mut applied = 0;
        while let Some(held) = self.held.front().copied().filter(|held| held.seq_num < end) {
            if self.apply(&held, 0).is_err() {
                break;
            }
            applied += 1;
            self.held.pop_front();
        }
        applied
    }

    /// Records that only a snapshot that includes an update can make the book fresh again.
    fn need_snapshot_after(&mut self, update: &Update, reason: StaleReason) {
        self.note_dropped(update);
        if reason != StaleReason::Gap {
            self.broken = self.broken.or(Some(reason));
        }
    }
}
