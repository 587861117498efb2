//! Lost packets that a replay service sends again.

use std::collections::VecDeque;

use super::channel::Channel;
use super::decoding::Decoding;
use super::{Delivery, Engine, Sink};
use crate::arbiter::{Gap, Line};
use crate::market::Adapt;

/// Most gaps that wait to be asked for, or whose messages are awaited.
const GAPS_MAX: usize = 64;

/// What a replay service is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Numbers that no line brought.
    Gap(Gap),
    /// Sequence numbers start again: gaps of before are of no use.
    Reset,
}

/// Something to tell a replay service.
#[derive(Clone, Copy, Debug)]
struct Noted {
    lost: Lost,
    /// Messages at the front of the first packet that were decoded when it came.
    known: u32,
}

/// A gap whose messages are awaited.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    gap: Gap,
    /// Messages at the front of its first packet that are known.
    known: u32,
    /// The next number, if all before it were replayed.
    next: u64,
}

/// The engine of replayed packets, and the gaps.
#[derive(Debug)]
pub(super) struct Replays<E> {
    pub(super) engine: E,
    lost: VecDeque<Noted>,
    awaited: VecDeque<Awaited>,
}

impl<E> Replays<E> {
    pub(super) const fn new(engine: E) -> Self {
        Self { engine, lost: VecDeque::new(), awaited: VecDeque::new() }
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
        self.lost.push_back(Noted { lost, known });
        true
    }

    /// The next gap to ask for, or a reset.
    pub(super) fn poll(&mut self) -> Option<Lost> {
        let Noted { lost, known } = self.lost.pop_front()?;
        if let Lost::Gap(gap) = lost {
            if self.awaited.len() >= GAPS_MAX {
                self.awaited.pop_front();
            }
            self.awaited.push_back(Awaited { gap, known, next: gap.first });
        }
        Some(lost)
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
        let of_packet = Delivery::of_packet(Some(seq_num), Line::A, received_ns);
        let packet = Delivery { index, ..of_packet };
        let engine = &mut replays.engine;
        let last = decoding.replayed(engine, bytes, packet, &mut counters.replays, sink);
        if let Some(last) = last {
            replays.advance(seq_num, last);
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
