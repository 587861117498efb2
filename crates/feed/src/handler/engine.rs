//! Decoding engines: the dynamic decoder, or any other.

use std::error::Error;

use tickwire_fast::BufferedPacket;
use tickwire_fast::{
    Decoder, FastErrorKind, FieldHandle, Message, Program, Slot, TemplateLayout, UInt,
};

use super::SeqNumField;
use crate::framing;

/// A message, its length in bytes, and its sequence number if it has one.
#[derive(Clone, Copy, Debug)]
pub struct EngineMessage<'e, M: ?Sized> {
    /// The message, valid until the engine's next call.
    pub message: &'e M,
    /// Bytes consumed from the front of the input, at least 1.
    pub len: usize,
    /// Its sequence number, if the engine knows its field.
    pub seq_num: Option<u64>,
}

/// Decodes the messages of one feed and keeps its dictionaries.
pub trait FeedEngine {
    /// Type of decoded messages.
    type Message: ?Sized;
    /// Reason why a message was not decoded.
    type Error: Error + 'static;

    /// Begins a packet; with the reset policy `message`, begins a message. Resets the dictionaries
    /// if the feed does so there.
    fn begin_packet(&mut self);

    /// Resets all dictionaries, as before the first packet of the feed.
    fn reset_dictionaries(&mut self);

    /// Reports lost bytes: nothing is decoded until the next reset of the dictionaries.
    fn lose_dictionaries(&mut self);

    /// Decodes the first message of the rest of a packet. If the memory behind the packet is
    /// readable, a decoder may read there, and then need not copy short packets.
    ///
    /// # Errors
    /// The reason; the rest of the packet is then abandoned.
    fn decode(
        &mut self,
        packet: BufferedPacket<'_>,
    ) -> Result<EngineMessage<'_, Self::Message>, Self::Error>;

    /// True if the error is an unknown template.
    fn is_unknown_template(error: &Self::Error) -> bool;
}

/// The dynamic decoder.
#[derive(Debug)]
pub struct Dynamic {
    decoder: Decoder,
    /// By template, the slot of the sequence number.
    seq_nums: Vec<Option<Slot<UInt>>>,
}

impl Dynamic {
    /// Creates an engine around `decoder`, whose messages have their sequence number in `seq_num`.
    pub fn new(decoder: Decoder, seq_num: &SeqNumField) -> Self {
        let program = decoder.program();
        let slot = |(template, index): (&TemplateLayout, Option<usize>)| {
            program.slot(FieldHandle { segment: template.segment, index: index? })
        };
        let indexes = seq_num_indexes(program, seq_num);
        let seq_nums = program.templates().iter().zip(indexes).map(slot).collect();
        Self { seq_nums, decoder }
    }
}

/// Returns by template the index of the sequence number in the record.
pub(super) fn seq_num_indexes(program: &Program, seq_num: &SeqNumField) -> Vec<Option<usize>> {
    let index_in = |template: &TemplateLayout| {
        let mut fields = program.fields_of(template.segment).iter();
        fields.position(|field| seq_num.is(&field.name.local, field.id))
    };
    program.templates().iter().map(index_in).collect()
}

impl FeedEngine for Dynamic {
    type Message = Message;
    type Error = tickwire_fast::FastError;

    fn begin_packet(&mut self) {
        self.decoder.begin_packet();
    }

    fn reset_dictionaries(&mut self) {
        self.decoder.reset();
    }

    fn lose_dictionaries(&mut self) {
        // No message is empty, so this decoding fails; after a failure the decoder waits for a
        // reset.
        let _ = self.decoder.decode(&[]);
    }

    #[inline]
    fn decode(
        &mut self,
        packet: BufferedPacket<'_>,
    ) -> Result<EngineMessage<'_, Message>, tickwire_fast::FastError> {
        let decoded = self.decoder.decode_packet(packet)?;
        let message = decoded.message;
        let slot = self.seq_nums.get(message.template_index()).and_then(Option::as_ref);
        let seq_num = slot.and_then(|slot| message.root().read(slot));
        Ok(EngineMessage { message, len: decoded.len, seq_num })
    }

    fn is_unknown_template(error: &tickwire_fast::FastError) -> bool {
        error.kind() == FastErrorKind::UnknownTemplate
    }
}

/// Converts a framing's reset policy to the decoder's.
impl From<framing::FramingResetPolicy> for tickwire_fast::ResetPolicy {
    fn from(policy: framing::FramingResetPolicy) -> Self {
        match policy {
            framing::FramingResetPolicy::Never => Self::Never,
            framing::FramingResetPolicy::Template => Self::Template,
            framing::FramingResetPolicy::Message => Self::Message,
            framing::FramingResetPolicy::Packet => Self::Packet,
        }
    }
}
