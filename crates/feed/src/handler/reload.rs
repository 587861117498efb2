//! Templates that change while a channel runs.
//!
//! A [`Replacement`] is everything in a channel that depends on its templates: engines, the adapter
//! that is bound to their records, and the position of the sequence number. It is created from the
//! new template file while the old one runs, and passed to
//! [`Handler::replace`](super::Handler::replace). It takes effect
//!
//! - at once, if the running templates have never decoded a message,
//! - at the next reset of the channel (SequenceReset, or numbers that restart),
//! - with the first packet whose template only the new set knows, if no reset was seen.
//!
//! Until then the running set continues to decode. Books, gaps and sequence numbers are kept.

use super::channel::HandlerChannel;
use super::decoding::{Decoding, PacketOutcome};
use super::replayed::Replays;
use super::{Delivery, FeedEngine, HandlerConfigError, HandlerCounters, SequenceSource, Sink};
use crate::framing::{Framing, FramingResetPolicy, next_block};
use crate::market::Adapt;

/// Parts of a channel that depend on its templates.
#[derive(Debug)]
pub struct Replacement<E, A> {
    pub(super) engine: E,
    /// Engines of snapshots and of definitions.
    pub(super) beside: Box<[[E; 2]; 2]>,
    pub(super) replay_engine: E,
    pub(super) adapter: A,
    pub(super) sequence: SequenceSource,
}

impl<E, A> Replacement<E, A> {
    /// Creates a replacement. `engine` is called for each feed that has its own dictionaries;
    /// `adapter` is bound to the same templates, and `sequence` is found in them.
    pub fn new(mut engine: impl FnMut() -> E, adapter: A, sequence: SequenceSource) -> Self {
        let beside = Box::new([[engine(), engine()], [engine(), engine()]]);
        Self { engine: engine(), beside, replay_engine: engine(), adapter, sequence }
    }
}

/// When a replacement takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// It has taken effect: nothing was decoded before.
    AtOnce,
    /// It takes effect at the next reset, or at the first packet that only it can decode.
    AtReset,
}

/// The decoding parts of a channel: all except the arbiter, which owns the packet.
pub(super) struct DecodingParts<'c, E, A> {
    pub(super) engine: &'c mut E,
    pub(super) replays: &'c mut Option<Replays<E>>,
    pub(super) decoding: &'c mut Decoding<A>,
    pub(super) sequence: &'c mut SequenceSource,
    pub(super) counters: &'c mut HandlerCounters,
    pub(super) staging: &'c mut Staging<E, A>,
}

impl<E: FeedEngine, A: Adapt<E::Message>> DecodingParts<'_, E, A> {
    /// Decodes the next packet. If only the waiting templates know its template, they take effect:
    /// the exchange has changed over, and no reset was seen.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        delivery: Delivery,
        sink: &mut impl Sink<E::Message>,
    ) -> PacketOutcome {
        let before = self.counters.messages;
        let outcome = self.decode_once(bytes, delivery, sink);
        let is_unknown = self.counters.messages.unknown_template > before.unknown_template;
        if !self.staging.is_waiting() || !is_unknown || outcome.messages > 0 {
            return outcome;
        }
        let framing = self.decoding.framing;
        // If dictionaries are never reset, a second attempt would find them changed.
        if framing.reset_policy() == FramingResetPolicy::Never
            || !self.staging.can_decode(&framing, bytes)
        {
            return outcome;
        }
        self.switch();
        // The packet is decoded after all, so the failed attempt does not count.
        self.counters.messages = before;
        self.decode_once(bytes, delivery, sink)
    }

    fn decode_once(
        &mut self,
        bytes: &[u8],
        delivery: Delivery,
        sink: &mut impl Sink<E::Message>,
    ) -> PacketOutcome {
        let counters = &mut self.counters.messages;
        self.decoding.incremental(self.engine, bytes, delivery, counters, sink)
    }

    /// Installs the waiting replacement, if there is one.
    pub(super) fn switch(&mut self) {
        let Some(waiting) = self.staging.waiting.take() else { return };
        let Replacement { engine, beside, replay_engine, adapter, sequence } = *waiting;
        *self.engine = engine;
        if let Some(replays) = self.replays {
            replays.engine = replay_engine;
        }
        self.decoding.recovery.set_line_times(adapter.has_sending_times());
        self.decoding.adapter = adapter;
        *self.sequence = sequence;
        self.staging.beside = Some(beside);
        self.counters.replacements += 1;
    }
}

/// A waiting replacement, and engines of snapshots and definitions that the handler has not
/// installed yet.
#[derive(Debug)]
pub(super) struct Staging<E, A> {
    waiting: Option<Box<Replacement<E, A>>>,
    beside: Option<Box<[[E; 2]; 2]>>,
}

impl<E, A> Default for Staging<E, A> {
    fn default() -> Self {
        Self { waiting: None, beside: None }
    }
}

impl<E, A> Staging<E, A> {
    pub(super) fn stage(&mut self, replacement: Replacement<E, A>) {
        self.waiting = Some(Box::new(replacement));
    }

    pub(super) const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Position of the sequence number in the pending templates.
    pub(super) fn sequence(&self) -> Option<&SequenceSource> {
        self.waiting.as_ref().map(|waiting| &waiting.sequence)
    }

    /// Returns the engines of snapshots and of definitions, once after a replacement took effect.
    #[inline]
    pub(super) fn take_engines(&mut self) -> Option<Box<[[E; 2]; 2]>> {
        self.beside.take()
    }
}

impl<E: FeedEngine, A> Staging<E, A> {
    /// True if the pending templates decode a packet to its end. Has no visible effect.
    pub(super) fn can_decode(&mut self, framing: &Framing, bytes: &[u8]) -> bool {
        self.waiting.as_mut().is_some_and(|waiting| {
            let can = decodes(&mut waiting.engine, framing, bytes);
            waiting.engine.lose_dictionaries();
            can
        })
    }
}

fn decodes<E: FeedEngine>(engine: &mut E, framing: &Framing, bytes: &[u8]) -> bool {
    engine.begin_packet();
    let mut at = 0;
    while at < bytes.len() {
        let Ok(Some(block)) = next_block(framing, bytes, at) else { return false };
        at = block.start;
        while let Some(rest) = bytes.get(at..block.end).filter(|rest| !rest.is_empty()) {
            match engine.decode(rest.into()) {
                Ok(decoded) => at = at.saturating_add(decoded.len.max(1)),
                Err(_) => return false,
            }
            if block.is_one_message {
                break;
            }
        }
    }
    true
}

impl<E: FeedEngine, A: Adapt<E::Message>> HandlerChannel<E, A> {
    /// Accepts new templates, which take effect at once or at a reset.
    pub(super) fn replace(
        &mut self,
        replacement: Replacement<E, A>,
    ) -> Result<Replaced, HandlerConfigError> {
        let kind = std::mem::discriminant::<SequenceSource>;
        if kind(&replacement.sequence) != kind(&self.sequence) {
            return Err(HandlerConfigError::SequenceSourceChanged);
        }
        if let SequenceSource::Message(peek) = &replacement.sequence
            && !peek.can_find()
        {
            return Err(HandlerConfigError::SeqNumNotFound);
        }
        self.staging.stage(replacement);
        if self.counters.messages.decoded + self.counters.snapshots.decoded > 0 {
            return Ok(Replaced::AtReset);
        }
        self.running().switch();
        Ok(Replaced::AtOnce)
    }

    pub(super) const fn running(&mut self) -> DecodingParts<'_, E, A> {
        let Self { engine, replays, decoding, sequence, counters, staging, .. } = self;
        DecodingParts { engine, replays, decoding, sequence, counters, staging }
    }
}
