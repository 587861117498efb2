//! Values as plain text, for formats without types.

use jiff::Timestamp;
use std::fmt::Write as _;
use tickwire_fast::template::{Enumeration, FieldType};
use tickwire_fast::{Decimal, FieldLayout, FieldValue};

/// The form of decimals and booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `13331e1`: mantissa and exponent stay separate; booleans are `true` and `false`.
    Csv,
    /// `133310`: FIX has no exponents; booleans are `Y` and `N`.
    Fix,
}

/// Appends a scalar value. Returns false if there is no value.
pub fn push_scalar(
    out: &mut String,
    field: &FieldLayout,
    value: FieldValue<'_>,
    dialect: Dialect,
) -> bool {
    match value {
        FieldValue::UInt(value) => push_uint(out, field, value, dialect),
        FieldValue::Int(value) => out.push_str(itoa::Buffer::new().format(value)),
        FieldValue::Decimal(value) => push_decimal(out, value, dialect),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            match std::str::from_utf8(bytes) {
                Ok(text) => out.push_str(text),
                // A lenient decoder accepts invalid UTF-8: write the bytes, as in JSON.
                Err(_) => {
                    out.push_str("{\"hex\": \"");
                    push_hex(out, bytes);
                    out.push_str("\"}");
                }
            }
        }
        FieldValue::Bytes(bytes) => push_hex(out, bytes),
        _ => return false,
    }
    true
}

/// Returns the name of the element with this value; `None` if no element has it, or if an element
/// with another value has the same name, so that only the number is unique.
pub fn element_name(enumeration: &Enumeration, value: u64) -> Option<&str> {
    let mut elements = enumeration.elements.iter();
    let name = &elements.find(|element| element.value == value)?.name;
    let mut others = enumeration.elements.iter();
    let is_shared = others.any(|other| other.name == *name && other.value != value);
    (!is_shared).then_some(&**name)
}

/// Appends a time, nanoseconds since 1970-01-01 UTC, as `2013-08-01T06:00:00.000000001Z`.
pub fn push_date_time(out: &mut String, time_ns: u64) {
    // Writing to a string does not fail.
    let _ = match Timestamp::from_nanosecond(time_ns.into()) {
        Ok(time) => write!(out, "{time:.9}"),
        // Beyond the range of dates: write the number.
        Err(_) => write!(out, "{time_ns}ns"),
    };
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
    }
}

fn push_uint(out: &mut String, field: &FieldLayout, value: u64, dialect: Dialect) {
    let text = match (&field.field_type, value, dialect) {
        (Some(FieldType::Boolean), 0, Dialect::Csv) => Some("false"),
        (Some(FieldType::Boolean), 1, Dialect::Csv) => Some("true"),
        (Some(FieldType::Boolean), 0, Dialect::Fix) => Some("N"),
        (Some(FieldType::Boolean), 1, Dialect::Fix) => Some("Y"),
        (Some(FieldType::Enum(enumeration)), ..) => element_name(enumeration, value),
        _ => None,
    };
    match text {
        Some(text) => out.push_str(text),
        None => out.push_str(itoa::Buffer::new().format(value)),
    }
}

/// Most decimal places that are written out for CSV.
const CSV_SCALE_MAX: i32 = 18;

pub(crate) fn push_decimal(out: &mut String, value: Decimal, dialect: Dialect) {
    let Decimal { mantissa, exponent } = value;
    let scientific = dialect == Dialect::Csv && !(-CSV_SCALE_MAX..=0).contains(&exponent);
    if scientific {
        out.push_str(&format!("{mantissa}e{exponent}"));
        return;
    }
    if mantissa < 0 {
        out.push('-');
    }
    let digits = mantissa.unsigned_abs().to_string();
    let places = exponent.unsigned_abs() as usize;
    if exponent >= 0 {
        out.push_str(&digits);
        if mantissa != 0 {
            out.extend(std::iter::repeat_n('0', places));
        }
    } else if digits.len() > places {
        let (whole, fraction) = digits.split_at(digits.len() - places);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    } else {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', places - digits.len()));
        out.push_str(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(mantissa: i64, exponent: i32, dialect: Dialect) -> String {
        let mut out = String::new();
        push_decimal(&mut out, Decimal { mantissa, exponent }, dialect);
        out
    }

    #[test]
    fn csv_keeps_mantissa_and_exponent_apart() {
        assert_eq!(text(13331, 1, Dialect::Csv), "13331e1");
        assert_eq!(text(150, -2, Dialect::Csv), "1.50");
        assert_eq!(text(-5, -3, Dialect::Csv), "-0.005");
        assert_eq!(text(1, -63, Dialect::Csv), "1e-63");
        assert_eq!(text(i64::MIN, 0, Dialect::Csv), "-9223372036854775808");
    }

    #[test]
    fn times_have_nanoseconds() {
        let date_time = |time_ns| {
            let mut out = String::new();
            push_date_time(&mut out, time_ns);
            out
        };
        assert_eq!(date_time(1_375_336_800_000_000_001), "2013-08-01T06:00:00.000000001Z");
        assert_eq!(date_time(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(date_time(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }

    #[test]
    fn fix_writes_all_digits() {
        assert_eq!(text(13331, 1, Dialect::Fix), "133310");
        assert_eq!(text(0, 5, Dialect::Fix), "0");
        assert_eq!(text(12, -2, Dialect::Fix), "0.12");
        assert_eq!(text(1, -20, Dialect::Fix), "0.00000000000000000001");
    }
}
