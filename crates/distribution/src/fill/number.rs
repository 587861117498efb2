//! Converts decimals to floating-point numbers.

use std::io::Write;
use tickwire_fast::Decimal;

/// Powers of ten that are exact as floating-point numbers.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Every mantissa up to this is exact as a floating-point number.
const MANTISSA_MAX: u64 = 1 << 53;
/// Length of the longest mantissa and exponent as text, in bytes.
const TEXT_BYTES: usize = 40;

/// Returns the floating-point number nearest to a decimal; ties go to the even one.
#[inline]
pub(super) fn nearest(decimal: Decimal) -> f64 {
    let Decimal { mantissa, exponent } = decimal;
    let power = EXACT.get(exponent.unsigned_abs() as usize);
    match power {
        // Both operands are exact, so the division or product rounds correctly in one step.
        Some(power) if mantissa.unsigned_abs() <= MANTISSA_MAX => {
            if exponent < 0 {
                mantissa as f64 / power
            } else {
                mantissa as f64 * power
            }
        }
        _ => by_text(mantissa, exponent),
    }
}

/// Converts a decimal by way of text. The standard library's parser rounds correctly for any size.
#[cold]
fn by_text(mantissa: i64, exponent: i32) -> f64 {
    let mut text = [0; TEXT_BYTES];
    let mut rest = &mut text[..];
    let printed = write!(rest, "{mantissa}e{exponent}");
    let left = rest.len();
    debug_assert!(printed.is_ok());
    let used = &text[..TEXT_BYTES - left];
    std::str::from_utf8(used).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decimal_is_what_the_parser_of_its_text_says() {
        let mantissas =
            [0, 1, -1, 3, 13_331, 999_999, -123_456_789, (1 << 53) - 1, (1 << 53) + 1, i64::MIN];
        for mantissa in mantissas {
            for exponent in -63..=63 {
                let expected: f64 = format!("{mantissa}e{exponent}").parse().unwrap();
                let found = nearest(Decimal { mantissa, exponent });
                assert_eq!(found, expected, "{mantissa} x 10^{exponent}");
            }
        }
    }

    #[test]
    fn an_exponent_without_end_is_zero_or_infinite() {
        assert_eq!(nearest(Decimal { mantissa: 7, exponent: i32::MIN }), 0.0);
        assert_eq!(nearest(Decimal { mantissa: i64::MAX, exponent: i32::MAX }), f64::INFINITY);
    }
}
