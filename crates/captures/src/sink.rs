//! Receiver of the messages of a capture.

use crate::place::{MessagePlace, PacketPlace};
use std::fmt::Display;
use tickwire_fast::{Decoded, Error, Program};
use tickwire_text::Header;

/// Extent of a loss when a message cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The rest of its block: so many bytes.
    Block(usize),
    /// The rest of its packet or stream: so many bytes.
    Rest(usize),
}

/// Takes the messages of a capture, and what is not decoded.
pub trait CaptureSink {
    /// Why no more can be taken.
    type Error;

    /// Takes a message.
    ///
    /// # Errors
    /// The sink's error ends decoding.
    fn message(&mut self, header: &Header<'_>, decoded: &Decoded<'_>) -> Result<(), Self::Error>;

    /// True if more messages are wanted; called before each.
    fn wants_more(&self) -> bool {
        true
    }

    /// A packet, or a part of it, whose preamble has this sequence number; called before its messages.
    fn numbered(&mut self, packet: PacketPlace, seq_num: u64) {
        let (_, _) = (packet, seq_num);
    }

    /// A message that cannot be decoded, and the extent of the loss; `error` counts from its start.
    fn message_failed(&mut self, place: MessagePlace, error: &Error, program: &Program, lost: Lost);

    /// A packet, or the rest of a stream, that is abandoned for another reason than a message in it.
    fn packet_failed(&mut self, place: PacketPlace, why: &dyn Display);

    /// A further error of a packet that was already abandoned.
    fn packet_is_wrong_too(&mut self, place: PacketPlace, why: &dyn Display) {
        let (_, _) = (place, why);
    }

    /// Something to know that makes nothing wrong.
    fn remark(&mut self, text: &str) {
        let _ = text;
    }
}
