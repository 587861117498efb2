//! Exact decimals.

use std::fmt;

use crate::digits::{are_digits, eight_digits};
use crate::error::FixErrorKind;

/// Bits of the negated exponent: the number of decimal places.
const PLACES: u64 = 0xFF;
/// The bit of the sign.
const SIGN: u64 = 1 << 63;
/// Number of digits that always fit 64 bits.
const WORD_DIGITS: usize = 18;

/// A number as written: sign, up to 35 digits and an exponent of ten; never normalised.
///
/// Two numbers are equal if they have the same form: 1.0 differs from 1.00, and -0 from 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FixDecimal {
    /// The low 64 bits of the digits.
    low: u64,
    /// From the lowest bit on: places (8 bits), the high bits of the digits (55), sign.
    high: u64,
}

impl FixDecimal {
    /// The largest value of the digits, ignoring the point.
    pub const DIGITS_MAX: u128 = (1 << 119) - 1;

    /// Creates the number `mantissa` times ten to the power of `exponent`.
    #[inline(always)]
    pub const fn new(mantissa: i64, exponent: i8) -> Self {
        let sign = if mantissa < 0 { SIGN } else { 0 };
        Self { low: mantissa.unsigned_abs(), high: exponent.wrapping_neg() as u8 as u64 | sign }
    }

    /// Creates a number with any sign, even for zero, and many digits; `None` above
    /// [`Self::DIGITS_MAX`].
    pub const fn from_digits(is_negative: bool, digits: u128, exponent: i8) -> Option<Self> {
        if digits > Self::DIGITS_MAX {
            return None;
        }
        let sign = if is_negative { SIGN } else { 0 };
        let above = ((digits >> 64) as u64) << 8;
        let high = exponent.wrapping_neg() as u8 as u64 | above | sign;
        Some(Self { low: digits as u64, high })
    }

    /// Creates the number from the result of [`short`].
    #[inline(always)]
    pub(super) const fn short(is_negative: bool, digits: u64, places: u8) -> Self {
        Self { low: digits, high: places as u64 | (is_negative as u64) << 63 }
    }

    /// Returns all digits as one number, without the sign.
    pub const fn digits(self) -> u128 {
        (((self.high & !SIGN) >> 8) as u128) << 64 | self.low as u128
    }

    /// Returns all digits as one number, with the sign.
    pub const fn mantissa(self) -> i128 {
        let digits = self.digits() as i128;
        if self.is_negative() { -digits } else { digits }
    }

    /// Returns the power of ten; for a parsed number, minus the number of digits after the point.
    #[inline(always)]
    pub const fn exponent(self) -> i8 {
        ((self.high & PLACES) as u8 as i8).wrapping_neg()
    }

    /// True if it has a minus sign, which zero may have too.
    #[inline(always)]
    pub const fn is_negative(self) -> bool {
        self.high & SIGN != 0
    }

    /// Returns the digits if they fit 64 bits.
    #[inline(always)]
    pub(crate) const fn word(self) -> Option<u64> {
        if self.high & !(SIGN | PLACES) == 0 { Some(self.low) } else { None }
    }

    /// Returns the number if it is whole, non-negative and below 1000.
    #[inline(always)]
    pub(crate) const fn small(self) -> Option<u32> {
        // A single comparison tests both words.
        let whole = (self.high as u128) << 64 | self.low as u128;
        if whole < 1000 { Some(self.low as u32) } else { None }
    }

    /// Returns the digits as a number and the number of decimal places, if the number is
    /// non-negative and has one to seven places.
    #[inline(always)]
    pub(crate) const fn pointed(self) -> Option<(u64, u32)> {
        if self.high.wrapping_sub(1) < 7 { Some((self.low, self.high as u32)) } else { None }
    }

    /// Returns the number as two words.
    #[inline(always)]
    pub(crate) const fn words(self) -> (u64, u64) {
        (self.low, self.high)
    }

    /// Creates the number from the result of [`Self::words`].
    #[inline(always)]
    pub(crate) const fn of_words((low, high): (u64, u64)) -> Self {
        Self { low, high }
    }

    /// Parses an optional minus, digits, and optionally a point and digits. A point needs a digit
    /// on at least one side.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, FixErrorKind> {
        let (is_negative, text) = match text {
            [b'-', text @ ..] => (true, text),
            text => (false, text),
        };
        let (mut number, mut digits, mut point) = (0_u128, 0_usize, None);
        // The digits of each part fit a word.
        for text in text.chunks(WORD_DIGITS) {
            let (mut part, before) = (0_u64, digits);
            for byte in text {
                let digit = u64::from(byte.wrapping_sub(b'0'));
                if digit > 9 {
                    if *byte != b'.' || point.is_some() {
                        return Err(FixErrorKind::ValueFormat);
                    }
                    point = Some(digits);
                    continue;
                }
                part = part * 10 + digit;
                digits += 1;
            }
            number = appended(number, part, digits - before)?;
        }
        if digits == 0 {
            return Err(FixErrorKind::ValueFormat);
        }
        let places = point.map_or(0, |point| digits - point);
        let exponent = i8::try_from(places).map_err(|_| FixErrorKind::ValueRange)?;
        Self::from_digits(is_negative, number, -exponent).ok_or(FixErrorKind::ValueRange)
    }
}

/// Appends `part`, which has `len` digits, to a number.
#[inline]
fn appended(number: u128, part: u64, len: usize) -> Result<u128, FixErrorKind> {
    if number == 0 {
        return Ok(part.into());
    }
    let moved = number.checked_mul(10_u128.pow(len as u32));
    moved.and_then(|moved| moved.checked_add(part.into())).ok_or(FixErrorKind::ValueRange)
}

/// Parses `len` characters, each XORed with `0`: the last in the highest byte, zeros before the
/// first. Returns the number and its decimal places; `None` if it is not a decimal without sign.
#[inline(always)]
pub(super) fn short(digits: u64, len: usize) -> Option<(u64, u8)> {
    const POINT: u64 = (b'.' ^ b'0') as u64;
    /// A bit that is set in a point and in no digit.
    const BIT: u64 = 0x1010_1010_1010_1010;
    let others = digits & BIT;
    if others == 0 {
        return are_digits(digits).then(|| (eight_digits(digits), 0));
    }
    // Points after the first keep this bit and are rejected as non-digits.
    let at = others.trailing_zeros() & 56;
    let others = others << 3;
    // Moves the digits before the point up by a byte, over the point.
    let after = !(others | (others - 1));
    let moved = (digits & after) | (digits & ((others >> 7) - 1)) << 8;
    let is_point = digits >> at & 0xFF == POINT;
    let places = 7 - (at / 8) as u8;
    (is_point && len > 1 && are_digits(moved)).then(|| (eight_digits(moved), places))
}

impl fmt::Display for FixDecimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        let (number, exponent) = (self.digits(), self.exponent());
        let digits = number.to_string();
        let count = usize::from(exponent.unsigned_abs());
        if exponent >= 0 {
            let zeros = if number == 0 { 0 } else { count };
            return write!(out, "{sign}{digits}{}", "0".repeat(zeros));
        }
        let digits = format!("{digits:0>width$}", width = count + 1);
        let (whole, rest) = digits.split_at(digits.len() - count);
        write!(out, "{sign}{whole}.{rest}")
    }
}

impl fmt::Debug for FixDecimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        write!(out, "Decimal({sign}{}e{})", self.digits(), self.exponent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_among_up_to_seven_digits_is_read_at_once() {
        for (text, digits, places) in
            [("57", 57, 0), ("1.5", 15, 1), (".5", 5, 1), ("298.075", 298_075, 3), ("5.", 5, 0)]
        {
            let mut bytes = [b'0'; 8];
            bytes[8 - text.len()..].copy_from_slice(text.as_bytes());
            let word = u64::from_le_bytes(bytes) ^ crate::digits::ZEROS;
            assert_eq!(short(word, text.len()), Some((digits, places)), "{text}");
        }
    }

    #[test]
    fn what_is_read_prints_the_same() {
        for text in [
            "0",
            "-0",
            "-0.00",
            "298.075",
            "-0.05",
            "1.10",
            "9223372036854775808",
            "-92233720368547758.09",
            "0.000000000000000001",
            "-1234567890.123456789012345678",
            "10000000000000000.0000000000000000000",
            "66461399789245793.645190353014017227",
            "664613997892457936451903530140172287",
        ] {
            let value = FixDecimal::parse(text.as_bytes()).expect(text);
            assert_eq!(value.to_string(), text);
            assert_eq!(FixDecimal::of_words(value.words()), value);
        }
        assert_eq!(FixDecimal::parse(b"002000.00"), Ok(FixDecimal::new(200_000, -2)));
        assert_eq!(FixDecimal::parse(b"5."), Ok(FixDecimal::new(5, 0)));
        assert_eq!(FixDecimal::parse(b".5"), Ok(FixDecimal::new(5, -1)));
        assert_eq!(FixDecimal::new(12, 3).to_string(), "12000");
    }

    #[test]
    fn sign_digits_and_exponent_come_back() {
        for exponent in i8::MIN..=i8::MAX {
            for digits in [0, 1, 298_075, u128::from(u64::MAX), 1 << 64, FixDecimal::DIGITS_MAX] {
                for is_negative in [false, true] {
                    let value = FixDecimal::from_digits(is_negative, digits, exponent);
                    let value = value.expect("not too many digits");
                    assert_eq!((value.digits(), value.exponent()), (digits, exponent));
                    assert_eq!(value.is_negative(), is_negative);
                    assert_eq!(value.mantissa().unsigned_abs(), digits);
                    assert_eq!(value.mantissa() < 0, is_negative && digits > 0);
                    if let Ok(mantissa) = i64::try_from(value.mantissa())
                        && (mantissa != 0 || !is_negative)
                    {
                        assert_eq!(FixDecimal::new(mantissa, exponent), value);
                    }
                }
            }
        }
        assert_eq!(FixDecimal::new(i64::MIN, 0).mantissa(), i64::MIN.into());
        assert_eq!(FixDecimal::from_digits(false, FixDecimal::DIGITS_MAX + 1, 0), None);
        assert_ne!(FixDecimal::from_digits(true, 0, 0), Some(FixDecimal::default()));
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["", "-", ".", "+200.00", "1e5", "1.2.3", "1,5", "--1", " 1"] {
            assert_eq!(FixDecimal::parse(bad.as_bytes()), Err(FixErrorKind::ValueFormat), "{bad}");
        }
        let most = FixDecimal::DIGITS_MAX;
        let parsed = |text: String| FixDecimal::parse(text.as_bytes()).map(FixDecimal::mantissa);
        assert_eq!(parsed(format!("-{most}")), Ok(-(most as i128)));
        assert_eq!(parsed(format!("{}", most + 1)), Err(FixErrorKind::ValueRange));
        assert_eq!(parsed("9".repeat(100)), Err(FixErrorKind::ValueRange));
        assert_eq!(parsed("0".repeat(200)), Ok(0));
        assert_eq!(parsed("0".repeat(200) + "17"), Ok(17));
        assert_eq!(parsed(format!("0.{}", "0".repeat(127))), Ok(0));
        assert_eq!(parsed(format!("0.{}", "0".repeat(128))), Err(FixErrorKind::ValueRange));
    }
}
