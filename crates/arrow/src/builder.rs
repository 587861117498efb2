//! From messages to record batches.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, TimeUnit};
use tickwire_fast::template::Width;
use tickwire_fast::{Entries, FieldValue, Int, Message, Record, Slot, SlotKind, UInt};
use tickwire_text::Header;
use tickwire_text::json::{Form, push_record};

use crate::column::{
    Booleans, Column, FULL, FromSlot, Indexes, Made, Misfit, Numbers, Plain, Source, Words,
};
use crate::header::HeaderColumns;
use crate::staged::Staged;
use crate::table::{Constant, Inner, Kind, Node, SequenceNode, Table};

/// A value that has no place in its column, such as a string that is not UTF-8. Nothing of its message is in
/// the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Name of the column.
    pub column: String,
    /// What is wrong with the value.
    pub why: &'static str,
}

impl Unfit {
    /// Whether the batch has no more room for it: an empty one may have.
    pub fn is_full(&self) -> bool {
        self.why == FULL
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.why)
    }
}

impl Error for Unfit {}

/// Makes record batches of the messages of one template.
pub struct TableBuilder {
    table: Table,
    header: HeaderColumns,
    cells: Cells,
    /// `None` where each message's rows are appended at once.
    staged: Option<Staged>,
    /// With those of staged messages.
    rows: usize,
}

/// The columns behind those of the header.
struct Cells(Vec<Cell>);

enum Cell {
    Field(Box<dyn Column>),
    Entry(Indexes),
}

/// The column of a value that does not fit, and why it does not.
type Unfitting = (usize, Misfit);

impl TableBuilder {
    /// Begins a table without rows.
    pub fn new(table: Table) -> Self {
        let cells = Cells(table.kinds.iter().map(Cell::of).collect());
        let staged = Staged::of(&table);
        Self { table, header: HeaderColumns::new(), cells, staged, rows: 0 }
    }

    /// The columns.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Rows of the next batch so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the rows of a message and returns how many they are.
    ///
    /// # Errors
    /// [`Unfit`]: none of its rows is in the table then.
    ///
    /// # Panics
    /// If the message is of another template.
    pub fn push(&mut self, header: &Header<'_>, message: &Message) -> Result<usize, Unfit> {
        assert_eq!(
            message.template_index(),
            self.table.template,
            "the message is of another template"
        );
        if let Some(rows) = self.stage(message) {
            self.rows += rows;
            self.header.append(header, rows);
            return Ok(rows);
        }
        self.append_staged();
        let root = self.table.root.clone();
        match self.cells.rows(&message.root(), &root, self.rows) {
            Ok(count) => {
                self.rows += count;
                self.header.append(header, count);
                Ok(count)
            }
            Err((column, why)) => {
                self.cells.truncate(self.rows);
                let behind = self.table.schema.fields().len() - self.table.kinds.len();
                let column = self.table.schema.field(behind + column).name().clone();
                Err(Unfit { column, why })
            }
        }
    }

    /// Lets a message wait, and returns how many rows it has; `None` where it may not.
    fn stage(&mut self, message: &Message) -> Option<usize> {
        let staged = self.staged.as_mut()?;
        let rows = staged.take(message)?;
        if staged.is_full() {
            self.append_staged();
        }
        Some(rows)
    }

    /// Appends the rows of the messages that wait.
    fn append_staged(&mut self) {
        let Some(staged) = self.staged.as_mut().filter(|staged| !staged.is_empty()) else { return };
        self.cells.append_staged(staged, &self.table.root);
        staged.clear();
    }

    /// The rows since the last batch.
    ///
    /// # Errors
    /// Those of Arrow, which a table of this crate does not meet.
    pub fn take_batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.append_staged();
        if let Some(staged) = &mut self.staged {
            staged.begin_batch();
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
    /// Appends the rows of staged messages, a column at a time.
    fn append_staged(&mut self, staged: &Staged, root: &Node) {
        const FITS: &str = "only messages whose values fit are staged";
        let roots: Vec<_> = staged.roots().collect();
        for &column in &root.columns {
            self.field(column).append_roots(&roots).expect(FITS);
        }
        let Some(Inner::Sequence(sequence)) = root.inner.first() else { return };
        let entries = staged.entries().expect("of a table with a sequence");
        for &column in &sequence.node.columns {
            self.field(column).append_entries(&entries).expect(FITS);
        }
        let indexes = self.entry(sequence.entry);
        for (_, rows) in roots {
            indexes.append_up_to(rows);
        }
    }

    /// Appends the rows of a record, those of its sequences' entries, behind the row `base`; returns how many
    /// they are, one at least.
    fn rows(&mut self, record: &Record<'_>, node: &Node, base: usize) -> Result<usize, Unfitting> {
        let entries = self.entries(record, node, base, 0)?;
        let rows = entries.max(1);
        self.fields(Some(record), node, base + rows)?;
        Ok(rows)
    }

    /// Appends the rows of entries of a record's sequences; `rows` of the record there are already. Returns how
    /// many there are then. Columns of entries that a row is not in are filled later.
    fn entries(
        &mut self,
        record: &Record<'_>,
        node: &Node,
        base: usize,
        mut rows: usize,
    ) -> Result<usize, Unfitting> {
        for inner in &node.inner {
            match inner {
                Inner::Group(group) => {
                    if let FieldValue::Group(record) = record.value(group.index) {
                        rows = self.entries(&record, &group.node, base, rows)?;
                    }
                }
                Inner::Sequence(sequence) => {
                    let entries = record.read(&sequence.slot);
                    if let Some(entries) = entries.filter(|entries| !entries.is_empty()) {
                        rows += self.sequence(&entries, sequence, base + rows)?;
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Appends the rows of a sequence's entries behind the row `base`; returns how many they are.
    fn sequence(
        &mut self,
        entries: &Entries<'_>,
        sequence: &SequenceNode,
        base: usize,
    ) -> Result<usize, Unfitting> {
        self.pad(sequence.all.clone(), base);
        if sequence.node.inner.is_empty() {
            // A row an entry: a column at a time.
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

    /// Fills the columns of a record up to the row `end`: with its values, or with nulls where there is none.
    fn fields(
        &mut self,
        record: Option<&Record<'_>>,
        node: &Node,
        end: usize,
    ) -> Result<(), Unfitting> {
        for &column in &node.columns {
            self.fill(column, record, end)?;
        }
        for inner in &node.inner {
            let group = match inner {
                Inner::Group(group) => group,
                Inner::Sequence(sequence) => {
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

    /// Fills columns with nulls up to the row `end`.
    fn pad(&mut self, columns: std::ops::Range<usize>, end: usize) {
        for cell in &mut self.0[columns] {
            match cell {
                Cell::Field(column) => column.append_nulls(end - column.len()),
                Cell::Entry(indexes) => indexes.append(None, end - indexes.len()),
            }
        }
    }

    fn field(&mut self, column: usize) -> &mut dyn Column {
        match &mut self.0[column] {
            Cell::Field(column) => column.as_mut(),
            Cell::Entry(_) => unreachable!("a node's own columns are of fields"),
        }
    }

    fn entry(&mut self, column: usize) -> &mut Indexes {
        match &mut self.0[column] {
            Cell::Entry(indexes) => indexes,
            Cell::Field(_) => unreachable!("the column of a sequence's entries has their indexes"),
        }
    }

    fn truncate(&mut self, rows: usize) {
        for cell in &mut self.0 {
            match cell {
                Cell::Field(column) => column.truncate(rows),
                Cell::Entry(indexes) => indexes.truncate(rows),
            }
        }
    }
}

/// A column of numbers.
fn numbers<A, R>(kind: &Kind, read: R) -> Box<dyn Column>
where
    A: ArrowPrimitiveType,
    R: Source<A::Native> + 'static,
{
    Box::new(Numbers::<A, R>::new(kind.data_type(), read))
}

/// A column of a field's values, which all fit.
fn values<A, K>(
    kind: &Kind,
    slot: Slot<K>,
    convert: impl Fn(K::Value<'_>) -> A::Native + Send + 'static,
) -> Box<dyn Column>
where
    A: ArrowPrimitiveType,
    K: SlotKind + 'static,
{
    numbers::<A, _>(kind, FromSlot { slot, convert })
}

/// A column of unsigned integers. The decoder has checked their width.
fn unsigned(kind: &Kind, slot: Slot<UInt>, width: Width) -> Box<dyn Column> {
    use types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
    match width {
        Width::W8 => values::<UInt8Type, _>(kind, slot, |value| value as u8),
        Width::W16 => values::<UInt16Type, _>(kind, slot, |value| value as u16),
        Width::W32 => values::<UInt32Type, _>(kind, slot, |value| value as u32),
        Width::W64 => values::<UInt64Type, _>(kind, slot, |value| value),
    }
}

/// A column of signed integers. The decoder has checked their width.
fn signed(kind: &Kind, slot: Slot<Int>, width: Width) -> Box<dyn Column> {
    use types::{Int8Type, Int16Type, Int32Type, Int64Type};
    match width {
        Width::W8 => values::<Int8Type, _>(kind, slot, |value| value as i8),
        Width::W16 => values::<Int16Type, _>(kind, slot, |value| value as i16),
        Width::W32 => values::<Int32Type, _>(kind, slot, |value| value as i32),
        Width::W64 => values::<Int64Type, _>(kind, slot, |value| value),
    }
}

fn timestamp(kind: &Kind, slot: Slot<Int>, unit: TimeUnit) -> Box<dyn Column> {
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

fn since_midnight(kind: &Kind, slot: Slot<Int>, unit: TimeUnit) -> Box<dyn Column> {
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

/// A column of one value, or of none where an optional constant at this index is absent.
fn constant(kind: &Kind, value: &Constant, at: Option<usize>) -> Box<dyn Column> {
    let is_there = move |record: &Record<'_>| {
        at.is_none_or(|index| !matches!(record.value(index), FieldValue::Absent))
    };
    macro_rules! number {
        ($arrow:ident, $value:expr) => {{
            let value = $value;
            numbers::<types::$arrow, _>(
                kind,
                move |r: &Record<'_>| Ok(is_there(r).then_some(value)),
            )
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
            let value = *value;
            Box::new(Booleans::new(move |r: &Record<'_>| Ok(is_there(r).then_some(value))))
        }
        Constant::Text(text) => {
            Box::new(Words::new(&[text], move |r: &Record<'_>| Ok(is_there(r).then_some(0))))
        }
        Constant::Binary(bytes) => {
            let bytes = bytes.clone();
            Box::new(Made::new(false, move |r: &Record<'_>, out: &mut Vec<u8>| {
                out.extend_from_slice(if is_there(r) { &bytes } else { &[] });
                Ok(is_there(r))
            }))
        }
    }
}

impl Cell {
    fn of(kind: &Kind) -> Self {
        Self::Field(match kind {
            Kind::Entry => return Self::Entry(Indexes::new()),
            Kind::UInt(slot, width) => unsigned(kind, *slot, *width),
            Kind::Int(slot, width) => signed(kind, *slot, *width),
            Kind::Timestamp(slot, unit) => timestamp(kind, *slot, *unit),
            Kind::SinceMidnight(slot, unit) => since_midnight(kind, *slot, *unit),
            Kind::Date(slot) => {
                let slot = *slot;
                numbers::<types::Date32Type, _>(kind, move |r: &Record<'_>| {
                    let days = r.read(&slot).map(i32::try_from).transpose();
                    days.map_err(|_| "the date is beyond the 32 bits of Arrow's days")
                })
            }
            Kind::Boolean(slot) => {
                let slot = *slot;
                Box::new(Booleans::new(move |r: &Record<'_>| match r.read(&slot) {
                    None => Ok(None),
                    Some(value @ 0..=1) => Ok(Some(value == 1)),
                    Some(_) => Err("a boolean is neither 0 nor 1"),
                }))
            }
            Kind::Enum(slot, enumeration) => {
                let slot = *slot;
                let names: Vec<&str> =
                    enumeration.elements.iter().map(|element| element.name.as_ref()).collect();
                let enumeration = Arc::clone(enumeration);
                Box::new(Words::new(&names, move |r: &Record<'_>| {
                    let Some(value) = r.read(&slot) else { return Ok(None) };
                    let mut elements = enumeration.elements.iter();
                    let index = elements.position(|element| element.value == value);
                    index
                        .map(|index| Some(index as i16))
                        .ok_or("the enumeration has no such element")
                }))
            }
            Kind::Ascii(slot) => Box::new(Plain::new(true, *slot)),
            Kind::Unicode(slot) => {
                let slot = *slot;
                Box::new(Made::new(true, move |r: &Record<'_>, out: &mut Vec<u8>| {
                    let Some(text) = r.read(&slot) else { return Ok(false) };
                    std::str::from_utf8(text).map_err(|_| "the string is not UTF-8")?;
                    out.extend_from_slice(text);
                    Ok(true)
                }))
            }
            Kind::Binary(slot) => Box::new(Plain::new(false, *slot)),
            Kind::Decimal(slot, _) => {
                values::<types::Decimal128Type, _>(kind, *slot, |value| value.mantissa.into())
            }
            Kind::Mantissa(slot) => {
                values::<types::Int64Type, _>(kind, *slot, |value| value.mantissa)
            }
            Kind::Exponent(slot) => {
                values::<types::Int32Type, _>(kind, *slot, |value| value.exponent)
            }
            Kind::Float(slot) => {
                values::<types::Float64Type, _>(kind, *slot, |value| value.to_f64())
            }
            Kind::Constant(value, at) => constant(kind, value, *at),
            Kind::Present(index) => {
                let index = *index;
                Box::new(Booleans::new(move |r: &Record<'_>| {
                    Ok(Some(matches!(r.value(index), FieldValue::Group(_))))
                }))
            }
            Kind::Length(slot) => {
                values::<types::UInt32Type, _>(kind, *slot, |entries| entries.len() as u32)
            }
            Kind::Json(index) => {
                let index = *index;
                Box::new(Made::new(true, move |r: &Record<'_>, out: &mut Vec<u8>| {
                    match r.value(index) {
                        FieldValue::Dynamic(_, inner) => {
                            push_record(out, inner, Form::Named);
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
