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

/// 10^19 is above every mantissa, and ten to this times a mantissa still fits 128 bits.
const SCALE_MAX: u32 = 19;

impl Amount {
    /// An amount without exponent.
    pub const fn integer(value: i64) -> Self {
        Self { mantissa: value, exponent: 0 }
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
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.mantissa.signum().cmp(&other.mantissa.signum());
        signs.then_with(|| match self.mantissa.signum() {
            0 => Ordering::Equal,
            1 => self.compare_magnitude(*other),
            _ => other.compare_magnitude(*self),
        })
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Amount {
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

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exponent {
            0 => write!(f, "{}", self.mantissa),
            exponent => write!(f, "{}e{exponent}", self.mantissa),
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
