//! Checks that the bytes of messages confirm their values, after a framing was detected.
//!
//! A framing without resets gives wrong values, and no error, where a sender starts again with empty
//! dictionaries: a second session in one capture, or two joined captures. Deltas of the second
//! session are then added to values of the first. The bytes show it: an encoder that shares the
//! decoder's history does not reproduce them, and one with empty dictionaries does.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tickwire_fast::{
    Decoder, DecoderOptions, Encoder, EncoderOptions, FastError, Message, Program, ResetPolicy,
    TemplateId, TemplateSet,
};

use super::super::block::next_block;
use super::super::description::Framing;
use super::super::framer::Framer;
use super::reencode::Reencoder;
use super::trial::hash_record;

/// Reason why the bytes of a message do not confirm its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// The message encodes to its bytes with empty dictionaries only: its sender started again.
    Restarted,
    /// The values depend on earlier messages, and the message encodes to other bytes.
    OtherBytes,
    /// Sequence numbers went back, and the message has other values if its sender started again there.
    NumberBack {
        /// The last number before.
        before: u64,
        /// The first number of the sender that may have started again.
        number: u64,
        /// Index of the packet with that number.
        packet: u64,
    },
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restarted => f.write_str(
                "its sender started with empty dictionaries, so another session or another capture \
                 begins here, and values that depend on earlier messages would be wrong",
            ),
            Self::OtherBytes => f.write_str(
                "its values depend on earlier messages, and it encodes to other bytes than its own, \
                 so they may be wrong",
            ),
            Self::NumberBack { before, number, packet } => write!(
                f,
                "MsgSeqNum went back from {before} to {number} in packet {packet}; if another session \
                 or capture begins there, the values of this message and of later ones are wrong"
            ),
        }
    }
}

/// The message of a sample at which its sender started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Index of its packet in the sample.
    pub packet: usize,
    /// Its offset in the packet, in bytes.
    pub offset: usize,
}

/// Decodes the messages of a channel a second time and compares their bytes with those that an
/// encoder writes.
#[derive(Clone, Debug)]
pub struct ValueCheck {
    reset: ResetPolicy,
    decoder: Decoder,
    reencoder: Reencoder,
    empty_decoder: Decoder,
    empty_reencoder: Reencoder,
    has_failed: bool,
}

impl ValueCheck {
    /// Creates a check of a channel before its first packet. Returns `None` if the templates do not
    /// compile, or if dictionaries are reset before each message, because no value depends on an
    /// earlier message then. `options` are those of the decoder; their reset policy is replaced by
    /// that of the framing.
    pub fn new(framing: &Framing, set: &TemplateSet, options: DecoderOptions) -> Option<Self> {
        let reset = ResetPolicy::from(framing.reset_policy());
        if reset == ResetPolicy::Message {
            return None;
        }
        let set = match framing.reset_template_id() {
            Some(id) => set.clone().with_reset_template(TemplateId(id)),
            None => set.clone(),
        };
        let program = Arc::new(Program::compile(set).ok()?);
        let decoder = |reset| Decoder::with_options(program.clone(), options.reset(reset));
        let reencoder = |reset| {
            let options = EncoderOptions::default().reset(reset);
            Reencoder::new(Encoder::with_options(program.clone(), options))
        };
        Some(Self {
            reset,
            decoder: decoder(reset),
            reencoder: reencoder(reset),
            empty_decoder: decoder(ResetPolicy::Message),
            empty_reencoder: reencoder(ResetPolicy::Message),
            has_failed: false,
        })
    }

    /// Begins a packet; call it when the decoder of the channel does.
    pub fn begin_packet(&mut self) {
        self.decoder.begin_packet();
        if self.reset == ResetPolicy::Packet {
            self.reencoder.begin_packet();
        }
    }

    /// Treats the dictionaries as unknown until the next reset, as after a failed message.
    pub fn lose_dictionaries(&mut self) {
        // No message is empty, so this decoding fails; after a failure the decoder waits for a
        // reset.
        let _ = self.decoder.decode(&[]);
    }

    /// Returns true if a message could not be checked, because [`Self::message`] failed.
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Checks the next message of the channel; returns its length in bytes. `bytes` may continue
    /// after it.
    ///
    /// # Errors
    /// As [`Decoder::decode`]. Dictionaries are then unknown until the next reset.
    pub fn message(&mut self, bytes: &[u8]) -> Result<(usize, Option<Unproven>), FastError> {
        let decoded = self.decoder.decode(bytes).inspect_err(|_| self.has_failed = true)?;
        let len = decoded.len;
        let own = bytes.get(..len).unwrap_or_default();
        if self.reencoder.is_same(decoded.message, own) {
            return Ok((len, None));
        }
        let values = values_of(decoded.message);
        let Ok(with_empty) = self.empty_decoder.decode(own) else {
            return Ok((len, Some(Unproven::OtherBytes)));
        };
        if values_of(with_empty.message) == values {
            return Ok((len, None));
        }
        self.empty_reencoder.begin_packet();
        let is_restart = self.empty_reencoder.is_same(with_empty.message, own);
        let unproven = if is_restart { Unproven::Restarted } else { Unproven::OtherBytes };
        Ok((len, Some(unproven)))
    }

    /// Resets all dictionaries.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.reencoder.reset();
    }

    /// Returns the first message of a sample at which its sender started again with empty
    /// dictionaries although nothing resets them there: the values from there on are wrong.
    /// Dictionaries are reset as the framing says, and before each packet for whose index `begins`
    /// returns true; it is called once per packet, in order.
    pub fn first_restart<P: AsRef<[u8]>>(
        packets: &[P],
        framing: &Framing,
        set: &TemplateSet,
        mut begins: impl FnMut(usize) -> bool,
    ) -> Option<Restart> {
        let mut check = Self::new(framing, set, DecoderOptions::default())?;
        let mut framer = Framer::new(*framing);
        packets.iter().enumerate().find_map(|(packet, bytes)| {
            if begins(packet) {
                check.reset();
            }
            let offset = check.restart_in(bytes.as_ref(), framing, &mut framer)?;
            Some(Restart { packet, offset })
        })
    }

    /// Returns the offset of the first message of a packet at which the sender started again.
    fn restart_in(
        &mut self,
        packet: &[u8],
        framing: &Framing,
        framer: &mut Framer,
    ) -> Option<usize> {
        for segment in framer.split(packet).flatten() {
            if segment.reset_before {
                self.begin_packet();
            }
            let mut at = 0;
            while at < segment.bytes.len() {
                let Ok(Some(block)) = next_block(framing, segment.bytes, at) else {
                    self.lose_dictionaries();
                    return None;
                };
                at = block.start;
                while at < block.end {
                    match self.message(&segment.bytes[at..block.end]) {
                        Ok((_, Some(Unproven::Restarted))) => return Some(segment.offset + at),
                        Ok((len, _)) => at += len,
                        Err(_) if block.has_length => at = block.end,
                        Err(_) => return None,
                    }
                    if block.is_one_message {
                        break;
                    }
                }
            }
        }
        None
    }
}

/// Returns a hash of the values of a message.
pub(super) fn values_of(message: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.template_index().hash(&mut hasher);
    hash_record(message.root(), &mut hasher);
    hasher.finish()
}
