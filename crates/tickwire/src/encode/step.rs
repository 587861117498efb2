//! FIXT messages around blocks of FAST bytes, as in SZSE STEP.

use crate::failure::Failure;
use crate::packet_file::PacketFile;
use std::io::Write as _;
use tickwire_feed::framing::{Envelope, Framing};

/// MsgType, one of those reserved for user-defined messages.
const MSG_TYPE: &str = "UA";

/// Writes packets, inside FIXT messages if the framing has them.
pub struct Enveloped {
    step: Option<StepMessages>,
    file: PacketFile,
}

impl Enveloped {
    /// Wraps `file` with the envelope of this framing.
    pub fn new(framing: &Framing, file: PacketFile) -> Self {
        let is_step = framing.packet_envelope() == Envelope::Step;
        Self { step: is_step.then(StepMessages::default), file }
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &[u8]) -> Result<(), Failure> {
        match &mut self.step {
            Some(step) => self.file.write(&step.message(packet)),
            None => self.file.write(packet),
        }
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), Failure> {
        self.file.finish()
    }
}

/// Writes blocks as FIXT messages, numbered from 1.
#[derive(Debug, Default)]
struct StepMessages {
    written: u64,
}

impl StepMessages {
    /// The message of the next block: RawDataLength (95) is its length and RawData (96) its bytes.
    fn message(&mut self, block: &[u8]) -> Vec<u8> {
        self.written += 1;
        let (number, len) = (self.written, block.len());
        let mut body = format!("35={MSG_TYPE}\x0134={number}\x0195={len}\x0196=").into_bytes();
        body.extend_from_slice(block);
        body.push(1);
        let mut message = format!("8=FIXT.1.1\x019={}\x01", body.len()).into_bytes();
        message.append(&mut body);
        let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        // Writing to a vector does not fail.
        let _ = write!(message, "10={sum:03}\x01");
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_length_number_and_sum() {
        let mut messages = StepMessages::default();
        messages.message(b"x");
        let message = messages.message(b"a\x01b");
        let text = String::from_utf8(message).unwrap().replace('\x01', "|");
        assert!(text.starts_with("8=FIXT.1.1|9=23|35=UA|34=2|95=3|96=a|b|10="), "{text}");
        assert!(text.ends_with('|'));
    }
}
