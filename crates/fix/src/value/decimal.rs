//! Exact decimals.

use std::fmt;

use crate::digits::{are_digits, eight_digits};
use crate::error::ErrorKind;

/// A number `mantissa` times ten to the power of `exponent`, as it was written: never normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// All digits, with the sign.
    pub mantissa: i64,
    /// Power of ten; when read, minus the number of digits after the point.
    pub exponent: i8,
}

impl Decimal {
    /// Creates the number `mantissa` times ten to the power of `exponent`.
    pub const fn new(mantissa: i64, exponent: i8) -> Self {
        Self { mantissa, exponent }
    }

    /// Parses an optional minus, digits, and optionally a point and digits. A point needs a digit on
    /// one side.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, ErrorKind> {
        let (negative, text) = match text {
            [b'-', text @ ..] => (true, text),
            text => (false, text),
        };
        let (mut mantissa, mut digits, mut point) = (0_u64, 0_usize, None);
        // Eighteen digits cannot overflow: only longer numbers are looked at with care.
        let is_short = text.len() <= 18;
        for byte in text {
            let digit = u64::from(byte.wrapping_sub(b'0'));
            if digit > 9 {
                if *byte != b'.' || point.is_some() {
                    return Err(ErrorKind::ValueFormat);
                }
                point = Some(digits);
                continue;
            }
            mantissa = if is_short {
                mantissa * 10 + digit
            } else {
                let next = mantissa.checked_mul(10).and_then(|value| value.checked_add(digit));
                next.ok_or(ErrorKind::ValueRange)?
            };
            digits += 1;
        }
        if digits == 0 {
            return Err(ErrorKind::ValueFormat);
        }
        let places = point.map_or(0, |point| digits - point);
        let exponent = i8::try_from(places).map_err(|_| ErrorKind::ValueRange)?;
        let mantissa = if negative {
            0_i64.checked_sub_unsigned(mantissa)
        } else {
            i64::try_from(mantissa).ok()
        };
        Ok(Self { mantissa: mantissa.ok_or(ErrorKind::ValueRange)?, exponent: -exponent })
    }
}

/// Reads `len` bytes given as digits: the last in the highest byte, zeros before the first. A point is what
/// `.` becomes. Returns mantissa and places; `None` if it is not a decimal without sign.
#[inline(always)]
pub(super) fn short(digits: u64, len: usize) -> Option<(i64, i8)> {
    const POINT: u64 = (b'.' ^ b'0') as u64;
    /// A bit that a point has and no digit.
    const BIT: u64 = 0x1010_1010_1010_1010;
    let others = digits & BIT;
    if others == 0 {
        return are_digits(digits).then(|| (eight_digits(digits) as i64, 0));
    }
    // If there are several, those above the lowest keep their bit and are no digits.
    let at = others.trailing_zeros() & 56;
    let others = others << 3;
    // What stands before the point moves up by one into its place.
    let after = !(others | (others - 1));
    let moved = (digits & after) | (digits & ((others >> 7) - 1)) << 8;
    let is_point = digits >> at & 0xFF == POINT;
    let places = 7 - (at / 8) as i8;
    (is_point && len > 1 && are_digits(moved)).then(|| (eight_digits(moved) as i64, places))
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs().to_string();
        if self.exponent >= 0 {
            let zeros =
                if self.mantissa == 0 { 0 } else { usize::from(self.exponent.unsigned_abs()) };
            return write!(out, "{sign}{digits}{}", "0".repeat(zeros));
        }
        let places = usize::from(self.exponent.unsigned_abs());
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, rest) = digits.split_at(digits.len() - places);
        write!(out, "{sign}{whole}.{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_prints_the_same() {
        for text in
            ["0", "298.075", "-0.05", "1.10", "9223372036854775807", "-92233720368547758.08"]
        {
            let value = Decimal::parse(text.as_bytes()).expect(text);
            assert_eq!(value.to_string(), text);
        }
        assert_eq!(Decimal::parse(b"002000.00"), Ok(Decimal::new(200_000, -2)));
        assert_eq!(Decimal::parse(b"5."), Ok(Decimal::new(5, 0)));
        assert_eq!(Decimal::parse(b".5"), Ok(Decimal::new(5, -1)));
        assert_eq!(Decimal::new(12, 3).to_string(), "12000");
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in ["", "-", ".", "+200.00", "1e5", "1.2.3", "1,5", "--1", " 1"] {
            assert_eq!(Decimal::parse(bad.as_bytes()), Err(ErrorKind::ValueFormat), "{bad}");
        }
        assert_eq!(Decimal::parse(b"9223372036854775808"), Err(ErrorKind::ValueRange));
        assert_eq!(Decimal::parse(b"-9223372036854775808").map(|d| d.mantissa), Ok(i64::MIN));
        assert_eq!(Decimal::parse(&[b'0'; 200]).map(|d| d.mantissa), Ok(0));
    }
}
