//! Columns in the making.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray, types,
};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{ArrowError, DataType};
use tickwire_fast::{Entries, Record, Slot, SlotKind, Text};

/// Rows that validity is reserved for.
const ROWS: usize = 8192;

/// Why a value has no place in its column.
pub(crate) type Misfit = &'static str;

/// Bytes that the strings of a column may have in a batch.
pub(crate) const BYTES_MAX: usize = 64 << 20;
/// The column has no room for it: in an empty one it may have.
pub(crate) const FULL: Misfit = "the strings of its rows are longer than 64 MiB together";

/// The values of one field.
pub(crate) trait Column: Send {
    /// Values so far.
    fn len(&self) -> usize;

    /// Appends the value that a record has, `count` times.
    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit>;

    /// Appends the values of entries.
    fn append_entries(&mut self, entries: &Entries<'_>) -> Result<(), Misfit> {
        entries.iter().try_for_each(|entry| self.append(&entry, 1))
    }

    /// Appends the values of messages' own fields, each for so many rows.
    fn append_roots(&mut self, roots: &[(Record<'_>, usize)]) -> Result<(), Misfit> {
        roots.iter().try_for_each(|(root, rows)| self.append(root, *rows))
    }

    fn append_nulls(&mut self, count: usize);

    fn truncate(&mut self, len: usize);

    /// All values; the column is empty then.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// Where the numbers of a column come from.
pub(crate) trait Source<V>: Send {
    /// That of a record.
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit>;

    /// Appends those of entries, up to the first that does not fit.
    fn append_all<A>(&self, entries: &Entries<'_>, values: &mut Values<A>) -> Result<(), Misfit>
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        values.append_all(entries.iter().map(|entry| self.of(&entry)))
    }
}

impl<V, F: Fn(&Record<'_>) -> Result<Option<V>, Misfit> + Send> Source<V> for F {
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit> {
        self(record)
    }
}

/// A field whose values all fit, and what they are in the column.
pub(crate) struct FromSlot<K, F> {
    pub(crate) slot: Slot<K>,
    pub(crate) convert: F,
}

impl<K, V, F> Source<V> for FromSlot<K, F>
where
    K: SlotKind,
    F: Fn(K::Value<'_>) -> V + Send,
{
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit> {
        Ok(record.read(&self.slot).map(&self.convert))
    }

    fn append_all<A>(&self, entries: &Entries<'_>, values: &mut Values<A>) -> Result<(), Misfit>
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        values.append_column(entries, &self.slot, &self.convert);
        Ok(())
    }
}

/// Numbers that may be missing.
pub(crate) struct Values<A: ArrowPrimitiveType> {
    values: Vec<A::Native>,
    validity: BooleanBufferBuilder,
}

impl<A: ArrowPrimitiveType> Values<A> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), validity: BooleanBufferBuilder::new(ROWS) }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Appends a number, or null, `count` times.
    pub(crate) fn append(&mut self, value: Option<A::Native>, count: usize) {
        self.values.resize(self.values.len() + count, value.unwrap_or_default());
        self.validity.append_n(count, value.is_some());
    }

    /// Appends numbers, up to the first that does not fit.
    fn append_all(
        &mut self,
        numbers: impl Iterator<Item = Result<Option<A::Native>, Misfit>>,
    ) -> Result<(), Misfit> {
        for number in numbers {
            let number = number?;
            self.values.push(number.unwrap_or_default());
            self.validity.append(number.is_some());
        }
        Ok(())
    }

    /// Appends the values of a field.
    fn append_column<K: SlotKind>(
        &mut self,
        entries: &Entries<'_>,
        slot: &Slot<K>,
        convert: impl Fn(K::Value<'_>) -> A::Native,
    ) {
        let column = entries.column(slot);
        self.values.extend(column.map(|value| value.map(&convert).unwrap_or_default()));
        append_presence(&mut self.validity, entries, slot);
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    /// All numbers; there are none then.
    pub(crate) fn take(&mut self) -> PrimitiveArray<A> {
        let values = ScalarBuffer::from(emptied(&mut self.values));
        PrimitiveArray::new(values, nulls(&mut self.validity))
    }
}

/// Appends in which entries a field is present.
fn append_presence<K: SlotKind>(
    validity: &mut BooleanBufferBuilder,
    entries: &Entries<'_>,
    slot: &Slot<K>,
) {
    let mut presence = entries.column(slot).map(|value| value.is_some());
    let is_present = |_| presence.next().unwrap_or_default();
    validity.append_buffer(&BooleanBuffer::collect_bool(entries.len(), is_present));
}

/// Which values are missing, if any is; there are none then.
fn nulls(validity: &mut BooleanBufferBuilder) -> Option<NullBuffer> {
    Some(NullBuffer::new(validity.finish())).filter(|nulls| nulls.null_count() > 0)
}

/// What is in a vector, which has room for as many again.
fn emptied<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room)
}

/// Indexes of entries.
pub(crate) type Indexes = Values<types::UInt32Type>;

impl Indexes {
    /// Appends 0, 1 and so on.
    pub(crate) fn append_up_to(&mut self, count: usize) {
        self.values.extend(0..count as u32);
        self.validity.append_n(count, true);
    }
}

/// Numbers, with what reads one from a record.
pub(crate) struct Numbers<A: ArrowPrimitiveType, R> {
    data_type: DataType,
    read: R,
    values: Values<A>,
}

impl<A, R> Numbers<A, R>
where
    A: ArrowPrimitiveType,
    R: Source<A::Native>,
{
    pub(crate) fn new(data_type: DataType, read: R) -> Self {
        Self { data_type, read, values: Values::new() }
    }

    fn array(&mut self) -> PrimitiveArray<A> {
        self.values.take().with_data_type(self.data_type.clone())
    }
}

impl<A, R> Column for Numbers<A, R>
where
    A: ArrowPrimitiveType,
    R: Source<A::Native>,
{
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit> {
        self.values.append(self.read.of(record)?, count);
        Ok(())
    }

    fn append_entries(&mut self, entries: &Entries<'_>) -> Result<(), Misfit> {
        self.read.append_all(entries, &mut self.values)
    }

    fn append_nulls(&mut self, count: usize) {
        self.values.append(None, count);
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.array()))
    }
}

/// Words of a fixed list, such as the elements of an enumeration.
pub(crate) struct Words<R> {
    keys: Numbers<types::Int16Type, R>,
    words: ArrayRef,
}

impl<R> Words<R>
where
    R: Source<i16>,
{
    /// `read` gives the index of a word.
    pub(crate) fn new(words: &[&str], read: R) -> Self {
        let words = Arc::new(StringArray::from_iter_values(words));
        Self { keys: Numbers::new(DataType::Int16, read), words }
    }
}

impl<R> Column for Words<R>
where
    R: Source<i16>,
{
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit> {
        self.keys.append(record, count)
    }

    fn append_entries(&mut self, entries: &Entries<'_>) -> Result<(), Misfit> {
        self.keys.append_entries(entries)
    }

    fn append_nulls(&mut self, count: usize) {
        self.keys.append_nulls(count);
    }

    fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(DictionaryArray::try_new(self.keys.array(), self.words.clone())?))
    }
}

/// Truth.
pub(crate) struct Booleans<R> {
    read: R,
    values: BooleanBufferBuilder,
    validity: BooleanBufferBuilder,
}

impl<R> Booleans<R>
where
    R: Fn(&Record<'_>) -> Result<Option<bool>, Misfit>,
{
    pub(crate) fn new(read: R) -> Self {
        let values = BooleanBufferBuilder::new(ROWS);
        Self { read, values, validity: BooleanBufferBuilder::new(ROWS) }
    }
}

impl<R> Column for Booleans<R>
where
    R: Fn(&Record<'_>) -> Result<Option<bool>, Misfit> + Send,
{
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit> {
        match (self.read)(record)? {
            Some(value) => {
                self.values.append_n(count, value);
                self.validity.append_n(count, true);
            }
            None => self.append_nulls(count),
        }
        Ok(())
    }

    fn append_nulls(&mut self, count: usize) {
        self.values.append_n(count, false);
        self.validity.append_n(count, false);
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.values.finish(), nulls(&mut self.validity))))
    }
}

/// Strings or byte vectors that may be missing.
struct Strings {
    is_text: bool,
    bytes: Vec<u8>,
    ends: Vec<i32>,
    validity: BooleanBufferBuilder,
}

impl Strings {
    fn new(is_text: bool) -> Self {
        Self {
            is_text,
            bytes: Vec::new(),
            ends: vec![0],
            validity: BooleanBufferBuilder::new(ROWS),
        }
    }

    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn end(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Appends a string, or null, `count` times.
    fn append(&mut self, string: Option<&[u8]>, count: usize) -> Result<(), Misfit> {
        self.bytes.extend_from_slice(string.unwrap_or_default());
        self.append_last(string.is_some(), count)
    }

    /// Makes `count` values of the bytes behind the last one.
    fn append_last(&mut self, is_present: bool, count: usize) -> Result<(), Misfit> {
        let (start, end) = (self.end(), self.bytes.len());
        if (end - start).saturating_mul(count).saturating_add(start) > BYTES_MAX {
            return Err(FULL);
        }
        for index in 0..count {
            if index > 0 {
                self.bytes.extend_from_within(start..end);
            }
            // Below the limit it fits.
            self.ends.push(self.bytes.len() as i32);
            self.validity.append(is_present);
        }
        Ok(())
    }

    fn append_nulls(&mut self, count: usize) {
        self.ends.resize(self.ends.len() + count, self.end() as i32);
        self.validity.append_n(count, false);
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len + 1);
        self.bytes.truncate(self.end());
        self.validity.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let ends = emptied(&mut self.ends);
        self.ends.push(0);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let bytes = Buffer::from_vec(emptied(&mut self.bytes));
        let nulls = nulls(&mut self.validity);
        Ok(match self.is_text {
            true => Arc::new(StringArray::try_new(offsets, bytes, nulls)?),
            false => Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?),
        })
    }
}

/// The strings of a field, which all fit but for their number.
pub(crate) struct Plain {
    slot: Slot<Text>,
    strings: Strings,
}

impl Plain {
    pub(crate) fn new(is_text: bool, slot: Slot<Text>) -> Self {
        Self { slot, strings: Strings::new(is_text) }
    }
}

impl Column for Plain {
    fn len(&self) -> usize {
        self.strings.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit> {
        self.strings.append(record.read(&self.slot), count)
    }

    fn append_entries(&mut self, entries: &Entries<'_>) -> Result<(), Misfit> {
        for string in entries.column(&self.slot) {
            self.strings.bytes.extend_from_slice(string.unwrap_or_default());
            if self.strings.bytes.len() > BYTES_MAX {
                return Err(FULL);
            }
            self.strings.ends.push(self.strings.bytes.len() as i32);
        }
        append_presence(&mut self.strings.validity, entries, &self.slot);
        Ok(())
    }

    fn append_nulls(&mut self, count: usize) {
        self.strings.append_nulls(count);
    }

    fn truncate(&mut self, len: usize) {
        self.strings.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.strings.finish()
    }
}

/// Strings that are made: `read` appends that of a record to a buffer, and says whether there is one.
pub(crate) struct Made<R> {
    read: R,
    strings: Strings,
}

impl<R> Made<R>
where
    R: Fn(&Record<'_>, &mut Vec<u8>) -> Result<bool, Misfit>,
{
    pub(crate) fn new(is_text: bool, read: R) -> Self {
        Self { read, strings: Strings::new(is_text) }
    }
}

impl<R> Column for Made<R>
where
    R: Fn(&Record<'_>, &mut Vec<u8>) -> Result<bool, Misfit> + Send,
{
    fn len(&self) -> usize {
        self.strings.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), Misfit> {
        let is_present = (self.read)(record, &mut self.strings.bytes)?;
        self.strings.append_last(is_present, count)
    }

    fn append_nulls(&mut self, count: usize) {
        self.strings.append_nulls(count);
    }

    fn truncate(&mut self, len: usize) {
        self.strings.truncate(len);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.strings.finish()
    }
}
