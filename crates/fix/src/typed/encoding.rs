//! Encodes the members of a generated struct: one call per member, in the dictionary's order.

use super::fill::TypedFields;
use super::slots::{Fill, WordValue, fraction};
use crate::value::{FixDecimal, MonthYear, PackedTimestamp};
use crate::writer::{Part, Sheet, TagText, WriteState};

/// Writes members from their slots. Absent members write nothing.
#[derive(Debug)]
pub struct SlotWriter<'s, 'b, S> {
    slots: &'s S,
    sheet: Sheet<'b>,
    part: Part<'b>,
}

impl<'s, 'b, 'm, S: Fill<'m>> SlotWriter<'s, 'b, S> {
    /// Starts at the end of `written`.
    #[inline(always)]
    pub fn new(
        of: &'s impl TypedFields<'m, Slots = S>,
        sheet: Sheet<'b>,
        written: WriteState,
    ) -> Self {
        Self { slots: of.slots(), sheet, part: Part::new(sheet, written) }
    }

    /// Returns the end of what is written.
    #[inline(always)]
    pub const fn end(self) -> WriteState {
        self.part.written()
    }

    /// True if one of `count` texts from slot `first` on is present.
    #[inline(always)]
    pub fn has_texts(&self, first: usize, count: usize) -> bool {
        let has = |(word, mask)| self.slots.has_text(word, mask);
        words(first, count).into_iter().any(has)
    }

    /// True if one of `count` values from slot `first` on is present.
    #[inline(always)]
    pub fn has_values(&self, first: usize, count: usize) -> bool {
        let has = |(word, mask)| self.slots.has_value(word, mask);
        words(first, count).into_iter().any(has)
    }

    /// Returns a value.
    #[inline(always)]
    fn value<A: WordValue>(&self, slot: usize) -> Option<A> {
        self.slots.words(slot).map(A::from_words)
    }

    /// Writes `Y` or `N`.
    #[inline(always)]
    pub fn boolean(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value(slot) {
            self.part.boolean(tag, value);
        }
    }

    /// Writes one character.
    #[inline(always)]
    pub fn char(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value(slot) {
            self.part.char(tag, value);
        }
    }

    /// Writes data with its length field.
    #[inline(always)]
    pub fn data(&mut self, length: TagText, tag: TagText, slot: usize) {
        if let Some(value) = self.slots.text(slot) {
            self.part.data(length, tag, value.0);
        }
    }

    /// Writes a date.
    #[inline(always)]
    pub fn date(&mut self, tag: TagText, slot: usize) {
        if let Some((word, _)) = self.slots.words(slot) {
            self.part.date_of(tag, PackedTimestamp(word));
        }
    }

    /// Writes a decimal.
    #[inline(always)]
    pub fn decimal(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value::<FixDecimal>(slot) {
            self.part.decimal(tag, value);
        }
    }

    /// Writes an integer.
    #[inline(always)]
    pub fn int(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value(slot) {
            self.part.int(tag, value);
        }
    }

    /// Writes a MonthYear.
    #[inline(always)]
    pub fn month_year(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value::<MonthYear>(slot) {
            self.part.month_year(tag, value);
        }
    }

    /// Writes a text.
    #[inline(always)]
    pub fn text(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.slots.text(slot) {
            self.part.text(tag, value.0);
        }
    }

    /// Writes a length, count or sequence number.
    #[inline(always)]
    pub fn uint(&mut self, tag: TagText, slot: usize) {
        if let Some(value) = self.value(slot) {
            self.part.uint(tag, value);
        }
    }

    /// Writes a time of day.
    #[inline(always)]
    pub fn utc_time(&mut self, tag: TagText, slot: usize) {
        if let Some(words) = self.slots.words(slot) {
            self.part.time_of(tag, PackedTimestamp(words.0), fraction(words));
        }
    }

    /// Writes a timestamp.
    #[inline(always)]
    pub fn utc_timestamp(&mut self, tag: TagText, slot: usize) {
        if let Some(words) = self.slots.words(slot) {
            self.part.timestamp_of(tag, PackedTimestamp(words.0), fraction(words));
        }
    }

    /// Writes the number of entries of a group, then the entries; a group without entries is
    /// omitted.
    #[inline(always)]
    pub fn group<E: TypedFields<'m>>(&mut self, tag: TagText, entries: &[E]) {
        if !entries.is_empty() {
            self.required_group(tag, entries);
        }
    }

    /// Writes the number of entries of a group, which may be 0, then the entries.
    #[inline(always)]
    pub fn required_group<E: TypedFields<'m>>(&mut self, tag: TagText, entries: &[E]) {
        self.part.uint(tag, entries.len() as u64);
        for entry in entries {
            let written = entry.encode_part(self.sheet, self.part.written());
            self.part = Part::new(self.sheet, written);
        }
    }
}

/// Returns the one or two words that contain up to 64 slots, each with the bits of these slots.
#[inline(always)]
const fn words(first: usize, count: usize) -> [(usize, u64); 2] {
    let bits = if count < 64 { (1 << count) - 1 } else { u64::MAX };
    let (word, shift) = (first / 64, first % 64);
    let above = if shift == 0 { 0 } else { bits >> (64 - shift) };
    [(word, bits << shift), (word + 1, above)]
}
