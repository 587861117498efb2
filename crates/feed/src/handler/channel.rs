//! Segments in the order they come to segments in the order of their numbers, decoded.

use super::decoding::Decoding;
use super::unnumbered::Unnumbered;
use super::{
    Adapt, Delivery, Engine, Fault, HandlerCounters, HandlerOptions, Numbering, Peeked, Sink,
    Source,
};
use crate::arbiter::{Arbiter, Gap, Line, Output};
use crate::framing::{ResetPolicy, Segment, next_block};
use crate::recovery::Recovery;

/// A handler behind its framers.
#[derive(Debug)]
pub(super) struct Channel<E, A> {
    numbering: Numbering,
    hold_ns: u64,
    /// Whether what one packet leaves in dictionaries counts in the next.
    keeps_dictionaries: bool,
    pub(super) engine: E,
    pub(super) arbiter: Arbiter,
    unnumbered: Unnumbered,
    /// The packet that began the numbering, with its number in the one before.
    reset_packet: Option<(u64, Vec<u8>)>,
    pub(super) decoding: Decoding<A>,
    pub(super) counters: HandlerCounters,
}

impl<E: Engine, A: Adapt<E::Message>> Channel<E, A> {
    pub(super) fn new(options: HandlerOptions, engine: E, adapter: A) -> Self {
        let framing = options.framing;
        let policy = framing.reset_policy();
        let decoding = Decoding {
            framing,
            numbers_messages: matches!(options.numbering, Numbering::Message(_)),
            adapter,
            recovery: Recovery::new(options.recovery),
        };
        Self {
            numbering: options.numbering,
            hold_ns: options.arbiter.hold_ns,
            keeps_dictionaries: matches!(policy, ResetPolicy::Never | ResetPolicy::Template),
            engine,
            arbiter: Arbiter::new(options.arbiter),
            unnumbered: Unnumbered::default(),
            reset_packet: None,
            decoding,
            counters: HandlerCounters::default(),
        }
    }

    /// Takes a segment of a packet of the incremental feed.
    pub(super) fn handle_segment(
        &mut self,
        received_ns: u64,
        line: Line,
        segment: &Segment<'_>,
        sink: &mut impl Sink<E::Message>,
    ) {
        match self.seq_num_of(segment) {
            Peeked::Number(seq_num) if self.is_reset_packet(seq_num, segment.bytes) => {}
            Peeked::Number(seq_num) => {
                self.arbiter.handle_packet(received_ns, line, seq_num, segment.bytes);
                self.drain(sink);
            }
            Peeked::Unnumbered => self.handle_unnumbered(received_ns, line, segment.bytes, sink),
            Peeked::Unknown => {
                let source = Source::Incremental(line);
                self.counters.of(source).no_seq_num += 1;
                sink.handle_fault(&Fault::NoSeqNum { source, len: segment.bytes.len() });
            }
        }
    }

    /// Whether a packet is the one that began the numbering, come on the other line: its number
    /// would be one ahead in the new numbering.
    fn is_reset_packet(&self, seq_num: u64, bytes: &[u8]) -> bool {
        let is_ahead = self.arbiter.next_seq_num().is_some_and(|next| seq_num > next);
        let known = self.reset_packet.as_ref();
        is_ahead && known.is_some_and(|(of, packet)| *of == seq_num && packet == bytes)
    }

    /// Takes a segment of a packet of the snapshot feed.
    pub(super) fn handle_snapshot(
        &mut self,
        engine: &mut E,
        segment: &Segment<'_>,
        sink: &mut impl Sink<E::Message>,
    ) {
        let counters = &mut self.counters.snapshots;
        self.decoding.snapshot(engine, segment.bytes, segment.seq_num, counters, sink);
    }

    pub(super) fn handle_timeout(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        self.arbiter.handle_timeout(now_ns);
        self.drain(sink);
        let is_due = |ns: u64| now_ns >= ns.saturating_add(self.hold_ns);
        if self.unnumbered.received_ns().is_some_and(is_due) {
            self.deliver_unnumbered(sink);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        let unnumbered = self.unnumbered.received_ns();
        let unnumbered = unnumbered.map(|ns| ns.saturating_add(self.hold_ns));
        self.arbiter.poll_timeout().into_iter().chain(unnumbered).min()
    }

    fn seq_num_of(&self, segment: &Segment<'_>) -> Peeked {
        match &self.numbering {
            Numbering::None => Peeked::Unnumbered,
            Numbering::Preamble => segment.seq_num.map_or(Peeked::Unknown, Peeked::Number),
            Numbering::Message(peek) => {
                let block = next_block(&self.decoding.framing, segment.bytes, 0).ok().flatten();
                let messages = block.and_then(|block| segment.bytes.get(block.start..block.end));
                messages.map_or(Peeked::Unknown, |messages| peek.peek(messages))
            }
        }
    }

    fn handle_unnumbered(
        &mut self,
        received_ns: u64,
        line: Line,
        bytes: &[u8],
        sink: &mut impl Sink<E::Message>,
    ) {
        self.counters.of(Source::Incremental(line)).unnumbered += 1;
        if let Numbering::None = self.numbering {
            let delivery = Delivery { seq_num: None, line, received_ns, index: 0 };
            let counters = &mut self.counters.messages;
            self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
            return;
        }
        if bytes.is_empty() || self.unnumbered.is_known(bytes) {
            return;
        }
        if self.unnumbered.is_waiting() {
            self.deliver_unnumbered(sink);
        }
        self.unnumbered.hold(line, received_ns, bytes);
    }

    fn deliver_unnumbered(&mut self, sink: &mut impl Sink<E::Message>) {
        let Some((line, received_ns, bytes)) = self.unnumbered.take() else { return };
        let delivery = Delivery { seq_num: None, line, received_ns, index: 0 };
        let counters = &mut self.counters.messages;
        self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
    }

    /// Takes everything that is in its turn.
    fn drain(&mut self, sink: &mut impl Sink<E::Message>) {
        while let Some(output) = self.arbiter.poll_output() {
            match output {
                Output::Deliver { seq_num, line, received_ns, bytes } => {
                    self.unnumbered.note_numbered();
                    let delivery = Delivery { seq_num: Some(seq_num), line, received_ns, index: 0 };
                    let counters = &mut self.counters.messages;
                    let engine = &mut self.engine;
                    let outcome =
                        self.decoding.incremental(engine, bytes, delivery, counters, sink);
                    if outcome.is_lost {
                        sink.handle_gap(Gap { first: seq_num, count: 1 });
                    }
                    if outcome.reset_to.is_some() {
                        self.reset_packet = Some((seq_num, bytes.to_vec()));
                    }
                    if let (Numbering::Message(_), Some(last)) = (&self.numbering, outcome.seq_num)
                    {
                        self.arbiter.advance_to(last.saturating_add(1));
                    }
                    if let Some(next_seq_num) = outcome.reset_to {
                        self.begin_anew(seq_num, next_seq_num, sink);
                    }
                }
                Output::Gap(gap) => {
                    if self.keeps_dictionaries {
                        self.engine.lose_dictionaries();
                    }
                    self.decoding.recovery.handle_gap(gap);
                    sink.handle_gap(gap);
                }
                Output::Reset { seq_num } => {
                    if self.keeps_dictionaries {
                        self.engine.lose_dictionaries();
                    }
                    self.decoding.recovery.handle_reset();
                    sink.handle_reset(seq_num);
                }
            }
        }
    }

    /// The exchange said that the packet after `seq_num` has another number.
    fn begin_anew(&mut self, seq_num: u64, next: u64, sink: &mut impl Sink<E::Message>) {
        if next == seq_num.saturating_add(1) {
            self.decoding.recovery.handle_reset();
            sink.handle_reset(next);
        } else {
            self.arbiter.reset(next);
        }
    }
}
