//! Options of a handler.

use std::error::Error;
use std::fmt;

use super::SeqNumPeek;
use crate::arbiter::ArbiterOptions;
use crate::framing::{Framing, FramingResetPolicy};
use crate::recovery::RecoveryOptions;

/// Position of the sequence number of a packet.
#[derive(Clone, Debug, Default)]
pub enum SequenceSource {
    /// Nowhere: packets of both lines are used in order of arrival, so only one line makes sense.
    None,
    /// In the first message that has a number.
    Message(SeqNumPeek),
    /// In the preamble that the framing describes.
    #[default]
    Preamble,
}

/// How a feed is handled.
#[derive(Clone, Debug)]
pub struct HandlerOptions {
    /// Framing of the incremental and the snapshot feed.
    pub framing: Framing,
    /// Position of the sequence numbers. Default: in the preamble.
    pub sequence: SequenceSource,
    /// How lines A and B are arbitrated.
    pub arbiter: ArbiterOptions,
    /// How books become fresh.
    pub recovery: RecoveryOptions,
    /// Longest time between two packets of the feed, in nanoseconds: see
    /// [`Preset::heartbeat_ns`](crate::framing::Preset::heartbeat_ns). A channel without packets on
    /// any line for twice as long is silent, and its books are stale. With `None` it is never
    /// silent. Default 60 s.
    pub heartbeat_ns: Option<u64>,
}

impl Default for HandlerOptions {
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            sequence: SequenceSource::default(),
            arbiter: ArbiterOptions::default(),
            recovery: RecoveryOptions::default(),
            heartbeat_ns: Some(60_000_000_000),
        }
    }
}

/// Reason why a feed cannot be handled as described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerConfigError {
    /// A packet has several parts or a message several packets, and dictionaries live longer than a
    /// message. Their state would depend on the line that sent each part.
    PartsShareDictionaries,
    /// Numbers are expected in the preamble, but the framing gives no position.
    PreambleWithoutSeqNum,
    /// New templates have their sequence numbers elsewhere: preamble, messages or nowhere.
    SequenceSourceChanged,
    /// Numbers are expected in messages, but no template has the field in a place that can be found
    /// without decoding.
    SeqNumNotFound,
}

impl fmt::Display for HandlerConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PartsShareDictionaries => {
                "with a length or chunks in the preamble dictionaries must be reset before every \
                 message: use reset=message"
            }
            Self::PreambleWithoutSeqNum => {
                "the framing says no place of the sequence number: add one, such as seq=0:4:be, or \
                 name the field of the messages that has it"
            }
            Self::SequenceSourceChanged => {
                "the new templates have their sequence numbers elsewhere than the running ones"
            }
            Self::SeqNumNotFound => {
                "no template has this sequence number field at a position that can be found without decoding"
            }
        })
    }
}

impl Error for HandlerConfigError {}

impl HandlerOptions {
    pub(super) fn check(&self) -> Result<(), HandlerConfigError> {
        let framing = &self.framing;
        let has_parts = framing.length_field().is_some() || framing.chunk_fields().is_some();
        if has_parts && framing.reset_policy() != FramingResetPolicy::Message {
            return Err(HandlerConfigError::PartsShareDictionaries);
        }
        match &self.sequence {
            SequenceSource::Preamble if framing.seq_num_field().is_none() => {
                Err(HandlerConfigError::PreambleWithoutSeqNum)
            }
            SequenceSource::Message(peek) if !peek.can_find() => {
                Err(HandlerConfigError::SeqNumNotFound)
            }
            _ => Ok(()),
        }
    }
}
