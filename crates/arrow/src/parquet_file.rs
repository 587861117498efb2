//! A Parquet file, written row group by row group.

use std::io::Write;
use std::sync::{Arc, MutexGuard};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use crate::column_pages::ColumnPages;
use crate::constant_chunk::OnlyValue;
use crate::dictionary_chunk::DictionaryChunk;
use crate::encoders::{EncoderQueue, Encoders};
use crate::size::array_bytes;

/// Rows per row group, the unit that readers load.
const GROUP_ROWS: usize = 1 << 20;

/// A Parquet file. Columns with one value in a row group are written as run lengths, most dictionaries by
/// [`DictionaryChunk`], all others by Arrow's writer.
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
    /// Its dictionary, if the library does not encode it.
    dictionary: Option<DictionaryChunk>,
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
    /// A dictionary and its indexes.
    Dictionary(ColumnPages),
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
            let leaf = leaves.column(at);
            let statistics = properties.statistics_enabled(leaf.path());
            encoder.has_pages |= statistics == EnabledStatistics::Page;
            if properties.dictionary_enabled(leaf.path()) && !encoder.has_pages {
                encoder.dictionary = DictionaryChunk::of(encoder.field.data_type(), &leaf);
            }
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
                        value.pages(&leaf, count).append_to(&mut group, leaf)?;
                    }
                }
                CompleteColumn::Dictionary(pages) => {
                    if let Some(leaf) = leaves.next() {
                        pages.append_to(&mut group, leaf)?;
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
        let (field, leaves, rows) = (Arc::clone(field), Vec::new(), ColumnRows::None);
        Self { field, leaves, has_pages: false, rows, dictionary: None, failed: None }
    }

    fn waiting_bytes(&self) -> usize {
        match &self.dictionary {
            Some(dictionary) => dictionary.waiting_bytes(),
            None => self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum(),
        }
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
        if let Some(dictionary) = &mut self.dictionary {
            return dictionary.append(values);
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
        if let Some(dictionary) = self.dictionary {
            return Ok(CompleteColumn::Dictionary(dictionary.complete()?));
        }
        let chunks = self.leaves.into_iter().map(ArrowColumnWriter::close);
        Ok(CompleteColumn::Chunks(chunks.collect::<Result<_, _>>()?))
    }
}
