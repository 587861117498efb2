//! Puts segments into the order of their numbers, and decodes them.

use super::chunk_pool::ChunkOrigin;
use super::decoding::{Decoding, PacketOutcome};
use super::misnumbered::NumberAgreement;
use super::reload::{DecodingParts, Staging};
use super::replayed::Replays;
use super::silence::Silence;
use super::unnumbered::Unnumbered;
use super::{
    Delivery, Fault, FeedEngine, FeedLine, HandlerCounters, HandlerOptions, Peeked, ReplayLoss,
    SequenceSource, Sink,
};
use crate::arbiter::{Arbiter, ArbiterOutput, Gap, Line};
use crate::framing::{FramingError, FramingErrorKind, Segment, next_block};
use crate::market::Adapt;
use crate::recovery::{Recovery, RecoveryOptions};

/// A packet that could not be decoded, while another copy of it is expected.
#[derive(Clone, Copy, Debug)]
struct RejectedPacket {
    seq_num: u64,
    /// Messages of it that were decoded; they are not reported again.
    messages: u32,
    /// The first number that is lost if no better copy comes.
    lost: u64,
    /// The highest number of its messages.
    last: Option<u64>,
}

/// Drops the rejected packet once its copy is delivered; returns how many of its messages were
/// delivered before.
fn take_rejected(rejected: &mut Option<RejectedPacket>, seq_num: u64) -> u32 {
    rejected.take_if(|rejected| rejected.seq_num == seq_num).map_or(0, |r| r.messages)
}

/// The part of a handler that follows its framers.
#[derive(Debug)]
pub(super) struct HandlerChannel<E, A> {
    pub(super) sequence: SequenceSource,
    hold_ns: u64,
    /// How far one line may be behind the other, in nanoseconds.
    skew_ns: u64,
    /// A gap of more numbers than this was confirmed by later packets.
    reorder_max: u64,
    /// True if the state of the dictionaries persists across packets.
    pub(super) keeps_dictionaries: bool,
    pub(super) engine: E,
    /// Lost packets to be sent again, if there is a replay service.
    pub(super) replays: Option<Replays<E>>,
    /// New templates, which take effect at a reset.
    pub(super) staging: Staging<E, A>,
    pub(super) arbiter: Arbiter,
    unnumbered: Unnumbered,
    silence: Silence,
    rejected: Option<RejectedPacket>,
    /// True if the next numbered packet begins a session with empty dictionaries.
    expects_session: bool,
    pub(super) decoding: Decoding<A>,
    pub(super) counters: HandlerCounters,
}

impl<E: FeedEngine, A: Adapt<E::Message>> HandlerChannel<E, A> {
    pub(super) fn new(options: HandlerOptions, engine: E, adapter: A) -> Self {
        let framing = options.framing;
        let has_times = adapter.has_sending_times();
        let mut decoding = Decoding {
            framing,
            agreement: NumberAgreement::default(),
            numbers_messages: matches!(options.sequence, SequenceSource::Message(_)),
            adapter,
            has_replay: false,
            recovery: Recovery::new(RecoveryOptions {
                is_numbered: !matches!(options.sequence, SequenceSource::None),
                skew_ns: options.arbiter.skew_ns,
                ..options.recovery
            }),
        };
        decoding.recovery.set_line_times(has_times);
        Self {
            sequence: options.sequence,
            hold_ns: options.arbiter.hold_ns,
            reorder_max: options.arbiter.reorder_max,
            keeps_dictionaries: decoding.keeps_dictionaries(),
            skew_ns: options.arbiter.skew_ns,
            engine,
            replays: None,
            staging: Staging::default(),
            arbiter: Arbiter::new(options.arbiter),
            unnumbered: Unnumbered::default(),
            silence: Silence::new(options.heartbeat_ns),
            rejected: None,
            expects_session: false,
            decoding,
            counters: HandlerCounters::default(),
        }
    }

    /// Handles a segment of a packet of the incremental feed.
    pub(super) fn handle_segment(
        &mut self,
        received_ns: u64,
        line: Line,
        segment: &Segment<'_>,
        sink: &mut impl Sink<E::Message>,
    ) {
        self.decoding.recovery.set_time(received_ns);
        match self.seq_num_of(segment) {
            Peeked::Number(seq_num) => {
                if self.expects_session {
                    self.restart(seq_num, sink);
                }
                let next = self.arbiter.handle_packet(received_ns, line, seq_num, segment.bytes);
                self.handle_next(next, sink);
                self.note_out_of_sequence(received_ns, line, sink);
            }
            Peeked::Unnumbered => self.handle_unnumbered(received_ns, line, segment.bytes, sink),
            Peeked::Unknown => {
                let source = FeedLine::Incremental(line);
                self.counters.of(source).no_seq_num += 1;
                sink.handle_fault(&Fault::NoSeqNum { source, len: segment.bytes.len() });
            }
        }
    }

    /// Handles a segment of a packet of snapshots or definitions.
    pub(super) fn handle_beside(
        &mut self,
        engine: &mut E,
        received_ns: u64,
        source: FeedLine,
        segment: &Segment<'_>,
        sink: &mut impl Sink<E::Message>,
    ) {
        let delivery = |line| Delivery::of_packet(segment.seq_num, line, received_ns);
        let Self { decoding, counters, .. } = self;
        match source {
            FeedLine::Definitions(line) => {
                let counters = &mut counters.definitions;
                decoding.definitions(engine, segment.bytes, delivery(line), counters, sink);
            }
            FeedLine::Snapshot(line) | FeedLine::Incremental(line) => {
                let counters = &mut counters.snapshots;
                decoding.snapshot(engine, segment.bytes, delivery(line), counters, sink);
            }
        }
    }

    /// Counts and reports a packet with wrong framing. A bare preamble counts as a sign of life.
    pub(super) fn handle_framing_error(
        &mut self,
        received_ns: u64,
        source: FeedLine,
        error: FramingError,
        sink: &mut impl Sink<E::Message>,
    ) {
        if let (FeedLine::Incremental(line), FramingErrorKind::NoMessage) = (source, &error.kind)
            && !self.arbiter.is_excluded(line)
        {
            self.silence.note_packet(received_ns);
        }
        self.counters.of(source).malformed += 1;
        sink.handle_fault(&Fault::Framing { source, error });
    }

    pub(super) fn handle_timeout(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        self.arbiter.handle_timeout(now_ns);
        self.drain(sink);
        let is_due = |ns: u64| now_ns >= ns.saturating_add(self.hold_ns);
        if self.unnumbered.received_ns().is_some_and(is_due) {
            self.deliver_unnumbered(sink);
        }
        self.release_replays(now_ns, sink);
        self.decoding.handle_timeout(now_ns, sink);
        if let Some(since_ns) = self.silence.begin(now_ns) {
            self.decoding.handle_silence(true, sink);
            sink.handle_silence(true, since_ns);
        }
    }

    /// Packets out of sequence make no book fresh, but the lines are not silent: the stale reason
    /// changes.
    fn note_out_of_sequence(
        &mut self,
        received_ns: u64,
        line: Line,
        sink: &mut impl Sink<E::Message>,
    ) {
        if self.arbiter.out_of_sequence().is_some() && !self.arbiter.is_excluded(line) {
            self.silence.note_packet(received_ns);
            self.end_silence(received_ns, sink);
        }
    }

    /// Ends a silence after a packet was delivered in order, or while books are stale because lines are
    /// out of sequence.
    fn end_silence(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        if self.silence.end() {
            self.decoding.handle_silence(false, sink);
            sink.handle_silence(false, now_ns);
        }
    }

    /// Adds recovery of lost packets by a replay service; `engine` decodes them.
    pub(super) fn add_replay(&mut self, engine: E) {
        self.replays = Some(Replays::new(engine, self.skew_ns));
        self.decoding.has_replay = true;
    }

    /// Returns the origin whose chunks may be joined with those of this line now.
    pub(super) fn chunk_origin(&self, line: Line) -> ChunkOrigin {
        let line_alone = (!self.arbiter.is_trusted(line)).then_some(line);
        ChunkOrigin { epoch: self.arbiter.epoch_of(line), line: line_alone }
    }

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        let unnumbered = self.unnumbered.received_ns();
        let unnumbered = unnumbered.map(|ns| ns.saturating_add(self.hold_ns));
        let timeouts = [
            self.arbiter.poll_timeout(),
            self.arbiter.silence_due_ns().filter(|_| self.silence.is_watched()),
            unnumbered,
            self.decoding.recovery.poll_timeout(),
            self.silence.due_ns(),
            self.replays.as_ref().and_then(Replays::due_ns),
        ];
        timeouts.into_iter().flatten().min()
    }

    fn seq_num_of(&self, segment: &Segment<'_>) -> Peeked {
        match (self.seq_num_by(&self.sequence, segment), self.staging.sequence()) {
            (Peeked::Unknown, Some(waiting)) => self.seq_num_by(waiting, segment),
            (found, _) => found,
        }
    }

    fn seq_num_by(&self, sequence: &SequenceSource, segment: &Segment<'_>) -> Peeked {
        match sequence {
            SequenceSource::None => Peeked::Unnumbered,
            SequenceSource::Preamble => segment.seq_num.map_or(Peeked::Unknown, Peeked::Number),
            SequenceSource::Message(peek) => {
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
        self.counters.of(FeedLine::Incremental(line)).unnumbered += 1;
        self.silence.note_packet(received_ns);
        if let SequenceSource::None = self.sequence {
            self.end_silence(received_ns, sink);
            let delivery = Delivery::of_packet(None, line, received_ns);
            let counters = &mut self.counters.messages;
            let outcome =
                self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
            self.lose(outcome.lost, sink);
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
        let delivery = Delivery::of_packet(None, line, received_ns);
        let counters = &mut self.counters.messages;
        let outcome = self.decoding.incremental(&mut self.engine, bytes, delivery, counters, sink);
        self.lose(outcome.lost, sink);
    }

    /// Reports to the books the first number of a loss, if there is one.
    fn lose(&mut self, first: Option<u64>, sink: &mut impl Sink<E::Message>) {
        if let Some(first) = first {
            self.decoding.handle_gap(Gap { first, count: 1 }, sink);
        }
    }

    /// Handles a packet that the arbiter returned at once, then everything that follows it.
    fn handle_next(&mut self, next: Option<ArbiterOutput<'_>>, sink: &mut impl Sink<E::Message>) {
        if let Some(ArbiterOutput::Deliver {
            seq_num,
            line,
            received_ns,
            out_of_sequence,
            packet,
        }) = next
        {
            self.decoding.note_sequence(out_of_sequence, Some(seq_num), sink);
            let delivery = self.begin_delivery(seq_num, line, received_ns);
            // The packet belongs to the caller: nothing of this channel is borrowed.
            let outcome = self.running().decode(packet.bytes(), delivery, sink);
            self.end_delivery(&delivery, &outcome, sink);
        }
        self.drain(sink);
    }

    /// Handles all output that is due.
    fn drain(&mut self, sink: &mut impl Sink<E::Message>) {
        while let Some(output) = self.arbiter.poll_output() {
            match output {
                ArbiterOutput::Deliver { seq_num, line, received_ns, out_of_sequence, packet } => {
                    let Self { rejected, unnumbered, decoding, .. } = self;
                    unnumbered.note_numbered();
                    decoding.note_sequence(out_of_sequence, Some(seq_num), sink);
                    let index = take_rejected(rejected, seq_num);
                    let of_packet = Delivery::of_packet(Some(seq_num), line, received_ns);
                    let delivery = Delivery { index, ..of_packet };
                    let bytes = packet.bytes();
                    let Self { engine, replays, decoding, sequence, counters, staging, .. } = self;
                    let mut running =
                        DecodingParts { engine, replays, decoding, sequence, counters, staging };
                    let outcome = running.decode(bytes, delivery, sink);
                    self.end_delivery(&delivery, &outcome, sink);
                }
                ArbiterOutput::Gap(gap) => self.handle_gap(gap, sink),
                ArbiterOutput::Reset { seq_num } => self.handle_reset(seq_num, sink),
            }
        }
        self.decoding.note_sequence(self.arbiter.out_of_sequence(), None, sink);
        while let Some(event) = self.arbiter.poll_event() {
            sink.handle_line(&event);
        }
    }

    fn begin_delivery(&mut self, seq_num: u64, line: Line, received_ns: u64) -> Delivery {
        self.unnumbered.note_numbered();
        let index = take_rejected(&mut self.rejected, seq_num);
        Delivery { index, ..Delivery::of_packet(Some(seq_num), line, received_ns) }
    }

    /// Completes a delivery with the actions that its packet requires.
    fn end_delivery(
        &mut self,
        delivery: &Delivery,
        outcome: &PacketOutcome,
        sink: &mut impl Sink<E::Message>,
    ) {
        let Some(seq_num) = delivery.seq_num else { return };
        // Packets of a line that is excluded, and repeated numbers, are no sign of life.
        self.silence.note_packet(delivery.received_ns);
        self.end_silence(delivery.received_ns, sink);
        if self.is_better_copy_expected(seq_num, outcome) {
            return;
        }
        if outcome.lost.is_some() {
            let gap = Gap { first: seq_num, count: 1 };
            sink.handle_gap(gap);
            self.lose(outcome.lost, sink);
            if outcome.lost == Some(seq_num) {
                self.note_lost(ReplayLoss::Gap(gap), outcome.messages, sink);
            }
        }
        self.pass_numbers(outcome.seq_num);
        self.note_sent(delivery, outcome, sink);
        if let Some(next_seq_num) = outcome.reset_to {
            self.begin_epoch(next_seq_num, sink);
        }
    }

    /// Records the sending time of a packet that is known to be whole; replayed packets are
    /// compared with it.
    fn note_sent(
        &mut self,
        delivery: &Delivery,
        outcome: &PacketOutcome,
        sink: &mut impl Sink<E::Message>,
    ) {
        let (Some(replays), None, Some(sending_time)) =
            (&mut self.replays, outcome.lost, outcome.sending_time)
        else {
            return;
        };
        replays.note_sent(delivery.seq_num, sending_time);
        // Waiting packets may belong to the session that a reset begins.
        if replays.is_waiting() && outcome.reset_to.is_none() {
            self.release_replays(delivery.received_ns, sink);
        }
    }

    fn handle_gap(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        if gap.count > self.reorder_max {
            self.decoding.agreement = NumberAgreement::default();
        }
        if self.keeps_dictionaries {
            self.engine.lose_dictionaries();
        }
        let rejected = self.rejected.take_if(|rejected| rejected.seq_num == gap.first);
        let gap_of_books = rejected.map_or(gap, |r| Gap { first: r.lost, count: 1 });
        sink.handle_gap(gap);
        self.decoding.handle_gap(gap_of_books, sink);
        if gap_of_books == gap {
            self.note_lost(
                ReplayLoss::Gap(gap),
                rejected.map_or(0, |rejected| rejected.messages),
                sink,
            );
        }
        self.pass_numbers(rejected.and_then(|rejected| rejected.last));
    }

    fn handle_reset(&mut self, seq_num: u64, sink: &mut impl Sink<E::Message>) {
        self.rejected = None;
        if self.keeps_dictionaries {
            self.engine.lose_dictionaries();
        }
        self.begin_session(seq_num, sink);
    }

    /// Prepares for a session whose sender's dictionaries are empty.
    pub(super) fn expect_session(&mut self, sink: &mut impl Sink<E::Message>) {
        self.deliver_unnumbered(sink);
        match self.sequence {
            SequenceSource::None => {
                self.engine.reset_dictionaries();
                self.decoding.handle_reset(sink);
            }
            SequenceSource::Preamble | SequenceSource::Message(_) => self.expects_session = true,
        }
    }

    /// Delivers held packets, then begins the expected session with `seq_num`.
    #[cold]
    fn restart(&mut self, seq_num: u64, sink: &mut impl Sink<E::Message>) {
        self.expects_session = false;
        self.arbiter.reset(seq_num);
        self.drain(sink);
        // The new session may repeat packets of the old one.
        self.arbiter.forget_past();
        self.engine.reset_dictionaries();
    }

    /// Begins a session: books are emptied, and waiting templates take effect.
    fn begin_session(&mut self, seq_num: u64, sink: &mut impl Sink<E::Message>) {
        self.running().switch();
        self.decoding.agreement = NumberAgreement::default();
        self.note_lost(ReplayLoss::Reset, 0, sink);
        if let Some(replays) = &mut self.replays {
            self.counters.replays_refused += replays.refuse_waiting();
        }
        self.decoding.handle_reset(sink);
        sink.handle_reset(seq_num);
    }

    /// Reports a loss to the replay service; the first `known` messages of a gap's first packet
    /// were already delivered.
    fn note_lost(&mut self, lost: ReplayLoss, known: u32, sink: &mut impl Sink<E::Message>) {
        let is_noted = self.replays.as_mut().is_some_and(|replays| replays.note(lost, known));
        if let (true, ReplayLoss::Gap(gap)) = (is_noted, lost) {
            sink.handle_replay_begun(gap);
        }
    }

    /// Rejects a packet that was not decoded to its end, if another copy may be complete. It
    /// requires that dictionaries are reset before each packet, so that no state of the bad one
    /// remains. Returns true if a copy is expected.
    fn is_better_copy_expected(&mut self, seq_num: u64, outcome: &PacketOutcome) -> bool {
        let (Some(lost), None, false) = (outcome.lost, outcome.reset_to, self.keeps_dictionaries)
        else {
            return false;
        };
        let is_expected = self.arbiter.reject();
        if is_expected {
            let (messages, last) = (outcome.messages, outcome.seq_num);
            self.rejected = Some(RejectedPacket { seq_num, messages, lost, last });
        }
        is_expected
    }

    /// On feeds that number messages, completes the numbers up to the last one of a packet.
    fn pass_numbers(&mut self, last: Option<u64>) {
        if let (SequenceSource::Message(_), Some(last)) = (&self.sequence, last) {
            self.arbiter.advance_to(last.saturating_add(1));
        }
    }

    /// Handles a SequenceReset to `next` in the packet delivered last.
    fn begin_epoch(&mut self, next: u64, sink: &mut impl Sink<E::Message>) {
        if self.arbiter.next_seq_num() == Some(next) {
            self.begin_session(next, sink);
        } else {
            self.arbiter.reset(next);
        }
    }
}
