//! Describes the template model in the terms of template files.

use tickwire_fast::Decimal;
use tickwire_fast::template::{
    DictionaryScope, EntryKey, EntryPart, FieldType, Operator, OperatorKind, Value,
};

/// Returns the type of a field.
pub fn field_type(field_type: &FieldType) -> String {
    match field_type {
        FieldType::Enum(enumeration) | FieldType::Set(enumeration) => {
            format!("{} of {}", field_type.name(), enumeration.elements.len())
        }
        FieldType::Timestamp(timestamp) => {
            let (unit, epoch) = (timestamp.unit.name(), timestamp.epoch.name());
            format!("timestamp ({unit}, {epoch})")
        }
        _ => field_type.name().to_owned(),
    }
}

/// Returns an operator with its initial value; empty without an operator.
pub fn operator(operator: &Operator) -> String {
    match (operator.kind, &operator.initial) {
        (OperatorKind::None, _) => String::new(),
        (kind, None) => kind.name().to_owned(),
        (kind, Some(initial)) => format!("{} = {}", kind.name(), value(initial)),
    }
}

/// Returns a value of the template file.
pub fn value(value: &Value) -> String {
    match value {
        Value::UInt(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Decimal(value) => decimal(*value),
        Value::Bytes(value) => bytes(value),
    }
}

/// Returns a decimal as separate mantissa and exponent.
pub fn decimal(value: Decimal) -> String {
    format!("{} x 10^{}", value.mantissa, value.exponent)
}

/// Returns bytes as a string if they are text, otherwise in hexadecimal.
pub fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => format!("\"{text}\""),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Returns a dictionary entry: the dictionary and the key.
pub fn entry(entry: &EntryKey) -> String {
    let dictionary = match &entry.dictionary {
        DictionaryScope::Global => "global".to_owned(),
        DictionaryScope::Template(name) => format!("template {name}"),
        DictionaryScope::Type(Some(name)) => format!("type {name}"),
        DictionaryScope::Type(None) => "type any".to_owned(),
        DictionaryScope::Named(name) => format!("\"{name}\""),
    };
    let part = match entry.part {
        EntryPart::Whole => "",
        EntryPart::Exponent => ".exponent",
        EntryPart::Mantissa => ".mantissa",
        EntryPart::Length => ".length",
    };
    format!("{dictionary}: {}{part}", entry.key)
}
