//! Where encoders write: what a vector has room for behind its bytes.
//!
//! The counterpart of reading ahead, fenced in the same way: one comparison with the fence says that a
//! piece can be written, and pieces lie one behind the other, so that all in front is initialised.

use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes that one step writes, whether or not it keeps them all.
pub(crate) const PIECE: usize = 8;

/// A message of more bytes does not make an encoder ask for as much each time.
const ROOM_MAX: usize = 1 << 20;

/// How much room an encoder asks a vector for before it writes a message.
#[derive(Clone, Debug)]
pub(crate) struct Room(usize);

/// The room of one vector; `'s` is the name of that vector, which no other has.
///
/// `at` and `fence` lie in one allocation, and from `at` up to `PIECE` bytes behind `fence` it can be
/// written. Where a [`Mark`] of this name is not behind `at`, all bytes between are initialised: the room is
/// filled from its start, and nothing but [`cut`](Self::cut), which goes back to what was written, moves `at`
/// otherwise. Or it is spent: `at` is no place and `fence` null, so that nothing is in front of it, behind a
/// mark or can be written. The fields are private and every function leaves it so.
#[derive(Debug)]
pub(crate) struct Space<'s> {
    at: NonNull<u8>,
    fence: *const u8,
    name: SpaceName<'s>,
}

/// Makes a lifetime a name: none can stand for another.
type SpaceName<'s> = PhantomData<fn(&'s ()) -> &'s ()>;

/// A place in a room that was written up to there.
#[derive(Debug)]
pub(crate) struct Mark<'s> {
    at: NonNull<u8>,
    name: SpaceName<'s>,
}

impl Room {
    /// Room for a message of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(bytes + PIECE)
    }

    /// Makes it enough for a message of `len` bytes, and some more, but not for one that is huge.
    pub(crate) fn grow(&mut self, len: usize) {
        let room = len.min(ROOM_MAX) + PIECE;
        if room > self.0 {
            self.0 = room.next_power_of_two();
        }
    }

    /// Makes it at least twice as much, within the same limit.
    pub(crate) fn enlarge(&mut self) {
        self.grow(2 * self.0);
    }

    /// Appends to `out` what `write` writes and gives back; nothing if it gives up. Returns how many
    /// bytes that is.
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
        // SAFETY: `write` can have no space of this name but what became of the one it was given. A spent one is in
        // front of `start`, so `end` is in the spare capacity of `out`, which nobody has touched
        // meanwhile. It was filled from `start` up to `end`.
        unsafe { out.set_len(out.len() + len) };
        Some(len)
    }
}

impl<'s> Space<'s> {
    /// The address of the next byte, to compare positions in one room.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.at.addr().get()
    }

    /// Lets `write` go on from here. If it gives up, this is spent.
    #[inline(always)]
    pub(crate) fn lend(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let spent = Self { at: NonNull::dangling(), fence: std::ptr::null(), name: PhantomData };
        *self = write(std::mem::replace(self, spent))?;
        Some(())
    }

    /// Writes the bytes of a word, the lowest first, and keeps all but `dropped` of them, which is less than
    /// eight. `None` if there is no room for a piece.
    #[inline(always)]
    pub(crate) fn put(&mut self, word: u64, dropped: usize) -> Option<()> {
        if self.at.as_ptr().cast_const() > self.fence {
            return None;
        }
        // SAFETY: `at` is not behind `fence`, so a piece can be written; an array of bytes has no
        // alignment. What `at` goes on by was written, and is in the room or its end.
        unsafe {
            self.at.cast::<[u8; PIECE]>().write(word.to_le_bytes());
            self.at = self.at.add(PIECE).sub(dropped % PIECE);
        }
        Some(())
    }

    /// Whether so many bytes can be written, each by any step.
    #[inline(always)]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let left = self.fence.addr().wrapping_sub(self.at.addr().get()) as isize;
        isize::try_from(bytes).is_ok_and(|bytes| left >= bytes)
    }

    /// Writes all of these bytes; `None` if there is no room for them and a piece more.
    #[inline]
    pub(crate) fn put_all(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.has_room(bytes.len()) {
            return None;
        }
        // SAFETY: so many bytes are in front of `fence`. They are in no use: whatever `bytes` is, it is
        // borrowed, and the room is not.
        unsafe {
            self.at.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            self.at = self.at.add(bytes.len());
        }
        Some(())
    }

    /// The place of the next byte; `None` if this is spent.
    #[inline(always)]
    pub(crate) fn mark(&self) -> Option<Mark<'s>> {
        (!self.fence.is_null()).then_some(Mark { at: self.at, name: PhantomData })
    }

    /// What was written behind a mark.
    #[inline]
    pub(crate) fn written(&mut self, mark: &Mark<'s>) -> &mut [u8] {
        let len = self.at.addr().get().saturating_sub(mark.at.addr().get());
        let start = if len == 0 { self.at } else { mark.at };
        // SAFETY: a mark of this name is in this room. If it is in front of `at`, all between is
        // initialised; as long as it is borrowed, so is `self`.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    /// Keeps so much of what was written behind a mark.
    #[inline]
    pub(crate) fn cut(&mut self, mark: &Mark<'s>, len: usize) {
        if len < self.at.addr().get().saturating_sub(mark.at.addr().get()) {
            // SAFETY: a mark of this name is in this room, and so is what is nearer to it than `at`.
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
        let mut room = Room::new(16);
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
        let mut room = Room::new(0);
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
        let len = Room::new(99).append(&mut out, |mut space| {
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
        Room::new(99).append(&mut out, |mut space| {
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
        let mut room = Room::new(0);
        room.grow(usize::MAX);
        room.enlarge();
        let mut out = Vec::new();
        assert_eq!(room.append(&mut out, |mut space| space.put_all(&[]).map(|()| space)), Some(0));
        assert!(out.capacity() <= 4 * ROOM_MAX);
    }
}
