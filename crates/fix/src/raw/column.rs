//! Columns of slots with presence bits: clearing resets only the bits, and reading checks them.

use std::fmt;
use std::mem::MaybeUninit;

/// Up to `N` values with a presence bit each; `WORDS` is `N / 64`, rounded up.
#[derive(Clone, Copy)]
pub(crate) struct SlotColumn<T: Copy, const N: usize, const WORDS: usize> {
    /// A slot whose bit is set has been written.
    present: [u64; WORDS],
    slots: [MaybeUninit<T>; N],
}

/// A column during a series of writes: its bits are in registers and are stored at the end.
pub(crate) struct Filling<'c, T: Copy, const N: usize, const WORDS: usize> {
    column: &'c mut SlotColumn<T, N, WORDS>,
    /// A slot whose bit is set has been written.
    present: [u64; WORDS],
}

impl<T: Copy, const N: usize, const WORDS: usize> Filling<'_, T, N, WORDS> {
    /// Writes a value. Returns true if the slot already had one. Ignores a slot that does not
    /// exist.
    #[inline(always)]
    pub(crate) const fn put(&mut self, slot: usize, value: T) -> bool {
        if slot >= N {
            return false;
        }
        let (word, bit) = (&mut self.present[slot / 64], 1 << (slot & 63));
        self.column.slots[slot] = MaybeUninit::new(value);
        let before = *word;
        *word = before | bit;
        before & bit != 0
    }

    /// Stores the presence bits.
    #[inline(always)]
    pub(crate) const fn done(self) {
        self.column.present = self.present;
    }
}

impl<T: Copy, const N: usize, const WORDS: usize> SlotColumn<T, N, WORDS> {
    /// Creates an empty column.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        const { assert!(N <= 64 * WORDS, "each slot needs a presence bit") };
        Self { present: [0; WORDS], slots: [const { MaybeUninit::uninit() }; N] }
    }

    /// Returns the value of a slot; `None` if the slot is empty.
    #[inline(always)]
    pub(crate) const fn at(&self, slot: usize) -> Option<T> {
        if slot >= N || self.present[slot / 64] >> (slot & 63) & 1 == 0 {
            return None;
        }
        // SAFETY: a bit is set only after its slot has been written, and no slot is ever unwritten.
        Some(unsafe { self.slots[slot].assume_init() })
    }

    /// Writes a value. Ignores a slot that does not exist.
    #[inline(always)]
    pub(crate) const fn set(&mut self, slot: usize, value: T) {
        if slot < N {
            self.slots[slot] = MaybeUninit::new(value);
            self.present[slot / 64] |= 1 << (slot & 63);
        }
    }

    /// Clears a slot.
    #[inline(always)]
    pub(crate) const fn remove(&mut self, slot: usize) {
        if slot < N {
            self.present[slot / 64] &= !(1 << (slot & 63));
        }
    }

    /// Clears all slots.
    #[inline(always)]
    pub(crate) const fn clear(&mut self) {
        self.present = [0; WORDS];
    }

    /// True if `mask` has a bit of a present slot of this word.
    #[inline(always)]
    pub(crate) const fn has_any(&self, word: usize, mask: u64) -> bool {
        word < WORDS && self.present[word] & mask != 0
    }

    /// Returns the presence bits.
    #[inline(always)]
    pub(crate) const fn present(&self) -> &[u64] {
        &self.present
    }

    /// Returns bits and slots for bulk writes. A bit may be set only for a slot that has been
    /// written.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) const fn parts(&mut self) -> (&mut [u64; WORDS], &mut [MaybeUninit<T>; N]) {
        (&mut self.present, &mut self.slots)
    }

    /// Begins a series of writes; existing values stay.
    #[inline(always)]
    pub(crate) const fn filling(&mut self) -> Filling<'_, T, N, WORDS> {
        let present = self.present;
        Filling { column: self, present }
    }
}

impl<T: Copy + PartialEq, const N: usize, const WORDS: usize> PartialEq
    for SlotColumn<T, N, WORDS>
{
    fn eq(&self, other: &Self) -> bool {
        self.present == other.present && (0..N).all(|slot| self.at(slot) == other.at(slot))
    }
}

impl<T: Copy + fmt::Debug, const N: usize, const WORDS: usize> fmt::Debug
    for SlotColumn<T, N, WORDS>
{
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let present = (0..N).filter_map(|slot| Some((slot, self.at(slot)?)));
        out.debug_map().entries(present).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_not_there_is_left_alone() {
        let mut column = SlotColumn::<u64, 64, 1>::new();
        column.set(63, 7);
        column.set(64, 8);
        column.remove(64);
        assert_eq!((column.at(63), column.at(64)), (Some(7), None));
        column.remove(63);
        assert_eq!(column.at(63), None);
    }

    #[test]
    fn only_what_was_written_is_there() {
        let mut column = SlotColumn::<u64, 70, 2>::new();
        assert_eq!((0..80).find_map(|slot| column.at(slot)), None);
        let mut filling = column.filling();
        assert!(!filling.put(69, 7));
        assert!(filling.put(69, 8));
        assert!(!filling.put(70, 9));
        assert!(!filling.put(640, 9));
        filling.done();
        assert_eq!(column.present(), [0, 1 << 5]);
        column.set(3, 5);
        column.set(75, 5);
        assert_eq!((column.at(69), column.at(3), column.at(70)), (Some(8), Some(5), None));
        assert!(column.has_any(1, 1 << 5) && !column.has_any(1, 1) && !column.has_any(2, u64::MAX));
        assert_eq!(format!("{column:?}"), "{3: 5, 69: 8}");
        let mut other = column;
        other.remove(3);
        assert!(column != other);
        other.set(3, 5);
        assert!(column == other);
        // Without `done` the values are not present.
        column.filling().put(4, 1);
        assert!(column == other);
        column.clear();
        assert_eq!(column.at(69), None);
    }
}
