//! Where the messages of each side are kept over the death of its process, and how that fails.

use super::watched::{Act, Watched, full};
use std::cell::Cell;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tickwire_fix_session::{FileStore, FileStoreOptions, Fsync, MemoryStore, Store, StoreError};

pub type BoxStore = Box<dyn Store>;

/// How a store fails while it commits. The process begins again after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written.
    Full,
    /// All is written, but it cannot be handed to the disk.
    Sync,
    /// A part of the frame is written.
    Torn,
    /// All is written, and then a bit is another one somewhere in the file: the store is not opened, and gets its
    /// file back from a copy.
    Flipped,
}

/// What is to fail, and what did.
#[derive(Debug)]
pub struct Plan {
    fault: Fault,
    /// Writes until the next failure.
    left: Cell<u64>,
    failures: Cell<u64>,
    /// Whether the damage of the last failure is to be done.
    is_due: Cell<bool>,
    /// Bytes of the file before the frame that is torn.
    whole: Cell<u64>,
    dice: Cell<u64>,
}

impl Plan {
    fn below(&self, count: u64) -> u64 {
        let next = self.dice.get().wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E);
        self.dice.set(next);
        (next >> 33) % count
    }

    /// Whether this write fails.
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
    /// Looks whether a store may commit.
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

/// Where the messages of each side are kept over the death of its process.
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

    /// Returns how often they failed.
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
                    // What tears a frame is the end of the process.
                    is_dead = outcome.is_err() && plan.fault == Fault::Torn;
                    outcome
                }))
            }
        }
    }

    /// Does to the file what the last failure has left there; the store must be closed.
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

/// Leaves the first bytes of the last frame. They are moved aside and told.
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

/// Changes a bit. The store is not opened; then the file is as it was.
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
