//! Words that processes share, and the orderings between them.
//!
//! The protocols are written over these traits, so the same code runs over mapped files, over the model checker's
//! atomics, and over memory that stops after a chosen store.

use std::sync::atomic::{Ordering, fence};

/// Shared words that can be read. Each load is atomic and relaxed; order comes from [`Memory::acquire`].
///
/// Relaxed loads with fences are the one form of atomic load that Rust guarantees on memory that is mapped read-only.
pub trait Memory {
    /// Loads the word at `index`.
    ///
    /// # Panics
    /// If there is no such word; callers check lengths when they open a file.
    fn load(&self, index: usize) -> u64;

    /// Loads the bytes of `bytes.len()` from the word at `index` on.
    fn load_bytes(&self, index: usize, bytes: &mut [u8]) {
        for (word, bytes) in (index..).zip(bytes.chunks_mut(8)) {
            bytes.copy_from_slice(&self.load(word).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Acquire fence: what was stored before a loaded word was stored is visible behind it.
    fn acquire(&self) {
        fence(Ordering::Acquire);
    }

    /// The frequent side of a full fence between two processes: orders the stores before it against the loads behind it,
    /// with respect to whoever calls [`Memory::heavy_fence`].
    fn light_fence(&self) {
        fence(Ordering::SeqCst);
    }

    /// The rare side of it.
    fn heavy_fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Shared words that can be written too. Each store is atomic and relaxed; order comes from [`MemoryMut::release`].
pub trait MemoryMut: Memory {
    /// Stores the word at `index`.
    ///
    /// # Panics
    /// If there is no such word.
    fn store(&self, index: usize, value: u64);

    /// Stores bytes from the word at `index` on; the last word is filled up with zeros.
    fn store_bytes(&self, index: usize, bytes: &[u8]) {
        for (word, bytes) in (index..).zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            self.store(word, u64::from_le_bytes(whole));
        }
    }

    /// Release fence: stores before it are visible to whoever acquires a store behind it.
    fn release(&self) {
        fence(Ordering::Release);
    }

    /// Fetches the cache lines of the words from `index` on for writing; a hint without effect on values.
    fn prepare(&self, _index: usize, _words: usize) {}
}

/// A word on which processes sleep until it changes.
pub trait Sleep: Memory {
    /// Sleeps while the low half of the word at `index` is that of `value`; wakes up spuriously too. False once
    /// `timeout_ns` has passed.
    fn sleep(&self, index: usize, value: u64, timeout_ns: u64) -> bool;

    /// Wakes everybody who sleeps on the word at `index`.
    fn wake_all(&self, index: usize);
}
