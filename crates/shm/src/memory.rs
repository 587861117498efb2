//! Words that processes share, and the orderings between them.
//!
//! The protocols are written against these traits. The same code therefore runs on mapped files, on the model checker's
//! atomics, and on plain memory under Miri.

use std::sync::atomic::{Ordering, fence};

/// Shared words that can be read. Each load is atomic and relaxed; [`Memory::acquire`] orders them.
///
/// Relaxed loads with fences are the only form of atomic load that Rust guarantees on memory that is mapped read-only.
pub trait Memory {
    /// Loads the word at `index`.
    ///
    /// # Panics
    /// If the index is out of range; callers check lengths when they open a file.
    fn load(&self, index: usize) -> u64;

    /// Fills `bytes` from the words that begin at `index`.
    fn load_bytes(&self, index: usize, bytes: &mut [u8]) {
        for (word, bytes) in (index..).zip(bytes.chunks_mut(8)) {
            bytes.copy_from_slice(&self.load(word).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Prefetches the cache lines of the words that begin at `index` for reading; a hint without effect on values.
    fn prefetch(&self, _index: usize, _words: usize) {}

    /// Acquire fence: if a loaded word was stored after a release fence, everything stored before that fence is visible
    /// from here on.
    fn acquire(&self) {
        fence(Ordering::Acquire);
    }

    /// The frequent side of a full fence between two processes: orders the stores before it against the loads after it,
    /// as seen by a process that calls [`Memory::heavy_fence`].
    fn light_fence(&self) {
        fence(Ordering::SeqCst);
    }

    /// The rare side of that fence; false if it has no effect, because the kernel refuses it.
    fn heavy_fence(&self) -> bool {
        fence(Ordering::SeqCst);
        true
    }
}

/// Shared words that can also be written. Each store is atomic and relaxed; [`MemoryMut::release`] orders them.
pub trait MemoryMut: Memory {
    /// Stores the word at `index`.
    ///
    /// # Panics
    /// If the index is out of range.
    fn store(&self, index: usize, value: u64);

    /// Stores bytes into the words that begin at `index`; the last word is padded with zeros.
    fn store_bytes(&self, index: usize, bytes: &[u8]) {
        for (word, bytes) in (index..).zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            self.store(word, u64::from_le_bytes(whole));
        }
    }

    /// Release fence: whoever loads a value stored after it, and then acquires, sees all stores before it.
    fn release(&self) {
        fence(Ordering::Release);
    }

    /// Prefetches the cache lines of the words that begin at `index` for writing; a hint without effect on values.
    fn prepare(&self, _index: usize, _words: usize) {}
}

/// A word on which processes sleep until it changes.
pub trait Sleep: MemoryMut {
    /// Sets these bits of the word at `index` in one atomic step, relaxed, and returns its value before.
    fn set_bits(&self, index: usize, bits: u64) -> u64;

    /// Adds to the word at `index` in one atomic step, relaxed; wraps around.
    fn add(&self, index: usize, number: u64);

    /// Sleeps while the low half of the word at `index` equals that of `value`, until `timeout_ns` has passed, or until
    /// a spurious wake-up.
    fn sleep(&self, index: usize, value: u64, timeout_ns: u64);

    /// Wakes everyone who sleeps on the word at `index`.
    fn wake_all(&self, index: usize);
}
