//! The storage of a struct's fields: texts as references into the message, all other values in two
//! words.

use super::fill::{self, FillStop, Numbered};
use super::layout::Layout;
use super::shapes::MessageShape;
use super::stamped::precision;
use super::{FixText, TimeWithPrecision};
use crate::raw::SlotColumn;
use crate::reader::{Columns, FixMessage};
use crate::value::{
    FixDecimal, LocalMktDate, Minute, MonthYear, MonthYearDetail, PackedTimestamp, Precision,
    UtcTime, UtcTimestamp, timestamp_words,
};

use crate::writer::Fraction;

/// A value other than text, in two words.
pub(super) type SlotWords = (u64, u64);

/// The fields of a struct except groups, in slots. An absent field costs one bit.
///
/// `TEXTS` and `VALUES` are the numbers of slots; `TEXT_WORDS` and `VALUE_WORDS` are the numbers of
/// words in their bitmaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots<
    'm,
    const TEXTS: usize,
    const TEXT_WORDS: usize,
    const VALUES: usize,
    const VALUE_WORDS: usize,
> {
    texts: SlotColumn<&'m [u8], TEXTS, TEXT_WORDS>,
    values: SlotColumn<SlotWords, VALUES, VALUE_WORDS>,
}

/// The slots of any struct, for filling.
pub trait Fill<'m> {
    /// Fills the slots of a struct that begins at `start` from the field at `at` on, until the end
    /// or a group.
    fn fill(
        &mut self,
        layout: &'static Layout,
        columns: Columns<'m, '_>,
        numbered: &mut Numbered,
        start: usize,
        at: usize,
    ) -> FillStop;

    /// Fills the slots of a struct that begins at `start`. Returns true if it has this shape and
    /// all values could be parsed.
    fn fill_alike(
        &mut self,
        shape: &mut MessageShape,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> bool;

    /// Returns a bitmap of the present texts.
    fn texts(&self) -> &[u64];

    /// Returns a bitmap of the present values.
    fn values(&self) -> &[u64];

    /// Returns a text.
    fn text(&self, slot: usize) -> Option<FixText<'m>>;

    /// Returns the words of a value.
    fn words(&self, slot: usize) -> Option<SlotWords>;

    /// Sets or removes a text.
    fn set_text(&mut self, slot: usize, text: Option<FixText<'m>>);

    /// Sets or removes the words of a value.
    fn set_words(&mut self, slot: usize, words: Option<SlotWords>);

    /// True if `mask` has a bit of a present text; bit n stands for slot `64 * word + n`.
    fn has_text(&self, word: usize, mask: u64) -> bool;

    /// True if `mask` has a bit of a present value; bit n stands for slot `64 * word + n`.
    fn has_value(&self, word: usize, mask: u64) -> bool;

    /// Removes all fields.
    fn clear(&mut self);
}

impl<'m, const T: usize, const TW: usize, const V: usize, const VW: usize> Fill<'m>
    for Slots<'m, T, TW, V, VW>
{
    #[inline(always)]
    fn fill(
        &mut self,
        layout: &'static Layout,
        columns: Columns<'m, '_>,
        numbered: &mut Numbered,
        start: usize,
        at: usize,
    ) -> FillStop {
        fill::fill((&mut self.texts, &mut self.values), layout, columns, numbered, start, at)
    }

    #[inline(always)]
    fn fill_alike(
        &mut self,
        shape: &mut MessageShape,
        message: &FixMessage<'m, '_>,
        start: usize,
    ) -> bool {
        shape.fill(&mut self.texts, &mut self.values, message, start).is_some()
    }

    #[inline(always)]
    fn texts(&self) -> &[u64] {
        self.texts.present()
    }

    #[inline(always)]
    fn values(&self) -> &[u64] {
        self.values.present()
    }

    #[inline(always)]
    fn text(&self, slot: usize) -> Option<FixText<'m>> {
        self.texts.at(slot).map(FixText)
    }

    #[inline(always)]
    fn words(&self, slot: usize) -> Option<SlotWords> {
        self.values.at(slot)
    }

    #[inline(always)]
    fn set_text(&mut self, slot: usize, text: Option<FixText<'m>>) {
        match text {
            Some(text) => self.texts.set(slot, text.0),
            None => self.texts.remove(slot),
        }
    }

    #[inline(always)]
    fn set_words(&mut self, slot: usize, words: Option<SlotWords>) {
        match words {
            Some(words) => self.values.set(slot, words),
            None => self.values.remove(slot),
        }
    }

    #[inline(always)]
    fn has_text(&self, word: usize, mask: u64) -> bool {
        self.texts.has_any(word, mask)
    }

    #[inline(always)]
    fn has_value(&self, word: usize, mask: u64) -> bool {
        self.values.has_any(word, mask)
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.texts.clear();
        self.values.clear();
    }
}

/// A value that fits two words.
pub trait WordValue: Copy {
    /// Returns the words.
    fn to_words(self) -> (u64, u64);
    /// Returns the value from its words.
    fn from_words(words: (u64, u64)) -> Self;
}

impl<'m, const T: usize, const TW: usize, const V: usize, const VW: usize> Slots<'m, T, TW, V, VW> {
    /// Creates empty slots.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { texts: SlotColumn::new(), values: SlotColumn::new() }
    }
}

impl<const T: usize, const TW: usize, const V: usize, const VW: usize> Default
    for Slots<'_, T, TW, V, VW>
{
    fn default() -> Self {
        Self::new()
    }
}

impl WordValue for bool {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        (u64::from(self), 0)
    }

    #[inline(always)]
    fn from_words((word, _): SlotWords) -> Self {
        word != 0
    }
}

impl WordValue for u8 {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        (u64::from(self), 0)
    }

    #[inline(always)]
    fn from_words((word, _): SlotWords) -> Self {
        word as u8
    }
}

impl WordValue for u64 {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        (self, 0)
    }

    #[inline(always)]
    fn from_words((word, _): SlotWords) -> Self {
        word
    }
}

impl WordValue for i64 {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        (self as u64, 0)
    }

    #[inline(always)]
    fn from_words((word, _): SlotWords) -> Self {
        word as Self
    }
}

impl WordValue for FixDecimal {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        self.words()
    }

    #[inline(always)]
    fn from_words(words: SlotWords) -> Self {
        Self::of_words(words)
    }
}

impl WordValue for LocalMktDate {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        (PackedTimestamp::of_date(self).0, 0)
    }

    #[inline(always)]
    fn from_words((word, _): SlotWords) -> Self {
        PackedTimestamp(word).date()
    }
}

impl WordValue for TimeWithPrecision<UtcTime> {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        let word = PackedTimestamp::of_time(self.value).0 | precision_word(self.precision);
        (word, self.value.picos)
    }

    #[inline(always)]
    fn from_words((word, picos): SlotWords) -> Self {
        Self::new(PackedTimestamp(word).time(picos), word_precision(word))
    }
}

impl WordValue for TimeWithPrecision<UtcTimestamp> {
    #[inline(always)]
    fn to_words(self) -> SlotWords {
        let UtcTimestamp { date, time } = self.value;
        let moment = PackedTimestamp::of_date(date).and(PackedTimestamp::of_time(time));
        (moment.0 | precision_word(self.precision), time.picos)
    }

    #[inline(always)]
    fn from_words((word, picos): SlotWords) -> Self {
        let (date, time) = (PackedTimestamp(word).date(), PackedTimestamp(word).time(picos));
        Self::new(UtcTimestamp { date, time }, word_precision(word))
    }
}

impl WordValue for MonthYear {
    fn to_words(self) -> SlotWords {
        let (kind, number) = match self.detail {
            MonthYearDetail::Month => (0, 0),
            MonthYearDetail::Day(day) => (1, day),
            MonthYearDetail::Week(week) => (2, week),
        };
        (u64::from_le_bytes([0, 0, 0, 0, 0, self.month, kind, number]), u64::from(self.year))
    }

    fn from_words((word, year): SlotWords) -> Self {
        let [.., month, kind, number] = word.to_le_bytes();
        let detail = match kind {
            0 => MonthYearDetail::Month,
            1 => MonthYearDetail::Day(number),
            _ => MonthYearDetail::Week(number),
        };
        Self { year: year as u16, month, detail }
    }
}

/// Returns a precision in the spare byte of a [`PackedTimestamp`].
#[inline(always)]
const fn precision_word(precision: Precision) -> u64 {
    (precision as u64) << PackedTimestamp::SPARE
}

#[inline(always)]
const fn word_precision(word: u64) -> Precision {
    match (word >> PackedTimestamp::SPARE) as u8 {
        0 => Precision::Seconds,
        1 => Precision::Millis,
        2 => Precision::Micros,
        3 => Precision::Nanos,
        _ => Precision::Picos,
    }
}

/// Returns the fraction of a stored time.
#[inline(always)]
pub(super) const fn fraction((word, picos): SlotWords) -> Fraction {
    Fraction { picos, triples: (word >> PackedTimestamp::SPARE) as u8 }
}

/// Parses a UTCTimestamp to the words of [`WordValue::to_words`].
#[inline(always)]
pub(super) fn timestamp(text: &[u8]) -> Option<SlotWords> {
    let (word, picos) = timestamp_words(text)?;
    Some((word | timestamp_precision(text), picos))
}

/// Does the same as `timestamp`, faster if most timestamps are in the same minute as the previous
/// one.
#[inline(always)]
pub(super) fn timestamp_near(minute: &mut Minute, text: &[u8]) -> Option<SlotWords> {
    let (word, picos) = minute.read(text)?;
    Some((word | timestamp_precision(text), picos))
}

/// Returns the precision of a UTCTimestamp in the form of [`WordValue::to_words`].
#[inline(always)]
fn timestamp_precision(text: &[u8]) -> u64 {
    if text.len() == 17 { 0 } else { precision_word(precision(text.len(), 17)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Field;
    use crate::tag::Tag;
    use crate::typed::Multiple;
    use crate::typed::kept::SlotValue;
    use std::fmt::Debug;

    fn comes_back<A: WordValue + PartialEq + Debug>(value: A) {
        let mut slots = Slots::<'_, 0, 0, 1, 1>::new();
        slots.set_words(0, Some(value.to_words()));
        assert_eq!(slots.words(0).map(A::from_words), Some(value));
        slots.set_words(0, None);
        assert_eq!(slots.words(0), None);
    }

    #[test]
    fn text_of_several_values_comes_back_value_by_value() {
        let mut slots = Slots::<'_, 1, 1, 0, 0>::new();
        assert!(slots.text(0).is_none());
        slots.set_text(0, Some(Multiple::<FixText<'_>>::new(FixText(b"G 1 x")).into_form()));
        let several = Multiple::<FixText<'_>>::from_form(slots.text(0).expect("given"));
        let values: Vec<FixText<'_>> = several.iter().collect();
        assert_eq!(values, [FixText(b"G"), FixText(b"1"), FixText(b"x")]);
    }

    #[test]
    fn every_value_comes_back() {
        [true, false].into_iter().for_each(comes_back);
        [0, 1, u8::MAX].into_iter().for_each(comes_back);
        [0, u64::MAX].into_iter().for_each(comes_back);
        [i64::MIN, -1, 0, i64::MAX].into_iter().for_each(comes_back);
        for exponent in [i8::MIN, -3, 0, i8::MAX] {
            comes_back(FixDecimal::new(i64::MIN, exponent));
            comes_back(FixDecimal::new(298_075, exponent));
            comes_back(FixDecimal::from_digits(true, 0, exponent).expect("few digits"));
            comes_back(
                FixDecimal::from_digits(true, FixDecimal::DIGITS_MAX, exponent).expect("fits"),
            );
        }
        for text in ["20260105-11:20:43", "99991231-23:59:60.123456789012", "00000229-00:00:00.5"] {
            let field = Field::new(Tag(52), text.as_bytes());
            let stamp = TimeWithPrecision::<UtcTimestamp>::decode(&field).expect(text);
            assert_eq!(timestamp(text.as_bytes()), Some(stamp.to_words()));
            comes_back(TimeWithPrecision::<UtcTimestamp>::decode(&field).expect(text));
            comes_back(Field::new(Tag(64), &text.as_bytes()[..8]).date().expect(text));
            comes_back(
                TimeWithPrecision::<UtcTime>::decode(&Field::new(Tag(1), &text.as_bytes()[9..]))
                    .expect(text),
            );
        }
        for text in ["202406", "20240630", "999912w5"] {
            comes_back(Field::new(Tag(200), text.as_bytes()).month_year().expect(text));
        }
    }
}
