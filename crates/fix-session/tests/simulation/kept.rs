//! The stores of both sides, which survive the death of a process, and their failures.

use super::watched::{Act, Watched, full};
use std::cell::Cell;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, MemoryStore, Store, StoreError};

pub type BoxStore = Box<dyn Store>;

/// A failure of a store during a commit. The process restarts afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written.
    Full,
    /// Everything is written, but the sync fails.
    Sync,
    /// Only a part of the frame is written.
    Torn,
    /// Everything is written, and then a bit of the file flips: the store refuses to open, and the
    /// file is restored from a copy.
    Flipped,
}

/// The plan of failures.
#[derive(Debug)]
pub struct Plan {
    fault: Fault,
    /// Writes until the next failure.
    left: Cell<u64>,
    failures: Cell<u64>,
    /// True if the damage of the last failure has not been applied yet.
    is_due: Cell<bool>,
    /// Bytes of the file before the torn frame.
    whole: Cell<u64>,
    dice: Cell<u64>,
}

impl Plan {
    fn below(&self, count: u64) -> u64 {
        let next = self.dice.get().wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E);
        self.dice.set(next);
        (next >> 33) % count
    }

    /// Returns true if this write fails.
    fn fails(&self) -> bool {
        if let Some(left) = self.left.get().checked_sub(1) {
            self.left.set(left);
            return false;
        }
        self.left.set(20 + self.below(200));
        self.failures.set(self.failures.get() + 1);
        self.is_due.set(true);
        true
    }
}

impl Plan {
    /// Checks whether a store may commit.
    fn before(&self, act: Act, store: &mut FileStore, path: &Path) -> Result<(), StoreError> {
        if act != (Act::Commit { has_changed: true }) || !self.fails() {
            return Ok(());
        }
        self.whole.set(fs::metadata(path).expect("a journal").len());
        match self.fault {
            Fault::Full => return Err(full("commit")),
            Fault::Torn | Fault::Sync | Fault::Flipped => store.commit()?,
        }
        Err(StoreError::new("sync", ErrorKind::Other.into()))
    }
}

/// The kind of stores, which survive the death of a process.
pub enum Kept {
    Memory,
    Disk(PathBuf),
    Failing(PathBuf, Rc<Plan>),
}

impl Kept {
    /// Stores on disk that fail from write `first` on.
    pub fn failing(folder: PathBuf, fault: Fault, first: u64) -> Self {
        let (left, dice) = (Cell::new(first), Cell::new(first));
        let (failures, is_due, whole) = (Cell::new(0), Cell::new(false), Cell::new(0));
        Self::Failing(folder, Rc::new(Plan { fault, left, failures, is_due, whole, dice }))
    }

    /// Returns the number of failures.
    pub fn failures(&self) -> u64 {
        match self {
            Self::Failing(_, plan) => plan.failures.get(),
            _ => 0,
        }
    }

    pub const fn is_on_disk(&self) -> bool {
        !matches!(self, Self::Memory)
    }

    pub fn open(&self, name: &str) -> BoxStore {
        match self {
            Self::Memory => Box::new(MemoryStore::new()),
            Self::Disk(folder) => Box::new(open(folder, name).expect("opens")),
            Self::Failing(folder, plan) => {
                let store = open(folder, name).expect("opens");
                let (plan, path) = (plan.clone(), folder.join(format!("{name}.journal")));
                let mut is_dead = false;
                Box::new(Watched::new(store, move |act, store: &mut FileStore| {
                    if is_dead {
                        return Err(full("commit"));
                    }
                    let outcome = plan.before(act, store, &path);
                    // A frame is torn by the end of the process.
                    is_dead = outcome.is_err() && plan.fault == Fault::Torn;
                    outcome
                }))
            }
        }
    }

    /// Applies the damage of the last failure to the file; the store must be closed.
    pub fn damage(&self, name: &str) {
        let Self::Failing(folder, plan) = self else { return };
        if !plan.is_due.take() {
            return;
        }
        let path = folder.join(format!("{name}.journal"));
        match plan.fault {
            Fault::Full | Fault::Sync => {}
            Fault::Torn => tear(folder, &path, name, plan).expect("files work"),
            Fault::Flipped => flip(folder, &path, name, plan).expect("files work"),
        }
    }
}

fn open(folder: &Path, name: &str) -> Result<FileStore, StoreError> {
    let (folder, name) = (folder.to_owned(), name.to_owned());
    FileStore::open(FileStoreOptions { folder, name, fsync: Fsync::None, archives_max: 0 }, 0)
}

/// Truncates the last frame to its first bytes. Opening the store moves them to another file and
/// reports that.
fn tear(folder: &Path, path: &Path, name: &str, plan: &Plan) -> io::Result<()> {
    let mut torn = fs::read(path)?;
    let whole = plan.whole.get() as usize;
    torn.truncate(whole + 1 + plan.below((torn.len() - whole - 1) as u64) as usize);
    fs::write(path, &torn)?;
    let store = open(folder, name).expect("what is whole is there");
    let aside = store.moved_aside().expect("told");
    assert_eq!(fs::read(&aside.path)?, &torn[whole..]);
    fs::remove_file(&aside.path)?;
    drop(store);
    assert_eq!(fs::read(path)?, &torn[..whole]);
    Ok(())
}

/// Flips a bit. The store refuses to open; then the file is restored.
fn flip(folder: &Path, path: &Path, name: &str, plan: &Plan) -> io::Result<()> {
    let whole = fs::read(path)?;
    let mut flipped = whole.clone();
    // The last four bytes of the header are not used.
    let at = match plan.below(whole.len() as u64) as usize {
        at @ 20..24 => at - 4,
        at => at,
    };
    flipped[at] ^= 1 << plan.below(8);
    fs::write(path, &flipped)?;
    open(folder, name).expect_err("damage is told");
    assert_eq!(fs::read(path)?, flipped, "it is left alone");
    fs::write(path, &whole)
}
