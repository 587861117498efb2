//! From the FAST bytes of a packet to messages, events and books.

use super::misnumbered::NumberAgreement;
use super::outlet::MessageOutlet;
use super::session_times::SendingTimes;
use super::{
    Delivery, EngineMessage, Fault, FeedEngine, FeedLine, MessageCounters, PacketOrigin, Sink,
};
use crate::arbiter::{Gap, OutOfSequence};
use crate::framing::{Framing, FramingResetPolicy, next_block};
use crate::market::Adapt;
use crate::recovery::Recovery;
use tickwire_fast::BufferedPacket;

/// Reason why the rest of a packet was not decoded.
#[derive(Debug)]
enum DecodeFailure<E> {
    /// A message was not decoded.
    Decode { offset: usize, error: E },
    /// The header before a message is malformed.
    Header { offset: usize },
}

/// Result of a packet of the incremental feed, for the arbiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PacketOutcome {
    /// The highest number of its messages.
    pub(super) seq_num: Option<u64>,
    /// The first number of the session that a SequenceReset in it begins.
    pub(super) reset_to: Option<u64>,
    /// The first number that is lost, if the rest of it could not be decoded.
    pub(super) lost: Option<u64>,
    /// Messages decoded.
    pub(super) messages: u32,
    /// SendingTime of the last message, if replays need it.
    pub(super) sending_time: Option<u64>,
}

/// Result of a replayed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayedPacket {
    /// All of it was decoded and interpreted; `last` is the highest number of its messages.
    Whole { last: u64 },
    /// Part of it was not decoded or not interpreted.
    Faulty,
}

/// Position of a message in its packet.
#[derive(Clone, Copy, Debug)]
struct MessagePosition {
    index: u32,
    offset: u32,
}

impl MessagePosition {
    /// Returns the delivery of a message of `len` bytes in a packet.
    const fn delivery(self, packet: Delivery, len: usize) -> Delivery {
        let Self { index, offset } = self;
        Delivery { index, offset, len: len as u32, ..packet }
    }
}

/// Decodes the messages of a packet and passes each on with its place.
fn decode_packet<E: FeedEngine>(
    engine: &mut E,
    framing: &Framing,
    bytes: &[u8],
    mut show: impl FnMut(MessagePosition, EngineMessage<'_, E::Message>),
) -> Result<(), DecodeFailure<E::Error>> {
    engine.begin_packet();
    let mut index = 0;
    let mut at = 0;
    while at < bytes.len() {
        let Ok(Some(block)) = next_block(framing, bytes, at) else {
            engine.lose_dictionaries();
            return Err(DecodeFailure::Header { offset: at });
        };
        at = block.start;
        while at < block.end {
            let rest = BufferedPacket::new(bytes.get(at..).unwrap_or_default(), block.end - at);
            let decoded =
                engine.decode(rest).map_err(|error| DecodeFailure::Decode { offset: at, error })?;
            // No packet is longer than 4 GiB.
            let place = MessagePosition { index, offset: at as u32 };
            at = at.saturating_add(decoded.len.max(1));
            show(place, decoded);
            index = index.saturating_add(1);
            if block.is_one_message {
                break;
            }
        }
    }
    Ok(())
}

/// Identifies the packet of a delivery from a line.
const fn origin(source: FeedLine, delivery: &Delivery) -> PacketOrigin {
    PacketOrigin { source: Some(source), received_ns: delivery.received_ns }
}

/// Counts a failure and reports it to the sink.
fn report<E: FeedEngine>(
    failure: &DecodeFailure<E::Error>,
    seq_num: Option<u64>,
    packet: PacketOrigin,
    counters: &mut MessageCounters,
    sink: &mut impl Sink<E::Message>,
) {
    counters.undecodable += 1;
    match failure {
        DecodeFailure::Decode { offset, error } => {
            counters.unknown_template += u64::from(E::is_unknown_template(error));
            sink.handle_fault(&Fault::Decode { seq_num, packet, offset: *offset, error });
        }
        DecodeFailure::Header { offset } => {
            sink.handle_fault(&Fault::MessageHeader { seq_num, packet, offset: *offset });
        }
    }
}

/// Decodes the packets of one feed and keeps its books.
#[derive(Debug)]
pub(super) struct Decoding<A> {
    pub(super) framing: Framing,
    /// True if every message of the incremental feed has its own sequence number.
    pub(super) numbers_messages: bool,
    pub(super) agreement: NumberAgreement,
    pub(super) adapter: A,
    pub(super) recovery: Recovery,
    /// True if lost packets are replayed: their SendingTimes are compared with those of the lines.
    pub(super) has_replay: bool,
}

impl<A> Decoding<A> {
    /// True if the state of the dictionaries persists across packets.
    pub(super) const fn keeps_dictionaries(&self) -> bool {
        matches!(
            self.framing.reset_policy(),
            FramingResetPolicy::Never | FramingResetPolicy::Template
        )
    }

    /// Handles the next packet of the incremental feed. Messages before `delivery.index` are
    /// decoded but not reported: another copy delivered them.
    pub(super) fn incremental<E: FeedEngine>(
        &mut self,
        engine: &mut E,
        bytes: &[u8],
        delivery: Delivery,
        counters: &mut MessageCounters,
        sink: &mut impl Sink<E::Message>,
    ) -> PacketOutcome
    where
        A: Adapt<E::Message>,
    {
        let Self { framing, numbers_messages, agreement, adapter, recovery, has_replay } = self;
        recovery.set_time(delivery.received_ns);
        let messages = delivery.index;
        let mut outcome =
            PacketOutcome { seq_num: delivery.seq_num, messages, ..Default::default() };
        let packet = origin(FeedLine::Incremental(delivery.line), &delivery);
        let packet_seq_num = delivery.seq_num.unwrap_or(0);
        if delivery.seq_num.is_some() {
            recovery.handle_progress(packet_seq_num);
        }
        // A packet has no more messages than bytes: a number outside this range is not one of its
        // own.
        let numbers = packet_seq_num..=packet_seq_num.saturating_add(bytes.len() as u64);
        // Without numbers of packets, the numbers of messages are the only ones.
        let is_unnumbered = delivery.seq_num.is_none() && !*numbers_messages;
        let mut last_decoded = None;
        let mut damaged = None;
        let decoded = decode_packet(engine, framing, bytes, |place, decoded| {
            let index = place.index;
            let own = decoded.seq_num;
            if index == 0
                && !*numbers_messages
                && let (Some(packet), Some(own)) = (delivery.seq_num, own)
            {
                damaged = agreement.is_broken_by(packet, own).then_some(own);
            } else if let Some(own) = own {
                agreement.note_message(own);
            }
            if damaged.is_some() {
                return;
            }
            outcome.messages = outcome.messages.max(index.saturating_add(1));
            let counted = own.filter(|own| *numbers_messages && numbers.contains(own));
            last_decoded = last_decoded.max(counted);
            outcome.seq_num = outcome.seq_num.map(|last| last.max(counted.unwrap_or(last)));
            if index < delivery.index {
                return;
            }
            counters.decoded += 1;
            if (*has_replay || recovery.wants_times())
                && let Some(sending_time) = adapter.sending_time(decoded.message)
            {
                recovery.note_sending_time(sending_time);
                outcome.sending_time = Some(sending_time);
            }
            let delivery = place.delivery(delivery, decoded.len);
            sink.handle_message(&delivery, decoded.message);
            let trusted = own.filter(|own| is_unnumbered || numbers.contains(own));
            counters.seq_num_not_trusted += u64::from(trusted != own);
            let seq_num = trusted.unwrap_or(packet_seq_num);
            let mut outlet = MessageOutlet::incremental(recovery, sink, delivery);
            let adapted = adapter.adapt(decoded.message, seq_num, &mut outlet);
            outcome.reset_to = outlet.reset_to().or(outcome.reset_to);
            if let Err(error) = adapted {
                counters.not_understood += 1;
                recovery.handle_gap(Gap { first: counted.unwrap_or(packet_seq_num), count: 1 });
                recovery.end_message(false);
                sink.handle_fault(&Fault::MarketData { seq_num: delivery.seq_num, packet, error });
            }
            tell_changes(recovery, sink);
        });
        if let Err(failure) = decoded {
            // If messages have numbers, at least the next one is lost.
            let next = |last: u64| last.saturating_add(1);
            outcome.lost = Some(last_decoded.map_or(packet_seq_num, next));
            report::<E>(&failure, delivery.seq_num, packet, counters, sink);
        } else if let Some(own) = damaged {
            outcome.lost = Some(packet_seq_num);
            counters.undecodable += 1;
            sink.handle_fault(&Fault::Misnumbered { seq_num: packet_seq_num, packet, own });
        }
        if let Some(seq_num) = outcome.seq_num {
            self.recovery.handle_progress(seq_num.saturating_add(1));
            self.settle(sink);
        }
        outcome
    }

    /// Handles a packet of the snapshot feed that arrived on this line.
    pub(super) fn snapshot<E: FeedEngine>(
        &mut self,
        engine: &mut E,
        bytes: &[u8],
        delivery: Delivery,
        counters: &mut MessageCounters,
        sink: &mut impl Sink<E::Message>,
    ) where
        A: Adapt<E::Message>,
    {
        let Self { framing, adapter, recovery, .. } = self;
        recovery.set_time(delivery.received_ns);
        let seq_num = delivery.seq_num;
        let packet = origin(FeedLine::Snapshot(delivery.line), &delivery);
        let decoded = decode_packet(engine, framing, bytes, |place, decoded| {
            counters.decoded += 1;
            let own = decoded.seq_num.or(seq_num);
            let delivery = Delivery { seq_num: own, ..delivery };
            let delivery = place.delivery(delivery, decoded.len);
            let mut outlet = MessageOutlet::snapshot(recovery, sink, delivery);
            let adapted = adapter.adapt(decoded.message, own.unwrap_or(0), &mut outlet);
            let had_snapshot = outlet.had_snapshot();
            let line = delivery.line.index();
            if let Err(error) = adapted {
                counters.not_understood += 1;
                recovery.note_loss_on_snapshot_feed(line);
                sink.handle_fault(&Fault::MarketData { seq_num, packet, error });
            } else if !had_snapshot {
                recovery.note_other_on_snapshot_feed(line, own);
            }
            tell_changes(recovery, sink);
        });
        if let Err(failure) = decoded {
            self.recovery.note_loss_on_snapshot_feed(delivery.line.index());
            report::<E>(&failure, seq_num, packet, counters, sink);
        }
    }

    /// Handles a packet of the definition feed that arrived on this line.
    pub(super) fn definitions<E: FeedEngine>(
        &mut self,
        engine: &mut E,
        bytes: &[u8],
        delivery: Delivery,
        counters: &mut MessageCounters,
        sink: &mut impl Sink<E::Message>,
    ) where
        A: Adapt<E::Message>,
    {
        let Self { framing, adapter, recovery, .. } = self;
        recovery.set_time(delivery.received_ns);
        let seq_num = delivery.seq_num;
        let packet = origin(FeedLine::Definitions(delivery.line), &delivery);
        let decoded = decode_packet(engine, framing, bytes, |place, decoded| {
            counters.decoded += 1;
            let own = decoded.seq_num.or(seq_num);
            let delivery = Delivery { seq_num: own, ..delivery };
            let delivery = place.delivery(delivery, decoded.len);
            let mut outlet = MessageOutlet::definitions(recovery, sink, delivery);
            if let Err(error) = adapter.adapt(decoded.message, own.unwrap_or(0), &mut outlet) {
                counters.not_understood += 1;
                sink.handle_fault(&Fault::MarketData { seq_num, packet, error });
            }
            tell_changes(recovery, sink);
        });
        if let Err(failure) = decoded {
            report::<E>(&failure, seq_num, packet, counters, sink);
        }
    }

    /// Returns the SendingTimes of the messages of a packet, up to the first that cannot be
    /// decoded.
    pub(super) fn sending_times<E: FeedEngine>(
        &self,
        engine: &mut E,
        bytes: &[u8],
    ) -> Option<SendingTimes>
    where
        A: Adapt<E::Message>,
    {
        if !self.adapter.has_sending_times() {
            return None;
        }
        self.lose_dictionaries(engine);
        let mut times = None;
        // Errors are reported when the packet is applied.
        let _ = decode_packet(engine, &self.framing, bytes, |_, decoded| {
            if let Some(time) = self.adapter.sending_time(decoded.message) {
                times = Some(SendingTimes::extended(times, time));
            }
        });
        times
    }

    /// Makes the engine of replayed packets wait for a reset, if dictionaries persist across
    /// packets: it has not decoded the packets before.
    fn lose_dictionaries<E: FeedEngine>(&self, engine: &mut E) {
        if self.keeps_dictionaries() {
            engine.lose_dictionaries();
        }
    }

    /// Handles a lost packet that a replay service sent again; messages before `packet.index` were
    /// already delivered.
    pub(super) fn replayed<E: FeedEngine>(
        &mut self,
        engine: &mut E,
        bytes: &[u8],
        packet: Delivery,
        counters: &mut MessageCounters,
        sink: &mut impl Sink<E::Message>,
    ) -> ReplayedPacket
    where
        A: Adapt<E::Message>,
    {
        self.lose_dictionaries(engine);
        let Self { framing, numbers_messages, adapter, recovery, .. } = self;
        let packet_seq_num = packet.seq_num.unwrap_or(0);
        let numbers = packet_seq_num..=packet_seq_num.saturating_add(bytes.len() as u64);
        let mut last = packet_seq_num;
        let mut is_understood = true;
        let decoded = decode_packet(engine, framing, bytes, |place, decoded| {
            let own = decoded.seq_num.filter(|own| numbers.contains(own));
            if *numbers_messages {
                last = last.max(own.unwrap_or(last));
            }
            if place.index < packet.index {
                return;
            }
            counters.decoded += 1;
            let delivery = place.delivery(packet, decoded.len);
            sink.handle_replayed(&delivery, decoded.message);
            let mut outlet = MessageOutlet::replay(recovery, sink, delivery);
            let seq_num = own.unwrap_or(packet_seq_num);
            if let Err(error) = adapter.adapt(decoded.message, seq_num, &mut outlet) {
                counters.not_understood += 1;
                is_understood = false;
                recovery.end_message(false);
                let (seq_num, packet) = (
                    packet.seq_num,
                    PacketOrigin { source: None, received_ns: packet.received_ns },
                );
                sink.handle_fault(&Fault::MarketData { seq_num, packet, error });
            }
            tell_changes(recovery, sink);
        });
        if let Err(failure) = &decoded {
            let origin = PacketOrigin { source: None, received_ns: packet.received_ns };
            report::<E>(failure, packet.seq_num, origin, counters, sink);
        }
        self.settle(sink);
        if decoded.is_ok() && is_understood {
            ReplayedPacket::Whole { last }
        } else {
            ReplayedPacket::Faulty
        }
    }

    /// Marks the books that a gap affects.
    pub(super) fn handle_gap<M: ?Sized>(&mut self, gap: Gap, sink: &mut impl Sink<M>) {
        self.recovery.handle_gap(gap);
        self.settle(sink);
    }

    /// Fires the timers that are due.
    pub(super) fn handle_timeout<M: ?Sized>(&mut self, now_ns: u64, sink: &mut impl Sink<M>) {
        // Each timer fires with its own time: however late this call is, books change at the same
        // moments.
        while let Some(due_ns) = self.recovery.poll_timeout().filter(|due_ns| now_ns >= *due_ns) {
            self.recovery.handle_timeout(due_ns);
            self.settle(sink);
            if self.recovery.poll_timeout() == Some(due_ns) {
                return;
            }
        }
    }

    /// Handles the end of the input.
    pub(super) fn finish<M: ?Sized>(&mut self, sink: &mut impl Sink<M>) {
        self.recovery.finish();
        self.settle(sink);
    }

    /// Starts a new session in the books.
    pub(super) fn handle_reset<M: ?Sized>(&mut self, sink: &mut impl Sink<M>) {
        let was_out_of_sequence = self.recovery.is_out_of_sequence();
        self.recovery.handle_reset();
        self.settle(sink);
        if was_out_of_sequence {
            sink.handle_out_of_sequence(false);
        }
    }

    /// Marks all books stale while the channel is silent, and ends this state.
    pub(super) fn handle_silence<M: ?Sized>(&mut self, is_silent: bool, sink: &mut impl Sink<M>) {
        self.recovery.handle_silence(is_silent);
        self.settle(sink);
    }

    /// Reports to the books whether packets with unexpected sequence numbers arrived after the next
    /// delivered packet. `seq_num` is the number of that packet, if there is one.
    #[inline]
    pub(super) fn note_sequence<M: ?Sized>(
        &mut self,
        out_of_sequence: Option<OutOfSequence>,
        next: Option<u64>,
        sink: &mut impl Sink<M>,
    ) {
        if out_of_sequence.is_some() || self.recovery.is_out_of_sequence() {
            self.change_sequence(out_of_sequence, next, sink);
        }
    }

    #[cold]
    fn change_sequence<M: ?Sized>(
        &mut self,
        out_of_sequence: Option<OutOfSequence>,
        next: Option<u64>,
        sink: &mut impl Sink<M>,
    ) {
        let was_out_of_sequence = self.recovery.is_out_of_sequence();
        match out_of_sequence {
            Some(OutOfSequence { may_hide_updates }) => {
                if !self.recovery.handle_out_of_sequence(may_hide_updates) {
                    return;
                }
            }
            None => self.recovery.handle_in_sequence(next),
        }
        self.settle(sink);
        if was_out_of_sequence != out_of_sequence.is_some() {
            sink.handle_out_of_sequence(out_of_sequence.is_some());
        }
    }

    pub(super) fn settle<M: ?Sized>(&mut self, sink: &mut impl Sink<M>) {
        self.recovery.settle();
        tell_changes(&mut self.recovery, sink);
    }
}

/// Reports the changed books to the sink.
#[inline]
fn tell_changes<M: ?Sized>(recovery: &mut Recovery, sink: &mut impl Sink<M>) {
    while let Some(change) = recovery.next_change() {
        sink.handle_book(&change, recovery);
    }
}
