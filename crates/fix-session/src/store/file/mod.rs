//! A store on disk: a journal that only grows, and an index that can be made anew from it.
//!
//! Every commit is one frame with a sum of its own, written with one call: all of it is there after the
//! process dies, or nothing. A frame that the end of the file cuts is dropped when the store is opened.
//! What survives what is said at [`Fsync`].

mod index;
mod journal;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use self::index::{Entry, Index};
use self::journal::{HEADER_LEN, Record, Scan};
use super::Store;
use crate::error::StoreError;
use crate::files::{make_private_folder, private_file};

/// When the disk itself is waited for.
///
/// Whatever is chosen, what was committed, and therefore everything that was sent, survives the end of
/// the process, `kill -9` included, because it is with the operating system by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// With every commit: what was sent survives a loss of power too. A commit takes as long as the disk.
    Always,
    /// From time to time, with [`Store::sync`]: a loss of power costs what was committed since.
    #[default]
    Batch,
    /// Never: a loss of power costs what the operating system had not written yet.
    None,
}

/// Where a store lies and what it promises.
#[derive(Clone, Debug)]
pub struct FileStoreOptions {
    /// Folder; made if it is not there.
    pub folder: PathBuf,
    /// Name of the files without extension, as [`crate::SessionId::file_name`].
    pub name: String,
    /// When the disk is waited for.
    pub fsync: Fsync,
}

/// A store on disk.
#[derive(Debug)]
pub struct FileStore {
    options: FileStoreOptions,
    journal: File,
    /// Where the next frame goes.
    end: u64,
    index: Index,
    next_sender: u64,
    next_target: u64,
    created_ns: u64,
    /// The frame that the next commit writes.
    frame: journal::Frame,
    /// Messages in it: number, where in the frame, length.
    in_frame: Vec<(u64, usize, usize)>,
    target_changed: bool,
    /// Whether there is something that the disk may not have.
    unsynced: bool,
    /// Bytes of a cut frame that were dropped when the store was opened.
    dropped: u64,
    /// Held for as long as the store is open.
    _lock: File,
}

impl FileStore {
    /// Opens a store, or makes an empty one that is said to begin at `created_ns`.
    ///
    /// # Errors
    /// If a file cannot be opened, is in use by another process, or has a fault that is not a cut last
    /// frame.
    pub fn open(options: FileStoreOptions, created_ns: u64) -> Result<Self, StoreError> {
        let fail = |doing: &str, path: &Path, error| {
            StoreError::new(format!("{doing} {}", path.display()), error)
        };
        make_private_folder(&options.folder)
            .map_err(|error| fail("make folder", &options.folder, error))?;
        let path = |extension: &str| options.folder.join(format!("{}.{extension}", options.name));
        let lock_path = path("lock");
        let lock = open_file(&lock_path).map_err(|error| fail("open", &lock_path, error))?;
        lock.try_lock().map_err(|error| {
            let doing = "lock (is another process using it?)";
            fail(doing, &lock_path, io::Error::other(error.to_string()))
        })?;
        let journal_path = path("journal");
        let is_new = fs::metadata(&journal_path).map_or(0, |metadata| metadata.len()) < HEADER_LEN;
        if is_new {
            journal::create(&journal_path, created_ns)
                .map_err(|error| fail("make", &journal_path, error))?;
        }
        let journal =
            open_file(&journal_path).map_err(|error| fail("open", &journal_path, error))?;
        let index_path = path("index");
        let index = open_file(&index_path).map_err(|error| fail("open", &index_path, error))?;
        let index = Index::empty(index).map_err(|error| fail("empty", &index_path, error))?;
        let mut store = Self {
            options,
            journal,
            end: HEADER_LEN,
            index,
            next_sender: 1,
            next_target: 1,
            created_ns,
            frame: journal::Frame::default(),
            in_frame: Vec::new(),
            target_changed: false,
            unsynced: false,
            dropped: 0,
            _lock: lock,
        };
        store.recover().map_err(|error| fail("read", &journal_path, error))?;
        Ok(store)
    }

    /// Returns how many bytes of a cut last frame were dropped when the store was opened.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Reads the journal from its beginning.
    fn recover(&mut self) -> io::Result<()> {
        let mut scan = Scan::new(self.journal.try_clone()?)?;
        self.created_ns = scan.created_ns;
        while let Some(frame_at) = scan.next_frame()? {
            for record in scan.records() {
                match record? {
                    Record::Message { seq_num, offset, len } => {
                        self.index.push(seq_num, Entry { offset: frame_at + offset, len })?;
                        self.next_sender = seq_num.saturating_add(1);
                    }
                    Record::Sender(seq_num) => {
                        self.index.cut(seq_num, self.next_sender)?;
                        self.next_sender = seq_num;
                    }
                    Record::Target(seq_num) => self.next_target = seq_num,
                }
            }
        }
        self.end = scan.end();
        let len = self.journal.metadata()?.len();
        self.dropped = len.saturating_sub(self.end);
        if self.dropped > 0 {
            self.journal.set_len(self.end)?;
        }
        Ok(())
    }

    fn error(&self, doing: &str, error: io::Error) -> StoreError {
        let path = self.options.folder.join(format!("{}.journal", self.options.name));
        StoreError::new(format!("{doing} {}", path.display()), error)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = self.frame.finish();
        self.journal.write_all_at(frame, self.end)?;
        let (at, len) = (self.end, frame.len() as u64);
        for (seq_num, offset, len) in self.in_frame.drain(..) {
            self.index.push(seq_num, Entry { offset: at + offset as u64, len: len as u32 })?;
        }
        self.end += len;
        self.frame.clear();
        self.unsynced = true;
        if self.options.fsync == Fsync::Always {
            self.journal.sync_data()?;
            self.unsynced = false;
        }
        Ok(())
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    private_file().read(true).write(true).create(true).truncate(false).open(path)
}

impl Store for FileStore {
    fn next_sender(&self) -> u64 {
        self.next_sender
    }

    fn next_target(&self) -> u64 {
        self.next_target
    }

    fn created_ns(&self) -> u64 {
        self.created_ns
    }

    fn append(&mut self, message: &[u8]) -> Result<(), StoreError> {
        let offset = self.frame.push_message(self.next_sender, message);
        self.in_frame.push((self.next_sender, offset, message.len()));
        self.next_sender = self.next_sender.saturating_add(1);
        Ok(())
    }

    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.frame.push_sender(seq_num);
        self.in_frame.retain(|(number, ..)| *number < seq_num);
        self.index.cut(seq_num, self.next_sender).map_err(|error| self.error("cut", error))?;
        self.next_sender = seq_num;
        Ok(())
    }

    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.next_target = seq_num;
        self.target_changed = true;
        Ok(())
    }

    fn read(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        if let Ok(at) = self.in_frame.binary_search_by_key(&seq_num, |(number, ..)| *number) {
            let (_, offset, len) = self.in_frame[at];
            out.extend_from_slice(self.frame.bytes(offset, len));
            return Ok(true);
        }
        if seq_num >= self.next_sender {
            return Ok(false);
        }
        let entry = self.index.read(seq_num).map_err(|error| self.error("index", error))?;
        let Some(Entry { offset, len }) = entry else { return Ok(false) };
        let start = out.len();
        out.resize(start + len as usize, 0);
        let read = self.journal.read_exact_at(&mut out[start..], offset);
        read.map_err(|error| self.error("read", error))?;
        Ok(true)
    }

    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        let path = self.options.folder.join(format!("{}.journal", self.options.name));
        self.journal = journal::create(&path, created_ns)
            .and_then(|()| open_file(&path))
            .map_err(|error| self.error("begin anew", error))?;
        self.index.clear().map_err(|error| self.error("index", error))?;
        self.end = HEADER_LEN;
        self.frame.clear();
        self.in_frame.clear();
        self.target_changed = false;
        self.unsynced = true;
        (self.next_sender, self.next_target, self.created_ns) = (1, 1, created_ns);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.target_changed {
            self.frame.push_target(self.next_target);
            self.target_changed = false;
        }
        if self.frame.is_empty() {
            return Ok(());
        }
        self.write_frame().map_err(|error| self.error("write", error))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.options.fsync == Fsync::Batch && self.unsynced {
            self.journal.sync_data().map_err(|error| self.error("sync", error))?;
            self.unsynced = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
