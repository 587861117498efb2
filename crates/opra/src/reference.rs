//! The top-down decoder: one field after the other, in wire order. Read this decoder first.

use crate::category::{GROUP_ENTRIES_MAX, appendage_of, group_of};
use crate::error::OpraErrorKind::{self, *};
use crate::field::OpraFieldKind;
use crate::packet::{PacketFrame, frame, open};
use crate::record::{Chars, OpraRecord, RESERVED_BITS, lane, lane_of, span};
use crate::{
    Category, Decode, Field, INTEGER_BYTES_MAX, OpraEntry, OpraError, OpraGroup, OpraMessage,
    OpraSummary, OpraVersion, PRESENCE_MAP_BYTES_MAX, TEXT_CHARS_MAX,
};

/// Decodes packets field by field.
#[derive(Debug, Default)]
pub struct ReferenceDecoder {
    record: OpraRecord,
    entries: Vec<OpraEntry>,
}

impl ReferenceDecoder {
    /// Creates a decoder.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decode for ReferenceDecoder {
    fn decode_packet(
        &mut self,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Result<OpraSummary, OpraError> {
        decode(packet, 0, &mut self.record, &mut self.entries, visit)
    }
}

/// Decodes a packet and shows its messages to `visit`, except for the first `skip`.
pub(crate) fn decode(
    packet: &[u8],
    skip: u32,
    record: &mut OpraRecord,
    entries: &mut Vec<OpraEntry>,
    mut visit: impl FnMut(OpraMessage<'_>),
) -> Result<OpraSummary, OpraError> {
    let (version, header, mut offset) = open(packet)?;
    let mut summary = OpraSummary { version, header, messages: 0, first_seq_num: None };
    record.reset();
    while let Some(found) = frame(packet, offset, summary.messages as usize)? {
        decode_message(packet, found, version, record, entries)?;
        let index = summary.messages;
        let offset_of = found.start as u32;
        let message =
            OpraMessage { record, entries, text: packet, version, index, offset: offset_of };
        if index == 0 {
            summary.first_seq_num = message.seq_num();
        }
        if index >= skip {
            visit(message);
        }
        summary.messages += 1;
        offset = found.end;
    }
    Ok(summary)
}

/// Decodes the message at `frame` into `record` and `entries`; `record` is also the dictionary.
pub(crate) fn decode_message(
    packet: &[u8],
    frame: PacketFrame,
    version: OpraVersion,
    record: &mut OpraRecord,
    entries: &mut Vec<OpraEntry>,
) -> Result<(), OpraError> {
    let PacketFrame { index, start, end } = frame;
    // A frame lies inside its packet, so this never falls back.
    let packet = packet.get(..end).unwrap_or(packet);
    let mut walk = ReferenceReader {
        packet,
        offset: start,
        index,
        version,
        pmap: 0,
        used: 0,
        record,
        entries,
    };
    walk.pmap = walk.presence_map()?;
    walk.message()?;
    if version == OpraVersion::V1 {
        // A reserved field that the packet never sent is absent.
        walk.record.fields &= walk.record.defined | !RESERVED_BITS;
    }
    if walk.pmap & !walk.used != 0 {
        return walk.fail(PresenceMapBits, None, start);
    }
    if walk.offset != end {
        return walk.fail(LeftoverBytes, None, walk.offset);
    }
    Ok(())
}

/// A walk over the fields of one message.
struct ReferenceReader<'a> {
    /// The packet up to the end of the message.
    packet: &'a [u8],
    offset: usize,
    index: usize,
    version: OpraVersion,
    /// Slot n is bit 63 - n.
    pmap: u64,
    /// The presence-map bits of the category's fields.
    used: u64,
    record: &'a mut OpraRecord,
    entries: &'a mut Vec<OpraEntry>,
}

impl ReferenceReader<'_> {
    fn fail<T>(
        &self,
        kind: OpraErrorKind,
        field: Option<Field>,
        offset: usize,
    ) -> Result<T, OpraError> {
        Err(OpraError::new(kind, field, self.index, offset))
    }

    fn message(&mut self) -> Result<(), OpraError> {
        self.record.fields = 0;
        self.record.changed = 0;
        self.entries.clear();
        self.field(Field::Category)?;
        let category = self.record.category();
        // The category, which begins every message, is already decoded.
        for field in &category.fields(self.version)[1..] {
            self.field(*field)?;
        }
        match category {
            Category::Quote => self.appendage(),
            Category::Underlying => {
                let message_type = self.record.number(Field::MessageType);
                group_of(self.version, message_type).map_or(Ok(()), |group| self.group(group))
            }
            _ => Ok(()),
        }
    }

    fn appendage(&mut self) -> Result<(), OpraError> {
        let Some(appendage) = appendage_of(self.record.number(Field::Bbo)) else {
            return self.fail(BboIndicator, Some(Field::Bbo), self.offset);
        };
        appendage.fields(self.version).iter().try_for_each(|field| self.field(*field))
    }

    /// Decodes the entries of a group. Each presence bit applies to all of them.
    fn group(&mut self, group: OpraGroup) -> Result<(), OpraError> {
        self.field(group.count)?;
        let count = self.record.number(group.count);
        if count > GROUP_ENTRIES_MAX {
            return self.fail(GroupCount, Some(group.count), self.offset);
        }
        for field in group.fields {
            self.announce(*field);
        }
        for _ in 0..count {
            group.fields.iter().try_for_each(|field| self.field(*field))?;
            let chars = |field| match group.fields.contains(&field) {
                true => self.record.chars(field),
                false => Chars::default(),
            };
            let number = |field| match group.fields.contains(&field) {
                true => self.record.number(field),
                false => 0,
            };
            let symbol =
                if group.count == Field::SpotCount { Field::FcoSymbol } else { Field::IndexSymbol };
            let entry = OpraEntry {
                symbol: chars(symbol),
                reserved: chars(Field::Reserved1),
                value: chars(Field::IndexValue),
                bid: chars(Field::BidIndexValue),
                offer: chars(Field::OfferIndexValue),
                decimal_placement: number(Field::DecimalPlacement),
                spot: number(Field::SpotValue),
            };
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Adds a field to the message and returns true if its presence bit is set.
    fn announce(&mut self, field: Field) -> bool {
        let bit = 1 << 63 >> field.slot(self.version);
        self.used |= bit;
        self.record.fields |= field.bit();
        self.pmap & bit != 0
    }

    /// Decodes a field if its presence bit is set; otherwise applies its operator.
    fn field(&mut self, field: Field) -> Result<(), OpraError> {
        if self.announce(field) {
            self.present(field)?;
            self.record.changed |= field.bit();
            self.record.defined |= field.bit();
            return Ok(());
        }
        let defined = self.record.defined & field.bit() != 0;
        match field.kind(self.version) {
            // A string that was never sent is empty.
            OpraFieldKind::Chars(_) | OpraFieldKind::Text => Ok(()),
            _ if !defined => self.fail(MissingValue, Some(field), self.offset),
            OpraFieldKind::Character | OpraFieldKind::Number(_) => Ok(()),
            OpraFieldKind::SeqNum(_) => {
                let next = self.record.seq_num().wrapping_add(1);
                self.set_seq_num(next);
                self.record.changed |= field.bit();
                Ok(())
            }
        }
    }

    fn set_seq_num(&mut self, seq_num: u64) {
        self.record.wide[lane::SEQ_NUM] = match self.version {
            OpraVersion::V1 => seq_num & 0xFFFF_FFFF,
            OpraVersion::V2 => seq_num,
        };
    }

    fn present(&mut self, field: Field) -> Result<(), OpraError> {
        match field.kind(self.version) {
            OpraFieldKind::Character | OpraFieldKind::Number(_) => {
                // Modulo 2^32: a fifth byte may have excess bits.
                self.record.numbers[field as usize] = self.integer(field)? as u32;
            }
            OpraFieldKind::SeqNum(_) => {
                let seq_num = self.integer(field)?;
                self.set_seq_num(seq_num);
            }
            OpraFieldKind::Chars(len_max) => {
                let item = self.item(Some(field), len_max.into())?;
                let packed = item.iter().fold(0, |word, byte| word << 7 | u64::from(byte & 0x7F));
                self.record.wide[lane_of(field)] = packed | (item.len() as u64) << 56;
            }
            OpraFieldKind::Text => {
                let start = self.offset;
                let len = self.item(Some(field), TEXT_CHARS_MAX)?.len();
                self.record.wide[lane_of(field)] = span(start, len);
            }
        }
        Ok(())
    }

    fn integer(&mut self, field: Field) -> Result<u64, OpraError> {
        let item = self.item(Some(field), INTEGER_BYTES_MAX)?;
        Ok(item.iter().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7F)))
    }

    /// Decodes the presence map: slot n becomes bit 63 - n.
    fn presence_map(&mut self) -> Result<u64, OpraError> {
        let item = self.item(None, PRESENCE_MAP_BYTES_MAX)?;
        let bits = item.iter().fold(0, |bits, byte| bits << 7 | u64::from(byte & 0x7F));
        Ok(bits << (64 - 7 * item.len()))
    }

    /// Takes the bytes up to and including the next stop bit, at most `len_max`.
    fn item(&mut self, field: Option<Field>, len_max: usize) -> Result<&[u8], OpraError> {
        let rest = self.packet.get(self.offset..).unwrap_or_default();
        let window = &rest[..rest.len().min(len_max)];
        match window.iter().position(|byte| byte & 0x80 != 0) {
            Some(last) => {
                self.offset += last + 1;
                Ok(&window[..=last])
            }
            None if window.len() == len_max => self.fail(FieldTooLong, field, self.offset),
            None => self.fail(EndOfInput, field, self.offset),
        }
    }
}
