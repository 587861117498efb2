//! Sources of the values of members.

use super::FillError;
use super::number;
use tickwire_fast::{Decimal, FieldValue, Int, Record, Scaled, Slot, Text, UInt};

/// Source of an integer.
#[derive(Debug)]
pub(super) struct IntegerSource {
    pub(super) member: &'static str,
    pub(super) from: NumberFrom,
}

#[derive(Debug)]
pub(super) enum NumberFrom {
    /// A constant of the template, or 0 if the template has no such field.
    Fixed(i128),
    Signed(Slot<Int>),
    Unsigned(Slot<UInt>),
    /// A rare form, such as an optional constant, which is read by index through the message's view.
    View(usize),
}

impl IntegerSource {
    /// Returns the number; 0 if the field is absent.
    #[inline(always)]
    pub(super) fn read<T>(&self, record: &Record<'_>) -> Result<T, FillError>
    where
        T: TryFrom<u64> + TryFrom<i64> + TryFrom<i128>,
    {
        let value = match &self.from {
            NumberFrom::Unsigned(slot) => T::try_from(record.read(slot).unwrap_or(0)).ok(),
            NumberFrom::Signed(slot) => T::try_from(record.read(slot).unwrap_or(0)).ok(),
            NumberFrom::Fixed(value) => T::try_from(*value).ok(),
            NumberFrom::View(index) => T::try_from(number_in(record, *index)).ok(),
        };
        value.ok_or(FillError::Range { member: self.member })
    }
}

/// Source of a floating-point number.
#[derive(Debug)]
pub(super) enum PriceSource {
    Fixed(Decimal),
    Scaled(Slot<Scaled>),
    View(usize),
}

impl PriceSource {
    /// Returns the nearest floating-point number; 0 if the field is absent.
    #[inline(always)]
    pub(super) fn read(&self, record: &Record<'_>) -> f64 {
        let decimal = match self {
            Self::Scaled(slot) => record.read(slot),
            Self::Fixed(decimal) => Some(*decimal),
            Self::View(index) => decimal_in(record, *index),
        };
        decimal.map_or(0.0, number::nearest)
    }
}

/// Source of a string.
#[derive(Debug)]
pub(super) struct StringSource {
    pub(super) member: &'static str,
    pub(super) from: WordsFrom,
}

#[derive(Debug)]
pub(super) enum WordsFrom {
    Fixed(Box<str>),
    Slot(Slot<Text>),
    View(usize),
}

impl StringSource {
    /// Sets `text` to the string, or to the empty string if the field is absent. An equal string is left unchanged,
    /// because most strings repeat those of the previous message.
    #[inline(always)]
    pub(super) fn read_into(
        &self,
        record: &Record<'_>,
        text: &mut String,
    ) -> Result<(), FillError> {
        let bytes: &[u8] = match &self.from {
            WordsFrom::Slot(slot) => record.read(slot).unwrap_or_default(),
            WordsFrom::Fixed(fixed) => fixed.as_bytes(),
            WordsFrom::View(index) => bytes_in(record, *index),
        };
        if is_same(text.as_bytes(), bytes) {
            return Ok(());
        }
        self.replace(text, bytes)
    }

    #[inline(never)]
    fn replace(&self, text: &mut String, bytes: &[u8]) -> Result<(), FillError> {
        text.clear();
        // Most strings that change between messages have one ASCII character.
        if let [byte @ 1..0x80] = bytes {
            text.push(char::from(*byte));
            return Ok(());
        }
        let refused = FillError::Text { member: self.member };
        let valid = std::str::from_utf8(bytes).map_err(|_| refused)?;
        if bytes.contains(&0) {
            return Err(refused);
        }
        text.push_str(valid);
        Ok(())
    }
}

#[cold]
fn number_in(record: &Record<'_>, index: usize) -> i128 {
    match record.value(index) {
        FieldValue::UInt(value) => value.into(),
        FieldValue::Int(value) => value.into(),
        _ => 0,
    }
}

#[cold]
fn decimal_in(record: &Record<'_>, index: usize) -> Option<Decimal> {
    match record.value(index) {
        FieldValue::Decimal(decimal) => Some(decimal),
        _ => None,
    }
}

#[cold]
fn bytes_in<'m>(record: &Record<'m>, index: usize) -> &'m [u8] {
    match record.value(index) {
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => bytes,
        _ => &[],
    }
}

/// Compares strings. Avoids a function call for strings of at most one byte, which are the most frequent.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([a], [b]) => a == b,
        _ => a == b,
    }
}
