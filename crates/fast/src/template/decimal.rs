//! Conversion of decimals to text and other numbers.

use super::model::Decimal;
use std::fmt;
use std::str::FromStr;

/// Largest exponent with which a decimal is written without an exponent.
const PLAIN_EXPONENT_MAX: u32 = 63;
/// 10^0 to 10^22 are exact as 64-bit floating-point numbers, and so are integers below 2^53.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

impl Decimal {
    /// Returns the nearest 64-bit floating-point number; infinite if the decimal is too large.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let Self { mantissa, exponent } = self;
        let is_exact = mantissa.unsigned_abs() < 1 << 53;
        // One operation on two exact numbers rounds once, so the result is the nearest float.
        match EXACT_POWERS.get(exponent.unsigned_abs() as usize) {
            Some(power) if is_exact && exponent >= 0 => mantissa as f64 * power,
            Some(power) if is_exact => mantissa as f64 / power,
            _ => format!("{mantissa}e{exponent}").parse().unwrap_or(f64::NAN),
        }
    }
}

/// Writes all digits, such as `-0.005` or `133310`; for exponents beyond 63 mantissa and exponent,
/// such as `13e100`.
impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mantissa, exponent } = *self;
        let places = exponent.unsigned_abs();
        if places > PLAIN_EXPONENT_MAX {
            let text = format!("{}e{exponent}", mantissa.unsigned_abs());
            return out.pad_integral(mantissa >= 0, "", &text);
        }
        let places = places as usize;
        let mut digits = mantissa.unsigned_abs().to_string();
        if exponent >= 0 && mantissa != 0 {
            digits.push_str(&"0".repeat(places));
        } else if exponent < 0 {
            if digits.len() <= places {
                digits.insert_str(0, &"0".repeat(places + 1 - digits.len()));
            }
            digits.insert(digits.len() - places, '.');
        }
        out.pad_integral(mantissa >= 0, "", &digits)
    }
}

/// The text is not a decimal, or its mantissa does not fit 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseDecimalError;

impl fmt::Display for ParseDecimalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a decimal such as -1.50 or 13e5 whose digits fit 64 bits")
    }
}

impl std::error::Error for ParseDecimalError {}

/// Parses digits with an optional sign, point and exponent. Trailing zeros are kept: `1.50` is 150
/// x 10^-2.
impl FromStr for Decimal {
    type Err = ParseDecimalError;

    fn from_str(text: &str) -> Result<Self, ParseDecimalError> {
        parse(text).ok_or(ParseDecimalError)
    }
}

fn parse(text: &str) -> Option<Decimal> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // Without whole digits, a sign behind the point would become that of the mantissa.
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mantissa = [whole, fraction].concat().parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    Some(Decimal { mantissa, exponent: exponent.checked_sub(places)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(mantissa: i64, exponent: i32) -> Decimal {
        Decimal { mantissa, exponent }
    }

    #[test]
    fn text_and_back() {
        for (value, text) in [
            (decimal(150, -2), "1.50"),
            (decimal(-5, -3), "-0.005"),
            (decimal(0, -2), "0.00"),
            (decimal(i64::MIN, 0), "-9223372036854775808"),
            (decimal(1, -20), "0.00000000000000000001"),
            (decimal(-13, 100), "-13e100"),
            (decimal(13, i32::MIN), "13e-2147483648"),
        ] {
            assert_eq!(value.to_string(), text);
            assert_eq!(text.parse(), Ok(value), "{text}");
        }
        assert_eq!(decimal(13331, 1).to_string(), "133310");
        assert_eq!(decimal(1, -63).to_string().len(), 65);
        assert_eq!(decimal(0, 5).to_string(), "0");
        assert_eq!(
            format!("{:>8}|{:<6}|{:+}", decimal(15, -1), decimal(-5, 0), decimal(1, 0)),
            "     1.5|-5    |+1"
        );
    }

    #[test]
    fn the_floating_point_number_is_the_nearest() {
        // A mantissa above 2^53 is rounded itself, and then the quotient again.
        for mantissa in [1, 150, (1 << 53) - 1, (1 << 53) + 1, 9_007_199_254_740_995, i64::MAX] {
            for mantissa in [mantissa, -mantissa] {
                for exponent in [-30, -22, -9, -3, -2, -1, 0, 1, 5, 22, 23, 300, 400] {
                    let nearest: f64 = format!("{mantissa}e{exponent}").parse().unwrap();
                    assert_eq!(
                        decimal(mantissa, exponent).to_f64(),
                        nearest,
                        "{mantissa}e{exponent}"
                    );
                }
            }
        }
        let rounded_twice = (9_007_199_254_740_995_i64 as f64) / 10.0;
        assert_ne!(decimal(9_007_199_254_740_995, -1).to_f64(), rounded_twice);
        for text in [
            "0.1",
            "-2.675",
            "9007199254740993",
            "1e23",
            "123456789012345678e-30",
            "5e-324",
            "1e309",
            "-0.3e-40",
        ] {
            let value: Decimal = text.parse().unwrap();
            assert_eq!(value.to_f64(), text.parse::<f64>().unwrap(), "{text}");
        }
        assert_eq!(decimal(1, i32::MAX).to_f64(), f64::INFINITY);
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "1.2.3",
            "1e",
            "e5",
            "--1",
            "1.-5",
            "1,5",
            "9223372036854775808",
            "1e-2147483648.5",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(ParseDecimalError), "{text}");
        }
        assert_eq!("1.5e-2147483648".parse::<Decimal>(), Err(ParseDecimalError));
        assert_eq!(".5".parse(), Ok(decimal(5, -1)));
        assert_eq!("+7.".parse(), Ok(decimal(7, 0)));
    }
}
