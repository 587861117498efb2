//! Initial values: converts the text of a `value` attribute to the field's type.
//!
//! Spec: FAST 1.1 §6.3.2.

use super::enumeration::{resolve_enum, resolve_set};
use crate::template::model::{Decimal, EntryPart, FieldType, Value, Width};
use std::fmt::Display;

/// Decimal exponents range from minus this to this.
const EXPONENT_MAX: i32 = 63;

/// Converts an initial value; the error says what was expected.
pub(super) fn parse(text: &str, field_type: &FieldType, part: EntryPart) -> Result<Value, String> {
    match field_type {
        FieldType::UInt(width) => unsigned(text, *width).map(Value::UInt),
        FieldType::Int(_) if part == EntryPart::Exponent => exponent(text).map(Value::Int),
        FieldType::Int(width) => signed(text, *width).map(Value::Int),
        FieldType::Timestamp(_) => signed(text, Width::W64).map(Value::Int),
        FieldType::Boolean => boolean(text).map(Value::UInt),
        FieldType::Enum(elements) => resolve_enum(text, elements).map(Value::UInt),
        FieldType::Set(elements) => resolve_set(text, elements).map(Value::UInt),
        FieldType::Ascii if !text.is_ascii() => {
            Err("ASCII characters only, or make the string charset=\"unicode\"".to_owned())
        }
        FieldType::Ascii | FieldType::Unicode => Ok(Value::Bytes(text.as_bytes().into())),
        FieldType::ByteVector => bytes(text).map(Value::Bytes),
        FieldType::Decimal => decimal(text).map(Value::Decimal),
    }
}

/// Removes XML white space around a number.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

pub(super) fn unsigned(text: &str, width: Width) -> Result<u64, String> {
    let max = u64::MAX >> (64 - width as u32);
    ranged(text, "an integer", 0, max)
}

fn signed(text: &str, width: Width) -> Result<i64, String> {
    let (min, max) = (i64::MIN >> (64 - width as u32), i64::MAX >> (64 - width as u32));
    ranged(text, "an integer", min, max)
}

fn exponent(text: &str) -> Result<i64, String> {
    let max = i64::from(EXPONENT_MAX);
    ranged(text, "an exponent", -max, max)
}

/// Parses a whole number: a sign or none, then digits only.
fn ranged<T>(text: &str, what: &str, min: T, max: T) -> Result<T, String>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    let value = trim(text).parse::<i128>().ok().and_then(|value| T::try_from(value).ok());
    value
        .filter(|value| (&min..=&max).contains(&value))
        .ok_or_else(|| format!("{what} from {min} to {max}"))
}

fn boolean(text: &str) -> Result<u64, String> {
    match trim(text) {
        "true" | "1" => Ok(1),
        "false" | "0" => Ok(0),
        _ => Err("true, false, 1 or 0".to_owned()),
    }
}

fn bytes(text: &str) -> Result<Box<[u8]>, String> {
    let expected = || "hexadecimal digits, two for each byte".to_owned();
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|character| !matches!(character, ' ' | '\t' | '\n' | '\r'))
        .map(|character| u8::try_from(character.to_digit(16)?).ok())
        .collect();
    let digits = digits.ok_or_else(expected)?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(expected());
    }
    Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Parses a decimal and normalizes it: the mantissa is not divisible by ten; zero has exponent
/// zero.
fn decimal(text: &str) -> Result<Decimal, String> {
    scaled(trim(text)).ok_or_else(|| {
        format!(
            "a decimal such as -3.50 with a mantissa of 64 bits and an exponent from \
             -{EXPONENT_MAX} to {EXPONENT_MAX}"
        )
    })
}

fn scaled(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_end_matches('0');
    let zeros = digits.len() - significant.len();
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if zeros > 0 && matches!(significant, "" | "+" | "-") {
        return Some(Decimal::default());
    }
    let mantissa = significant.parse().ok()?;
    let exponent = i32::try_from(zeros).ok()? - i32::try_from(fraction.len()).ok()?;
    (exponent.abs() <= EXPONENT_MAX).then_some(Decimal { mantissa, exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled_of(text: &str) -> Option<(i64, i32)> {
        decimal(text).ok().map(|decimal| (decimal.mantissa, decimal.exponent))
    }

    #[test]
    fn integers_allow_white_space_signs_and_leading_zeros() {
        assert_eq!(unsigned(" 5 ", Width::W32), Ok(5));
        assert_eq!(unsigned("+007", Width::W8), Ok(7));
        assert_eq!(signed("\t-0128\n", Width::W8), Ok(-128));
    }

    #[test]
    fn integers_outside_their_width_are_refused() {
        assert_eq!(unsigned("255", Width::W8), Ok(255));
        assert!(unsigned("256", Width::W8).is_err());
        assert!(unsigned("-1", Width::W64).is_err());
        assert_eq!(unsigned("18446744073709551615", Width::W64), Ok(u64::MAX));
        assert!(unsigned("18446744073709551616", Width::W64).is_err());
        assert_eq!(signed("-32768", Width::W16), Ok(-32768));
        assert!(signed("32768", Width::W16).is_err());
        assert_eq!(signed("-9223372036854775808", Width::W64), Ok(i64::MIN));
        assert!(signed("9223372036854775808", Width::W64).is_err());
        for text in ["", " ", "+", "-", "1.0", "0x10", "1 2", "\u{663}"] {
            assert!(signed(text, Width::W64).is_err(), "{text:?}");
        }
    }

    #[test]
    fn decimals_are_normalised() {
        assert_eq!(scaled_of("100"), Some((1, 2)));
        assert_eq!(scaled_of("-3.50"), Some((-35, -1)));
        assert_eq!(scaled_of("0"), Some((0, 0)));
        assert_eq!(scaled_of("-0.000"), Some((0, 0)));
        assert_eq!(scaled_of(".5"), Some((5, -1)));
        assert_eq!(scaled_of(" +5. "), Some((5, 0)));
        assert_eq!(scaled_of("0012000.0"), Some((12, 3)));
    }

    #[test]
    fn decimals_out_of_range_or_form_are_refused() {
        assert_eq!(scaled_of("-9223372036854775808"), Some((i64::MIN, 0)));
        assert_eq!(scaled_of("9223372036854775808"), None);
        assert_eq!(scaled_of(&format!("1{}", "0".repeat(63))), Some((1, 63)));
        assert_eq!(scaled_of(&format!("1{}", "0".repeat(64))), None);
        assert_eq!(scaled_of(&format!("0.{}1", "0".repeat(62))), Some((1, -63)));
        assert_eq!(scaled_of(&format!("0.{}1", "0".repeat(63))), None);
        for text in ["", ".", "-", "1.2.3", "1e5", "--1", "1,5"] {
            assert_eq!(scaled_of(text), None, "{text:?}");
        }
    }

    #[test]
    fn bytes_allow_white_space_anywhere() {
        assert_eq!(bytes(" 0 1fF\n"), Ok(vec![0x01, 0xff].into()));
        assert_eq!(bytes(""), Ok(Vec::new().into()));
        assert!(bytes("0g").is_err());
        assert!(bytes("012").is_err());
    }
}
