//! Values as text. Every function writes at a place and returns the place after it: places stay in
//! registers, while a writer behind a reference would not.

use crate::digits::{self, ZEROS, eight, short, short_word, triple};
use crate::raw::{BufferOffset, Pen, delimiters_in};
use crate::reader::SOH;
use crate::value::{FixDecimal, MonthYear, MonthYearDetail, PackedTimestamp, Precision};

use super::TagText;

/// The first number of seven digits.
const SIX_DIGITS: u64 = 1_000_000;
/// The first number of nine digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// The first number of ten digits.
const NINE_DIGITS: u64 = 1_000_000_000;

/// Mark of a delimiter in a value; the bits of [`delimiters_in`] are in this half too.
const DELIMITER: u64 = 1;
/// Mark of an empty text.
pub(super) const EMPTY: u64 = 1 << 32;

/// Returns the mark of a delimiter. Cold: keeps rare code out of line.
#[cold]
#[inline(never)]
pub(super) fn delimiter() -> u64 {
    DELIMITER
}

/// Writes one byte.
#[inline(always)]
pub(super) fn byte(pen: Pen<'_>, place: BufferOffset, byte: u8) -> BufferOffset {
    pen.put(place, [(0, u64::from(byte))], 1)
}

/// Writes a delimiter, a tag and `=`.
#[inline(always)]
pub(super) fn tag(pen: Pen<'_>, place: BufferOffset, tag: TagText) -> BufferOffset {
    if tag.long != 0 {
        long_tag(pen, place, tag.long)
    } else {
        pen.put(place, [(0, tag.text)], tag.len as usize)
    }
}

/// Writes a delimiter, a tag, `=` and words as [`Pen::put`], at offsets of at most 16 bytes after
/// them and at most 23 bytes long.
#[inline(always)]
fn field<const N: usize>(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    words: [(usize, u64); N],
    step: usize,
) -> BufferOffset {
    if tag.long != 0 {
        let place = long_tag(pen, place, tag.long);
        return pen.put(place, words, step);
    }
    let len = tag.len as usize;
    // Both words are written or neither: the second has the same space as the first.
    let _ = pen.put(place, [(0, tag.text)], 0);
    pen.put(place, words.map(|(offset, word)| (len + offset, word)), len + step)
}

#[cold]
#[inline(never)]
fn long_tag(pen: Pen<'_>, place: BufferOffset, tag: u32) -> BufferOffset {
    let place = byte(pen, place, SOH);
    let place = digits_of(pen, place, u64::from(tag));
    byte(pen, place, b'=')
}

/// Writes a delimiter, a tag, `=` and one byte.
#[inline(always)]
pub(super) fn char(pen: Pen<'_>, place: BufferOffset, tag: TagText, value: u8) -> BufferOffset {
    field(pen, place, tag, [(0, u64::from(value))], 1)
}

/// Writes a delimiter, a tag, `=` and bytes. Returns the place after them, and marks if they are
/// empty or contain a delimiter.
///
/// The first and the last word overlap, which avoids shifting bytes into place.
#[inline(always)]
pub(super) fn text(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    value: &[u8],
) -> (BufferOffset, u64) {
    let len = value.len();
    if len < 8 {
        return short_text(pen, place, tag, value);
    }
    if let (Some(first), Some(last), ..=16) = (value.first_chunk(), value.last_chunk(), len) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        let place = field(pen, place, tag, [(0, first), ((len - 8) & 15, last)], len);
        return (place, delimiters_in(first, last));
    }
    long_text(pen, self::tag(pen, place, tag), value)
}

/// Writes a delimiter, a tag, `=` and fewer than eight bytes.
#[inline(always)]
fn short_text(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    value: &[u8],
) -> (BufferOffset, u64) {
    let len = value.len();
    if let (Some(first), Some(last)) = (value.first_chunk::<4>(), value.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        let (first, last) = (u64::from(first), u64::from(last));
        let place = field(pen, place, tag, [(0, first), ((len - 4) & 7, last)], len);
        return (place, delimiters_in(first | last << 32, 0));
    }
    let (word, marks) = match value {
        [] => (0, EMPTY),
        value => (short_word(value), 0),
    };
    (field(pen, place, tag, [(0, word)], len), delimiters_in(word, 0) | marks)
}

/// Writes more than 16 bytes.
#[cold]
#[inline(never)]
fn long_text(pen: Pen<'_>, mut place: BufferOffset, value: &[u8]) -> (BufferOffset, u64) {
    let (mut rest, mut delimiters) = (value, 0);
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        delimiters |= delimiters_in(word, 0);
        place = pen.put(place, [(0, word)], 8);
        rest = after;
    }
    let word = short_word(rest);
    (pen.put(place, [(0, word)], rest.len()), delimiters | delimiters_in(word, 0))
}

/// Writes a number below 100 as two digits.
#[inline(always)]
fn pair(pen: Pen<'_>, place: BufferOffset, number: u32) -> BufferOffset {
    pen.put(place, [(0, u64::from(digits::pair(number % 100)))], 2)
}

/// Writes a number below 1000 as three digits.
#[inline(always)]
fn next_triple(pen: Pen<'_>, place: BufferOffset, number: u32) -> BufferOffset {
    pen.put(place, [(0, u64::from(triple(number)))], 3)
}

/// Writes a delimiter, a tag, `=` and a number.
#[inline(always)]
pub(super) fn number(pen: Pen<'_>, place: BufferOffset, tag: TagText, value: u64) -> BufferOffset {
    if value < 1000 {
        let (digits, len) = short(value as u32);
        return field(pen, place, tag, [(0, digits)], len);
    }
    if value < SIX_DIGITS {
        let (words, len) = thousands(value as u32);
        return field(pen, place, tag, words, len);
    }
    if value < NINE_DIGITS {
        let (words, len) = millions(value as u32);
        return field(pen, place, tag, words, len);
    }
    long_number(pen, self::tag(pen, place, tag), value)
}

/// Returns a number from 1000 to 999,999 as words for [`Pen::put`], and its length: the last three
/// digits follow the leading ones.
#[inline(always)]
fn thousands(value: u32) -> ([(usize, u64); 2], usize) {
    let (high, len) = short(value / 1000);
    ([(0, high), (len, u64::from(triple(value % 1000)))], len + 3)
}

/// As `thousands`, for a number from 1,000,000 to 999,999,999.
#[inline(always)]
fn millions(value: u32) -> ([(usize, u64); 2], usize) {
    let (high, len) = short(value / 1_000_000);
    let [middle, low] = [value / 1000 % 1000, value % 1000].map(|part| u64::from(triple(part)));
    ([(0, high), (len, middle | low << 24)], len + 6)
}

/// Writes a number.
#[inline]
pub(super) fn digits_of(pen: Pen<'_>, place: BufferOffset, value: u64) -> BufferOffset {
    if value < 1000 {
        let (digits, len) = short(value as u32);
        return pen.put(place, [(0, digits)], len);
    }
    if value < NINE_DIGITS {
        let below = value < SIX_DIGITS;
        let (words, len) = if below { thousands(value as u32) } else { millions(value as u32) };
        return pen.put(place, words, len);
    }
    long_number(pen, place, value)
}

/// Writes a number of nine or more digits.
#[inline(never)]
fn long_number(pen: Pen<'_>, place: BufferOffset, value: u64) -> BufferOffset {
    let place = digits_of(pen, place, value / EIGHT_DIGITS);
    pen.put(place, [(0, eight((value % EIGHT_DIGITS) as u32))], 8)
}

/// Writes the last `len` digits of a number, with leading zeros.
#[inline]
fn padded(pen: Pen<'_>, mut place: BufferOffset, value: u64, len: u32) -> BufferOffset {
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

/// Writes a delimiter, a tag, `=` and a decimal.
#[inline(always)]
pub(super) fn decimal(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    value: FixDecimal,
) -> BufferOffset {
    // Most quantities have this form.
    if let Some(number) = value.small() {
        let (digits, len) = short(number);
        return field(pen, place, tag, [(0, digits)], len);
    }
    any_decimal(pen, self::tag(pen, place, tag), value)
}

/// Writes a decimal.
#[inline(never)]
fn any_decimal(pen: Pen<'_>, place: BufferOffset, value: FixDecimal) -> BufferOffset {
    // Most prices have this form.
    if let Some((number, places)) = value.pointed()
        && number < EIGHT_DIGITS
    {
        return pointed(pen, place, number as u32, places);
    }
    other_decimal(pen, place, value)
}

/// Writes a number below 100,000,000 with a point before its last one to seven digits.
#[inline(always)]
fn pointed(pen: Pen<'_>, place: BufferOffset, number: u32, places: u32) -> BufferOffset {
    let digits = eight(number);
    // Bit offset of the digit before the point, which is written even if it is 0.
    let whole = (56 - 8 * places) & 56;
    let cut = ((digits ^ ZEROS) | 1 << whole).trailing_zeros() & 56;
    // The digits after the point, with the point in place of the digit before them.
    let rest = digits >> whole & !0xFF | u64::from(b'.');
    let (whole, cut) = (whole as usize / 8, cut as usize / 8);
    let words = [(0, digits >> (8 * cut)), ((whole + 1 - cut) & 15, rest)];
    pen.put(place, words, 9 - cut)
}

/// Writes any decimal.
#[inline(never)]
fn other_decimal(pen: Pen<'_>, mut place: BufferOffset, value: FixDecimal) -> BufferOffset {
    if value.is_negative() {
        place = byte(pen, place, b'-');
    }
    let Some(number) = value.word() else { return wide_decimal(pen, place, value) };
    let exponent = value.exponent();
    if number < EIGHT_DIGITS && (-7..=-1).contains(&exponent) {
        return pointed(pen, place, number as u32, exponent.unsigned_abs().into());
    }
    long_decimal(pen, place, number, exponent)
}

/// Writes a number and a point.
#[inline]
fn point(pen: Pen<'_>, place: BufferOffset, value: u64) -> BufferOffset {
    let place = digits_of(pen, place, value);
    byte(pen, place, b'.')
}

/// Writes a decimal with many places, or with zeros before the point.
#[inline(never)]
fn long_decimal(pen: Pen<'_>, mut place: BufferOffset, digits: u64, exponent: i8) -> BufferOffset {
    let places = u32::from(exponent.unsigned_abs());
    if exponent >= 0 {
        place = digits_of(pen, place, digits);
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

/// Writes digits that do not fit a word, and a point.
#[cold]
#[inline(never)]
fn wide_decimal(pen: Pen<'_>, mut place: BufferOffset, value: FixDecimal) -> BufferOffset {
    /// More digits than a decimal has.
    const DIGITS: usize = 36;
    let (mut text, mut rest) = ([b'0'; DIGITS], value.digits());
    for digit in text.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    let first = text.iter().position(|digit| *digit != b'0').unwrap_or(DIGITS);
    let places = usize::from(value.exponent().unsigned_abs());
    if value.exponent() >= 0 {
        place = all(pen, place, &text[first..]);
        return (0..places).fold(place, |place, _| byte(pen, place, b'0'));
    }
    match DIGITS.checked_sub(places) {
        Some(point) if first < point => {
            place = byte(pen, all(pen, place, &text[first..point]), b'.');
            all(pen, place, &text[point..])
        }
        point => {
            place = byte(pen, byte(pen, place, b'0'), b'.');
            place = (DIGITS..places).fold(place, |place, _| byte(pen, place, b'0'));
            all(pen, place, &text[point.unwrap_or(0)..])
        }
    }
}

/// Writes bytes that contain no delimiter.
fn all(pen: Pen<'_>, place: BufferOffset, text: &[u8]) -> BufferOffset {
    let write = |place, part: &[u8]| pen.put(place, [(0, short_word(part))], part.len());
    text.chunks(8).fold(place, write)
}

/// Returns the two digits of each of several numbers below 100, first digit in the lower byte. The
/// numbers are at least 16 bits apart, and `tens` masks their tens digits.
#[inline(always)]
const fn pairs_of(numbers: u64, tens: u64) -> u64 {
    // 103 / 1024 approximates 1 / 10 closely enough for two digits.
    let tens = (numbers * 103) >> 10 & tens;
    // `tens + 256 * (number - 10 * tens)` is `256 * number - 2559 * tens`. No borrow crosses into
    // the next number.
    (numbers << 8) - tens * 2559
}

/// Returns a day as `YYYYMMDD`.
#[inline(always)]
fn day_word(moment: PackedTimestamp) -> u64 {
    pairs_of(moment.date_pairs(), 0x000F_000F_000F_000F) | ZEROS
}

/// Returns a time of day as `HH:MM:SS`.
#[inline(always)]
fn time_word(moment: PackedTimestamp) -> u64 {
    const COLONS: u64 = b':' as u64 * 0x0000_0100_0001_0000;
    const DIGITS: u64 = ZEROS & 0xFFFF_00FF_FF00_FFFF;
    pairs_of(moment.time_pairs(), 0x000F_0000_0F00_000F) | DIGITS | COLONS
}

/// Writes a delimiter, a tag, `=` and a day as `YYYYMMDD`.
#[inline(always)]
pub(super) fn day(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    moment: PackedTimestamp,
) -> BufferOffset {
    field(pen, place, tag, [(0, day_word(moment))], 8)
}

/// Writes a month, and an optional day or week.
#[inline(never)]
pub(super) fn month_year(pen: Pen<'_>, mut place: BufferOffset, value: MonthYear) -> BufferOffset {
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

/// A fraction of a second, with its precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction {
    pub(crate) picos: u64,
    /// Number of digits, in triples.
    pub(crate) triples: u8,
}

impl Fraction {
    /// Returns a fraction with a precision.
    #[inline(always)]
    pub(super) const fn new(picos: u64, precision: Precision) -> Self {
        Self { picos, triples: precision as u8 }
    }
}

/// Writes a delimiter, a tag, `=` and a time of day as `HH:MM:SS` and a fraction.
#[inline(always)]
pub(super) fn time_of_day(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    moment: PackedTimestamp,
    fraction: Fraction,
) -> BufferOffset {
    let place = field(pen, place, tag, [(0, time_word(moment))], 8);
    if fraction.triples == 0 { place } else { self::fraction(pen, place, fraction) }
}

/// Writes a delimiter, a tag, `=`, a day, `-` and a time of day with a fraction.
#[inline(always)]
pub(super) fn timestamp(
    pen: Pen<'_>,
    place: BufferOffset,
    tag: TagText,
    moment: PackedTimestamp,
    fraction: Fraction,
) -> BufferOffset {
    let words = [(0, day_word(moment)), (8, u64::from(b'-')), (9, time_word(moment))];
    let place = field(pen, place, tag, words, 17);
    if fraction.triples == 0 { place } else { self::fraction(pen, place, fraction) }
}

/// Writes a point and a fraction of a second.
#[inline(never)]
fn fraction(
    pen: Pen<'_>,
    place: BufferOffset,
    Fraction { picos, triples }: Fraction,
) -> BufferOffset {
    let places = u32::from(triples.min(4)) * 3;
    let place = byte(pen, place, b'.');
    padded(pen, place, picos / 10_u64.pow(12 - places), places)
}
