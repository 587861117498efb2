//! The books of one instrument, their state, and the updates held until a snapshot.

use std::collections::VecDeque;

use super::natural::NaturalRefresh;
use super::pending::PendingSnapshot;
use super::{BookKinds, Continuity, RecoveryOptions, StaleReason};
use crate::board::{Board, index_of};
use crate::book::{Book, BookFault, BookUpdate};
use crate::market::{BookKind, Instrument as Id, LevelUpdate, Snapshot, Update};

/// Position of an update relative to a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdatePlace {
    /// Already included.
    Old,
    /// The next one.
    Next,
    /// Cannot be applied, for this reason.
    Unreachable(StaleReason),
}

/// The last gap of the channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LastGap {
    /// The number after the last one lost.
    pub(super) end: u64,
    /// Number of gaps so far; a gap that reports the number before `end` once more counts again.
    pub(super) count: u64,
}

/// The books of an instrument.
#[derive(Clone, Debug)]
pub(super) struct InstrumentBooks {
    pub(super) outright: Book,
    /// The implied book, if implied books are kept.
    pub(super) implied: Option<Box<Book>>,
}

impl InstrumentBooks {
    pub(super) fn new(kinds: BookKinds, depth: [Option<u32>; 2]) -> Self {
        let has_implied = kinds == BookKinds::OutrightAndImplied;
        let implied = has_implied.then(|| Box::new(Book::with_depth(depth[1])));
        Self { outright: Book::with_depth(depth[0]), implied }
    }

    pub(super) fn get(&self, kind: BookKind) -> Option<&Book> {
        match kind {
            BookKind::Outright => Some(&self.outright),
            BookKind::Implied => self.implied.as_deref(),
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, kind: BookKind) -> Option<&mut Book> {
        match kind {
            BookKind::Outright => Some(&mut self.outright),
            BookKind::Implied => self.implied.as_deref_mut(),
        }
    }

    pub(super) fn clear(&mut self) {
        BookKind::ALL.into_iter().for_each(|kind| {
            if let Some(book) = self.get_mut(kind) {
                book.clear();
            }
        });
    }

    pub(super) fn clear_to_depth_of(&mut self, other: &Self) {
        for kind in BookKind::ALL {
            if let (Some(own), Some(other)) = (self.get_mut(kind), other.get(kind)) {
                own.clear_to_depth_of(other);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Book> {
        BookKind::ALL.into_iter().filter_map(|kind| self.get(kind))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.all().all(Book::is_complete)
    }

    /// True if the shown levels of each book are a prefix of those of `whole`.
    pub(super) fn is_prefix_of(&self, whole: &Self) -> bool {
        self.all().zip(whole.all()).all(|(own, whole)| own.is_prefix_of(whole))
    }
}

impl PartialEq for InstrumentBooks {
    fn eq(&self, other: &Self) -> bool {
        self.all().eq(other.all())
    }
}

/// A state as it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportedState {
    Nothing,
    Fresh,
    /// Stale, with the index of the reason.
    Stale(u8),
}

/// Identifies what an instrument's books held, and their state, at one moment: see
/// [`Recovery::book_mark`](super::Recovery::book_mark).
///
/// The number of checks has 16 bits, so two marks could be equal after 65,536 checks that moved neither
/// RptSeq nor the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookMark {
    rpt_seq: u64,
    known_to: u64,
    checks: u16,
}

/// An instrument of the channel. The fields that every update reads lie together.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct InstrumentState {
    /// RptSeq of the last update in the book.
    pub(super) rpt_seq: u64,
    /// Numbers of the incremental feed below this are accounted for.
    pub(super) known_to: u64,
    /// Number of gaps when the last update was handled: later updates of its packet may yet be
    /// lost. [`NONE_MATTERS`] if a snapshot accounts for the whole packet.
    gaps_before: u64,
    /// True if the book, or possibly its state, changed since the last report.
    pub(super) is_touched: bool,
    /// Kinds whose levels changed since the last report, one bit each.
    pub(super) kinds_changed: u8,
    /// True if the last status of the instrument allows a crossed book; `None` before the first.
    pub(super) may_cross: Option<bool>,
    /// The state that was reported last.
    pub(super) reported: ReportedState,
    /// Number of checks after messages that touched the instrument; wraps around. It fills padding of
    /// the first cache line, which such a check writes anyway.
    pub(super) checks: u16,
    /// Reason why the book is stale, apart from gaps of the channel and silence.
    pub(super) broken: Option<StaleReason>,
    pub(super) books: InstrumentBooks,
    pub(super) held: VecDeque<Update>,
    /// Snapshots that end below this number precede an entry that emptied the books without being
    /// an update of the instrument. RptSeq does not distinguish them from later ones.
    pub(super) cleared_to: u64,
    /// Numbers below this are in the book, because its base snapshot includes them.
    pub(super) base_end: u64,
    /// The last update that should have been held but was dropped.
    pub(super) dropped: Option<(u64, Option<u64>)>,
    pub(super) pending: Option<Box<PendingSnapshot>>,
    natural: Option<Box<NaturalRefresh>>,
}

/// Kinds as bits.
pub(super) const OUTRIGHT: u8 = 1 << BookKind::Outright as u8;
pub(super) const IMPLIED: u8 = 1 << BookKind::Implied as u8;

/// Larger than any number of gaps.
const NONE_MATTERS: u64 = u64::MAX;

impl InstrumentState {
    pub(super) fn new(options: &RecoveryOptions, depth: [Option<u32>; 2], cleared_to: u64) -> Self {
        Self {
            rpt_seq: 0,
            known_to: 0,
            gaps_before: NONE_MATTERS,
            cleared_to,
            base_end: 0,
            broken: Some(StaleReason::NoSnapshot),
            is_touched: false,
            kinds_changed: 0,
            may_cross: None,
            reported: ReportedState::Nothing,
            checks: 0,
            books: InstrumentBooks::new(options.kinds, depth),
            held: VecDeque::new(),
            dropped: None,
            pending: None,
            natural: None,
        }
    }

    /// Returns the mark of the books as of the last check; `None` if they were touched since.
    pub(super) fn mark(&self) -> Option<BookMark> {
        let Self { rpt_seq, known_to, checks, .. } = *self;
        (!self.is_touched).then_some(BookMark { rpt_seq, known_to, checks })
    }

    /// Returns the reason why the book is stale, given the channel's last gap.
    #[inline]
    pub(super) fn stale(&self, gap: LastGap) -> Option<StaleReason> {
        self.broken.or(if self.lacks_nothing_since(gap) { None } else { Some(StaleReason::Gap) })
    }

    /// True if the book is reliable, given the channel's last gap.
    #[inline(always)]
    pub(super) fn is_fresh(&self, gap: LastGap) -> bool {
        self.broken.is_none() && self.lacks_nothing_since(gap)
    }

    #[inline(always)]
    pub(super) fn lacks_nothing_since(&self, gap: LastGap) -> bool {
        self.known_to > gap.end || self.known_to == gap.end && self.gaps_before >= gap.count
    }

    /// Records that a snapshot proved the book correct, for everything below `end`.
    pub(super) fn note_proven(&mut self, end: u64) {
        if end >= self.known_to {
            self.known_to = end;
            self.gaps_before = NONE_MATTERS;
        }
    }

    /// Clears all state except the depth. Returns how many updates were held.
    pub(super) fn reset(&mut self) -> usize {
        let held = self.held.len();
        self.held.clear();
        self.books.clear();
        self.rpt_seq = 0;
        self.known_to = 0;
        self.gaps_before = NONE_MATTERS;
        self.cleared_to = 0;
        self.base_end = 0;
        self.broken = Some(StaleReason::Reset);
        self.may_cross = None;
        self.dropped = None;
        self.pending = None;
        self.natural = None;
        held
    }

    /// Returns the position of an update. The first update of an instrument starts an empty book if
    /// allowed.
    #[inline]
    pub(super) fn place(
        &self,
        update: &Update,
        by: Continuity,
        gap: LastGap,
        may_begin_empty: bool,
    ) -> UpdatePlace {
        match by {
            Continuity::RptSeq => self.place_by_rpt_seq(update, may_begin_empty),
            Continuity::SeqNum => self.place_by_seq_num(update, gap, may_begin_empty),
        }
    }

    #[inline]
    fn place_by_rpt_seq(&self, update: &Update, may_begin_empty: bool) -> UpdatePlace {
        let Some(found) = update.rpt_seq else {
            return UpdatePlace::Unreachable(StaleReason::NoRptSeq);
        };
        match self.broken {
            None if found > 0 && found - 1 == self.rpt_seq => UpdatePlace::Next,
            None if found <= self.rpt_seq && update.seq_num < self.base_end => UpdatePlace::Old,
            None if found <= self.rpt_seq => {
                let last = self.rpt_seq;
                UpdatePlace::Unreachable(StaleReason::RptSeqBack { last, found })
            }
            None => {
                let expected = self.rpt_seq.saturating_add(1);
                UpdatePlace::Unreachable(StaleReason::RptSeqGap { expected, found })
            }
            Some(StaleReason::NoSnapshot | StaleReason::Reset | StaleReason::Ahead)
                if found == 1 && may_begin_empty =>
            {
                UpdatePlace::Next
            }
            Some(reason) => match self.held.back().and_then(|held| held.rpt_seq) {
                Some(last) if found <= last => {
                    UpdatePlace::Unreachable(StaleReason::RptSeqBack { last, found })
                }
                _ => UpdatePlace::Unreachable(reason),
            },
        }
    }

    /// Returns the position of an update on feeds without RptSeq. A new instrument starts with an
    /// empty book if allowed: then all its updates have arrived, except for gaps.
    fn place_by_seq_num(
        &self,
        update: &Update,
        gap: LastGap,
        may_begin_empty: bool,
    ) -> UpdatePlace {
        match self.stale(gap) {
            Some(StaleReason::NoSnapshot) if may_begin_empty && gap.count == 0 => UpdatePlace::Next,
            None if update.seq_num < self.base_end => UpdatePlace::Old,
            None => UpdatePlace::Next,
            Some(reason) => UpdatePlace::Unreachable(reason),
        }
    }

    /// Applies an update that follows the last one and arrived after `gaps` gaps. An update that
    /// does not fit changes nothing.
    #[inline]
    pub(super) fn follow(&mut self, update: &Update, gaps: u64) -> Result<(), BookFault> {
        self.change(update)?;
        self.note_applied(update.rpt_seq.unwrap_or(self.rpt_seq), update.seq_num, gaps);
        Ok(())
    }

    /// As [`follow`](Self::follow), for a level as plain values. Returns true if it fits.
    #[inline(always)]
    pub(super) fn follow_level(&mut self, update: LevelUpdate, gaps: u64) -> bool {
        if let Some(book) = self.books.get_mut(update.kind) {
            let LevelUpdate { side, level, change, content, .. } = update;
            if book.apply_level(side, level, change, content).is_err() {
                return false;
            }
            self.kinds_changed |= 1 << update.kind as u8;
        }
        self.note_applied(update.rpt_seq, update.seq_num, gaps);
        true
    }

    #[inline(always)]
    fn note_applied(&mut self, rpt_seq: u64, seq_num: u64, gaps: u64) {
        self.rpt_seq = rpt_seq;
        // After the largest possible number, `known_to` cannot advance.
        let end = seq_num.wrapping_add(1);
        if end >= self.known_to {
            self.known_to = end;
            self.gaps_before = gaps;
        }
    }

    /// Applies the next update, which arrived after `gaps` gaps. A fault makes the book stale.
    #[inline]
    pub(super) fn apply(&mut self, update: &Update, gaps: u64) -> Result<(), StaleReason> {
        let reason = self.follow(update, gaps).err().map(StaleReason::Fault);
        self.broken = reason;
        reason.map_or(Ok(()), Err)
    }

    #[inline]
    fn change(&mut self, update: &Update) -> Result<(), BookFault> {
        match &update.change {
            BookUpdate::Other => Ok(()),
            BookUpdate::Clear => {
                self.books.clear();
                self.kinds_changed = u8::MAX;
                Ok(())
            }
            change => {
                let Some(book) = self.books.get_mut(update.kind) else { return Ok(()) };
                self.kinds_changed |= 1 << update.kind as u8;
                book.apply(change)
            }
        }
    }

    /// True if [`inconsistency`](Self::inconsistency) has nothing to check in the books of these
    /// kinds, one bit each.
    #[inline(always)]
    pub(super) fn is_plainly_right(&self, kinds: u8) -> bool {
        self.books.outright.is_plainly_right()
            && (kinds & IMPLIED == 0
                || self.books.implied.as_deref().is_none_or(Book::is_plainly_right))
    }

    /// Returns an inconsistency of the books of these kinds, one bit each. Locked books are
    /// allowed, and crossed ones if the status allows them.
    pub(super) fn inconsistency(
        &mut self,
        kinds: u8,
        session_may_cross: bool,
    ) -> Option<BookFault> {
        for kind in BookKind::ALL {
            if kinds >> kind as u8 & 1 != 0
                && let Some(book) = self.books.get_mut(kind)
                && let Some(fault) = book.check_changed()
                && is_wrong(&fault, self.may_cross.unwrap_or(session_may_cross))
            {
                return Some(fault);
            }
        }
        None
    }

    /// Publishes the books of these kinds, one bit each.
    #[inline]
    pub(super) fn publish(
        &mut self,
        board: &mut Board,
        id: Id,
        kinds: u8,
        is_fresh: bool,
        now_ns: u64,
    ) {
        if kinds & OUTRIGHT != 0 {
            let index = index_of(id, BookKind::Outright);
            board.publish(index, &mut self.books.outright, is_fresh, now_ns);
        }
        if kinds & IMPLIED != 0
            && let Some(book) = self.books.implied.as_deref_mut()
        {
            board.publish(index_of(id, BookKind::Implied), book, is_fresh, now_ns);
        }
    }

    /// Takes over a depth from a message: the deepest so far counts.
    #[inline]
    pub(super) fn learn_depth(&mut self, kind: BookKind, depth: u32) {
        if let Some(book) = self.books.get_mut(kind)
            && book.depth().is_none_or(|known| known < depth)
        {
            book.set_depth(depth);
        }
    }

    /// Drops the oldest held update, or `update` itself if none is held; returns true if there is
    /// now room for `update`.
    pub(super) fn drop_oldest(&mut self, update: &Update) -> bool {
        let oldest = self.held.pop_front();
        self.note_dropped(oldest.as_ref().unwrap_or(update));
        oldest.is_some()
    }

    /// Records an update that is neither applied nor held; only the one with the highest number matters.
    pub(super) fn note_dropped(&mut self, update: &Update) {
        if self.dropped.is_none_or(|(seq_num, _)| update.seq_num >= seq_num) {
            self.dropped = Some((update.seq_num, update.rpt_seq));
        }
    }

    /// True if the snapshot would not improve the book.
    pub(super) fn is_too_old(&self, snapshot: &Snapshot<'_>, by: Continuity, gap: LastGap) -> bool {
        if self.is_from_before_clear(snapshot) {
            return true;
        }
        match by {
            Continuity::RptSeq => {
                let rpt_seq = snapshot.rpt_seq.unwrap_or(0);
                let dropped = self.dropped.and_then(|(_, rpt_seq)| rpt_seq);
                let is_before_book = snapshot.last_seq_num.saturating_add(1) < self.known_to;
                rpt_seq < self.rpt_seq && is_before_book
                    || dropped.is_some_and(|dropped| dropped > rpt_seq)
            }
            Continuity::SeqNum => {
                let last = snapshot.last_seq_num;
                let is_before_dropped = self.dropped.is_some_and(|(seq_num, _)| seq_num > last);
                is_before_dropped || last.saturating_add(1) < gap.end.max(self.known_to)
            }
        }
    }

    /// True if a snapshot would make the book fresh: it covers the last gap, and the held updates
    /// follow it.
    pub(super) fn recovers_by(
        &self,
        snapshot: &Snapshot<'_>,
        by: Continuity,
        gap: LastGap,
    ) -> bool {
        let mut next = snapshot.rpt_seq.map_or(1, |rpt_seq| rpt_seq.saturating_add(1));
        let mut follows = |held: &Update| {
            let found = held.rpt_seq.unwrap_or(0);
            next += u64::from(found == next);
            found < next
        };
        !self.is_too_old(snapshot, by, gap)
            && snapshot.last_seq_num.saturating_add(1) >= gap.end
            && (by == Continuity::SeqNum || self.held.iter().all(&mut follows))
    }

    /// True if a snapshot is older than the last clear of the books.
    pub(super) fn is_from_before_clear(&self, snapshot: &Snapshot<'_>) -> bool {
        snapshot.last_seq_num.saturating_add(1) < self.cleared_to
    }

    /// Replaces the book by the snapshot's levels, which `books` contains, and applies held
    /// updates. Returns how many were applied.
    pub(super) fn load(
        &mut self,
        books: &mut InstrumentBooks,
        snapshot: &Snapshot<'_>,
        by: Continuity,
    ) -> u64 {
        std::mem::swap(&mut self.books, books);
        self.kinds_changed = u8::MAX;
        self.rpt_seq = snapshot.rpt_seq.unwrap_or(0);
        self.base_end = snapshot.last_seq_num.saturating_add(1);
        self.known_to = self.base_end;
        self.gaps_before = NONE_MATTERS;
        self.broken = None;
        self.dropped = None;
        self.pending = None;
        self.natural = None;
        self.replay(by)
    }

    fn replay(&mut self, by: Continuity) -> u64 {
        let mut applied = 0;
        while let Some(update) = self.held.front().copied() {
            match self.place(&update, by, LastGap::default(), false) {
                UpdatePlace::Old => {}
                // A gap before the update may have been filled since the update was held; the
                // update is then the next one.
                UpdatePlace::Next if self.apply(&update, 0).is_ok() => applied += 1,
                UpdatePlace::Next => break,
                // The snapshot includes the update's packet but not its RptSeq, so that RptSeq was
                // invalid.
                UpdatePlace::Unreachable(_) if update.seq_num < self.base_end => {}
                UpdatePlace::Unreachable(reason) => {
                    self.broken = Some(reason);
                    break;
                }
            }
            self.held.pop_front();
        }
        applied
    }

    /// Passes an update to the natural refresh; returns true if the book is now complete.
    pub(super) fn refresh(&mut self, update: &Update, by: Continuity, gap: LastGap) -> bool {
        let Some(depth) = self.books.outright.depth() else { return false };
        if update.kind != BookKind::Outright {
            return false;
        }
        let natural = self.natural.get_or_insert_with(|| Box::new(NaturalRefresh::new(depth)));
        let Some(mut book) = natural.take(update, by, gap) else { return false };
        std::mem::swap(&mut self.books.outright, &mut book);
        self.kinds_changed = u8::MAX;
        self.natural = None;
        self.broken = None;
        self.dropped = None;
        self.base_end = 0;
        self.rpt_seq = update.rpt_seq.unwrap_or(0);
        self.known_to = update.seq_num.saturating_add(1);
        self.gaps_before = gap.count;
        true
    }

    /// Empties the books because of an entry that is no update of the instrument. From here on
    /// their content is known.
    pub(super) fn empty(&mut self, seq_num: u64, gaps: u64) -> usize {
        let held = self.held.len();
        self.held.clear();
        self.books.clear();
        self.kinds_changed = u8::MAX;
        self.dropped = None;
        self.pending = None;
        self.natural = None;
        self.known_to = seq_num.saturating_add(1);
        self.gaps_before = gaps;
        held
    }
}

/// True if a fault proves that a book is wrong.
pub(super) fn is_wrong(fault: &BookFault, may_cross: bool) -> bool {
    match fault {
        BookFault::Locked { .. } => false,
        BookFault::Crossed { .. } => !may_cross,
        _ => true,
    }
}
