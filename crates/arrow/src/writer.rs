//! Files of record batches.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

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
pub enum TableWriter<W: Write + Send> {
    /// To a Parquet file.
    Parquet(Box<ArrowWriter<W>>),
    /// To an Arrow file.
    Arrow(Box<FileWriter<W>>),
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(format: FileFormat, out: W, schema: &Arc<Schema>) -> Result<Self, WriteError> {
        Ok(match format {
            FileFormat::Parquet => {
                let properties = Some(properties(schema)?);
                Self::Parquet(Box::new(ArrowWriter::try_new(out, schema.clone(), properties)?))
            }
            FileFormat::Arrow => {
                let compression = Some(CompressionType::ZSTD);
                let options = IpcWriteOptions::default().try_with_compression(compression)?;
                Self::Arrow(Box::new(FileWriter::try_new_with_options(out, schema, options)?))
            }
        })
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Arrow(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Bytes of rows that are in memory until they are enough for a piece of the file.
    pub fn waiting_bytes(&self) -> usize {
        match self {
            Self::Parquet(writer) => writer.in_progress_size(),
            Self::Arrow(_) => 0,
        }
    }

    /// Writes them out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        match self {
            Self::Parquet(writer) => writer.flush()?,
            Self::Arrow(writer) => writer.flush()?,
        }
        Ok(())
    }

    /// Ends the file and returns the output.
    ///
    /// # Errors
    /// Those of the output. The file cannot be read then.
    pub fn finish(self) -> Result<W, WriteError> {
        Ok(match self {
            Self::Parquet(writer) => writer.into_inner()?,
            Self::Arrow(writer) => writer.into_inner()?,
        })
    }
}

/// Dictionaries take most of the time of writing: they are left out where values ascend.
fn properties(schema: &Schema) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(format!("tickwire {}", env!("CARGO_PKG_VERSION")));
    for field in schema.fields() {
        if ascends(field.name(), field.data_type()) {
            let column = ColumnPath::from(vec![field.name().clone()]);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// Whether each value of a column is mostly a little more than the one before.
fn ascends(name: &str, data_type: &DataType) -> bool {
    let counts = matches!(name, "pkt" | "off" | "line" | "MsgSeqNum") || name.ends_with(".entry");
    counts && data_type.is_integer() || matches!(data_type, DataType::Timestamp(..))
}
