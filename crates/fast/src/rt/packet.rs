//! Packets, and the readable bytes after them.

use super::cursor::BYTES_MIN;

/// A packet in a buffer with more bytes after it: a slot of a receive ring, a capture file.
///
/// If the bytes after a packet are readable, a decoder needs no special case near its end. Their
/// values do not matter: they are never used as data.
#[derive(Clone, Copy, Debug)]
pub struct BufferedPacket<'b> {
    buffer: &'b [u8],
    len: usize,
}

impl<'b> BufferedPacket<'b> {
    /// Creates a packet from the first `len` bytes of a buffer, or all of it if it is shorter.
    #[inline]
    pub fn new(buffer: &'b [u8], len: usize) -> Self {
        let len = len.min(buffer.len());
        // Bounds the search for the end of a field: the buffer may be a whole file.
        Self { buffer: buffer.get(..len + BEHIND_MAX).unwrap_or(buffer), len }
    }

    /// Returns the bytes of the packet.
    #[inline]
    pub fn bytes(&self) -> &'b [u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// Returns the length of the packet in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the packet is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the packet without its first `count` bytes.
    #[inline]
    #[must_use]
    pub fn behind(&self, count: usize) -> Self {
        if count > self.len {
            return Self::empty();
        }
        let Some(buffer) = self.buffer.get(count..) else { return Self::empty() };
        Self { buffer, len: self.len - count }
    }

    #[cold]
    #[inline(never)]
    fn empty() -> Self {
        Self { buffer: &[], len: 0 }
    }

    #[inline(always)]
    pub(crate) fn buffer(&self) -> &'b [u8] {
        self.buffer
    }
}

/// A packet without readable bytes after it.
impl<'b> From<&'b [u8]> for BufferedPacket<'b> {
    #[inline]
    fn from(bytes: &'b [u8]) -> Self {
        Self { buffer: bytes, len: bytes.len() }
    }
}

/// Bytes after a packet that are kept readable: more than any decoder reads ahead.
const BEHIND_MAX: usize = 1024;
/// Shorter packets are copied to a buffer where more bytes follow.
pub(super) const PADDED_LEN: usize = 256;
const ROOM: usize = PADDED_LEN + BYTES_MIN;

/// Buffer for a short packet, with as many bytes after it as a read may access.
#[derive(Clone, Debug)]
pub(super) struct PaddedPacket([u8; ROOM]);

impl Default for PaddedPacket {
    fn default() -> Self {
        Self([0; ROOM])
    }
}

impl PaddedPacket {
    /// Returns a copy of the bytes, at most `PADDED_LEN`, followed by other bytes.
    #[inline(always)]
    pub(super) fn copy(&mut self, bytes: &[u8]) -> &[u8] {
        match bytes.len() {
            16..32 => copy_ends::<16>(&mut self.0, bytes),
            32..64 => copy_ends::<32>(&mut self.0, bytes),
            64..128 => copy_ends::<64>(&mut self.0, bytes),
            128..256 => copy_ends::<128>(&mut self.0, bytes),
            len => {
                if let Some(room) = self.0.get_mut(..len) {
                    room.copy_from_slice(bytes);
                }
            }
        }
        &self.0
    }
}

/// Copies the first and the last `LEN` bytes, which may overlap, to the front of a slice that is at least
/// as long.
#[inline(always)]
pub(crate) fn copy_ends<const LEN: usize>(to: &mut [u8], from: &[u8]) {
    let behind = from.len().saturating_sub(LEN);
    if let (Some(first), Some(last)) = (from.first_chunk::<LEN>(), from.last_chunk::<LEN>())
        && let Some(room) = to.first_chunk_mut()
    {
        *room = *first;
        if let Some(room) = to.get_mut(behind..).and_then(|room| room.first_chunk_mut()) {
            *room = *last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_the_front_of_its_buffer() {
        let buffer = [1, 2, 3, 4, 5];
        let packet = BufferedPacket::new(&buffer, 3);
        assert_eq!((packet.bytes(), packet.len(), packet.is_empty()), (&buffer[..3], 3, false));
        let rest = packet.behind(2);
        assert_eq!((rest.bytes(), rest.buffer()), (&buffer[2..3], &buffer[2..]));
        assert!(rest.behind(9).is_empty());
        assert_eq!(BufferedPacket::new(&buffer, 9).len(), 5);
        assert_eq!(BufferedPacket::new(&buffer, usize::MAX).len(), 5);
    }

    #[test]
    fn no_more_of_the_buffer_is_looked_at_than_a_packet_needs() {
        let packet = BufferedPacket::new(&[0; 10_000], 300);
        assert_eq!((packet.len(), packet.buffer().len()), (300, 300 + BEHIND_MAX));
        // Enough readable bytes remain after the last one that nothing is copied.
        assert_eq!(packet.behind(299).buffer().len(), 1 + BEHIND_MAX);
    }

    #[test]
    fn short_packets_are_copied_whole() {
        let bytes: Vec<u8> = (0..PADDED_LEN as u32).map(|byte| byte as u8).collect();
        let mut padded = PaddedPacket::default();
        for len in 0..PADDED_LEN {
            let copy = padded.copy(&bytes[..len]);
            assert_eq!(&copy[..len], &bytes[..len]);
            assert!(copy.len() >= len + BYTES_MIN);
        }
    }
}
