//! Decodes a sample under one framing and reset policy.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, FieldValue, Limits, Message, Program, Record,
};

use super::super::block::next_block;
use super::super::description::{Framing, FramingResetPolicy};
use super::super::framer::{Framer, Segment};
use super::reencode::Reencoder;
use super::series::FieldSeries;

/// FIX tag of MsgSeqNum, and its names on other feeds.
const MSG_SEQ_NUM: u32 = 34;
const SEQ_NUM_NAMES: [&str; 3] = ["SequenceNumber", "MsgSeqNum", "PacketSeqNum"];
/// Limits of a message in a trial: lower than the decoder's defaults, because many candidates
/// decode noise.
const ENTRIES_MAX: u32 = 1 << 14;
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Result of decoding a sample.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) framing: Framing,
    /// Packets with FAST bytes.
    pub(super) packets: usize,
    /// Packets decoded to the last byte.
    pub(super) whole: usize,
    pub(super) messages: usize,
    /// Messages that encode to their own bytes.
    pub(super) same_bytes: usize,
    /// A hash of the values of each packet.
    pub(super) values: Vec<u64>,
    /// Number of sequence numbers in messages, and how many of them follow or repeat the previous
    /// one.
    numbers: usize,
    following: usize,
    pub(super) series: FieldSeries,
}

impl Trial {
    /// Decodes the packets.
    pub(super) fn run(packets: &[&[u8]], framing: Framing, program: &Arc<Program>) -> Self {
        let mut running = RunningTrial::new(framing, program);
        let mut framer = Framer::new(framing);
        for (index, packet) in packets.iter().enumerate() {
            running.quarter = index * 4 / packets.len();
            running.hasher = DefaultHasher::new();
            let (messages, mut has_bytes, mut is_whole) = (running.trial.messages, false, true);
            for segment in framer.split(packet) {
                match segment {
                    Ok(segment) => {
                        has_bytes |= !segment.bytes.is_empty();
                        is_whole &= running.segment(&segment);
                    }
                    Err(_) => (has_bytes, is_whole) = (true, false),
                }
            }
            let trial = &mut running.trial;
            trial.packets += usize::from(has_bytes);
            trial.whole += usize::from(is_whole && trial.messages > messages);
            is_whole.hash(&mut running.hasher);
            trial.values.push(running.hasher.finish());
        }
        running.trial
    }

    /// Returns the fraction of packets that were decoded whole.
    pub(super) fn fit(&self) -> f64 {
        self.whole as f64 / self.packets.max(1) as f64
    }

    /// Returns the fraction of messages that encode to their own bytes.
    pub(super) fn same_part(&self) -> f64 {
        self.same_bytes as f64 / self.messages.max(1) as f64
    }

    /// Returns the fraction of sequence numbers that follow the previous one; `None` without
    /// numbers.
    pub(super) fn consecutive(&self) -> Option<f64> {
        let pairs = self.numbers.saturating_sub(1);
        (pairs > 0).then(|| self.following as f64 / pairs as f64)
    }
}

struct RunningTrial {
    trial: Trial,
    decoder: Decoder,
    reencoder: Reencoder,
    quarter: usize,
    hasher: DefaultHasher,
    last_number: Option<u64>,
}

impl RunningTrial {
    fn new(framing: Framing, program: &Arc<Program>) -> Self {
        let reset = framing.reset_policy().into();
        let limits = Limits::default()
            .entries_max(ENTRIES_MAX)
            .entries_total_max(ENTRIES_MAX)
            .message_bytes_max(MESSAGE_BYTES_MAX);
        let options = DecoderOptions::default().reset(reset).limits(limits);
        let encoder_options = EncoderOptions::default().reset(reset);
        Self {
            trial: Trial {
                framing,
                packets: 0,
                whole: 0,
                messages: 0,
                same_bytes: 0,
                values: Vec::new(),
                numbers: 0,
                following: 0,
                series: FieldSeries::default(),
            },
            decoder: Decoder::with_options(program.clone(), options),
            reencoder: Reencoder::new(Encoder::with_options(program.clone(), encoder_options)),
            quarter: 0,
            hasher: DefaultHasher::new(),
            last_number: None,
        }
    }

    /// Decodes a segment; returns true if it decodes to its last byte.
    fn segment(&mut self, segment: &Segment<'_>) -> bool {
        if segment.reset_before {
            self.decoder.begin_packet();
            if self.trial.framing.reset_policy() == FramingResetPolicy::Packet {
                self.reencoder.begin_packet();
            }
        }
        let bytes = segment.bytes;
        let mut at = 0;
        while at < bytes.len() {
            let Ok(Some(block)) = next_block(&self.trial.framing, bytes, at) else {
                return self.lose();
            };
            at = block.start;
            while at < block.end {
                let Some(len) = self.message(&bytes[at..block.end]) else { return false };
                at += len;
                if block.is_one_message {
                    break;
                }
            }
        }
        true
    }

    /// Handles lost bytes: later messages cannot rely on dictionaries.
    fn lose(&mut self) -> bool {
        // No message is empty, so this decoding fails; after a failure the decoder waits for a
        // reset.
        let _ = self.decoder.decode(&[]);
        false
    }

    fn message(&mut self, bytes: &[u8]) -> Option<usize> {
        let Self { trial, decoder, reencoder, quarter, hasher, last_number } = self;
        let decoded = decoder.decode(bytes).ok()?;
        let message = decoded.message;
        trial.messages += 1;
        let original = bytes.get(..decoded.len).unwrap_or_default();
        if trial.framing.reset_policy() == FramingResetPolicy::Message {
            reencoder.begin_packet();
        }
        trial.same_bytes += usize::from(reencoder.is_same(message, original));
        trial.series.add(*quarter, message);
        message.template_index().hash(hasher);
        hash_record(message.root(), hasher);
        if let Some(number) = seq_num(message) {
            let follows = last_number.is_some_and(|last| number == last + 1 || number == last);
            trial.numbers += 1;
            trial.following += usize::from(follows);
            *last_number = Some(number);
        }
        Some(decoded.len)
    }
}

/// True if a field with this name and id is a sequence number.
pub(super) fn is_seq_num(name: &str, id: Option<u32>) -> bool {
    id == Some(MSG_SEQ_NUM) || SEQ_NUM_NAMES.contains(&name)
}

/// Returns the sequence number of a message.
fn seq_num(message: &Message) -> Option<u64> {
    message.root().fields().find_map(|(field, value)| match value {
        FieldValue::UInt(value) if is_seq_num(&field.name.local, field.id) => {
            (value < u64::MAX).then_some(value)
        }
        _ => None,
    })
}

/// Adds the values of a record to a hash.
pub(super) fn hash_record(record: Record<'_>, hasher: &mut DefaultHasher) {
    for (_, value) in record.fields() {
        match value {
            FieldValue::Absent => 0u8.hash(hasher),
            FieldValue::Discarded => {}
            FieldValue::UInt(value) => (1u8, value).hash(hasher),
            FieldValue::Int(value) => (2u8, value).hash(hasher),
            FieldValue::Decimal(value) => (3u8, value.mantissa, value.exponent).hash(hasher),
            FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) | FieldValue::Bytes(bytes) => {
                (4u8, bytes).hash(hasher);
            }
            FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => hash_record(inner, hasher),
            FieldValue::Sequence(entries) => {
                (5u8, entries.len()).hash(hasher);
                entries.iter().for_each(|entry| hash_record(entry, hasher));
            }
        }
    }
}
