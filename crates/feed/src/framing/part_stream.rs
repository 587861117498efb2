//! Packets in a byte stream that is cut anywhere, found by the lengths in their preambles.

use super::error::{FramingError, FramingErrorKind};
use super::{Framing, NumberField};
use std::ops::Range;

/// What of a stream is not split yet.
#[derive(Debug, Default)]
pub(super) struct PartStream {
    held: Vec<u8>,
    /// Bytes held that were split.
    split: usize,
    /// Offset of `held` in the stream.
    base: usize,
    /// Whether nothing tells where the next preamble begins.
    is_lost: bool,
}

impl PartStream {
    /// Appends a piece; what was split before is gone.
    pub(super) fn append(&mut self, piece: &[u8]) {
        self.held.drain(..self.split);
        self.base = self.base.wrapping_add(std::mem::take(&mut self.split));
        if !self.is_lost {
            self.held.extend_from_slice(piece);
        }
    }

    /// Returns the range of the next whole packet in [`bytes`](Self::bytes), its preamble included.
    ///
    /// # Errors
    /// [`FramingErrorKind::PacketTooLong`] above `len_max` bytes: the rest of the stream is lost.
    pub(super) fn next_packet(
        &mut self,
        framing: &Framing,
        length: NumberField,
        len_max: usize,
    ) -> Result<Option<Range<usize>>, FramingError> {
        let start = self.split;
        let rest = self.held.get(start..).unwrap_or_default();
        let Some((preamble, rest)) = rest.split_at_checked(framing.preamble_bytes()) else {
            return Ok(None);
        };
        let len = length.number_in(preamble).unwrap_or_default();
        if len > len_max as u64 {
            let offset = self.base.wrapping_add(start);
            self.lose();
            return Err(FramingError {
                offset,
                kind: FramingErrorKind::PacketTooLong { len, len_max },
            });
        }
        if len > rest.len() as u64 {
            return Ok(None);
        }
        self.split = start + preamble.len() + len as usize;
        Ok(Some(start..self.split))
    }

    /// Takes out the bytes held, for [`restore`](Self::restore) to put back.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Puts back what was taken.
    pub(super) fn restore(&mut self, held: Vec<u8>) {
        self.held = held;
    }

    /// Forgets what is not split, and all that comes.
    pub(super) fn lose(&mut self) {
        self.held.truncate(self.split);
        self.is_lost = true;
    }

    /// Whether nothing more is found.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What was split last stands at its start.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held
    }

    /// Offset in the stream of the first of [`bytes`](Self::bytes), until the place is lost.
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// Bytes that wait for more.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.held.len() - self.split
    }
}
