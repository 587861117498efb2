//! Words that one thread writes and other threads copy, always complete.

use super::atomics::{AtomicU64, Ordering, fence, spin_loop};

/// `N` words under a version, which is odd during a write and 0 before the first one. The version
/// and the first seven words share a cache line.
#[repr(C, align(64))]
pub(crate) struct Seqlock<const N: usize> {
    version: AtomicU64,
    words: [AtomicU64; N],
}

/// The words during a write or a copy.
#[derive(Clone, Copy)]
pub(crate) struct SeqlockWords<'a, const N: usize>(&'a [AtomicU64; N]);

impl<const N: usize> SeqlockWords<'_, N> {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0[at].load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, at: usize, word: u64) {
        self.0[at].store(word, Ordering::Relaxed);
    }
}

impl<const N: usize> Seqlock<N> {
    pub(crate) fn new() -> Self {
        Self { version: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Writes the words. Only one thread may write: with two, the words of both would mix.
    #[inline]
    pub(crate) fn write(&self, write: impl FnOnce(SeqlockWords<'_, N>)) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees any of the words below also sees the odd version.
        fence(Ordering::Release);
        write(SeqlockWords(&self.words));
        // A reader that sees this version also sees all of the words.
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// Returns the result of `copy` on the words of one complete write; `None` before the first
    /// write. `copy` may see words of several writes; its result is then discarded and it is called
    /// again.
    pub(crate) fn read<T>(&self, copy: impl Fn(SeqlockWords<'_, N>) -> T) -> Option<T> {
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version == 0 {
                return None;
            }
            if version.is_multiple_of(2) {
                let copied = copy(SeqlockWords(&self.words));
                fence(Ordering::Acquire);
                if self.version.load(Ordering::Relaxed) == version {
                    return Some(copied);
                }
            }
            spin_loop();
        }
    }
}
