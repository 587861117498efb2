//! The files of recordings.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::RecordError;

/// A file of a recording.
pub trait RecordFile: Write {
    /// Truncates the file to its first `len` bytes after a failed write.
    ///
    /// # Errors
    /// The operating system's error.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

impl RecordFile for File {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// Creates the files of a recording.
pub trait RecordFiles {
    /// Type of the files.
    type File: RecordFile + Send;

    /// Begins the next file.
    ///
    /// # Errors
    /// The path of the file, and the operating system's error.
    fn create(&mut self) -> Result<(PathBuf, Self::File), RecordError>;
}

/// Numbered files in a directory.
#[derive(Debug)]
pub struct DirectoryFiles {
    directory: PathBuf,
    name: String,
    number: u32,
}

const SUFFIX: &str = ".pcapng";

impl DirectoryFiles {
    /// Creates the directory unless it exists, and finds the numbers in use.
    ///
    /// # Errors
    /// [`RecordError`] if the directory cannot be created or read.
    pub fn new(directory: &Path, name: &str) -> Result<Self, RecordError> {
        let at = |source| RecordError { path: directory.to_owned(), written_bytes: 0, source };
        fs::create_dir_all(directory).map_err(at)?;
        let mut number = 0;
        for entry in fs::read_dir(directory).map_err(at)? {
            let file_name = entry.map_err(at)?.file_name();
            number = number.max(number_of(&file_name.to_string_lossy(), name).unwrap_or(0));
        }
        Ok(Self { directory: directory.to_owned(), name: name.to_owned(), number })
    }
}

/// Returns the number of a file of this recording.
fn number_of(file_name: &str, name: &str) -> Option<u32> {
    file_name.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(SUFFIX)?.parse().ok()
}

impl RecordFiles for DirectoryFiles {
    type File = File;

    fn create(&mut self) -> Result<(PathBuf, File), RecordError> {
        self.number = self.number.saturating_add(1);
        let path = self.directory.join(format!("{}-{:06}{SUFFIX}", self.name, self.number));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(RecordError { path, written_bytes: 0, source }),
        }
    }
}
