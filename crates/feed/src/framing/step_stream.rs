//! FIXT messages in a byte stream that is cut anywhere.

use super::error::{FramingError, FramingErrorKind};
use super::step::{FIXT_START, FieldWalk, PacketBlock};

/// Bytes of a stream that are not split yet.
#[derive(Debug)]
pub(super) struct StepStream {
    held: Vec<u8>,
    walk: FieldWalk,
    /// Offset of `held` in the stream.
    base: usize,
    /// True if the start of a message must be found first.
    seeking: bool,
}

impl StepStream {
    pub(super) fn new() -> Self {
        Self { held: Vec::new(), walk: FieldWalk::default(), base: 0, seeking: true }
    }

    /// Returns the bytes that the ranges of blocks point into.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held
    }

    /// Returns how many bytes of an incomplete message are held.
    pub(super) fn waiting_bytes(&self) -> usize {
        if self.seeking { 0 } else { self.held.len() - self.walk.offset }
    }

    /// Returns the offset in the stream of the first of [`bytes`](Self::bytes).
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// Drops the held bytes, and looks for the start of a message in the next ones.
    pub(super) fn clear(&mut self) {
        self.release(self.held.len());
        self.seeking = true;
    }

    /// Appends a piece, and drops the blocks returned before.
    pub(super) fn append(&mut self, piece: &[u8]) {
        self.release(self.walk.offset);
        self.held.extend_from_slice(piece);
    }

    /// Returns the next block, or `None` if it needs more bytes. An incomplete message is held up
    /// to `len_max` bytes.
    pub(super) fn next_block(
        &mut self,
        len_max: usize,
    ) -> Option<Result<PacketBlock, FramingError>> {
        if self.seeking && !self.seek() {
            return None;
        }
        loop {
            let offset = self.walk.offset;
            let kind = match self.walk.read_field(&self.held) {
                Ok(None) => continue,
                Ok(Some(block)) => return Some(Ok(block)),
                Err(FramingErrorKind::FixtTruncated) if self.held.len() - offset <= len_max => {
                    return None;
                }
                Err(FramingErrorKind::FixtTruncated) => {
                    FramingErrorKind::MessageTooLong { len_max }
                }
                Err(kind) => kind,
            };
            let error = FramingError { offset: self.base + offset, kind };
            self.walk = FieldWalk::starting_at(offset + 1);
            self.seeking = true;
            return Some(Err(error));
        }
    }

    /// Moves to the start of a message; `false` if the held bytes contain none.
    fn seek(&mut self) -> bool {
        let from = self.walk.offset;
        let rest = self.held.get(from..).unwrap_or_default();
        let found = rest.windows(FIXT_START.len()).position(|window| window == FIXT_START);
        let skipped = found.unwrap_or(rest.len().saturating_sub(FIXT_START.len() - 1));
        self.walk = FieldWalk::starting_at(from + skipped);
        self.seeking = found.is_none();
        found.is_some()
    }

    /// Drops the first `len` held bytes.
    fn release(&mut self, len: usize) {
        self.held.drain(..len.min(self.held.len()));
        self.base = self.base.wrapping_add(len);
        self.walk.offset = self.walk.offset.saturating_sub(len);
    }
}
