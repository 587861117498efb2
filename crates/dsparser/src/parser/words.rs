//! Parses words that are numbers, names, types and comparisons.

use crate::ast::{Comparison, IntegerType};

/// Parses an unsigned number, decimal or hexadecimal after `0x`.
pub(super) fn parse_number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if word.starts_with('+') => None,
        None => word.parse().ok(),
    }
}

/// Parses a number that may be negative.
pub(super) fn parse_integer(word: &str) -> Option<i128> {
    match word.strip_prefix('-') {
        Some(digits) => parse_number(digits).map(|number| -i128::from(number)),
        None => parse_number(word).map(i128::from),
    }
}

/// True if a word is a name: a small letter, then letters, digits and underscores.
pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Parses a type such as `u16le`; a type of one byte has no byte order.
pub(super) fn integer_type(word: &str) -> Option<IntegerType> {
    let is_signed = word.starts_with('i');
    let rest = word.strip_prefix(['u', 'i'])?;
    let (bits, is_little) = match rest.strip_suffix("le") {
        Some(bits) => (bits, true),
        None => (rest.strip_suffix("be").unwrap_or(rest), false),
    };
    let bytes = match bits {
        "8" if rest == "8" => 1,
        "16" => 2,
        "24" => 3,
        "32" => 4,
        "40" => 5,
        "48" => 6,
        "56" => 7,
        "64" => 8,
        _ => return None,
    };
    (bytes == 1 || rest != bits).then_some(IntegerType { bytes, is_signed, is_little })
}

/// Parses a comparison operator.
pub(super) fn comparison(word: &str) -> Option<Comparison> {
    Some(match word {
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "&" => Comparison::CommonBits,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal_without_sign() {
        assert_eq!(parse_number("0x02"), Some(2));
        assert_eq!(parse_number("10"), Some(10));
        assert_eq!(parse_number("+1"), None);
        assert_eq!(parse_number("0x+1"), None);
        assert_eq!(parse_number("18446744073709551616"), None);
        assert_eq!((parse_integer("-0x10"), parse_integer("--1")), (Some(-16), None));
    }

    #[test]
    fn types_say_sign_size_and_order() {
        let of = |word| integer_type(word).map(|t| (t.is_signed, t.bytes, t.is_little));
        assert_eq!(of("u8"), Some((false, 1, false)));
        assert_eq!(of("i16le"), Some((true, 2, true)));
        assert_eq!(of("u48be"), Some((false, 6, false)));
        for word in ["u16", "u8le", "u12le", "f64le", "16le", "u", "u128le"] {
            assert_eq!(of(word), None, "{word}");
        }
    }
}
