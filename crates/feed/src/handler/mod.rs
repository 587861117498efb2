//! The complete path of a feed: packets of lines A and B and of snapshots in, messages and books
//! out.
//!
//! A [`Handler`] removes the framing, finds sequence numbers, arbitrates, decodes, recovers and
//! keeps books. It has no I/O and no clock: pass every packet to [`Handler::handle_packet`], and
//! call [`Handler::handle_timeout`] at the time that [`Handler::poll_timeout`] returns. Results go
//! to a [`Sink`]: messages in order and once, gaps, updates with their books, faults. A [`FeedEngine`]
//! decodes: [`Dynamic`] for any template set, [`Generated`] for the template set of a generated
//! module, which passes changed templates to the dynamic decoder.
//!
//! Bad input never stops the handler. A packet without a sequence number, with an unexpected
//! number, truncated or with unknown templates is counted and dropped. If every packet resets the
//! dictionaries, a packet that cannot be decoded is replaced by the other line's copy if that
//! arrives in time; messages before the error are delivered once. Packets lost on both lines make
//! books stale until updates or a snapshot prove them fresh.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use tickwire_fast::{Decoder, DecoderOptions, FieldValue, Message, Program, TemplateSet};
//! use tickwire_feed::arbiter::Line;
//! use tickwire_feed::framing::Preset;
//! use tickwire_feed::handler::{Delivery, Dynamic, FeedLine, Handler, HandlerOptions, SeqNumField};
//! use tickwire_feed::market::NoBooks;
//!
//! let xml = r#"<templates><template name="T" id="1"><uInt32 name="n"/></template></templates>"#;
//! let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
//! let framing = Preset::Cme.framing();
//! let engine = || {
//!     let reset = framing.reset_policy().into();
//!     let options = DecoderOptions::default().reset(reset);
//!     Dynamic::new(Decoder::with_options(program.clone(), options), &SeqNumField::default())
//! };
//! let options = HandlerOptions { framing, ..Default::default() };
//! let mut handler = Handler::new(options, engine, NoBooks)?;
//!
//! let mut seen = Vec::new();
//! let mut sink = |_: &Delivery, message: &Message| {
//!     let Some(FieldValue::UInt(n)) = message.root().field("n") else { return };
//!     seen.push(n);
//! };
//! let packet = |seq_num, n: u8| [0, 0, 0, seq_num, 0, 0xC0, 0x81, 0x80 | n];
//! handler.handle_packet(10, FeedLine::Incremental(Line::A), &packet(1, 5), &mut sink);
//! handler.handle_packet(20, FeedLine::Incremental(Line::A), &packet(3, 7), &mut sink);
//! handler.handle_packet(30, FeedLine::Incremental(Line::B), &packet(1, 5), &mut sink);
//! handler.handle_packet(40, FeedLine::Incremental(Line::B), &packet(2, 6), &mut sink);
//! assert_eq!(seen, [5, 6, 7]);
//! # Ok::<(), tickwire_feed::handler::HandlerConfigError>(())
//! ```

mod channel;
mod chunk_pool;
mod counters;
mod decoding;
mod driven;
mod engine;
mod generated;
mod misnumbered;
mod options;
mod outlet;
mod reload;
mod replayed;
mod seq_num;
mod sequencing;
mod session_times;
mod silence;
mod sink;
mod unnumbered;
mod view;

pub use counters::{HandlerCounters, InputCounters, MessageCounters};
pub use driven::PacketHandler;
pub use engine::{Dynamic, EngineMessage, FeedEngine};
pub use generated::{Generated, GeneratedMessage};
pub use options::{HandlerConfigError, HandlerOptions, SequenceSource};
pub use reload::{Replaced, Replacement};
pub use replayed::ReplayLoss;
pub use seq_num::{Peeked, SeqNumField, SeqNumPeek};
pub use sequencing::{Sequencing, SequencingError};
pub use sink::{Delivery, Fault, PacketOrigin, Sink};
/// Input of engines.
pub use tickwire_fast::BufferedPacket;
pub use view::HandlerView;

use std::fmt;

use crate::arbiter::{Arbiter, Gap, Line};
use crate::framing::{Framer, Framing, FramingError, FramingErrorKind, Segment};
use crate::market::Adapt;
use crate::recovery::Recovery;
use channel::HandlerChannel;
use chunk_pool::ChunkPool;

/// Source of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedLine {
    /// A line of the definition feed. Lines are not arbitrated: repeated definitions report nothing
    /// new.
    Definitions(Line),
    /// A line of the incremental feed.
    Incremental(Line),
    /// A line of the snapshot feed.
    Snapshot(Line),
}

impl fmt::Display for FeedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definitions(line) => write!(f, "definitions {line:?}"),
            Self::Incremental(line) => write!(f, "line {line:?}"),
            Self::Snapshot(line) => write!(f, "snapshots {line:?}"),
        }
    }
}

/// A feed beside the incremental one, with both of its lines.
#[derive(Debug)]
struct AuxiliaryFeed<E> {
    framers: [Framer; 2],
    engines: [E; 2],
    /// The number of the next packet; `None` before the first, 0 if packets have no numbers.
    next: [Option<u64>; 2],
}

impl<E> AuxiliaryFeed<E> {
    fn new(framing: Framing, engine: &mut impl FnMut() -> E) -> Self {
        let framers = [Framer::new(framing), Framer::new(framing)];
        Self { framers, engines: [engine(), engine()], next: [None; 2] }
    }
}

/// Returns the segment unless it is only a preamble. A bare preamble is a truncated packet or a
/// sign of life, so its number belongs to no message.
#[inline]
fn with_message(segment: Segment<'_>) -> Result<Segment<'_>, FramingError> {
    if segment.bytes.is_empty() && !segment.preamble.is_empty() {
        return Err(FramingError { offset: segment.offset, kind: FramingErrorKind::NoMessage });
    }
    Ok(segment)
}

/// True if a packet is the first of its line, or follows the previous one.
fn is_next(next: &mut Option<u64>, seq_num: Option<u64>) -> bool {
    let following = seq_num.and_then(|seq_num| seq_num.checked_add(1)).unwrap_or(0);
    next.replace(following).is_none_or(|expected| seq_num == Some(expected))
}

/// Handles one channel. See the [module](self).
#[derive(Debug)]
pub struct Handler<E, A> {
    framers: [Framer; 2],
    chunks: Option<ChunkPool>,
    snapshots: AuxiliaryFeed<E>,
    definitions: AuxiliaryFeed<E>,
    channel: HandlerChannel<E, A>,
}

impl<E: FeedEngine, A: Adapt<E::Message>> Handler<E, A> {
    /// Creates a handler. `engine` is called for each feed that has its own dictionaries: the
    /// incremental feed, and both lines of snapshots and of definitions.
    ///
    /// # Errors
    /// [`HandlerConfigError`] if the feed cannot be handled as described.
    pub fn new(
        options: HandlerOptions,
        mut engine: impl FnMut() -> E,
        adapter: A,
    ) -> Result<Self, HandlerConfigError> {
        options.check()?;
        let framing = options.framing;
        Ok(Self {
            framers: [Framer::new(framing), Framer::new(framing)],
            chunks: ChunkPool::of(&framing, options.arbiter.skew_ns),
            snapshots: AuxiliaryFeed::new(framing, &mut engine),
            definitions: AuxiliaryFeed::new(framing, &mut engine),
            channel: HandlerChannel::new(options, engine(), adapter),
        })
    }

    /// Returns the counters of the handler, in addition to those of arbiter and recovery.
    pub const fn counters(&self) -> &HandlerCounters {
        &self.channel.counters
    }

    /// Returns counters, arbiter and books.
    pub const fn view(&self) -> HandlerView<'_> {
        let HandlerChannel { counters, arbiter, decoding, staging, .. } = &self.channel;
        let is_replacement_waiting = staging.is_waiting();
        HandlerView { counters, arbiter, recovery: &decoding.recovery, is_replacement_waiting }
    }

    /// Returns the arbiter, for its counters.
    pub const fn arbiter(&self) -> &Arbiter {
        &self.channel.arbiter
    }

    /// Returns the books.
    pub const fn recovery(&self) -> &Recovery {
        &self.channel.decoding.recovery
    }

    /// Returns the books, for example to add instruments with their own depth.
    pub const fn recovery_mut(&mut self) -> &mut Recovery {
        &mut self.channel.decoding.recovery
    }

    /// Returns the engine of the incremental feed.
    pub const fn engine(&self) -> &E {
        &self.channel.engine
    }

    /// Returns the adapter, which turns messages into market data.
    pub const fn adapter(&self) -> &A {
        &self.channel.decoding.adapter
    }

    /// Adds an engine for lost packets that a replay service sends again;
    /// [`poll_lost`](Self::poll_lost) then returns gaps.
    pub fn with_replay(mut self, engine: E) -> Self {
        self.channel.add_replay(engine);
        self
    }

    /// Returns the next gap to request from a replay service, or a reset. `None` without
    /// [`with_replay`](Self::with_replay).
    pub fn poll_lost(&mut self) -> Option<ReplayLoss> {
        self.channel.replays.as_mut()?.poll()
    }

    /// Handles a lost packet of a replay service that arrived at `received_ns`; `bytes` are its
    /// FAST bytes, without preamble. Pass the packets of a gap in ascending order. Updates are
    /// applied to stale books that they continue, once the lines have shown that the packet belongs
    /// to their session.
    pub fn handle_replayed(
        &mut self,
        received_ns: u64,
        seq_num: u64,
        bytes: &[u8],
        sink: &mut impl Sink<E::Message>,
    ) {
        self.channel.handle_replayed(received_ns, seq_num, bytes, sink);
    }

    /// Ends the replay of a gap. If all of it was replayed, books that were fresh before the gap
    /// are fresh again.
    pub fn handle_replay_done(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        self.channel.handle_replay_done(gap, sink);
    }

    /// Replaces the templates: at once if nothing was decoded yet, else at the next reset. A later
    /// replacement supersedes a waiting one.
    ///
    /// # Errors
    /// [`HandlerConfigError`] if the new templates have their sequence numbers elsewhere; nothing
    /// changes then.
    pub fn replace(
        &mut self,
        replacement: Replacement<E, A>,
    ) -> Result<Replaced, HandlerConfigError> {
        self.channel.replace(replacement).inspect(|_| self.take_engines())
    }

    /// Installs the engines of a replacement that took effect.
    fn take_engines(&mut self) {
        if let Some(engines) = self.channel.staging.take_engines() {
            let [snapshots, definitions] = *engines;
            self.snapshots.engines = snapshots;
            self.definitions.engines = definitions;
        }
    }

    /// Begins another session, whose sender starts with empty dictionaries: for captures of several
    /// sessions. All dictionaries are reset, and sequence numbers restart at that of the next
    /// packet of a line; packets that wait for a missing one are delivered first.
    pub fn begin_session(&mut self, sink: &mut impl Sink<E::Message>) {
        for beside in [&mut self.snapshots, &mut self.definitions] {
            beside.engines.iter_mut().for_each(FeedEngine::reset_dictionaries);
            beside.next = [None; 2];
        }
        self.channel.expect_session(sink);
    }

    /// Handles a packet that arrived at `received_ns`; times should not go back.
    pub fn handle_packet(
        &mut self,
        received_ns: u64,
        source: FeedLine,
        packet: &[u8],
        sink: &mut impl Sink<E::Message>,
    ) {
        let counters = self.channel.counters.of(source);
        counters.packets += 1;
        counters.bytes += packet.len() as u64;
        let Self { framers, chunks, snapshots, definitions, channel } = self;
        let (beside, line) = match source {
            FeedLine::Incremental(line) => {
                let mut is_whole = false;
                let preamble_bytes = framers[line.index()].framing().preamble_bytes();
                for segment in framers[line.index()].split(packet) {
                    match segment.and_then(with_message) {
                        Ok(segment) => {
                            is_whole = true;
                            channel.handle_segment(received_ns, line, &segment, sink);
                        }
                        // The missing chunks may come out of order or on the other line; if not,
                        // the number becomes a gap.
                        Err(error) if chunks.is_some() && error.kind.is_of_chunks() => {}
                        Err(error) => {
                            channel.handle_framing_error(received_ns, source, error, sink)
                        }
                    }
                }
                let joined = chunks
                    .as_mut()
                    .and_then(|chunks| chunks.add(received_ns, channel.chunk_origin(line), packet));
                if let Some((seq_num, bytes)) = joined
                    && !is_whole
                {
                    let preamble = packet.get(..preamble_bytes).unwrap_or_default();
                    let (seq_num, offset) = (Some(seq_num), preamble.len());
                    let segment = Segment { preamble, offset, bytes, seq_num, reset_before: true };
                    channel.handle_segment(received_ns, line, &segment, sink);
                }
                return self.take_engines();
            }
            FeedLine::Definitions(line) => (definitions, line),
            FeedLine::Snapshot(line) => (snapshots, line),
        };
        let AuxiliaryFeed { framers, engines, next } = beside;
        for segment in framers[line.index()].split(packet) {
            match segment.and_then(with_message) {
                Ok(segment) => {
                    let (engine, next) = (&mut engines[line.index()], &mut next[line.index()]);
                    if channel.keeps_dictionaries && !is_next(next, segment.seq_num) {
                        engine.lose_dictionaries();
                    }
                    channel.handle_beside(engine, received_ns, source, &segment, sink);
                }
                Err(error) => channel.handle_framing_error(received_ns, source, error, sink),
            }
        }
    }

    /// Fires the timers due at `now_ns`, which declare missing packets lost. All packets received
    /// before must have been passed to the handler.
    pub fn handle_timeout(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        self.channel.handle_timeout(now_ns, sink);
        self.take_engines();
    }

    /// Ends the input, at the end of captures. Replayed packets that waited for later messages to
    /// identify their session are used.
    pub fn finish(&mut self, sink: &mut impl Sink<E::Message>) {
        self.channel.decoding.finish(sink);
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout); `None` while
    /// nothing is held.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.channel.poll_timeout()
    }
}

#[cfg(test)]
mod tests;
