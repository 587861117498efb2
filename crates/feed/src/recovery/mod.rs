//! Gaps, snapshots, and which books may be believed.
//!
//! A [`Recovery`] keeps the books of one channel. It is told of every update in order, of every
//! [`Gap`] the arbiter declared, and of every snapshot. A book that may lack an update is stale,
//! with a [`StaleReason`]; its updates are held, bounded, until a snapshot that they follow makes it
//! fresh. [`Recovery::book`] hands out fresh books alone: a stale book rather than a wrong one.
//!
//! How a feed numbers its updates is [`Continuity`]. With RptSeq a lost packet makes every book
//! suspect, and the next update or snapshot of an instrument shows whether it lacks one; without,
//! every book needs a snapshot taken after the gap. Fresh books are compared with the snapshots that
//! stand at the same update.
//!
//! [`MarketDataAdapter`] makes the inputs from decoded FAST messages. A message that cannot be
//! decoded or adapted is a gap of its number; a [`Reset`](crate::arbiter::Output::Reset) of the
//! arbiter, or a SequenceReset on the incremental feed, is [`Recovery::handle_reset`].
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::arbiter::Gap;
//! use tickwire_feed::book::{Amount, Level, Side};
//! use tickwire_feed::recovery::{
//!     InstrumentId, Recovery, RecoveryOptions, Snapshot, SnapshotLevel, SnapshotOutcome,
//!     StaleReason,
//! };
//!
//! let mut recovery = Recovery::new(RecoveryOptions::default());
//! let content = Level { price: Amount::integer(100), size: Amount::integer(7), orders: None };
//! let levels = [SnapshotLevel { side: Side::Bid, level: Some(1), content }];
//! let instrument = InstrumentId(5);
//! let snapshot =
//!     Snapshot { instrument, last_seq_num: 40, rpt_seq: Some(12), levels: &levels };
//! assert_eq!(recovery.handle_snapshot(&snapshot), SnapshotOutcome::Recovered);
//! assert_eq!(recovery.book(instrument).unwrap().best(Side::Bid), Some(&content));
//!
//! recovery.handle_gap(Gap { first: 41, count: 2 });
//! assert_eq!(recovery.book(instrument), Err(StaleReason::Gap));
//! ```

mod input;
mod instrument;
mod message;
mod natural;
mod options;
mod outcome;
mod row;

pub use input::{Incremental, InstrumentId, Snapshot, SnapshotLevel};
pub use message::{LevelNaming, MarketData, MarketDataAdapter, MarketDataError};
pub use options::{Continuity, RecoveryOptions};
pub use outcome::{IncrementalOutcome, RecoveryCounters, SnapshotOutcome, StaleReason};

use std::collections::HashMap;

use crate::arbiter::Gap;
use crate::book::{Book, BookFault, BookUpdate, LevelAction, PriceAction};
use instrument::{Instrument, LastGap, Place};

/// A book that claims to be further than this ahead of both updates and snapshots is not believed.
const SNAPSHOT_AHEAD_MAX: u64 = 1024;

/// The books of one channel. See the [module](self).
#[derive(Debug)]
pub struct Recovery {
    options: RecoveryOptions,
    instruments: Vec<Instrument>,
    indexes: HashMap<InstrumentId, usize>,
    gap: LastGap,
    /// The number after the last one an update carried.
    position: u64,
    held_total: usize,
    /// Where snapshots are put together; swapped with the book they replace.
    scratch: Book,
    counters: RecoveryCounters,
}

impl Recovery {
    /// Creates a channel without instruments: they come with their first update or snapshot.
    pub fn new(options: RecoveryOptions) -> Self {
        Self {
            options,
            instruments: Vec::new(),
            indexes: HashMap::new(),
            gap: LastGap::default(),
            position: 0,
            held_total: 0,
            scratch: Book::new(options.depth_max),
            counters: RecoveryCounters::default(),
        }
    }

    /// Makes room for an instrument whose book has its own depth. Returns whether it is now known
    /// with this depth: not if it was known before, or if there are too many.
    pub fn add_instrument(&mut self, instrument: InstrumentId, depth_max: u32) -> bool {
        let is_new = !self.indexes.contains_key(&instrument);
        is_new && self.insert(instrument, depth_max).is_some()
    }

    /// The book of an instrument.
    ///
    /// # Errors
    /// [`StaleReason`] while the book may not be believed.
    pub fn book(&self, instrument: InstrumentId) -> Result<&Book, StaleReason> {
        let known = self.find(instrument).ok_or(StaleReason::NoSnapshot)?;
        known.stale(self.gap).map_or(Ok(&known.book), Err)
    }

    /// The book as it was last known, fresh or stale.
    pub fn last_known_book(&self, instrument: InstrumentId) -> Option<&Book> {
        self.find(instrument).map(|known| &known.book)
    }

    /// RptSeq of the last update in the book; 0 before the first and where the feed has none.
    pub fn rpt_seq(&self, instrument: InstrumentId) -> Option<u64> {
        self.find(instrument).map(|known| known.rpt_seq)
    }

    /// The instruments known, in no order.
    pub fn instruments(&self) -> impl Iterator<Item = InstrumentId> {
        self.indexes.keys().copied()
    }

    /// Updates held for stale books.
    pub fn updates_held(&self) -> usize {
        self.held_total
    }

    /// What was done so far.
    pub fn counters(&self) -> RecoveryCounters {
        self.counters
    }

    /// Takes note that sequence numbers of the incremental feed are lost, or what is left of a packet
    /// of which updates came.
    pub fn handle_gap(&mut self, gap: Gap) {
        self.counters.gaps += 1;
        let end = gap.last().saturating_add(1);
        if end >= self.gap.end {
            self.gap = LastGap { end, count: self.gap.count.saturating_add(1) };
        }
        self.position = self.position.max(self.gap.end);
    }

    /// Forgets every book: the exchange numbers anew. Not for the reset that begins each round of a
    /// snapshot feed.
    pub fn handle_reset(&mut self) {
        for instrument in &mut self.instruments {
            instrument.reset();
        }
        self.held_total = 0;
        self.gap = LastGap::default();
        self.position = 0;
    }

    /// Takes one update of the incremental feed, in the order the arbiter delivers.
    pub fn handle_incremental(&mut self, update: &Incremental) -> IncrementalOutcome {
        let Some(index) = self.index_of(update.instrument) else {
            return IncrementalOutcome::TooManyInstruments;
        };
        self.position = self.position.max(update.seq_num.saturating_add(1));
        let instrument = &mut self.instruments[index];
        let was_stale = instrument.stale(self.gap).is_some();
        match instrument.place(update, self.options.continuity, self.gap) {
            Place::Old => {
                self.counters.old += 1;
                IncrementalOutcome::Old
            }
            Place::Next => match instrument.apply(update, self.gap.count) {
                Ok(()) if was_stale => {
                    self.held_total -= instrument.held.len();
                    instrument.held.clear();
                    self.counters.applied += 1;
                    self.counters.recovered += 1;
                    IncrementalOutcome::Recovered
                }
                Ok(()) => {
                    self.counters.applied += 1;
                    IncrementalOutcome::Applied
                }
                Err(reason) => {
                    self.counters.broken += 1;
                    self.hold(index, update, reason)
                }
            },
            Place::Unreachable(reason) => self.hold(index, update, reason),
        }
    }

    /// Takes a snapshot, whenever it comes.
    pub fn handle_snapshot(&mut self, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        if self.options.continuity == Continuity::RptSeq && snapshot.rpt_seq.is_none() {
            return SnapshotOutcome::NoRptSeq;
        }
        let Some(index) = self.index_of(snapshot.instrument) else {
            return SnapshotOutcome::TooManyInstruments;
        };
        if self.is_contradicted(index, snapshot) {
            self.held_total -= self.instruments[index].reset();
            self.counters.broken += 1;
            return SnapshotOutcome::TooOld;
        }
        match self.instruments[index].stale(self.gap) {
            None if !self.is_comparable(index, snapshot) => SnapshotOutcome::NotNeeded,
            None => self.verify(index, snapshot),
            Some(_) => self.recover(index, snapshot),
        }
    }

    fn find(&self, instrument: InstrumentId) -> Option<&Instrument> {
        self.instruments.get(*self.indexes.get(&instrument)?)
    }

    fn index_of(&mut self, instrument: InstrumentId) -> Option<usize> {
        if let Some(index) = self.indexes.get(&instrument) {
            return Some(*index);
        }
        let index = self.insert(instrument, self.options.depth_max);
        if index.is_none() {
            self.counters.too_many_instruments += 1;
        }
        index
    }

    fn insert(&mut self, instrument: InstrumentId, depth_max: u32) -> Option<usize> {
        let index = self.instruments.len();
        if index >= self.options.instruments_max {
            return None;
        }
        self.instruments.push(Instrument::new(depth_max, self.options.natural_refresh));
        self.indexes.insert(instrument, index);
        Some(index)
    }

    /// Keeps an update that cannot be applied, unless it completes the book by itself.
    fn hold(
        &mut self,
        index: usize,
        update: &Incremental,
        reason: StaleReason,
    ) -> IncrementalOutcome {
        let instrument = &mut self.instruments[index];
        if reason != StaleReason::Gap {
            self.counters.broken += u64::from(instrument.broken.is_none());
            instrument.broken = Some(reason);
        }
        if self.options.natural_refresh {
            let by = self.options.continuity;
            instrument.book.clone_empty_into(&mut self.scratch);
            if instrument.refresh(update, by, self.gap, &mut self.scratch) {
                self.held_total -= instrument.held.len();
                instrument.held.clear();
                self.counters.recovered += 1;
                return IncrementalOutcome::Recovered;
            }
        }
        let is_full = instrument.held.len() >= self.options.updates_held_max
            || self.held_total >= self.options.updates_held_total_max;
        if is_full {
            self.held_total -= usize::from(!instrument.held.is_empty());
            self.counters.dropped += 1;
            if !instrument.drop_oldest(update) {
                return IncrementalOutcome::Held(reason);
            }
        }
        instrument.held.push_back(*update);
        self.held_total += 1;
        self.counters.held += 1;
        IncrementalOutcome::Held(reason)
    }

    /// Whether a book includes numbers that neither updates nor this snapshot have come near: the
    /// snapshot that it began with was one of an earlier numbering, or without sense.
    fn is_contradicted(&self, index: usize, snapshot: &Snapshot<'_>) -> bool {
        let furthest = self.position.max(snapshot.last_seq_num);
        let is_ahead =
            furthest.saturating_add(SNAPSHOT_AHEAD_MAX) < self.instruments[index].known_to;
        self.position > 0 && is_ahead
    }

    /// Whether a fresh book and a snapshot stand at the same update.
    fn is_comparable(&self, index: usize, snapshot: &Snapshot<'_>) -> bool {
        let instrument = &self.instruments[index];
        let end = snapshot.last_seq_num.saturating_add(1);
        match self.options.continuity {
            Continuity::RptSeq => {
                let rpt_seq = snapshot.rpt_seq.unwrap_or(0);
                let counts_anew = rpt_seq < instrument.rpt_seq && end >= instrument.known_to;
                rpt_seq == instrument.rpt_seq || counts_anew
            }
            Continuity::SeqNum => end == self.position.max(instrument.known_to),
        }
    }

    fn verify(&mut self, index: usize, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        if let Err(fault) = self.build(index, snapshot) {
            return self.refuse(fault);
        }
        let instrument = &mut self.instruments[index];
        let by_count = self.options.continuity == Continuity::RptSeq;
        let is_same_update = !by_count || snapshot.rpt_seq == Some(instrument.rpt_seq);
        if is_same_update && instrument.book == self.scratch {
            instrument.note_proven(snapshot.last_seq_num.saturating_add(1));
            self.counters.verified += 1;
            return SnapshotOutcome::Verified;
        }
        instrument.load(&mut self.scratch, snapshot, self.options.continuity);
        self.counters.mismatches += 1;
        SnapshotOutcome::Mismatch
    }

    fn recover(&mut self, index: usize, snapshot: &Snapshot<'_>) -> SnapshotOutcome {
        let by = self.options.continuity;
        if self.instruments[index].is_too_old(snapshot, by, self.gap) {
            return SnapshotOutcome::TooOld;
        }
        if let Err(fault) = self.build(index, snapshot) {
            return self.refuse(fault);
        }
        let instrument = &mut self.instruments[index];
        let held_before = instrument.held.len();
        self.counters.applied += instrument.load(&mut self.scratch, snapshot, by);
        self.held_total -= held_before - instrument.held.len();
        match instrument.stale(self.gap) {
            Some(reason) => SnapshotOutcome::Loaded(reason),
            None => {
                self.counters.recovered += 1;
                SnapshotOutcome::Recovered
            }
        }
    }

    fn refuse(&mut self, fault: BookFault) -> SnapshotOutcome {
        self.counters.faulty_snapshots += 1;
        SnapshotOutcome::Faulty(fault)
    }

    /// Puts the snapshot's levels together in `scratch`.
    fn build(&mut self, index: usize, snapshot: &Snapshot<'_>) -> Result<(), BookFault> {
        let book = &mut self.scratch;
        self.instruments[index].book.clone_empty_into(book);
        for entry in snapshot.levels {
            let (side, content) = (entry.side, entry.content);
            let update = match entry.level {
                None => BookUpdate::ByPrice { side, action: PriceAction::New, level: content },
                Some(level) => {
                    let levels = book.levels(side).len() as u32;
                    if level <= levels {
                        return Err(BookFault::Hole { side, level, levels });
                    }
                    BookUpdate::ByLevel { side, level, action: LevelAction::New(content) }
                }
            };
            book.apply(&update)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
