//! Files of record batches.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::encoders::Encoders;
use crate::encoding::ColumnEncoding;
use crate::parquet_file::ParquetFile;

/// Level of zstd for the pages of Parquet files.
pub(crate) const ZSTD_LEVEL: i32 = 1;

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

/// Why a file of columns could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// Error of the Arrow library.
    Arrow(ArrowError),
    /// Error of the Parquet library.
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
pub struct TableWriter<W: Write + Send> {
    output: TableOutput<W>,
    encoders: Encoders,
}

enum TableOutput<W: Write + Send> {
    /// A Parquet file without rows: the first batch selects its encodings.
    Empty(W, Arc<Schema>),
    Parquet(Box<ParquetFile<W>>),
    Arrow(Box<FileWriter<W>>),
    /// The output could not be started; nothing can be written.
    Failed,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn new(format: FileFormat, out: W, schema: &Arc<Schema>) -> Result<Self, WriteError> {
        let output = match format {
            FileFormat::Parquet => TableOutput::Empty(out, Arc::clone(schema)),
            FileFormat::Arrow => {
                let compression = Some(CompressionType::ZSTD);
                let options = IpcWriteOptions::default().try_with_compression(compression)?;
                let writer = FileWriter::try_new_with_options(out, schema, options)?;
                TableOutput::Arrow(Box::new(writer))
            }
        };
        Ok(Self { output, encoders: Encoders::default() })
    }

    /// Encodes the columns of a Parquet file on these threads.
    #[must_use]
    pub fn encoded_by(self, encoders: &Encoders) -> Self {
        Self { encoders: encoders.clone(), ..self }
    }

    /// Starts a Parquet file, with encodings selected by these rows.
    fn begin(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.output = match std::mem::replace(&mut self.output, TableOutput::Failed) {
            TableOutput::Empty(out, schema) => {
                check_types(&schema, batch)?;
                let file =
                    ParquetFile::new(out, schema, properties(batch)?, self.encoders.clone())?;
                TableOutput::Parquet(Box::new(file))
            }
            begun => begun,
        };
        Ok(())
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.begin(batch)?;
        match &mut self.output {
            TableOutput::Parquet(writer) => writer.write(batch)?,
            TableOutput::Arrow(writer) => writer.write(batch)?,
            TableOutput::Empty(..) | TableOutput::Failed => return Err(WriteError::failed()),
        }
        Ok(())
    }

    /// Returns the bytes of rows held in memory until a row group is complete.
    pub fn waiting_bytes(&self) -> usize {
        match &self.output {
            TableOutput::Parquet(file) => file.waiting_bytes(),
            _ => 0,
        }
    }

    /// Writes the rows held in memory.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        match &mut self.output {
            TableOutput::Parquet(writer) => writer.flush()?,
            TableOutput::Arrow(writer) => writer.flush()?,
            TableOutput::Empty(..) => {}
            TableOutput::Failed => return Err(WriteError::failed()),
        }
        Ok(())
    }

    /// Adds an entry to the metadata of the file after its last rows: for a Parquet file, readers find it among the
    /// metadata of the schema; an Arrow file has it in its footer.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn add_metadata(&mut self, key: &str, value: &str) -> Result<(), WriteError> {
        self.begin_empty()?;
        match &mut self.output {
            TableOutput::Parquet(file) => file.add_metadata(key, value),
            TableOutput::Arrow(writer) => writer.write_metadata(key, value),
            TableOutput::Empty(..) | TableOutput::Failed => return Err(WriteError::failed()),
        }
        Ok(())
    }

    /// Starts a Parquet file that has no rows.
    fn begin_empty(&mut self) -> Result<(), WriteError> {
        if let TableOutput::Empty(_, schema) = &self.output {
            let nothing = RecordBatch::new_empty(Arc::clone(schema));
            self.begin(&nothing)?;
        }
        Ok(())
    }

    /// Ends the file and returns the output.
    ///
    /// # Errors
    /// Errors of the output; the file is not readable then.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.begin_empty()?;
        Ok(match self.output {
            TableOutput::Parquet(file) => file.finish()?,
            TableOutput::Arrow(writer) => writer.into_inner()?,
            TableOutput::Empty(..) | TableOutput::Failed => return Err(WriteError::failed()),
        })
    }
}

impl WriteError {
    /// Returns the error of a writer that has failed before.
    fn failed() -> Self {
        Self::Parquet(ParquetError::General("the file could not be begun".to_owned()))
    }
}

/// Checks that the columns have the types of the schema: an encoding that was selected for values of another type would
/// panic.
fn check_types(schema: &Schema, batch: &RecordBatch) -> Result<(), ParquetError> {
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let (wanted, found) = (field.data_type(), column.data_type());
        if wanted != found {
            let text =
                format!("column {}: expected values of type {wanted}, found {found}", field.name());
            return Err(ParquetError::General(text));
        }
    }
    Ok(())
}

/// Selects encodings by the first rows, and page statistics for the columns that queries filter by.
fn properties(batch: &RecordBatch) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
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
                // Every row group has the dictionary's few strings: their minimum and maximum would not
                // exclude any.
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
