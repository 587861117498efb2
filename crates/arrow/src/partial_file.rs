//! A file that appears under its name when it is whole.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::{FileFormat, RecordBatch, SchemaRef, TableWriter};

/// Bytes gathered before they are written to a file.
const OUTPUT_BYTES: usize = 256 << 10;

/// A file of columns. One that does not get its name goes.
pub struct PartialFile {
    writer: Option<TableWriter<BufWriter<File>>>,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// Begins a file, in a directory that is made where it is not there.
    ///
    /// # Errors
    /// Those of the file system and of the writer, with the file's name; so have the other functions.
    pub fn create(path: PathBuf, format: FileFormat, schema: &SchemaRef) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
        }
        let partial = partial_of(&path);
        let file = File::create(&partial).map_err(|error| named(&partial, &error))?;
        let out = BufWriter::with_capacity(OUTPUT_BYTES, file);
        let writer = TableWriter::new(format, out, schema).map_err(|error| named(&path, &error))?;
        Ok(Self { writer: Some(writer), partial, path })
    }

    /// The name that it gets.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes rows.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(batch));
        written.map_err(|error| named(&self.path, &error))
    }

    /// Bytes that are in memory until they are enough for a piece of the file.
    pub fn waiting_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, TableWriter::waiting_bytes)
    }

    /// Writes them out.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn flush(&mut self) -> io::Result<()> {
        let flushed = self.writer.as_mut().map_or(Ok(()), TableWriter::flush);
        flushed.map_err(|error| named(&self.path, &error))
    }

    /// Ends the file and brings it to the disk, still without its name.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn end(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let out = writer.finish().map_err(|error| named(&self.path, &error))?;
        let file = out.into_inner().map_err(|error| named(&self.path, error.error()))?;
        file.sync_all().map_err(|error| named(&self.path, &error))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn publish(mut self) -> io::Result<()> {
        self.end()?;
        fs::rename(&self.partial, &self.path).map_err(|error| named(&self.path, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Renamed, or of no use to anybody.
        let _ = fs::remove_file(&self.partial);
    }
}

/// The name of a file until it is whole.
pub fn partial_of(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}

/// An error with the file it is of.
pub fn named(path: &Path, error: &impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
