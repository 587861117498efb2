//! Messages as JSON objects: short field names, codes as numbers, the category as a character.

use std::fmt::Write;

use crate::field::OpraFieldKind;
use crate::{Chars, Field, OpraEntry, OpraMessage};

/// Returns the message as a JSON object without line breaks.
pub fn to_string(message: &OpraMessage<'_>) -> String {
    let mut out = String::with_capacity(384);
    print_message(message, &mut out);
    out
}

/// Appends the message as a JSON object.
pub fn print_message(message: &OpraMessage<'_>, out: &mut String) {
    out.push_str("{\"cat\": ");
    print_category(message.category_code(), out);
    for field in message.wire_order().skip(1) {
        print_key(field, out);
        match field.kind(message.version()) {
            OpraFieldKind::SeqNum(_) => print_number(message.seq_num().unwrap_or_default(), out),
            OpraFieldKind::Chars(_) => print_chars(message.record.chars(field), out),
            OpraFieldKind::Text => print_string(message.text().unwrap_or_default().bytes(), out),
            _ => print_number(message.number(field).unwrap_or_default().into(), out),
        }
    }
    print_group(message, out);
    out.push('}');
}

fn print_category(code: u32, out: &mut String) {
    match u8::try_from(code) {
        Ok(code) if code.is_ascii() => print_string([code].into_iter(), out),
        _ => print_number(code.into(), out),
    }
}

fn print_key(field: Field, out: &mut String) {
    out.push_str(", \"");
    out.push_str(field.name());
    out.push_str("\": ");
}

fn print_number(value: u64, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn print_chars(chars: Chars, out: &mut String) {
    print_string(chars.bytes().into_iter().take(chars.len()), out);
}

/// Appends 7-bit characters as a JSON string.
fn print_string(bytes: impl Iterator<Item = u8>, out: &mut String) {
    out.push('"');
    for byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0..=0x1F | 0x7F.. => {
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(char::from(byte)),
        }
    }
    out.push('"');
}

fn print_group(message: &OpraMessage<'_>, out: &mut String) {
    let Some(group) = message.group() else { return };
    print_key(group.count, out);
    print_number(message.number(group.count).unwrap_or_default().into(), out);
    out.push_str(", \"groups\": [");
    for (index, entry) in message.entries().iter().enumerate() {
        out.push_str(if index == 0 { "{" } else { ", {" });
        let fields = group.fields.iter().filter(|field| message.has(**field));
        for (position, field) in fields.enumerate() {
            let comma = out.len();
            print_key(*field, out);
            if position == 0 {
                out.replace_range(comma..comma + 2, "");
            }
            print_member(entry, *field, out);
        }
        out.push('}');
    }
    out.push(']');
}

fn print_member(entry: &OpraEntry, field: Field, out: &mut String) {
    match field {
        Field::Reserved1 => print_chars(entry.reserved, out),
        Field::IndexValue => print_chars(entry.value, out),
        Field::BidIndexValue => print_chars(entry.bid, out),
        Field::OfferIndexValue => print_chars(entry.offer, out),
        Field::DecimalPlacement => print_number(entry.decimal_placement.into(), out),
        Field::SpotValue => print_number(entry.spot.into(), out),
        _ => print_chars(entry.symbol, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        print_string(b"a\"b\\c\x01\x7f".iter().copied(), &mut out);
        assert_eq!(out, r#""a\"b\\c\u0001\u007f""#);
    }

    #[test]
    fn a_category_that_is_no_character_is_a_number() {
        let mut out = String::new();
        print_category(0x1_006B, &mut out);
        print_category(u32::from(b'?'), &mut out);
        assert_eq!(out, "65643\"?\"");
    }
}
