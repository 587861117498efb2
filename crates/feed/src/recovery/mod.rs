//! Recovery of order books: gaps, snapshots, and the freshness of books.
//!
//! A [`Recovery`] keeps the books of one channel. Its input is every update in order, every [`Gap`]
//! that the arbiter declared, and every snapshot. A book that may lack an update is stale, with a
//! [`StaleReason`]. Its updates are held, up to a limit, until a snapshot that they follow makes it
//! fresh. [`Recovery::book`] returns fresh books only: a stale book is an error, never a wrong
//! book.
//!
//! [`Continuity`] says how a feed numbers its updates. With RptSeq, a lost packet makes every book
//! doubtful, and the next update or snapshot of an instrument shows whether its book lacks an
//! update. Without RptSeq, every book needs a snapshot taken after the gap. Fresh books are
//! compared with snapshots at the same update, and checked after each message.
//!
//! A snapshot is used only if it belongs to the session of the lines:
//!
//! - A snapshot that includes numbers which the lines have not reached waits for them, for at most
//!   [`RecoveryOptions::skew_ns`].
//! - A snapshot that was sent later than anything on the lines may belong to the next session,
//!   whatever its number. It waits until the lines have reached its SendingTime (52), or for
//!   `skew_ns` if they are quiet.
//! - For `skew_ns` after a reset, a snapshot that may belong to the previous session is refused,
//!   unless its SendingTime proves otherwise.
//! - Without SendingTimes, a snapshot of the next session that arrives before the lines show the
//!   reset cannot be distinguished from one of this session.
//!
//! An adapter pushes the content of messages ([`MarketSink`](crate::market::MarketSink)). After
//! each message, [`Recovery::next_change`] returns the changes.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::arbiter::Gap;
//! use tickwire_feed::book::{Amount, Level, Side};
//! use tickwire_feed::market::{
//!     BookKind, SnapshotFragment, InstrumentKey, LevelName, Snapshot, SnapshotLevel,
//! };
//! use tickwire_feed::recovery::{Recovery, RecoveryOptions, SnapshotOutcome, StaleReason};
//!
//! let mut recovery = Recovery::new(RecoveryOptions::default());
//! let instrument = recovery.instrument(InstrumentKey::Number(5)).expect("room");
//! let content = Level { price: Amount::integer(100), size: Amount::integer(7), orders: None };
//! let kind = BookKind::Outright;
//! let levels = [SnapshotLevel { kind, side: Side::Bid, name: LevelName::Level(1), content }];
//! let snapshot = Snapshot {
//!     instrument,
//!     last_seq_num: 40,
//!     rpt_seq: Some(12),
//!     sending_time: None,
//!     seq_num: None,
//!     fragment: SnapshotFragment::Whole,
//!     depth: None,
//!     levels: &levels,
//! };
//! // Everything below 41 has arrived or is known to be lost.
//! recovery.handle_progress(41);
//! assert_eq!(recovery.handle_snapshot(0, &snapshot), SnapshotOutcome::Recovered);
//! let book = recovery.book(instrument, kind).unwrap();
//! assert_eq!(book.best(Side::Bid), Some(&content));
//!
//! recovery.handle_gap(Gap { first: 41, count: 2 });
//! assert_eq!(recovery.book(instrument, kind), Err(StaleReason::Gap));
//! ```

mod behind;
mod changes;
mod fragments;
mod gaps;
mod instrument;
mod natural;
mod options;
mod outcome;
mod pending;
mod push;
mod replayed;
mod session;
mod snapshots;

pub use options::{BookKinds, Continuity, RecoveryOptions};
pub use outcome::{BookChange, RecoveryCounters, SnapshotOutcome, StaleReason, UpdateOutcome};

use crate::arbiter::Gap;
use crate::board::{Board, BoardReader, index_of};
use crate::book::{Book, BookUpdate, Side};
use crate::market::{
    BookKind, Clear, ClearScope, Definition, Instrument as Id, InstrumentKey, Instruments,
    LevelUpdate, Status, StatusScope, Update,
};
use behind::Behind;
use changes::Changes;
use fragments::Assembly;
use gaps::OpenGaps;
pub use instrument::BookMark;
use instrument::{InstrumentBooks, InstrumentState, LastGap, ReportedState, UpdatePlace};
use session::SessionTracker;

/// The books of one channel. See the [module](self).
#[derive(Debug)]
pub struct Recovery {
    options: RecoveryOptions,
    ids: Instruments,
    /// By the index of the instrument.
    instruments: Vec<InstrumentState>,
    /// States as reported last, by the index of the instrument: see
    /// [`state_codes`](Self::state_codes).
    state_codes: Vec<u8>,
    gap: LastGap,
    gaps: OpenGaps,
    sessions: SessionTracker,
    /// The number after the last entry that emptied books of several instruments, possibly
    /// including instruments not seen yet.
    cleared_to: u64,
    now_ns: u64,
    is_silent: bool,
    is_out_of_sequence: bool,
    /// True if packets with unexpected sequence numbers may contain updates that no later packet
    /// has.
    hides_updates: bool,
    behind: Behind,
    /// True if the status of the trading session allows crossed books.
    session_may_cross: bool,
    /// True if the exchange's transaction continues in the next message: books are checked at its
    /// end.
    is_in_transaction: bool,
    /// True if one entry of the feed can empty the books of several instruments; RptSeq does not
    /// reveal its loss.
    has_scoped_clears: bool,
    held_total: usize,
    /// Instruments with a snapshot that waits for the lines, and the total of these snapshots'
    /// levels.
    pending: Vec<Id>,
    pending_levels: usize,
    /// Bounds over all waiting snapshots: the lowest last number, the earliest SendingTime, and the
    /// earliest deadline.
    pending_first: u64,
    pending_sent: u64,
    pending_due_ns: u64,
    /// Time until which SendingTimes of the lines are read.
    times_until_ns: u64,
    /// By line of the snapshot feed.
    assemblies: [Assembly; 2],
    /// Assembles snapshots; swapped with the books they replace.
    scratch: InstrumentBooks,
    changes: Changes,
    /// Board on which books are published for other threads, once one has been requested.
    board: Option<Board>,
    counters: RecoveryCounters,
}

impl Recovery {
    /// Creates a channel without instruments; the first message that names an instrument adds it.
    pub fn new(options: RecoveryOptions) -> Self {
        Self {
            ids: Instruments::new(options.instruments_max),
            instruments: Vec::new(),
            state_codes: Vec::new(),
            gap: LastGap::default(),
            gaps: OpenGaps::default(),
            sessions: SessionTracker::default(),
            cleared_to: 0,
            now_ns: 0,
            is_silent: false,
            is_out_of_sequence: false,
            hides_updates: false,
            behind: Behind::default(),
            session_may_cross: false,
            is_in_transaction: false,
            has_scoped_clears: false,
            held_total: 0,
            pending: Vec::new(),
            pending_levels: 0,
            pending_first: u64::MAX,
            pending_sent: u64::MAX,
            pending_due_ns: u64::MAX,
            times_until_ns: 0,
            assemblies: [Assembly::new(), Assembly::new()],
            scratch: InstrumentBooks::new(options.kinds, [None; 2]),
            changes: Changes::default(),
            board: None,
            counters: RecoveryCounters::default(),
            options,
        }
    }

    /// Returns the instrument of a key; `None` if there are too many.
    #[inline(always)]
    pub fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Id> {
        let found = self.ids.intern(key);
        match found {
            Some(id) if id.index() < self.instruments.len() => {}
            _ => self.add(found),
        }
        found
    }

    #[cold]
    fn add(&mut self, found: Option<Id>) {
        if found.is_none() {
            self.counters.too_many_instruments += 1;
            return;
        }
        let depth = self.known_depth(None);
        self.instruments.push(InstrumentState::new(&self.options, depth, self.cleared_to));
        self.state_codes.push(StaleReason::NoSnapshot.code());
        self.changes.reserve(self.instruments.len());
    }

    /// Returns the depth by kind: the configured one, else that of the definition.
    fn known_depth(&self, definition: Option<&Definition>) -> [Option<u32>; 2] {
        BookKind::ALL.map(|kind| {
            self.options.depth.or_else(|| definition.and_then(|known| known.depth_of(kind)))
        })
    }

    /// Returns the known instruments, with their names.
    pub const fn instruments(&self) -> &Instruments {
        &self.ids
    }

    /// Returns the book of an instrument.
    ///
    /// # Errors
    /// [`StaleReason`] while the book is stale; [`StaleReason::NoSnapshot`] for an implied book if
    /// those are not kept.
    pub fn book(&self, instrument: Id, kind: BookKind) -> Result<&Book, StaleReason> {
        self.state(instrument)?;
        self.last_known_book(instrument, kind).ok_or(StaleReason::NoSnapshot)
    }

    /// Returns outright and implied levels in one book; a price in both has the sum of both sizes.
    ///
    /// # Errors
    /// As [`book`](Self::book); [`StaleReason::Inconsistent`] if a sum of sizes does not fit a
    /// size.
    pub fn consolidated(&self, instrument: Id) -> Result<Book, StaleReason> {
        let outright = self.book(instrument, BookKind::Outright)?;
        let implied = self.book(instrument, BookKind::Implied)?;
        Book::consolidated(outright, implied).map_err(StaleReason::Inconsistent)
    }

    /// Returns `Ok` if an instrument's books are fresh.
    ///
    /// # Errors
    /// The [`StaleReason`] while they are stale.
    #[inline]
    pub fn state(&self, instrument: Id) -> Result<(), StaleReason> {
        let known = self.instruments.get(instrument.index()).ok_or(StaleReason::NoSnapshot)?;
        if known.is_fresh(self.gap) && self.is_current() {
            let is_unfinished = self.is_in_transaction && known.is_touched;
            return if is_unfinished { Err(StaleReason::Unfinished) } else { Ok(()) };
        }
        Err(match known.stale(self.gap) {
            Some(StaleReason::Gap) if self.is_out_of_sequence => StaleReason::OutOfSequence,
            Some(reason) => reason,
            None if self.behind.is_over => StaleReason::Ahead,
            None if self.is_out_of_sequence => StaleReason::OutOfSequence,
            None => StaleReason::Silence,
        })
    }

    /// True if the lines are up to date.
    const fn is_current(&self) -> bool {
        !self.behind.is_over && !self.is_silent && !self.is_out_of_sequence
    }

    /// Returns the book as it was last known, fresh or stale.
    pub fn last_known_book(&self, instrument: Id, kind: BookKind) -> Option<&Book> {
        self.instruments.get(instrument.index())?.books.get(kind)
    }

    /// Returns a reader of the top levels for other threads. From the first call on, every changed
    /// book is published after its message, with its state.
    pub fn reader(&mut self) -> BoardReader {
        if let Some(board) = &self.board {
            return board.reader();
        }
        let board = self.board.insert(Board::new()).reader();
        for id in self.ids.iter() {
            self.publish(id, u8::MAX);
        }
        board
    }

    /// Publishes an instrument's books, fresh or stale, to the board of an observer, where they
    /// differ from the published ones. Returns false if the instrument is amid a transaction: its
    /// books are then left as they were published.
    pub fn publish_to(&self, board: &mut Board, instrument: Id, time_ns: u64) -> bool {
        let state = self.state(instrument);
        if state == Err(StaleReason::Unfinished) {
            return false;
        }
        for kind in BookKind::ALL {
            if let Some(book) = self.last_known_book(instrument, kind) {
                let index = index_of(instrument, kind);
                board.publish_if_changed(index, book, state.is_ok(), time_ns);
            }
        }
        true
    }

    /// Returns a mark that differs from earlier ones if the instrument's books or their state may have
    /// changed since; `None` if they are changing, or if there is no such instrument. It costs one
    /// cache line, so an observer of many books compares it before it calls
    /// [`publish_to`](Self::publish_to).
    pub fn book_mark(&self, instrument: Id) -> Option<BookMark> {
        self.instruments.get(instrument.index())?.mark()
    }

    /// Returns the kinds of books that are kept.
    pub const fn kinds(&self) -> BookKinds {
        self.options.kinds
    }

    /// Returns the RptSeq of the last update in the book; 0 before the first, and on feeds without
    /// RptSeq.
    pub fn rpt_seq(&self, instrument: Id) -> Option<u64> {
        self.instruments.get(instrument.index()).map(|known| known.rpt_seq)
    }

    /// Returns the time at which the latest message or snapshot was received, in nanoseconds of the
    /// handler's clock.
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns how many updates are held for stale books.
    pub fn updates_held(&self) -> usize {
        self.held_total
    }

    /// Returns the counters.
    pub fn counters(&self) -> RecoveryCounters {
        self.counters
    }

    /// Returns how many books are fresh, and how many are stale by reason, in the order of
    /// [`StaleReason::LABELS`], as of the last [`settle`](Self::settle).
    pub fn states(&self) -> (usize, [usize; StaleReason::LABELS.len()]) {
        let mut stale = [0; StaleReason::LABELS.len()];
        let mut fresh = 0;
        for code in &self.state_codes {
            match stale.get_mut(usize::from(*code).wrapping_sub(1)) {
                Some(count) => *count += 1,
                None => fresh += 1,
            }
        }
        (fresh, stale)
    }

    /// Returns the state of each instrument, by its index, as of the last
    /// [`settle`](Self::settle): 0 if its books are fresh, else 1 +
    /// [`StaleReason::index`]. An observer copies this slice; asking [`state`](Self::state) of
    /// thousands of instruments would replace the caches of the thread that keeps the books.
    pub fn state_codes(&self) -> &[u8] {
        &self.state_codes
    }

    /// Sets the current time, on the clock of the packets.
    #[inline]
    pub fn set_time(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Records that every number of the incremental feed below `next` has arrived or is lost. Call
    /// it at the beginning of a packet and at its end.
    #[inline]
    pub fn handle_progress(&mut self, next: u64) {
        if !self.sessions.has_begun() {
            self.begin_at(next);
        }
        self.sessions.advance(next);
        self.note_position();
        if next > self.pending_first || self.sessions.sent() > self.pending_sent {
            self.take_pending();
        }
    }

    /// Records the first number of a session: everything sent before it is unknown.
    #[cold]
    fn begin_at(&mut self, first: u64) {
        self.sessions.advance(first);
        if self.options.is_numbered && !self.sessions.is_from_start() && first > self.gap.end {
            self.gap = self.gaps.begin(first);
        }
        self.take_pending();
    }

    /// Sets whether messages of the lines have a SendingTime: see
    /// [`wants_times`](Self::wants_times).
    pub const fn set_line_times(&mut self, has_times: bool) {
        self.sessions.set_times(has_times);
    }

    /// True if SendingTimes of the lines are needed: while snapshots arrive for stale books.
    #[inline]
    pub const fn wants_times(&self) -> bool {
        self.now_ns < self.times_until_ns && self.sessions.has_times()
    }

    /// Records the SendingTime of a message of the lines, in sending order: a snapshot that was
    /// sent later may belong to the next session.
    pub fn note_sending_time(&mut self, sending_time: u64) {
        self.sessions.note_sent(sending_time);
    }

    /// Records lost sequence numbers of the incremental feed, or the lost rest of a packet whose
    /// first updates arrived.
    pub fn handle_gap(&mut self, gap: Gap) {
        self.counters.gaps += 1;
        self.is_in_transaction = false;
        let end = gap.last().saturating_add(1);
        if end >= self.gap.end {
            self.gap = self.gaps.open(gap);
        }
        self.touch_all();
        self.handle_progress(self.gap.end);
    }

    /// Records a SequenceReset on the incremental feed, before the
    /// [`handle_reset`](Self::handle_reset) that it causes: its SendingTime separates snapshots of
    /// the old session from those of the new one.
    pub fn note_sequence_reset(&mut self, sending_time: Option<u64>) {
        self.sessions.note_reset_message(sending_time);
    }

    /// Empties every book, because the exchange begins a new session. Do not call it for the reset
    /// that begins each round of a snapshot feed.
    pub fn handle_reset(&mut self) {
        for instrument in &mut self.instruments {
            instrument.reset();
            instrument.kinds_changed = u8::MAX;
        }
        self.held_total = 0;
        self.gap = LastGap::default();
        self.gaps = OpenGaps::default();
        self.pending.clear();
        self.forget_thresholds();
        self.cleared_to = 0;
        self.session_may_cross = false;
        self.is_in_transaction = false;
        self.is_out_of_sequence = false;
        self.hides_updates = false;
        self.behind = Behind::default();
        self.sessions.begin(self.now_ns);
        self.touch_all();
    }

    /// Sets whether the channel has been silent for too long: every book is stale during a silence.
    pub fn handle_silence(&mut self, is_silent: bool) {
        if self.is_silent != is_silent {
            self.is_silent = is_silent;
            self.is_in_transaction = false;
            self.touch_all();
        }
    }

    /// Reports that the lines send packets with unexpected sequence numbers and none that is next
    /// in order. Every book is stale until [`handle_in_sequence`](Self::handle_in_sequence). If
    /// those packets may contain updates that no later packet has, books stay stale afterwards, as
    /// after a gap. Returns true if the state is new.
    pub fn handle_out_of_sequence(&mut self, may_hide_updates: bool) -> bool {
        let is_hiding = may_hide_updates && !self.hides_updates;
        if self.is_out_of_sequence && !is_hiding {
            return false;
        }
        self.is_out_of_sequence = true;
        self.is_in_transaction = false;
        if is_hiding {
            self.hides_updates = true;
            self.gap = self.gaps.lose(self.sessions.position());
        }
        self.touch_all();
        true
    }

    /// True if the lines send packets with unexpected sequence numbers, according to the last
    /// report.
    #[inline]
    pub(crate) const fn is_out_of_sequence(&self) -> bool {
        self.is_out_of_sequence
    }

    /// Reports that a packet is next in order again, with this number, or that the lines agree on
    /// the last delivered packets.
    pub fn handle_in_sequence(&mut self, next: Option<u64>) {
        self.is_out_of_sequence = false;
        if std::mem::take(&mut self.hides_updates) {
            // Only a snapshot that includes this packet shows that nothing is missing.
            let position = self.sessions.position();
            self.gap = self.gaps.lose(next.map_or(position, |_| position.saturating_add(1)));
        }
        self.touch_all();
    }

    /// Takes over a definition. Returns true if it was new.
    pub fn define(&mut self, instrument: Id, definition: &Definition) -> bool {
        let is_new = self.ids.define(instrument, definition);
        let known = self.ids.definition(instrument);
        let depth = self.known_depth(known);
        let mut kinds_cut = 0;
        if let Some(known) = self.instruments.get_mut(instrument.index()) {
            for (kind, depth) in BookKind::ALL.into_iter().zip(depth) {
                if let (Some(book), Some(depth)) = (known.books.get_mut(kind), depth) {
                    let levels = |book: &Book| Side::ALL.map(|side| book.len(side));
                    let before = levels(book);
                    book.set_depth(depth);
                    kinds_cut |= u8::from(levels(book) != before) << kind as u8;
                }
            }
            known.kinds_changed |= kinds_cut;
        }
        if kinds_cut != 0 {
            // Levels beyond the depth were deleted.
            self.touch(instrument);
        }
        is_new
    }

    /// Records a trading status of an instrument, or of all instruments; a status of all counts for
    /// each until the instrument's own next status. Returns true if it changes whether books may be
    /// crossed.
    pub fn handle_status(&mut self, status: &Status) -> bool {
        let may_cross = status.may_cross();
        match status.scope {
            StatusScope::Channel => {
                if std::mem::replace(&mut self.session_may_cross, may_cross) == may_cross {
                    return false;
                }
                for id in self.ids.iter() {
                    if let Some(known) = self.instruments.get_mut(id.index()) {
                        known.may_cross = None;
                    }
                    self.look_again(id);
                }
                true
            }
            StatusScope::Instrument(id) => {
                let known = self.instruments.get_mut(id.index());
                let is_new = known
                    .is_some_and(|known| known.may_cross.replace(may_cross) != Some(may_cross));
                self.look_again(id);
                is_new
            }
        }
    }

    /// Marks an instrument's books for a check at the end of the message, if any is crossed,
    /// although none of them changed.
    fn look_again(&mut self, id: Id) {
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return };
        if !instrument.is_plainly_right(u8::MAX) {
            instrument.kinds_changed = u8::MAX;
            self.touch(id);
        }
    }

    /// As [`handle_update`](Self::handle_update), for an update of a level by position, as plain
    /// values. An update that follows the last one, as nearly all do, reaches the book without
    /// becoming an [`Update`] in memory. It is inlined into the loop over entries: a call would
    /// have to store all values and load them again.
    #[inline(always)]
    pub fn handle_level_update(&mut self, update: LevelUpdate) {
        if !self.follow_level(update) {
            // With a copy of its content, the update itself never has to be in memory.
            self.take_level(&LevelUpdate { content: update.content.copied_here(), ..update });
        }
    }

    #[cold]
    #[inline(never)]
    fn take_level(&mut self, update: &LevelUpdate) {
        if let Some(instrument) = self.instrument(InstrumentKey::Number(update.number)) {
            self.handle_update(&update.of(instrument));
        }
    }

    /// Applies an update whose RptSeq shows that it is the next one of a fresh book. Returns false
    /// if it is not; then nothing changed.
    #[inline(always)]
    fn follow_level(&mut self, update: LevelUpdate) -> bool {
        let id = self.ids.recent(update.number);
        let Some(instrument) = self.instruments.get_mut(id.index()) else { return false };
        let follows = instrument.rpt_seq.wrapping_add(1) == update.rpt_seq
            && instrument.is_fresh(self.gap)
            && self.options.continuity == Continuity::RptSeq
            && self.sessions.has_begun();
        if !follows {
            return false;
        }
        if !instrument.follow_level(update, self.gap.count) {
            return false;
        }
        self.counters.applied += 1;
        self.changes.touch(id, &mut instrument.is_touched);
        true
    }

    /// Handles one update of the incremental feed, in the arbiter's order.
    #[inline]
    pub fn handle_update(&mut self, update: &Update) -> UpdateOutcome {
        match self.follow(update) {
            true => UpdateOutcome::Applied,
            // Passed by value, so that an update that follows the last one never has to be in
            // memory.
            false => self.take(*update),
        }
    }

    /// Applies an update whose RptSeq shows that it is the next one of a fresh book, as nearly all
    /// are. Returns false if it is not; then nothing but the depth changed.
    #[inline]
    fn follow(&mut self, update: &Update) -> bool {
        if !self.sessions.has_begun() {
            self.begin_at(update.seq_num);
        }
        let Some(instrument) = self.instruments.get_mut(update.instrument.index()) else {
            return false;
        };
        if let (Some(depth), None, BookUpdate::ByLevel { .. }) =
            (update.depth, self.options.depth, update.change)
        {
            instrument.learn_depth(update.kind, depth);
        }
        let follows = self.options.continuity == Continuity::RptSeq
            && update.rpt_seq == Some(instrument.rpt_seq.wrapping_add(1))
            && instrument.is_fresh(self.gap)
            && instrument.follow(update, self.gap.count).is_ok();
        if follows {
            self.counters.applied += 1;
            self.changes.touch(update.instrument, &mut instrument.is_touched);
        }
        follows
    }

    /// Handles any update.
    #[inline(never)]
    fn take(&mut self, update: Update) -> UpdateOutcome {
        let outcome = self.place(&update);
        // An update that is held changes nothing in the report unless the state is new.
        let is_as_told = match (outcome, self.instruments.get(update.instrument.index())) {
            (UpdateOutcome::Held(reason), Some(known)) => {
                known.kinds_changed == 0
                    && known.reported == ReportedState::Stale(reason.index() as u8)
            }
            _ => false,
        };
        if !is_as_told {
            self.touch(update.instrument);
        }
        outcome
    }

    /// Applies an update, holds it, or drops it.
    fn place(&mut self, update: &Update) -> UpdateOutcome {
        let Some(instrument) = self.instruments.get_mut(update.instrument.index()) else {
            // Only an index of another channel is unknown.
            return UpdateOutcome::Held(StaleReason::NoSnapshot);
        };
        let is_fresh = instrument.is_fresh(self.gap);
        if self.has_scoped_clears && instrument.stale(self.gap) == Some(StaleReason::Gap) {
            return self.hold(update, StaleReason::Gap);
        }
        let may_begin_empty = match self.options.continuity {
            Continuity::RptSeq => !self.options.carries_over,
            Continuity::SeqNum => self.options.starts_empty && self.sessions.is_from_start(),
        };
        match instrument.place(update, self.options.continuity, self.gap, may_begin_empty) {
            UpdatePlace::Next => match instrument.apply(update, self.gap.count) {
                Ok(()) if is_fresh => {
                    self.counters.applied += 1;
                    UpdateOutcome::Applied
                }
                Ok(()) => {
                    self.held_total -= instrument.held.len();
                    instrument.held.clear();
                    self.counters.applied += 1;
                    self.counters.recovered += 1;
                    UpdateOutcome::Recovered
                }
                Err(reason) => {
                    self.counters.broken += 1;
                    self.hold(update, reason)
                }
            },
            UpdatePlace::Old => {
                self.counters.old += 1;
                UpdateOutcome::Old
            }
            UpdatePlace::Unreachable(reason) => self.hold(update, reason),
        }
    }

    /// Empties several books.
    pub fn handle_clear(&mut self, clear: &Clear<'_>) {
        let cleared = match clear.scope {
            ClearScope::Channel => self.ids.iter().collect(),
            ClearScope::Field { index, text } => self.ids.with_field(index, text),
        };
        self.cleared_to = clear.seq_num.saturating_add(1);
        self.has_scoped_clears = true;
        for id in cleared {
            let Some(instrument) = self.instruments.get_mut(id.index()) else { continue };
            self.held_total -= instrument.empty(clear.seq_num, self.gap.count);
            instrument.cleared_to = self.cleared_to;
            // With RptSeq, the next update shows the position of the instrument.
            let is_certain =
                self.options.continuity == Continuity::SeqNum || instrument.broken.is_none();
            if is_certain {
                instrument.broken = None;
            }
            self.touch(id);
        }
    }

    /// Holds an update that cannot be applied, unless it completes the book by itself.
    #[cold]
    fn hold(&mut self, update: &Update, reason: StaleReason) -> UpdateOutcome {
        let instrument = &mut self.instruments[update.instrument.index()];
        if reason != StaleReason::Gap {
            self.counters.broken += u64::from(instrument.broken.is_none());
            instrument.broken = Some(reason);
        }
        if let StaleReason::RptSeqBack { .. } = reason {
            // The held updates belong to the old RptSeq count.
            self.held_total -= instrument.held.len();
            instrument.held.clear();
        }
        let is_counted = self.options.continuity == Continuity::SeqNum || update.rpt_seq.is_some();
        if matches!(update.change, BookUpdate::Clear) && is_counted {
            self.held_total -= instrument.empty(update.seq_num, self.gap.count);
            instrument.rpt_seq = update.rpt_seq.unwrap_or(0);
            instrument.broken = None;
            self.counters.recovered += 1;
            return UpdateOutcome::Recovered;
        }
        if self.options.natural_refresh && self.options.kinds == BookKinds::Outright {
            let by = self.options.continuity;
            if instrument.refresh(update, by, self.gap) {
                self.held_total -= instrument.held.len();
                instrument.held.clear();
                self.counters.recovered += 1;
                return UpdateOutcome::Recovered;
            }
        }
        let is_full = instrument.held.len() >= self.options.updates_held_max
            || self.held_total >= self.options.updates_held_total_max;
        if is_full {
            self.held_total -= usize::from(!instrument.held.is_empty());
            self.counters.dropped += 1;
            if !instrument.drop_oldest(update) {
                return UpdateOutcome::Held(reason);
            }
        }
        instrument.held.push_back(*update);
        self.held_total += 1;
        self.counters.held += 1;
        UpdateOutcome::Held(reason)
    }
}

#[cfg(test)]
mod tests;
