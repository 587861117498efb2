//! Initial values as text; reading it returns the same value.

use crate::template::model::{Enumeration, FieldType, Value};
use crate::template::reader::{resolve_enum, resolve_set};
use crate::value::HexDigits;
use std::borrow::Cow;

/// Returns a value of a type as text.
pub(in crate::template) fn text<'v>(value: &'v Value, field_type: &FieldType) -> Cow<'v, str> {
    match (value, field_type) {
        (Value::UInt(value), FieldType::Boolean) => match value {
            0 => "false".into(),
            _ => "true".into(),
        },
        (Value::UInt(value), FieldType::Enum(elements)) => enum_text(*value, elements).into(),
        (Value::UInt(value), FieldType::Set(elements)) => set_text(*value, elements).into(),
        (Value::UInt(value), _) => value.to_string().into(),
        (Value::Int(value), _) => value.to_string().into(),
        (Value::Decimal(decimal), _) => decimal.to_string().into(),
        (Value::Bytes(bytes), FieldType::Ascii | FieldType::Unicode) => {
            String::from_utf8_lossy(bytes)
        }
        (Value::Bytes(bytes), _) => HexDigits(bytes).to_string().into(),
    }
}

/// Most names tried for a value; more ambiguous names are not expected.
const CANDIDATES_MAX: usize = 64;

/// Returns a name if it identifies the value, else an id, else the number.
fn enum_text(value: u64, enumeration: &Enumeration) -> String {
    let elements = || enumeration.elements.iter().filter(|element| element.value == value);
    elements()
        .map(|element| &element.name)
        .chain(elements().map(|element| &element.id))
        .take(CANDIDATES_MAX)
        .find(|text| resolve_enum(text, enumeration) == Ok(value))
        .map_or_else(|| value.to_string(), ToString::to_string)
}

fn set_text(bits: u64, enumeration: &Enumeration) -> String {
    let names: Vec<&str> = enumeration
        .elements
        .iter()
        .filter(|element| element.value & bits != 0)
        .map(|element| &*element.name)
        .collect();
    let names = names.join(" ");
    if resolve_set(&names, enumeration) == Ok(bits) { names } else { bits.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_the_names_of_their_bits() {
        use crate::template::model::Element;
        let element = |(index, name): (usize, &str)| Element {
            name: name.into(),
            id: "".into(),
            value: 1 << index,
        };
        let elements = ["Red", "Green", "Blue"].into_iter().enumerate().map(element).collect();
        let colours = Enumeration { name: "Colours".into(), elements };
        assert_eq!(set_text(0b101, &colours), "Red Blue");
        assert_eq!(set_text(0b010, &colours), "Green");
        assert_eq!(set_text(0b111, &colours), "Red Green Blue");
        assert_eq!(set_text(0b1001, &colours), "9", "no element has the fourth bit");
    }

    #[test]
    fn bytes_are_hexadecimal() {
        let value = Value::Bytes(vec![0, 255].into());
        assert_eq!(text(&value, &FieldType::ByteVector), "00ff");
        assert_eq!(text(&Value::Bytes((*b"a b").into()), &FieldType::Ascii), "a b");
    }
}
