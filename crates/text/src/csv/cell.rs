//! The text of a cell.

use crate::digits::{push_integer, push_last, push_unsigned};
use crate::json::{JsonForm, push_record};
use crate::scalar::{self, Dialect, push_scalar};
use crate::source::{FieldAccess, push_plain};
use tickwire_fast::template::FieldType;
use tickwire_fast::{Decimal, FieldLayout, FieldValue, Record};

/// Most decimal places for which a decimal is written in one step.
const PLACES_MAX: u32 = 8;
const POWERS: [u64; PLACES_MAX as usize + 1] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Appends a field's value; nothing if it is absent.
#[inline]
pub(super) fn push_source(out: &mut Vec<u8>, record: Record<'_>, source: &FieldAccess) {
    match source {
        FieldAccess::UInt(slot) => {
            if let Some(value) = record.read(slot) {
                push_unsigned(out, value);
            }
        }
        FieldAccess::Int(slot) => {
            if let Some(value) = record.read(slot) {
                push_integer(out, value);
            }
        }
        FieldAccess::Decimal(slot) => {
            if let Some(value) = record.read(slot) {
                push_decimal(out, value);
            }
        }
        FieldAccess::Text(slot, index) => {
            if let Some(bytes) = record.read(slot)
                && !push_text(out, bytes)
            {
                push_field(out, record, *index);
            }
        }
        FieldAccess::Other(index) => push_field(out, record, *index),
    }
}

/// Appends the value of the field at `index`; nothing if it is absent.
pub(super) fn push_field(out: &mut Vec<u8>, record: Record<'_>, index: usize) {
    push_value(out, &record.layouts()[index], record.value(index));
}

/// Appends a value; nothing if it is absent.
pub(super) fn push_value(out: &mut Vec<u8>, field: &FieldLayout, value: FieldValue<'_>) {
    let is_named = matches!(field.field_type, Some(FieldType::Boolean | FieldType::Enum(_)));
    match value {
        FieldValue::UInt(value) if !is_named => push_unsigned(out, value),
        FieldValue::Int(value) => push_integer(out, value),
        FieldValue::Decimal(value) => push_decimal(out, value),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) if push_text(out, bytes) => {}
        FieldValue::Dynamic(_, inner) => {
            let mut json = Vec::new();
            push_record(&mut json, inner, JsonForm::Named);
            push_quoted(out, &String::from_utf8_lossy(&json));
        }
        value => {
            let mut text = String::new();
            if push_scalar(&mut text, field, value, Dialect::Csv) {
                push_quoted(out, &text);
            }
        }
    }
}

/// Appends a string if it is plain ASCII and needs no quotes. Returns false, and appends nothing,
/// otherwise.
#[inline]
fn push_text(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let is_special = |byte| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    !bytes.is_empty() && push_plain(out, bytes, is_special)
}

fn push_decimal(out: &mut Vec<u8>, value: Decimal) {
    let places = value.exponent.unsigned_abs();
    if value.exponent > 0 || places > PLACES_MAX {
        let mut text = String::new();
        scalar::push_decimal(&mut text, value, Dialect::Csv);
        out.extend_from_slice(text.as_bytes());
        return;
    }
    if value.mantissa < 0 {
        out.push(b'-');
    }
    let power = POWERS[places as usize];
    let mantissa = value.mantissa.unsigned_abs();
    push_unsigned(out, mantissa / power);
    if places > 0 {
        out.push(b'.');
        push_last(out, mantissa % power, places as usize);
    }
}

/// Appends a value, quoted if necessary. An empty string is `""`, which distinguishes it from an
/// absent field.
pub(super) fn push_quoted(out: &mut Vec<u8>, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_stand_only_where_they_must() {
        let quoted = |text: &str| {
            let mut out = Vec::new();
            push_quoted(&mut out, text);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn decimals_are_those_of_all_text() {
        for mantissa in [0, 1, -1, 5, -150, 136_150, 99_999_999, 100_000_000, i64::MIN, i64::MAX] {
            for exponent in -20..=2 {
                let value = Decimal { mantissa, exponent };
                let (mut out, mut text) = (Vec::new(), String::new());
                push_decimal(&mut out, value);
                scalar::push_decimal(&mut text, value, Dialect::Csv);
                assert_eq!(out, text.as_bytes());
            }
        }
    }
}
