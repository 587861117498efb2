//! Where encoders write, as a slice: stands in for `window::space` where unsafe code is forbidden.
//! Messages are put together in a buffer and then copied.

/// Bytes that one step writes, whether or not it keeps them all.
pub(crate) const PIECE: usize = 8;

/// A message of more bytes does not make an encoder keep as much.
const ROOM_MAX: usize = 1 << 20;

/// Where messages are put together.
#[derive(Clone, Debug)]
pub(crate) struct Room(Vec<u8>);

/// The place of a space that was lent for nothing.
const SPENT: usize = usize::MAX;

/// What is left of the buffer.
#[derive(Debug)]
pub(crate) struct Space<'s> {
    bytes: &'s mut [u8],
    at: usize,
}

/// A place in a buffer that was written up to there.
#[derive(Debug)]
pub(crate) struct Mark<'s> {
    at: usize,
    buffer: std::marker::PhantomData<&'s ()>,
}

impl Room {
    /// Room for a message of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes + PIECE])
    }

    /// Makes it enough for a message of `len` bytes, and some more, but not for one that is huge.
    pub(crate) fn grow(&mut self, len: usize) {
        let room = len.min(ROOM_MAX) + PIECE;
        if room > self.0.len() {
            self.0.resize(room.next_power_of_two(), 0);
        }
    }

    /// Makes it at least twice as much, within the same limit.
    pub(crate) fn enlarge(&mut self) {
        self.grow(2 * self.0.len());
    }

    /// Appends to `out` what `write` writes and gives back; nothing if it gives up. Returns how many
    /// bytes that is.
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
    /// The address of the next byte, to compare positions in one room.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.at
    }

    /// Lets `write` go on from here. If it gives up, nothing is left.
    #[inline(always)]
    pub(crate) fn lend(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let at = std::mem::replace(&mut self.at, SPENT);
        *self = write(Self { bytes: std::mem::take(&mut self.bytes), at })?;
        Some(())
    }

    /// Writes the bytes of a word, the lowest first, and keeps all but `dropped` of them, which is less than
    /// eight. `None` if there is no room for a piece.
    #[inline(always)]
    pub(crate) fn put(&mut self, word: u64, dropped: usize) -> Option<()> {
        *self.bytes.get_mut(self.at..)?.first_chunk_mut()? = word.to_le_bytes();
        self.at += PIECE - dropped % PIECE;
        Some(())
    }

    /// Whether so many bytes can be written, each by any step.
    #[inline(always)]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes
            .len()
            .checked_sub(self.at.saturating_add(PIECE))
            .is_some_and(|left| left >= bytes)
    }

    /// Writes all of these bytes; `None` if there is no room for them and a piece more.
    #[inline]
    pub(crate) fn put_all(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.has_room(bytes.len()) {
            return None;
        }
        self.bytes.get_mut(self.at..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    /// The place of the next byte; `None` if this is spent.
    #[inline(always)]
    pub(crate) fn mark(&self) -> Option<Mark<'s>> {
        (self.at != SPENT).then_some(Mark { at: self.at, buffer: std::marker::PhantomData })
    }

    /// What was written behind a mark.
    #[inline]
    pub(crate) fn written(&mut self, mark: &Mark<'s>) -> &mut [u8] {
        self.bytes.get_mut(mark.at..self.at).unwrap_or_default()
    }

    /// Keeps so much of what was written behind a mark.
    #[inline]
    pub(crate) fn cut(&mut self, mark: &Mark<'s>, len: usize) {
        self.at = self.at.min(mark.at + len);
    }
}
