//! Safe version of `window`: the remaining bytes as a slice.

pub(crate) mod space;

/// Most bytes that one read accesses: those of the longest integer.
pub(super) const WINDOW: usize = 10;

/// The bytes from a position to the end of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'b>(&'b [u8]);

impl<'b> Ahead<'b> {
    /// Returns all bytes of a slice; `None` if it is shorter than a window.
    #[inline(always)]
    pub(super) fn of(bytes: &'b [u8]) -> Option<Self> {
        (bytes.len() >= WINDOW).then_some(Self(bytes))
    }

    /// Returns the address of the next byte, to compare positions in one slice.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Returns the bytes that one read may access; `None` if fewer are left.
    #[inline(always)]
    pub(super) fn window(self) -> Option<ByteWindow<'b>> {
        self.0.first_chunk().map(|bytes| ByteWindow { bytes, all: self.0 })
    }

    /// Returns all bytes to the end.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'b [u8] {
        self.0
    }

    /// Advances by `count` bytes; `None` if there are fewer.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }
}

/// The next bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteWindow<'b> {
    bytes: &'b [u8; WINDOW],
    all: &'b [u8],
}

impl<'b> ByteWindow<'b> {
    /// Returns the bytes.
    #[inline(always)]
    pub(super) fn bytes(self) -> &'b [u8; WINDOW] {
        self.bytes
    }

    /// Returns the first four bytes, the first at the top.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.bytes().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// Returns the rest after the first `count` bytes.
    #[inline(always)]
    pub(super) fn behind(self, count: usize) -> Ahead<'b> {
        Ahead(self.all.get(count..).unwrap_or_default())
    }
}
