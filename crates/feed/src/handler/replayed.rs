//! Lost packets that a replay service sends again.
//!
//! The service may be in a session that the lines have left or not yet reached, with the same
//! numbers as the gap. The SendingTimes of a packet decide, before anything of it is applied:
//!
//! | messages sent | session | packet |
//! |---|---|---|
//! | before the last message of the previous session, or, unless the packet's number is lower than the first one of this session, earlier than every message of this session | previous | refused |
//! | no later than the last delivered message | this one | applied |
//! | later | the next one, or the service stamped the messages again | waits until the lines reach that time in this session; refused if a reset comes first. After twice the skew bound it is applied if the lines sent no message with a time, and refused if they did: clocks do not differ by that much |
//!
//! Packets after a waiting one wait too, and so do the ends of gaps.

use std::collections::VecDeque;

use super::channel::HandlerChannel;
use super::decoding::{Decoding, ReplayedPacket};
use super::session_times::{ReplaySession, SendingTimes, SessionTimes};
use super::{Delivery, FeedEngine, Sink};
use crate::arbiter::{Gap, Line};
use crate::market::Adapt;

/// Most gaps that wait to be requested.
const GAPS_MAX: usize = 64;

/// Most gaps whose messages are awaited: more than a client waits for.
const AWAITED_MAX: usize = 4 * GAPS_MAX;

/// Most packets that wait for the lines to show their session; further ones are refused.
const WAITING_MAX: usize = 16_384;

/// A loss to report to a replay service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayLoss {
    /// Numbers that no line sent.
    Gap(Gap),
    /// Sequence numbers restart: earlier gaps are obsolete.
    Reset,
}

/// A loss that is not yet reported to the replay service.
#[derive(Clone, Copy, Debug)]
struct Noted {
    lost: ReplayLoss,
    /// First messages of the first packet that were decoded when it arrived.
    known: u32,
}

/// A gap whose messages are awaited.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    gap: Gap,
    /// First messages of its first packet that were already delivered.
    known: u32,
    /// The next number, if all before it were replayed.
    next: u64,
    /// The number after the last replayed packet: a packet below it is repeated or late.
    end: u64,
}

impl Awaited {
    /// Returns how many first messages of a packet were already delivered.
    fn known_of(&self, seq_num: u64) -> u32 {
        if seq_num == self.gap.first { self.known } else { 0 }
    }
}

/// A packet that a replay service sent.
#[derive(Clone, Debug)]
struct ServicePacket {
    received_ns: u64,
    seq_num: u64,
    /// First messages that were already delivered.
    known: u32,
    times: Option<SendingTimes>,
    /// Messages with a SendingTime on the lines when it arrived.
    told_before: u64,
    bytes: Vec<u8>,
}

/// Replayed packets that wait until the lines show which session they belong to.
#[derive(Clone, Debug)]
enum WaitingReplay {
    Packet(ServicePacket),
    /// The replay of a gap ended.
    End(Gap),
}

/// The engine of replayed packets, and the gaps.
#[derive(Debug)]
pub(super) struct Replays<E> {
    pub(super) engine: E,
    lost: VecDeque<Noted>,
    awaited: VecDeque<Awaited>,
    waiting: VecDeque<WaitingReplay>,
    packets_waiting: usize,
    times: SessionTimes,
    /// Longest wait of a packet, in nanoseconds.
    wait_ns: u64,
}

impl<E> Replays<E> {
    /// `skew_ns` is how far one line may be behind; the arbiter may wait for as long again.
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

    /// Records the SendingTime of a message that was delivered in the packet with this number.
    pub(super) fn note_sent(&mut self, seq_num: Option<u64>, sending_time: u64) {
        self.times.note(seq_num, sending_time);
    }

    /// Records a loss, and the number of known messages of its first packet; returns false if the
    /// queue is full.
    pub(super) fn note(&mut self, lost: ReplayLoss, known: u32) -> bool {
        match lost {
            ReplayLoss::Gap(_) if self.lost.len() >= GAPS_MAX => return false,
            ReplayLoss::Gap(_) => {}
            ReplayLoss::Reset => {
                self.awaited.clear();
                self.lost.clear();
                self.times.begin_session();
            }
        }
        self.lost.push_back(Noted { lost, known });
        true
    }

    /// Drops the waiting packets of the replay service, because a new session begins; returns their number.
    pub(super) fn refuse_waiting(&mut self) -> u64 {
        self.waiting.clear();
        std::mem::take(&mut self.packets_waiting) as u64
    }

    /// Returns the next gap to request, or a reset.
    pub(super) fn poll(&mut self) -> Option<ReplayLoss> {
        let Noted { lost, known } = self.lost.pop_front()?;
        if let ReplayLoss::Gap(gap) = lost {
            if self.awaited.len() >= AWAITED_MAX {
                self.awaited.pop_front();
            }
            self.awaited.push_back(Awaited { gap, known, next: gap.first, end: gap.first });
        }
        Some(lost)
    }

    /// Returns the awaited gap that contains a packet, unless this packet or a later one of the gap
    /// was already replayed.
    fn awaited_with(&mut self, seq_num: u64) -> Option<&mut Awaited> {
        let is_of = |of: &&mut Awaited| (of.gap.first..=of.gap.last()).contains(&seq_num);
        self.awaited.iter_mut().find(is_of).filter(|awaited| seq_num >= awaited.end)
    }

    /// Records the result of the packet with this number.
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

    /// Ends the replay of a gap; returns true if all of it was replayed.
    fn end(&mut self, gap: Gap) -> bool {
        let Some(index) = self.awaited.iter().position(|awaited| awaited.gap == gap) else {
            return false;
        };
        let ended = self.awaited.remove(index);
        ended.is_some_and(|ended| ended.next > gap.last())
    }

    /// Makes a packet wait, unless too many wait. Returns true if there was room.
    fn wait(&mut self, replay: ServicePacket) -> bool {
        let has_room = self.packets_waiting < WAITING_MAX;
        if has_room {
            self.packets_waiting += 1;
            self.waiting.push_back(WaitingReplay::Packet(replay));
        }
        has_room
    }

    /// Returns the first waiting packet or end, if its wait is over at `now_ns`.
    fn take_ready(&mut self, now_ns: u64) -> Option<WaitingReplay> {
        let is_ready = match self.waiting.front()? {
            WaitingReplay::End(_) => true,
            WaitingReplay::Packet(ServicePacket { received_ns, seq_num, times, .. }) => {
                now_ns >= received_ns.saturating_add(self.wait_ns)
                    || self.times.session_of(*seq_num, *times) != ReplaySession::CurrentOrNext
            }
        };
        if !is_ready {
            return None;
        }
        let ready = self.waiting.pop_front()?;
        self.packets_waiting -= usize::from(matches!(ready, WaitingReplay::Packet(_)));
        Some(ready)
    }

    /// True if the lines advanced while a packet waited, but did not reach its time.
    fn is_out_of_reach(&self, replay: &ServicePacket) -> bool {
        self.times.told() > replay.told_before
            && self.times.session_of(replay.seq_num, replay.times) == ReplaySession::CurrentOrNext
    }

    /// True if any packet waits for the lines.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the time at which the wait of the first packet ends at the latest.
    pub(super) fn due_ns(&self) -> Option<u64> {
        match self.waiting.front()? {
            WaitingReplay::End(_) => None,
            WaitingReplay::Packet(replay) => Some(replay.received_ns.saturating_add(self.wait_ns)),
        }
    }
}

impl<E: FeedEngine, A: Adapt<E::Message>> HandlerChannel<E, A> {
    /// Handles the FAST bytes of a replayed packet.
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
        let replay = ServicePacket { received_ns, seq_num, known, times, told_before, bytes };
        let is_refused = match replays.times.session_of(seq_num, times) {
            ReplaySession::Past => true,
            ReplaySession::Current if !replays.is_waiting() => {
                return self.apply_replay(received_ns, &replay, sink);
            }
            ReplaySession::Current | ReplaySession::CurrentOrNext => !replays.wait(replay),
        };
        counters.replays_refused += u64::from(is_refused);
    }

    /// Ends the replay of a gap.
    pub(super) fn handle_replay_done(&mut self, gap: Gap, sink: &mut impl Sink<E::Message>) {
        let Self { replays: Some(replays), .. } = self else { return };
        if replays.is_waiting() {
            replays.waiting.push_back(WaitingReplay::End(gap));
        } else {
            self.end_replay(gap, sink);
        }
    }

    /// Applies packets whose session the lines have shown, and packets that have waited for long
    /// enough.
    pub(super) fn release_replays(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        while let Some(replays) = &mut self.replays
            && let Some(ready) = replays.take_ready(now_ns)
        {
            match ready {
                WaitingReplay::Packet(replay) if replays.is_out_of_reach(&replay) => {
                    self.counters.replays_refused += 1;
                }
                WaitingReplay::Packet(replay) => self.apply_replay(now_ns, &replay, sink),
                WaitingReplay::End(gap) => self.end_replay(gap, sink),
            }
        }
    }

    fn apply_replay(
        &mut self,
        now_ns: u64,
        replay: &ServicePacket,
        sink: &mut impl Sink<E::Message>,
    ) {
        let Self { replays: Some(replays), decoding, counters, .. } = self else { return };
        decoding.recovery.set_time(now_ns);
        let ServicePacket { received_ns, seq_num, known, ref bytes, .. } = *replay;
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
