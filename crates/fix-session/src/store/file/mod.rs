//! A store on disk: one append-only journal, which is compacted when most of it is obsolete.
//!
//! Every commit is one frame with its own checksums, written with one call: after the process dies
//! it is either complete or absent. An index in memory, built when the journal is opened, locates
//! the messages. Unreadable data is never overwritten: an incomplete last frame is moved to a file
//! beside the journal, and a journal with other damage is not opened. [`Fsync`] describes what
//! survives which failure.

mod archives;
mod aside;
mod check;
mod create;
mod format;
mod marks;
mod scan;
mod window;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use self::create::{FinalJournal, NewJournal, is_taken, lock, make_first, open_locked};
use self::format::{JournalFrame, JournalRecord, JournalVersion, message_len};
use self::marks::SeqNumMarks;
use self::scan::{JournalScan, Tail};
use self::window::JournalWindow;
use super::Store;
use crate::error::StoreError;
use crate::files::make_private_folder;

pub use archives::store_files;
pub use aside::{MovedAside, cut_store};
pub use check::{StoreReport, check_store};

/// Minimum length in bytes of a journal to be compacted, on opening or while open, if more than
/// half of it is obsolete.
const COMPACT_MIN: u64 = 1 << 20;
/// Most bytes of messages that are compacted while the journal is open, which limits the pause to a
/// few milliseconds.
const COMPACT_OPEN_MAX: u64 = 4 << 20;
/// Bytes of messages per frame of a compacted journal.
const COMPACT_FRAME: usize = 64 << 10;

/// When committed data is synced to the disk.
///
/// With every choice, committed data, and therefore everything that was sent, survives the end of
/// the process, even `kill -9`, because the operating system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// With every commit: sent messages survive a power failure too. A commit takes as long as the
    /// disk's sync.
    Always,
    /// Periodically, by [`Store::sync`]: a power failure loses what was committed since the last
    /// sync.
    #[default]
    Batch,
    /// Never: a power failure loses what the operating system has not written yet.
    None,
}

/// Path and durability of a store.
#[derive(Clone, Debug)]
pub struct FileStoreOptions {
    /// Folder; created if it does not exist.
    pub folder: PathBuf,
    /// Name of the files without extension, such as [`crate::SessionId::file_name`].
    pub name: String,
    /// When committed data is synced to the disk.
    pub fsync: Fsync,
    /// Most archived journals from before resets, named `NAME.journal.archive-NUMBER`; the newest
    /// are kept. 0 keeps none.
    pub archives_max: usize,
}

/// A store on disk.
#[derive(Debug)]
pub struct FileStore {
    options: FileStoreOptions,
    /// Locked for as long as the store is open.
    journal: File,
    /// Offset of the next frame.
    end: u64,
    /// Upper bound of the bytes of live messages.
    useful: u64,
    /// Length at which compaction is considered next.
    compact_at: u64,
    marks: SeqNumMarks,
    window: JournalWindow,
    next_sender: u64,
    next_target: u64,
    created_ns: u64,
    /// The frame that the next commit writes.
    frame: JournalFrame,
    /// Its messages: number, position in the frame, length.
    in_frame: Vec<(u64, usize, usize)>,
    target_changed: bool,
    /// True if the disk may lack written data.
    unsynced: bool,
    /// True if the last commit could not be written: it must be written before more is accepted.
    is_behind: bool,
    /// Error after which the content of the disk is unknown.
    poisoned: Option<String>,
    moved_aside: Option<MovedAside>,
}

impl FileStore {
    /// Opens a store, or creates an empty one with the creation time `created_ns`. A journal of an
    /// earlier version is rewritten in the current format.
    ///
    /// # Errors
    /// If a file cannot be opened, is in use by another process, or has damage other than an
    /// incomplete last frame.
    pub fn open(options: FileStoreOptions, created_ns: u64) -> Result<Self, StoreError> {
        let path = options.folder.join(format!("{}.journal", options.name));
        let fail =
            |doing: &str, error| StoreError::new(format!("{doing} {}", path.display()), error);
        make_private_folder(&options.folder).map_err(|error| {
            StoreError::new(format!("make folder {}", options.folder.display()), error)
        })?;
        check_old_lock(&options).map_err(|error| fail("open", error))?;
        let journal = match is_taken(&path).map_err(|error| fail("look for", error))? {
            true => open_locked(&path).map_err(|error| fail("open", error))?,
            false => make_first(&path, created_ns).map_err(|error| fail("make", error))?,
        };
        let mut store = Self {
            options,
            journal,
            end: 0,
            useful: 0,
            compact_at: COMPACT_MIN,
            marks: SeqNumMarks::default(),
            window: JournalWindow::default(),
            next_sender: 1,
            next_target: 1,
            created_ns,
            frame: JournalFrame::default(),
            in_frame: Vec::new(),
            target_changed: false,
            unsynced: false,
            is_behind: false,
            poisoned: None,
            moved_aside: None,
        };
        archives::forget_unfinished(&path, &store.journal)
            .map_err(|error| fail("look at archives of", error))?;
        let is_to_rewrite = store.recover().map_err(|error| fail("read", error))?;
        if is_to_rewrite {
            store.write_anew().map_err(|error| fail("write anew", error))?;
        }
        Ok(store)
    }

    /// Returns the incomplete last frame that opening the store moved to another file, for example
    /// after a power failure. Its content is lost to the session.
    pub const fn moved_aside(&self) -> Option<&MovedAside> {
        self.moved_aside.as_ref()
    }

    fn path(&self) -> PathBuf {
        self.options.folder.join(format!("{}.journal", self.options.name))
    }

    /// Reads the journal from its start. Returns true if it should be rewritten, because it has an
    /// earlier version or is mostly obsolete.
    fn recover(&mut self) -> io::Result<bool> {
        let mut scan = JournalScan::new(self.journal.try_clone()?)?;
        self.created_ns = scan.created_ns;
        let mut useful = 0;
        while let Some(at) = scan.next_frame()? {
            for record in scan.records() {
                match record? {
                    JournalRecord::Message { seq_num, message } => {
                        useful += message_len(message.len()) as u64;
                        self.marks.note(seq_num, at);
                        self.next_sender = seq_num.saturating_add(1);
                    }
                    JournalRecord::Sender(seq_num) => self.set_sender(seq_num, at),
                    JournalRecord::Target(seq_num) => self.next_target = seq_num,
                }
            }
        }
        (self.end, self.useful) = (scan.end(), useful);
        match scan.tail()? {
            Tail::Clean => {}
            Tail::Torn { len } => {
                self.moved_aside =
                    Some(aside::move_aside(&self.journal, &self.path(), self.end, len)?);
            }
            Tail::Damaged { next } => return Err(aside::damaged(self.end, next)),
        }
        Ok(scan.version != JournalVersion::Two || self.is_wasteful())
    }

    const fn is_wasteful(&self) -> bool {
        self.end >= COMPACT_MIN && self.useful < self.end / 2
    }

    fn set_sender(&mut self, seq_num: u64, at: u64) {
        if seq_num < self.next_sender {
            self.marks.cut(seq_num, at);
            self.window.cut(seq_num);
        }
        self.next_sender = seq_num;
    }

    /// Writes messages and numbers to a new journal, which replaces this one.
    fn write_anew(&mut self) -> io::Result<()> {
        let published = self.copy_useful()?;
        self.adopt(published)
    }

    /// Compacts the open journal if that is due and quickly done. If the disk has no room for a
    /// second journal, the next attempt is at twice the length.
    fn compact(&mut self) -> io::Result<()> {
        // Uncommitted changes must not get into the new journal.
        let has_uncommitted = self.target_changed || !self.frame.is_empty();
        if self.end < self.compact_at || has_uncommitted {
            return Ok(());
        }
        self.compact_at = 2 * self.end;
        if !self.is_wasteful() || self.useful > COMPACT_OPEN_MAX {
            return Ok(());
        }
        match self.copy_useful() {
            Ok(published) => self.adopt(published),
            Err(_) => Ok(()),
        }
    }

    /// Writes a journal with only the live messages and the numbers of this one, and replaces it.
    fn copy_useful(&self) -> io::Result<FinalJournal> {
        let mut numbers = std::collections::BTreeMap::new();
        let mut scan = JournalScan::new(self.journal.try_clone()?)?;
        while let Some(at) = scan.next_frame()? {
            for record in scan.records() {
                match record? {
                    JournalRecord::Message { seq_num, .. } => drop(numbers.insert(seq_num, at)),
                    JournalRecord::Sender(seq_num) => drop(numbers.split_off(&seq_num)),
                    JournalRecord::Target(_) => {}
                }
            }
        }
        let mut out = NewJournal::begin(&self.path(), self.created_ns)?;
        let mut scan = JournalScan::new(self.journal.try_clone()?)?;
        let mut frame = JournalFrame::default();
        let mut bytes = 0;
        while let Some(at) = scan.next_frame()? {
            let mut last = std::collections::BTreeMap::new();
            for record in scan.records() {
                if let JournalRecord::Message { seq_num, message } = record?
                    && numbers.get(&seq_num) == Some(&at)
                {
                    last.insert(seq_num, message);
                }
            }
            for (seq_num, message) in last {
                frame.push_message(seq_num, message);
                bytes += message.len();
            }
            if bytes > COMPACT_FRAME {
                out.push(&mut frame)?;
                bytes = 0;
            }
        }
        frame.push_sender(self.next_sender);
        frame.push_target(self.next_target);
        out.push(&mut frame)?;
        out.publish()
    }

    /// Continues with a journal that was created from this one.
    fn adopt(&mut self, published: FinalJournal) -> io::Result<()> {
        self.journal = published.journal;
        published.folder.sync_all()?;
        self.marks.clear();
        self.window.clear();
        self.recover()?;
        self.compact_at = (2 * self.end).max(COMPACT_MIN);
        for extension in ["index", "lock"] {
            // Files of earlier versions. They do no harm if the removal fails.
            let _ = fs::remove_file(self.path().with_extension(extension));
        }
        Ok(())
    }

    /// Replaces this journal by an empty one, and archives it if archives are kept and it has
    /// messages.
    fn begin_anew(&self, created_ns: u64) -> io::Result<FinalJournal> {
        let path = self.path();
        let make = || NewJournal::begin(&path, created_ns)?.publish();
        let is_empty = self.end <= JournalVersion::Two.header_len() as u64;
        if self.options.archives_max == 0 || is_empty {
            return make();
        }
        if self.is_behind {
            // Removes the part of a frame that did not fit on the disk.
            self.journal.set_len(self.end)?;
        }
        archives::make_room(&path, self.options.archives_max - 1)?;
        let archive = archives::add(&path)?;
        make().inspect_err(|_| {
            // The journal is unchanged. If removing its second name fails here, the next opening of
            // the store removes it.
            let _ = fs::remove_file(archive);
        })
    }

    /// Continues with an empty journal.
    fn go_on_empty(&mut self, published: FinalJournal, created_ns: u64) -> Result<(), StoreError> {
        self.journal = published.journal;
        self.is_behind = false;
        self.marks.clear();
        self.window.clear();
        self.end = JournalVersion::Two.header_len() as u64;
        (self.useful, self.compact_at) = (0, COMPACT_MIN);
        self.frame.clear();
        self.in_frame.clear();
        self.target_changed = false;
        self.unsynced = true;
        (self.next_sender, self.next_target, self.created_ns) = (1, 1, created_ns);
        published.folder.sync_all().map_err(|error| self.sync_failed(error))
    }

    fn error(&self, doing: &str, error: io::Error) -> StoreError {
        StoreError::new(format!("{doing} {}", self.path().display()), error)
    }

    fn check_poison(&self) -> Result<(), StoreError> {
        match &self.poisoned {
            None => Ok(()),
            Some(text) => Err(self.error("go on with", io::Error::other(text.clone()))),
        }
    }

    /// Writes the data of a failed earlier commit first, so that pending data does not grow.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        self.check_poison()?;
        if self.is_behind { self.commit() } else { Ok(()) }
    }

    /// Records that the disk may lack written data: nothing more is accepted.
    fn sync_failed(&mut self, error: io::Error) -> StoreError {
        self.poisoned = Some(format!("an earlier sync failed: {error}"));
        self.error("sync", error)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = self.frame.finish(self.end);
        self.journal.write_all_at(frame, self.end)?;
        self.end += frame.len() as u64;
        Ok(())
    }
}

/// Fails if a process of an earlier version has the store open; such processes lock a separate
/// file.
fn check_old_lock(options: &FileStoreOptions) -> io::Result<()> {
    match File::open(options.folder.join(format!("{}.lock", options.name))) {
        Ok(file) => lock(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
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
        self.catch_up()?;
        let offset = self.frame.push_message(self.next_sender, message);
        self.in_frame.push((self.next_sender, offset, message.len()));
        self.useful += message_len(message.len()) as u64;
        self.marks.note(self.next_sender, self.end);
        self.next_sender = self.next_sender.saturating_add(1);
        Ok(())
    }

    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.catch_up()?;
        self.frame.push_sender(seq_num);
        self.in_frame.retain(|(number, ..)| *number < seq_num);
        self.set_sender(seq_num, self.end);
        Ok(())
    }

    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.catch_up()?;
        self.next_target = seq_num;
        self.target_changed = true;
        Ok(())
    }

    fn read_next(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        let mut from = seq_num;
        // Unwritten messages follow all written ones.
        let is_written = |from, frame: &[(u64, usize, usize)]| {
            frame.first().is_none_or(|(number, ..)| from < *number)
        };
        while is_written(from, &self.in_frame)
            && let Some(start) = self.marks.find(from)
        {
            let Self { window, journal, end, .. } = self;
            let found = window.find(journal, start, *end, from);
            let found = found.map_err(|error| self.error("read", error))?;
            let Some((number, at)) = found else { break };
            // If the number was reused, a later frame has the message.
            if let Some(again_from) = self.marks.used_again(number, at) {
                from = again_from;
                continue;
            }
            out.extend_from_slice(self.window.message(number));
            return Ok(Some(number));
        }
        let at = self.in_frame.partition_point(|(number, ..)| *number < from);
        let Some((number, offset, len)) = self.in_frame.get(at).copied() else { return Ok(None) };
        out.extend_from_slice(self.frame.bytes(offset, len));
        Ok(Some(number))
    }

    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        self.check_poison()?;
        let published = self.begin_anew(created_ns);
        let published = published.map_err(|error| self.error("begin anew", error))?;
        self.go_on_empty(published, created_ns)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.check_poison()?;
        if self.target_changed {
            self.frame.push_target(self.next_target);
            self.target_changed = false;
        }
        if self.frame.is_empty() {
            return Ok(());
        }
        // A frame that could not be written is kept, and the next commit writes it at the same
        // offset.
        self.is_behind = true;
        self.write_frame().map_err(|error| self.error("write", error))?;
        self.is_behind = false;
        self.in_frame.clear();
        self.frame.clear();
        self.unsynced = true;
        if self.options.fsync == Fsync::Always {
            self.journal.sync_data().map_err(|error| self.sync_failed(error))?;
            self.unsynced = false;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check_poison()?;
        if self.options.fsync == Fsync::Batch && self.unsynced {
            self.journal.sync_data().map_err(|error| self.sync_failed(error))?;
            self.unsynced = false;
        }
        self.compact().map_err(|error| {
            self.poisoned = Some(format!("the rewritten journal is not reliable: {error}"));
            self.error("write anew", error)
        })
    }
}

#[cfg(test)]
mod tests;
