//! Blocks of records for columnar output.

use crate::dictionary::{LONG_WORD, Word, is_long, short_bytes};
use crate::message::{Entries, Record};
use crate::program::{FieldLayout, Program, SegmentRef, Storage};
use crate::slot::{NumberKind, Repeated, Slot, SlotKind, Text};
use crate::template::FieldType;
use std::ops::Range;

/// Bits of a word.
const BITS: usize = 64;

/// Up to 64 records of one segment, read field by field: a column takes 64 values of a field in one
/// loop, and one word holds the field's presence bits, one per record.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{ColumnBlock, Decoder, Program, Repeated, Slot, TemplateSet, UInt};
///
/// let xml = r#"<templates><template name="Trades" id="1">
///     <sequence name="Trade"><uInt32 name="Size"/></sequence></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
/// let trades: Slot<Repeated> = program.slot(program.handle(0, "Trade").unwrap()).unwrap();
/// let size: Slot<UInt> = program.slot(program.handle(0, "Trade/Size").unwrap()).unwrap();
/// let mut block = ColumnBlock::of(&program, size.segment());
///
/// let mut decoder = Decoder::new(program);
/// for bytes in [[0xc0, 0x81, 0x82, 0x87, 0x89], [0xc0, 0x81, 0x82, 0x81, 0x83]] {
///     let decoded = decoder.decode(&bytes).unwrap();
///     let entries = decoded.message.root().read(&trades).unwrap();
///     assert_eq!(block.push_entries(&entries, 0), 2);
/// }
/// block.seal();
/// let sizes: Vec<_> = block.numbers(&size).collect();
/// assert_eq!((sizes, block.presence(&size)), (vec![7, 9, 1, 3], 0b1111));
/// ```
#[derive(Debug)]
pub struct ColumnBlock {
    segment: SegmentRef,
    /// Words per record.
    stride: usize,
    /// Words of a record that hold presence bits.
    presence_words: Range<usize>,
    /// Presence bits in use in any of these words, from the lowest on.
    presence_bits: usize,
    fields: Vec<CellPlace>,
    /// The words of the records, allocated for a full block.
    words: Vec<Word>,
    len: usize,
    /// One bit per record, set for records [without fields](Self::push_absent).
    absent: u64,
    /// Strings that are too long for a word.
    strings: Vec<u8>,
    long: Vec<Range<usize>>,
    /// Transposed presence bits: for each bit of each presence word, one word with a bit per
    /// record.
    presence: Vec<[u64; BITS]>,
}

/// Position of a field in a record.
#[derive(Clone, Copy, Debug)]
struct CellPlace {
    /// First word of its value; `None` if it has no value in the record.
    at: Option<usize>,
    presence_at: usize,
    bit: u32,
    is_text: bool,
}

/// A string of a block. Strings of up to seven bytes are stored in the word.
#[derive(Clone, Copy, Debug)]
pub struct BlockText(u64);

impl BlockText {
    /// Returns eight bytes that begin with the string, and its length; `None` if it is longer than
    /// seven bytes.
    #[inline(always)]
    pub fn short(self) -> Option<([u8; 8], usize)> {
        let word = self.0.to_le_bytes();
        let len = short_bytes(&word)?.len();
        Some((word, len))
    }

    /// Returns true if the string is one byte.
    #[inline(always)]
    pub fn is_byte(self) -> bool {
        self.0 >> (BITS - 8) == 1
    }

    /// Returns the byte of a string that [is one](Self::is_byte).
    #[inline(always)]
    pub fn byte(self) -> u8 {
        self.0 as u8
    }

    /// Returns this string if `is_present`, otherwise an empty one.
    #[inline(always)]
    pub fn or_empty(self, is_present: bool) -> Self {
        Self(self.0 & 0_u64.wrapping_sub(u64::from(is_present)))
    }
}

impl CellPlace {
    fn of(field: &FieldLayout, presence_start: usize) -> Self {
        let (at, is_scalar) = match field.storage {
            Storage::Slot(at) => (Some(at as usize), true),
            Storage::Sequence { slot, .. } => (Some(slot as usize), false),
            _ => (None, false),
        };
        use FieldType::{Ascii, ByteVector, Unicode};
        let is_text = is_scalar && matches!(field.field_type, Some(Ascii | Unicode | ByteVector));
        let (word, bit) = field.presence;
        Self { at, presence_at: presence_start + word as usize, bit: u32::from(bit), is_text }
    }
}

impl ColumnBlock {
    /// Capacity of a block, records.
    pub const RECORDS_MAX: usize = BITS;

    /// Creates an empty block for the records of a segment. Of nested groups, sequences and
    /// references it keeps only the presence and the number of entries.
    pub fn of(program: &Program, segment: SegmentRef) -> Self {
        let fields = program.fields_of(segment);
        let layout = program.segment(segment);
        let presence_words = fields.iter().map(|field| field.presence.0 as usize + 1).max();
        let presence_bits = fields.iter().map(|field| usize::from(field.presence.1) + 1).max();
        let start = layout.presence_at as usize;
        Self {
            segment,
            stride: layout.record_words as usize,
            presence_words: start..start + presence_words.unwrap_or_default(),
            presence_bits: presence_bits.unwrap_or_default(),
            fields: fields.iter().map(|field| CellPlace::of(field, start)).collect(),
            words: Vec::new(),
            len: 0,
            absent: 0,
            strings: Vec::new(),
            long: Vec::new(),
            presence: Vec::new(),
        }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the block has no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if the block is full.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= Self::RECORDS_MAX
    }

    /// Removes the records; keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.absent = 0;
        self.strings.clear();
        self.long.clear();
    }

    /// Appends a record.
    ///
    /// # Panics
    /// If the block is full, or the record is of another segment.
    pub fn push(&mut self, record: &Record<'_>) {
        assert_eq!(record.segment(), self.segment, "the record is of another segment");
        assert!(!self.is_full(), "there is no room for the record");
        self.append(record.words_of(self.stride), 1);
        if record.has_long_strings() {
            self.take_strings(|row| record.bytes_of_word(row));
        }
    }

    /// Appends entries, from index `from` on, until the block is full; returns the number appended.
    ///
    /// # Panics
    /// If the entries are of another segment.
    pub fn push_entries(&mut self, entries: &Entries<'_>, from: usize) -> usize {
        assert_eq!(entries.segment(), self.segment, "the entries are of another segment");
        let count = entries.len().saturating_sub(from).min(Self::RECORDS_MAX - self.len);
        let stride = self.stride;
        if entries.has_long_strings() {
            for entry in entries.iter().skip(from).take(count) {
                self.push(&entry);
            }
        } else {
            self.append(&entries.words()[from * stride..(from + count) * stride], count);
        }
        count
    }

    /// Appends a record whose fields are all absent.
    ///
    /// # Panics
    /// If the block is full.
    pub fn push_absent(&mut self) {
        assert!(!self.is_full(), "the block is full");
        self.make_room();
        self.words[self.len * self.stride..][..self.stride].fill([0; 8]);
        self.absent |= 1 << self.len;
        self.len += 1;
    }

    #[inline(always)]
    fn append(&mut self, words: &[Word], records: usize) {
        self.make_room();
        self.words[self.len * self.stride..][..words.len()].copy_from_slice(words);
        self.len += records;
    }

    fn make_room(&mut self) {
        if self.words.len() < self.stride * Self::RECORDS_MAX {
            self.words.resize(self.stride * Self::RECORDS_MAX, [0; 8]);
        }
    }

    /// Computes the presence bits of all fields. Call it before reading them.
    pub fn seal(&mut self) {
        let words = &self.words[..self.len * self.stride];
        self.presence.clear();
        for at in self.presence_words.clone() {
            let mut bits = [0; BITS];
            for (bits, record) in bits.iter_mut().zip(words.chunks_exact(self.stride)) {
                *bits = u64::from_le_bytes(record[at]);
            }
            let first = bits[0];
            match bits[..self.len].iter().all(|bits| *bits == first) {
                // Common case: all records have the same presence bits.
                true => {
                    let all = self.all();
                    self.presence.push(std::array::from_fn(|bit| (first >> bit & 1) * all));
                }
                false => {
                    transpose(&mut bits, self.presence_bits);
                    self.presence.push(bits);
                }
            }
        }
    }

    /// Returns the records that have a field: one bit per record, the first in the lowest bit.
    ///
    /// # Panics
    /// If the slot belongs to another segment, or the block is not [sealed](Self::seal).
    pub fn presence<K: SlotKind>(&self, slot: &Slot<K>) -> u64 {
        assert_eq!(slot.segment(), self.segment, "the slot belongs to another segment");
        let (at, mask) = slot.presence_place();
        self.bits(at, mask.trailing_zeros())
    }

    /// Returns the records that have the field at this index: one bit per record, the first in the
    /// lowest bit.
    ///
    /// # Panics
    /// If the segment has no field of that index, or the block is not [sealed](Self::seal).
    pub fn presence_of(&self, index: usize) -> u64 {
        let CellPlace { presence_at, bit, .. } = self.fields[index];
        self.bits(presence_at, bit)
    }

    /// Returns a mask with a bit for each record.
    pub fn all(&self) -> u64 {
        u64::MAX.checked_shr((Self::RECORDS_MAX - self.len) as u32).unwrap_or_default()
    }

    /// Returns a mask with a bit for each record that has fields.
    pub fn there(&self) -> u64 {
        self.all() & !self.absent
    }

    fn bits(&self, at: usize, bit: u32) -> u64 {
        self.presence[at - self.presence_words.start][bit as usize]
    }

    /// Returns a field's number in each record; undefined where the field is absent.
    ///
    /// # Panics
    /// If the slot belongs to another segment.
    #[inline]
    pub fn numbers<K: NumberKind>(
        &self,
        slot: &Slot<K>,
    ) -> impl ExactSizeIterator<Item = K::Number> + use<'_, K> {
        self.pairs(slot, 1).map(|words| K::of(|index| words[index]))
    }

    /// Returns a sequence's number of entries in each record; undefined where the sequence is
    /// absent.
    ///
    /// # Panics
    /// If the slot belongs to another segment.
    #[inline]
    pub fn lengths(&self, slot: &Slot<Repeated>) -> impl ExactSizeIterator<Item = u32> + use<'_> {
        // The high half is the position of the entries.
        self.pairs(slot, 0).map(|[word, _]| word as u32)
    }

    /// Returns a field's string in each record; undefined where the field is absent.
    ///
    /// # Panics
    /// If the slot belongs to another segment.
    #[inline]
    pub fn texts(&self, slot: &Slot<Text>) -> impl ExactSizeIterator<Item = BlockText> + use<'_> {
        self.pairs(slot, 0).map(|[word, _]| BlockText(word))
    }

    /// Returns the bytes of a string that is not [`short`](BlockText::short).
    pub fn long(&self, text: BlockText) -> &[u8] {
        let place = self.long.get((text.0 & (u64::MAX >> 8)) as usize).cloned();
        place.and_then(|place| self.strings.get(place)).unwrap_or_default()
    }

    /// Returns, for each record, the first word of a field and the word `behind` it.
    #[inline(always)]
    fn pairs<K: SlotKind>(
        &self,
        slot: &Slot<K>,
        behind: usize,
    ) -> impl ExactSizeIterator<Item = [u64; 2]> + use<'_, K> {
        assert_eq!(slot.segment(), self.segment, "the slot belongs to another segment");
        let at = slot.at();
        // Only decimals have a second word; for others this one is ignored.
        let second = (at + behind).min(self.stride - 1);
        let words = &self.words[..self.len * self.stride];
        words
            .chunks_exact(self.stride)
            .map(move |record| [record[at], record[second]].map(u64::from_le_bytes))
    }

    /// Copies the long strings of the last record; `bytes_of` returns the bytes of a word's string.
    #[cold]
    #[inline(never)]
    fn take_strings(&mut self, bytes_of: impl Fn(Word) -> Vec<u8>) {
        let row = (self.len - 1) * self.stride;
        for place in &self.fields {
            let (Some(at), true) = (place.at, place.is_text) else { continue };
            let presence = u64::from_le_bytes(self.words[row + place.presence_at]);
            let is_present = presence >> place.bit & 1 != 0;
            let at = row + at;
            if is_present && is_long(self.words[at]) {
                let start = self.strings.len();
                self.strings.extend_from_slice(&bytes_of(self.words[at]));
                let index = self.long.len() as u64;
                self.long.push(start..self.strings.len());
                self.words[at] = (index | u64::from_le_bytes(LONG_WORD)).to_le_bytes();
            }
        }
    }
}

/// Transposes the lowest `columns` bits of 64 words: bit `b` of word `w` becomes bit `w` of word
/// `b`. The words from `columns` on are undefined. Segments with at most 16 presence bits, such as
/// the entries of CME's messages, take 80 exchanges of two words instead of 192.
fn transpose(words: &mut [u64; BITS], columns: usize) {
    exchange::<32>(words, 0x0000_0000_FFFF_FFFF);
    let words = if columns <= 32 { &mut words[..32] } else { &mut words[..] };
    exchange::<16>(words, 0x0000_FFFF_0000_FFFF);
    let words = if columns <= 16 { &mut words[..16] } else { words };
    exchange::<8>(words, 0x00FF_00FF_00FF_00FF);
    exchange::<4>(words, 0x0F0F_0F0F_0F0F_0F0F);
    exchange::<2>(words, 0x3333_3333_3333_3333);
    exchange::<1>(words, 0x5555_5555_5555_5555);
}

/// One step of the transposition: swaps blocks of `WIDTH` x `WIDTH` bits across the diagonal.
/// `mask` selects the low half of each pair.
#[inline(always)]
fn exchange<const WIDTH: usize>(words: &mut [u64], mask: u64) {
    for pair in words.chunks_exact_mut(2 * WIDTH) {
        for index in 0..WIDTH {
            let (low, high) = (pair[index], pair[index + WIDTH]);
            let differs = (low >> WIDTH ^ high) & mask;
            pair[index] = low ^ differs << WIDTH;
            pair[index + WIDTH] = high ^ differs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_exchanged() {
        let mut words: [u64; BITS] =
            std::array::from_fn(|word| (word as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let before = words;
        for columns in [64, 33, 32, 17, 16, 1] {
            words = before;
            transpose(&mut words, columns);
            for (row, word) in before.iter().enumerate() {
                for (column, turned) in words[..columns].iter().enumerate() {
                    assert_eq!(word >> column & 1, turned >> row & 1, "{row}, {column}");
                }
            }
        }
    }
}
