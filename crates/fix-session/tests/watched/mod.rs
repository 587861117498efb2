//! A store whose operations a test observes and can make fail, for tests of full disks.
#![allow(dead_code)]

use std::io::ErrorKind;
use tickwire_fix_session::{Store, StoreError};

/// An operation that a store is about to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Commit {
        /// True if something has changed since the last successful commit.
        has_changed: bool,
    },
    Reset,
    Sync,
}

/// A store with a callback before each operation. An error of the callback becomes the result, and
/// the store does nothing.
pub struct Watched<S, F> {
    pub store: S,
    before: F,
    has_changed: bool,
}

/// The callback of a store that moves to another thread.
pub type Before<S> = Box<dyn FnMut(Act, &mut S) -> Result<(), StoreError> + Send>;

impl<S: Store, F: FnMut(Act, &mut S) -> Result<(), StoreError>> Watched<S, F> {
    pub const fn new(store: S, before: F) -> Self {
        Self { store, before, has_changed: false }
    }
}

/// Returns the error of a full disk.
pub fn full(doing: &str) -> StoreError {
    StoreError::new(doing, ErrorKind::StorageFull.into())
}

impl<S: Store, F: FnMut(Act, &mut S) -> Result<(), StoreError>> Store for Watched<S, F> {
    fn next_sender(&self) -> u64 {
        self.store.next_sender()
    }
    fn next_target(&self) -> u64 {
        self.store.next_target()
    }
    fn created_ns(&self) -> u64 {
        self.store.created_ns()
    }
    fn append(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.has_changed = true;
        self.store.append(message)
    }
    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.has_changed = true;
        self.store.set_next_sender(seq_num)
    }
    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        self.has_changed = true;
        self.store.set_next_target(seq_num)
    }
    fn read_next(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        self.store.read_next(seq_num, out)
    }
    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        (self.before)(Act::Reset, &mut self.store)?;
        self.store.reset(created_ns)
    }
    fn commit(&mut self) -> Result<(), StoreError> {
        (self.before)(Act::Commit { has_changed: self.has_changed }, &mut self.store)?;
        self.has_changed = false;
        self.store.commit()
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        (self.before)(Act::Sync, &mut self.store)?;
        self.store.sync()
    }
}
