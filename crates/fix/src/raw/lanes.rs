//! Numbers aligned to cache lines, so that wide loads and stores touch few lines.

use std::ops::{Deref, DerefMut};

/// Numbers per cache line.
const LINE: usize = 16;

/// A vector of numbers that begins at a cache line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes(Vec<CacheLine>);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct CacheLine([u32; LINE]);

impl Lanes {
    /// Grows to at least `len` numbers; new ones are 0.
    pub(crate) fn grow(&mut self, len: usize) {
        let len = len.div_ceil(LINE).max(self.0.len());
        self.0.resize(len, CacheLine([0; LINE]));
    }
}

impl Deref for Lanes {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        const { assert!(size_of::<CacheLine>() == size_of::<[u32; LINE]>(), "nothing between lines") };
        // SAFETY: a line is sixteen numbers, and lines are contiguous without padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE) }
    }
}

impl DerefMut for Lanes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above; the lines are borrowed exactly as their numbers are.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_where_lanes_grow_and_begin_with_a_line() {
        let mut lanes = Lanes::default();
        assert!(lanes.is_empty());
        lanes.grow(17);
        lanes[31] = 7;
        lanes.grow(1);
        lanes.grow(257);
        assert_eq!((lanes.len(), lanes[31], lanes[271]), (272, 7, 0));
        assert_eq!(lanes.as_ptr().addr() % 64, 0);
        assert_eq!(*lanes.clone(), *lanes);
    }
}
