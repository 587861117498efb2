//! Conversion of values from the dynamic engine to generated structs.

use crate::message::FieldValue;
use crate::template::Decimal;

/// Returns the unsigned integer, if the field is present.
pub fn unsigned(value: FieldValue<'_>) -> Option<u64> {
    match value {
        FieldValue::UInt(value) => Some(value),
        _ => None,
    }
}

/// Returns the signed integer, if the field is present.
pub fn signed(value: FieldValue<'_>) -> Option<i64> {
    match value {
        FieldValue::Int(value) => Some(value),
        _ => None,
    }
}

/// Returns the decimal, if the field is present.
pub fn decimal(value: FieldValue<'_>) -> Option<Decimal> {
    match value {
        FieldValue::Decimal(value) => Some(value),
        _ => None,
    }
}

/// Returns the string or byte vector, if the field is present.
pub fn bytes(value: FieldValue<'_>) -> Option<&[u8]> {
    match value {
        FieldValue::Ascii(value) | FieldValue::Unicode(value) | FieldValue::Bytes(value) => {
            Some(value)
        }
        _ => None,
    }
}

/// True if the field is present.
pub fn is_present(value: FieldValue<'_>) -> bool {
    !matches!(value, FieldValue::Absent | FieldValue::Discarded)
}
