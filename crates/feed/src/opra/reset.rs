//! The control message that resets the numbers of a line.

use rapidhash::v3::rapidhash_v3;
use tickwire_opra::{Category, Decode, Field, bottom_up};

use super::Repeat;

/// The category (H) and the type (K) as they stand side by side, each with its stop bit.
const RESET: [u8; 2] = [b'H' | 0x80, b'K' | 0x80];
/// In how many bytes of a packet they are looked for: behind its header and the presence map of its first message.
const HEAD_BYTES: usize = 64;

/// What is known of resets.
#[derive(Debug, Default)]
pub(super) struct LineReset {
    /// The packet that begins an epoch, until what is held of the old one has been polled.
    pub(super) packet: Option<Repeat>,
    /// Digest of the last such packet: a copy of it resets nothing.
    digest: Option<u64>,
}

impl LineReset {
    /// Whether a packet begins with a reset, and no copy of it came before.
    pub(super) fn is_new(&mut self, decoder: &mut bottom_up::Decoder, packet: &[u8]) -> bool {
        let head = &packet[..packet.len().min(HEAD_BYTES)];
        if !head.windows(RESET.len()).any(|pair| pair == RESET) || !is_reset(decoder, packet) {
            return false;
        }
        let digest = rapidhash_v3(packet);
        self.digest.replace(digest) != Some(digest)
    }
}

/// Whether the first message of a packet resets the numbers.
fn is_reset(decoder: &mut bottom_up::Decoder, packet: &[u8]) -> bool {
    let mut first = None;
    // An error behind the first message is for the delivery of the packet to tell.
    let _ = decoder.decode_packet(packet, |message| {
        let message_type = message.number(Field::MessageType);
        first.get_or_insert((message.category(), message_type));
    });
    first == Some((Category::Control, Some(u32::from(b'K'))))
}
