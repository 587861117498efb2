//! Creates a journal beside an existing one and replaces that atomically.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::format::{JournalFrame, header};
use crate::files::private_file;

/// A journal under construction. Its creator holds the lock of the file from the start.
pub(super) struct NewJournal {
    path: PathBuf,
    temporary: PathBuf,
    folder: File,
    journal: File,
    end: u64,
}

/// A journal that has its final name.
pub(super) struct FinalJournal {
    /// The locked file.
    pub journal: File,
    /// The folder, whose sync makes the rename durable. The previous journal cannot be restored, so
    /// if this sync fails, the content of the disk is unknown.
    pub folder: File,
}

impl NewJournal {
    /// Starts a journal that will be named `path`.
    pub fn begin(path: &Path, created_ns: u64) -> io::Result<Self> {
        // Opened before anything is changed, so that the last step cannot fail for want of a
        // descriptor.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or_else(|| Path::new(".")))?;
        let mut temporary = path.to_owned().into_os_string();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let journal = open_named(&temporary, true)?;
        // Only after locking: before, the file could have been another process's and about to
        // become the journal.
        journal.set_len(0)?;
        let header = header(created_ns);
        journal.write_all_at(&header, 0)?;
        Ok(Self { path: path.to_owned(), temporary, folder, journal, end: header.len() as u64 })
    }

    /// Writes a frame and clears it for the next one.
    pub fn push(&mut self, frame: &mut JournalFrame) -> io::Result<()> {
        let bytes = frame.finish(self.end);
        self.journal.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        frame.clear();
        Ok(())
    }

    /// Renames the file to its final name, which replaces any existing file.
    pub fn publish(self) -> io::Result<FinalJournal> {
        self.journal.sync_data()?;
        fs::rename(&self.temporary, &self.path)?;
        Ok(FinalJournal { journal: self.journal, folder: self.folder })
    }
}

/// True if the name exists, even as a dangling link: the journal of an unmounted volume is not a
/// missing journal.
pub(super) fn is_taken(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates an empty journal if there is none; opens the one that another process created meanwhile.
pub(super) fn make_first(path: &Path, created_ns: u64) -> io::Result<File> {
    let new = NewJournal::begin(path, created_ns)?;
    // The lock excludes other creators from here on.
    if is_taken(path)? {
        fs::remove_file(&new.temporary)?;
        return open_locked(path);
    }
    let published = new.publish()?;
    published.folder.sync_all()?;
    Ok(published.journal)
}

pub(super) fn lock(file: &File) -> io::Result<()> {
    file.try_lock()
        .map_err(|error| io::Error::other(format!("is another process using it? {error}")))
}

/// Opens a journal and locks it.
pub(super) fn open_locked(path: &Path) -> io::Result<File> {
    open_named(path, false)
}

/// Opens or creates a file and locks it. Verifies that the locked file still has the name, because
/// another process may have replaced or renamed it meanwhile.
fn open_named(path: &Path, create: bool) -> io::Result<File> {
    loop {
        let mut options = private_file();
        let file = options.read(true).write(true).create(create).truncate(false).open(path)?;
        lock(&file)?;
        let own = file.metadata()?;
        let has_name = match fs::metadata(path) {
            Ok(named) => (own.dev(), own.ino()) == (named.dev(), named.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if has_name {
            return Ok(file);
        }
    }
}
