//! The top of every book, readable by other threads while it changes.
//!
//! The thread that keeps the books owns a [`Board`] and publishes a book after each message that
//! changed it. Any number of [`BoardReader`]s copy books without a lock: each instrument has its
//! own seqlock, and a reader that meets a write tries again. Readers never stop or slow the writer.
//! A copy is one complete state of one book, as it was after some message; books of two instruments
//! may be from two moments.
//!
//! All shared data are atomic words, so there is no `unsafe` here: a seqlock of relaxed loads and
//! stores between fences (Boehm, "Can seqlocks get along with programming language memory models?",
//! 2012).
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::board::Board;
//! use tickwire_feed::book::{Amount, Book, BookUpdate, Level, LevelAction, Side};
//!
//! let mut board = Board::new();
//! let reader = board.reader();
//! let level = Level { price: Amount::integer(100), size: Amount::integer(7), orders: None };
//! let mut book = Book::new();
//! let action = LevelAction::New(level);
//! book.apply(&BookUpdate::ByLevel { side: Side::Bid, level: 1, action })?;
//! board.publish(3, &mut book, true, 1_000);
//!
//! let top = reader.read(3).expect("published");
//! assert_eq!(top.levels(Side::Bid), [level]);
//! assert!(top.is_fresh() && reader.read(4).is_none());
//! # Ok::<(), tickwire_feed::book::BookFault>(())
//! ```

mod atomics;
mod seqlock;

use std::sync::{Arc, OnceLock};

use crate::book::{Amount, Book, INLINE, Level, Side};
use crate::market::{BookKind, Instrument};
use seqlock::{Seqlock, SeqlockWords};

/// Most levels per side that are published.
pub const TOP_LEVELS: usize = INLINE;

/// Words of a level: mantissa of the price, mantissa of the size, both exponents, orders.
const LEVEL_WORDS: usize = 4;
/// Words before the levels: time, a state word with the number of levels of both sides, the slot
/// permutation of each side, and unused ones. They fill a cache line together with the version.
const HEAD_WORDS: usize = 7;
const TIME: usize = 0;
const STATE: usize = 1;
const ORDERS: usize = 2;
/// Words of a book: head, bids, offers.
const BOOK_WORDS: usize = HEAD_WORDS + 2 * TOP_LEVELS * LEVEL_WORDS;

/// Entries of the first chunk; each further one is twice as large as the one before.
const FIRST_CHUNK: usize = 64;
/// Chunks for 64 + 128 + ... entries, more than any channel has.
const CHUNKS: usize = 20;

/// One book.
type BoardEntry = Seqlock<BOOK_WORDS>;

/// Entries in chunks that never move, so that readers need no lock while the writer adds more.
struct BoardEntries {
    chunks: [OnceLock<Box<[BoardEntry]>>; CHUNKS],
}

impl BoardEntries {
    fn new() -> Self {
        Self { chunks: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The chunk of an index, and the place in it.
    fn place(index: usize) -> (usize, usize) {
        let chunk = (index / FIRST_CHUNK + 1).ilog2() as usize;
        (chunk, index - FIRST_CHUNK * ((1 << chunk) - 1))
    }

    fn get(&self, index: usize) -> Option<&BoardEntry> {
        let (chunk, at) = Self::place(index);
        self.chunks.get(chunk)?.get()?.get(at)
    }

    fn get_or_add(&self, index: usize) -> Option<&BoardEntry> {
        let (chunk, at) = Self::place(index);
        let entries = self.chunks.get(chunk)?;
        entries
            .get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| BoardEntry::new()).collect())
            .get(at)
    }
}

/// Publishes books. See the [module](self).
pub struct Board {
    entries: Arc<BoardEntries>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}

impl Default for Board {
    fn default() -> Self {
        Self::new()
    }
}

impl Board {
    /// Creates a board without books.
    pub fn new() -> Self {
        Self { entries: Arc::new(BoardEntries::new()) }
    }

    /// Returns a reader of this board. Readers can be cloned and sent to other threads.
    pub fn reader(&self) -> BoardReader {
        BoardReader { entries: self.entries.clone() }
    }

    /// Publishes the book at `index`, such as
    /// [`Instrument::index`](crate::market::Instrument::index): the levels changed since this book
    /// was last published, whether it is fresh, and the time of the change in nanoseconds. A book
    /// whose index exceeds the capacity of a board, about 67 million, is not published.
    ///
    /// Publish a book to one board only, always at the same index.
    #[inline]
    pub fn publish(&mut self, index: usize, book: &mut Book, is_fresh: bool, time_ns: u64) {
        let Some(entry) = self.entries.get_or_add(index) else { return };
        let [bids, offers] = book.publish();
        entry.write(|words| {
            words.set(TIME, time_ns);
            let lens = bids.len << len_shift(0) | offers.len << len_shift(1);
            words.set(STATE, u64::from(is_fresh) | lens);
            words.set(ORDERS, bids.order);
            words.set(ORDERS + 1, offers.order);
            // The loop writes at least one slot, changed or not. One is the usual number, and a
            // fixed single iteration costs less than a branch that cannot be predicted.
            let mut dirty = u32::from(bids.dirty) | u32::from(offers.dirty) << TOP_LEVELS;
            loop {
                let number = dirty.trailing_zeros() as usize % (2 * TOP_LEVELS);
                let (side, slot) = (number / TOP_LEVELS, number % TOP_LEVELS);
                let slots = if side == 0 { bids.slots } else { offers.slots };
                let at = level_at(side, slot);
                for (offset, word) in pack(&slots[slot]).into_iter().enumerate() {
                    words.set(at + offset, word);
                }
                dirty &= dirty.wrapping_sub(1);
                if dirty == 0 {
                    break;
                }
            }
        });
    }

    /// Publishes the top of the book at `index` if it differs from the published one, and returns
    /// whether it did. For observers that read a few times a second: it costs nothing between two
    /// calls. `time_ns` is the time of this call; [`Top::time_ns`] is that of the last call that
    /// found a change, and 0 before the first change.
    ///
    /// Use a board that no [`publish`](Self::publish) writes.
    pub fn publish_if_changed(
        &mut self,
        index: usize,
        book: &Book,
        is_fresh: bool,
        time_ns: u64,
    ) -> bool {
        let Some(entry) = self.entries.get_or_add(index) else { return false };
        let mut found = [0; BOOK_WORDS];
        found[STATE] = u64::from(is_fresh);
        for (number, side) in Side::ALL.into_iter().enumerate() {
            let mut len = 0;
            for (slot, level) in book.levels(side).take(TOP_LEVELS).enumerate() {
                let at = level_at(number, slot);
                found[at..at + LEVEL_WORDS].copy_from_slice(&pack(level));
                // Level n is in slot n.
                found[ORDERS + number] |= (slot as u64) << (slot * 4);
                len += 1;
            }
            found[STATE] |= len << len_shift(number);
        }
        // Words of levels that a shorter book leaves unused are cleared, so all words are compared.
        let known = entry.read(|words| {
            let is_same = (0..BOOK_WORDS).all(|at| at == TIME || words.get(at) == found[at]);
            (is_same, words.get(TIME))
        });
        match known {
            Some((true, _)) => return false,
            Some((false, _)) => found[TIME] = time_ns,
            None => {}
        }
        entry.write(|words| (0..BOOK_WORDS).for_each(|at| words.set(at, found[at])));
        true
    }
}

/// Returns the bit position of a side's number of levels in the state word.
const fn len_shift(side: usize) -> usize {
    8 + side * 8
}

/// Returns the first word of the level in a slot of a side.
const fn level_at(side: usize, slot: usize) -> usize {
    HEAD_WORDS + (side * TOP_LEVELS + slot) * LEVEL_WORDS
}

/// The index at which a [`Recovery`](crate::recovery::Recovery) publishes a book.
pub(crate) const fn index_of(instrument: Instrument, kind: BookKind) -> usize {
    instrument.index() * 2 + kind as usize
}

#[inline(always)]
fn pack(level: &Level) -> [u64; LEVEL_WORDS] {
    let half = |exponent: i32| u64::from(exponent.cast_unsigned());
    [
        level.price.mantissa.cast_unsigned(),
        level.size.mantissa.cast_unsigned(),
        half(level.price.exponent) | half(level.size.exponent) << 32,
        level.orders.map_or(0, |orders| u64::from(orders) + 1),
    ]
}

fn unpack([price, size, exponents, orders]: [u64; LEVEL_WORDS]) -> Level {
    let amount = |mantissa: u64, exponent: u32| Amount {
        mantissa: mantissa.cast_signed(),
        exponent: exponent.cast_signed(),
    };
    Level {
        price: amount(price, exponents as u32),
        size: amount(size, (exponents >> 32) as u32),
        orders: orders.checked_sub(1).map(|orders| orders as u32),
    }
}

/// A copy of the top of a book.
#[derive(Clone, Copy, Debug)]
pub struct Top {
    levels: [[Level; TOP_LEVELS]; 2],
    counts: [usize; 2],
    is_fresh: bool,
    time_ns: u64,
}

impl Top {
    /// Returns the best levels of a side, at most [`TOP_LEVELS`], best first.
    pub fn levels(&self, side: Side) -> &[Level] {
        let at = match side {
            Side::Bid => 0,
            Side::Offer => 1,
        };
        self.levels[at].get(..self.counts[at]).unwrap_or_default()
    }

    /// Returns the best level of a side.
    pub fn best(&self, side: Side) -> Option<&Level> {
        self.levels(side).first()
    }

    /// True if the book was fresh.
    pub const fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Returns the time of publication that the writer gave, in nanoseconds.
    pub const fn time_ns(&self) -> u64 {
        self.time_ns
    }
}

/// Reads books that another thread publishes. See the [module](self).
#[derive(Clone)]
pub struct BoardReader {
    entries: Arc<BoardEntries>,
}

impl std::fmt::Debug for BoardReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoardReader").finish_non_exhaustive()
    }
}

impl BoardReader {
    /// Returns a copy of the top of the book at `index`; `None` before it was published. Retries
    /// while the writer writes this book.
    pub fn read(&self, index: usize) -> Option<Top> {
        self.entries.get(index)?.read(copy)
    }

    /// Allocates the memory for an instrument's books, so that the writer need not.
    pub fn reserve(&self, instrument: Instrument) {
        for kind in BookKind::ALL {
            self.entries.get_or_add(index_of(instrument, kind));
        }
    }

    /// Returns a copy of the top of an instrument's book as its
    /// [`Recovery`](crate::recovery::Recovery::reader) published it last.
    pub fn book(&self, instrument: Instrument, kind: BookKind) -> Option<Top> {
        self.read(index_of(instrument, kind))
    }
}

/// Copies an entry. A torn copy is discarded by the caller, so no value in it is trusted here.
fn copy(words: SeqlockWords<'_, BOOK_WORDS>) -> Top {
    let state = words.get(STATE);
    let mut top = Top {
        levels: [[Level::NONE; TOP_LEVELS]; 2],
        counts: [0; 2],
        is_fresh: state & 1 != 0,
        time_ns: words.get(TIME),
    };
    for (number, levels) in top.levels.iter_mut().enumerate() {
        let order = words.get(ORDERS + number);
        let count = ((state >> len_shift(number)) as usize & 0xFF).min(TOP_LEVELS);
        for (position, level) in levels.iter_mut().enumerate().take(count) {
            let slot = (order >> (position * 4)) as usize % TOP_LEVELS;
            let at = level_at(number, slot);
            *level = unpack(std::array::from_fn(|offset| words.get(at + offset)));
        }
        top.counts[number] = count;
    }
    top
}

#[cfg(test)]
mod tests;
