//! An output file that is written completely or not at all.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that adds its name to errors, and is removed if it cannot be written to its end: no incomplete file
/// is left.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: File,
}

impl OutputFile {
    /// Creates the file, or truncates an existing one.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path);
        let file = file.map_err(|error| Failure::file("write", path.display(), &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    fn fail(&self, error: &io::Error) -> io::Error {
        discard(&self.path);
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

/// Removes an incomplete output. Pipes, devices and links stay.
pub fn discard(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        // If this fails too, the command's error still says that the file is incomplete.
        let _ = fs::remove_file(path);
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(self.fail(&error)),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.fail(&error))
    }
}
