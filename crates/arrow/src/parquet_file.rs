//! A Parquet file, written row group by row group.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use crate::constant_chunk::OnlyValue;

/// Rows per row group, the unit that readers load.
const GROUP_ROWS: usize = 1 << 20;

/// A Parquet file. Columns with one value in a row group are written as run lengths, all others by Arrow's
/// writer.
pub(crate) struct ParquetFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The row group under construction.
    columns: Vec<GroupColumn>,
    rows: usize,
}

/// A column of the row group.
struct GroupColumn {
    field: FieldRef,
    /// Writers of its leaves: a column of lists has several.
    leaves: Vec<ArrowColumnWriter>,
    /// True if its pages have statistics, which only Arrow's writer creates.
    has_pages: bool,
    rows: ColumnRows,
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

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The schema has no columns, or Parquet has no type for one of them.
    pub(crate) fn new(
        out: W,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, ParquetError> {
        if schema.fields().is_empty() {
            let text = "a Parquet file has rows only in columns: expected at least one column";
            return Err(ParquetError::General(text.to_owned()));
        }
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        Ok(Self { file, factory, schema, columns: Vec::new(), rows: 0 })
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
        self.columns = self.schema.fields().iter().map(GroupColumn::new).collect();
        for (at, writer) in writers.into_iter().enumerate() {
            let column = &mut self.columns[leaves.get_column_root_idx(at)];
            let statistics = properties.statistics_enabled(leaves.column(at).path());
            column.has_pages |= statistics == EnabledStatistics::Page;
            column.leaves.push(writer);
        }
        Ok(())
    }

    fn write_rows(&mut self, rows: &RecordBatch) -> Result<(), ParquetError> {
        self.rows += rows.num_rows();
        let mut columns = self.columns.iter_mut().zip(rows.columns());
        columns.try_for_each(|(column, values)| column.append(values))
    }

    /// Returns the bytes of the rows held in memory.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.columns.iter().map(GroupColumn::waiting_bytes).sum()
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut leaves = self.file.schema_descr().columns().to_vec().into_iter();
        let mut group = self.file.next_row_group()?;
        for GroupColumn { leaves: writers, rows, .. } in std::mem::take(&mut self.columns) {
            for (writer, leaf) in writers.into_iter().zip(&mut leaves) {
                match &rows {
                    ColumnRows::Same { value, count, .. } => {
                        value.append_to(&mut group, leaf, *count)?
                    }
                    ColumnRows::None | ColumnRows::Written => {
                        writer.close()?.append_to_row_group(&mut group)?;
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

impl GroupColumn {
    fn new(field: &FieldRef) -> Self {
        let (field, leaves) = (Arc::clone(field), Vec::new());
        Self { field, leaves, has_pages: false, rows: ColumnRows::None }
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
}
