//! Columns in the making.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray, types,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use tickwire_fast::{ColumnBlock, Entries, FieldValue, NumberKind, Record, Repeated, Slot, Text};

use crate::text;
use crate::validity::Validity;

/// Rows that truth is reserved for.
const ROWS: usize = 8192;
/// Rows more than those of the batch before that a vector has room for, as batches end with a message.
const ROOM_BEHIND: usize = 512;
/// Values that a run is written by: shorter runs take one store of them.
const STEP: usize = 8;
/// Bytes that a short string is written by.
const SHORT_STEP: usize = 8;

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

    /// Appends the values of a block's records, each for as many rows as `spread` says. Of a column whose values
    /// [always fit](crate::flat), but for the number of bytes of its strings.
    fn append_block(&mut self, block: &ColumnBlock, spread: &Spread<'_>) -> Result<(), Misfit>;

    fn append_nulls(&mut self, count: usize);

    fn truncate(&mut self, len: usize);

    /// All values; the column is empty then.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// For how many rows each record of a block stands.
pub(crate) enum Spread<'a> {
    /// For one.
    One,
    /// For these, of which there are `rows` in all.
    Runs { counts: &'a [u32], rows: usize },
}

impl<'a> Spread<'a> {
    /// That of records which stand for so many rows each.
    pub(crate) fn of(counts: &'a [u32]) -> Self {
        let rows = counts.iter().map(|count| *count as usize).sum();
        if rows == counts.len() { Self::One } else { Self::Runs { counts, rows } }
    }
}

/// Where the numbers of a column come from.
pub(crate) trait Source<V>: Send {
    /// That of a record.
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit>;

    /// Appends those of a block's records.
    fn append_block<A>(&self, block: &ColumnBlock, spread: &Spread<'_>, values: &mut Values<A>)
    where
        A: ArrowPrimitiveType<Native = V>;
}

impl<V, F: Fn(&Record<'_>) -> Result<Option<V>, Misfit> + Send> Source<V> for F {
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit> {
        self(record)
    }

    fn append_block<A>(&self, _: &ColumnBlock, _: &Spread<'_>, _: &mut Values<A>)
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        unreachable!("a column whose values may not fit takes messages one by one")
    }
}

/// A field of numbers that all fit, and what they are in the column.
pub(crate) struct FromSlot<K, F> {
    pub(crate) slot: Slot<K>,
    pub(crate) convert: F,
}

impl<K, V, F> Source<V> for FromSlot<K, F>
where
    K: NumberKind,
    F: Fn(K::Number) -> V + Send,
{
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit> {
        Ok(record.read_number(&self.slot).map(&self.convert))
    }

    fn append_block<A>(&self, block: &ColumnBlock, spread: &Spread<'_>, values: &mut Values<A>)
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        let numbers = block.numbers(&self.slot).map(&self.convert);
        values.append_block(numbers, block.presence(&self.slot), block.all(), spread);
    }
}

/// How many entries a sequence has.
pub(crate) struct Lengths(pub(crate) Slot<Repeated>);

impl Source<u32> for Lengths {
    fn of(&self, record: &Record<'_>) -> Result<Option<u32>, Misfit> {
        Ok(record.read(&self.0).map(|entries| entries.len() as u32))
    }

    fn append_block<A>(&self, block: &ColumnBlock, spread: &Spread<'_>, values: &mut Values<A>)
    where
        A: ArrowPrimitiveType<Native = u32>,
    {
        values.append_block(block.lengths(&self.0), block.presence(&self.0), block.all(), spread);
    }
}

/// One number, or none where the optional constant at this index is absent.
pub(crate) struct Fixed<V> {
    pub(crate) value: V,
    pub(crate) at: Option<usize>,
}

impl<V> Fixed<V> {
    /// Whether it is there in a record.
    pub(crate) fn is_in(&self, record: &Record<'_>) -> bool {
        self.at.is_none_or(|index| !matches!(record.value(index), FieldValue::Absent))
    }
}

impl<V: Copy + Send> Source<V> for Fixed<V> {
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, Misfit> {
        Ok(self.is_in(record).then_some(self.value))
    }

    fn append_block<A>(&self, block: &ColumnBlock, spread: &Spread<'_>, values: &mut Values<A>)
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        let presence = self.at.map_or(block.there(), |index| block.presence_of(index));
        let numbers = std::iter::repeat_n(self.value, block.len());
        values.append_block(numbers, presence, block.all(), spread);
    }
}

/// Numbers that may be missing.
pub(crate) struct Values<A: ArrowPrimitiveType> {
    values: Vec<A::Native>,
    validity: Validity,
}

impl<A: ArrowPrimitiveType> Values<A> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), validity: Validity::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Appends a number, or null, `count` times.
    pub(crate) fn append(&mut self, value: Option<A::Native>, count: usize) {
        self.values.resize(self.values.len() + count, value.unwrap_or_default());
        self.validity.append_n(count, value.is_some());
    }

    /// Appends numbers of up to 64 records, `presence` with a bit for each that is there, `all` with one for each.
    #[inline(always)]
    pub(crate) fn append_block(
        &mut self,
        numbers: impl ExactSizeIterator<Item = A::Native>,
        presence: u64,
        all: u64,
        spread: &Spread<'_>,
    ) {
        let count = numbers.len();
        if presence == 0 {
            let rows = spread.rows(count);
            self.values.resize(self.values.len() + rows, A::Native::default());
            return self.validity.append_n(rows, false);
        }
        if presence == all {
            spread_values(&mut self.values, numbers, spread);
            return self.validity.append_n(spread.rows(count), true);
        }
        match spread {
            Spread::One => {
                let start = self.values.len();
                self.values.extend(numbers);
                clear(&mut self.values[start..], all & !presence);
            }
            Spread::Runs { .. } => {
                let present = numbers.enumerate().map(|(record, number)| {
                    if presence >> record & 1 != 0 { number } else { A::Native::default() }
                });
                spread_values(&mut self.values, present, spread);
            }
        }
        self.validity.append_block(presence, count, spread);
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.validity.truncate(len);
    }

    /// All numbers; there are none then.
    pub(crate) fn take(&mut self) -> PrimitiveArray<A> {
        let values = ScalarBuffer::from(emptied(&mut self.values));
        PrimitiveArray::new(values, self.validity.take())
    }
}

/// Clears the values that these bits are of.
fn clear<T: Default>(values: &mut [T], mut bits: u64) {
    while bits != 0 {
        values[bits.trailing_zeros() as usize] = T::default();
        bits &= bits - 1;
    }
}

impl Spread<'_> {
    /// Rows of so many records.
    fn rows(&self, count: usize) -> usize {
        match self {
            Self::One => count,
            Self::Runs { rows, .. } => *rows,
        }
    }
}

/// Appends values, each for as many rows as it stands for.
#[inline(always)]
fn spread_values<T: Copy + Default>(
    out: &mut Vec<T>,
    values: impl ExactSizeIterator<Item = T>,
    spread: &Spread<'_>,
) {
    let (counts, rows) = match spread {
        Spread::One => return out.extend(values),
        Spread::Runs { counts, rows } => (counts, *rows),
    };
    let start = out.len();
    // The last run may be written beyond its end.
    out.resize(start + rows + STEP, T::default());
    let (mut at, mut end) = (start, start);
    for (value, count) in values.zip(*counts) {
        end += *count as usize;
        while at < end {
            out[at..at + STEP].copy_from_slice(&[value; STEP]);
            at += STEP;
        }
        at = end;
    }
    out.truncate(start + rows);
}

/// What is in a vector, which has room for a batch then.
fn emptied<T>(values: &mut Vec<T>) -> Vec<T> {
    // The last message of a batch may have many rows.
    let room = values.len().min(2 * ROWS) + ROOM_BEHIND;
    std::mem::replace(values, Vec::with_capacity(room))
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

/// A column of one value in every row: batches are parts of one array.
pub(crate) struct Same {
    /// Makes the array of so many rows.
    make: Box<dyn Fn(usize) -> Result<ArrayRef, ArrowError> + Send>,
    made: Option<ArrayRef>,
    rows: usize,
}

impl Same {
    pub(crate) fn new(
        make: impl Fn(usize) -> Result<ArrayRef, ArrowError> + Send + 'static,
    ) -> Self {
        Self { make: Box::new(make), made: None, rows: 0 }
    }
}

impl Column for Same {
    fn len(&self) -> usize {
        self.rows
    }

    fn append(&mut self, _: &Record<'_>, count: usize) -> Result<(), Misfit> {
        self.rows += count;
        Ok(())
    }

    fn append_block(&mut self, block: &ColumnBlock, spread: &Spread<'_>) -> Result<(), Misfit> {
        self.rows += spread.rows(block.len());
        Ok(())
    }

    fn append_nulls(&mut self, _: usize) {
        unreachable!("the value is in every row")
    }

    fn truncate(&mut self, len: usize) {
        self.rows = len;
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        let made = match self.made.take().filter(|made| made.len() >= rows) {
            Some(made) => made,
            None => (self.make)(rows + ROOM_BEHIND)?,
        };
        self.made = Some(made.clone());
        Ok(made.slice(0, rows))
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

    fn append_block(&mut self, block: &ColumnBlock, spread: &Spread<'_>) -> Result<(), Misfit> {
        self.read.append_block(block, spread, &mut self.values);
        Ok(())
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

    fn append_block(&mut self, block: &ColumnBlock, spread: &Spread<'_>) -> Result<(), Misfit> {
        self.keys.append_block(block, spread)
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
    validity: Validity,
}

impl<R> Booleans<R>
where
    R: Fn(&Record<'_>) -> Result<Option<bool>, Misfit>,
{
    pub(crate) fn new(read: R) -> Self {
        let values = BooleanBufferBuilder::new(ROWS);
        Self { read, values, validity: Validity::default() }
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

    fn append_block(&mut self, _: &ColumnBlock, _: &Spread<'_>) -> Result<(), Misfit> {
        unreachable!("a column whose values may not fit takes messages one by one")
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
        Ok(Arc::new(BooleanArray::new(self.values.finish(), self.validity.take())))
    }
}

/// Columns of missing strings: batches are parts of one array.
#[derive(Default)]
pub(crate) struct MissingTexts(Option<StringArray>);

impl MissingTexts {
    /// A column of so many rows.
    pub(crate) fn take(&mut self, rows: usize) -> ArrayRef {
        let made = match self.0.take().filter(|made| made.len() >= rows) {
            Some(made) => made,
            None => StringArray::new_null(rows + ROOM_BEHIND),
        };
        let column = made.slice(0, rows);
        self.0 = Some(made);
        Arc::new(column)
    }
}

/// Strings or byte vectors that may be missing.
struct Strings {
    is_text: bool,
    bytes: Vec<u8>,
    ends: Vec<i32>,
    validity: Validity,
    missing: MissingTexts,
}

impl Strings {
    fn new(is_text: bool) -> Self {
        let (validity, missing) = (Validity::default(), MissingTexts::default());
        Self { is_text, bytes: Vec::new(), ends: vec![0], validity, missing }
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
        }
        self.validity.append_n(count, is_present);
        Ok(())
    }

    /// Appends the strings of a block's records.
    fn append_block(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        spread: &Spread<'_>,
    ) -> Result<(), Misfit> {
        let presence = block.presence(slot);
        if presence == 0 {
            self.append_nulls(spread.rows(block.len()));
            return Ok(());
        }
        match spread {
            Spread::One if self.append_short_texts(block, slot, presence) => {}
            Spread::One => self.append_texts(block, slot, presence)?,
            Spread::Runs { counts, .. } => {
                for (record, (text, count)) in block.texts(slot).zip(*counts).enumerate() {
                    let is_present = presence >> record & 1 != 0;
                    let text = text.or_empty(is_present);
                    match text.short() {
                        Some((bytes, len)) => self.bytes.extend_from_slice(&bytes[..len]),
                        None => self.bytes.extend_from_slice(block.long(text)),
                    }
                    self.append_last(is_present, *count as usize)?;
                }
            }
        }
        Ok(())
    }

    /// Appends a string a row if all are short, as market data mostly are: each is written as eight bytes, of which the
    /// next one overwrites those behind its end. Otherwise appends nothing and returns false.
    fn append_short_texts(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        presence: u64,
    ) -> bool {
        let (start, count, room) = (self.bytes.len(), self.ends.len(), block.len() * SHORT_STEP);
        if start + room > BYTES_MAX {
            return false;
        }
        self.bytes.resize(start + room, 0);
        let (bytes, mut end, mut are_short) = (&mut self.bytes[..], start, true);
        self.ends.extend(block.texts(slot).enumerate().map(|(record, text)| {
            match text.or_empty(presence >> record & 1 != 0).short() {
                Some((word, len)) => {
                    bytes[end..end + SHORT_STEP].copy_from_slice(&word);
                    end += len;
                }
                None => are_short = false,
            }
            // Below the limit it fits.
            end as i32
        }));
        if !are_short {
            self.ends.truncate(count);
            self.bytes.truncate(start);
            return false;
        }
        self.bytes.truncate(end);
        self.validity.append_bits(presence, block.len());
        true
    }

    /// Appends a string a row.
    fn append_texts(
        &mut self,
        block: &ColumnBlock,
        slot: &Slot<Text>,
        presence: u64,
    ) -> Result<(), Misfit> {
        let mut end = self.bytes.len();
        self.bytes.resize(end + block.len() * SHORT_STEP, 0);
        for (record, text) in block.texts(slot).enumerate() {
            let text = text.or_empty(presence >> record & 1 != 0);
            match text.short() {
                Some((bytes, len)) => {
                    self.bytes[end..end + SHORT_STEP].copy_from_slice(&bytes);
                    end += len;
                }
                None => {
                    let rest = (block.len() - record - 1) * SHORT_STEP;
                    self.bytes.truncate(end);
                    self.bytes.extend_from_slice(block.long(text));
                    end = self.bytes.len();
                    self.bytes.resize(end + rest, 0);
                }
            }
            if end > BYTES_MAX {
                return Err(FULL);
            }
            // Below the limit it fits.
            self.ends.push(end as i32);
        }
        self.bytes.truncate(end);
        self.validity.append_bits(presence, block.len());
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
        let rows = self.len();
        let nulls = self.validity.take();
        if self.is_text && nulls.as_ref().is_some_and(|nulls| nulls.null_count() == rows) {
            self.ends.truncate(1);
            return Ok(self.missing.take(rows));
        }
        let ends = emptied(&mut self.ends);
        self.ends.push(0);
        let bytes = emptied(&mut self.bytes);
        Ok(match self.is_text {
            true => Arc::new(text::array(ends, bytes, nulls)?),
            false => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)
            }
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

    fn append_block(&mut self, block: &ColumnBlock, spread: &Spread<'_>) -> Result<(), Misfit> {
        self.strings.append_block(block, &self.slot, spread)
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

    fn append_block(&mut self, _: &ColumnBlock, _: &Spread<'_>) -> Result<(), Misfit> {
        unreachable!("a column whose values may not fit takes messages one by one")
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
