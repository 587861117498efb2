//! The caller's buffer, written in words.

use std::cell::Cell;
use std::marker::PhantomData;

/// Bytes that must be left in the buffer where something is written.
pub(crate) const WINDOW: usize = 32;

/// A buffer that is written by its pens at any place, and read by nobody until [`Buffer::finish`].
#[derive(Debug)]
pub(crate) struct Buffer<'b> {
    pen: Pen<'b>,
    /// Length of the buffer, below 4 GiB.
    len: u32,
}

/// What writes to a buffer: small, so that it is passed in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen<'b> {
    start: *mut u8,
    /// The first place that has less than a window before the end of the buffer, or 0.
    end: u32,
    /// Not to be shared between threads: it writes through shared references.
    buffer: PhantomData<&'b Cell<[u8]>>,
}

/// How far a buffer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// The offset of what does not fit. Nothing fits there, nor at the two below.
    pub(crate) const BEYOND: u32 = u32::MAX;
    /// The place after text that holds a delimiter.
    pub(crate) const DELIMITER: Self = Self(Self::BEYOND - 1);
    /// The place after text that is empty.
    pub(crate) const EMPTY: Self = Self(Self::BEYOND - 2);

    /// A place in the buffer.
    pub(crate) const fn new(at: u32) -> Self {
        Self(at)
    }

    /// Returns the offset that is written next.
    #[inline(always)]
    pub(crate) const fn at(self) -> u32 {
        self.0
    }

    /// The place where nothing fits: this one if it is such, with its reason.
    #[cold]
    fn beyond(self) -> Self {
        if self.0 >= Self::EMPTY.0 { self } else { Self(Self::BEYOND) }
    }
}

impl<'b> Buffer<'b> {
    /// Longest buffer used: what is longer is left alone.
    const LEN_MAX: u32 = u32::MAX - 16;

    #[inline(always)]
    pub(crate) fn new(out: &'b mut [u8]) -> Self {
        let len = u32::try_from(out.len()).unwrap_or(Self::LEN_MAX).min(Self::LEN_MAX);
        let end = len.saturating_sub(WINDOW as u32 - 1);
        Self { pen: Pen { start: out.as_mut_ptr(), end, buffer: PhantomData }, len }
    }

    /// Returns what writes to the buffer.
    #[inline(always)]
    pub(crate) const fn pen(&self) -> Pen<'_> {
        self.pen
    }

    /// Returns the bytes of the buffer.
    #[inline(always)]
    pub(crate) fn finish(self) -> &'b mut [u8] {
        // SAFETY: start and length are of the slice that `self` was made of. `self` ends here, and with it
        // every pen: each has borrowed it.
        unsafe { std::slice::from_raw_parts_mut(self.pen.start, self.len as usize) }
    }
}

impl Pen<'_> {
    /// Writes words, each so many bytes after the place, at most 24, and returns the place `step` bytes
    /// further, at most a window: the next is written over what lies beyond it.
    ///
    /// Where less than a window of the buffer is left, nothing is written, nor is anything later: the place
    /// returned is beyond every buffer.
    #[inline(always)]
    #[must_use]
    pub(crate) fn put<const N: usize>(
        self,
        place: Place,
        words: [(u32, u64); N],
        step: u32,
    ) -> Place {
        const LAST: u32 = WINDOW as u32 - 8;
        debug_assert!(step <= WINDOW as u32);
        if place.0 >= self.end {
            return place.beyond();
        }
        for (offset, word) in words {
            let at = place.0 as usize + offset.min(LAST) as usize;
            // SAFETY: the place is before `end`, so the window from there on is in the buffer, and the eight
            // bytes are in the window. The buffer is borrowed mutably for longer than `self` lives, and nobody
            // has a reference to its bytes before `finish`. The write has no alignment.
            unsafe { self.start.add(at).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        }
        // What is before `end` is far from overflow.
        Place(place.0.wrapping_add(step))
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
        let place = pen.put(Place::new(0), [(0, u64::MAX), (24, u64::MAX)], 8);
        let place = pen.put(place, [(24, u64::MAX), (99, u64::MAX)], 1);
        assert_eq!(place.at(), 9);
        let place = pen.put(place, [(0, 0)], 1);
        assert_eq!(place.at(), Place::BEYOND);
        let place = pen.put(place, [(0, 0)], 1);
        assert_eq!(place.at(), Place::BEYOND);
        assert_eq!(pen.put(Place::EMPTY, [(0, 0)], 1), Place::EMPTY);
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
            assert_eq!(buffer.pen().put(Place::new(0), [(0, 0)], 1).at(), Place::BEYOND);
            assert_eq!(buffer.finish(), vec![1; len]);
        }
    }

    #[test]
    fn what_was_written_comes_back() {
        let mut bytes = [0_u8; 40];
        let buffer = Buffer::new(&mut bytes);
        let words = [(0, u64::from_le_bytes(*b"abcdefgh")), (3, u64::from_le_bytes(*b"ijklmnop"))];
        assert_eq!(buffer.pen().put(Place::new(1), words, 5).at(), 6);
        assert_eq!(&buffer.finish()[1..12], b"abcijklmnop");
    }
}
