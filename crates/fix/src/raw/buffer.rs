//! The caller's buffer, written eight bytes at a time.

use std::cell::Cell;
use std::marker::PhantomData;

/// A buffer that is written at any place, and read by nobody until [`Buffer::finish`].
#[derive(Debug)]
pub(crate) struct Buffer<'b> {
    start: *mut u8,
    /// Length of the buffer, below 4 GiB.
    len: u32,
    /// Not to be shared between threads: it is written through shared references.
    buffer: PhantomData<&'b Cell<[u8]>>,
}

/// How far a buffer is written, and the sum of what has been written: in one word, so that both go on with
/// one addition. The sum is the higher half, where what is too much is lost; only its last byte is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

/// What a place goes on by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step(u64);

impl Place {
    /// The offset of what does not fit. Nothing fits there, nor at the two below.
    pub(crate) const BEYOND: u32 = u32::MAX;
    /// The place after text that holds a delimiter.
    pub(crate) const DELIMITER: Self = Self(Self::BEYOND as u64 - 1);
    /// The place after text that is empty.
    pub(crate) const EMPTY: Self = Self(Self::BEYOND as u64 - 2);

    /// A place before which nothing counts.
    pub(crate) const fn new(at: u32) -> Self {
        Self(at as u64)
    }

    /// Returns the offset that is written next.
    #[inline(always)]
    pub(crate) const fn at(self) -> u32 {
        self.0 as u32
    }

    /// The place where nothing fits: this one if it is such, with its reason.
    #[cold]
    fn beyond(self) -> Self {
        if self.at() >= Self::EMPTY.at() { self } else { Self::new(Self::BEYOND) }
    }

    /// Returns the sum, of which the last byte is right.
    #[inline(always)]
    pub(crate) const fn sum(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Step {
    /// A step of `len` bytes whose sum is `sum`.
    #[inline(always)]
    pub(crate) const fn new(len: u32, sum: u32) -> Self {
        Self((sum as u64) << 32 | len as u64)
    }
}

impl<'b> Buffer<'b> {
    /// Longest buffer used: what is longer is left alone.
    const LEN_MAX: u32 = u32::MAX - 16;

    #[inline(always)]
    pub(crate) fn new(out: &'b mut [u8]) -> Self {
        let len = u32::try_from(out.len()).unwrap_or(Self::LEN_MAX).min(Self::LEN_MAX);
        Self { start: out.as_mut_ptr(), len, buffer: PhantomData }
    }

    /// Returns how long the buffer is.
    #[inline(always)]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Writes eight bytes, of which those of `step` count: the next are written over the rest.
    ///
    /// Where fewer than eight bytes of the buffer are left, nothing is written, nor is anything later: the
    /// place returned is beyond every buffer. A step is at most eight bytes.
    #[inline(always)]
    #[must_use]
    pub(crate) fn put(&self, place: Place, word: u64, step: Step) -> Place {
        let at = place.at();
        debug_assert!(step.0 as u32 <= 8);
        if u64::from(at) + 8 > u64::from(self.len) {
            return place.beyond();
        }
        // SAFETY: the eight bytes from `at` on are in the buffer, which is borrowed mutably for `'b`; nobody
        // has a reference to its bytes before `finish`. The write has no alignment.
        unsafe { self.start.add(at as usize).cast::<[u8; 8]>().write(word.to_le_bytes()) };
        Place(place.0.wrapping_add(step.0))
    }

    /// Returns the bytes of the buffer from `from` to `to`; `None` if they are not in it.
    #[inline(always)]
    pub(crate) fn finish(self, from: u32, to: u32) -> Option<&'b mut [u8]> {
        // SAFETY: start and length are of the slice that `self` was made of, and `self`, its only user,
        // ends here.
        let out = unsafe { std::slice::from_raw_parts_mut(self.start, self.len as usize) };
        out.get_mut(from as usize..to as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_beyond_the_buffer() {
        let mut bytes = [0_u8; 12];
        let buffer = Buffer::new(&mut bytes[..10]);
        let place = buffer.put(Place::new(0), u64::MAX, Step::new(2, 7));
        let place = buffer.put(place, u64::MAX, Step::new(8, 7));
        assert_eq!((place.at(), place.sum()), (10, 14));
        let place = buffer.put(place, 0, Step::new(1, 0));
        assert_eq!(place.at(), Place::BEYOND);
        let place = buffer.put(place, 0, Step::new(1, 0));
        assert_eq!(place.at(), Place::BEYOND);
        let _ = buffer.put(Place::new(3), 0, Step::new(1, 0));
        assert_eq!(buffer.finish(0, Place::BEYOND), None);
        assert_eq!(bytes, [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0]);
    }

    #[test]
    fn what_was_written_comes_back() {
        let mut bytes = [0_u8; 12];
        let buffer = Buffer::new(&mut bytes);
        let word = u64::from_le_bytes(*b"abcdefgh");
        let place = buffer.put(Place::new(1), word, Step::new(3, 0));
        assert_eq!((place.at(), buffer.len()), (4, 12));
        assert_eq!(buffer.finish(1, 4).as_deref(), Some(&b"abc"[..]));
    }
}
