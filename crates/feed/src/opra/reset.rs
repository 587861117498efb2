//! The control message that resets the numbers of a line.

use tickwire_opra::{Category, Decode, Field, bottom_up};

use crate::digest::digest;

/// The category (H) and the type (K), which are adjacent, each with its stop bit.
const RESET: [u8; 2] = [b'H' | 0x80, b'K' | 0x80];
/// Number of bytes at the start of a packet that are searched: category and type lie after the
/// packet header and the presence map of the first message.
const HEAD_BYTES: usize = 64;
/// Most reset packets that are remembered.
const REMEMBERED: usize = 4;

/// State of resets.
#[derive(Debug, Default)]
pub(super) struct LineReset {
    /// Digests of the last reset packets, whatever happened to them: a copy resets nothing.
    digests: [Option<u64>; REMEMBERED],
}

/// A new reset, or a copy of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetOccurrence {
    First,
    Copy,
}

impl LineReset {
    /// Remembers a packet that begins with a reset; `None` for others.
    pub(super) fn note(
        &mut self,
        decoder: &mut bottom_up::BottomUpDecoder,
        packet: &[u8],
    ) -> Option<ResetOccurrence> {
        if !may_be_reset(packet) || !is_reset(decoder, packet) {
            return None;
        }
        let digest = Some(digest(packet));
        if self.digests.contains(&digest) {
            return Some(ResetOccurrence::Copy);
        }
        self.digests.rotate_right(1);
        self.digests[0] = digest;
        Some(ResetOccurrence::First)
    }

    /// Drops the packet remembered last, because it was not used: a copy of it then counts as the
    /// first.
    pub(super) fn forget_last(&mut self) {
        self.digests[0] = None;
        self.digests.rotate_left(1);
    }
}

/// True if a packet starts with the bytes of a reset.
#[inline]
fn may_be_reset(packet: &[u8]) -> bool {
    let is_pair = |one: u8, other: u8| u8::from((one == RESET[0]) & (other == RESET[1]));
    let head = packet.first_chunk::<HEAD_BYTES>().map_or(packet, |head| head);
    // Compares all pairs without stopping at the first match, so that the compiler vectorises the
    // loop.
    let pairs = head.iter().zip(head.get(1..).unwrap_or_default());
    pairs.fold(0, |found, (one, other)| found | is_pair(*one, *other)) != 0
}

/// True if the first message of a packet resets the sequence numbers.
fn is_reset(decoder: &mut bottom_up::BottomUpDecoder, packet: &[u8]) -> bool {
    let mut first = None;
    // Errors after the first message are reported when the packet is delivered.
    let _ = decoder.decode_packet(packet, |message| {
        let message_type = message.number(Field::MessageType);
        first.get_or_insert((message.category(), message_type));
    });
    first == Some((Category::Control, Some(u32::from(b'K'))))
}
