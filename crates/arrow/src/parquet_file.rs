//! A Parquet file, written row group by row group.

use std::io::Write;
use std::sync::{Arc, MutexGuard};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch};
use arrow_schema::{DECIMAL64_MAX_PRECISION, DataType, FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::data_type::FixedLenByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;

use crate::constant_chunk::OnlyValue;
use crate::encoders::{EncoderQueue, Encoders};
use crate::size::array_bytes;

/// Rows per row group, the unit that readers load.
const GROUP_ROWS: usize = 1 << 20;

/// A Parquet file. Columns with one value in a row group are written as run lengths, all others by Arrow's
/// writer.
pub(crate) struct ParquetFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    encoders: Encoders,
    /// The row group under construction. Each task of an encoder holds its column.
    columns: Vec<Arc<GroupColumn>>,
    rows: usize,
}

/// A column of the row group, and the values that wait for its encoder.
type GroupColumn = EncoderQueue<ColumnEncoder, ArrayRef>;

struct ColumnEncoder {
    field: FieldRef,
    /// Writers of its leaves: a column of lists has several.
    leaves: Vec<ArrowColumnWriter>,
    /// True if its pages have statistics, which only Arrow's writer creates.
    has_pages: bool,
    rows: ColumnRows,
    /// Bounds of the values, for columns whose statistics the library does not create.
    wide: Option<WideBounds>,
    /// The first error; values after it are dropped.
    failed: Option<ParquetError>,
}

/// Rows of a column in the current row group.
enum ColumnRows {
    /// No rows yet.
    None,
    /// All `count` rows have the same value and are not in the writers yet. `some` is the longest
    /// array of them; if a different value follows, the rows are written as slices of it.
    Same { value: OnlyValue, some: ArrayRef, count: usize },
    /// The rows are in the writers.
    Written,
}

/// A column of a complete row group.
enum CompleteColumn {
    /// All `count` rows have the same value, in each of `leaves` leaves.
    Same { value: OnlyValue, count: usize, leaves: usize },
    /// One chunk per leaf.
    Chunks(Vec<ArrowColumnChunk>),
}

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The schema has no columns, or Parquet has no type for one of them.
    pub(crate) fn new(
        out: W,
        schema: SchemaRef,
        properties: WriterProperties,
        encoders: Encoders,
    ) -> Result<Self, ParquetError> {
        if schema.fields().is_empty() {
            let text = "a Parquet file has rows only in columns: expected at least one column";
            return Err(ParquetError::General(text.to_owned()));
        }
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(Self { file, factory, schema, encoders, columns: Vec::new(), rows: 0 })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let mut from = 0;
        while from < batch.num_rows() {
            if self.rows == 0 {
                self.begin_group()?;
            }
            let count = (batch.num_rows() - from).min(GROUP_ROWS - self.rows);
            self.write_rows(&batch.slice(from, count))?;
            from += count;
            if self.rows == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn begin_group(&mut self) -> Result<(), ParquetError> {
        let writers = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
        let (properties, leaves) = (self.file.properties(), self.file.schema_descr());
        let mut encoders: Vec<_> = self.schema.fields().iter().map(ColumnEncoder::new).collect();
        for (at, writer) in writers.into_iter().enumerate() {
            let encoder = &mut encoders[leaves.get_column_root_idx(at)];
            let statistics = properties.statistics_enabled(leaves.column(at).path());
            encoder.has_pages |= statistics == EnabledStatistics::Page;
            encoder.leaves.push(writer);
        }
        let queue = |encoder| GroupColumn::new(encoder, ColumnEncoder::append_unless_failed);
        self.columns = encoders.into_iter().map(queue).collect();
        Ok(())
    }

    fn write_rows(&mut self, rows: &RecordBatch) -> Result<(), ParquetError> {
        self.rows += rows.num_rows();
        let columns = self.columns.iter().zip(rows.columns());
        if !self.encoders.has_threads() {
            for (column, values) in columns {
                encoder(column)?.append(values)?;
            }
            return Ok(());
        }
        self.encoders.make_room();
        for (column, values) in columns {
            column.push(&self.encoders, Arc::clone(values), array_bytes(values));
        }
        Ok(())
    }

    /// Waits until all values are encoded.
    fn wait(&self) {
        self.encoders.wait_until(|| self.columns.iter().all(GroupColumn::is_idle));
    }

    /// Waits until all values are encoded. Returns the encoders of the row group, or the first error.
    fn drain(&mut self) -> Result<Vec<ColumnEncoder>, ParquetError> {
        self.wait();
        let columns = std::mem::take(&mut self.columns).into_iter();
        let encoders = columns.map(|column| {
            let mut encoder = column.finish(&self.encoders).ok_or_else(broken)?;
            match encoder.failed.take() {
                Some(error) => Err(error),
                None => Ok(encoder),
            }
        });
        encoders.collect()
    }

    /// Returns the bytes of the rows held in memory, once they are encoded.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.wait();
        let bytes =
            |column: &Arc<GroupColumn>| column.state().map_or(0, |encoder| encoder.waiting_bytes());
        self.columns.iter().map(bytes).sum()
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let encoders = self.drain()?;
        let columns = self.encoders.map(encoders, ColumnEncoder::complete);
        let mut leaves = self.file.schema_descr().columns().to_vec().into_iter();
        let mut group = self.file.next_row_group()?;
        for column in columns {
            match column.ok_or_else(broken)?? {
                CompleteColumn::Same { value, count, leaves: own } => {
                    for leaf in leaves.by_ref().take(own) {
                        value.append_to(&mut group, leaf, count)?;
                    }
                }
                CompleteColumn::Chunks(chunks) => {
                    for (chunk, _) in chunks.into_iter().zip(&mut leaves) {
                        chunk.append_to_row_group(&mut group)?;
                    }
                }
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Adds an entry to the metadata of the file.
    pub(crate) fn add_metadata(&mut self, key: &str, value: &str) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        self.file.into_inner()
    }
}

/// Returns the error of a file after the encoder of one of its columns panicked.
fn broken() -> ParquetError {
    ParquetError::General("a column could not be encoded: the encoder panicked".to_owned())
}

/// Returns the encoder of a column.
fn encoder(column: &GroupColumn) -> Result<MutexGuard<'_, ColumnEncoder>, ParquetError> {
    column.state().ok_or_else(broken)
}

impl ColumnEncoder {
    fn new(field: &FieldRef) -> Self {
        let wide = WideBounds::of(field.data_type());
        let (field, leaves) = (Arc::clone(field), Vec::new());
        Self { field, leaves, has_pages: false, rows: ColumnRows::None, wide, failed: None }
    }

    fn waiting_bytes(&self) -> usize {
        self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }

    /// Appends rows, unless earlier ones failed.
    fn append_unless_failed(&mut self, values: ArrayRef) {
        if self.failed.is_none() {
            self.failed = self.append(&values).err();
        }
    }

    /// Appends rows.
    fn append(&mut self, values: &ArrayRef) -> Result<(), ParquetError> {
        let only = match self.rows {
            ColumnRows::Written => None,
            // Another type is an error, which `write` returns.
            _ if values.data_type() != self.field.data_type() => None,
            _ => OnlyValue::of(&self.field, values),
        };
        // Without a value there are no page statistics.
        let only = only.filter(|only| !self.has_pages || *only == OnlyValue::Null);
        match (&mut self.rows, only) {
            (ColumnRows::Same { value, some, count }, Some(only)) if *value == only => {
                *count += values.len();
                // A longer array needs fewer writes when a different value follows.
                if values.len() > some.len() {
                    *some = values.clone();
                }
                return Ok(());
            }
            (rows @ ColumnRows::None, Some(value)) => {
                *rows = ColumnRows::Same { value, some: values.clone(), count: values.len() };
                return Ok(());
            }
            _ => {}
        }
        let before = std::mem::replace(&mut self.rows, ColumnRows::Written);
        if let ColumnRows::Same { some, mut count, .. } = before {
            while count > 0 {
                let rows = count.min(some.len());
                self.write(&some.slice(0, rows))?;
                count -= rows;
            }
        }
        self.write(values)
    }

    fn write(&mut self, values: &ArrayRef) -> Result<(), ParquetError> {
        if let (Some(wide), Some(values)) = (&mut self.wide, values.as_primitive_opt()) {
            wide.add(values);
        }
        let leaves = compute_leaves(&self.field, values)?;
        let mut pairs = leaves.iter().zip(&mut self.leaves);
        pairs.try_for_each(|(values, leaf)| leaf.write(values))
    }

    /// Ends the row group.
    fn complete(self) -> Result<CompleteColumn, ParquetError> {
        if let ColumnRows::Same { value, count, .. } = self.rows {
            return Ok(CompleteColumn::Same { value, count, leaves: self.leaves.len() });
        }
        let chunks = self.leaves.into_iter().map(ArrowColumnWriter::close);
        let mut chunks: Vec<_> = chunks.collect::<Result<_, _>>()?;
        if let (Some(wide), [chunk]) = (&self.wide, &mut chunks[..]) {
            let metadata = &mut chunk.close_mut().metadata;
            let statistics = wide.statistics(metadata.column_descr().type_length());
            *metadata = metadata.clone().into_builder().set_statistics(statistics).build()?;
        }
        Ok(CompleteColumn::Chunks(chunks))
    }
}

/// Least and greatest value of a column of decimals that Parquet stores as bytes. The library compares these bytes by two
/// calls of memcmp per value.
struct WideBounds {
    least: i128,
    greatest: i128,
    nulls: u64,
}

impl WideBounds {
    /// Returns bounds without values; `None` for other types.
    fn of(data_type: &DataType) -> Option<Self> {
        is_wide(data_type).then_some(Self { least: i128::MAX, greatest: i128::MIN, nulls: 0 })
    }

    fn add(&mut self, values: &Decimal128Array) {
        self.nulls += values.null_count() as u64;
        let mut add = |value: i128| {
            self.least = self.least.min(value);
            self.greatest = self.greatest.max(value);
        };
        match values.null_count() {
            0 => values.values().iter().for_each(|value| add(*value)),
            _ => values.iter().flatten().for_each(add),
        }
    }

    /// Returns statistics for values of this many bytes.
    fn statistics(&self, len: i32) -> Statistics {
        let bytes = |value: i128| {
            let bytes = value.to_be_bytes();
            let from = bytes.len().saturating_sub(len.unsigned_abs() as usize);
            FixedLenByteArray::from(bytes[from..].to_vec())
        };
        let bounds = (self.least <= self.greatest).then_some((self.least, self.greatest));
        let (least, greatest) = bounds.unzip();
        let (least, greatest) = (least.map(bytes), greatest.map(bytes));
        Statistics::fixed_len_byte_array(least, greatest, None, Some(self.nulls), false)
    }
}

/// True for decimals that Parquet stores as bytes, because 64 bits do not suffice.
pub(crate) fn is_wide(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(precision, _) if *precision > DECIMAL64_MAX_PRECISION)
}
