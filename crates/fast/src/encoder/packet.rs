//! Packs messages into packets of a bounded size.

use super::{Encoder, EncoderOptions};
use crate::error::{FastError, FastErrorKind};
use crate::message::Message;
use crate::program::Program;
use std::sync::Arc;

/// Encodes messages into packets of at most [`EncoderOptions::packet_bytes_max`] bytes.
///
/// A packet is returned when the next message does not fit. Under
/// [`ResetPolicy::Packet`](crate::ResetPolicy) every packet can be decoded independently of earlier
/// packets.
#[derive(Clone, Debug)]
pub struct PacketEncoder {
    encoder: Encoder,
    /// The packet being filled.
    packet: Vec<u8>,
    /// The packet returned last.
    finished: Vec<u8>,
    messages: usize,
}

impl PacketEncoder {
    /// Creates a packet encoder with these options.
    pub fn new(program: Arc<Program>, options: EncoderOptions) -> Self {
        let encoder = Encoder::with_options(program, options);
        Self { encoder, packet: Vec::new(), finished: Vec::new(), messages: 0 }
    }

    /// Returns the program of this encoder.
    pub fn program(&self) -> &Arc<Program> {
        self.encoder.program()
    }

    /// Returns the number of messages in the packet being filled.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Returns the length of the packet being filled, in bytes.
    pub fn len(&self) -> usize {
        self.packet.len()
    }

    /// True if the packet being filled has no message yet.
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Adds a message. If it does not fit, returns the packet being filled and starts the next one
    /// with the message.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and [`FastErrorKind::PacketTooSmall`] for a message that exceeds a whole
    /// packet. On errors nothing changes; the packet being filled is kept.
    pub fn push(&mut self, message: &Message) -> Result<Option<&[u8]>, FastError> {
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

    /// Returns the packet being filled, or `None` if it has no message.
    pub fn finish(&mut self) -> Option<&[u8]> {
        if self.messages == 0 {
            return None;
        }
        std::mem::swap(&mut self.packet, &mut self.finished);
        self.packet.clear();
        self.messages = 0;
        Some(&self.finished)
    }

    /// Adds a message to the packet being filled; returns false and changes nothing if it does not
    /// fit.
    fn append(&mut self, message: &Message) -> Result<bool, FastError> {
        let room = self.encoder.options.packet_bytes_max.checked_sub(self.packet.len());
        let Some(room) = room else { return Ok(false) };
        let len = self.encoder.encode_within(message, &mut self.packet, room, false)?;
        Ok(len.is_some())
    }

    /// Encodes a message as the first of a packet, into `finished`.
    fn begin_with(&mut self, message: &Message) -> Result<(), FastError> {
        let room = self.encoder.options.packet_bytes_max;
        match self.encoder.encode_within(message, &mut self.finished, room, true)? {
            Some(_) => Ok(()),
            None => Err(FastError::new(FastErrorKind::PacketTooSmall, 0)),
        }
    }
}
