//! File that gets its name only when it is complete.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file written as `.NAME.partial` and renamed when it is complete; removed if dropped before. The partial
/// file is locked, so that no other process writes it. pyarrow and Spark skip such names when they read a directory.
pub struct UnfinishedFile {
    /// `None` after `close`.
    file: Option<File>,
    partial: PathBuf,
    path: PathBuf,
    is_published: bool,
}

impl UnfinishedFile {
    /// Creates the file, and its directory if missing. Overwrites the partial file of a killed run.
    ///
    /// # Errors
    /// Errors of the file system, with the file's name; another process is writing this file.
    pub fn create(path: PathBuf) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            create_directory(directory)?;
        }
        let partial = hidden(&path, "partial");
        let file = open_locked(&partial).map_err(|error| named(&partial, &error))?;
        Ok(Self { file: Some(file), partial, path, is_published: false })
    }

    /// Returns a handle to write to.
    ///
    /// # Errors
    /// Errors of the file system, with the file's name.
    pub fn file(&self) -> io::Result<File> {
        let file = self.file.as_ref().map(File::try_clone);
        let file = file.unwrap_or_else(|| Err(io::Error::other("it is closed already")));
        file.map_err(|error| named(&self.partial, &error))
    }

    /// Returns the final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the written data to disk.
    ///
    /// # Errors
    /// Errors of the file system, with the file's name.
    pub fn sync(&self) -> io::Result<()> {
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_all);
        synced.map_err(|error| named(&self.path, &error))
    }

    /// Syncs the file to disk and closes it, so that many files can wait for their names without open
    /// handles. This releases the lock: the caller must exclude other writers by other means.
    ///
    /// # Errors
    /// Errors of the file system, with the file's name.
    pub fn close(&mut self) -> io::Result<()> {
        self.sync()?;
        self.file = None;
        Ok(())
    }

    /// Syncs the file to disk, renames it to its final name, and syncs the directory.
    ///
    /// # Errors
    /// Errors of the file system, with the file's name. If syncing the directory fails, the file has its
    /// name, but a crash of the machine may undo the rename.
    pub fn publish(mut self) -> io::Result<()> {
        self.sync()?;
        fs::rename(&self.partial, &self.path).map_err(|error| named(&self.path, &error))?;
        self.is_published = true;
        sync_directory_of(&self.path)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.is_published {
            // Removes the incomplete file.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Returns `.NAME.SUFFIX` in the directory of a file.
pub fn hidden(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Creates a directory and its missing parents, and syncs their entries to disk.
fn create_directory(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    if let Some(above) = directory.parent() {
        create_directory(above)?;
    }
    match fs::create_dir(directory) {
        // Another thread created it first.
        Err(_) if directory.is_dir() => Ok(()),
        Err(error) => Err(named(directory, &error)),
        Ok(()) => sync_directory_of(directory),
    }
}

/// Syncs the directory entry of a file: without it, a crash of the machine may undo a rename.
///
/// Directories that this process may not read, or whose file system cannot sync directories (some network
/// file systems), are skipped.
///
/// # Errors
/// Errors of the file system, with the file's name.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    match File::open(directory).and_then(|opened| opened.sync_all()) {
        Err(error) if !is_unsupported(&error) => Err(named(path, &error)),
        _ => Ok(()),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

/// Opens and empties a file, unless another process has locked it.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        // Truncated only after locking: until then it may belong to another process.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other(
                    "another process is writing it: wait, or name another file",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous owner may have renamed it between open and lock.
        if fs::metadata(path).is_ok_and(|there| is_same(&there, &file)) {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

fn is_same(there: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
}

/// Returns an error that names its file.
pub fn named(path: &Path, error: &impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tickwire-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_file_has_one_writer_and_appears_whole() {
        let folder = folder("unfinished");
        let path = folder.join("a").join("x.parquet");
        let partial = folder.join("a").join(".x.parquet.partial");
        let first = UnfinishedFile::create(path.clone()).unwrap();
        first.file().unwrap().write_all(b"first").unwrap();
        let error = UnfinishedFile::create(path.clone()).err().unwrap().to_string();
        assert!(error.contains("a/.x.parquet.partial: another process is writing it"), "{error}");
        assert_eq!(fs::read(&partial).unwrap(), b"first");
        assert!(!path.exists());
        first.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(!partial.exists());

        let second = UnfinishedFile::create(path.clone()).unwrap();
        second.file().unwrap().write_all(b"2").unwrap();
        drop(second);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(!partial.exists());

        // Left by a killed run.
        fs::write(&partial, b"a long rest").unwrap();
        let third = UnfinishedFile::create(path.clone()).unwrap();
        third.file().unwrap().write_all(b"third").unwrap();
        third.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        fs::remove_dir_all(&folder).unwrap();
    }
}
