//! Packs messages into packets of a bounded size.

use super::{Encoder, EncoderOptions};
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::program::Program;
use std::sync::Arc;

/// Encodes messages into packets of at most [`EncoderOptions::packet_bytes_max`] bytes.
///
/// A packet is handed out when the next message does not fit in it any more. Under
/// [`ResetPolicy::Packet`](crate::ResetPolicy) every packet stands alone: its decoder has to know
/// nothing of the packets before.
#[derive(Clone, Debug)]
pub struct PacketEncoder {
    encoder: Encoder,
    /// The packet being filled.
    packet: Vec<u8>,
    /// The packet handed out last.
    finished: Vec<u8>,
    messages: usize,
}

impl PacketEncoder {
    /// A packet encoder with these options.
    pub fn new(program: Arc<Program>, options: EncoderOptions) -> Self {
        let encoder = Encoder::with_options(program, options);
        Self { encoder, packet: Vec::new(), finished: Vec::new(), messages: 0 }
    }

    /// The program this encoder runs.
    pub fn program(&self) -> &Arc<Program> {
        self.encoder.program()
    }

    /// Number of messages in the packet being filled.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Bytes of the packet being filled.
    pub fn len(&self) -> usize {
        self.packet.len()
    }

    /// Whether the packet being filled has no message yet.
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Adds a message. If it does not fit in the packet being filled, that packet is handed out and
    /// the message begins the next.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and [`ErrorKind::PacketTooSmall`] for a message that is too long for
    /// a packet of its own. Nothing has changed then: the packet being filled is still there.
    pub fn push(&mut self, message: &Message) -> Result<Option<&[u8]>, Error> {
        if self.messages > 0 && self.append(message)? {
            return Ok(None);
        }
        self.finished.clear();
        self.begin_with(message)?;
        let hand_out = self.messages > 0;
        std::mem::swap(&mut self.packet, &mut self.finished);
        self.messages = 1;
        Ok(hand_out.then_some(&self.finished[..]))
    }

    /// Hands out the packet being filled, or `None` if it has no message.
    pub fn finish(&mut self) -> Option<&[u8]> {
        if self.messages == 0 {
            return None;
        }
        std::mem::swap(&mut self.packet, &mut self.finished);
        self.packet.clear();
        self.messages = 0;
        Some(&self.finished)
    }

    /// Adds a message to the packet being filled; false, and nothing has changed, if it does not fit.
    fn append(&mut self, message: &Message) -> Result<bool, Error> {
        let room = self.encoder.options.packet_bytes_max.checked_sub(self.packet.len());
        let Some(room) = room else { return Ok(false) };
        let len = self.encoder.encode_within(message, &mut self.packet, room, false)?;
        Ok(len.is_some())
    }

    /// Encodes a message as the first of a packet, into `finished`.
    fn begin_with(&mut self, message: &Message) -> Result<(), Error> {
        let room = self.encoder.options.packet_bytes_max;
        match self.encoder.encode_within(message, &mut self.finished, room, true)? {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::PacketTooSmall, 0)),
        }
    }
}
