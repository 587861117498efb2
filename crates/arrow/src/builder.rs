//! Builds record batches from messages.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{
    ArrayRef, DictionaryArray, Int16Array, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_schema::{ArrowError, TimeUnit};
use tickwire_fast::template::Width;
use tickwire_fast::{Entries, FieldValue, Int, Message, NumberKind, Record, Slot, UInt};
use tickwire_text::Header;
use tickwire_text::json::{JsonForm, push_record};

use crate::column::{
    Booleans, Column, ColumnMisfit, Fixed, FromSlot, GeneratedStrings, Lengths, NumberColumn, Same,
    StringColumn, ValueSource, WordColumn,
};
use crate::flat::FlatTable;
use crate::header::{HeaderColumns, PacketNumbers};
use crate::strings::FULL;
use crate::table::{ColumnKind, Constant, NestedNode, SegmentNode, SequenceNode, TemplateTable};
use crate::values::IndexColumn;

/// A value that its column cannot hold, such as a string that is not UTF-8. No row of its message is in the
/// table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnValueError {
    /// Name of the column.
    pub column: String,
    /// Why the column cannot hold the value.
    pub why: &'static str,
}

impl ColumnValueError {
    /// True if the batch has no room left for the message; an empty batch may have room for it.
    pub fn is_full(&self) -> bool {
        self.why == FULL
    }
}

impl fmt::Display for ColumnValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.why)
    }
}

impl Error for ColumnValueError {}

/// Builds record batches from the messages of one template.
pub struct TableBuilder {
    table: TemplateTable,
    header: HeaderColumns,
    cells: Cells,
    /// Collects rows of flat tables by field; `None` if each message's rows are appended at once.
    flat: Option<FlatTable>,
    /// Rows of the next batch, including the messages collected in `flat`.
    rows: usize,
}

/// The table's columns except those of the header.
pub(crate) struct Cells(Vec<TableColumn>);

pub(crate) enum TableColumn {
    Field(Box<dyn Column>),
    Entry(IndexColumn),
}

/// Index of the column that cannot hold a value, and the reason.
pub(crate) type Unfitting = (usize, ColumnMisfit);

impl TableBuilder {
    /// Creates an empty table.
    pub fn new(table: TemplateTable) -> Self {
        let is_everywhere = |column| table.root.columns.contains(&column);
        let kinds = table.kinds.iter().enumerate();
        let cells = kinds.map(|(column, kind)| TableColumn::of(kind, is_everywhere(column)));
        let cells = Cells(cells.collect());
        let flat = FlatTable::of(&table);
        Self { table, header: HeaderColumns::new(PacketNumbers::Column), cells, flat, rows: 0 }
    }

    /// Returns the table's definition.
    pub fn table(&self) -> &TemplateTable {
        &self.table
    }

    /// Returns the number of rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the rows of a message and returns their number.
    ///
    /// # Errors
    /// [`ColumnValueError`] if a column cannot hold a value; no row of the message is in the table then.
    ///
    /// # Panics
    /// If the message has another template.
    pub fn push(
        &mut self,
        header: &Header<'_>,
        message: &Message,
    ) -> Result<usize, ColumnValueError> {
        assert_eq!(
            message.template_index(),
            self.table.template,
            "the message is of another template"
        );
        let Self { cells, flat, table, rows, .. } = self;
        let appended = match flat {
            Some(flat) => flat.push(cells, message),
            None => cells.rows(&message.root(), &table.root, *rows),
        };
        match appended {
            Ok(count) => {
                self.rows += count;
                self.header.append(header, count);
                Ok(count)
            }
            Err((column, why)) => {
                self.cells.truncate(self.rows);
                let behind = self.table.schema.fields().len() - self.table.kinds.len();
                let column = self.table.schema.field(behind + column).name().clone();
                Err(ColumnValueError { column, why })
            }
        }
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// Errors of Arrow; not expected for tables of this crate.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        if let Some(flat) = &mut self.flat {
            flat.begin_batch(&mut self.cells);
        }
        let mut arrays = self.header.take();
        for cell in &mut self.cells.0 {
            arrays.push(cell.finish()?);
        }
        self.rows = 0;
        RecordBatch::try_new(self.table.schema.clone(), arrays)
    }
}

impl Cells {
    /// Appends the rows of a record after row `base`: one per entry of its sequences, at least one.
    /// Returns their number.
    fn rows(
        &mut self,
        record: &Record<'_>,
        node: &SegmentNode,
        base: usize,
    ) -> Result<usize, Unfitting> {
        let entries = self.entries(record, node, base, 0)?;
        let rows = entries.max(1);
        self.fields(Some(record), node, base + rows)?;
        Ok(rows)
    }

    /// Appends the rows for the entries of a record's sequences; the record itself already has `rows` rows.
    /// Returns the new number of rows. Columns of other sequences are padded with nulls later.
    fn entries(
        &mut self,
        record: &Record<'_>,
        node: &SegmentNode,
        base: usize,
        mut rows: usize,
    ) -> Result<usize, Unfitting> {
        for inner in &node.inner {
            match inner {
                NestedNode::Group(group) => {
                    if let FieldValue::Group(record) = record.value(group.index) {
                        rows = self.entries(&record, &group.node, base, rows)?;
                    }
                }
                NestedNode::Sequence(sequence) => {
                    let entries = record.read(&sequence.slot);
                    if let Some(entries) = entries.filter(|entries| !entries.is_empty()) {
                        rows += self.sequence(&entries, sequence, base + rows)?;
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Appends the rows of a sequence's entries after row `base`; returns their number.
    fn sequence(
        &mut self,
        entries: &Entries<'_>,
        sequence: &SequenceNode,
        base: usize,
    ) -> Result<usize, Unfitting> {
        self.pad(sequence.all.clone(), base);
        if sequence.node.inner.is_empty() {
            // Each entry is one row: append one column at a time.
            for &column in &sequence.node.columns {
                self.field(column).append_entries(entries).map_err(|why| (column, why))?;
            }
            self.entry(sequence.entry).append_up_to(entries.len());
            return Ok(entries.len());
        }
        let mut rows = 0;
        for (index, entry) in entries.iter().enumerate() {
            let of_entry = self.rows(&entry, &sequence.node, base + rows)?;
            self.entry(sequence.entry).append(Some(index as u32), of_entry);
            rows += of_entry;
        }
        Ok(rows)
    }

    /// Fills the columns of a record up to row `end`: with its values, or with nulls if there is no
    /// record.
    fn fields(
        &mut self,
        record: Option<&Record<'_>>,
        node: &SegmentNode,
        end: usize,
    ) -> Result<(), Unfitting> {
        for &column in &node.columns {
            self.fill(column, record, end)?;
        }
        for inner in &node.inner {
            let group = match inner {
                NestedNode::Group(group) => group,
                NestedNode::Sequence(sequence) => {
                    self.pad(sequence.all.clone(), end);
                    continue;
                }
            };
            if let Some(column) = group.present {
                self.fill(column, record, end)?;
            }
            match record.map(|record| record.value(group.index)) {
                Some(FieldValue::Group(inner)) => self.fields(Some(&inner), &group.node, end)?,
                _ => self.pad(group.all.clone(), end),
            }
        }
        Ok(())
    }

    fn fill(
        &mut self,
        column: usize,
        record: Option<&Record<'_>>,
        end: usize,
    ) -> Result<(), Unfitting> {
        let cells = self.field(column);
        let count = end - cells.len();
        match record {
            Some(record) => cells.append(record, count).map_err(|why| (column, why)),
            None => {
                cells.append_nulls(count);
                Ok(())
            }
        }
    }

    /// Fills columns with nulls up to row `end`.
    fn pad(&mut self, columns: std::ops::Range<usize>, end: usize) {
        for cell in &mut self.0[columns] {
            match cell {
                TableColumn::Field(column) => column.append_nulls(end - column.len()),
                TableColumn::Entry(indexes) => indexes.append(None, end - indexes.len()),
            }
        }
    }

    pub(crate) fn field(&mut self, column: usize) -> &mut dyn Column {
        match &mut self.0[column] {
            TableColumn::Field(column) => column.as_mut(),
            TableColumn::Entry(_) => unreachable!("a node's own columns are of fields"),
        }
    }

    pub(crate) fn entry(&mut self, column: usize) -> &mut IndexColumn {
        match &mut self.0[column] {
            TableColumn::Entry(indexes) => indexes,
            TableColumn::Field(_) => {
                unreachable!("the column of a sequence's entries has their indexes")
            }
        }
    }

    fn truncate(&mut self, rows: usize) {
        for cell in &mut self.0 {
            match cell {
                TableColumn::Field(column) => column.truncate(rows),
                TableColumn::Entry(indexes) => indexes.truncate(rows),
            }
        }
    }
}

/// Creates a column of numbers.
fn numbers<A, R>(kind: &ColumnKind, read: R) -> Box<dyn Column>
where
    A: ArrowPrimitiveType,
    R: ValueSource<A::Native> + 'static,
{
    Box::new(NumberColumn::<A, R>::new(kind.data_type(), read))
}

/// Creates a column for field values that always fit.
fn values<A, K>(
    kind: &ColumnKind,
    slot: Slot<K>,
    convert: impl Fn(K::Number) -> A::Native + Send + 'static,
) -> Box<dyn Column>
where
    A: ArrowPrimitiveType,
    K: NumberKind + 'static,
{
    numbers::<A, _>(kind, FromSlot { slot, convert })
}

/// Creates a column of unsigned integers. The decoder has checked their width.
fn unsigned(kind: &ColumnKind, slot: Slot<UInt>, width: Width) -> Box<dyn Column> {
    use types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
    match width {
        Width::W8 => values::<UInt8Type, _>(kind, slot, |value| value as u8),
        Width::W16 => values::<UInt16Type, _>(kind, slot, |value| value as u16),
        Width::W32 => values::<UInt32Type, _>(kind, slot, |value| value as u32),
        Width::W64 => values::<UInt64Type, _>(kind, slot, |value| value),
    }
}

/// Creates a column of signed integers. The decoder has checked their width.
fn signed(kind: &ColumnKind, slot: Slot<Int>, width: Width) -> Box<dyn Column> {
    use types::{Int8Type, Int16Type, Int32Type, Int64Type};
    match width {
        Width::W8 => values::<Int8Type, _>(kind, slot, |value| value as i8),
        Width::W16 => values::<Int16Type, _>(kind, slot, |value| value as i16),
        Width::W32 => values::<Int32Type, _>(kind, slot, |value| value as i32),
        Width::W64 => values::<Int64Type, _>(kind, slot, |value| value),
    }
}

fn timestamp(kind: &ColumnKind, slot: Slot<Int>, unit: TimeUnit) -> Box<dyn Column> {
    match unit {
        TimeUnit::Second => values::<types::TimestampSecondType, _>(kind, slot, |value| value),
        TimeUnit::Millisecond => {
            values::<types::TimestampMillisecondType, _>(kind, slot, |value| value)
        }
        TimeUnit::Microsecond => {
            values::<types::TimestampMicrosecondType, _>(kind, slot, |value| value)
        }
        TimeUnit::Nanosecond => {
            values::<types::TimestampNanosecondType, _>(kind, slot, |value| value)
        }
    }
}

fn since_midnight(kind: &ColumnKind, slot: Slot<Int>, unit: TimeUnit) -> Box<dyn Column> {
    match unit {
        TimeUnit::Second => values::<types::DurationSecondType, _>(kind, slot, |value| value),
        TimeUnit::Millisecond => {
            values::<types::DurationMillisecondType, _>(kind, slot, |value| value)
        }
        TimeUnit::Microsecond => {
            values::<types::DurationMicrosecondType, _>(kind, slot, |value| value)
        }
        TimeUnit::Nanosecond => {
            values::<types::DurationNanosecondType, _>(kind, slot, |value| value)
        }
    }
}

/// Creates the column of a constant; an optional constant is null where the record lacks the field at this
/// index. `is_everywhere`: every row has the constant.
fn constant(
    kind: &ColumnKind,
    value: &Constant,
    at: Option<usize>,
    is_everywhere: bool,
) -> Box<dyn Column> {
    macro_rules! number {
        ($arrow:ident, $value:expr) => {{
            let (value, data_type) = ($value, kind.data_type());
            match is_everywhere {
                true => Box::new(Same::new(move |rows| {
                    let array = PrimitiveArray::<types::$arrow>::from_value(value, rows);
                    Ok(Arc::new(array.with_data_type(data_type.clone())))
                })),
                false => numbers::<types::$arrow, _>(kind, Fixed { value, at }),
            }
        }};
    }
    match value {
        Constant::UInt(value, Width::W8) => number!(UInt8Type, *value as u8),
        Constant::UInt(value, Width::W16) => number!(UInt16Type, *value as u16),
        Constant::UInt(value, Width::W32) => number!(UInt32Type, *value as u32),
        Constant::UInt(value, Width::W64) => number!(UInt64Type, *value),
        Constant::Int(value, Width::W8) => number!(Int8Type, *value as i8),
        Constant::Int(value, Width::W16) => number!(Int16Type, *value as i16),
        Constant::Int(value, Width::W32) => number!(Int32Type, *value as i32),
        Constant::Int(value, Width::W64) | Constant::Mantissa(value) => number!(Int64Type, *value),
        Constant::Exponent(value) => number!(Int32Type, *value),
        Constant::Decimal(mantissa, _) => number!(Decimal128Type, i128::from(*mantissa)),
        Constant::Float(value) => number!(Float64Type, *value),
        Constant::Boolean(value) => {
            let fixed = Fixed { value: *value, at };
            Box::new(Booleans::new(move |r: &Record<'_>| fixed.of(r)))
        }
        Constant::Text(text) if is_everywhere => {
            let words: ArrayRef = Arc::new(StringArray::from_iter_values([text]));
            Box::new(Same::new(move |rows| {
                let keys = Int16Array::from_value(0, rows);
                Ok(Arc::new(DictionaryArray::try_new(keys, words.clone())?))
            }))
        }
        Constant::Text(text) => Box::new(WordColumn::new(&[text], Fixed { value: 0, at })),
        Constant::Binary(bytes) => {
            let (bytes, fixed) = (bytes.clone(), Fixed { value: (), at });
            Box::new(GeneratedStrings::new(false, move |r: &Record<'_>, out: &mut Vec<u8>| {
                let is_there = fixed.is_in(r);
                out.extend_from_slice(if is_there { &bytes } else { &[] });
                Ok(is_there)
            }))
        }
    }
}

impl TableColumn {
    /// Creates the column of a field; `is_of_root` if the field is in the message itself, not in an entry.
    fn of(kind: &ColumnKind, is_of_root: bool) -> Self {
        Self::Field(match kind {
            ColumnKind::Entry => return Self::Entry(IndexColumn::new()),
            ColumnKind::UInt(slot, width) => unsigned(kind, *slot, *width),
            ColumnKind::Int(slot, width) => signed(kind, *slot, *width),
            ColumnKind::Timestamp(slot, unit) => timestamp(kind, *slot, *unit),
            ColumnKind::SinceMidnight(slot, unit) => since_midnight(kind, *slot, *unit),
            ColumnKind::Date(slot) => {
                let slot = *slot;
                numbers::<types::Date32Type, _>(kind, move |r: &Record<'_>| {
                    let days = r.read(&slot).map(i32::try_from).transpose();
                    days.map_err(|_| "the date is beyond the 32 bits of Arrow's days")
                })
            }
            ColumnKind::Boolean(slot) => {
                let slot = *slot;
                Box::new(Booleans::new(move |r: &Record<'_>| match r.read(&slot) {
                    None => Ok(None),
                    Some(value @ 0..=1) => Ok(Some(value == 1)),
                    Some(_) => Err("a boolean is neither 0 nor 1"),
                }))
            }
            ColumnKind::Enum(slot, enumeration) => {
                let slot = *slot;
                let names: Vec<&str> =
                    enumeration.elements.iter().map(|element| element.name.as_ref()).collect();
                let enumeration = Arc::clone(enumeration);
                Box::new(WordColumn::new(&names, move |r: &Record<'_>| {
                    let Some(value) = r.read(&slot) else { return Ok(None) };
                    let mut elements = enumeration.elements.iter();
                    let index = elements.position(|element| element.value == value);
                    index
                        .map(|index| Some(index as i16))
                        .ok_or("the enumeration has no such element")
                }))
            }
            ColumnKind::Ascii(slot) => Box::new(StringColumn::new(true, *slot)),
            ColumnKind::Unicode(slot) => {
                let slot = *slot;
                Box::new(GeneratedStrings::new(true, move |r: &Record<'_>, out: &mut Vec<u8>| {
                    let Some(text) = r.read(&slot) else { return Ok(false) };
                    std::str::from_utf8(text).map_err(|_| "the string is not UTF-8")?;
                    out.extend_from_slice(text);
                    Ok(true)
                }))
            }
            ColumnKind::Binary(slot) => Box::new(StringColumn::new(false, *slot)),
            ColumnKind::Decimal(slot, _) => {
                values::<types::Decimal128Type, _>(kind, *slot, |value| value.mantissa.into())
            }
            ColumnKind::Mantissa(slot) => {
                values::<types::Int64Type, _>(kind, *slot, |value| value.mantissa)
            }
            ColumnKind::Exponent(slot) => {
                values::<types::Int32Type, _>(kind, *slot, |value| value.exponent)
            }
            ColumnKind::Float(slot) => {
                values::<types::Float64Type, _>(kind, *slot, |value| value.to_f64())
            }
            ColumnKind::Constant(value, at) => {
                constant(kind, value, *at, is_of_root && at.is_none())
            }
            ColumnKind::Present(index) => {
                let index = *index;
                Box::new(Booleans::new(move |r: &Record<'_>| {
                    Ok(Some(matches!(r.value(index), FieldValue::Group(_))))
                }))
            }
            ColumnKind::Length(slot) => numbers::<types::UInt32Type, _>(kind, Lengths(*slot)),
            ColumnKind::Json(index) => {
                let index = *index;
                Box::new(GeneratedStrings::new(true, move |r: &Record<'_>, out: &mut Vec<u8>| {
                    match r.value(index) {
                        FieldValue::Dynamic(_, inner) => {
                            push_record(out, inner, JsonForm::Named);
                            Ok(true)
                        }
                        _ => Ok(false),
                    }
                }))
            }
        })
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Field(column) => column.finish(),
            Self::Entry(indexes) => Ok(Arc::new(indexes.take())),
        }
    }
}
