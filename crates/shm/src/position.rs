//! Positions of readers: a writer that waits for room reads them to avoid lapping a slow reader.
//!
//! A position is the sequence number of the reader's next sample. Readers state it on request, in the waiters file: each
//! reader has locked one byte there, and its position is in the word with the same index. A writer that may wait
//! overwrites a slot only after all these readers have passed it, except readers that the writer has abandoned because
//! they did not read. Other writers ignore positions.
//!
//! The file has places for many more readers than most channels have. The bits of a word in the header mark the groups of
//! places that were ever used; a writer reads only those.
//!
//! A reader states its position once per eighth of the ring, and whenever it checks the writer (every 100 ms while no
//! sample arrives), so that the word's cache line mostly stays with the reader. The stated position is therefore never
//! above the true one: a writer may wait longer than necessary, but overwrites no unread sample. A writer without room is
//! a whole ring ahead of the stated position. Its reader then has at least seven eighths of the ring left to read, and
//! states its position again while it reads or skips them.

use crate::layout::{Geometry, POSITIONS, POSITIONS_USED};
use crate::memory::{Memory, MemoryMut, Sleep};

/// Size of a word of the waiters file, in bytes.
pub const WORD_BYTES: usize = 8;

/// Times per ring that a reader states its position. A writer looks at positions half as often.
const PER_RING: u64 = 8;

/// Number of places per bit of the word [`POSITIONS_USED`].
const PLACES_PER_BIT: u32 = 16;

/// Value of the word of a reader that does not state its position.
const UNSTATED: u64 = 0;

/// A reader's own position.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Index of its word in the waiters file.
    word: usize,
    /// The position that was stated last.
    stated: u64,
    /// Number of samples between two statements.
    every: u64,
}

impl Position {
    /// Creates the position of the reader that has locked byte `place`, and states `next`.
    pub fn new(waiters: &impl MemoryMut, geometry: &Geometry, place: u32, next: u64) -> Self {
        let every = (geometry.slots / PER_RING).max(1);
        let mut position = Self { word: POSITIONS + place as usize, stated: 0, every };
        position.state(waiters, next);
        position
    }

    /// States that `next` is the next sample to read: all earlier ones have been copied.
    pub fn state(&mut self, waiters: &impl MemoryMut, next: u64) {
        self.stated = next;
        // Copies of earlier samples must not be reordered after the store that frees their slots.
        waiters.release();
        waiters.store(self.word, next + 1);
    }

    /// States `next` if enough samples were read since the last time.
    #[inline]
    pub fn state_when_due(&mut self, waiters: &impl MemoryMut, next: u64) {
        if next.wrapping_sub(self.stated) >= self.every {
            self.state(waiters, next);
        }
    }

    /// States `next` unless it was stated last.
    pub fn state_if_changed(&mut self, waiters: &impl MemoryMut, next: u64) {
        if next != self.stated {
            self.state(waiters, next);
        }
    }

    /// Withdraws the position: the writer no longer waits for this reader.
    pub fn withdraw(&self, waiters: &impl MemoryMut) {
        waiters.store(self.word, UNSTATED);
    }
}

/// Marks a place as used. A reader does so before it states its first position there.
pub fn mark_used(waiters: &impl Sleep, place: u32) {
    waiters.set_bits(POSITIONS_USED, 1 << (place / PLACES_PER_BIT));
}

/// Returns the places where readers have stated positions so far, and their neighbours.
pub fn used_places<M: Memory>(waiters: &M) -> impl Iterator<Item = u32> + use<M> {
    let used = waiters.load(POSITIONS_USED);
    let bits = (0..u64::BITS).filter(move |bit| used >> bit & 1 != 0);
    bits.flat_map(|bit| bit * PLACES_PER_BIT..(bit + 1) * PLACES_PER_BIT)
}

/// Returns the offset in the waiters file of the word of the reader with byte `place`.
pub fn offset(place: u32) -> u64 {
    ((POSITIONS + place as usize) * WORD_BYTES) as u64
}

/// Returns the position that the reader with byte `place` states. The caller must check that the byte is still locked.
pub fn stated(waiters: &impl Memory, place: u32) -> Option<u64> {
    let word = waiters.load(POSITIONS + place as usize);
    waiters.acquire();
    word.checked_sub(1)
}

/// Returns the sequence number below which a writer may publish without looking at positions again. `slowest` is the
/// position of the slowest reader, at most `next`.
///
/// A reader that attaches later starts at most half a ring back. The limit is therefore never more than a quarter of a
/// ring ahead, so that such a reader keeps a quarter.
pub fn limit(geometry: &Geometry, slowest: u64, next: u64) -> u64 {
    let soon = next + (geometry.slots / (PER_RING / 2)).max(1);
    soon.min(slowest.saturating_add(geometry.slots))
}

#[cfg(test)]
mod tests {
    use super::{Memory, MemoryMut, Position, stated};
    use crate::layout::Geometry;
    use std::cell::Cell;

    /// The word of the reader's position, and the number of stores to it.
    #[derive(Default)]
    struct Word(Cell<u64>, Cell<u64>);

    impl Memory for Word {
        fn load(&self, _index: usize) -> u64 {
            self.0.get()
        }
    }

    impl MemoryMut for Word {
        fn store(&self, _index: usize, value: u64) {
            self.0.set(value);
            self.1.set(self.1.get() + 1);
        }
    }

    #[test]
    fn a_reader_states_its_position_eight_times_per_ring() {
        let geometry = Geometry::new(8, 64, 0, 1).unwrap();
        let waiters = Word::default();
        let mut position = Position::new(&waiters, &geometry, 0, 0);
        for next in 1..=640 {
            position.state_when_due(&waiters, next);
            let stated = stated(&waiters, 0).unwrap();
            assert!(stated <= next && next - stated < 8, "{stated} of {next}");
        }
        assert_eq!(waiters.1.get(), 81, "at the start, and eight times in each of ten rings");
    }
}
