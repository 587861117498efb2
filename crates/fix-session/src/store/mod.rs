//! Persistent state of a session: its two sequence numbers and the messages it sent.

mod file;
mod memory;

pub use file::{
    FileStore, FileStoreOptions, Fsync, MovedAside, StoreReport, check_store, cut_store,
    store_files,
};
pub use memory::MemoryStore;

use crate::error::StoreError;

/// Persistent state of a session.
///
/// The read methods see changes at once. [`Store::commit`] makes them durable, all or none; the
/// session calls it before it returns bytes for sending. So a message is never sent before it is
/// stored, and the number of a received message is stored together with all messages sent in
/// response.
pub trait Store {
    /// Returns the MsgSeqNum of the next message to send, from 1.
    fn next_sender(&self) -> u64;

    /// Returns the MsgSeqNum of the next message expected, from 1.
    fn next_target(&self) -> u64;

    /// Returns the time of the last reset of the numbers to 1, in nanoseconds since 1970-01-01 UTC;
    /// 0 if unknown.
    fn created_ns(&self) -> u64;

    /// Stores an application message, whose number must be [`Store::next_sender`], and increments
    /// that number.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn append(&mut self, message: &[u8]) -> Result<(), StoreError>;

    /// Sets the number of the next message to send. Skipped numbers have no message.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError>;

    /// Sets the number of the next message expected.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError>;

    /// Appends the first message with this number or a later one to `out` and returns its number;
    /// `None` if there is none. Implementations must not step through numbers without messages one
    /// by one: there may be billions.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read_next(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError>;

    /// Removes all messages and resets both numbers to 1.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError>;

    /// Makes all changes durable, as far as the store guarantees it.
    ///
    /// # Errors
    /// If it cannot be written.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Syncs committed data to the disk. Called periodically, not for every message.
    ///
    /// # Errors
    /// If it cannot be written.
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn next_sender(&self) -> u64 {
        (**self).next_sender()
    }

    fn next_target(&self) -> u64 {
        (**self).next_target()
    }

    fn created_ns(&self) -> u64 {
        (**self).created_ns()
    }

    fn append(&mut self, message: &[u8]) -> Result<(), StoreError> {
        (**self).append(message)
    }

    fn set_next_sender(&mut self, seq_num: u64) -> Result<(), StoreError> {
        (**self).set_next_sender(seq_num)
    }

    fn set_next_target(&mut self, seq_num: u64) -> Result<(), StoreError> {
        (**self).set_next_target(seq_num)
    }

    fn read_next(&mut self, seq_num: u64, out: &mut Vec<u8>) -> Result<Option<u64>, StoreError> {
        (**self).read_next(seq_num, out)
    }

    fn reset(&mut self, created_ns: u64) -> Result<(), StoreError> {
        (**self).reset(created_ns)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        (**self).commit()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        (**self).sync()
    }
}
