//! Destination of decoded values: separates program execution from storage.

use crate::dictionary::{DictionaryEntries, INLINE_MAX, Word};
use crate::error::FastErrorKind;
use crate::message::{MessageStore, pair_word};
use crate::program::{Op, SegmentLayout};

/// A step of the engine, for sinks that [trace](RecordSink::TRACE).
pub(crate) enum TraceStep<'o> {
    /// A presence map was read from `start` on; `field` is its group or sequence, `None` for a
    /// message.
    Map { start: usize, field: Option<u32> },
    /// The template is known. Its id was read from `start` on, if it was in the stream.
    Template { start: usize, template: u32, reset: bool },
    /// An operation is about to execute.
    Before(&'o Op),
    /// The operation has executed; `exponent` and `count` are the results of exponents and lengths
    /// for the operations after them.
    After { op: &'o Op, exponent: i32, count: Option<u64> },
}

/// Receives values in wire order. `base` is the record being filled, as returned by
/// [`begin_message`](RecordSink::begin_message) and [`begin_sequence`](RecordSink::begin_sequence).
pub(crate) trait RecordSink {
    /// True if the engine reports each step; if false, the code is compiled without reports.
    const TRACE: bool = false;
    /// The words that records lie in. A sink that does not trace has some: runs are decoded
    /// straight into them.
    fn words(&mut self) -> &mut [Word] {
        &mut []
    }
    /// A step of the engine; `position` is its current position.
    fn trace(&mut self, _step: TraceStep<'_>, _position: usize, _dictionary: &DictionaryEntries) {}
    /// A message or dynamic reference of this segment begins; returns the base of its record.
    fn begin_message(&mut self, segment: &SegmentLayout) -> Result<usize, FastErrorKind>;
    fn end_message(&mut self) {}
    fn integer(&mut self, base: usize, op: &Op, value: u64);
    fn decimal(&mut self, base: usize, op: &Op, mantissa: i64, exponent: i32);
    /// A string of at most [`INLINE_MAX`] bytes, in the form of a word.
    fn short_text(&mut self, base: usize, op: &Op, word: Word);
    fn text(&mut self, base: usize, op: &Op, bytes: &[u8]) -> Result<(), FastErrorKind>;
    fn constant(&mut self, _base: usize, _op: &Op) {}
    fn absent(&mut self, _op: &Op) {}
    /// All fields of a presence word are decoded.
    fn presence(&mut self, at: usize, word: u64);
    fn begin_group(&mut self, _op: &Op) {}
    fn end_group(&mut self, _op: &Op) {}
    /// Returns the base of the first entry and the distance from entry to entry.
    fn begin_sequence(
        &mut self,
        base: usize,
        op: &Op,
        count: u32,
        entry: &SegmentLayout,
    ) -> Result<(usize, usize), FastErrorKind>;
    fn begin_entry(&mut self, _op: &Op, _index: u32) {}
    fn end_entry(&mut self, _op: &Op) {}
    fn end_sequence(&mut self, _op: &Op) {}
    /// A dynamic reference of the record at `base` was decoded to the record at `place`.
    fn dynamic(&mut self, base: usize, op: &Op, template: u32, place: usize);
}

/// Stores values in the words of a [`Message`](crate::message::Message).
pub(crate) struct FlatSink<'m> {
    pub(crate) store: &'m mut MessageStore,
    pub(crate) bytes_max: usize,
}

impl RecordSink for FlatSink<'_> {
    #[inline]
    fn words(&mut self) -> &mut [Word] {
        &mut self.store.words
    }

    fn begin_message(&mut self, segment: &SegmentLayout) -> Result<usize, FastErrorKind> {
        self.store.reserve(segment.record_words as usize, self.bytes_max)
    }

    #[inline]
    fn integer(&mut self, base: usize, op: &Op, value: u64) {
        self.store.words[base + op.slot as usize] = value.to_le_bytes();
    }

    #[inline]
    fn decimal(&mut self, base: usize, op: &Op, mantissa: i64, exponent: i32) {
        let at = base + op.slot as usize;
        self.store.words[at] = i64::from(exponent).to_le_bytes();
        self.store.words[at + 1] = mantissa.to_le_bytes();
    }

    #[inline]
    fn short_text(&mut self, base: usize, op: &Op, word: Word) {
        debug_assert!(usize::from(word[7]) <= INLINE_MAX);
        self.store.words[base + op.slot as usize] = word;
    }

    fn text(&mut self, base: usize, op: &Op, bytes: &[u8]) -> Result<(), FastErrorKind> {
        if op.discard {
            return Ok(());
        }
        self.store.set_bytes(base + op.slot as usize, bytes, self.bytes_max)
    }

    #[inline]
    fn presence(&mut self, at: usize, word: u64) {
        self.store.words[at] = word.to_le_bytes();
    }

    #[inline]
    fn begin_sequence(
        &mut self,
        base: usize,
        op: &Op,
        count: u32,
        entry: &SegmentLayout,
    ) -> Result<(usize, usize), FastErrorKind> {
        let words = entry.record_words as usize;
        if op.discard {
            // Unwanted entries are decoded over each other, after the words that are kept.
            let first = self.store.reserve(words, self.bytes_max)?;
            self.store.used = first;
            return Ok((first, 0));
        }
        let total = words.checked_mul(count as usize).ok_or(FastErrorKind::MessageTooLarge)?;
        let first = self.store.reserve(total, self.bytes_max)?;
        self.store.words[base + op.slot as usize] = pair_word(count, first as u32);
        Ok((first, words))
    }

    fn dynamic(&mut self, base: usize, op: &Op, template: u32, place: usize) {
        self.store.words[base + op.slot as usize] = pair_word(template, place as u32);
    }
}
