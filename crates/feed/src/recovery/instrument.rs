//! One book, how far it is known, and the updates that wait for a snapshot.

use std::collections::VecDeque;

use super::natural::NaturalRefresh;
use super::{Continuity, Incremental, Snapshot, StaleReason};
use crate::book::Book;

/// Where an update stands to a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Included already.
    Old,
    /// The next one.
    Next,
    /// Cannot be applied, and why.
    Unreachable(StaleReason),
}

/// The last gap of the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LastGap {
    /// The number after the last one lost.
    pub(super) end: u64,
    /// Gaps that moved the end, or told of the number before it once more.
    pub(super) count: u64,
}

#[derive(Debug)]
pub(super) struct Instrument {
    pub(super) book: Book,
    /// RptSeq of the last update in the book.
    pub(super) rpt_seq: u64,
    /// Numbers of the incremental feed below this are accounted for.
    pub(super) known_to: u64,
    /// The gaps there were when the last update was taken: what came after it in its packet may yet
    /// be lost. `None` where a snapshot accounts for all of it.
    gaps_before: Option<u64>,
    /// Numbers below this are in the book by the snapshot it began with.
    base_end: u64,
    /// Why the book is stale, gaps of the channel apart.
    pub(super) broken: Option<StaleReason>,
    pub(super) held: VecDeque<Incremental>,
    /// The last update that was to be held and is gone.
    dropped: Option<Incremental>,
    natural: Option<NaturalRefresh>,
    /// The last update the natural refresh was shown, and the last gap then.
    natural_last: Option<(Incremental, LastGap)>,
}

impl Instrument {
    pub(super) fn new(depth_max: u32, natural_refresh: bool) -> Self {
        Self {
            book: Book::new(depth_max),
            rpt_seq: 0,
            known_to: 0,
            gaps_before: None,
            base_end: 0,
            broken: Some(StaleReason::NoSnapshot),
            held: VecDeque::new(),
            dropped: None,
            natural: natural_refresh.then(|| NaturalRefresh::new(depth_max)),
            natural_last: None,
        }
    }

    /// Why the book is not to be believed after the channel's last gap.
    pub(super) fn stale(&self, gap: LastGap) -> Option<StaleReason> {
        let is_cut = || self.gaps_before.is_some_and(|gaps| gaps < gap.count);
        let is_lost = self.known_to < gap.end || self.known_to == gap.end && is_cut();
        self.broken.or(is_lost.then_some(StaleReason::Gap))
    }

    /// Takes note that a snapshot proved the book, up to and with everything below `end`.
    pub(super) fn note_proven(&mut self, end: u64) {
        if end >= self.known_to {
            self.known_to = end;
            self.gaps_before = None;
        }
    }

    /// Forgets everything. Returns how many updates were held.
    pub(super) fn reset(&mut self) -> usize {
        let held = self.held.len();
        self.held.clear();
        self.book.clear();
        self.rpt_seq = 0;
        self.known_to = 0;
        self.gaps_before = None;
        self.base_end = 0;
        self.broken = Some(StaleReason::Reset);
        self.dropped = None;
        self.natural_last = None;
        if let Some(natural) = &mut self.natural {
            natural.forget();
        }
        held
    }

    /// Where an update stands. An instrument's first update of all begins an empty book. A RptSeq
    /// that goes back while packets go on shows that the exchange counts anew: nothing is certain.
    pub(super) fn place(&self, update: &Incremental, by: Continuity, gap: LastGap) -> Place {
        match by {
            Continuity::RptSeq => self.place_by_rpt_seq(update),
            Continuity::SeqNum => self.place_by_seq_num(update, gap),
        }
    }

    fn place_by_rpt_seq(&self, update: &Incremental) -> Place {
        let Some(found) = update.rpt_seq else {
            return Place::Unreachable(StaleReason::NoRptSeq);
        };
        match self.broken {
            None if found > 0 && found - 1 == self.rpt_seq => Place::Next,
            None if found <= self.rpt_seq && update.seq_num < self.known_to => Place::Old,
            None => {
                let expected = self.rpt_seq.saturating_add(1);
                Place::Unreachable(StaleReason::RptSeqGap { expected, found })
            }
            Some(StaleReason::NoSnapshot | StaleReason::Reset) if found == 1 => Place::Next,
            Some(reason) => match self.held.back().and_then(|held| held.rpt_seq) {
                Some(last) if found <= last => Place::Old,
                _ => Place::Unreachable(reason),
            },
        }
    }

    fn place_by_seq_num(&self, update: &Incremental, gap: LastGap) -> Place {
        match self.stale(gap) {
            None if update.seq_num < self.base_end => Place::Old,
            None => Place::Next,
            Some(reason) => Place::Unreachable(reason),
        }
    }

    /// Applies an update that is the next one and came after so many gaps. A fault breaks the book.
    pub(super) fn apply(&mut self, update: &Incremental, gaps: u64) -> Result<(), StaleReason> {
        if let Err(fault) = self.book.apply(&update.update) {
            let reason = StaleReason::Fault(fault);
            self.broken = Some(reason);
            return Err(reason);
        }
        self.broken = None;
        self.rpt_seq = update.rpt_seq.unwrap_or(self.rpt_seq);
        let end = update.seq_num.saturating_add(1);
        if end >= self.known_to {
            self.known_to = end;
            self.gaps_before = Some(gaps);
        }
        Ok(())
    }

    /// Lets go of the oldest held update, or of `update` itself if none is held; returns whether
    /// there is now room for `update`.
    pub(super) fn drop_oldest(&mut self, update: &Incremental) -> bool {
        let oldest = self.held.pop_front();
        self.dropped = Some(oldest.unwrap_or(*update));
        oldest.is_some()
    }

    /// Whether the book would be no better for this snapshot.
    pub(super) fn is_too_old(&self, snapshot: &Snapshot<'_>, by: Continuity, gap: LastGap) -> bool {
        match by {
            Continuity::RptSeq => {
                let rpt_seq = snapshot.rpt_seq.unwrap_or(0);
                let dropped = self.dropped.and_then(|dropped| dropped.rpt_seq);
                let is_before_book = snapshot.last_seq_num.saturating_add(1) < self.known_to;
                rpt_seq < self.rpt_seq && is_before_book
                    || dropped.is_some_and(|dropped| dropped > rpt_seq)
            }
            Continuity::SeqNum => {
                let last = snapshot.last_seq_num;
                let is_before_dropped = self.dropped.is_some_and(|dropped| dropped.seq_num > last);
                is_before_dropped || last.saturating_add(1) < gap.end.max(self.known_to)
            }
        }
    }

    /// Begins anew with the snapshot's levels, which `book` holds, and applies what was held.
    /// Returns how many held updates were applied.
    pub(super) fn load(&mut self, book: &mut Book, snapshot: &Snapshot<'_>, by: Continuity) -> u64 {
        std::mem::swap(&mut self.book, book);
        self.rpt_seq = snapshot.rpt_seq.unwrap_or(0);
        self.base_end = snapshot.last_seq_num.saturating_add(1);
        self.known_to = self.base_end;
        self.gaps_before = None;
        self.broken = None;
        self.dropped = None;
        self.replay(by)
    }

    fn replay(&mut self, by: Continuity) -> u64 {
        let mut applied = 0;
        while let Some(update) = self.held.front().copied() {
            match self.place(&update, by, LastGap::default()) {
                Place::Old => {}
                // Every gap may have come after it.
                Place::Next if self.apply(&update, 0).is_ok() => applied += 1,
                Place::Next => break,
                // The snapshot includes its packet and has not heard of it: its count was nonsense.
                Place::Unreachable(_) if update.seq_num < self.base_end => {}
                Place::Unreachable(reason) => {
                    self.broken = Some(reason);
                    break;
                }
            }
            self.held.pop_front();
        }
        applied
    }

    /// Shows an update to the natural refresh; returns whether the book is whole again by it.
    /// `scratch` is any book of the same depth.
    pub(super) fn refresh(
        &mut self,
        update: &Incremental,
        by: Continuity,
        gap: LastGap,
        scratch: &mut Book,
    ) -> bool {
        let is_counted = by == Continuity::SeqNum || update.rpt_seq.is_some();
        let follows = self.natural_last.is_some_and(|(last, last_gap)| {
            let next_rpt_seq = last.rpt_seq.and_then(|rpt_seq| rpt_seq.checked_add(1));
            last_gap == gap && next_rpt_seq == update.rpt_seq
        });
        let Some(natural) = &mut self.natural else { return false };
        self.natural_last = is_counted.then_some((*update, gap));
        if !follows || !is_counted {
            natural.forget();
        }
        natural.observe(&update.update);
        if !is_counted || !natural.complete(scratch) {
            return false;
        }
        natural.forget();
        std::mem::swap(&mut self.book, scratch);
        self.natural_last = None;
        self.broken = None;
        self.dropped = None;
        self.base_end = 0;
        self.rpt_seq = update.rpt_seq.unwrap_or(0);
        self.known_to = update.seq_num.saturating_add(1);
        self.gaps_before = Some(gap.count);
        true
    }
}
