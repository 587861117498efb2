//! Output of encoders: the spare capacity of a vector.
//!
//! The counterpart of `window`: one comparison with the fence ensures that a piece of eight bytes
//! can be written. Pieces are written consecutively, so all bytes before the position are
//! initialized.

use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes written by one step, even if it keeps fewer.
pub(crate) const PIECE: usize = 8;

/// Most bytes reserved in advance; longer messages do not raise it.
const ROOM_MAX: usize = 1 << 20;

/// Number of bytes an encoder reserves in a vector before it writes a message.
#[derive(Clone, Debug)]
pub(crate) struct OutputRoom(usize);

/// The spare capacity of one vector. The lifetime `'s` is a unique brand of that vector.
///
/// Invariant: `at` and `fence` are in one allocation, which is writable from `at` up to `PIECE`
/// bytes after `fence`. If a [`SpaceMark`] of this brand is not after `at`, all bytes between are
/// initialized: the space is filled from its start, and only [`cut`](Self::cut) moves `at` back, to
/// bytes already written. A spent space has a dangling `at` and a null `fence`: it holds no bytes
/// and cannot be written. The fields are private, and every function preserves the invariant.
#[derive(Debug)]
pub(crate) struct Space<'s> {
    at: NonNull<u8>,
    fence: *const u8,
    name: SpaceName<'s>,
}

/// Makes a lifetime an invariant brand: no other lifetime can be substituted.
type SpaceName<'s> = PhantomData<fn(&'s ()) -> &'s ()>;

/// A position up to which a space has been written.
#[derive(Debug)]
pub(crate) struct SpaceMark<'s> {
    at: NonNull<u8>,
    name: SpaceName<'s>,
}

impl OutputRoom {
    /// Creates the size for a message of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(bytes + PIECE)
    }

    /// Grows the size for messages of `len` bytes plus a margin, up to the limit.
    pub(crate) fn grow(&mut self, len: usize) {
        let room = len.min(ROOM_MAX) + PIECE;
        if room > self.0 {
            self.0 = room.next_power_of_two();
        }
    }

    /// Doubles the size, up to the limit.
    pub(crate) fn enlarge(&mut self) {
        self.grow(2 * self.0);
    }

    /// Appends the bytes that `write` produces to `out` and returns their number; appends nothing
    /// if it fails.
    #[inline(always)]
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<u8>,
        write: impl for<'s> FnOnce(Space<'s>) -> Option<Space<'s>>,
    ) -> Option<usize> {
        out.reserve(self.0);
        let spare = out.spare_capacity_mut();
        let fence = spare.get(spare.len().checked_sub(PIECE)?..)?.as_ptr().cast();
        let start = NonNull::from(spare).cast::<u8>();
        let end = write(Space { at: start, fence, name: PhantomData })?;
        let len = end.address().checked_sub(start.addr().get())?;
        // SAFETY: because of the brand, `write` can only return a space derived from the one it was
        // given. A spent one is before `start`, which the check above rejects. So `end` is in the
        // spare capacity of `out`, which nothing else has changed, and the bytes from `start` to
        // `end` are initialized.
        unsafe { out.set_len(out.len() + len) };
        Some(len)
    }
}

impl<'s> Space<'s> {
    /// Returns the address of the next byte, to compare positions in one space.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.at.addr().get()
    }

    /// Lets `write` continue from here. If it fails, the space is spent.
    #[inline(always)]
    pub(crate) fn lend(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let spent = Self { at: NonNull::dangling(), fence: std::ptr::null(), name: PhantomData };
        *self = write(std::mem::replace(self, spent))?;
        Some(())
    }

    /// Writes the bytes of a word, the lowest first, and keeps all but `dropped` (less than eight)
    /// of them. `None` if there is no room for a piece.
    #[inline(always)]
    pub(crate) fn put(&mut self, word: u64, dropped: usize) -> Option<()> {
        if self.at.as_ptr().cast_const() > self.fence {
            return None;
        }
        // SAFETY: `at` is not past `fence`, so a piece can be written; an array of bytes needs no
        // alignment. `at` advances over written bytes and stays in the space or at its end.
        unsafe {
            self.at.cast::<[u8; PIECE]>().write(word.to_le_bytes());
            self.at = self.at.add(PIECE).sub(dropped % PIECE);
        }
        Some(())
    }

    /// True if steps with this many bytes in total can be written.
    #[inline(always)]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let left = self.fence.addr().wrapping_sub(self.at.addr().get()) as isize;
        isize::try_from(bytes).is_ok_and(|bytes| left >= bytes)
    }

    /// Writes all of these bytes; `None` if there is no room for them and one more piece.
    #[inline]
    pub(crate) fn put_all(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.has_room(bytes.len()) {
            return None;
        }
        // SAFETY: this many bytes fit before `fence`. They do not overlap `bytes`, which is
        // borrowed while the space is owned exclusively.
        unsafe {
            self.at.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            self.at = self.at.add(bytes.len());
        }
        Some(())
    }

    /// Returns a mark of the current position; `None` if the space is spent.
    #[inline(always)]
    pub(crate) fn mark(&self) -> Option<SpaceMark<'s>> {
        (!self.fence.is_null()).then_some(SpaceMark { at: self.at, name: PhantomData })
    }

    /// Returns the bytes written after a mark.
    #[inline]
    pub(crate) fn written(&mut self, mark: &SpaceMark<'s>) -> &mut [u8] {
        let len = self.at.addr().get().saturating_sub(mark.at.addr().get());
        let start = if len == 0 { self.at } else { mark.at };
        // SAFETY: a mark of this brand is in this space. If it is before `at`, all bytes between
        // are initialized; `self` stays borrowed as long as they are.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    /// Keeps only the first `len` bytes written after a mark.
    #[inline]
    pub(crate) fn cut(&mut self, mark: &SpaceMark<'s>, len: usize) {
        if len < self.at.addr().get().saturating_sub(mark.at.addr().get()) {
            // SAFETY: a mark of this brand is in this space, and so is any position between it and
            // `at`.
            self.at = unsafe { mark.at.add(len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_appended_as_they_were_put() {
        let mut out = vec![1, 2];
        let mut room = OutputRoom::new(16);
        let len = room.append(&mut out, |mut space| {
            space.put(u64::from_le_bytes(*b"abcdefgh"), 5)?;
            let mark = space.mark()?;
            space.put(u64::from_le_bytes(*b"ABCDEFGH"), 0)?;
            space.written(&mark)[7] = b'!';
            space.cut(&mark, 7);
            space.put_all(b"xyz")?;
            Some(space)
        });
        assert_eq!((len, &out[..]), (Some(13), &b"\x01\x02abcABCDEFGxyz"[..]));
    }

    #[test]
    fn nothing_is_written_behind_the_room() {
        let mut room = OutputRoom::new(0);
        for len in 0..40 {
            let mut out = Vec::with_capacity(20);
            let spare = out.capacity();
            let appended = room.append(&mut out, |mut space| {
                for _ in 0..len {
                    space.put(0x55, 7)?;
                }
                Some(space)
            });
            let fits = len == 0 || len + PIECE <= spare + 1;
            assert_eq!(appended, fits.then_some(len));
            assert_eq!(out, vec![0x55; if fits { len } else { 0 }]);
        }
        let mut out = Vec::new();
        room.grow(100);
        assert_eq!(
            room.append(&mut out, |mut space| space.put_all(&[7; 100]).map(|()| space)),
            Some(100)
        );
        assert!(
            room.append(&mut Vec::new(), |mut space| space.put_all(&[7; 9999]).map(|()| space))
                .is_none()
        );
    }

    #[test]
    fn a_mark_behind_what_is_left_has_nothing_behind_it() {
        let mut out = Vec::new();
        let len = OutputRoom::new(99).append(&mut out, |mut space| {
            let first = space.mark()?;
            space.put_all(b"abc")?;
            let second = space.mark()?;
            space.cut(&first, 1);
            assert!(space.written(&second).is_empty());
            space.cut(&second, 0);
            Some(space)
        });
        assert_eq!((len, &out[..]), (Some(1), &b"a"[..]));
    }

    #[test]
    fn a_space_that_was_lent_for_nothing_has_no_place() {
        let mut out = Vec::new();
        OutputRoom::new(99).append(&mut out, |mut space| {
            let mut kept = None;
            assert!(
                space
                    .lend(|lent| {
                        kept = Some(lent);
                        None
                    })
                    .is_none()
            );
            assert!(space.mark().is_none() && space.put(0, 0).is_none() && !space.has_room(1));
            kept
        });
        assert!(out.is_empty());
    }

    #[test]
    fn a_huge_message_is_not_what_room_is_asked_for_ever_after() {
        let mut room = OutputRoom::new(0);
        room.grow(usize::MAX);
        room.enlarge();
        let mut out = Vec::new();
        assert_eq!(room.append(&mut out, |mut space| space.put_all(&[]).map(|()| space)), Some(0));
        assert!(out.capacity() <= 4 * ROOM_MAX);
    }
}
