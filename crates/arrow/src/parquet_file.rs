//! A Parquet file, written row group by row group.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

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

use crate::constant_chunk::OnlyValue;
use crate::encoders::{Encoders, WaitingBytes, lock};
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

/// A column of the row group. One task at a time encodes its values.
struct GroupColumn {
    queue: Mutex<ValueQueue>,
    encoder: Mutex<ColumnEncoder>,
}

/// Values that wait for the encoder.
#[derive(Default)]
struct ValueQueue {
    /// Each array with its bytes.
    values: VecDeque<(ArrayRef, usize)>,
    /// True while the column has a task.
    has_task: bool,
}

struct ColumnEncoder {
    field: FieldRef,
    /// Writers of its leaves: a column of lists has several.
    leaves: Vec<ArrowColumnWriter>,
    /// True if its pages have statistics, which only Arrow's writer creates.
    has_pages: bool,
    rows: ColumnRows,
    /// The first error; values after it are dropped.
    failed: Option<ParquetError>,
}

/// Rows of a column so far.
enum ColumnRows {
    /// None yet.
    None,
    /// This many with one value. The array has some of them.
    Same { value: OnlyValue, some: ArrayRef, count: usize },
    /// In the writers.
    Written,
}

/// A column of a complete row group.
enum CompleteColumn {
    /// This many rows with one value, in this number of leaves.
    Same { value: OnlyValue, count: usize, leaves: usize },
    /// The chunk of each leaf.
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
        self.columns =
            encoders.into_iter().map(|encoder| Arc::new(GroupColumn::new(encoder))).collect();
        Ok(())
    }

    fn write_rows(&mut self, rows: &RecordBatch) -> Result<(), ParquetError> {
        self.rows += rows.num_rows();
        let columns = self.columns.iter().zip(rows.columns());
        let Some(waiting) = self.encoders.room() else {
            for (column, values) in columns {
                column.encoder()?.append(values)?;
            }
            return Ok(());
        };
        for (column, values) in columns {
            let bytes = array_bytes(values);
            waiting.fetch_add(bytes, Ordering::AcqRel);
            if column.enqueue(values, bytes) {
                let (column, waiting) = (Arc::clone(column), Arc::clone(&waiting));
                self.encoders.run(move || column.encode(&waiting));
            }
        }
        Ok(())
    }

    /// Waits until all values are encoded.
    fn wait(&self) {
        let is_idle = |column: &Arc<GroupColumn>| Arc::strong_count(column) == 1;
        self.encoders.wait_until(|| self.columns.iter().all(is_idle));
    }

    /// Waits until all values are encoded, and returns the first error.
    fn drain(&self) -> Result<(), ParquetError> {
        self.wait();
        for column in &self.columns {
            if let Some(error) = column.encoder()?.failed.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the bytes of the rows held in memory, once they are encoded.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.wait();
        self.columns.iter().map(|column| lock(&column.encoder).waiting_bytes()).sum()
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.drain()?;
        let columns = std::mem::take(&mut self.columns).into_iter().filter_map(Arc::into_inner);
        let encoders = columns.map(|column| column.encoder.into_inner().map_err(|_| broken()));
        let encoders = encoders.collect::<Result<Vec<_>, _>>()?;
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

/// Returns the error of a file of which a column's encoder panicked.
fn broken() -> ParquetError {
    ParquetError::General("a column could not be encoded: the encoder panicked".to_owned())
}

impl GroupColumn {
    fn new(encoder: ColumnEncoder) -> Self {
        Self { queue: Mutex::default(), encoder: Mutex::new(encoder) }
    }

    fn encoder(&self) -> Result<MutexGuard<'_, ColumnEncoder>, ParquetError> {
        self.encoder.lock().map_err(|_| broken())
    }

    /// Adds values to the queue; returns true if the caller must start a task.
    fn enqueue(&self, values: &ArrayRef, bytes: usize) -> bool {
        let mut queue = lock(&self.queue);
        queue.values.push_back((Arc::clone(values), bytes));
        !std::mem::replace(&mut queue.has_task, true)
    }

    /// Encodes the values in the queue.
    fn encode(&self, waiting: &WaitingBytes) {
        // After a panic of an earlier task, values are only dropped.
        let mut encoder = self.encoder().ok();
        while let Some((values, bytes)) = self.next_values() {
            waiting.fetch_sub(bytes, Ordering::AcqRel);
            if let Some(encoder) = &mut encoder
                && encoder.failed.is_none()
            {
                encoder.failed = encoder.append(&values).err();
            }
        }
    }

    /// Takes the next values from the queue; if there are none, the task ends.
    fn next_values(&self) -> Option<(ArrayRef, usize)> {
        let mut queue = lock(&self.queue);
        let values = queue.values.pop_front();
        queue.has_task = values.is_some();
        values
    }
}

impl ColumnEncoder {
    fn new(field: &FieldRef) -> Self {
        let (field, leaves) = (Arc::clone(field), Vec::new());
        Self { field, leaves, has_pages: false, rows: ColumnRows::None, failed: None }
    }

    fn waiting_bytes(&self) -> usize {
        self.leaves.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
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
                // The longer it is, the fewer writes a later value takes.
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
        Ok(CompleteColumn::Chunks(chunks.collect::<Result<_, _>>()?))
    }
}
