//! A Parquet file, written row group by row group.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::ParquetError;
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
    /// The row group under construction; columns of lists have several leaves.
    leaves: Vec<Leaf>,
    rows: usize,
}

/// A column of the row group.
struct Leaf {
    writer: ArrowColumnWriter,
    rows: LeafRows,
}

/// Rows of a column so far.
enum LeafRows {
    /// None yet.
    None,
    /// This many with one value. The array has some of them.
    Same { value: OnlyValue, some: ArrayRef, count: usize },
    /// In the writer.
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
        Ok(Self { file, factory, schema, leaves: Vec::new(), rows: 0 })
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
        let (properties, columns) = (self.file.properties(), self.file.schema_descr().columns());
        self.leaves = writers
            .into_iter()
            .zip(columns)
            .map(|(writer, column)| {
                // Page statistics are Arrow's.
                let has_pages =
                    properties.statistics_enabled(column.path()) == EnabledStatistics::Page;
                Leaf { writer, rows: if has_pages { LeafRows::Written } else { LeafRows::None } }
            })
            .collect();
        Ok(())
    }

    fn write_rows(&mut self, rows: &RecordBatch) -> Result<(), ParquetError> {
        self.rows += rows.num_rows();
        let mut leaves = self.leaves.iter_mut();
        for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
            if !field.data_type().is_nested() {
                if let Some(leaf) = leaves.next() {
                    leaf.append(field, column)?;
                }
                continue;
            }
            for (values, leaf) in compute_leaves(field, column)?.iter().zip(&mut leaves) {
                leaf.rows = LeafRows::Written;
                leaf.writer.write(values)?;
            }
        }
        Ok(())
    }

    /// Returns the bytes of the rows held in memory.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.writer.get_estimated_total_bytes()).sum()
    }

    /// Ends the row group.
    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        for (leaf, column) in std::mem::take(&mut self.leaves).into_iter().zip(columns) {
            match leaf.rows {
                LeafRows::Same { value, count, .. } => {
                    value.append_to(&mut group, column, count)?
                }
                LeafRows::None | LeafRows::Written => {
                    leaf.writer.close()?.append_to_row_group(&mut group)?;
                }
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        self.file.into_inner()
    }
}

impl Leaf {
    /// Appends the rows of a column without inner columns.
    fn append(&mut self, field: &Field, column: &ArrayRef) -> Result<(), ParquetError> {
        let only = match self.rows {
            LeafRows::Written => None,
            // Another type is an error, which `write` returns.
            _ if column.data_type() != field.data_type() => None,
            _ => OnlyValue::of(column),
        };
        match (&mut self.rows, only) {
            (LeafRows::Same { value, some, count }, Some(only)) if *value == only => {
                *count += column.len();
                // The longer it is, the fewer writes a later value takes.
                if column.len() > some.len() {
                    *some = column.clone();
                }
                return Ok(());
            }
            (rows @ LeafRows::None, Some(value)) => {
                *rows = LeafRows::Same { value, some: column.clone(), count: column.len() };
                return Ok(());
            }
            _ => {}
        }
        let before = std::mem::replace(&mut self.rows, LeafRows::Written);
        if let LeafRows::Same { some, mut count, .. } = before {
            while count > 0 {
                let rows = count.min(some.len());
                self.write(field, &some.slice(0, rows))?;
                count -= rows;
            }
        }
        self.write(field, column)
    }

    fn write(&mut self, field: &Field, column: &ArrayRef) -> Result<(), ParquetError> {
        compute_leaves(field, column)?.iter().try_for_each(|values| self.writer.write(values))
    }
}
