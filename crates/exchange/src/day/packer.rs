//! Numbers and encodes the packets of one channel.

use crate::binding::Binding;
use crate::draft::MessageDraft;
use crate::error::ExchangeError;
use crate::packer::{encode, number, write_preamble};
use tickwire_fast::{Encoder, EncoderOptions, MessageBuilder, ResetPolicy};
use tickwire_feed::framing::{self, Framing};

/// Packs messages of one channel. Dictionaries are empty at the start of each packet.
pub(super) struct ChannelPacker {
    builder: MessageBuilder,
    encoder: Encoder,
    framing: Framing,
    numbers_messages: bool,
    /// Number of the next packet or message.
    pub(super) next: u64,
}

impl ChannelPacker {
    pub(super) fn new(
        binding: &Binding,
        framing: Framing,
        numbers_messages: bool,
        first_seq_num: u64,
    ) -> Self {
        let reset = match framing.reset_policy() {
            framing::FramingResetPolicy::Message => ResetPolicy::Message,
            _ => ResetPolicy::Packet,
        };
        let options = EncoderOptions::default().reset(reset);
        let program = binding.program().clone();
        Self {
            builder: MessageBuilder::new(program.clone()),
            encoder: Encoder::with_options(program, options),
            framing,
            numbers_messages,
            next: first_seq_num,
        }
    }

    /// Encodes a packet and assigns the next sequence number to it, or to each of its messages.
    /// Returns the number of the packet, or of its first message if messages are numbered.
    pub(super) fn pack(
        &mut self,
        binding: &Binding,
        drafts: &mut [MessageDraft],
    ) -> Result<(u64, Vec<u8>), ExchangeError> {
        let seq_num = self.next;
        let mut bytes = vec![0; self.framing.preamble_bytes()];
        self.encoder.begin_packet();
        for draft in drafts.iter_mut() {
            number(binding, draft, self.next);
            encode(binding, &mut self.builder, &mut self.encoder, draft, &mut bytes)?;
            self.next += u64::from(self.numbers_messages);
        }
        self.next += u64::from(!self.numbers_messages);
        write_preamble(&self.framing, seq_num, &mut bytes);
        Ok((seq_num, bytes))
    }

    /// Encodes a packet that consumes no sequence number.
    pub(super) fn pack_unnumbered(
        &mut self,
        binding: &Binding,
        draft: &MessageDraft,
    ) -> Result<Vec<u8>, ExchangeError> {
        let mut bytes = vec![0; self.framing.preamble_bytes()];
        self.encoder.begin_packet();
        encode(binding, &mut self.builder, &mut self.encoder, draft, &mut bytes)?;
        Ok(bytes)
    }
}
