//! Decoded messages: flat buffers, reused, read through borrowed views.
//!
//! A [`Message`] owns a buffer of words and a buffer of string bytes; decoding the next message
//! into it does not allocate once both are large enough. A [`Record`] is a view of a segment: the
//! template's fields, a group, or one entry of a sequence.

use crate::decoder::MessageVisitor;
use crate::dictionary::{Word, inline_word, long_word, place_of, short_bytes};
use crate::error::FastErrorKind;
use crate::program::{
    FieldLayout, FieldRef, FieldView, LANES_MAX, Program, SegmentRef, Storage, ViewKind,
};
use crate::template::{Decimal, FieldType, TemplateId, Value};
use std::sync::Arc;

/// A message of one template, owned by the decoder or builder. `clone_from` reuses the target's
/// buffers.
#[derive(Debug)]
pub struct Message {
    program: Arc<Program>,
    template: u32,
    pub(crate) store: MessageStore,
}

/// Words and string bytes of a message.
#[derive(Debug, Default)]
pub(crate) struct MessageStore {
    /// May be longer than `used`, after a larger message; the stale words are never reachable.
    pub(crate) words: Vec<Word>,
    pub(crate) used: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Clone for Message {
    fn clone(&self) -> Self {
        let mut copy = Self::new(Arc::clone(&self.program));
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        if !Arc::ptr_eq(&self.program, &source.program) {
            self.program = Arc::clone(&source.program);
        }
        self.template = source.template;
        self.store.copy_from(&source.store);
    }
}

impl MessageStore {
    /// Copies the reachable words, and the padding after them.
    fn copy_from(&mut self, source: &Self) {
        let end = source.words.len().min(source.used + LANES_MAX);
        self.words.clear();
        self.words.extend_from_slice(&source.words[..end]);
        self.used = source.used;
        self.bytes.clear();
        self.bytes.extend_from_slice(&source.bytes);
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.bytes.clear();
    }

    /// Reserves `count` words and returns the index of the first.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        count: usize,
        bytes_max: usize,
    ) -> Result<usize, FastErrorKind> {
        let start = self.used;
        let end = start.checked_add(count).ok_or(FastErrorKind::MessageTooLarge)?;
        if end + LANES_MAX > self.words.len() {
            self.grow(end, bytes_max)?;
        }
        self.used = end;
        Ok(start)
    }

    #[cold]
    fn grow(&mut self, end: usize, bytes_max: usize) -> Result<(), FastErrorKind> {
        // Positions in a message are 32 bits wide.
        if end.saturating_mul(size_of::<Word>()) > bytes_max || u32::try_from(end).is_err() {
            return Err(FastErrorKind::MessageTooLarge);
        }
        // Padding: runs are written as arrays of fixed length, over words not yet used.
        self.words.resize(end + LANES_MAX, [0; 8]);
        Ok(())
    }

    /// Returns the word of a string; appends its bytes to the arena if they do not fit the word.
    #[inline]
    pub(crate) fn set_bytes(
        &mut self,
        at: usize,
        bytes: &[u8],
        bytes_max: usize,
    ) -> Result<(), FastErrorKind> {
        self.words[at] = match inline_word(bytes) {
            Some(word) => word,
            None => push_bytes(&mut self.bytes, bytes, bytes_max)?,
        };
        Ok(())
    }

    /// Returns the string of a word.
    #[inline]
    pub(crate) fn bytes_at(&self, at: usize) -> &[u8] {
        self.bytes_of(&self.words[at])
    }

    /// Returns the string of a word of this message.
    #[inline(always)]
    fn bytes_of<'m>(&'m self, word: &'m Word) -> &'m [u8] {
        if let Some(bytes) = short_bytes(word) {
            return bytes;
        }
        let (start, len) = place_of(*word);
        &self.bytes[start..start + len]
    }
}

/// Appends a string that is too long for a word to a message's strings; returns its word.
pub(crate) fn push_bytes(
    store: &mut Vec<u8>,
    bytes: &[u8],
    bytes_max: usize,
) -> Result<Word, FastErrorKind> {
    let start = store.len();
    if start + bytes.len() > bytes_max.min(u32::MAX as usize) {
        return Err(FastErrorKind::MessageTooLarge);
    }
    let word = long_word(start, bytes.len()).ok_or(FastErrorKind::MessageTooLarge)?;
    store.extend_from_slice(bytes);
    Ok(word)
}

/// Splits a word into two 32-bit numbers: count and position of a sequence, template and position
/// of a reference.
#[inline]
pub(crate) fn pair_word(low: u32, high: u32) -> Word {
    (u64::from(low) | u64::from(high) << 32).to_le_bytes()
}

#[inline]
pub(crate) fn pair_of(word: Word) -> (u32, u32) {
    let value = u64::from_le_bytes(word);
    (value as u32, (value >> 32) as u32)
}

impl Message {
    /// Creates an empty message for this program, to decode into.
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self { program, template: 0, store: MessageStore::default() }
    }

    pub(crate) fn set_template(&mut self, index: u32) {
        self.template = index;
    }

    /// Returns the program that the message belongs to.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Returns the index of the message's template in its set.
    pub fn template_index(&self) -> usize {
        self.template as usize
    }

    /// Returns the template id, if the template has one.
    pub fn template_id(&self) -> Option<TemplateId> {
        self.program.templates()[self.template as usize].id
    }

    /// Returns the template name.
    pub fn template_name(&self) -> &str {
        &self.program.templates()[self.template as usize].name.local
    }

    /// Returns the total size of all strings of more than 7 bytes; no single string is longer than
    /// this.
    pub fn long_string_bytes(&self) -> usize {
        self.store.bytes.len()
    }

    /// Returns the fields of the template.
    #[inline]
    pub fn root(&self) -> Record<'_> {
        let segment = self.program.templates()[self.template as usize].segment;
        Record { message: self, first: 0, segment }
    }

    /// Passes the message to a visitor.
    pub(crate) fn show(&self, visitor: &mut impl MessageVisitor) {
        let template = &self.program.templates()[self.template as usize];
        visitor.begin_message(template);
        self.root().show(visitor);
        visitor.end_message();
    }
}

/// A view of one segment of a message.
#[derive(Clone, Copy, Debug)]
pub struct Record<'m> {
    message: &'m Message,
    /// First word of the record.
    first: u32,
    segment: SegmentRef,
}

/// Callers keep a value of this size in registers; one of 64 bytes went through memory.
const _: () = assert!(size_of::<Record<'_>>() == 16 && size_of::<FieldValue<'_>>() == 32);

/// The value of a field in a record.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'m> {
    /// An optional field without a value.
    Absent,
    /// The projection excluded the field.
    Discarded,
    /// Unsigned integer, boolean, enum or set.
    UInt(u64),
    /// Signed integer or timestamp.
    Int(i64),
    /// Decimal.
    Decimal(Decimal),
    /// Ascii string: every byte below 128.
    Ascii(&'m [u8]),
    /// Unicode string; UTF-8 unless the decoder is lenient.
    Unicode(&'m [u8]),
    /// Byte vector.
    Bytes(&'m [u8]),
    /// Group.
    Group(Record<'m>),
    /// Sequence.
    Sequence(Entries<'m>),
    /// Content of a dynamic template reference: index of the template, and its fields.
    Dynamic(usize, Record<'m>),
}

impl<'m> Record<'m> {
    /// Returns the layout of this record's segment.
    pub fn segment(&self) -> SegmentRef {
        self.segment
    }

    /// Returns the program that the record belongs to.
    #[inline]
    pub fn program(&self) -> &'m Program {
        &self.message.program
    }

    /// Returns the words from the start of the record on.
    #[inline(always)]
    fn words(&self) -> &'m [Word] {
        &self.message.store.words[self.first as usize..]
    }

    /// Returns the layouts of the fields in template order; their indexes are those of
    /// [`value`](Self::value).
    #[inline]
    pub fn layouts(&self) -> &'m [FieldLayout] {
        self.program().fields_of(self.segment)
    }

    /// Returns the index of the first field of this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.layouts().iter().position(|field| &*field.name.local == name)
    }

    /// Returns the value of the field of this name; `None` if the segment has no such field.
    pub fn field(&self, name: &str) -> Option<FieldValue<'m>> {
        self.index_of(name).map(|index| self.value(index))
    }

    /// Returns fields with their values, in template order.
    ///
    /// It is fastest if the caller's `match` on the value is in the loop itself.
    /// `tickwire bench fast --engine fields` measures it. [`read`](Self::read) is faster for fields
    /// that are known in advance.
    #[inline(always)]
    pub fn fields(&self) -> impl Iterator<Item = (&'m FieldLayout, FieldValue<'m>)> + use<'m> {
        let reader = RecordReader::new(*self);
        let views = self.program().views_of(self.segment);
        let fields = self.layouts().iter().zip(views);
        fields.map(move |(field, view)| (field, reader.value(view)))
    }

    /// Returns the value of a field by its index in this segment.
    ///
    /// # Panics
    /// If the segment has no field of that index.
    pub fn value(&self, index: usize) -> FieldValue<'m> {
        let view = &self.program().views_of(self.segment)[index];
        RecordReader::new(*self).value(view)
    }

    /// Returns the first words of the record, padded if it is shorter; `None` in a message that was
    /// never filled.
    #[inline]
    pub(crate) fn first_words(&self) -> Option<&'m [Word; LANES_MAX]> {
        self.message.store.words.get(self.first as usize..)?.first_chunk()
    }

    /// Returns the first `count` words of the record.
    #[inline]
    pub(crate) fn words_of(&self, count: usize) -> &'m [Word] {
        &self.words()[..count]
    }

    /// True if any string of the message is too long for its word.
    #[inline]
    pub(crate) fn has_long_strings(&self) -> bool {
        !self.message.store.bytes.is_empty()
    }

    /// Returns the string of a word of the message.
    pub(crate) fn bytes_of_word(&self, word: Word) -> Vec<u8> {
        self.message.store.bytes_of(&word).to_vec()
    }

    #[inline(always)]
    fn word_at(&self, at: usize) -> &'m Word {
        &self.message.store.words[self.first as usize + at]
    }

    /// Returns word `at` of the record.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(*self.word_at(at))
    }

    /// Returns the string of word `at` of the record.
    #[inline]
    pub(crate) fn bytes(&self, at: usize) -> &'m [u8] {
        self.message.store.bytes_of(self.word_at(at))
    }

    /// Returns the entries, with this segment, of the sequence at word `at` of the record.
    #[inline]
    pub(crate) fn entries(&self, at: usize, segment: SegmentRef) -> Entries<'m> {
        self.entries_of(*self.word_at(at), segment)
    }

    /// Returns the entries of the sequence whose word this is.
    #[inline(always)]
    fn entries_of(&self, word: Word, segment: SegmentRef) -> Entries<'m> {
        let (count, first) = pair_of(word);
        let stride = self.program().segment(segment).record_words;
        Entries { message: self.message, first, count, stride, segment }
    }

    /// Passes the fields of the record to a visitor.
    fn show(&self, visitor: &mut impl MessageVisitor) {
        let hides_constants = !self.program().shows_constants;
        let reader = RecordReader::new(*self);
        let views = self.program().views_of(self.segment);
        for (field, view) in self.layouts().iter().zip(views) {
            // Tested here and not in an arm, where it would separate reading and using the value.
            if hides_constants && view.kinds[1] == ViewKind::Constant {
                continue;
            }
            match reader.value(view) {
                FieldValue::Discarded => {}
                FieldValue::Group(group) => {
                    visitor.begin_group(field);
                    group.show(visitor);
                    visitor.end_group(field);
                }
                FieldValue::Sequence(entries) => {
                    visitor.begin_sequence(field, entries.len());
                    for (index, entry) in entries.iter().enumerate() {
                        visitor.begin_entry(field, index);
                        entry.show(visitor);
                        visitor.end_entry(field);
                    }
                    visitor.end_sequence(field);
                }
                FieldValue::Dynamic(template, record) => {
                    visitor.begin_message(&self.program().templates()[template]);
                    record.show(visitor);
                    visitor.end_message();
                }
                value => visitor.field(field, value),
            }
        }
    }
}

/// Marks a branch as rare, so that its values do not take registers of the caller's loop.
#[cold]
#[inline(never)]
fn rarely() {}

/// Reads the fields of a record, whose position is checked once.
struct RecordReader<'m> {
    record: Record<'m>,
    /// Words from the start of the record on.
    words: &'m [Word],
}

impl<'m> RecordReader<'m> {
    #[inline(always)]
    fn new(record: Record<'m>) -> Self {
        Self { record, words: record.words() }
    }

    /// Returns the value of a field, given its view.
    ///
    /// Absence selects another kind, so that the caller's `match` on the value and the branches
    /// here become one. The frequent kinds are told apart by two comparisons: a jump table for all
    /// kinds takes longer.
    #[inline(always)]
    fn value(&self, view: &FieldView) -> FieldValue<'m> {
        // No byte: the message was never filled.
        let presence = self.words.as_flattened().get(view.presence as usize).copied();
        let is_absent = presence.unwrap_or(0) & view.mask == 0;
        let kind = view.kinds[usize::from(is_absent)];
        let at = view.slot as usize;
        if kind <= ViewKind::Int {
            let number = u64::from_le_bytes(self.words[at]);
            return match kind {
                ViewKind::UInt => FieldValue::UInt(number),
                _ => FieldValue::Int(number as i64),
            };
        }
        if kind <= ViewKind::Absent {
            return match kind {
                ViewKind::Ascii => FieldValue::Ascii(self.text(at)),
                _ => FieldValue::Absent,
            };
        }
        match kind {
            ViewKind::Decimal => {
                let [exponent, mantissa] = [0, 1].map(|part| self.words[at..at + 2][part]);
                FieldValue::Decimal(Decimal {
                    exponent: u64::from_le_bytes(exponent) as i32,
                    mantissa: i64::from_le_bytes(mantissa),
                })
            }
            ViewKind::Unicode => FieldValue::Unicode(self.text(at)),
            ViewKind::Bytes => FieldValue::Bytes(self.text(at)),
            ViewKind::Constant => {
                self.record.program().fields[at].constant().unwrap_or(FieldValue::Absent)
            }
            ViewKind::Discarded => FieldValue::Discarded,
            _ => self.nested(kind, view),
        }
    }

    /// Returns the value of a field that contains fields.
    #[inline(always)]
    fn nested(&self, kind: ViewKind, view: &FieldView) -> FieldValue<'m> {
        rarely();
        let Record { message, .. } = self.record;
        let word = |at: u32| self.words[at as usize];
        match kind {
            ViewKind::Group => FieldValue::Group(Record { segment: view.segment, ..self.record }),
            ViewKind::Sequence => {
                FieldValue::Sequence(self.record.entries_of(word(view.slot), view.segment))
            }
            _ => {
                let (template, first) = pair_of(word(view.slot));
                let segment = message.program.templates()[template as usize].segment;
                FieldValue::Dynamic(template as usize, Record { message, first, segment })
            }
        }
    }

    #[inline(always)]
    fn text(&self, at: usize) -> &'m [u8] {
        self.record.message.store.bytes_of(&self.words[at])
    }
}

impl FieldLayout {
    /// Returns a constant's value; for an optional constant, the value it has when present. `None`
    /// for other fields.
    #[inline]
    pub fn constant(&self) -> Option<FieldValue<'_>> {
        let (Storage::Constant(value) | Storage::OptionalConstant(value)) = &self.storage else {
            return None;
        };
        Some(match value {
            Value::UInt(value) => FieldValue::UInt(*value),
            Value::Int(value) => FieldValue::Int(*value),
            Value::Decimal(value) => FieldValue::Decimal(*value),
            Value::Bytes(bytes) => match self.field_type {
                Some(FieldType::Ascii) => FieldValue::Ascii(bytes),
                Some(FieldType::Unicode) => FieldValue::Unicode(bytes),
                _ => FieldValue::Bytes(bytes),
            },
        })
    }
}

/// The entries of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'m> {
    message: &'m Message,
    /// First word of the first entry.
    first: u32,
    count: u32,
    /// Words per entry.
    stride: u32,
    segment: SegmentRef,
}

impl<'m> Entries<'m> {
    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the segment of the entries.
    pub(crate) fn segment(&self) -> SegmentRef {
        self.segment
    }

    /// True if the sequence is present and empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the entry at `index`, from 0.
    #[inline]
    pub fn entry(&self, index: usize) -> Option<Record<'m>> {
        let index = u32::try_from(index).ok().filter(|&index| index < self.count)?;
        Some(self.record(index))
    }

    #[inline(always)]
    fn record(&self, index: u32) -> Record<'m> {
        let first = self.first + index * self.stride;
        Record { message: self.message, first, segment: self.segment }
    }

    /// Returns the words of all entries.
    pub(crate) fn words(&self) -> &'m [Word] {
        let words = self.len() * self.stride as usize;
        &self.message.store.words[self.first as usize..][..words]
    }

    /// True if any string of the message is too long for its word.
    pub(crate) fn has_long_strings(&self) -> bool {
        !self.message.store.bytes.is_empty()
    }

    /// Returns all entries in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Record<'m>> + use<'m> {
        let entries = *self;
        (0..entries.count).map(move |index| entries.record(index))
    }
}

/// A field of a program, found once by path and then read without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldHandle {
    /// The segment the field belongs to.
    pub segment: SegmentRef,
    /// Index for [`Record::value`] in records of that segment.
    pub index: usize,
}

impl Program {
    /// Finds a field of a template by path, such as `MDEntries/MDEntryPx`.
    pub fn handle(&self, template: usize, path: &str) -> Option<FieldHandle> {
        let mut segment = self.templates().get(template)?.segment;
        let mut names = path.split('/').peekable();
        loop {
            let name = names.next()?;
            let index = self.fields_of(segment).iter().position(|f| &*f.name.local == name)?;
            if names.peek().is_none() {
                return Some(FieldHandle { segment, index });
            }
            segment = match self.fields_of(segment)[index].storage {
                Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => inner,
                _ => return None,
            };
        }
    }

    /// Returns a field's reference, as errors contain it.
    pub fn field_ref(&self, handle: FieldHandle) -> FieldRef {
        FieldRef(self.segment(handle.segment).fields.start + handle.index as u32)
    }
}
