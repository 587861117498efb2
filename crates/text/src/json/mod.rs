//! Messages as JSON, in the order of their templates.
//!
//! Does not use a JSON library: a message may have two fields with the same name, and both are
//! kept; and values are written without an intermediate tree.

mod hex;
mod members;
mod message;
mod plan;
mod text;
mod value;

pub use hex::parse_hex;
pub use members::ObjectWriter;
pub use message::{Mismatch, build_message, error_text};
pub(crate) use plan::JsonPlan;
pub use text::{push_hex, push_integer, push_string, push_unsigned};
pub use value::Json;

use crate::scalar::element_name;
use tickwire_fast::template::FieldType;
use tickwire_fast::{Decimal, FieldLayout, FieldValue, Record};

/// The JSON form of values that are not plain numbers or strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    /// Absent fields are `null`, enumerations are the name of their element, booleans `true` and
    /// `false`.
    Named,
    /// Absent fields are omitted; enumerations and booleans are integers as on the wire.
    Wire,
}

/// Appends a record as an object, without the fields that a projection left out.
pub fn push_record(out: &mut Vec<u8>, record: Record<'_>, form: JsonForm) {
    out.push(b'{');
    let mut first = true;
    for (field, value) in record.fields() {
        match value {
            FieldValue::Discarded => continue,
            FieldValue::Absent if form == JsonForm::Wire => continue,
            _ => {}
        }
        if !first {
            out.extend_from_slice(b", ");
        }
        first = false;
        push_string(out, &field.name.local);
        out.extend_from_slice(b": ");
        push_value(out, field, value, form);
    }
    out.push(b'}');
}

fn push_value(out: &mut Vec<u8>, field: &FieldLayout, value: FieldValue<'_>, form: JsonForm) {
    match value {
        FieldValue::Absent | FieldValue::Discarded => out.extend_from_slice(b"null"),
        FieldValue::UInt(value) => push_uint(out, field, value, form),
        FieldValue::Int(value) => push_integer(out, value),
        FieldValue::Decimal(value) => push_decimal(out, value),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => {
            match std::str::from_utf8(bytes) {
                Ok(text) => push_string(out, text),
                // A lenient decoder accepts invalid UTF-8: write the bytes.
                Err(_) => push_bytes(out, bytes),
            }
        }
        FieldValue::Bytes(bytes) => push_bytes(out, bytes),
        FieldValue::Group(record) | FieldValue::Dynamic(_, record) => {
            push_record(out, record, form);
        }
        FieldValue::Sequence(entries) => {
            out.push(b'[');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                push_record(out, entry, form);
            }
            out.push(b']');
        }
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"{\"hex\": \"");
    push_hex(out, bytes);
    out.extend_from_slice(b"\"}");
}

fn push_uint(out: &mut Vec<u8>, field: &FieldLayout, value: u64, form: JsonForm) {
    match (form, &field.field_type, value) {
        (JsonForm::Named, Some(FieldType::Boolean), 0) => out.extend_from_slice(b"false"),
        (JsonForm::Named, Some(FieldType::Boolean), 1) => out.extend_from_slice(b"true"),
        (JsonForm::Named, Some(FieldType::Enum(enumeration)), _) => {
            match element_name(enumeration, value) {
                Some(name) => push_string(out, name),
                None => push_unsigned(out, value),
            }
        }
        _ => push_unsigned(out, value),
    }
}

fn push_decimal(out: &mut Vec<u8>, value: Decimal) {
    out.extend_from_slice(b"{\"m\": ");
    push_integer(out, value.mantissa);
    out.extend_from_slice(b", \"e\": ");
    push_integer(out, i64::from(value.exponent));
    out.push(b'}');
}
