//! Values as text. Every function writes at a place and returns the place after: places stay in registers
//! where a writer behind a reference would not.

use crate::digits::{short_word, sum_of, triple};
use crate::raw::{Buffer, Place, Step};
use crate::reader::SOH;
use crate::value::{Decimal, LocalMktDate, Precision, UtcTime};

use super::TagText;

/// Writes one byte.
#[inline(always)]
pub(super) fn byte(out: &Buffer<'_>, place: Place, byte: u8) -> Place {
    out.put(place, u64::from(byte), Step::new(1, byte as u32))
}

/// Writes a delimiter, a tag and `=`.
#[inline(always)]
pub(super) fn tag(out: &Buffer<'_>, place: Place, tag: TagText) -> Place {
    if tag.long != 0 {
        long_tag(out, place, tag.long)
    } else {
        out.put(place, tag.text, tag.step())
    }
}

#[cold]
#[inline(never)]
fn long_tag(out: &Buffer<'_>, place: Place, tag: u32) -> Place {
    let place = byte(out, place, SOH);
    let place = number(out, place, u64::from(tag));
    byte(out, place, b'=')
}

/// Writes a delimiter, a tag, `=` and one byte.
#[inline(always)]
pub(super) fn char(out: &Buffer<'_>, place: Place, tag: TagText, value: u8) -> Place {
    if value == SOH {
        return Place::DELIMITER;
    }
    if tag.long != 0 || tag.len > 7 {
        let place = self::tag(out, place, tag);
        return byte(out, place, value);
    }
    let word = tag.text | u64::from(value) << (8 * tag.len);
    out.put(place, word, Step::new(tag.len + 1, tag.sum + u32::from(value)))
}

/// Writes bytes.
#[inline]
pub(super) fn bytes(out: &Buffer<'_>, mut place: Place, value: &[u8]) -> Place {
    let (words, rest) = value.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        place = out.put(place, word, Step::new(8, sum_of(word)));
    }
    if rest.is_empty() {
        return place;
    }
    let word = short_word(rest);
    out.put(place, word, Step::new(rest.len() as u32 & 7, sum_of(word)))
}

/// Writes text; none that is empty or holds a delimiter.
#[inline]
pub(super) fn text(out: &Buffer<'_>, mut place: Place, value: &[u8]) -> Place {
    let (words, rest) = value.as_chunks::<8>();
    let mut delimiters = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        delimiters |= delimiter_in(word);
        place = out.put(place, word, Step::new(8, sum_of(word)));
    }
    if !rest.is_empty() {
        let word = short_word(rest);
        delimiters |= delimiter_in(word);
        place = out.put(place, word, Step::new(rest.len() as u32 & 7, sum_of(word)));
    } else if words.is_empty() {
        return Place::EMPTY;
    }
    if delimiters == 0 { place } else { Place::DELIMITER }
}

/// Not 0 if one of the bytes is a delimiter.
#[inline(always)]
const fn delimiter_in(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (ONES * SOH as u64);
    other.wrapping_sub(ONES) & !other & (ONES << 7)
}

/// Writes a number below 1000 without leading zeros.
#[inline(always)]
fn first_triple(out: &Buffer<'_>, place: Place, number: u32) -> Place {
    let found = triple(number);
    let cut = 3 - u32::from(found.len);
    let step = Step::new(u32::from(found.len), u32::from(found.sum) - 0x30 * cut);
    out.put(place, u64::from(found.text >> (8 * cut)), step)
}

/// Writes a number below 1000 as three digits.
#[inline(always)]
fn next_triple(out: &Buffer<'_>, place: Place, number: u32) -> Place {
    let found = triple(number);
    out.put(place, u64::from(found.text), Step::new(3, u32::from(found.sum)))
}

/// Writes a number below 100 as two digits.
#[inline(always)]
pub(super) fn pair(out: &Buffer<'_>, place: Place, number: u32) -> Place {
    let found = triple(number % 100);
    out.put(place, u64::from(found.text >> 8), Step::new(2, u32::from(found.sum) - 0x30))
}

/// Writes a number.
#[inline(always)]
pub(super) fn number(out: &Buffer<'_>, place: Place, value: u64) -> Place {
    if value < 1000 {
        first_triple(out, place, value as u32)
    } else if value < 1_000_000 {
        let value = value as u32;
        let place = first_triple(out, place, value / 1000);
        next_triple(out, place, value % 1000)
    } else {
        long_number(out, place, value)
    }
}

/// Writes a number of seven and more digits.
#[inline(never)]
fn long_number(out: &Buffer<'_>, place: Place, value: u64) -> Place {
    if value < 1_000_000_000 {
        let value = value as u32;
        let place = first_triple(out, place, value / 1_000_000);
        let place = next_triple(out, place, value / 1000 % 1000);
        return next_triple(out, place, value % 1000);
    }
    let place = number(out, place, value / 1_000_000_000);
    padded(out, place, value % 1_000_000_000, 9)
}

/// Writes the last `len` digits of a number, with leading zeros.
#[inline]
fn padded(out: &Buffer<'_>, mut place: Place, value: u64, len: u32) -> Place {
    let mut left = len;
    while left >= 3 {
        left -= 3;
        place = next_triple(out, place, (value / 10_u64.pow(left) % 1000) as u32);
    }
    match left {
        2 => pair(out, place, (value % 100) as u32),
        1 => byte(out, place, b'0' + (value % 10) as u8),
        _ => place,
    }
}

/// Writes a decimal.
#[inline]
pub(super) fn decimal(out: &Buffer<'_>, mut place: Place, value: Decimal) -> Place {
    if value.mantissa < 0 {
        place = byte(out, place, b'-');
    }
    let digits = value.mantissa.unsigned_abs();
    match value.exponent {
        0 => number(out, place, digits),
        -1 => {
            let place = point(out, place, digits / 10);
            byte(out, place, b'0' + (digits % 10) as u8)
        }
        -2 => {
            let place = point(out, place, digits / 100);
            pair(out, place, (digits % 100) as u32)
        }
        -3 => {
            let place = point(out, place, digits / 1000);
            next_triple(out, place, (digits % 1000) as u32)
        }
        -4 => {
            let place = point(out, place, digits / 10_000);
            padded(out, place, digits % 10_000, 4)
        }
        exponent => long_decimal(out, place, digits, exponent),
    }
}

/// Writes a number and a point.
#[inline(always)]
fn point(out: &Buffer<'_>, place: Place, value: u64) -> Place {
    let place = number(out, place, value);
    byte(out, place, b'.')
}

/// Writes a decimal with many places, or with zeros before the point.
#[inline(never)]
fn long_decimal(out: &Buffer<'_>, mut place: Place, digits: u64, exponent: i8) -> Place {
    let places = u32::from(exponent.unsigned_abs());
    if exponent >= 0 {
        place = number(out, place, digits);
        let zeros = if digits == 0 { 0 } else { places };
        return (0..zeros).fold(place, |place, _| byte(out, place, b'0'));
    }
    if places < 20 {
        let power = 10_u64.saturating_pow(places);
        place = point(out, place, digits / power);
        return padded(out, place, digits % power, places);
    }
    place = point(out, place, 0);
    place = (20..places).fold(place, |place, _| byte(out, place, b'0'));
    padded(out, place, digits, 20)
}

/// Writes a day as `YYYYMMDD`.
#[inline(always)]
pub(super) fn day(out: &Buffer<'_>, place: Place, date: LocalMktDate) -> Place {
    let year = u32::from(date.year);
    let parts = [year / 100, year % 100, u32::from(date.month), u32::from(date.day)];
    let (mut word, mut sum) = (0, 0);
    for (at, part) in parts.into_iter().enumerate() {
        let found = triple(part);
        word |= u64::from(found.text >> 8) << (16 * at);
        sum += u32::from(found.sum) - 0x30;
    }
    out.put(place, word, Step::new(8, sum))
}

/// Writes a time of day as `HH:MM:SS` and a fraction.
#[inline(always)]
pub(super) fn time_of_day(
    out: &Buffer<'_>,
    place: Place,
    time: UtcTime,
    precision: Precision,
) -> Place {
    const COLON: u64 = b':' as u64;
    let (mut word, mut sum) = (COLON << 16 | COLON << 40, 2 * COLON as u32);
    for (at, part) in [time.hour, time.minute, time.second].into_iter().enumerate() {
        let found = triple(u32::from(part));
        word |= u64::from(found.text >> 8) << (24 * at);
        sum += u32::from(found.sum) - 0x30;
    }
    let place = out.put(place, word, Step::new(8, sum));
    if precision == Precision::Seconds { place } else { fraction(out, place, time, precision) }
}

/// Writes a point and a fraction of a second.
#[inline(never)]
fn fraction(out: &Buffer<'_>, place: Place, time: UtcTime, precision: Precision) -> Place {
    let places = match precision {
        Precision::Seconds => return place,
        Precision::Millis => 3,
        Precision::Micros => 6,
        Precision::Nanos => 9,
        Precision::Picos => 12,
    };
    let place = byte(out, place, b'.');
    padded(out, place, time.picos / 10_u64.pow(12 - places), places)
}
