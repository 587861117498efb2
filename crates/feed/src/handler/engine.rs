//! Decoding engines: the dynamic decoder, or any other.

use std::error::Error;

use tickwire_fast::Packet;
use tickwire_fast::{
    Decoder, ErrorKind, FieldHandle, Message, Program, Slot, TemplateLayout, UInt,
};

use super::SeqNumField;
use crate::framing;

/// A message, how many bytes it took, and its sequence number if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'e, M: ?Sized> {
    /// The message, good until the engine's next call.
    pub message: &'e M,
    /// Bytes it took from the front of the input, at least 1.
    pub len: usize,
    /// Its sequence number, if the engine knows its field.
    pub seq_num: Option<u64>,
}

/// Decodes the messages of one feed, whose dictionaries it keeps.
pub trait Engine {
    /// Type of decoded messages.
    type Message: ?Sized;
    /// Why a message was not decoded.
    type Error: Error + 'static;

    /// Begins a packet, or a message under a message policy: resets the dictionaries if the feed
    /// does so.
    fn begin_packet(&mut self);

    /// Reports lost bytes: nothing is decoded until the next reset of the dictionaries.
    fn lose_dictionaries(&mut self);

    /// Decodes the message at the front of what is left of a packet. Where the buffer continues behind it, a
    /// decoder may look there, and needs no copy of short packets then.
    ///
    /// # Errors
    /// The reason; the rest of the packet is then abandoned.
    fn decode(&mut self, packet: Packet<'_>) -> Result<Decoded<'_, Self::Message>, Self::Error>;

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
    /// An engine around `decoder`, whose messages have their sequence number in `seq_num`.
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

/// By template, where in the record the sequence number is.
pub(super) fn seq_num_indexes(program: &Program, seq_num: &SeqNumField) -> Vec<Option<usize>> {
    let index_in = |template: &TemplateLayout| {
        let mut fields = program.fields_of(template.segment).iter();
        fields.position(|field| seq_num.is(&field.name.local, field.id))
    };
    program.templates().iter().map(index_in).collect()
}

impl Engine for Dynamic {
    type Message = Message;
    type Error = tickwire_fast::Error;

    fn begin_packet(&mut self) {
        self.decoder.begin_packet();
    }

    fn lose_dictionaries(&mut self) {
        // No message is empty, so this fails, and a failure is what a decoder waits after.
        let _ = self.decoder.decode(&[]);
    }

    #[inline]
    fn decode(&mut self, packet: Packet<'_>) -> Result<Decoded<'_, Message>, tickwire_fast::Error> {
        let decoded = self.decoder.decode_packet(packet)?;
        let message = decoded.message;
        let slot = self.seq_nums.get(message.template_index()).and_then(Option::as_ref);
        let seq_num = slot.and_then(|slot| message.root().read(slot));
        Ok(Decoded { message, len: decoded.len, seq_num })
    }

    fn is_unknown_template(error: &tickwire_fast::Error) -> bool {
        error.kind() == ErrorKind::UnknownTemplate
    }
}

/// The decoder's word for a framing's reset policy.
impl From<framing::ResetPolicy> for tickwire_fast::ResetPolicy {
    fn from(policy: framing::ResetPolicy) -> Self {
        match policy {
            framing::ResetPolicy::Never => Self::Never,
            framing::ResetPolicy::Template => Self::Template,
            framing::ResetPolicy::Message => Self::Message,
            framing::ResetPolicy::Packet => Self::Packet,
        }
    }
}
