//! Checks of a value: present, well-formed, and listed.

use super::{Validation, error_at};
use crate::dictionary::{FieldDef, FixFieldType};
use crate::digits::{ZEROS, are_digits, short_word};
use crate::error::{FixError, FixErrorKind};
use crate::reader::Field;

impl Validation<'_> {
    /// Checks the value of the field at `at`.
    #[inline]
    pub(super) fn check_value(&self, at: usize, field: &FieldDef) -> Result<(), FixError> {
        let Some(found) = self.message.field_at(at) else { return Ok(()) };
        if found.value.is_empty() {
            if self.checks.fields_have_values {
                return Err(error_at(self.message, FixErrorKind::EmptyValue, at));
            }
            return Ok(());
        }
        // Common dictionaries list longer values for character fields: a listed value is valid.
        if !is_well_written(field.field_type, &found) && field.description(found.value).is_none() {
            return Err(error_at(self.message, FixErrorKind::ValueFormat, at));
        }
        if self.checks.listed_values && !is_listed(field, found.value) {
            return Err(error_at(self.message, FixErrorKind::ValueRange, at));
        }
        Ok(())
    }
}

/// True if a value is well-formed for its type.
#[inline]
fn is_well_written(field_type: FixFieldType, found: &Field<'_>) -> bool {
    use FixFieldType as T;
    match field_type {
        T::Int => is_int(found.value),
        T::Length | T::NumInGroup | T::SeqNum | T::TagNum => is_digits(found.value),
        T::DayOfMonth => matches!(found.uint(), Ok(1..=31)),
        T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
            is_decimal(found.value)
        }
        T::Boolean => found.boolean().is_ok(),
        T::Char => found.value.len() == 1,
        T::UtcTimestamp => found.utc_timestamp().is_ok(),
        T::UtcTimeOnly => found.utc_time().is_ok(),
        T::UtcDateOnly | T::LocalMktDate => found.date().is_ok(),
        T::TzTimestamp => found.tz_timestamp().is_ok(),
        T::TzTimeOnly => found.tz_time().is_ok(),
        T::MonthYear => found.month_year().is_ok(),
        T::MultipleCharValue => found.values().all(|value| value.len() == 1),
        T::MultipleStringValue => found.values().all(|value| !value.is_empty()),
        _ => true,
    }
}

/// True for an optional minus and digits, of any length.
#[inline]
fn is_int(text: &[u8]) -> bool {
    is_digits(text.strip_prefix(b"-").unwrap_or(text))
}

/// True for an optional minus, digits, and at most one point, of any length.
#[inline]
fn is_decimal(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    if is_digits(text) {
        return true;
    }
    let (mut digits, mut points) = (0, 0);
    for byte in text {
        digits += usize::from(byte.is_ascii_digit());
        points += usize::from(*byte == b'.');
    }
    digits > 0 && points <= 1 && digits + points == text.len()
}

/// True for one or more digits. Up to eight digits are checked as one word.
#[inline]
fn is_digits(text: &[u8]) -> bool {
    match text.len() {
        0 => false,
        // The shift fills with zeros, which count as digits.
        len @ 1..=8 => are_digits((short_word(text) ^ ZEROS) << (64 - 8 * len)),
        _ => text.iter().all(u8::is_ascii_digit),
    }
}

/// True if a value, or each of several values, is listed.
#[inline]
fn is_listed(field: &FieldDef, value: &[u8]) -> bool {
    if field.is_open() {
        return true;
    }
    if field.field_type.is_multiple() {
        return value.split(|byte| *byte == b' ').all(|value| is_one_listed(field, value));
    }
    is_one_listed(field, value)
}

fn is_one_listed(field: &FieldDef, value: &[u8]) -> bool {
    match value {
        [byte] if byte.is_ascii() => field.single >> byte & 1 == 1,
        _ => field.description(value).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_length_are_told_from_everything_else() {
        for len in 0..=20 {
            let digits: Vec<u8> = b"0918273645".iter().copied().cycle().take(len).collect();
            assert_eq!(is_digits(&digits), len > 0);
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = digits.clone();
                    text[at] = byte;
                    assert_eq!(is_digits(&text), byte.is_ascii_digit(), "{text:?}");
                }
            }
        }
    }
}
