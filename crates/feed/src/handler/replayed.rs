//! Lost packets that a replay service sends again.
//!
//! The service may know a session that the lines have not shown yet, whose numbers are those of the gap: what it sends counts
//! only if its SendingTime lies between those of the messages around the gap. So a gap is asked for once a packet behind
//! it was delivered.

use std::collections::VecDeque;

use super::channel::Channel;
use super::decoding::{Decoding, ReplayedPacket};
use super::{Delivery, Engine, Sink};
use crate::arbiter::{Gap, Line};
use crate::market::Adapt;

/// Most gaps that wait to be asked for.
const GAPS_MAX: usize = 64;

/// Most gaps whose messages are awaited: more than a client waits for.
const AWAITED_MAX: usize = 4 * GAPS_MAX;

/// What a replay service is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Numbers that no line brought.
    Gap(Gap),
    /// Sequence numbers start again: gaps of before are of no use.
    Reset,
}

/// SendingTimes of the messages delivered around a gap, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TimeBounds {
    before: Option<u64>,
    behind: Option<u64>,
}

impl TimeBounds {
    fn admit(&self, sending_time: u64) -> bool {
        self.before.is_none_or(|before| before <= sending_time)
            && self.behind.is_none_or(|behind| sending_time <= behind)
    }
}

/// Something to tell a replay service.
#[derive(Clone, Copy, Debug)]
struct Noted {
    lost: Lost,
    /// Messages at the front of the first packet that were decoded when it came.
    known: u32,
    bounds: TimeBounds,
}

/// A gap whose messages are awaited.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    gap: Gap,
    /// Messages at the front of its first packet that are known.
    known: u32,
    /// The next number, if all before it were replayed.
    next: u64,
    bounds: TimeBounds,
}

/// The engine of replayed packets, and the gaps.
#[derive(Debug)]
pub(super) struct Replays<E> {
    pub(super) engine: E,
    lost: VecDeque<Noted>,
    awaited: VecDeque<Awaited>,
    /// Whether messages of the lines say when they were sent.
    has_times: bool,
    /// SendingTime of the message delivered last.
    sent: Option<u64>,
}

impl<E> Replays<E> {
    pub(super) fn new(engine: E, has_times: bool) -> Self {
        let (lost, awaited) = (VecDeque::new(), VecDeque::new());
        Self { engine, lost, awaited, has_times, sent: None }
    }

    /// Says whether messages of the lines say when they were sent, from here on.
    pub(super) fn set_times(&mut self, has_times: bool) {
        self.has_times = has_times;
    }

    /// Notes the SendingTime of a message that was delivered.
    pub(super) fn note_sent(&mut self, sending_time: u64) {
        self.sent = Some(sending_time);
        // All gaps noted before have one, once one of them has.
        for noted in self.lost.iter_mut().rev() {
            if noted.bounds.behind.is_some() {
                break;
            }
            noted.bounds.behind = Some(sending_time);
        }
    }

    /// Takes note of what is to be told, and how many messages of the first packet are known; returns whether there was room.
    pub(super) fn note(&mut self, lost: Lost, known: u32) -> bool {
        match lost {
            Lost::Gap(_) if self.lost.len() >= GAPS_MAX => return false,
            Lost::Gap(_) => {}
            Lost::Reset => {
                self.awaited.clear();
                self.lost.clear();
            }
        }
        let bounds = TimeBounds { before: self.sent, behind: None };
        self.lost.push_back(Noted { lost, known, bounds });
        true
    }

    /// The next gap to ask for, or a reset.
    pub(super) fn poll(&mut self) -> Option<Lost> {
        let Noted { lost, known, bounds } = *self.lost.front()?;
        if let Lost::Gap(gap) = lost {
            if self.has_times && bounds.behind.is_none() {
                return None;
            }
            if self.awaited.len() >= AWAITED_MAX {
                self.awaited.pop_front();
            }
            self.awaited.push_back(Awaited { gap, known, next: gap.first, bounds });
        }
        self.lost.pop_front();
        Some(lost)
    }

    /// SendingTimes around the gap that a packet is of; `None` if none is awaited that has it.
    fn bounds_of(&self, seq_num: u64) -> Option<TimeBounds> {
        let has = |awaited: &&Awaited| (awaited.gap.first..=awaited.gap.last()).contains(&seq_num);
        self.awaited.iter().find(has).map(|awaited| awaited.bounds)
    }

    /// Messages at the front of a packet that are known already.
    fn known_of(&self, seq_num: u64) -> u32 {
        let awaited = self.awaited.iter().find(|awaited| awaited.gap.first == seq_num);
        awaited.map_or(0, |awaited| awaited.known)
    }

    /// Notes that a packet with the numbers from `first` to `last` was replayed whole.
    fn advance(&mut self, first: u64, last: u64) {
        if let Some(awaited) = self.awaited.iter_mut().find(|awaited| awaited.next == first) {
            awaited.next = last.saturating_add(1);
        }
    }

    /// Nothing more comes of a gap; returns whether all of it was replayed.
    fn end(&mut self, gap: Gap) -> bool {
        let Some(index) = self.awaited.iter().position(|awaited| awaited.gap == gap) else {
            return false;
        };
        let ended = self.awaited.remove(index);
        ended.is_some_and(|ended| ended.next > gap.last())
    }
}

impl<E: Engine, A: Adapt<E::Message>> Channel<E, A> {
    /// Takes the FAST bytes of a lost packet.
    pub(super) fn handle_replayed(
        &mut self,
        received_ns: u64,
        seq_num: u64,
        bytes: &[u8],
        sink: &mut impl Sink<E::Message>,
    ) {
        let keeps_dictionaries = self.keeps_dictionaries;
        let Self { replays: Some(replays), decoding, counters, .. } = self else { return };
        if keeps_dictionaries {
            // The packets before it did not come through this engine.
            replays.engine.lose_dictionaries();
        }
        decoding.recovery.set_time(received_ns);
        let index = replays.known_of(seq_num);
        let Some(bounds) = replays.bounds_of(seq_num) else {
            counters.replays_not_used += 1;
            return;
        };
        let of_packet = Delivery::of_packet(Some(seq_num), Line::A, received_ns);
        let packet = Delivery { index, ..of_packet };
        let engine = &mut replays.engine;
        let is_of_gap = |sending_time| bounds.admit(sending_time);
        match decoding.replayed(engine, bytes, packet, is_of_gap, &mut counters.replays, sink) {
            ReplayedPacket::Whole { last } => replays.advance(seq_num, last),
            ReplayedPacket::OtherSession => counters.replays_not_used += 1,
            ReplayedPacket::Faulty => {}
        }
    }

    /// Nothing more comes of a gap.
    pub(super) fn handle_replay_done(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        let Self { replays: Some(replays), decoding, .. } = self else { return };
        if replays.end(gap) {
            decoding.handle_gap_filled(gap, sink);
        }
        sink.handle_replay_done(gap);
    }
}

impl<A> Decoding<A> {
    /// Tells books that a gap was filled.
    fn handle_gap_filled<M: ?Sized>(&mut self, gap: Gap, sink: &mut impl Sink<M>) {
        self.recovery.handle_gap_filled(gap);
        self.settle(sink);
    }
}
