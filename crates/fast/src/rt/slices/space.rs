//! Safe version of `window::space`: encoders write messages to a buffer, which is then copied.

/// Bytes written by one step, even if it keeps fewer.
pub(crate) const PIECE: usize = 8;

/// Most bytes of the buffer that are kept for later messages.
const ROOM_MAX: usize = 1 << 20;

/// Buffer in which messages are assembled.
#[derive(Clone, Debug)]
pub(crate) struct OutputRoom(Vec<u8>);

/// Position of a space that was lent and not returned.
const SPENT: usize = usize::MAX;

/// The unused rest of the buffer.
#[derive(Debug)]
pub(crate) struct Space<'s> {
    bytes: &'s mut [u8],
    at: usize,
}

/// A position up to which a buffer has been written.
#[derive(Debug)]
pub(crate) struct SpaceMark<'s> {
    at: usize,
    buffer: std::marker::PhantomData<&'s ()>,
}

impl OutputRoom {
    /// Creates a buffer for a message of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes + PIECE])
    }

    /// Grows the buffer for messages of `len` bytes plus a margin, up to the limit.
    pub(crate) fn grow(&mut self, len: usize) {
        let room = len.min(ROOM_MAX) + PIECE;
        if room > self.0.len() {
            self.0.resize(room.next_power_of_two(), 0);
        }
    }

    /// Doubles the buffer, up to the limit.
    pub(crate) fn enlarge(&mut self) {
        self.grow(2 * self.0.len());
    }

    /// Appends the bytes that `write` produces to `out` and returns their number; appends nothing
    /// if it fails.
    #[inline(always)]
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<u8>,
        write: impl for<'s> FnOnce(Space<'s>) -> Option<Space<'s>>,
    ) -> Option<usize> {
        let len = write(Space { bytes: &mut self.0, at: 0 })?.at;
        out.extend_from_slice(self.0.get(..len)?);
        Some(len)
    }
}

impl<'s> Space<'s> {
    /// Returns the address of the next byte, to compare positions in one buffer.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.at
    }

    /// Lets `write` continue from here. If it fails, the space is spent.
    #[inline(always)]
    pub(crate) fn lend(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let at = std::mem::replace(&mut self.at, SPENT);
        *self = write(Self { bytes: std::mem::take(&mut self.bytes), at })?;
        Some(())
    }

    /// Writes the bytes of a word, the lowest first, and keeps all but `dropped` (less than eight)
    /// of them. `None` if there is no room for eight bytes.
    #[inline(always)]
    pub(crate) fn put(&mut self, word: u64, dropped: usize) -> Option<()> {
        *self.bytes.get_mut(self.at..)?.first_chunk_mut()? = word.to_le_bytes();
        self.at += PIECE - dropped % PIECE;
        Some(())
    }

    /// True if steps with this many bytes in total can be written.
    #[inline(always)]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes
            .len()
            .checked_sub(self.at.saturating_add(PIECE))
            .is_some_and(|left| left >= bytes)
    }

    /// Writes all of these bytes; `None` if there is no room for them and one more step.
    #[inline]
    pub(crate) fn put_all(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.has_room(bytes.len()) {
            return None;
        }
        self.bytes.get_mut(self.at..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    /// Returns a mark of the current position; `None` if the space is spent.
    #[inline(always)]
    pub(crate) fn mark(&self) -> Option<SpaceMark<'s>> {
        (self.at != SPENT).then_some(SpaceMark { at: self.at, buffer: std::marker::PhantomData })
    }

    /// Returns the bytes written after a mark.
    #[inline]
    pub(crate) fn written(&mut self, mark: &SpaceMark<'s>) -> &mut [u8] {
        self.bytes.get_mut(mark.at..self.at).unwrap_or_default()
    }

    /// Keeps only the first `len` bytes written after a mark.
    #[inline]
    pub(crate) fn cut(&mut self, mark: &SpaceMark<'s>, len: usize) {
        self.at = self.at.min(mark.at + len);
    }
}
