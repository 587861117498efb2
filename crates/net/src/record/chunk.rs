//! Buffers of datagrams on their way to the writing thread.

/// Bytes of a chunk, unless one datagram needs more.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// Consecutive datagrams in one buffer.
#[derive(Debug, Default)]
pub(super) struct RecordChunk {
    bytes: Vec<u8>,
    entries: Vec<ChunkEntry>,
}

#[derive(Debug)]
struct ChunkEntry {
    line: usize,
    received_unix_ns: u64,
    /// End of the datagram in the buffer.
    end: usize,
}

/// A datagram in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recorded<'c> {
    pub(super) line: usize,
    pub(super) received_unix_ns: u64,
    pub(super) bytes: &'c [u8],
}

impl RecordChunk {
    pub(super) fn has_room(&self, len: usize) -> bool {
        let entries = self.entries.len() * size_of::<ChunkEntry>();
        entries == 0 || self.bytes.len() + entries + len <= CHUNK_BYTES
    }

    pub(super) fn push(&mut self, line: usize, received_unix_ns: u64, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.entries.push(ChunkEntry { line, received_unix_ns, end: self.bytes.len() });
    }

    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    pub(super) fn datagrams(&self) -> impl Iterator<Item = Recorded<'_>> {
        let mut begin = 0;
        self.entries.iter().map(move |entry| {
            let bytes = self.bytes.get(begin..entry.end).unwrap_or_default();
            begin = entry.end;
            Recorded { line: entry.line, received_unix_ns: entry.received_unix_ns, bytes }
        })
    }
}
