//! The flat record that decoders fill in place, and the message view of it.

use std::fmt;

use crate::category::{appendage_of, field_bits, group_of};
use crate::field::OpraFieldKind;
use crate::{Category, Field, OpraGroup, OpraVersion};

/// Lanes of [`OpraRecord::wide`] for values that need more than 32 bits.
pub(crate) mod lane {
    /// Receives values that have no lane, so that stores need no branch.
    pub const SCRATCH: usize = 0;
    pub const SEQ_NUM: usize = 1;
    pub const SYMBOL: usize = 2;
    pub const INDEX_SYMBOL: usize = 3;
    pub const INDEX_VALUE: usize = 4;
    pub const BID_INDEX_VALUE: usize = 5;
    pub const OFFER_INDEX_VALUE: usize = 6;
    pub const FCO_SYMBOL: usize = 7;
    pub const TEXT: usize = 8;
    pub const DEFAULT_MESSAGE: usize = 9;
    pub const RESERVED_1: usize = 10;
    pub const RESERVED_2: usize = 11;
    /// A power of two, so that a masked index needs no bounds check.
    pub const COUNT: usize = 16;
}

/// Returns the lane of a field in [`OpraRecord::wide`]; `lane::SCRATCH` for 32-bit fields.
pub(crate) const fn lane_of(field: Field) -> usize {
    match field {
        Field::SeqNum => lane::SEQ_NUM,
        Field::Symbol => lane::SYMBOL,
        Field::IndexSymbol => lane::INDEX_SYMBOL,
        Field::IndexValue => lane::INDEX_VALUE,
        Field::BidIndexValue => lane::BID_INDEX_VALUE,
        Field::OfferIndexValue => lane::OFFER_INDEX_VALUE,
        Field::FcoSymbol => lane::FCO_SYMBOL,
        Field::Text => lane::TEXT,
        Field::DefaultMessage => lane::DEFAULT_MESSAGE,
        Field::Reserved1 => lane::RESERVED_1,
        Field::Reserved2 => lane::RESERVED_2,
        _ => lane::SCRATCH,
    }
}

/// The wide lane of each slot; the scratch lane for slots without one.
pub(crate) static LANE: [u8; 64] = {
    let mut table = [lane::SCRATCH as u8; 64];
    let mut slot = 0;
    while slot < Field::ALL.len() {
        table[slot] = lane_of(Field::ALL[slot]) as u8;
        slot += 1;
    }
    table
};

/// The bits of [`Chars`] that hold the characters.
pub(crate) const CHARS_MASK: u64 = (1 << 56) - 1;

/// A string of up to eight 7-bit characters in one word: seven bits a character with the last one
/// lowest, and the number of characters in the top byte.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Chars(pub(crate) u64);

impl Chars {
    /// The maximum number of characters.
    pub const LEN_MAX: usize = 8;

    /// Packs `text`; `None` if it is longer than eight characters or not ASCII.
    pub fn new(text: &[u8]) -> Option<Self> {
        if text.len() > Self::LEN_MAX || !text.is_ascii() {
            return None;
        }
        let packed = text.iter().fold(0, |word, byte| word << 7 | u64::from(*byte));
        Some(Self(packed | (text.len() as u64) << 56))
    }

    /// Returns the number of characters.
    pub const fn len(self) -> usize {
        (self.0 >> 56) as usize
    }

    /// True if there are no characters: the packet does not contain the string.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the characters in the first [`Chars::len`] bytes, followed by zeros.
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        let len = self.len().min(Self::LEN_MAX);
        for (index, byte) in bytes[..len].iter_mut().enumerate() {
            *byte = (self.0 >> (7 * (len - 1 - index)) & 0x7F) as u8;
        }
        bytes
    }
}

impl fmt::Display for Chars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        f.pad(std::str::from_utf8(&bytes[..self.len().min(Self::LEN_MAX)]).unwrap_or_default())
    }
}

impl fmt::Debug for Chars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// A text inside the packet; its last character has a stop bit.
#[derive(Clone, Copy, Default)]
pub struct WireText<'a>(&'a [u8]);

impl PartialEq for WireText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl Eq for WireText<'_> {}

impl<'a> WireText<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of characters.
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// True if the text is empty.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the characters as 7-bit bytes.
    pub fn bytes(self) -> impl ExactSizeIterator<Item = u8> + 'a {
        self.0.iter().map(|byte| byte & 0x7F)
    }
}

impl fmt::Display for WireText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().try_for_each(|byte| fmt::Write::write_char(f, char::from(byte)))
    }
}

impl fmt::Debug for WireText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// One entry of the group of an underlying value. The message type determines its members; the
/// others are zero or empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpraEntry {
    /// Index symbol, or FCO symbol for spot values.
    pub symbol: Chars,
    /// Reserved field after an index symbol of version 1.03.
    pub reserved: Chars,
    /// Index value.
    pub value: Chars,
    /// Bid index value.
    pub bid: Chars,
    /// Offer index value.
    pub offer: Chars,
    /// Decimal placement indicator of a spot value.
    pub decimal_placement: u32,
    /// Foreign currency spot value.
    pub spot: u32,
}

/// The last values of all fields: the dictionary of a packet, and the last decoded message.
///
/// Each 32-bit field has a lane, in the order of version 2.0; the other fields have one of
/// [`lane`].
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct OpraRecord {
    pub numbers: [u32; 64],
    pub wide: [u64; lane::COUNT],
    /// Fields that have a value in this packet.
    pub defined: u64,
    /// Fields of the last decoded message.
    pub fields: u64,
    /// Fields whose value was sent with that message.
    pub changed: u64,
}

impl Default for OpraRecord {
    fn default() -> Self {
        Self { numbers: [0; 64], wide: [0; lane::COUNT], defined: 0, fields: 0, changed: 0 }
    }
}

impl OpraRecord {
    /// Removes all values, as before every packet.
    #[inline]
    pub fn reset(&mut self) {
        self.wide = [0; lane::COUNT];
        self.defined = 0;
        self.fields = 0;
        self.changed = 0;
    }

    pub fn number(&self, field: Field) -> u32 {
        self.numbers[field as usize]
    }

    pub fn chars(&self, field: Field) -> Chars {
        Chars(self.wide[lane_of(field)])
    }

    pub fn seq_num(&self) -> u64 {
        self.wide[lane::SEQ_NUM]
    }

    pub fn category(&self) -> Category {
        Category::from_code(self.number(Field::Category))
    }

    /// Returns the fields of a message with the current category, type and BBO indicator.
    pub fn message_bits(&self, version: OpraVersion) -> u64 {
        let message_type = self.number(Field::MessageType);
        field_bits(version, self.category(), message_type, self.number(Field::Bbo))
    }
}

/// Packs the position of a text in its buffer into one word of a record.
pub(crate) fn span(start: usize, len: usize) -> u64 {
    start as u64 | (len as u64) << 32
}

/// Unpacks start and length from [`span`].
pub(crate) fn span_parts(word: u64) -> (usize, usize) {
    ((word & 0xFFFF_FFFF) as usize, (word >> 32) as usize)
}

/// A decoded message: a view of the decoder's record, valid until the next message is decoded.
#[derive(Clone, Copy)]
pub struct OpraMessage<'a> {
    pub(crate) record: &'a OpraRecord,
    pub(crate) entries: &'a [OpraEntry],
    /// The buffer of texts: the packet, or the text of a draft.
    pub(crate) text: &'a [u8],
    pub(crate) version: OpraVersion,
    pub(crate) index: u32,
    pub(crate) offset: u32,
}

impl<'a> OpraMessage<'a> {
    /// Returns the version of the message's packet.
    #[inline]
    pub fn version(&self) -> OpraVersion {
        self.version
    }

    /// Returns the index of the message in its packet.
    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the offset of the message's presence map in the packet.
    #[inline]
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// Returns the category.
    #[inline]
    pub fn category(&self) -> Category {
        self.record.category()
    }

    /// Returns the code of the category, which [`Category::Default`] does not retain.
    #[inline]
    pub fn category_code(&self) -> u32 {
        self.record.number(Field::Category)
    }

    /// Returns the fields of the message, as a mask of [`Field::bit`]s.
    #[inline]
    pub fn fields(&self) -> u64 {
        self.record.fields
    }

    /// Returns the fields whose value was sent with this message rather than taken from the
    /// dictionary, as a mask. It includes the sequence number, which increments.
    #[inline]
    pub fn changed(&self) -> u64 {
        self.record.changed
    }

    /// True if the message has the field.
    #[inline]
    pub fn has(&self, field: Field) -> bool {
        self.record.fields & field.bit() != 0
    }

    /// Returns the value of a character or number field; `None` if the message does not have it or
    /// the field has another type.
    #[inline]
    pub fn number(&self, field: Field) -> Option<u32> {
        let number = lane_of(field) == lane::SCRATCH && self.has(field);
        number.then(|| self.record.number(field))
    }

    /// Returns all 32-bit values by slot of version 2.0. Only the lanes of [`OpraMessage::fields`] are
    /// meaningful.
    #[inline]
    pub fn numbers(&self) -> &'a [u32; 64] {
        &self.record.numbers
    }

    /// Returns the sequence number; default messages have none.
    #[inline]
    pub fn seq_num(&self) -> Option<u64> {
        self.has(Field::SeqNum).then(|| self.record.seq_num())
    }

    /// Returns the security symbol, if the message has one.
    #[inline]
    pub fn symbol(&self) -> Option<Chars> {
        self.chars(Field::Symbol)
    }

    /// Returns the security symbol or a reserved field, if the message has it outside a group.
    #[inline]
    pub fn chars(&self, field: Field) -> Option<Chars> {
        let is_plain = match field {
            Field::Symbol | Field::Reserved2 => true,
            Field::Reserved1 => self.category() != Category::Underlying,
            _ => false,
        };
        (is_plain && self.has(field)).then(|| self.record.chars(field))
    }

    /// Returns the fields of the message outside its group, in wire order.
    pub fn wire_order(&self) -> impl Iterator<Item = Field> {
        let category = self.category();
        let appendage = match category {
            Category::Quote => appendage_of(self.record.number(Field::Bbo)),
            _ => None,
        };
        let appended = appendage.map_or(&[][..], |appendage| appendage.fields(self.version));
        let has = self.record.fields;
        let fields = category.fields(self.version).iter().chain(appended).copied();
        fields.filter(move |field| has & field.bit() != 0)
    }

    /// Returns the group that follows the message's fields, if any.
    pub fn group(&self) -> Option<OpraGroup> {
        match self.category() {
            Category::Underlying => group_of(self.version, self.record.number(Field::MessageType)),
            _ => None,
        }
    }

    /// Returns the text of an administrative, control or default message.
    pub fn text(&self) -> Option<WireText<'a>> {
        let field =
            if self.category() == Category::Default { Field::DefaultMessage } else { Field::Text };
        self.has(field).then(|| {
            let (start, len) = span_parts(self.record.wide[lane_of(field)]);
            WireText(self.text.get(start..start.saturating_add(len)).unwrap_or_default())
        })
    }

    /// Returns the group entries of an underlying value; empty for other categories.
    pub fn entries(&self) -> &'a [OpraEntry] {
        let underlying = self.category() == Category::Underlying;
        if underlying { self.entries } else { &[] }
    }

    /// True if the two messages have the same fields with the same values.
    pub fn same_values(&self, other: &OpraMessage<'_>) -> bool {
        let same_field = |field: Field| match field.kind(OpraVersion::V2) {
            OpraFieldKind::Character | OpraFieldKind::Number(_) => {
                self.number(field) == other.number(field)
            }
            OpraFieldKind::SeqNum(_) => self.seq_num() == other.seq_num(),
            // Strings of groups are compared as entries.
            OpraFieldKind::Chars(_) => self.chars(field) == other.chars(field),
            OpraFieldKind::Text => self.text() == other.text(),
        };
        self.fields() == other.fields()
            && crate::field::fields_of(self.fields() & !GROUP_BITS).all(same_field)
            && self.entries() == other.entries()
    }
}

/// The fields of group entries, which are in [`OpraMessage::entries`].
pub(crate) const GROUP_BITS: u64 = 0xFE00_0000_0000;

/// The reserved fields of version 1.03.
pub(crate) const RESERVED_BITS: u64 = Field::Reserved1.bit() | Field::Reserved2.bit();

impl fmt::Debug for OpraMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::to_string(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chars_keep_every_character_and_the_length() {
        for text in ["", "X", "IB", "IBM  ", "00576.25", "\0A"] {
            let chars = Chars::new(text.as_bytes()).unwrap();
            assert_eq!(chars.to_string(), text);
            assert_eq!(chars.len(), text.len());
        }
        assert_eq!(Chars::new(b"123456789"), None);
        assert_eq!(Chars::new(b"\x80"), None);
    }

    #[test]
    fn group_bits_are_the_fields_of_entries() {
        let bits = (41..=47).fold(0, |bits, slot| bits | Field::ALL[slot].bit());
        assert_eq!(bits, GROUP_BITS);
    }
}
