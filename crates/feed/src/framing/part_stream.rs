//! Packets in a byte stream that is cut anywhere, found by the lengths in or before their preambles.

use super::error::{FramingError, FramingErrorKind};
use std::ops::Range;

/// Bounds of a packet, from the start of its length or preamble.
pub(super) struct PacketBounds {
    /// Bytes before it that are no part of it.
    pub skip: usize,
    /// Bytes of its preamble that the length does not count.
    pub preamble: usize,
    /// The length as sent.
    pub len: u64,
}

/// Longest FAST integer that fits 64 bits.
const INTEGER_BYTES_MAX: usize = 10;

/// Measures a packet after its length, a FAST integer; `None` if the length is incomplete. A length
/// without a stop bit counts as longer than any limit.
pub(super) fn counted(bytes: &[u8]) -> Option<PacketBounds> {
    let mut len = 0_u64;
    for (index, byte) in bytes.iter().take(INTEGER_BYTES_MAX).enumerate() {
        len = len.checked_mul(128).map_or(u64::MAX, |len| len | u64::from(byte & 0x7f));
        if byte & 0x80 != 0 {
            return Some(PacketBounds { skip: index + 1, preamble: 0, len });
        }
    }
    let endless = PacketBounds { skip: INTEGER_BYTES_MAX, preamble: 0, len: u64::MAX };
    (bytes.len() >= INTEGER_BYTES_MAX).then_some(endless)
}

/// Bytes of a stream that are not split yet.
#[derive(Debug, Default)]
pub(super) struct PartStream {
    held: Vec<u8>,
    /// Held bytes that were already split.
    split: usize,
    /// Offset of `held` in the stream.
    base: usize,
    /// True if the position of the next preamble is unknown.
    is_lost: bool,
}

impl PartStream {
    /// Appends a piece, and drops the bytes that were split.
    pub(super) fn append(&mut self, piece: &[u8]) {
        self.held.drain(..self.split);
        self.base = self.base.wrapping_add(std::mem::take(&mut self.split));
        if !self.is_lost {
            self.held.extend_from_slice(piece);
        }
    }

    /// Returns the range of the next complete packet in [`bytes`](Self::bytes), preamble included.
    /// `measure` examines the bytes from the start of the packet, and returns `None` if it needs
    /// more.
    ///
    /// # Errors
    /// [`FramingErrorKind::PacketTooLong`] above `len_max` bytes; the rest of the stream is lost.
    pub(super) fn next_packet(
        &mut self,
        measure: impl Fn(&[u8]) -> Option<PacketBounds>,
        len_max: usize,
    ) -> Result<Option<Range<usize>>, FramingError> {
        let start = self.split;
        let rest = self.held.get(start..).unwrap_or_default();
        let Some(PacketBounds { skip, preamble, len }) = measure(rest) else { return Ok(None) };
        if len > len_max as u64 {
            let offset = self.base.wrapping_add(start);
            self.lose();
            return Err(FramingError {
                offset,
                kind: FramingErrorKind::PacketTooLong { len, len_max },
            });
        }
        let end = skip + preamble + len as usize;
        if end > rest.len() {
            return Ok(None);
        }
        self.split = start + end;
        Ok(Some(start + skip..self.split))
    }

    /// Takes the held bytes out; [`restore`](Self::restore) puts them back.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Puts back the bytes of [`take`](Self::take).
    pub(super) fn restore(&mut self, held: Vec<u8>) {
        self.held = held;
    }

    /// Drops the held bytes and all later ones.
    pub(super) fn lose(&mut self) {
        self.held.truncate(self.split);
        self.is_lost = true;
    }

    /// True if no further packet can be found.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the held bytes, beginning with the part that was split last.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held
    }

    /// Returns the offset in the stream of the first of [`bytes`](Self::bytes). Invalid once the
    /// position is lost.
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// Returns how many bytes wait for more.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.held.len() - self.split
    }
}
