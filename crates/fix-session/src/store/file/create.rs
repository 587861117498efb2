//! A journal that is made beside the one that may be there, and takes its place all at once.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::format::{Frame, header};
use crate::files::private_file;

/// A journal being made. Its file is locked from the first moment on, and whoever makes one holds that lock.
pub(super) struct NewJournal {
    path: PathBuf,
    temporary: PathBuf,
    folder: File,
    journal: File,
    end: u64,
}

/// A journal that has its name.
pub(super) struct Published {
    /// Locked.
    pub journal: File,
    /// The name is on the disk only when this is: there is no way back to the journal of before, so an error
    /// of its sync leaves a store about which nobody knows what the disk has.
    pub folder: File,
}

impl NewJournal {
    /// Begins a journal that is to have the name `path`.
    pub fn begin(path: &Path, created_ns: u64) -> io::Result<Self> {
        // Opened before anything is changed, so that the last step needs nothing that may be missing.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or_else(|| Path::new(".")))?;
        let mut temporary = path.to_owned().into_os_string();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let journal = open_named(&temporary, true)?;
        // Only now: it may have been another process's, about to become the journal.
        journal.set_len(0)?;
        let header = header(created_ns);
        journal.write_all_at(&header, 0)?;
        Ok(Self { path: path.to_owned(), temporary, folder, journal, end: header.len() as u64 })
    }

    /// Adds a frame and empties it.
    pub fn push(&mut self, frame: &mut Frame) -> io::Result<()> {
        let bytes = frame.finish(self.end);
        self.journal.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        frame.clear();
        Ok(())
    }

    /// Renames the file to its final name. A file that had the name loses it.
    pub fn publish(self) -> io::Result<Published> {
        self.journal.sync_data()?;
        fs::rename(&self.temporary, &self.path)?;
        Ok(Published { journal: self.journal, folder: self.folder })
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
    // Nobody else can be making one now.
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

/// Opens a file, or makes it, and locks it. The lock is that of the file which has the name: another process may
/// just have put a new one in its place, or given it another name.
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
