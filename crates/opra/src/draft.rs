//! A message under construction, to be encoded.

use crate::record::{GROUP_BITS, OpraRecord, RESERVED_BITS, lane, lane_of, span};
use crate::{
    Category, Chars, Field, OpraEncodeError, OpraEncodeErrorKind, OpraEntry, OpraMessage,
    OpraVersion, TEXT_CHARS_MAX,
};

/// A message under construction. Values persist until they are set again, so the next message of
/// the same option needs only what changed.
#[derive(Clone, Debug)]
pub struct OpraMessageDraft {
    version: OpraVersion,
    record: OpraRecord,
    entries: Vec<OpraEntry>,
    text: Vec<u8>,
}

impl OpraMessageDraft {
    /// Creates an empty draft.
    pub fn new(version: OpraVersion) -> Self {
        Self { version, record: OpraRecord::default(), entries: Vec::new(), text: Vec::new() }
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.record.reset();
        self.entries.clear();
        self.text.clear();
    }

    /// Copies all values of `message`.
    pub fn copy_from(&mut self, message: &OpraMessage<'_>) {
        self.version = message.version;
        self.record = message.record.clone();
        self.entries.clear();
        self.entries.extend_from_slice(message.entries);
        self.text.clear();
        if let Some(text) = message.text() {
            self.text.extend(text.bytes());
            let field = self.text_field();
            self.record.wide[lane_of(field)] = span(0, self.text.len());
        }
    }

    fn text_field(&self) -> Field {
        match self.record.category() {
            Category::Default => Field::DefaultMessage,
            _ => Field::Text,
        }
    }

    /// Sets a character or number field. Ignores fields of other kinds.
    pub fn set_number(&mut self, field: Field, value: u32) {
        if lane_of(field) == lane::SCRATCH {
            self.record.numbers[field as usize] = value;
            self.record.defined |= field.bit();
        }
    }

    /// Sets the sequence number.
    pub fn set_seq_num(&mut self, seq_num: u64) {
        self.record.wide[lane::SEQ_NUM] = seq_num;
        self.record.defined |= Field::SeqNum.bit();
    }

    /// Sets the security symbol.
    pub fn set_symbol(&mut self, symbol: Chars) {
        self.set_chars(Field::Symbol, symbol);
    }

    /// Sets the security symbol or a reserved field of version 1.03. Ignores fields of other kinds.
    pub fn set_chars(&mut self, field: Field, chars: Chars) {
        if field == Field::Symbol || field.is_reserved() {
            self.record.wide[lane_of(field)] = chars.0;
            self.record.defined |= field.bit();
        }
    }

    /// Sets the text: `field` is [`Field::Text`] or [`Field::DefaultMessage`]; ignores other
    /// fields.
    ///
    /// # Errors
    ///
    /// [`OpraEncodeErrorKind::NotAscii`] or [`OpraEncodeErrorKind::FieldTooLong`].
    pub fn set_text(&mut self, field: Field, text: &str) -> Result<(), OpraEncodeError> {
        if !text.is_ascii() {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::NotAscii, Some(field)));
        }
        if text.len() > TEXT_CHARS_MAX {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::FieldTooLong, Some(field)));
        }
        if matches!(field, Field::Text | Field::DefaultMessage) {
            self.text.clear();
            self.text.extend_from_slice(text.as_bytes());
            self.record.wide[lane_of(field)] = span(0, self.text.len());
            self.record.defined |= field.bit();
        }
        Ok(())
    }

    /// Sets the entries of an underlying value, but not their count.
    pub fn set_entries(&mut self, entries: &[OpraEntry]) {
        self.entries.clear();
        self.entries.extend_from_slice(entries);
    }

    /// Returns the reserved fields that were not set; those of a group are members of its entries.
    fn absent_bits(&self) -> u64 {
        let mut set = self.record.defined & RESERVED_BITS;
        if self.record.category() == Category::Underlying {
            let is_set = self.entries.iter().any(|entry| !entry.reserved.is_empty());
            set = if is_set { Field::Reserved1.bit() } else { 0 };
        }
        RESERVED_BITS & !set
    }

    /// Returns the message as a view for an encoder.
    ///
    /// # Errors
    ///
    /// [`OpraEncodeErrorKind::MissingValue`] if a number that the category needs was not set.
    pub fn message(&mut self) -> Result<OpraMessage<'_>, OpraEncodeError> {
        let fields = self.record.message_bits(self.version) & !self.absent_bits();
        let strings = Field::Symbol.bit() | Field::Text.bit() | Field::DefaultMessage.bit();
        let missing = fields & !self.record.defined & !(strings | GROUP_BITS | RESERVED_BITS);
        if let Some(field) = crate::field::fields_of(missing).next() {
            return Err(OpraEncodeError::new(OpraEncodeErrorKind::MissingValue, Some(field)));
        }
        self.record.fields = fields;
        self.record.changed = fields;
        Ok(OpraMessage {
            record: &self.record,
            entries: &self.entries,
            text: &self.text,
            version: self.version,
            index: 0,
            offset: 0,
        })
    }
}
