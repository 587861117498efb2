//! The ASCII form of messages and packets, as printed by OPRA's own decoder.
//!
//! A message is participant, retransmission, category, type, sequence number and time, followed by
//! its body in wire order. Numbers are padded with zeros to their width, or cut to their low
//! digits; codes are characters. A default message is its text.

use crate::field::OpraFieldKind;
use crate::packet::{ETX, SOH};
use crate::{Category, Chars, Decode, Field, OpraError, OpraMessage, OpraSummary};

/// Separates two messages of a packet.
pub const UNIT_SEPARATOR: u8 = 0x1F;

/// The first fields of a message, in the order of the ASCII form.
const PREAMBLE: [Field; 6] = [
    Field::Participant,
    Field::Retransmission,
    Field::Category,
    Field::MessageType,
    Field::SeqNum,
    Field::Time,
];

/// Appends the ASCII form of `message` to `out`.
pub fn print_message(message: &OpraMessage<'_>, out: &mut Vec<u8>) {
    let category = message.category();
    if category == Category::Default {
        out.extend(message.text().unwrap_or_default().bytes());
        return;
    }
    for field in PREAMBLE {
        print_field(message, field, out);
    }
    for field in message.wire_order().skip(PREAMBLE.len()) {
        print_field(message, field, out);
    }
    print_group(message, out);
}

fn print_field(message: &OpraMessage<'_>, field: Field, out: &mut Vec<u8>) {
    match field.kind(message.version()) {
        OpraFieldKind::SeqNum(width) => {
            print_number(message.seq_num().unwrap_or_default(), width, out)
        }
        // One or two characters, as received.
        OpraFieldKind::Chars(_) if field.is_reserved() => {
            print_chars(message.record.chars(field), 0, out)
        }
        OpraFieldKind::Chars(width) => print_chars(message.record.chars(field), width, out),
        OpraFieldKind::Text => out.extend(message.text().unwrap_or_default().bytes()),
        kind => print_value(message.number(field).unwrap_or_default(), kind, out),
    }
}

fn print_value(value: u32, kind: OpraFieldKind, out: &mut Vec<u8>) {
    match kind {
        OpraFieldKind::Number(width) => print_number(value.into(), width, out),
        // A code beyond seven bits is not a character; prints its low eight bits.
        _ => out.push(value as u8),
    }
}

fn print_number(mut value: u64, width: u8, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + usize::from(width), b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit += (value % 10) as u8;
        value /= 10;
    }
}

fn print_chars(chars: Chars, width: u8, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&chars.bytes()[..chars.len().min(Chars::LEN_MAX)]);
    let end = start + usize::from(width).max(chars.len());
    out.resize(end, b' ');
}

fn print_group(message: &OpraMessage<'_>, out: &mut Vec<u8>) {
    let Some(group) = message.group() else { return };
    print_field(message, group.count, out);
    for entry in message.entries() {
        for field in group.fields.iter().filter(|field| message.has(**field)) {
            let kind = field.kind(message.version());
            match (kind, field) {
                (OpraFieldKind::Chars(_), Field::Reserved1) => print_chars(entry.reserved, 0, out),
                (OpraFieldKind::Chars(width), Field::IndexValue) => {
                    print_chars(entry.value, width, out)
                }
                (OpraFieldKind::Chars(width), Field::BidIndexValue) => {
                    print_chars(entry.bid, width, out)
                }
                (OpraFieldKind::Chars(width), Field::OfferIndexValue) => {
                    print_chars(entry.offer, width, out)
                }
                (OpraFieldKind::Chars(width), _) => print_chars(entry.symbol, width, out),
                (_, Field::SpotValue) => print_value(entry.spot, kind, out),
                _ => print_value(entry.decimal_placement, kind, out),
            }
        }
    }
}

/// Decodes a packet and appends its ASCII form to `out`: 0x01, the messages separated by 0x1F,
/// 0x03.
///
/// # Errors
///
/// Those of [`Decode::decode_packet`]; `out` then holds the messages before the failing one.
pub fn print_packet(
    decoder: &mut impl Decode,
    packet: &[u8],
    out: &mut Vec<u8>,
) -> Result<OpraSummary, OpraError> {
    out.push(SOH);
    let summary = decoder.decode_packet(packet, |message| {
        if message.index() > 0 {
            out.push(UNIT_SEPARATOR);
        }
        print_message(&message, out);
    })?;
    out.push(ETX);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_and_cut_to_their_width() {
        let mut out = Vec::new();
        print_number(42, 5, &mut out);
        print_number(1_234_567, 3, &mut out);
        assert_eq!(out, b"00042567");
    }

    #[test]
    fn short_strings_are_padded_with_spaces() {
        let mut out = Vec::new();
        print_chars(Chars::new(b"IB").unwrap(), 5, &mut out);
        assert_eq!(out, b"IB   ");
    }
}
