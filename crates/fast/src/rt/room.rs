//! Strings of more than seven bytes, with room after them.
//!
//! Strings are copied in pieces of fixed size, without a call of `memcpy` or a branch on the length. What
//! is written next overwrites the surplus.

use super::growth::Growth;

/// Bytes of a string in the stream, at most, that is copied in a piece.
const PIECE: usize = 32;
/// Bytes of a previous value, at most, that is copied in a piece.
pub(super) const VALUE: usize = 64;
/// A string, then any bytes.
pub(super) type TextPiece = [u8; PIECE];
/// A previous value, then any bytes.
pub(super) type ValuePiece = [u8; VALUE];
/// Room for a previous value whose end a string replaces.
const ROOM: usize = VALUE + PIECE;

/// A string in two parts: the first `kept` bytes are those of `front`, the others those of `back`.
#[derive(Clone, Copy)]
struct SplicedPieces<'p> {
    front: &'p ValuePiece,
    kept: usize,
    back: &'p TextPiece,
    /// Length of the string, at most [`VALUE`].
    len: usize,
}

impl SplicedPieces<'_> {
    /// Writes the string without its stop bit; `None` if it is too long.
    #[inline(always)]
    fn write(self, room: &mut [u8; ROOM]) -> Option<()> {
        *room.first_chunk_mut()? = *self.front;
        *room.get_mut(self.kept..)?.first_chunk_mut()? = *self.back;
        clear_stop_bit(room, self.len);
        Some(())
    }
}

/// Clears the stop bit of a string's last byte.
#[inline(always)]
fn clear_stop_bit(string: &mut [u8], len: usize) {
    if let Some(last) = string.get_mut(len.wrapping_sub(1)) {
        *last &= 0x7f;
    }
}

/// The strings of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct TextArena {
    /// The strings, then any bytes: at most `u32::MAX`.
    bytes: Vec<u8>,
    /// Length of the strings.
    len: usize,
}

impl TextArena {
    /// Returns where the next string starts.
    #[inline(always)]
    pub(super) fn end(&self) -> u32 {
        self.len as u32
    }

    /// Removes all strings.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the strings.
    #[inline(always)]
    pub(super) fn strings(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Returns the allocated bytes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Moves the strings to a message, with the room after them, and takes the buffer of its
    /// previous ones.
    #[inline(always)]
    pub(super) fn move_to(&mut self, message: &mut Vec<u8>) {
        std::mem::swap(&mut self.bytes, message);
        self.len = 0;
    }

    /// Returns the bytes from `start` on; `None` if fewer than [`VALUE`] are left.
    #[inline(always)]
    pub(super) fn value(&self, start: usize) -> Option<&ValuePiece> {
        self.bytes.get(start..)?.first_chunk()
    }

    /// Appends a string of `len` bytes, at most [`PIECE`], without its stop bit. `None`, without
    /// changes, if there is no room.
    #[inline(always)]
    pub(super) fn push_piece(&mut self, piece: &TextPiece, len: usize) -> Option<()> {
        let room = self.room()?;
        *room.first_chunk_mut()? = *piece;
        clear_stop_bit(room, len);
        self.len += len;
        Some(())
    }

    /// As [`push_piece`](Self::push_piece), for a previous value of at most [`VALUE`] bytes.
    #[inline(always)]
    pub(super) fn push_value(&mut self, value: &ValuePiece, len: usize) -> Option<()> {
        *self.room()?.first_chunk_mut()? = *value;
        self.len += len;
        Some(())
    }

    /// Appends a string in two parts, as [`push_piece`](Self::push_piece).
    #[inline(always)]
    fn push_spliced(&mut self, pieces: SplicedPieces<'_>) -> Option<()> {
        pieces.write(self.room()?)?;
        self.len += pieces.len;
        Some(())
    }

    #[inline(always)]
    fn room(&mut self) -> Option<&mut [u8; ROOM]> {
        self.bytes.get_mut(self.len..)?.first_chunk_mut()
    }

    /// Appends a string of any length, and makes room for a piece; `None` if the buffer must not
    /// grow.
    pub(super) fn push(&mut self, bytes: &[u8], growth: &mut Growth) -> Option<()> {
        let end = self.len.checked_add(bytes.len())?;
        if self.bytes.len() < end.checked_add(ROOM)? {
            self.bytes.truncate(self.len);
            growth.reserve(&mut self.bytes, bytes.len() + ROOM)?;
            let capacity = self.bytes.capacity();
            u32::try_from(capacity).ok()?;
            self.bytes.resize(capacity, 0);
        }
        self.bytes.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }

    /// Clears the stop bit of the byte at `place`.
    pub(super) fn clear_stop_bit_at(&mut self, place: usize) {
        clear_stop_bit(&mut self.bytes, place + 1);
    }
}

/// A previous value of more than seven bytes.
#[derive(Clone, Debug)]
pub(super) struct LongValue {
    /// The value, if it has at most [`VALUE`] bytes.
    room: [u8; ROOM],
    len: usize,
    /// A longer value.
    longer: Vec<u8>,
}

impl Default for LongValue {
    fn default() -> Self {
        Self { room: [0; ROOM], len: 0, longer: Vec::new() }
    }
}

impl LongValue {
    /// Returns the value.
    pub(super) fn bytes(&self) -> &[u8] {
        self.room.get(..self.len).filter(|_| self.len <= VALUE).unwrap_or(&self.longer)
    }

    /// Returns the value and its length if it has at most [`VALUE`] bytes.
    #[inline(always)]
    pub(super) fn piece(&self) -> Option<(&ValuePiece, usize)> {
        Some((self.room.first_chunk()?, self.len)).filter(|(_, len)| *len <= VALUE)
    }
}

/// A previous value of more than seven bytes, and the one before the message that changed it.
#[derive(Clone, Debug, Default)]
pub(super) struct LongValues {
    values: [LongValue; 2],
    /// True if the second value is valid, not the first.
    is_second: bool,
    /// Number of the message that changed the value.
    changed_by: u64,
}

impl LongValues {
    /// Returns the value.
    #[inline(always)]
    pub(super) fn now(&self) -> &LongValue {
        &self.values[usize::from(self.is_second)]
    }

    /// Returns the value for a change by `message`; keeps the one before the message.
    #[inline(always)]
    fn next(&mut self, message: u64) -> &mut LongValue {
        self.is_second ^= self.changed_by != message;
        self.changed_by = message;
        &mut self.values[usize::from(self.is_second)]
    }

    /// Restores the value before `message`, if that changed it.
    pub(super) fn restore(&mut self, message: u64) {
        if self.changed_by == message {
            self.is_second = !self.is_second;
            self.changed_by = 0;
        }
    }

    /// Sets the value.
    pub(super) fn set(&mut self, bytes: &[u8], message: u64) {
        let value = self.next(message);
        value.len = bytes.len();
        if let (true, Some(room)) = (bytes.len() <= VALUE, value.room.get_mut(..bytes.len())) {
            room.copy_from_slice(bytes);
        } else {
            value.longer.clear();
            value.longer.extend_from_slice(bytes);
        }
    }

    /// Sets a value of `len` bytes, at most [`VALUE`].
    #[inline(always)]
    pub(super) fn set_piece(&mut self, piece: &ValuePiece, len: usize, message: u64) {
        let value = self.next(message);
        value.len = len;
        if let Some(room) = value.room.first_chunk_mut() {
            *room = *piece;
        }
    }

    /// Keeps the first bytes of a value of at most [`VALUE`] bytes, and replaces the others by
    /// `back`: the new value has `len` bytes. Appends it to the arena, too. `None`, without changes,
    /// if there is no room.
    #[inline(always)]
    pub(super) fn splice(
        &mut self,
        kept: usize,
        back: &TextPiece,
        len: usize,
        message: u64,
        arena: &mut TextArena,
    ) -> Option<()> {
        let front = *self.now().piece()?.0;
        let pieces = SplicedPieces { front: &front, kept, back, len };
        arena.push_spliced(pieces)?;
        let value = self.next(message);
        value.len = len;
        pieces.write(&mut value.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<const LEN: usize>(text: &[u8]) -> [u8; LEN] {
        let mut piece = [b'?'; LEN];
        piece[..text.len()].copy_from_slice(text);
        piece[text.len() - 1] |= 0x80;
        piece
    }

    #[test]
    fn strings_of_an_arena_follow_each_other() {
        let (mut arena, mut growth) = (TextArena::default(), Growth::unlimited());
        assert_eq!(arena.push_piece(&piece(b"ABCDEFGH"), 8), None, "no room yet");
        arena.push(b"ABCDEFGH", &mut growth).expect("unlimited");
        for _ in 0..100 {
            if arena.push_piece(&piece(b"IJKLMNOPQ"), 9).is_none() {
                arena.push(b"IJKLMNOPQ", &mut growth).expect("unlimited");
            }
        }
        assert_eq!(arena.strings(), [&b"ABCDEFGH"[..], &b"IJKLMNOPQ".repeat(100)].concat());
        let mut message = vec![1; 9];
        arena.move_to(&mut message);
        assert_eq!((&message[..10], arena.end()), (&b"ABCDEFGHIJ"[..], 0));
        arena.push(&[b'x'; 99], &mut growth).expect("unlimited");
        assert_eq!(arena.strings(), [b'x'; 99]);
    }

    #[test]
    fn an_arena_grows_no_more_than_allowed() {
        let mut arena = TextArena::default();
        let mut growth = Growth::of(2 * ROOM);
        arena.push(&[b'x'; ROOM], &mut growth).expect("allowed");
        assert_eq!(arena.push(&[b'x'; ROOM], &mut growth), None);
        assert_eq!(arena.strings(), [b'x'; ROOM]);
    }

    #[test]
    fn a_value_is_restored_after_any_number_of_changes() {
        let (mut values, mut arena) = (LongValues::default(), TextArena::default());
        arena.push(b"", &mut Growth::unlimited()).expect("unlimited");
        let long = [b'L'; VALUE + 1];
        values.set(b"previous", 1);
        for changes in 0..4 {
            let changed = [&long[..], b"previZZZ", b"piecemeal"];
            for now in &changed[..changes] {
                match now.len() {
                    65 => values.set(now, 2),
                    9 => values.set_piece(&piece(b"piecemeal"), 9, 2),
                    _ if values.now().piece().is_none() => values.set(now, 2),
                    _ => values.splice(5, &piece(b"ZZZ"), 8, 2, &mut arena).expect("room"),
                }
            }
            values.restore(2);
            assert_eq!(values.now().bytes(), b"previous", "{changes} changes");
        }
        values.splice(5, &piece(b"ZZZ"), 8, 3, &mut arena).expect("room");
        assert_eq!((values.now().bytes(), arena.strings()), (&b"previZZZ"[..], &b"previZZZ"[..]));
    }
}
