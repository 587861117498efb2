//! Packs messages into packets.

use crate::binding::Binding;
use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use crate::generator::GeneratedPacket;
use tickwire_fast::{Encoder, EncoderOptions, MessageBuilder, ResetPolicy};
use tickwire_feed::Endian;
use tickwire_feed::framing::{self, Envelope, Framing, MessageHeader, NumberField};

/// Maximum packet length in bytes: the limit of a UDP datagram.
pub(crate) const PACKET_BYTES_MAX: usize = 65_507;

/// Encodes messages into packets of bounded size. Dictionaries are empty at the start of each
/// packet.
pub(crate) struct Packer {
    binding: Binding,
    builder: MessageBuilder,
    encoder: Encoder,
    /// Encodes messages only to measure them.
    probe: Encoder,
    framing: Framing,
    bytes_max: usize,
    messages_max: usize,
    packet: GeneratedPacket,
    /// Sequence number of the packet being filled.
    seq_num: u64,
}

impl Packer {
    pub(crate) fn new(
        binding: Binding,
        framing: Option<Framing>,
        bytes_max: usize,
        messages_max: usize,
        first_seq_num: u64,
    ) -> Result<Self, ExchangeError> {
        let reset = match framing {
            None => ResetPolicy::Packet,
            Some(framing) => checked_reset(&framing)?,
        };
        let options = EncoderOptions::default().reset(reset);
        let program = binding.program().clone();
        let encoder = Encoder::with_options(program.clone(), options);
        Ok(Self {
            builder: MessageBuilder::new(program),
            probe: encoder.clone(),
            encoder,
            binding,
            framing: framing.unwrap_or_default(),
            bytes_max,
            messages_max,
            packet: GeneratedPacket::default(),
            seq_num: first_seq_num,
        })
    }

    pub(crate) fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Returns the maximum packet length in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns the length in bytes of a packet with this message alone and with the longest
    /// sequence number.
    pub(crate) fn len_alone(&mut self, draft: &MessageDraft) -> Result<usize, ExchangeError> {
        let mut draft = draft.clone();
        number(&self.binding, &mut draft, u32::MAX.into());
        let mut bytes = Vec::new();
        self.probe.begin_packet();
        encode(&self.binding, &mut self.builder, &mut self.probe, &draft, &mut bytes)?;
        Ok(self.framing.preamble_bytes() + bytes.len())
    }

    /// Adds a message. Returns a packet if it is full; if the message does not fit, returns the
    /// packet and begins the next one with the message.
    pub(crate) fn push(
        &mut self,
        draft: MessageDraft,
        time_ms: u64,
    ) -> Result<Option<GeneratedPacket>, ExchangeError> {
        let draft = match self.append(draft, time_ms)? {
            None if self.packet.messages.len() >= self.messages_max => return Ok(self.finish()),
            None => return Ok(None),
            Some(draft) => draft,
        };
        let full = self.finish();
        match self.append(draft, time_ms)? {
            None => Ok(full),
            Some(_) => Err(ExchangeError::PacketTooSmall {
                bytes: self.bytes_max,
                bytes_min: self.packet.bytes.len(),
            }),
        }
    }

    /// Returns the packet being filled, or `None` if it has no message.
    pub(crate) fn finish(&mut self) -> Option<GeneratedPacket> {
        if self.packet.messages.is_empty() {
            return None;
        }
        let mut packet = std::mem::take(&mut self.packet);
        packet.seq_num = self.seq_num;
        write_preamble(&self.framing, self.seq_num, &mut packet.bytes);
        self.seq_num += 1;
        Some(packet)
    }

    /// Adds a message to the packet being filled, or returns it if it does not fit.
    fn append(
        &mut self,
        mut draft: MessageDraft,
        time_ms: u64,
    ) -> Result<Option<MessageDraft>, ExchangeError> {
        let is_first = self.packet.messages.is_empty();
        if is_first {
            self.packet.bytes.clear();
            self.packet.bytes.resize(self.framing.preamble_bytes(), 0);
            self.encoder.begin_packet();
            self.packet.time_ms = time_ms;
        }
        number(&self.binding, &mut draft, self.seq_num);
        let bytes = &mut self.packet.bytes;
        let before = bytes.len();
        encode(&self.binding, &mut self.builder, &mut self.encoder, &draft, bytes)?;
        if bytes.len() > self.bytes_max {
            // The encoder's state needs no rollback: the next packet resets it.
            if !is_first {
                bytes.truncate(before);
            }
            return Ok(Some(draft));
        }
        self.packet.messages.push(draft);
        Ok(None)
    }
}

/// Sets MsgSeqNum to the packet's sequence number, so that receivers detect gaps.
pub(crate) fn number(binding: &Binding, draft: &mut MessageDraft, seq_num: u64) {
    if let Some(index) = binding.seq_num_at(draft) {
        draft.fields[index] = DraftValue::UInt(seq_num);
    }
}

pub(crate) fn encode(
    binding: &Binding,
    builder: &mut MessageBuilder,
    encoder: &mut Encoder,
    draft: &MessageDraft,
    out: &mut Vec<u8>,
) -> Result<(), ExchangeError> {
    let encoded = binding.build(builder, draft).and_then(|message| encoder.encode(message, out));
    encoded.map_err(|error| ExchangeError::Encode {
        template: draft.template,
        description: error.describe(binding.program()).to_string(),
    })?;
    Ok(())
}

/// Returns the reset policy of a framing, or an error if the exchange cannot write the framing.
pub(crate) fn checked_reset(framing: &Framing) -> Result<ResetPolicy, ExchangeError> {
    if framing.seq_num_field().is_none() {
        return Err(ExchangeError::FramingWithoutSeqNum);
    }
    let is_plain = framing.packet_envelope() == Envelope::Bare
        && framing.header_before_message() == MessageHeader::None;
    match framing.reset_policy() {
        framing::FramingResetPolicy::Packet if is_plain => Ok(ResetPolicy::Packet),
        framing::FramingResetPolicy::Message if is_plain => Ok(ResetPolicy::Message),
        _ => Err(ExchangeError::FramingNotWritten),
    }
}

pub(crate) fn write_preamble(framing: &Framing, seq_num: u64, packet: &mut [u8]) {
    let len = packet.len() - framing.preamble_bytes();
    let mut write = |field: Option<NumberField>, number: u64| {
        if let Some(field) = field {
            let place = &mut packet[field.offset()..field.offset() + field.width()];
            match field.endian() {
                Endian::Big => place.copy_from_slice(&number.to_be_bytes()[8 - field.width()..]),
                Endian::Little => place.copy_from_slice(&number.to_le_bytes()[..field.width()]),
            }
        }
    };
    write(framing.seq_num_field(), seq_num);
    write(framing.length_field(), len as u64);
    let chunks = framing.chunk_fields();
    write(chunks.map(|chunks| chunks.count), 1);
    write(chunks.map(|chunks| chunks.number), 1);
}
