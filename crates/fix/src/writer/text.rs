//! Values as text. Every function writes at a place and returns the place after: places stay in registers
//! where a writer behind a reference would not.

use crate::digits::{self, eight, leading_zero_bits, short_word, triple};
use crate::raw::{Pen, Place};
use crate::reader::SOH;
use crate::value::{
    Decimal, LocalMktDate, MonthYear, MonthYearDetail, Precision, UtcTime, UtcTimestamp,
};

use super::TagText;

/// The first number of nine digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Writes one byte.
#[inline(always)]
pub(super) fn byte(pen: Pen<'_>, place: Place, byte: u8) -> Place {
    pen.put(place, [(0, u64::from(byte))], 1)
}

/// Writes a delimiter, a tag and `=`.
#[inline(always)]
pub(super) fn tag(pen: Pen<'_>, place: Place, tag: TagText) -> Place {
    if tag.long != 0 {
        long_tag(pen, place, tag.long)
    } else {
        pen.put(place, [(0, tag.text)], tag.len)
    }
}

#[cold]
#[inline(never)]
fn long_tag(pen: Pen<'_>, place: Place, tag: u32) -> Place {
    let place = byte(pen, place, SOH);
    let place = number(pen, place, u64::from(tag));
    byte(pen, place, b'=')
}

/// Writes a delimiter, a tag, `=` and one byte.
#[inline(always)]
pub(super) fn char(pen: Pen<'_>, place: Place, tag: TagText, value: u8) -> Place {
    if value == SOH {
        return Place::DELIMITER;
    }
    if tag.long != 0 || tag.len > 7 {
        let place = self::tag(pen, place, tag);
        return byte(pen, place, value);
    }
    let word = tag.text | u64::from(value) << (8 * tag.len);
    pen.put(place, [(0, word)], tag.len + 1)
}

/// Writes bytes.
#[inline(always)]
pub(super) fn bytes(pen: Pen<'_>, place: Place, value: &[u8]) -> Place {
    copy(pen, place, value).0
}

/// Writes text; none that is empty or holds a delimiter.
#[inline(always)]
pub(super) fn text(pen: Pen<'_>, place: Place, value: &[u8]) -> Place {
    let (end, delimiters) = copy(pen, place, value);
    if value.is_empty() {
        Place::EMPTY
    } else if delimiters == 0 {
        end
    } else {
        Place::DELIMITER
    }
}

/// Writes bytes; returns the place after, and what is not 0 if one of them is a delimiter.
///
/// Words overlap rather than that bytes are shifted into place.
#[inline(always)]
fn copy(pen: Pen<'_>, place: Place, value: &[u8]) -> (Place, u64) {
    let len = value.len() as u32;
    if value.len() > 16 {
        return long_copy(pen, place, value);
    }
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        let delimiters = delimiter_in(first) | delimiter_in(last);
        return (pen.put(place, [(0, first), (len - 8, last)], len), delimiters);
    }
    let word = short_word(value);
    (pen.put(place, [(0, word)], len), delimiter_in(word))
}

/// The same for more than 16 bytes.
#[inline(never)]
fn long_copy(pen: Pen<'_>, mut place: Place, value: &[u8]) -> (Place, u64) {
    let (mut rest, mut delimiters) = (value, 0);
    while rest.len() > 16
        && let Some((word, after)) = rest.split_first_chunk::<8>()
    {
        let word = u64::from_le_bytes(*word);
        delimiters |= delimiter_in(word);
        place = pen.put(place, [(0, word)], 8);
        rest = after;
    }
    let (place, last) = copy(pen, place, rest);
    (place, delimiters | last)
}

/// Not 0 if one of the bytes is a delimiter.
#[inline(always)]
const fn delimiter_in(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (ONES * SOH as u64);
    other.wrapping_sub(ONES) & !other & (ONES << 7)
}

/// Writes a number below 100 as two digits.
#[inline(always)]
fn pair(pen: Pen<'_>, place: Place, number: u32) -> Place {
    pen.put(place, [(0, u64::from(digits::pair(number % 100)))], 2)
}

/// Writes a number below 1000 as three digits.
#[inline(always)]
fn next_triple(pen: Pen<'_>, place: Place, number: u32) -> Place {
    pen.put(place, [(0, u64::from(triple(number)))], 3)
}

/// Writes a number.
#[inline(always)]
pub(super) fn number(pen: Pen<'_>, place: Place, value: u64) -> Place {
    if value < EIGHT_DIGITS {
        let digits = eight(value as u32);
        let cut = leading_zero_bits(digits);
        pen.put(place, [(0, digits >> cut)], 8 - cut / 8)
    } else {
        long_number(pen, place, value)
    }
}

/// Writes a number of nine and more digits.
#[inline(never)]
fn long_number(pen: Pen<'_>, place: Place, value: u64) -> Place {
    let place = number(pen, place, value / EIGHT_DIGITS);
    pen.put(place, [(0, eight((value % EIGHT_DIGITS) as u32))], 8)
}

/// Writes the last `len` digits of a number, with leading zeros.
#[inline]
fn padded(pen: Pen<'_>, mut place: Place, value: u64, len: u32) -> Place {
    let mut left = len;
    while left >= 3 {
        left -= 3;
        place = next_triple(pen, place, (value / 10_u64.pow(left) % 1000) as u32);
    }
    match left {
        2 => pair(pen, place, (value % 100) as u32),
        1 => byte(pen, place, b'0' + (value % 10) as u8),
        _ => place,
    }
}

/// Writes a decimal.
#[inline(never)]
pub(super) fn decimal(pen: Pen<'_>, mut place: Place, value: Decimal) -> Place {
    if value.mantissa < 0 {
        place = byte(pen, place, b'-');
    }
    let number = value.mantissa.unsigned_abs();
    if number >= EIGHT_DIGITS || !(-7..=0).contains(&value.exponent) {
        return long_decimal(pen, place, number, value.exponent);
    }
    let places = u32::from(value.exponent.unsigned_abs());
    let digits = eight(number as u32);
    // One digit at least is before the point.
    let cut = leading_zero_bits(digits).min(8 * (7 - places));
    let (digits, len) = (digits >> cut, 8 - cut / 8);
    if places == 0 {
        return pen.put(place, [(0, digits)], len);
    }
    let whole = len - places;
    // The point is written over the first digit after it, and all these digits after the point.
    let rest = digits >> ((8 * whole) & 63) << 8 | u64::from(b'.');
    pen.put(place, [(0, digits), (whole, rest)], len + 1)
}

/// Writes a number and a point.
#[inline]
fn point(pen: Pen<'_>, place: Place, value: u64) -> Place {
    let place = number(pen, place, value);
    byte(pen, place, b'.')
}

/// Writes a decimal with many places, or with zeros before the point.
#[inline(never)]
fn long_decimal(pen: Pen<'_>, mut place: Place, digits: u64, exponent: i8) -> Place {
    let places = u32::from(exponent.unsigned_abs());
    if exponent >= 0 {
        place = number(pen, place, digits);
        let zeros = if digits == 0 { 0 } else { places };
        return (0..zeros).fold(place, |place, _| byte(pen, place, b'0'));
    }
    if places < 20 {
        let power = 10_u64.saturating_pow(places);
        place = point(pen, place, digits / power);
        return padded(pen, place, digits % power, places);
    }
    place = point(pen, place, 0);
    place = (20..places).fold(place, |place, _| byte(pen, place, b'0'));
    padded(pen, place, digits, 20)
}

/// Returns a day as `YYYYMMDD`.
#[inline(always)]
fn day_word(date: LocalMktDate) -> u64 {
    let year = u32::from(date.year);
    let parts = [year / 100, year % 100, u32::from(date.month), u32::from(date.day)];
    let [century, year, month, day] = parts.map(|part| u64::from(digits::pair(part)));
    century | year << 16 | month << 32 | day << 48
}

/// Returns a time of day as `HH:MM:SS`.
#[inline(always)]
fn time_word(time: UtcTime) -> u64 {
    const COLON: u64 = b':' as u64;
    let parts = [time.hour, time.minute, time.second];
    let [hour, minute, second] = parts.map(|part| u64::from(digits::pair(u32::from(part))));
    hour | COLON << 16 | minute << 24 | COLON << 40 | second << 48
}

/// Writes a day as `YYYYMMDD`.
#[inline(always)]
pub(super) fn day(pen: Pen<'_>, place: Place, date: LocalMktDate) -> Place {
    pen.put(place, [(0, day_word(date))], 8)
}

/// Writes a month, and a day or a week.
#[inline(never)]
pub(super) fn month_year(pen: Pen<'_>, mut place: Place, value: MonthYear) -> Place {
    for part in [value.year / 100, value.year % 100, u16::from(value.month)] {
        place = pair(pen, place, u32::from(part));
    }
    match value.detail {
        MonthYearDetail::Month => place,
        MonthYearDetail::Day(day) => pair(pen, place, u32::from(day)),
        MonthYearDetail::Week(week) => {
            let place = byte(pen, place, b'w');
            byte(pen, place, b'0' + week % 10)
        }
    }
}

/// Writes a time of day as `HH:MM:SS` and a fraction.
#[inline(always)]
pub(super) fn time_of_day(
    pen: Pen<'_>,
    place: Place,
    time: UtcTime,
    precision: Precision,
) -> Place {
    let place = pen.put(place, [(0, time_word(time))], 8);
    if precision == Precision::Seconds { place } else { fraction(pen, place, time, precision) }
}

/// Writes a day, `-` and a time of day with a fraction.
#[inline(always)]
pub(super) fn timestamp(
    pen: Pen<'_>,
    place: Place,
    stamp: UtcTimestamp,
    precision: Precision,
) -> Place {
    let UtcTimestamp { date, time } = stamp;
    let words = [(0, day_word(date)), (8, u64::from(b'-')), (9, time_word(time))];
    let place = pen.put(place, words, 17);
    if precision == Precision::Seconds { place } else { fraction(pen, place, time, precision) }
}

/// Writes a point and a fraction of a second.
#[inline(never)]
fn fraction(pen: Pen<'_>, place: Place, time: UtcTime, precision: Precision) -> Place {
    let places = match precision {
        Precision::Seconds => return place,
        Precision::Millis => 3,
        Precision::Micros => 6,
        Precision::Nanos => 9,
        Precision::Picos => 12,
    };
    let place = byte(pen, place, b'.');
    padded(pen, place, time.picos / 10_u64.pow(12 - places), places)
}
