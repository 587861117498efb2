//! Lost packets that a replay service sends again.
//!
//! The service may be in a session that the lines have left, or have not shown yet, whose numbers are those of the gap. The
//! SendingTimes of a packet decide, before anything of it is applied:
//!
//! | its messages were sent | |
//! |---|---|
//! | before the last message of the session before, or, unless its number is lower, before any of this one | of a session before: refused |
//! | no later than the message delivered last | of this session: applied |
//! | later | of the next session, or stamped again by the service: waits until the lines show that time in this session. A reset in between shows that it is of no use. After twice the skew bound it is applied if the lines sent nothing that tells a time, and refused if they did: no clock is so far ahead |
//!
//! Packets that come behind a waiting one wait too, and so do the ends of gaps.

use std::collections::VecDeque;

use super::channel::Channel;
use super::decoding::{Decoding, ReplayedPacket};
use super::session_times::{ReplaySession, SendingTimes, SessionTimes};
use super::{Delivery, Engine, Sink};
use crate::arbiter::{Gap, Line};
use crate::market::Adapt;

/// Most gaps that wait to be requested.
const GAPS_MAX: usize = 64;

/// Most gaps whose messages are awaited: more than a client waits for.
const AWAITED_MAX: usize = 4 * GAPS_MAX;

/// Most packets that wait for the lines to show their session; further ones are refused.
const WAITING_MAX: usize = 16_384;

/// Losses to report to a replay service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Numbers that no line sent.
    Gap(Gap),
    /// Sequence numbers start again: gaps of before are of no use.
    Reset,
}

/// Something to tell a replay service.
#[derive(Clone, Copy, Debug)]
struct Noted {
    lost: Lost,
    /// Messages at the front of the first packet that were decoded when it arrived.
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
    /// The number behind the last packet that was replayed: one below it comes again, or too late.
    end: u64,
}

impl Awaited {
    /// Messages at the front of a packet that are known already.
    fn known_of(&self, seq_num: u64) -> u32 {
        if seq_num == self.gap.first { self.known } else { 0 }
    }
}

/// A packet that a replay service sent.
#[derive(Clone, Debug)]
struct Replay {
    received_ns: u64,
    seq_num: u64,
    /// Messages at its front that are known already.
    known: u32,
    times: Option<SendingTimes>,
    /// Messages of the lines with a SendingTime when it arrived.
    told_before: u64,
    bytes: Vec<u8>,
}

/// Replayed packets that wait until the lines have shown their session.
#[derive(Clone, Debug)]
enum Waiting {
    Packet(Replay),
    /// Nothing more comes of a gap.
    End(Gap),
}

/// The engine of replayed packets, and the gaps.
#[derive(Debug)]
pub(super) struct Replays<E> {
    pub(super) engine: E,
    lost: VecDeque<Noted>,
    awaited: VecDeque<Awaited>,
    waiting: VecDeque<Waiting>,
    packets_waiting: usize,
    times: SessionTimes,
    /// How long a packet waits at most.
    wait_ns: u64,
}

impl<E> Replays<E> {
    /// `skew_ns` is how far a line may be behind: the arbiter may wait for as long again.
    pub(super) fn new(engine: E, skew_ns: u64) -> Self {
        Self {
            engine,
            lost: VecDeque::new(),
            awaited: VecDeque::new(),
            waiting: VecDeque::new(),
            packets_waiting: 0,
            times: SessionTimes::default(),
            wait_ns: skew_ns.saturating_mul(2),
        }
    }

    /// Notes the SendingTime of a message that was delivered in the packet of this number.
    pub(super) fn note_sent(&mut self, seq_num: Option<u64>, sending_time: u64) {
        self.times.note(seq_num, sending_time);
    }

    /// Records a loss, and the number of known messages of its first packet; returns false if the
    /// queue is full.
    pub(super) fn note(&mut self, lost: Lost, known: u32) -> bool {
        match lost {
            Lost::Gap(_) if self.lost.len() >= GAPS_MAX => return false,
            Lost::Gap(_) => {}
            Lost::Reset => {
                self.awaited.clear();
                self.lost.clear();
                self.times.begin_session();
            }
        }
        self.lost.push_back(Noted { lost, known });
        true
    }

    /// Forgets what waits, now that a session has begun; returns how many packets there were.
    pub(super) fn refuse_waiting(&mut self) -> u64 {
        self.waiting.clear();
        std::mem::take(&mut self.packets_waiting) as u64
    }

    /// The next gap to ask for, or a reset.
    pub(super) fn poll(&mut self) -> Option<Lost> {
        let Noted { lost, known } = self.lost.pop_front()?;
        if let Lost::Gap(gap) = lost {
            if self.awaited.len() >= AWAITED_MAX {
                self.awaited.pop_front();
            }
            self.awaited.push_back(Awaited { gap, known, next: gap.first, end: gap.first });
        }
        Some(lost)
    }

    /// The awaited gap that a packet is of, unless it or a later one of the gap was replayed already.
    fn awaited_with(&mut self, seq_num: u64) -> Option<&mut Awaited> {
        let is_of = |of: &&mut Awaited| (of.gap.first..=of.gap.last()).contains(&seq_num);
        self.awaited.iter_mut().find(is_of).filter(|awaited| seq_num >= awaited.end)
    }

    /// Notes what was replayed of the packet with this number.
    fn advance(&mut self, seq_num: u64, replayed: ReplayedPacket) {
        let Some(awaited) = self.awaited_with(seq_num) else { return };
        awaited.end = seq_num.saturating_add(1);
        if let ReplayedPacket::Whole { last } = replayed {
            awaited.end = last.saturating_add(1);
            if awaited.next == seq_num {
                awaited.next = awaited.end;
            }
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

    /// Has a packet wait, unless too many do. Returns whether there was room.
    fn wait(&mut self, replay: Replay) -> bool {
        let has_room = self.packets_waiting < WAITING_MAX;
        if has_room {
            self.packets_waiting += 1;
            self.waiting.push_back(Waiting::Packet(replay));
        }
        has_room
    }

    /// Takes the first of what waits, if its wait is over at `now_ns`.
    fn take_ready(&mut self, now_ns: u64) -> Option<Waiting> {
        let is_ready = match self.waiting.front()? {
            Waiting::End(_) => true,
            Waiting::Packet(Replay { received_ns, seq_num, times, .. }) => {
                now_ns >= received_ns.saturating_add(self.wait_ns)
                    || self.times.session_of(*seq_num, *times) != ReplaySession::CurrentOrNext
            }
        };
        if !is_ready {
            return None;
        }
        let ready = self.waiting.pop_front()?;
        self.packets_waiting -= usize::from(matches!(ready, Waiting::Packet(_)));
        Some(ready)
    }

    /// True if the lines advanced while a packet waited and never reached its time.
    fn is_out_of_reach(&self, replay: &Replay) -> bool {
        self.times.told() > replay.told_before
            && self.times.session_of(replay.seq_num, replay.times) == ReplaySession::CurrentOrNext
    }

    /// True if any packet waits for the lines.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When the wait of the first packet ends at the latest.
    pub(super) fn due_ns(&self) -> Option<u64> {
        match self.waiting.front()? {
            Waiting::End(_) => None,
            Waiting::Packet(replay) => Some(replay.received_ns.saturating_add(self.wait_ns)),
        }
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
        let Self { replays: Some(replays), decoding, counters, .. } = self else { return };
        let Some(known) = replays.awaited_with(seq_num).map(|awaited| awaited.known_of(seq_num))
        else {
            counters.replays_not_awaited += 1;
            return;
        };
        let times = decoding.sending_times(&mut replays.engine, bytes);
        let (told_before, bytes) = (replays.times.told(), bytes.to_vec());
        let replay = Replay { received_ns, seq_num, known, times, told_before, bytes };
        let is_refused = match replays.times.session_of(seq_num, times) {
            ReplaySession::Past => true,
            ReplaySession::Current if !replays.is_waiting() => {
                return self.apply_replay(received_ns, &replay, sink);
            }
            ReplaySession::Current | ReplaySession::CurrentOrNext => !replays.wait(replay),
        };
        counters.replays_refused += u64::from(is_refused);
    }

    /// Nothing more comes of a gap.
    pub(super) fn handle_replay_done(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        let Self { replays: Some(replays), .. } = self else { return };
        if replays.is_waiting() {
            replays.waiting.push_back(Waiting::End(gap));
        } else {
            self.end_replay(gap, sink);
        }
    }

    /// Applies the packets of which the lines have shown the session, or that waited for long enough.
    pub(super) fn release_replays(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        while let Some(replays) = &mut self.replays
            && let Some(ready) = replays.take_ready(now_ns)
        {
            match ready {
                Waiting::Packet(replay) if replays.is_out_of_reach(&replay) => {
                    self.counters.replays_refused += 1;
                }
                Waiting::Packet(replay) => self.apply_replay(now_ns, &replay, sink),
                Waiting::End(gap) => self.end_replay(gap, sink),
            }
        }
    }

    fn apply_replay(&mut self, now_ns: u64, replay: &Replay, sink: &mut impl Sink<E::Message>) {
        let Self { replays: Some(replays), decoding, counters, .. } = self else { return };
        decoding.recovery.set_time(now_ns);
        let Replay { received_ns, seq_num, known, ref bytes, .. } = *replay;
        if replays.awaited_with(seq_num).is_none() {
            counters.replays_not_awaited += 1;
            return;
        }
        let of_packet = Delivery::of_packet(Some(seq_num), Line::A, received_ns);
        let packet = Delivery { index: known, ..of_packet };
        let counters = &mut counters.replays;
        let replayed = decoding.replayed(&mut replays.engine, bytes, packet, counters, sink);
        replays.advance(seq_num, replayed);
    }

    fn end_replay(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        let Self { replays: Some(replays), decoding, .. } = self else { return };
        if replays.end(gap) {
            decoding.handle_gap_filled(gap, sink);
        }
        sink.handle_replay_done(gap);
    }
}

impl<A> Decoding<A> {
    /// Reports a filled gap to the books.
    fn handle_gap_filled<M: ?Sized>(&mut self, gap: Gap, sink: &mut impl Sink<M>) {
        self.recovery.handle_gap_filled(gap);
        self.settle(sink);
    }
}
