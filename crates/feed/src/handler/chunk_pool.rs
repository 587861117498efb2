//! Messages reassembled from the chunks of both lines, in any order.
//!
//! Each line's framer joins the chunks that it receives in order. The pool joins chunks that only
//! both lines together have, or that one line sends out of order.

use crate::arbiter::Line;
use crate::framing::{ChunkFields, Framing, MESSAGE_BYTES_MAX_DEFAULT, NumberField};
use std::collections::VecDeque;

/// Most messages that are reassembled at the same time.
const MESSAGES_MAX: usize = 16;
/// Most chunks of a message.
const CHUNKS_MAX: u64 = 1024;

/// Chunks of both lines of one feed.
#[derive(Debug)]
pub(super) struct ChunkPool {
    fields: ChunkFields,
    seq_num: NumberField,
    length: Option<NumberField>,
    preamble_bytes: usize,
    /// Longest time between the chunks of a message, in nanoseconds: a later chunk belongs to
    /// another session.
    age_max_ns: u64,
    /// Messages in the order in which they were begun.
    messages: VecDeque<PartialMessage>,
    joined: Vec<u8>,
}

/// Origin of chunks; only chunks of one origin are joined. An origin is one epoch, and all lines
/// that agree; a line that does not agree is its own origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkOrigin {
    pub(super) epoch: u64,
    /// `None` for lines that agree.
    pub(super) line: Option<Line>,
}

/// A message of which some chunks have arrived.
#[derive(Debug)]
struct PartialMessage {
    origin: ChunkOrigin,
    seq_num: u64,
    begun_ns: u64,
    /// Chunks by number; `None` for those that have not arrived.
    chunks: Vec<Option<Box<[u8]>>>,
    bytes: usize,
    /// True if it was returned: copies of its chunks on the other line do not start a new message.
    is_done: bool,
}

/// The only chunk of a packet.
struct PacketChunk<'a> {
    seq_num: u64,
    count: u64,
    number: u64,
    bytes: &'a [u8],
    /// Length of the whole message, if the preamble has it.
    message_bytes: Option<u64>,
}

impl ChunkPool {
    /// Returns a pool for feeds with numbered chunks; `None` for others.
    pub(super) fn of(framing: &Framing, age_max_ns: u64) -> Option<Self> {
        Some(Self {
            fields: framing.chunk_fields()?,
            seq_num: framing.seq_num_field()?,
            length: framing.length_field(),
            preamble_bytes: framing.preamble_bytes(),
            age_max_ns,
            messages: VecDeque::new(),
            joined: Vec::new(),
        })
    }

    /// Adds the chunk of a packet of this origin, if it is one. Returns the message that it
    /// completes: its number and bytes.
    pub(super) fn add(
        &mut self,
        now_ns: u64,
        origin: ChunkOrigin,
        packet: &[u8],
    ) -> Option<(u64, &[u8])> {
        let chunk = self.chunk(packet)?;
        let (age_max_ns, seq_num) = (self.age_max_ns, chunk.seq_num);
        self.messages.retain(|begun| now_ns.saturating_sub(begun.begun_ns) <= age_max_ns);
        let fits = |begun: &PartialMessage| {
            (begun.origin, begun.seq_num) == (origin, seq_num)
                && begun.chunks.len() as u64 == chunk.count
        };
        let index = match self.messages.iter().position(fits) {
            Some(index) => index,
            None => {
                if self.messages.len() == MESSAGES_MAX {
                    self.messages.pop_front();
                }
                let chunks = vec![None; chunk.count as usize];
                let (begun_ns, bytes, is_done) = (now_ns, 0, false);
                let begun = PartialMessage { origin, seq_num, begun_ns, chunks, bytes, is_done };
                self.messages.push_back(begun);
                self.messages.len() - 1
            }
        };
        let begun = self.messages.get_mut(index)?;
        let place = begun.chunks.get_mut(chunk.number as usize - 1)?;
        if begun.is_done || place.is_some() {
            return None;
        }
        begun.bytes += chunk.bytes.len();
        if begun.bytes > MESSAGE_BYTES_MAX_DEFAULT {
            self.messages.remove(index);
            return None;
        }
        *place = Some(chunk.bytes.into());
        if begun.chunks.iter().any(Option::is_none) {
            return None;
        }
        begun.is_done = true;
        self.joined.clear();
        // The bytes are no longer needed; the number is.
        for bytes in begun.chunks.iter_mut().filter_map(Option::as_mut) {
            self.joined.extend_from_slice(&std::mem::take(bytes));
        }
        let is_whole = chunk.message_bytes.is_none_or(|len| len == self.joined.len() as u64);
        is_whole.then_some((seq_num, &self.joined))
    }

    /// Returns the chunk that a packet consists of; `None` if it is a whole message, or contains
    /// more than one chunk.
    fn chunk<'p>(&self, packet: &'p [u8]) -> Option<PacketChunk<'p>> {
        let (preamble, bytes) = packet.split_at_checked(self.preamble_bytes)?;
        let (count, number) =
            (self.fields.count.number_in(preamble)?, self.fields.number.number_in(preamble)?);
        if !(2..=CHUNKS_MAX).contains(&count) || !(1..=count).contains(&number) {
            return None;
        }
        let len = self.length.and_then(|field| field.number_in(preamble));
        if len.is_some_and(|len| len < bytes.len() as u64) {
            return None;
        }
        let message_bytes = len.filter(|&len| len > bytes.len() as u64);
        let seq_num = self.seq_num.number_in(preamble)?;
        Some(PacketChunk { seq_num, count, number, bytes, message_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Preset;

    const SHARED: ChunkOrigin = ChunkOrigin { epoch: 0, line: None };

    fn packet(seq_num: u32, count: u16, number: u16, bytes: &[u8]) -> Vec<u8> {
        let len = bytes.len() as u16;
        let mut packet = seq_num.to_be_bytes().to_vec();
        packet.extend([count, number, len].into_iter().flat_map(u16::to_be_bytes));
        packet.extend(bytes);
        packet
    }

    fn pool() -> ChunkPool {
        ChunkPool::of(&Preset::B3Umdf.framing(), 1_000).unwrap()
    }

    #[test]
    fn chunks_come_in_any_order_and_twice() {
        let mut pool = pool();
        let chunks = [packet(7, 3, 1, b"ab"), packet(7, 3, 2, b"c"), packet(7, 3, 3, b"d")];
        assert_eq!(pool.add(0, SHARED, &chunks[2]), None);
        assert_eq!(pool.add(1, SHARED, &chunks[0]), None);
        assert_eq!(pool.add(2, SHARED, &chunks[0]), None);
        assert_eq!(pool.add(3, SHARED, &chunks[1]), Some((7, &b"abcd"[..])));
        for chunk in &chunks {
            assert_eq!(pool.add(4, SHARED, chunk), None, "copies of the other line");
        }
        assert_eq!(pool.add(5, SHARED, &packet(8, 1, 1, b"x")), None, "whole by itself");
    }

    #[test]
    fn a_number_that_comes_again_much_later_is_another_message() {
        let mut pool = pool();
        assert_eq!(pool.add(0, SHARED, &packet(7, 2, 1, b"old")), None);
        assert_eq!(pool.add(2_000, SHARED, &packet(7, 2, 2, b"new")), None);
        assert_eq!(pool.add(2_001, SHARED, &packet(7, 2, 1, b"anew")), Some((7, &b"anewnew"[..])));
    }

    #[test]
    fn what_is_begun_is_bounded() {
        let mut pool = pool();
        for seq_num in 0..1_000 {
            assert_eq!(pool.add(0, SHARED, &packet(seq_num, 2, 1, b"x")), None);
        }
        assert_eq!(pool.messages.len(), MESSAGES_MAX);
        assert_eq!(pool.add(0, SHARED, &packet(1, 60_000, 1, b"x")), None);
        let long = vec![0; 60_000];
        let chunks = (1..=19).map(|number| packet(5_000, 19, number, &long)).collect::<Vec<_>>();
        assert!(
            chunks.iter().all(|chunk| pool.add(0, SHARED, chunk).is_none()),
            "above the longest message"
        );
    }
}
