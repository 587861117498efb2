//! Segments in the order they come to segments in the order of their numbers, decoded.

use super::decoding::{Decoding, PacketOutcome};
use super::unnumbered::Unnumbered;
use super::{
    Adapt, Delivery, Engine, Fault, HandlerCounters, HandlerOptions, Numbering, Peeked, Sink,
    Source,
};
use crate::arbiter::{Arbiter, Gap, Line, Output};
use crate::framing::{ResetPolicy, Segment, next_block};
use crate::recovery::Recovery;

/// What a line may still bring of a numbering that a SequenceReset ended.
#[derive(Clone, Copy, Debug)]
struct OldNumbering {
    /// The number of the packet that ended it.
    end: u64,
    /// Until when its packets are waited for.
    until_ns: u64,
}

/// A packet that could not be decoded, while a copy of it is waited for.
#[derive(Clone, Copy, Debug)]
struct Rejected {
    seq_num: u64,
    /// Messages of it that were decoded, and are not to be told of twice.
    messages: u32,
    /// The first number that is lost if no better copy comes.
    lost: u64,
    /// The highest number of its messages.
    last: Option<u64>,
}

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
    rejected: Option<Rejected>,
    /// The packet that began the numbering, with its number in the one before.
    reset_packet: Option<(u64, Vec<u8>)>,
    /// By line, what it may still bring of the numbering before.
    old: [Option<OldNumbering>; 2],
    /// By line of snapshots, the number of the next packet; `None` before the first, 0 where packets
    /// have none.
    snapshot_next: [Option<u64>; 2],
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
            rejected: None,
            reset_packet: None,
            old: [None; 2],
            snapshot_next: [None; 2],
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
            Peeked::Number(seq_num)
                if self.is_reset_packet(line, seq_num, segment.bytes)
                    || self.is_old(received_ns, line, seq_num) =>
            {
                self.counters.of(Source::Incremental(line)).old_numbering += 1;
            }
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

    /// Whether a packet is of the numbering before: within the hold time, its line has not come to
    /// the new one, which it shows by a number that is not ahead or was not used before.
    fn is_old(&mut self, received_ns: u64, line: Line, seq_num: u64) -> bool {
        let is_ahead = self.is_ahead(seq_num);
        let old = &mut self.old[line.index()];
        *old = old.filter(|old| is_ahead && seq_num <= old.end && received_ns <= old.until_ns);
        old.is_some()
    }

    /// Whether a packet is the one that began the numbering, come on the other line: its number
    /// would be one ahead in the new numbering.
    fn is_reset_packet(&mut self, line: Line, seq_num: u64, bytes: &[u8]) -> bool {
        let known = self.reset_packet.as_ref();
        let is_known = known.is_some_and(|(of, packet)| *of == seq_num && packet == bytes);
        let is_copy = is_known && self.is_ahead(seq_num);
        if is_copy {
            self.old[line.index()] = None;
        }
        is_copy
    }

    fn is_ahead(&self, seq_num: u64) -> bool {
        self.arbiter.next_seq_num().is_some_and(|next| seq_num > next)
    }

    /// Takes a segment of a packet of the snapshot feed.
    pub(super) fn handle_snapshot(
        &mut self,
        engine: &mut E,
        line: Line,
        segment: &Segment<'_>,
        sink: &mut impl Sink<E::Message>,
    ) {
        if self.keeps_dictionaries && !self.is_next_snapshot(line, segment.seq_num) {
            engine.lose_dictionaries();
        }
        let counters = &mut self.counters.snapshots;
        self.decoding.snapshot(engine, segment.bytes, segment.seq_num, counters, sink);
    }

    /// Whether a packet of snapshots is the first of its line, or known to follow the one before.
    fn is_next_snapshot(&mut self, line: Line, seq_num: Option<u64>) -> bool {
        let next = seq_num.and_then(|seq_num| seq_num.checked_add(1)).unwrap_or(0);
        let expected = self.snapshot_next[line.index()].replace(next);
        expected.is_none_or(|expected| seq_num == Some(expected))
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
            let outcome =
                self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
            self.lose(outcome.lost);
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
        let outcome = self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
        self.lose(outcome.lost);
    }

    /// The first number, if any, that a packet should have had and did not: books are told.
    fn lose(&mut self, first: Option<u64>) {
        if let Some(first) = first {
            self.decoding.recovery.handle_gap(Gap { first, count: 1 });
        }
    }

    /// Takes everything that is in its turn.
    fn drain(&mut self, sink: &mut impl Sink<E::Message>) {
        while let Some(output) = self.arbiter.poll_output() {
            match output {
                Output::Deliver { seq_num, line, received_ns, bytes } => {
                    self.unnumbered.note_numbered();
                    let rejected = self.rejected.take_if(|rejected| rejected.seq_num == seq_num);
                    let index = rejected.map_or(0, |rejected| rejected.messages);
                    let delivery = Delivery { seq_num: Some(seq_num), line, received_ns, index };
                    let counters = &mut self.counters.messages;
                    let engine = &mut self.engine;
                    let outcome =
                        self.decoding.incremental(engine, bytes, delivery, counters, sink);
                    let reset_packet = outcome.reset_to.map(|_| (seq_num, bytes.to_vec()));
                    if self.is_better_copy_expected(seq_num, &outcome) {
                        continue;
                    }
                    if outcome.lost.is_some() {
                        self.lose(outcome.lost);
                        sink.handle_gap(Gap { first: seq_num, count: 1 });
                    }
                    self.reset_packet = reset_packet.or(self.reset_packet.take());
                    self.pass_numbers(outcome.seq_num);
                    if let Some(next_seq_num) = outcome.reset_to {
                        let end = seq_num;
                        let until_ns = received_ns.saturating_add(self.hold_ns);
                        self.old = [Some(OldNumbering { end, until_ns }); 2];
                        self.old[line.index()] = None;
                        self.begin_anew(seq_num, next_seq_num, sink);
                    }
                }
                Output::Gap(gap) => {
                    if self.keeps_dictionaries {
                        self.engine.lose_dictionaries();
                    }
                    let rejected = self.rejected.take_if(|rejected| rejected.seq_num == gap.first);
                    let gap_of_books = rejected.map_or(gap, |r| Gap { first: r.lost, count: 1 });
                    self.decoding.recovery.handle_gap(gap_of_books);
                    sink.handle_gap(gap);
                    self.pass_numbers(rejected.and_then(|rejected| rejected.last));
                }
                Output::Reset { seq_num } => {
                    self.rejected = None;
                    if self.keeps_dictionaries {
                        self.engine.lose_dictionaries();
                    }
                    self.decoding.recovery.handle_reset();
                    sink.handle_reset(seq_num);
                }
            }
        }
    }

    /// Hands back a packet that was not decoded to its end, where a copy of it may do better: where
    /// dictionaries are emptied before it, so that nothing of the bad one is left. Returns whether one
    /// is waited for.
    fn is_better_copy_expected(&mut self, seq_num: u64, outcome: &PacketOutcome) -> bool {
        let (Some(lost), None, false) = (outcome.lost, outcome.reset_to, self.keeps_dictionaries)
        else {
            return false;
        };
        let is_expected = self.arbiter.reject();
        if is_expected {
            let (messages, last) = (outcome.messages, outcome.seq_num);
            self.rejected = Some(Rejected { seq_num, messages, lost, last });
        }
        is_expected
    }

    /// Where messages have numbers, those up to the last one of a packet are done with.
    fn pass_numbers(&mut self, last: Option<u64>) {
        if let (Numbering::Message(_), Some(last)) = (&self.numbering, last) {
            self.arbiter.advance_to(last.saturating_add(1));
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
