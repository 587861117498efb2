//! Files of record batches.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::encoding::ColumnEncoding;

/// Rows of a row group of Parquet: what a reader takes in at once.
const GROUP_ROWS: usize = 1 << 20;

/// A file format for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Parquet, compressed by zstd at level 1.
    Parquet,
    /// Arrow's file format (Feather version 2), compressed by zstd.
    Arrow,
}

impl FileFormat {
    /// The suffix of its files.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// Why a file of columns is not written.
#[derive(Debug)]
pub enum WriteError {
    /// Said by the library of Arrow.
    Arrow(ArrowError),
    /// Said by the library of Parquet.
    Parquet(ParquetError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrow(error) => error.fmt(f),
            Self::Parquet(error) => error.fmt(f),
        }
    }
}

impl Error for WriteError {}

impl From<ArrowError> for WriteError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

/// Writes the batches of a table to a file.
pub struct TableWriter<W: Write + Send>(Output<W>);

enum Output<W: Write + Send> {
    /// A Parquet file without rows, whose encodings the first ones choose.
    Empty(W, Arc<Schema>),
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<FileWriter<W>>),
    /// Of which nothing is left: the output could not be begun.
    Failed,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(format: FileFormat, out: W, schema: &Arc<Schema>) -> Result<Self, WriteError> {
        Ok(Self(match format {
            FileFormat::Parquet => Output::Empty(out, Arc::clone(schema)),
            FileFormat::Arrow => {
                let compression = Some(CompressionType::ZSTD);
                let options = IpcWriteOptions::default().try_with_compression(compression)?;
                let writer = FileWriter::try_new_with_options(out, schema, options)?;
                Output::Arrow(Box::new(writer))
            }
        }))
    }

    /// Begins a Parquet file with these rows.
    fn begin(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.0 = match std::mem::replace(&mut self.0, Output::Failed) {
            Output::Empty(out, schema) => {
                let properties = Some(properties(batch)?);
                let writer = ArrowWriter::try_new(out, schema, properties)?;
                Output::Parquet(Box::new(writer))
            }
            begun => begun,
        };
        Ok(())
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.begin(batch)?;
        match &mut self.0 {
            Output::Parquet(writer) => writer.write(batch)?,
            Output::Arrow(writer) => writer.write(batch)?,
            Output::Empty(..) | Output::Failed => return Err(WriteError::failed()),
        }
        Ok(())
    }

    /// Bytes of rows that are in memory until they are enough for a piece of the file.
    pub fn waiting_bytes(&self) -> usize {
        match &self.0 {
            Output::Parquet(writer) => writer.in_progress_size(),
            _ => 0,
        }
    }

    /// Writes them out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        match &mut self.0 {
            Output::Parquet(writer) => writer.flush()?,
            Output::Arrow(writer) => writer.flush()?,
            Output::Empty(..) => {}
            Output::Failed => return Err(WriteError::failed()),
        }
        Ok(())
    }

    /// Ends the file and returns the output.
    ///
    /// # Errors
    /// Those of the output. The file cannot be read then.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let Output::Empty(_, schema) = &self.0 {
            let nothing = RecordBatch::new_empty(Arc::clone(schema));
            self.begin(&nothing)?;
        }
        Ok(match self.0 {
            Output::Parquet(writer) => writer.into_inner()?,
            Output::Arrow(writer) => writer.into_inner()?,
            Output::Empty(..) | Output::Failed => return Err(WriteError::failed()),
        })
    }
}

impl WriteError {
    /// Of a file that an error has ended.
    fn failed() -> Self {
        Self::Parquet(ParquetError::General("the file could not be begun".to_owned()))
    }
}

/// Encodings by the first rows; statistics of pages for the columns by which rows are found.
fn properties(batch: &RecordBatch) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(format!("tickwire {}", env!("CARGO_PKG_VERSION")));
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let path = ColumnPath::from(vec![field.name().clone()]);
        if matches!(field.name().as_str(), "pkt" | "time") {
            let pages = EnabledStatistics::Page;
            properties = properties.set_column_statistics_enabled(path.clone(), pages);
        }
        let encoding = match ColumnEncoding::of(column) {
            ColumnEncoding::Dictionary => {
                // The few strings of a dictionary are in every row group: their least and greatest say nothing.
                if !column.data_type().is_primitive() {
                    let none = EnabledStatistics::None;
                    properties = properties.set_column_statistics_enabled(path, none);
                }
                continue;
            }
            ColumnEncoding::Differences => Encoding::DELTA_BINARY_PACKED,
            ColumnEncoding::Plain => Encoding::PLAIN,
        };
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    Ok(properties.build())
}
