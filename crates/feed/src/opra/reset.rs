//! The control message that resets the numbers of a line.

use rapidhash::v3::rapidhash_v3;
use tickwire_opra::{Category, Decode, Field, bottom_up};

/// The category (H) and the type (K) as they stand side by side, each with its stop bit.
const RESET: [u8; 2] = [b'H' | 0x80, b'K' | 0x80];
/// In how many bytes of a packet they are looked for: behind its header and the presence map of its first message.
const HEAD_BYTES: usize = 64;
/// How many such packets are remembered.
const REMEMBERED: usize = 4;

/// State of resets.
#[derive(Debug, Default)]
pub(super) struct LineReset {
    /// Digests of the last such packets, whatever became of them: a copy resets nothing.
    digests: [Option<u64>; REMEMBERED],
}

/// A new reset, or a copy of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    First,
    Copy,
}

impl LineReset {
    /// Remembers a packet that begins with a reset; `None` for others.
    pub(super) fn note(&mut self, decoder: &mut bottom_up::Decoder, packet: &[u8]) -> Option<Seen> {
        if !may_be_reset(packet) || !is_reset(decoder, packet) {
            return None;
        }
        let digest = Some(rapidhash_v3(packet));
        if self.digests.contains(&digest) {
            return Some(Seen::Copy);
        }
        self.digests.rotate_right(1);
        self.digests[0] = digest;
        Some(Seen::First)
    }

    /// Forgets the packet remembered last, which was not used: a copy of it is the first one then.
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
    // All pairs, and not only up to the first that is one: so they are compared many at a time.
    let pairs = head.iter().zip(head.get(1..).unwrap_or_default());
    pairs.fold(0, |found, (one, other)| found | is_pair(*one, *other)) != 0
}

/// True if the first message of a packet resets the sequence numbers.
fn is_reset(decoder: &mut bottom_up::Decoder, packet: &[u8]) -> bool {
    let mut first = None;
    // An error behind the first message is for the delivery of the packet to tell.
    let _ = decoder.decode_packet(packet, |message| {
        let message_type = message.number(Field::MessageType);
        first.get_or_insert((message.category(), message_type));
    });
    first == Some((Category::Control, Some(u32::from(b'K'))))
}
