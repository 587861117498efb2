//! From the FAST bytes of a packet to messages, updates and books.

use super::{Adapt, Decoded, Delivery, Engine, Fault, MessageCounters, Sink};
use crate::arbiter::Gap;
use crate::framing::{Framing, next_block};
use crate::recovery::{Incremental, MarketData, Recovery};

/// Why the rest of a packet was given up.
#[derive(Debug)]
enum Failure<E> {
    /// A message was not decoded.
    Decode { offset: usize, error: E },
    /// The header before a message is not one.
    Header { offset: usize },
}

/// What a packet of the incremental feed left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PacketOutcome {
    /// The highest number of its messages.
    pub(super) seq_num: Option<u64>,
    /// Where the numbering begins anew, if it said so.
    pub(super) reset_to: Option<u64>,
    /// The first number that is lost, if the rest of it was given up.
    pub(super) lost: Option<u64>,
    /// Messages decoded.
    pub(super) messages: u32,
}

/// Decodes the messages of a packet and shows each with its index.
fn decode_packet<E: Engine>(
    engine: &mut E,
    framing: &Framing,
    bytes: &[u8],
    mut show: impl FnMut(u32, Decoded<'_, E::Message>),
) -> Result<(), Failure<E::Error>> {
    engine.begin_packet();
    let mut index = 0;
    let mut at = 0;
    while at < bytes.len() {
        let Ok(Some(block)) = next_block(framing, bytes, at) else {
            engine.lose_dictionaries();
            return Err(Failure::Header { offset: at });
        };
        at = block.start;
        while let Some(rest) = bytes.get(at..block.end).filter(|rest| !rest.is_empty()) {
            let decoded =
                engine.decode(rest).map_err(|error| Failure::Decode { offset: at, error })?;
            at = at.saturating_add(decoded.len.max(1));
            show(index, decoded);
            index = index.saturating_add(1);
            if block.is_one_message {
                break;
            }
        }
    }
    Ok(())
}

/// Counts what was given up and tells the sink.
fn report<E: Engine>(
    failure: &Failure<E::Error>,
    seq_num: Option<u64>,
    counters: &mut MessageCounters,
    sink: &mut impl Sink<E::Message>,
) {
    counters.undecodable += 1;
    match failure {
        Failure::Decode { offset, error } => {
            counters.unknown_template += u64::from(E::is_unknown_template(error));
            sink.handle_fault(&Fault::Decode { seq_num, offset: *offset, error });
        }
        Failure::Header { offset } => {
            sink.handle_fault(&Fault::MessageHeader { seq_num, offset: *offset });
        }
    }
}

/// Updates with the number of their packet in place of their own.
fn renumbered(updates: &[Incremental], seq_num: u64) -> Vec<Incremental> {
    updates.iter().map(|update| Incremental { seq_num, ..*update }).collect()
}

/// What turns packets of one feed into books.
#[derive(Debug)]
pub(super) struct Decoding<A> {
    pub(super) framing: Framing,
    /// Whether every message of the incremental feed has a number of its own.
    pub(super) numbers_messages: bool,
    pub(super) adapter: A,
    pub(super) recovery: Recovery,
}

impl<A> Decoding<A> {
    /// A packet of the incremental feed, in its turn. Messages before `delivery.index` are decoded
    /// and not told of: they are known from another copy.
    pub(super) fn incremental<E: Engine>(
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
        let Self { framing, numbers_messages, adapter, recovery } = self;
        let mut outcome = PacketOutcome { seq_num: delivery.seq_num, ..Default::default() };
        let packet_seq_num = delivery.seq_num.unwrap_or(0);
        // A packet has no more messages than bytes: a number further off is not believed.
        let numbers = packet_seq_num..=packet_seq_num.saturating_add(bytes.len() as u64);
        // Where nothing numbers packets, messages have the only numbers there are.
        let is_unnumbered = delivery.seq_num.is_none() && !*numbers_messages;
        let mut last_decoded = None;
        let decoded = decode_packet(engine, framing, bytes, |index, decoded| {
            outcome.messages = index.saturating_add(1);
            let own = decoded.seq_num;
            let counted = own.filter(|own| *numbers_messages && numbers.contains(own));
            last_decoded = last_decoded.max(counted);
            outcome.seq_num = outcome.seq_num.map(|last| last.max(counted.unwrap_or(last)));
            if index < delivery.index {
                return;
            }
            counters.decoded += 1;
            sink.handle_message(&Delivery { index, ..delivery }, decoded.message);
            match adapter.adapt(decoded.message, own.unwrap_or(packet_seq_num)) {
                Ok(MarketData::Incremental(updates)) => {
                    let believed;
                    let is_believed = |update: &Incremental| numbers.contains(&update.seq_num);
                    let updates = if is_unnumbered || updates.iter().all(is_believed) {
                        updates
                    } else {
                        counters.seq_num_not_believed += 1;
                        believed = renumbered(updates, packet_seq_num);
                        &believed
                    };
                    for update in updates {
                        recovery.handle_incremental(update);
                    }
                    sink.handle_updates(updates, recovery);
                }
                Ok(MarketData::Snapshot(snapshot)) => {
                    let outcome = recovery.handle_snapshot(&snapshot);
                    sink.handle_snapshot(&snapshot, outcome, recovery);
                }
                Ok(MarketData::SequenceReset { next_seq_num }) => {
                    outcome.reset_to = Some(next_seq_num);
                }
                Ok(MarketData::Other) => {}
                Err(error) => {
                    counters.not_understood += 1;
                    recovery.handle_gap(Gap { first: counted.unwrap_or(packet_seq_num), count: 1 });
                    let seq_num = delivery.seq_num;
                    sink.handle_fault(&Fault::MarketData { seq_num, error });
                }
            }
        });
        if let Err(failure) = decoded {
            // Where messages have numbers, the next one at least is among what is lost.
            let next = |last: u64| last.saturating_add(1);
            outcome.lost = Some(last_decoded.map_or(packet_seq_num, next));
            report::<E>(&failure, delivery.seq_num, counters, sink);
        }
        outcome
    }

    /// A packet of the snapshot feed.
    pub(super) fn snapshot<E: Engine>(
        &mut self,
        engine: &mut E,
        bytes: &[u8],
        seq_num: Option<u64>,
        counters: &mut MessageCounters,
        sink: &mut impl Sink<E::Message>,
    ) where
        A: Adapt<E::Message>,
    {
        let Self { framing, adapter, recovery, .. } = self;
        let decoded = decode_packet(engine, framing, bytes, |_, decoded| {
            counters.decoded += 1;
            match adapter.adapt(decoded.message, seq_num.unwrap_or(0)) {
                Ok(MarketData::Snapshot(snapshot)) => {
                    let outcome = recovery.handle_snapshot(&snapshot);
                    sink.handle_snapshot(&snapshot, outcome, recovery);
                }
                // A snapshot feed begins each round anew; that is none of the books' business.
                Ok(_) => {}
                Err(error) => {
                    counters.not_understood += 1;
                    sink.handle_fault(&Fault::MarketData { seq_num, error });
                }
            }
        });
        if let Err(failure) = decoded {
            report::<E>(&failure, seq_num, counters, sink);
        }
    }
}
