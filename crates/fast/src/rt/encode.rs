//! Writes the wire types for generated encoders.

/// Where a generated encoder writes: a buffer, and whether it was too small.
#[derive(Debug)]
pub struct Output<'o> {
    bytes: &'o mut [u8],
    pos: usize,
    is_full: bool,
}

impl<'o> Output<'o> {
    pub(super) fn new(bytes: &'o mut [u8]) -> Self {
        Self { bytes, pos: 0, is_full: false }
    }

    /// What was written.
    pub(super) fn written(&self) -> &[u8] {
        self.bytes.get(..self.pos).unwrap_or_default()
    }

    /// Whether the buffer was too small.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }
}
