//! Receiver of the messages of a capture.

use crate::place::{MessagePlace, PacketPlace};
use std::fmt::Display;
use tickwire_fast::{DecodedMessage, FastError, Program};
use tickwire_feed::framing::detect::Unproven;
use tickwire_text::Header;

/// Extent of the loss when a message cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossExtent {
    /// The rest of its block, with this many bytes.
    Block(usize),
    /// The rest of its packet or stream, with this many bytes.
    Rest(usize),
}

/// Receives the messages of a capture, and reports of undecoded data.
pub trait CaptureSink {
    /// Error of the sink, which ends decoding.
    type Error;

    /// Handles a message.
    ///
    /// # Errors
    /// The sink's error; it ends decoding.
    fn message(
        &mut self,
        header: &Header<'_>,
        decoded: &DecodedMessage<'_>,
    ) -> Result<(), Self::Error>;

    /// Returns true if the sink wants more messages; called before each.
    fn wants_more(&self) -> bool {
        true
    }

    /// Handles the sequence number in the preamble of a packet or of a part of it; called before
    /// its messages.
    fn numbered(&mut self, packet: PacketPlace, seq_num: u64) {
        let (_, _) = (packet, seq_num);
    }

    /// Handles a message that cannot be decoded, with the extent of the loss; offsets in `error`
    /// count from the start of the message.
    fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &FastError,
        program: &Program,
        lost: LossExtent,
    );

    /// Handles an abandoned packet, or the abandoned rest of a stream. The reason is not an error
    /// in one of its messages.
    fn packet_failed(&mut self, place: PacketPlace, why: &dyn Display);

    /// Handles a message whose values are not confirmed by its bytes. By default the packet fails.
    ///
    /// Called if values are [checked](crate::CaptureDecoder::check_values), or if sequence numbers go
    /// back although dictionaries persist. `lost` is the extent of the loss if the message is
    /// refused; `None` if it is passed to the sink next.
    fn message_unproven(&mut self, place: MessagePlace, why: Unproven, lost: Option<LossExtent>) {
        let _ = lost;
        self.packet_failed(place.packet, &format_args!("offset {}: {why}", place.offset));
    }

    /// Handles another error in a packet that was already abandoned.
    fn packet_is_wrong_too(&mut self, place: PacketPlace, why: &dyn Display) {
        let (_, _) = (place, why);
    }

    /// Handles a remark, which is not an error.
    fn remark(&mut self, text: &str) {
        let _ = text;
    }
}
