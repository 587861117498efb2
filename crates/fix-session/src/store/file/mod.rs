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

use self::create::{NewJournal, Published, is_taken, lock, make_first, open_locked};
use self::format::{Frame, Record, Version, message_len};
use self::marks::Marks;
use self::scan::{Scan, Tail};
use self::window::Window;
use super::Store;
use crate::error::StoreError;
use crate::files::make_private_folder;

pub use archives::store_files;
pub use aside::{MovedAside, cut_store};
pub use check::{StoreReport, check_store};

/// A journal is rewritten if it is at least this long, and more than half of it is obsolete: when it is
/// opened, and while it is open.
const COMPACT_MIN: u64 = 1 << 20;
/// Most bytes of messages that are rewritten while it is open, so that it takes some milliseconds at most.
const COMPACT_OPEN_MAX: u64 = 4 << 20;
/// Bytes of messages in a frame of a journal that is rewritten.
const COMPACT_FRAME: usize = 64 << 10;

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

/// Path and durability of a store.
#[derive(Clone, Debug)]
pub struct FileStoreOptions {
    /// Folder; made if it is not there.
    pub folder: PathBuf,
    /// Name of the files without extension, as [`crate::SessionId::file_name`].
    pub name: String,
    /// When the disk is waited for.
    pub fsync: Fsync,
    /// Most journals kept of numbers that a reset has ended, `NAME.journal.archive-NUMBER`, the newest; 0 for none.
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
    /// Bytes of its messages, at most.
    useful: u64,
    /// Length at which it is examined whether it is to be rewritten.
    compact_at: u64,
    marks: Marks,
    window: Window,
    next_sender: u64,
    next_target: u64,
    created_ns: u64,
    /// The frame that the next commit writes.
    frame: Frame,
    /// Messages in it: number, where in the frame, length.
    in_frame: Vec<(u64, usize, usize)>,
    target_changed: bool,
    /// True if the disk may lack written data.
    unsynced: bool,
    /// True if the last commit was not written: it must be written before more is accepted.
    is_behind: bool,
    /// Error after which the content of the disk is unknown.
    poisoned: Option<String>,
    moved_aside: Option<MovedAside>,
}

impl FileStore {
    /// Opens a store, or makes an empty one that is said to begin at `created_ns`. A journal of an earlier
    /// version is rewritten in today's form.
    ///
    /// # Errors
    /// If a file cannot be opened, is in use by another process, or is damaged otherwise than by a cut last
    /// frame.
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
            marks: Marks::default(),
            window: Window::default(),
            next_sender: 1,
            next_target: 1,
            created_ns,
            frame: Frame::default(),
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

    /// Returns what was moved aside when the store was opened: a last frame that is cut, by a loss of power
    /// or otherwise. What it held is lost to the session.
    pub const fn moved_aside(&self) -> Option<&MovedAside> {
        self.moved_aside.as_ref()
    }

    fn path(&self) -> PathBuf {
        self.options.folder.join(format!("{}.journal", self.options.name))
    }

    /// Reads the journal from its beginning; returns whether it is to be rewritten because it is of an
    /// earlier version or mostly of no use.
    fn recover(&mut self) -> io::Result<bool> {
        let mut scan = Scan::new(self.journal.try_clone()?)?;
        self.created_ns = scan.created_ns;
        let mut useful = 0;
        while let Some(at) = scan.next_frame()? {
            for record in scan.records() {
                match record? {
                    Record::Message { seq_num, message } => {
                        useful += message_len(message.len()) as u64;
                        self.marks.note(seq_num, at);
                        self.next_sender = seq_num.saturating_add(1);
                    }
                    Record::Sender(seq_num) => self.set_sender(seq_num, at),
                    Record::Target(seq_num) => self.next_target = seq_num,
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
        Ok(scan.version != Version::Two || self.is_wasteful())
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

    /// Writes messages and numbers to a new journal, which takes the place of this one.
    fn write_anew(&mut self) -> io::Result<()> {
        let published = self.copy_useful()?;
        self.adopt(published)
    }

    /// Writes the journal anew while it is open, if that is due and quickly done. Where there is no room for another
    /// one, it stays as it is until it is twice as long.
    fn compact(&mut self) -> io::Result<()> {
        // What is not committed must not be in it.
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
    fn copy_useful(&self) -> io::Result<Published> {
        let mut numbers = std::collections::BTreeMap::new();
        let mut scan = Scan::new(self.journal.try_clone()?)?;
        while let Some(at) = scan.next_frame()? {
            for record in scan.records() {
                match record? {
                    Record::Message { seq_num, .. } => drop(numbers.insert(seq_num, at)),
                    Record::Sender(seq_num) => drop(numbers.split_off(&seq_num)),
                    Record::Target(_) => {}
                }
            }
        }
        let mut out = NewJournal::begin(&self.path(), self.created_ns)?;
        let mut scan = Scan::new(self.journal.try_clone()?)?;
        let mut frame = Frame::default();
        let mut bytes = 0;
        while let Some(at) = scan.next_frame()? {
            let mut last = std::collections::BTreeMap::new();
            for record in scan.records() {
                if let Record::Message { seq_num, message } = record?
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

    /// Goes on with a journal that was made of this one.
    fn adopt(&mut self, published: Published) -> io::Result<()> {
        self.journal = published.journal;
        published.folder.sync_all()?;
        self.marks.clear();
        self.window.clear();
        self.recover()?;
        self.compact_at = (2 * self.end).max(COMPACT_MIN);
        for extension in ["index", "lock"] {
            // Files of earlier versions; one that stays does no harm.
            let _ = fs::remove_file(self.path().with_extension(extension));
        }
        Ok(())
    }

    /// Replaces this journal by an empty one, and archives it if archives are kept and it has
    /// messages.
    fn begin_anew(&self, created_ns: u64) -> io::Result<Published> {
        let path = self.path();
        let make = || NewJournal::begin(&path, created_ns)?.publish();
        let is_empty = self.end <= Version::Two.header_len() as u64;
        if self.options.archives_max == 0 || is_empty {
            return make();
        }
        if self.is_behind {
            // Of a frame that did not fit the disk a part may be there.
            self.journal.set_len(self.end)?;
        }
        archives::make_room(&path, self.options.archives_max - 1)?;
        let archive = archives::add(&path)?;
        make().inspect_err(|_| {
            // The journal is what it was; a second name of it is removed when the store is opened, if not now.
            let _ = fs::remove_file(archive);
        })
    }

    /// Goes on with an empty journal.
    fn go_on_empty(&mut self, published: Published, created_ns: u64) -> Result<(), StoreError> {
        self.journal = published.journal;
        self.is_behind = false;
        self.marks.clear();
        self.window.clear();
        self.end = Version::Two.header_len() as u64;
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

    /// Writes what an earlier commit could not, so that what waits does not grow.
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

/// Fails if a process of an earlier version has the store open: it locked a file of its own.
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
        // What is not written yet comes after all that is.
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
            // Where numbers were used again, the later frame has the message.
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
        // A frame that does not fit the disk stays, and the next commit writes it again at its place.
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
