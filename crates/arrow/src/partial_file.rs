//! File of columns that gets its name only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::unfinished::{UnfinishedFile, named};
use crate::{Encoders, FileFormat, RecordBatch, SchemaRef, TableWriter};

/// Size of the write buffer, bytes.
const OUTPUT_BYTES: usize = 256 << 10;

/// A file of columns, written as `.NAME.partial` and renamed by [`publish`](Self::publish). Removed if dropped
/// before.
pub struct PartialFile {
    writer: Option<TableWriter<BufWriter<File>>>,
    unfinished: UnfinishedFile,
}

impl PartialFile {
    /// Creates the file, and its directory if missing.
    ///
    /// # Errors
    /// Errors of [`UnfinishedFile::create`] and of the writer, with the file's name; the other
    /// functions add the name too.
    pub fn create(path: PathBuf, format: FileFormat, schema: &SchemaRef) -> io::Result<Self> {
        let unfinished = UnfinishedFile::create(path)?;
        let out = BufWriter::with_capacity(OUTPUT_BYTES, unfinished.file()?);
        let writer = TableWriter::new(format, out, schema);
        let writer = Some(writer.map_err(|error| named(unfinished.path(), &error))?);
        Ok(Self { writer, unfinished })
    }

    /// Encodes the columns of a Parquet file on these threads.
    #[must_use]
    pub fn encoded_by(mut self, encoders: &Encoders) -> Self {
        self.writer = self.writer.map(|writer| writer.encoded_by(encoders));
        self
    }

    /// Returns the final name.
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Writes rows.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(batch));
        written.map_err(|error| named(self.path(), &error))
    }

    /// Returns the bytes held in memory until a row group is complete.
    pub fn waiting_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, TableWriter::waiting_bytes)
    }

    /// Writes the rows held in memory.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.as_mut().map_or(Ok(()), TableWriter::flush);
        flushed.map_err(|error| named(self.path(), &error))
    }

    /// Adds an entry to the metadata of the file after its last rows: see [`TableWriter::add_metadata`].
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn add_metadata(&mut self, key: &str, value: &str) -> io::Result<()> {
        let added = self.writer.as_mut().map_or(Ok(()), |writer| writer.add_metadata(key, value));
        added.map_err(|error| named(self.path(), &error))
    }

    /// Ends the file and syncs it to disk, still as `.NAME.partial`.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn end(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let out = writer.finish().map_err(|error| named(self.path(), &error))?;
        out.into_inner().map_err(|error| named(self.path(), error.error()))?;
        self.unfinished.sync()
    }

    /// Ends the file and closes it: see [`UnfinishedFile::close`].
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn close(&mut self) -> io::Result<()> {
        self.end()?;
        self.unfinished.close()
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn publish(mut self) -> io::Result<()> {
        self.end()?;
        self.unfinished.publish()
    }
}
