//! The encoder: produces the same bytes as OPRA's own encoder, in both versions.
//!
//! A field is omitted exactly if the dictionary has its value (for the sequence number: the value
//! before it). Integers take their shortest form; presence maps end with the last byte that has a
//! bit set.

pub(crate) mod flat;

use std::fmt;

use crate::bottom_up::BottomUpEngine;
use crate::category::mask;
use crate::field::{OpraFieldKind, fields_of};
use crate::packet::{ETX, HEADER_BYTES_V2, LENGTH_TO_END, PACKET_BYTES_MAX, SOH, VERSION_2};
use crate::record::{GROUP_BITS, OpraRecord, RESERVED_BITS, lane, lane_of, span, span_parts};
use crate::writer::OpraWriter;
use crate::{
    Category, Chars, Field, GROUP_ENTRIES_MAX, OpraEntry, OpraGroup, OpraMessage, OpraVersion,
    TEXT_CHARS_MAX, WireText,
};

/// The reason why a message or packet was not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpraEncodeErrorKind {
    /// A string became empty after it had characters in the same packet, which the format cannot
    /// express. Start a new packet.
    EmptyString,
    /// A value does not fit its field.
    FieldTooLong,
    /// The count of a group differs from the number of its entries, or exceeds
    /// [`GROUP_ENTRIES_MAX`].
    GroupCount,
    /// No message can follow one of 255 bytes or more. Start a new packet.
    LastMessage,
    /// A packet of version 1.03 cannot begin with a message of two bytes: a decoder would read the
    /// length as the byte that marks version 2.0. Add a character to its text.
    LooksLikeV2,
    /// A field that the category needs has no value.
    MissingValue,
    /// A text contains characters beyond seven bits.
    NotAscii,
    /// The packet would be too long, or have more messages than three digits can count. Start a new
    /// packet.
    PacketFull,
    /// The message has the other version.
    Version,
}

/// An encoding error: kind and field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpraEncodeError {
    /// The kind of error.
    pub kind: OpraEncodeErrorKind,
    /// The field with the error, if it is in one.
    pub field: Option<Field>,
}

impl OpraEncodeError {
    pub(crate) fn new(kind: OpraEncodeErrorKind, field: Option<Field>) -> Self {
        Self { kind, field }
    }
}

impl fmt::Display for OpraEncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            OpraEncodeErrorKind::EmptyString => "an empty string cannot follow another in a packet",
            OpraEncodeErrorKind::FieldTooLong => "value too long for its field",
            OpraEncodeErrorKind::GroupCount => "group count does not fit the entries",
            OpraEncodeErrorKind::LastMessage => "no message can follow one of 255 bytes or more",
            OpraEncodeErrorKind::LooksLikeV2 => {
                "a packet of 1.03 cannot begin with a message of two bytes"
            }
            OpraEncodeErrorKind::MissingValue => "value not set",
            OpraEncodeErrorKind::NotAscii => "text is not ASCII",
            OpraEncodeErrorKind::PacketFull => "packet full",
            OpraEncodeErrorKind::Version => "message of another version",
        })?;
        match self.field {
            Some(field) => write!(f, ": field {}", field.name()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OpraEncodeError {}

/// The largest message count in the header of version 2.0.
const MESSAGES_MAX: u32 = 999;
/// The largest sequence number in the header of version 2.0.
const HEADER_SEQ_NUM_MAX: u64 = 9_999_999_999;
/// Upper bound on the length of any message: fields, text and the largest group.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Encodes messages into packets.
#[derive(Debug)]
pub struct OpraEncoder {
    version: OpraVersion,
    engine: flat::FlatWriter,
    buffer: Vec<u8>,
    len: usize,
    /// The decoder's dictionary after the last message; texts are ranges of `buffer`.
    record: OpraRecord,
    header_seq_num: u64,
    messages: u32,
    /// The last message has no explicit length, so it ends the packet.
    is_closed: bool,
}

impl OpraEncoder {
    /// Creates an encoder for one version with the fastest engine of this CPU. Call
    /// [`OpraEncoder::begin`] before the first message.
    pub fn new(version: OpraVersion) -> Self {
        Self::with(version, BottomUpEngine::detect())
    }

    /// Creates an encoder with `engine`; `None` if this CPU does not support it.
    pub fn with_engine(version: OpraVersion, engine: BottomUpEngine) -> Option<Self> {
        BottomUpEngine::available().contains(&engine).then(|| Self::with(version, engine))
    }

    fn with(version: OpraVersion, engine: BottomUpEngine) -> Self {
        let mut encoder = Self {
            version,
            engine: flat::FlatWriter::new(engine),
            buffer: vec![0; PACKET_BYTES_MAX + MESSAGE_BYTES_MAX],
            len: 0,
            record: OpraRecord::default(),
            header_seq_num: 0,
            messages: 0,
            is_closed: false,
        };
        encoder.begin(0);
        encoder
    }

    /// Begins a packet. `seq_num`, the number of the first message, goes into the header.
    pub fn begin(&mut self, seq_num: u64) {
        self.record.reset();
        self.header_seq_num = seq_num;
        self.messages = 0;
        self.is_closed = false;
        self.len = match self.version {
            OpraVersion::V1 => 1,
            OpraVersion::V2 => HEADER_BYTES_V2,
        };
    }

    /// Returns the length of the packet so far, with its closing byte.
    pub fn len_bytes(&self) -> usize {
        self.len + 1
    }

    /// Returns the number of messages in the packet.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Ends the packet and returns its bytes, which remain valid until the next [`OpraEncoder::begin`].
    ///
    /// # Errors
    ///
    /// [`OpraEncodeErrorKind::FieldTooLong`] if the header's sequence number has more than ten digits.
    pub fn finish(&mut self) -> Result<&[u8], OpraEncodeError> {
        self.buffer[0] = SOH;
        if self.version == OpraVersion::V2 {
            if self.header_seq_num > HEADER_SEQ_NUM_MAX {
                return Err(OpraEncodeError::new(
                    OpraEncodeErrorKind::FieldTooLong,
                    Some(Field::SeqNum),
                ));
            }
            self.buffer[1] = VERSION_2;
            print_digits(&mut self.buffer[2..12], self.header_seq_num);
            print_digits(&mut self.buffer[12..15], self.messages.into());
        }
        self.buffer[self.len] = ETX;
        Ok(&self.buffer[..=self.len])
    }

    /// Adds a message. After an error the packet is unchanged.
    ///
    /// # Errors
    ///
    /// See [`OpraEncodeErrorKind`].
    pub fn push(&mut self, message: &OpraMessage<'_>) -> Result<(), OpraEncodeError> {
        let fail = |kind| Err(OpraEncodeError::new(kind, None));
        if message.version() != self.version {
            return fail(OpraEncodeErrorKind::Version);
        }
        if self.is_closed {
            return fail(OpraEncodeErrorKind::LastMessage);
        }
        if self.messages == MESSAGES_MAX && self.version == OpraVersion::V2 {
            return fail(OpraEncodeErrorKind::PacketFull);
        }
        let differing = self.engine.differing(&self.record.numbers, &message.record.numbers);
        let sent = self.sent(message, differing)?;
        // If the message might not fit, a copy of the dictionary allows a rollback.
        let is_near_end = self.len + MESSAGE_BYTES_MAX > PACKET_BYTES_MAX;
        let before = is_near_end.then(|| self.record.clone());
        let end = match self.version {
            OpraVersion::V2 if sent & !FLAT_BITS == 0 => self
                .write_flat(message, sent, differing)
                .unwrap_or_else(|| self.write_any(message, sent)),
            _ => self.write_any(message, sent),
        };
        let len = end - self.len - 1;
        if end + 1 > PACKET_BYTES_MAX {
            self.record = before.unwrap_or_default();
            return fail(OpraEncodeErrorKind::PacketFull);
        }
        if self.version == OpraVersion::V1 && self.messages == 0 && len == usize::from(VERSION_2) {
            self.record.reset();
            return fail(OpraEncodeErrorKind::LooksLikeV2);
        }
        self.is_closed = len >= usize::from(LENGTH_TO_END);
        self.buffer[self.len] = u8::try_from(len).unwrap_or(LENGTH_TO_END);
        self.len = end;
        self.messages += 1;
        Ok(())
    }

    /// Writes a message of version 2.0 whose fields to send are integers and a symbol, if their
    /// values have the usual size. Returns its end.
    #[inline]
    fn write_flat(
        &mut self,
        message: &OpraMessage<'_>,
        sent: u64,
        differing: u64,
    ) -> Option<usize> {
        let values = flat::FlatValues::of(message, sent)?;
        let start = self.len + 1;
        let room = self.buffer.get_mut(start..)?.first_chunk_mut()?;
        // Copies all numbers at once unless that would overwrite dictionary values of fields
        // outside the message. The next vector load can be forwarded from whole-row stores, but not
        // from stores of single numbers.
        if differing & self.record.defined & !message.fields() == 0 {
            self.record.numbers = message.record.numbers;
        } else {
            for field in fields_of(sent) {
                self.record.numbers[field as usize] = message.record.number(field);
            }
        }
        let len = self.engine.write(room, &mut self.record.numbers, values, sent);
        let fields = message.fields();
        let wide = &mut self.record.wide;
        if fields & Field::Symbol.bit() != 0 {
            wide[lane::SYMBOL] = message.record.wide[lane::SYMBOL];
        }
        if fields & Field::SeqNum.bit() != 0 {
            wide[lane::SEQ_NUM] = message.record.seq_num();
        }
        self.record.defined |= sent;
        Some(start + len?)
    }

    /// Writes a message of any shape and returns its end.
    fn write_any(&mut self, message: &OpraMessage<'_>, sent: u64) -> usize {
        let mut writer = OpraWriter { buffer: &mut self.buffer, offset: self.len + 1 };
        writer.presence_map(slots(sent, self.version));
        write_fields(message, sent, &mut writer);
        let end = writer.offset;
        self.store(message, sent, end);
        end
    }

    /// Returns the fields to send after checking that they can be encoded.
    fn sent(&self, message: &OpraMessage<'_>, differing: u64) -> Result<u64, OpraEncodeError> {
        let fields = message.fields();
        let mut sent = fields & (differing | !self.record.defined);
        sent &= !(WIDE_BITS | GROUP_BITS);
        if fields & Field::SeqNum.bit() != 0 {
            sent |= self.seq_num_bit(message.record.seq_num())?;
        }
        if fields & Field::Symbol.bit() != 0 {
            let symbol = message.record.chars(Field::Symbol);
            sent |= chars_bit(Field::Symbol, symbol, self.record.chars(Field::Symbol))?;
        }
        if self.version == OpraVersion::V1 {
            sent |= self.reserved_bits(message)?;
        }
        match message.category() {
            Category::Administrative | Category::Control => {
                sent |= self.text_bit(Field::Text, message)?;
            }
            Category::Default => sent |= self.text_bit(Field::DefaultMessage, message)?,
            Category::Underlying => sent |= self.group_bits(message)?,
            _ => {}
        }
        Ok(sent)
    }

    fn seq_num_bit(&self, seq_num: u64) -> Result<u64, OpraEncodeError> {
        let seq_num_max = match self.version {
            OpraVersion::V1 => u64::from(u32::MAX),
            OpraVersion::V2 => (1 << 35) - 1,
        };
        if seq_num > seq_num_max {
            return Err(OpraEncodeError::new(
                OpraEncodeErrorKind::FieldTooLong,
                Some(Field::SeqNum),
            ));
        }
        let next = self.record.seq_num().wrapping_add(1);
        let counted = self.record.defined & Field::SeqNum.bit() != 0 && seq_num == next;
        Ok(if counted { 0 } else { Field::SeqNum.bit() })
    }

    /// Returns the reserved fields to send, except for those of group entries.
    fn reserved_bits(&self, message: &OpraMessage<'_>) -> Result<u64, OpraEncodeError> {
        let possible = message.record.message_bits(OpraVersion::V1) & RESERVED_BITS;
        let lost = possible & self.record.defined & !message.fields();
        if let Some(field) = fields_of(lost).next() {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::EmptyString, Some(field)));
        }
        fields_of(possible).try_fold(0, |sent, field| match message.chars(field) {
            Some(chars) => Ok(sent | chars_bit(field, chars, self.record.chars(field))?),
            None => Ok(sent),
        })
    }

    fn text_bit(&self, field: Field, message: &OpraMessage<'_>) -> Result<u64, OpraEncodeError> {
        let text = message.text().unwrap_or_default();
        let (start, len) = span_parts(self.record.wide[lane_of(field)]);
        let previous = WireText::new(&self.buffer[start..start + len]);
        if text.len() > TEXT_CHARS_MAX {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::FieldTooLong, Some(field)));
        }
        match text == previous {
            true => Ok(0),
            false if text.is_empty() => {
                Err(OpraEncodeError::new(OpraEncodeErrorKind::EmptyString, Some(field)))
            }
            false => Ok(field.bit()),
        }
    }

    /// Returns the group fields to send. A field is omitted if every entry has the dictionary's
    /// value.
    fn group_bits(&self, message: &OpraMessage<'_>) -> Result<u64, OpraEncodeError> {
        let Some(group) = message.group() else { return Ok(0) };
        let count = message.record.number(group.count);
        let entries = message.entries();
        if usize::try_from(count) != Ok(entries.len()) || count > GROUP_ENTRIES_MAX {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::GroupCount, Some(group.count)));
        }
        let mut sent = 0;
        for field in group.fields.iter().filter(|field| message.has(**field)) {
            let undefined = self.record.defined & field.bit() == 0;
            for entry in entries {
                sent |= match member(entry, *field) {
                    EncoderMember::Number(value)
                        if undefined || value != self.record.number(*field) =>
                    {
                        field.bit()
                    }
                    EncoderMember::Number(_) => 0,
                    EncoderMember::Chars(chars) => {
                        chars_bit(*field, chars, self.record.chars(*field))?
                    }
                };
            }
            let mut members = entries.iter().map(|entry| member(entry, *field));
            let has_empty =
                members.any(|member| matches!(member, EncoderMember::Chars(c) if c.is_empty()));
            if sent & field.bit() != 0 && has_empty {
                return Err(OpraEncodeError::new(OpraEncodeErrorKind::EmptyString, Some(*field)));
            }
        }
        Ok(sent)
    }

    /// Updates the dictionary to the decoder's state after the message.
    fn store(&mut self, message: &OpraMessage<'_>, sent: u64, end: usize) {
        self.record.defined |= sent;
        let entry_fields = sent & message.group().map_or(0, |group| mask(group.fields));
        for field in fields_of(sent & !WIDE_BITS & !GROUP_BITS) {
            self.record.numbers[field as usize] = message.record.number(field);
        }
        let fields = message.fields();
        if fields & Field::SeqNum.bit() != 0 {
            self.record.wide[lane::SEQ_NUM] = message.record.seq_num();
        }
        for field in fields_of(sent & CHARS_BITS & !entry_fields) {
            self.record.wide[lane_of(field)] = message.record.chars(field).0;
        }
        for field in fields_of(sent & TEXT_BITS) {
            let len = message.text().unwrap_or_default().len();
            self.record.wide[lane_of(field)] = span(end - len, len);
        }
        if let (true, Some(entry)) = (entry_fields != 0, message.entries().last()) {
            for field in fields_of(entry_fields) {
                match member(entry, field) {
                    EncoderMember::Number(value) => self.record.numbers[field as usize] = value,
                    EncoderMember::Chars(chars) => self.record.wide[lane_of(field)] = chars.0,
                }
            }
        }
    }
}

const TEXT_BITS: u64 = Field::Text.bit() | Field::DefaultMessage.bit();
/// Fields outside groups that are not in the 32-bit lanes.
const WIDE_BITS: u64 = TEXT_BITS | Field::SeqNum.bit() | CHARS_BITS;
/// Strings outside groups that are stored in the record.
const CHARS_BITS: u64 = Field::Symbol.bit() | RESERVED_BITS;

/// Fields whose value is a single word.
const FLAT_BITS: u64 = !(TEXT_BITS | GROUP_BITS);

fn chars_bit(field: Field, chars: Chars, previous: Chars) -> Result<u64, OpraEncodeError> {
    if chars == previous {
        return Ok(0);
    }
    let kind = match chars.len() {
        0 => OpraEncodeErrorKind::EmptyString,
        len if len > field.bytes_max() => OpraEncodeErrorKind::FieldTooLong,
        _ => return Ok(field.bit()),
    };
    Err(OpraEncodeError::new(kind, Some(field)))
}

/// Returns the presence map of some fields: slot n is bit n.
fn slots(sent: u64, version: OpraVersion) -> u64 {
    match version {
        OpraVersion::V2 => sent,
        OpraVersion::V1 => fields_of(sent).fold(0, |slots, field| slots | 1 << field.slot(version)),
    }
}

fn write_fields(message: &OpraMessage<'_>, sent: u64, writer: &mut OpraWriter<'_>) {
    match message.version() {
        OpraVersion::V2 => {
            for field in fields_of(sent & !GROUP_BITS) {
                write_field(message, field, writer);
            }
        }
        OpraVersion::V1 => {
            let count = message.group().map(|group| group.count);
            for field in message.wire_order().chain(count) {
                if sent & field.bit() != 0 {
                    write_field(message, field, writer);
                }
            }
        }
    }
    if let Some(group) = message.group() {
        write_group(message, group, sent, writer);
    }
}

#[inline]
fn write_field(message: &OpraMessage<'_>, field: Field, writer: &mut OpraWriter<'_>) {
    match field.kind(OpraVersion::V2) {
        OpraFieldKind::Character | OpraFieldKind::Number(_) => {
            writer.integer(message.record.number(field).into())
        }
        OpraFieldKind::SeqNum(_) => writer.integer(message.record.seq_num()),
        OpraFieldKind::Chars(_) => writer.chars(message.record.chars(field)),
        OpraFieldKind::Text => writer.text(message.text().unwrap_or_default()),
    }
}

fn write_group(
    message: &OpraMessage<'_>,
    group: OpraGroup,
    sent: u64,
    writer: &mut OpraWriter<'_>,
) {
    for entry in message.entries() {
        for field in group.fields.iter().filter(|field| sent & field.bit() != 0) {
            match member(entry, *field) {
                EncoderMember::Number(value) => writer.integer(value.into()),
                EncoderMember::Chars(chars) => writer.chars(chars),
            }
        }
    }
}

/// The value of a member of a group entry.
enum EncoderMember {
    Number(u32),
    Chars(Chars),
}

fn member(entry: &OpraEntry, field: Field) -> EncoderMember {
    match field {
        Field::Reserved1 => EncoderMember::Chars(entry.reserved),
        Field::IndexValue => EncoderMember::Chars(entry.value),
        Field::BidIndexValue => EncoderMember::Chars(entry.bid),
        Field::OfferIndexValue => EncoderMember::Chars(entry.offer),
        Field::DecimalPlacement => EncoderMember::Number(entry.decimal_placement),
        Field::SpotValue => EncoderMember::Number(entry.spot),
        _ => EncoderMember::Chars(entry.symbol),
    }
}

fn print_digits(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}
