//! The caller's buffer, written in words.

use std::cell::Cell;
use std::marker::PhantomData;

use super::sum::sum_of_windows;

/// Bytes that must be left in the buffer at every write.
pub(crate) const WINDOW: usize = 32;

/// A buffer that its pens write at any offset; it is not read before [`Buffer::finish`].
#[derive(Debug)]
pub(crate) struct Buffer<'b> {
    pen: Pen<'b>,
    len: usize,
}

/// Writes to a buffer. It is small enough to be passed in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen<'b> {
    start: *mut u8,
    /// The first place with less than a window before the end of the buffer, or 0.
    end: usize,
    /// Not `Send` or `Sync`: it writes through shared references.
    buffer: PhantomData<&'b Cell<[u8]>>,
}

/// An offset in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferOffset(usize);

impl BufferOffset {
    /// Creates a place.
    pub(crate) const fn new(at: usize) -> Self {
        Self(at)
    }

    /// Returns the offset of the next write.
    #[inline(always)]
    pub(crate) const fn at(self) -> usize {
        self.0
    }
}

impl<'b> Buffer<'b> {
    #[inline(always)]
    pub(crate) fn new(out: &'b mut [u8]) -> Self {
        let (start, len) = (out.as_mut_ptr(), out.len());
        let end = len.saturating_sub(WINDOW - 1);
        Self { pen: Pen { start, end, buffer: PhantomData }, len }
    }

    /// Returns a pen, through which the buffer is written. Copies of it write to the same buffer.
    #[inline(always)]
    pub(crate) const fn pen(&self) -> Pen<'_> {
        self.pen
    }

    /// Returns the lowest byte of the sum of all bytes from `start` to the end of the last window:
    /// whole windows are summed, so bytes after `place` count too. `None` if the place is before
    /// `start`, or less than a window is left there.
    #[inline(always)]
    pub(crate) fn sum(&self, start: usize, place: BufferOffset) -> Option<u8> {
        let len = place.0.checked_sub(start)?;
        if !self.pen.has_room(place) {
            return None;
        }
        // SAFETY: the windows begin in the buffer, and the last one ends less than a window after
        // the place, where a window is left. Nothing is written while the slice exists: it does not
        // leave this function, and pens stay on one thread.
        let windows = unsafe {
            let windows = self.pen.start.add(start).cast::<[u8; WINDOW]>();
            std::slice::from_raw_parts(windows, len.div_ceil(WINDOW))
        };
        Some(sum_of_windows(windows))
    }

    /// Returns the bytes of the buffer.
    #[inline(always)]
    pub(crate) fn finish(self) -> &'b mut [u8] {
        // SAFETY: start and length come from the slice from which `self` was created. `self` is consumed here, and every pen
        // borrows it, so no pen can write any more.
        unsafe { std::slice::from_raw_parts_mut(self.pen.start, self.len) }
    }
}

impl Pen<'_> {
    /// True if a window of the buffer is left at a place.
    #[inline(always)]
    pub(crate) const fn has_room(self, place: BufferOffset) -> bool {
        place.0 < self.end
    }

    /// Writes words, each at its offset from the place, at most 24. Returns the place `step` bytes
    /// further, at most a window; the next write overwrites the excess bytes.
    ///
    /// If less than a window of the buffer is left, nothing is written now or later: the place
    /// stays.
    #[inline(always)]
    #[must_use]
    pub(crate) fn put<const N: usize>(
        self,
        place: BufferOffset,
        words: [(usize, u64); N],
        step: usize,
    ) -> BufferOffset {
        const LAST: usize = WINDOW - 8;
        debug_assert!(step <= WINDOW);
        if !self.has_room(place) {
            return place;
        }
        for (offset, word) in words {
            let at = place.0 + offset.min(LAST);
            // SAFETY: the place is before `end`, so the window from there on is in the buffer, and
            // the eight bytes are in the window. The buffer is mutably borrowed for longer than
            // `self` lives, and nobody has a reference to its bytes before `finish`. The write has
            // no alignment.
            unsafe { self.start.add(at).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        }
        // A place before `end` is far from overflow.
        BufferOffset(place.0.wrapping_add(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_beyond_the_buffer() {
        let mut bytes = [0_u8; 42];
        let buffer = Buffer::new(&mut bytes[..40]);
        let pen = buffer.pen();
        let place = pen.put(BufferOffset::new(0), [(0, u64::MAX), (24, u64::MAX)], 8);
        let place = pen.put(place, [(24, u64::MAX), (99, u64::MAX)], 1);
        assert_eq!(place.at(), 9);
        for _ in 0..3 {
            assert!(!pen.has_room(place));
            assert_eq!(pen.put(place, [(0, 0)], 1), place);
        }
        assert!(pen.has_room(BufferOffset::new(8)));
        assert_eq!(buffer.finish().len(), 40);
        let mut expected = [0; 42];
        expected[..8].fill(255);
        expected[24..40].fill(255);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn nothing_fits_in_less_than_a_window() {
        for len in 0..WINDOW {
            let mut bytes = vec![1; len];
            let buffer = Buffer::new(&mut bytes);
            assert_eq!(buffer.pen().put(BufferOffset::new(0), [(0, 0)], 1).at(), 0);
            assert_eq!(buffer.finish(), vec![1; len]);
        }
    }

    #[test]
    fn windows_are_summed_to_the_end_of_the_last() {
        let mut bytes: Vec<u8> = (0..200).collect();
        let expected = bytes.clone();
        let buffer = Buffer::new(&mut bytes);
        for start in 0..200_usize {
            for end in 0..=200_usize {
                let to = start + (end.max(start) - start).div_ceil(WINDOW) * WINDOW;
                let sum = expected.get(start..to).filter(|_| start <= end && end <= 200 - WINDOW);
                let sum =
                    sum.map(|bytes| bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
                assert_eq!(buffer.sum(start, BufferOffset::new(end)), sum, "{start} to {end}");
            }
        }
    }

    #[test]
    fn what_was_written_comes_back() {
        let mut bytes = [0_u8; 40];
        let buffer = Buffer::new(&mut bytes);
        let words = [(0, u64::from_le_bytes(*b"abcdefgh")), (3, u64::from_le_bytes(*b"ijklmnop"))];
        assert_eq!(buffer.pen().put(BufferOffset::new(1), words, 5).at(), 6);
        assert_eq!(&buffer.finish()[1..12], b"abcijklmnop");
    }
}
