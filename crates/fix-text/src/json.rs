//! Messages as JSON, with the names of fields and values; groups are lists of their entries.

use crate::names::{FieldNode, Names};
use tickwire_fix::dictionary::{FieldDef, FixFieldType};
use tickwire_fix::{Field, FixMessage, Tag};
use tickwire_text::json::{push_hex, push_string, push_unsigned};

impl Names<'_> {
    /// Appends a message as an object on a separate line.
    pub fn push_message(
        &self,
        out: &mut Vec<u8>,
        place: Option<&str>,
        message: &FixMessage<'_, '_>,
        wrong: &[String],
    ) {
        out.push(b'{');
        if let Some(place) = place {
            out.extend_from_slice(b"\"place\":");
            push_string(out, place);
            out.push(b',');
        }
        out.extend_from_slice(b"\"msg_type\":");
        push_string(out, &String::from_utf8_lossy(message.msg_type()));
        if let Some(found) = self.message(message.msg_type()) {
            out.extend_from_slice(b",\"name\":");
            push_string(out, found.name());
        }
        if !wrong.is_empty() {
            out.extend_from_slice(b",\"wrong\":[");
            push_list(out, wrong, |out, text| push_string(out, text));
            out.push(b']');
        }
        out.extend_from_slice(b",\"fields\":[");
        push_list(out, &self.tree(message), |out, node| self.push_node(out, message, node));
        out.extend_from_slice(b"]}\n");
    }

    /// Appends a field, and the entries of the group that it counts.
    fn push_node(&self, out: &mut Vec<u8>, message: &FixMessage<'_, '_>, node: &FieldNode) {
        let Some(field) = message.field_at(node.at) else { return };
        let definition = self.field(field.tag);
        out.extend_from_slice(b"{\"tag\":");
        push_unsigned(out, u64::from(field.tag.0));
        if let Some(found) = definition {
            out.extend_from_slice(b",\"name\":");
            push_string(out, found.name());
        }
        push_value(out, &field, definition);
        if let Some(entries) = &node.entries {
            out.extend_from_slice(b",\"entries\":[");
            push_list(out, entries, |out, entry| {
                out.push(b'[');
                push_list(out, entry, |out, node| self.push_node(out, message, node));
                out.push(b']');
            });
            out.push(b']');
        }
        out.push(b'}');
    }
}

fn push_list<T>(out: &mut Vec<u8>, items: &[T], mut push: impl FnMut(&mut Vec<u8>, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, item);
    }
}

/// Appends a value by its type, with the name of a listed value.
fn push_value(out: &mut Vec<u8>, field: &Field<'_>, definition: Option<&FieldDef>) {
    let field_type = definition.map(FieldDef::field_type);
    match (std::str::from_utf8(field.value), field_type) {
        (Err(_), _) => {
            out.extend_from_slice(b",\"hex\":\"");
            push_hex(out, field.value);
            out.push(b'"');
        }
        (Ok("Y"), Some(FixFieldType::Boolean)) => out.extend_from_slice(b",\"value\":true"),
        (Ok("N"), Some(FixFieldType::Boolean)) => out.extend_from_slice(b",\"value\":false"),
        (Ok(text), Some(field_type)) if is_number(field_type) && is_json_number(text) => {
            out.extend_from_slice(b",\"value\":");
            out.extend_from_slice(text.as_bytes());
        }
        (Ok(text), _) => {
            out.extend_from_slice(b",\"value\":");
            push_string(out, text);
        }
    }
    let meaning = definition.and_then(|found| found.description(field.value));
    if let Some(meaning) = meaning.filter(|text| !text.is_empty() && field.tag != Tag::MSG_TYPE) {
        out.extend_from_slice(b",\"meaning\":");
        push_string(out, meaning);
    }
}

/// True if values of the type are written as JSON numbers.
fn is_number(field_type: FixFieldType) -> bool {
    use FixFieldType as T;
    matches!(
        field_type,
        T::Amt
            | T::DayOfMonth
            | T::Float
            | T::Int
            | T::Length
            | T::NumInGroup
            | T::Percentage
            | T::Price
            | T::PriceOffset
            | T::Qty
            | T::SeqNum
            | T::TagNum
    )
}

/// True if a number is valid in JSON; FIX also allows leading zeros and bare points, which remain
/// text.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    digits(whole) && digits(fraction) && (whole.len() == 1 || !whole.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_json_takes_is_a_number() {
        for text in ["0", "-0", "12", "-1.50", "0.001", "123456789012345678901234567890.5"] {
            assert!(is_json_number(text), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
        for text in ["", "-", "01", ".5", "5.", "1e5", "+1", "1 ", "-01", "1.2.3"] {
            assert!(!is_json_number(text), "{text}");
        }
    }
}
