//! Decimals as sent, compared by value.

use std::cmp::Ordering;
use std::fmt;

use tickwire_fast::Decimal;

/// A price or a size as the feed sent it: the exponent is kept, and two amounts are equal if their
/// values are, so that 1333 x 10^1 equals 13330.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Mantissa.
    pub mantissa: i64,
    /// Power of ten.
    pub exponent: i32,
}

/// Largest exponent that is scaled exactly: 10^19 exceeds every mantissa, and 10^19 times a
/// mantissa still fits 128 bits.
const SCALE_MAX: u32 = 19;

impl Amount {
    /// An amount without exponent.
    pub const fn integer(value: i64) -> Self {
        Self { mantissa: value, exponent: 0 }
    }

    /// Zero, without exponent.
    pub const ZERO: Self = Self::integer(0);

    /// True if the value is zero.
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Returns the exact sum, or `None` if it does not fit a 64-bit mantissa.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.is_zero() {
            return Some(other);
        }
        if other.is_zero() {
            return Some(self);
        }
        let exponent = self.exponent.min(other.exponent);
        let scaled = |amount: Self| {
            let scale = u32::try_from(amount.exponent.checked_sub(exponent)?).ok()?;
            amount.mantissa.checked_mul(10_i64.checked_pow(scale)?)
        };
        Some(Self { mantissa: scaled(self)?.checked_add(scaled(other)?)?, exponent })
    }

    /// Returns the exact difference, or `None` if it does not fit a 64-bit mantissa.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let mantissa = other.mantissa.checked_neg()?;
        self.checked_add(Self { mantissa, ..other })
    }

    /// Compares magnitudes; neither is zero.
    fn compare_magnitude(self, other: Self) -> Ordering {
        if self.exponent < other.exponent {
            return other.compare_magnitude(self).reverse();
        }
        let scale = i64::from(self.exponent) - i64::from(other.exponent);
        match u32::try_from(scale) {
            Ok(scale) if scale <= SCALE_MAX => {
                let scaled = u128::from(self.mantissa.unsigned_abs()) * 10_u128.pow(scale);
                scaled.cmp(&u128::from(other.mantissa.unsigned_abs()))
            }
            _ => Ordering::Greater,
        }
    }
}

impl Ord for Amount {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.exponent == other.exponent {
            return self.mantissa.cmp(&other.mantissa);
        }
        self.cmp_scaled(other)
    }
}

impl Amount {
    /// Compares amounts of different exponents.
    #[cold]
    fn cmp_scaled(&self, other: &Self) -> Ordering {
        let signs = self.mantissa.signum().cmp(&other.mantissa.signum());
        signs.then_with(|| match self.mantissa.signum() {
            0 => Ordering::Equal,
            1 => self.compare_magnitude(*other),
            _ => other.compare_magnitude(*self),
        })
    }
}

impl PartialOrd for Amount {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Amount {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl From<Decimal> for Amount {
    fn from(decimal: Decimal) -> Self {
        Self { mantissa: decimal.mantissa, exponent: decimal.exponent }
    }
}

/// Most zeros that [`Display`](fmt::Display) writes for an exponent; FAST allows 63.
const ZEROS_MAX: u32 = 63;

/// Writes the shortest plain decimal of the value: `133310`, `1.5`, `-0.25`. For exponents beyond
/// 63, which no feed sends, it writes mantissa and exponent: `1e99`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut digits, mut exponent) = (self.mantissa.unsigned_abs(), i64::from(self.exponent));
        if digits == 0 {
            return f.write_str("0");
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        if self.mantissa < 0 {
            f.write_str("-")?;
        }
        let zeros = u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX);
        if zeros > ZEROS_MAX {
            return write!(f, "{digits}e{exponent}");
        }
        if exponent >= 0 {
            return write!(f, "{digits}{:0<zeros$}", "", zeros = zeros as usize);
        }
        let digits = digits.to_string();
        match digits.len().checked_sub(zeros as usize) {
            Some(point @ 1..) => write!(f, "{}.{}", &digits[..point], &digits[point..]),
            _ => write!(f, "0.{digits:0>zeros$}", zeros = zeros as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(mantissa: i64, exponent: i32) -> Amount {
        Amount { mantissa, exponent }
    }

    #[test]
    fn equal_values_are_equal_whatever_the_exponent() {
        assert_eq!(amount(1333, 1), amount(13330, 0));
        assert_eq!(amount(-5, -1), amount(-50, -2));
        assert_eq!(amount(0, 7), amount(0, -7));
        assert_ne!(amount(1, 19), amount(1, 0));
    }

    #[test]
    fn amounts_are_written_as_short_plain_decimals() {
        let cases = [
            (amount(13331, 1), "133310"),
            (amount(150, -2), "1.5"),
            (amount(-25, -2), "-0.25"),
            (amount(5, -3), "0.005"),
            (amount(1000, -3), "1"),
            (amount(0, 7), "0"),
            (amount(i64::MIN, 0), "-9223372036854775808"),
            (amount(1, 99), "1e99"),
            (amount(7, i32::MIN), "7e-2147483648"),
        ];
        for (amount, text) in cases {
            assert_eq!(amount.to_string(), text);
        }
    }

    #[test]
    fn sums_are_exact_or_refused() {
        assert_eq!(amount(15, -1).checked_add(amount(25, -2)), Some(amount(175, -2)));
        assert_eq!(amount(3, 0).checked_sub(amount(3, 0)), Some(Amount::ZERO));
        assert_eq!(amount(i64::MAX, 0).checked_add(amount(1, 0)), None);
        assert_eq!(amount(1, 30).checked_add(amount(1, 0)), None);
        assert_eq!(amount(1, i32::MAX).checked_sub(amount(1, i32::MIN)), None);
    }

    #[test]
    fn extreme_exponents_do_not_overflow() {
        assert!(amount(1, i32::MAX) > amount(i64::MAX, i32::MIN));
        assert!(amount(-1, i32::MAX) < amount(i64::MIN, i32::MIN));
        assert!(amount(i64::MIN, 19) < amount(i64::MIN, 0));
        assert!(amount(1, 20) > amount(i64::MAX, 0));
        assert!(amount(1, 18) < amount(i64::MAX, 0));
    }

    proptest! {
        #[test]
        fn order_is_that_of_the_values(
            a in -100_000_i64..100_000, b in -100_000_i64..100_000, ea in -6_i32..6, eb in -6_i32..6
        ) {
            let value = |m: i64, e: i32| i128::from(m) * 10_i128.pow((e + 6) as u32);
            prop_assert_eq!(amount(a, ea).cmp(&amount(b, eb)), value(a, ea).cmp(&value(b, eb)));
        }

        #[test]
        fn order_is_antisymmetric_everywhere(a: i64, b: i64, ea: i32, eb: i32) {
            let (a, b) = (amount(a, ea), amount(b, eb));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        }
    }
}
