//! The floor of a broadcast: a ring of sequence locks and nothing else, in memory of the process.
//!
//! It has no head, no keys, no sleepers, no heartbeat and no check of a file, so it can neither be joined late nor
//! survive a killed writer. Its pages are of 4 KiB, as those of channels are.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a cache line.
const LINE_WORDS: usize = 8;
/// Words of a slot before the bytes: the lock, and the length.
const SLOT_HEAD_WORDS: usize = 2;

/// A ring of slots: lock (2n + 1 while sample n is written, 2n + 2 afterwards), length, bytes.
pub struct BareRing {
    words: Vec<AtomicU64>,
    /// Index of the first word that begins a cache line.
    start: usize,
    slots: u64,
    slot_words: usize,
}

/// Result of [`BareRing::poll`].
pub enum Polled {
    /// The sample's first word.
    Sample(u64),
    /// Number of samples that were overwritten.
    Lost(u64),
    Nothing,
}

impl BareRing {
    /// Creates a ring for samples of `bytes` bytes; `slots` is a power of two.
    pub fn new(bytes: usize, slots: u64) -> Self {
        let slot_words = (SLOT_HEAD_WORDS + bytes.div_ceil(8)).next_multiple_of(LINE_WORDS);
        let len = slot_words * slots as usize + LINE_WORDS;
        let words: Vec<AtomicU64> = (0..len).map(|_| AtomicU64::new(0)).collect();
        let start = words.as_ptr().align_offset(LINE_WORDS * 8);
        Self { words, start, slots, slot_words }
    }

    fn slot(&self, seq_num: u64) -> &[AtomicU64] {
        let index = (seq_num & (self.slots - 1)) as usize;
        &self.words[self.start + index * self.slot_words..][..self.slot_words]
    }

    /// Writes sample `seq_num`.
    #[inline]
    pub fn publish(&self, seq_num: u64, bytes: &[u8]) {
        let slot = self.slot(seq_num);
        slot[0].store(2 * seq_num + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        slot[1].store(bytes.len() as u64, Ordering::Relaxed);
        for (word, bytes) in slot[SLOT_HEAD_WORDS..].iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        slot[0].store(2 * seq_num + 2, Ordering::Release);
    }

    /// Copies sample `next` into the buffer if it is there, and advances `next`.
    #[inline]
    pub fn poll(&self, next: &mut u64, buffer: &mut [u64]) -> Polled {
        let slot = self.slot(*next);
        let written = 2 * *next + 2;
        let mut lock = slot[0].load(Ordering::Acquire);
        if lock == written {
            let words = slot[1].load(Ordering::Relaxed).div_ceil(8) as usize;
            for (word, slot) in buffer[..words].iter_mut().zip(&slot[SLOT_HEAD_WORDS..]) {
                *word = slot.load(Ordering::Relaxed);
            }
            fence(Ordering::Acquire);
            lock = slot[0].load(Ordering::Relaxed);
            if lock == written {
                *next += 1;
                return Polled::Sample(buffer[0]);
            }
        }
        if lock <= written {
            return Polled::Nothing;
        }
        // Half a ring behind the sample that overwrote this one, as a reader of the broadcast does.
        let resumed = (lock - 1) / 2 - self.slots / 2;
        Polled::Lost(resumed - std::mem::replace(next, resumed))
    }
}
