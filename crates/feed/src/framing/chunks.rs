//! Messages reassembled from chunks.

use super::error::FramingErrorKind;

/// One chunk of a message: `number` of `count`, from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageChunk<'a> {
    pub(super) seq_num: Option<u64>,
    pub(super) count: u64,
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    /// Length in the preamble, if it is not that of `bytes`: then it is the length of the whole
    /// message.
    pub(super) message_bytes: Option<u64>,
}

impl MessageChunk<'_> {
    /// Checks the numbers of the chunk.
    pub(super) const fn check(&self) -> Result<(), FramingErrorKind> {
        let Self { number, count, .. } = *self;
        if number == 0 || number > count {
            return Err(FramingErrorKind::ChunkNumber { number, count });
        }
        Ok(())
    }
}

/// A message of which some chunks have arrived.
#[derive(Debug)]
struct ChunkProgress {
    seq_num: Option<u64>,
    count: u64,
    arrived: u64,
}

/// Reassembles one message at a time; chunks arrive in order.
#[derive(Debug, Default)]
pub(super) struct ChunkAssembly {
    begun: Option<ChunkProgress>,
    bytes: Vec<u8>,
    /// Sequence number of the message completed last: a repeated chunk of it is not new.
    completed: Option<u64>,
}

impl ChunkAssembly {
    /// Abandons the current message unless `next` may continue it; returns the lost message.
    /// Without sequence numbers, a first chunk begins another message.
    pub(super) fn abandon_unless_continued(
        &mut self,
        next: Option<&MessageChunk<'_>>,
    ) -> Result<(), FramingErrorKind> {
        let abandoned = self.begun.take_if(|begun| {
            !next.is_some_and(|chunk| {
                begun.seq_num == chunk.seq_num && (chunk.seq_num.is_some() || chunk.number != 1)
            })
        });
        match abandoned {
            Some(ChunkProgress { arrived, count, .. }) => {
                Err(FramingErrorKind::ChunksMissing { arrived, count })
            }
            None => Ok(()),
        }
    }

    /// Adds a chunk. Returns the message's bytes if it was the last one; the next chunk overwrites
    /// them.
    pub(super) fn add(
        &mut self,
        chunk: &MessageChunk<'_>,
        len_max: usize,
    ) -> Result<Option<&[u8]>, FramingErrorKind> {
        let MessageChunk { seq_num, count, number, .. } = *chunk;
        let arrived = match &self.begun {
            Some(begun) => begun.arrived,
            None if number == 1 => {
                self.bytes.clear();
                0
            }
            None if seq_num.is_some() && seq_num == self.completed => return Ok(None),
            None => return Err(FramingErrorKind::ChunkUnexpected { number, count }),
        };
        if number <= arrived {
            return Ok(None);
        }
        let same_count = self.begun.as_ref().is_none_or(|begun| begun.count == count);
        if number > arrived + 1 || !same_count {
            self.begun = None;
            return Err(FramingErrorKind::ChunkUnexpected { number, count });
        }
        if self.bytes.len() + chunk.bytes.len() > len_max {
            self.begun = None;
            return Err(FramingErrorKind::MessageTooLong { len_max });
        }
        self.bytes.extend_from_slice(chunk.bytes);
        self.begun = Some(ChunkProgress { seq_num, count, arrived: number });
        if number < count {
            return Ok(None);
        }
        self.begun = None;
        self.completed = seq_num;
        let found = self.bytes.len();
        match chunk.message_bytes {
            Some(len) if len != found as u64 => Err(FramingErrorKind::Length { len, found }),
            _ => Ok(Some(&self.bytes)),
        }
    }

    /// Drops the incomplete message.
    pub(super) fn clear(&mut self) {
        self.begun = None;
        self.completed = None;
    }
}
