//! Re-encodes decoded messages, to compare the result with the original bytes.

use tickwire_fast::{Encoder, Message};

const STOP_BIT: u8 = 0x80;
/// First bit of a presence map: the template id is present.
const ID_BIT: u8 = 0x40;

/// Encodes decoded messages with its own dictionaries.
#[derive(Clone, Debug)]
pub(super) struct Reencoder {
    encoder: Encoder,
    bytes: Vec<u8>,
}

impl Reencoder {
    pub(super) fn new(encoder: Encoder) -> Self {
        Self { encoder, bytes: Vec::new() }
    }

    /// Resets the dictionaries.
    pub(super) fn reset(&mut self) {
        self.encoder.reset();
    }

    /// Begins a packet; with the reset policy `message`, begins a message.
    pub(super) fn begin_packet(&mut self) {
        self.encoder.begin_packet();
    }

    /// True if the message encodes to `original`. Senders may repeat the template id.
    pub(super) fn is_same(&mut self, message: &Message, original: &[u8]) -> bool {
        self.bytes.clear();
        self.encoder.encode(message, &mut self.bytes).is_ok() && is_same(&self.bytes, original)
    }
}

fn is_same(encoded: &[u8], original: &[u8]) -> bool {
    if encoded == original {
        return true;
    }
    let (Some(&ours), Some(&theirs)) = (encoded.first(), original.first()) else { return false };
    if ours & ID_BIT != 0 || theirs & ID_BIT == 0 {
        return false;
    }
    let (our_map, our_rest) = encoded.split_at(field_len(encoded));
    let (their_map, behind_map) = original.split_at(field_len(original));
    let their_rest = behind_map.get(field_len(behind_map)..).unwrap_or_default();
    our_map.get(1..) == their_map.get(1..) && ours | ID_BIT == theirs && our_rest == their_rest
}

/// Returns the length of the first field: up to the byte with a stop bit.
fn field_len(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| byte & STOP_BIT != 0);
    end.map_or(bytes.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_template_id_is_no_difference() {
        assert!(is_same(&[0x80, 0x85], &[0x80, 0x85]));
        assert!(is_same(&[0x80, 0x85], &[0xC0, 0x01, 0x81, 0x85]));
        assert!(!is_same(&[0x80, 0x85], &[0xC0, 0x01, 0x81, 0x86]));
        assert!(!is_same(&[0xA0, 0x85], &[0xC0, 0x81, 0x85]));
        assert!(!is_same(&[0xC0, 0x81], &[0x80]));
        assert!(!is_same(&[], &[0x80]));
    }
}
