//! Columns under construction.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray, types,
};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{ArrowError, DataType};
use tickwire_fast::{ColumnBlock, Entries, FieldValue, NumberKind, Record, Repeated, Slot, Text};

use crate::recycled::ROOM_BEHIND;
use crate::strings::Strings;
use crate::validity::Validity;
use crate::values::{ColumnNumbers, RowSpread};

/// Initial capacity of a column of booleans, rows.
const ROWS: usize = 8192;
/// Why a column cannot hold a value.
pub(crate) type ColumnMisfit = &'static str;

/// The values of one field.
pub(crate) trait Column: Send {
    /// Returns the number of values so far.
    fn len(&self) -> usize;

    /// Appends the record's value `count` times.
    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit>;

    /// Appends the values of a sequence's entries.
    fn append_entries(&mut self, entries: &Entries<'_>) -> Result<(), ColumnMisfit> {
        entries.iter().try_for_each(|entry| self.append(&entry, 1))
    }

    /// Appends the values of a block's records, each for the number of rows that `spread` gives. Only for
    /// columns whose values [always fit](crate::flat); the only error is too many bytes of strings.
    fn append_block(
        &mut self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit>;

    fn append_nulls(&mut self, count: usize);

    fn truncate(&mut self, len: usize);

    /// Returns all values and empties the column.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;
}

/// Reads the numbers of a column.
pub(crate) trait ValueSource<V>: Send {
    /// Returns a record's number.
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, ColumnMisfit>;

    /// Appends the numbers of a block's records.
    fn append_block<A>(
        &self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
        values: &mut ColumnNumbers<A>,
    ) where
        A: ArrowPrimitiveType<Native = V>;
}

impl<V, F: Fn(&Record<'_>) -> Result<Option<V>, ColumnMisfit> + Send> ValueSource<V> for F {
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, ColumnMisfit> {
        self(record)
    }

    fn append_block<A>(&self, _: &ColumnBlock, _: &RowSpread<'_>, _: &mut ColumnNumbers<A>)
    where
        A: ArrowPrimitiveType<Native = V>,
    {
        unreachable!("a column whose values may not fit takes messages one by one")
    }
}

/// A numeric field whose values always fit, and their conversion to the column's type.
pub(crate) struct FromSlot<K, F> {
    pub(crate) slot: Slot<K>,
    pub(crate) convert: F,
}

impl<K, V, F> ValueSource<V> for FromSlot<K, F>
where
    K: NumberKind,
    F: Fn(K::Number) -> V + Send,
{
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, ColumnMisfit> {
        Ok(record.read_number(&self.slot).map(&self.convert))
    }

    fn append_block<A>(
        &self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
        values: &mut ColumnNumbers<A>,
    ) where
        A: ArrowPrimitiveType<Native = V>,
    {
        let numbers = block.numbers(&self.slot).map(&self.convert);
        values.append_block(numbers, block.presence(&self.slot), block.all(), spread);
    }
}

/// Number of entries of a sequence.
pub(crate) struct Lengths(pub(crate) Slot<Repeated>);

impl ValueSource<u32> for Lengths {
    fn of(&self, record: &Record<'_>) -> Result<Option<u32>, ColumnMisfit> {
        Ok(record.read(&self.0).map(|entries| entries.len() as u32))
    }

    fn append_block<A>(
        &self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
        values: &mut ColumnNumbers<A>,
    ) where
        A: ArrowPrimitiveType<Native = u32>,
    {
        values.append_block(block.lengths(&self.0), block.presence(&self.0), block.all(), spread);
    }
}

/// A constant number; null where the record lacks the optional constant at this index.
pub(crate) struct Fixed<V> {
    pub(crate) value: V,
    pub(crate) at: Option<usize>,
}

impl<V> Fixed<V> {
    /// True if the record has the constant.
    pub(crate) fn is_in(&self, record: &Record<'_>) -> bool {
        self.at.is_none_or(|index| !matches!(record.value(index), FieldValue::Absent))
    }
}

impl<V: Copy + Send> ValueSource<V> for Fixed<V> {
    fn of(&self, record: &Record<'_>) -> Result<Option<V>, ColumnMisfit> {
        Ok(self.is_in(record).then_some(self.value))
    }

    fn append_block<A>(
        &self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
        values: &mut ColumnNumbers<A>,
    ) where
        A: ArrowPrimitiveType<Native = V>,
    {
        let presence = self.at.map_or(block.there(), |index| block.presence_of(index));
        let numbers = std::iter::repeat_n(self.value, block.len());
        values.append_block(numbers, presence, block.all(), spread);
    }
}

/// A column of numbers, and the function that reads one from a record.
pub(crate) struct NumberColumn<A: ArrowPrimitiveType, R> {
    data_type: DataType,
    read: R,
    values: ColumnNumbers<A>,
}

impl<A, R> NumberColumn<A, R>
where
    A: ArrowPrimitiveType,
    R: ValueSource<A::Native>,
{
    pub(crate) fn new(data_type: DataType, read: R) -> Self {
        Self { data_type, read, values: ColumnNumbers::new() }
    }

    fn array(&mut self) -> PrimitiveArray<A> {
        self.values.take().with_data_type(self.data_type.clone())
    }
}

/// A column with one value in every row: batches are slices of one shared array.
pub(crate) struct Same {
    /// Creates an array with this number of rows.
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

    fn append(&mut self, _: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        self.rows += count;
        Ok(())
    }

    fn append_block(
        &mut self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit> {
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

impl<A, R> Column for NumberColumn<A, R>
where
    A: ArrowPrimitiveType,
    R: ValueSource<A::Native>,
{
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        self.values.append(self.read.of(record)?, count);
        Ok(())
    }

    fn append_block(
        &mut self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit> {
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

/// A column of words from a fixed list, such as the elements of an enumeration.
pub(crate) struct WordColumn<R> {
    keys: NumberColumn<types::Int16Type, R>,
    words: ArrayRef,
}

impl<R> WordColumn<R>
where
    R: ValueSource<i16>,
{
    /// Creates the column; `read` returns a word's index.
    pub(crate) fn new(words: &[&str], read: R) -> Self {
        let words = Arc::new(StringArray::from_iter_values(words));
        Self { keys: NumberColumn::new(DataType::Int16, read), words }
    }
}

impl<R> Column for WordColumn<R>
where
    R: ValueSource<i16>,
{
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        self.keys.append(record, count)
    }

    fn append_block(
        &mut self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit> {
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

/// A column of booleans.
pub(crate) struct Booleans<R> {
    read: R,
    values: BooleanBufferBuilder,
    validity: Validity,
}

impl<R> Booleans<R>
where
    R: Fn(&Record<'_>) -> Result<Option<bool>, ColumnMisfit>,
{
    pub(crate) fn new(read: R) -> Self {
        let values = BooleanBufferBuilder::new(ROWS);
        Self { read, values, validity: Validity::default() }
    }
}

impl<R> Column for Booleans<R>
where
    R: Fn(&Record<'_>) -> Result<Option<bool>, ColumnMisfit> + Send,
{
    fn len(&self) -> usize {
        self.values.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        match (self.read)(record)? {
            Some(value) => {
                self.values.append_n(count, value);
                self.validity.append_n(count, true);
            }
            None => self.append_nulls(count),
        }
        Ok(())
    }

    fn append_block(&mut self, _: &ColumnBlock, _: &RowSpread<'_>) -> Result<(), ColumnMisfit> {
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

/// A column of a string field; values always fit, up to the limit on their total size.
pub(crate) struct StringColumn {
    slot: Slot<Text>,
    strings: Strings,
}

impl StringColumn {
    pub(crate) fn new(is_text: bool, slot: Slot<Text>) -> Self {
        Self { slot, strings: Strings::new(is_text) }
    }
}

impl Column for StringColumn {
    fn len(&self) -> usize {
        self.strings.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        self.strings.append(record.read(&self.slot), count)
    }

    fn append_block(
        &mut self,
        block: &ColumnBlock,
        spread: &RowSpread<'_>,
    ) -> Result<(), ColumnMisfit> {
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

/// A column of generated strings: `read` appends the record's string to an empty buffer and returns whether
/// there is one.
pub(crate) struct GeneratedStrings<R> {
    read: R,
    buffer: Vec<u8>,
    strings: Strings,
}

impl<R> GeneratedStrings<R>
where
    R: Fn(&Record<'_>, &mut Vec<u8>) -> Result<bool, ColumnMisfit>,
{
    pub(crate) fn new(is_text: bool, read: R) -> Self {
        Self { read, buffer: Vec::new(), strings: Strings::new(is_text) }
    }
}

impl<R> Column for GeneratedStrings<R>
where
    R: Fn(&Record<'_>, &mut Vec<u8>) -> Result<bool, ColumnMisfit> + Send,
{
    fn len(&self) -> usize {
        self.strings.len()
    }

    fn append(&mut self, record: &Record<'_>, count: usize) -> Result<(), ColumnMisfit> {
        self.buffer.clear();
        let is_present = (self.read)(record, &mut self.buffer)?;
        self.strings.append(is_present.then_some(&self.buffer[..]), count)
    }

    fn append_block(&mut self, _: &ColumnBlock, _: &RowSpread<'_>) -> Result<(), ColumnMisfit> {
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
