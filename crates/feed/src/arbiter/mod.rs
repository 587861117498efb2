//! Merges two lines that carry the same packets: the first copy of each sequence number is
//! delivered.
//!
//! Pass every packet to [`Arbiter::handle_packet`], which returns a packet that is next in order at
//! once, without copying it. Then call [`Arbiter::poll_output`] until it returns `None`. Call
//! [`Arbiter::handle_timeout`] at the time that [`Arbiter::poll_timeout`] returns, and poll again.
//! Packets come out in the order of their numbers, each once. A [`Gap`] replaces numbers that
//! neither line delivered in time.
//!
//! Between two resets the numbers that come out, delivered or in gaps, are consecutive. A packet
//! that cannot be decoded can be rejected ([`Arbiter::reject`]): the other line's copy then
//! replaces it. The arbiter has no clock: time is an argument, in nanoseconds from any origin.
//!
//! # Epochs
//!
//! An *epoch* is the sequence of numbers between two resets. The arbiter delivers one epoch at a
//! time. Each line sends all epochs in one order, from which single packets deviate by at most
//! `reorder_max` numbers and the hold time. The position of a line is an epoch, the current one or
//! one of the last four, and the highest number that it has sent there. A packet is assigned to an
//! epoch before duplicates are removed:
//!
//! 1. to the epoch that has an equal packet with its number;
//! 2. else to the epoch in which its number is free and nearest to the position of its line;
//! 3. else to the next epoch: it is kept, and assigned again when that epoch begins.
//!
//! Exceptions: A packet that is the next one of its line is new, even if a packet further back than
//! `reorder_max` was equal. While the lines differ, a number that its line has sent before is a
//! repeat. A packet whose number was declared lost is kept too, because it may belong to the next
//! epoch. A kept packet is judged by the position of its line at its arrival, and dropped once its
//! line has advanced by more than `reorder_max` numbers.
//!
//! A line moves to the next epoch with the packet that has the SequenceReset, or with a packet of a
//! later epoch. [`Arbiter::reset`] reports a SequenceReset: the lines that have sent its packet
//! enter the new epoch.
//!
//! A line may also show numbers of no known epoch without a reset, because it lost that packet or
//! the feed has none. The next epoch then begins after the hold time, so that the other line can
//! still deliver packets of the old one, including the reset. It does not begin while another line
//! continues in the old epoch, if that line is trusted or was excluded without proof: either the
//! continuing line is behind, or the other line does not show a reset. After `skew_ns` the arbiter
//! decides that there was no reset. If more packets of the next epoch arrive before that than can
//! be kept, the epoch begins, unless the continuing line has passed the number at which the other
//! one left.
//!
//! So no packet is lost or delivered twice, whatever the skew of the lines up to `skew_ns`, and as
//! far as `behind_max` numbers reach back. Packets of the old epoch that only the slower line has
//! are delivered if their epoch has not ended, and counted as `old_epoch` otherwise. Two cases
//! cannot be distinguished by number and bytes: the first packets of an epoch that begins within
//! `reorder_max` numbers of the last ones, before its reset is seen; and a packet that equals one
//! of the last `reorder_max` of the previous epoch with the same number.
//!
//! # Numbers that may be wrong
//!
//! A *leap* is a packet more than `reorder_max` numbers, or 127, ahead of every known packet,
//! including those of its own line. It waits for confirmation: the next packet of its line, or a
//! packet of the other line, within as many numbers. Two packets of its line below it prove that
//! its number is wrong, and it is dropped. Without either it is accepted after `skew_ns`.
//!
//! A packet that is less far ahead is held. It opens no gap while its line continues below it,
//! number by number, with pauses of at most `skew_ns`. A single packet beyond `ahead_max` is
//! accepted once its line has continued elsewhere: it is one of the packets that the line lost, and
//! may be the SequenceReset. While trusted lines send only packets that are not next in order, or
//! all lines repeat old packets, [`Arbiter::out_of_sequence`] reports it.
//!
//! # Lines that disagree
//!
//! Copies of a packet are compared by hash. If they differ, one line is wrong. The arbiter decides
//! by the first rule that applies:
//!
//! 1. The line whose copy could not be decoded ([`Arbiter::reject`]).
//! 2. The line that skipped at least two numbers that the other line has sent since they last
//!    agreed, as a line does that suddenly carries another channel. It is excluded until the lines
//!    agree again. If its packets were delivered, [`Arbiter::out_of_sequence`] reports it.
//! 3. The line that did not deliver first in this epoch. This is a guess and reported as such
//!    ([`LineEvent::Excluded`]). From the second such copy on, delivered packets are out of
//!    sequence until the lines agree again or one of them is silent.
//!
//! While `differing_max` of its last 16 copies differ, a line is excluded: packets that only this
//! line has are not delivered.
//!
//! A line that has not agreed on any packet yet may carry another channel. Its packets are held
//! until one equals a packet of the other line; then all are accepted. The new line replaces the
//! other one if that is silent (`silent_after_ns`). It replaces it earlier if it continues where
//! the other one stopped, under these conditions: it sends eight packets, each at most
//! `reorder_max` numbers after the previous one and the first as near to the other line's last
//! number; and meanwhile the other line sends nothing for twice its longest pause among its last
//! 1,024 to 2,047 packets (at least 256). If the other line paused that long before, the first
//! packet must be exactly the next one. A number that the other line has lost is taken from the new
//! line when its hold time is over. This remains a guess, as does the choice between two lines that
//! begin together and differ.
//!
//! # Cost and memory
//!
//! Each packet costs the same however many are held: the next held number is found in a bitmap, the oldest
//! at the front of a queue. Copies are compared by 64-bit hashes, not by bytes.
//!
//! | what | bytes |
//! |---|---|
//! | a number remembered: `behind_max` + `packets_held_max`, rounded up to a power of two; as many for each of at most 4 past epochs younger than `skew_ns` | 16 |
//! | a number that may be held: `packets_held_max`, rounded up to a power of two | 48 |
//! | a packet held: at most `packets_held_max`, and as many of the next epoch | its length and 56 |
//!
//! Buffers are used again, so a warm arbiter does not allocate.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Gap, Line};
//!
//! let mut arbiter = Arbiter::new(ArbiterOptions { hold_ns: 1_000, ..Default::default() });
//! let seven = arbiter.handle_packet(0, Line::A, 7, b"seven".as_slice());
//! assert!(matches!(seven, Some(ArbiterOutput::Deliver { seq_num: 7, .. })));
//! assert_eq!(arbiter.poll_output(), None);
//!
//! assert_eq!(arbiter.handle_packet(10, Line::A, 9, b"nine".as_slice()), None);
//! assert_eq!(arbiter.poll_output(), None);
//! assert_eq!(arbiter.poll_timeout(), Some(1_010));
//!
//! arbiter.handle_timeout(1_010);
//! assert_eq!(arbiter.poll_output(), Some(ArbiterOutput::Gap(Gap { first: 8, count: 1 })));
//! assert!(matches!(arbiter.poll_output(), Some(ArbiterOutput::Deliver { seq_num: 9, .. })));
//! ```

mod agreement;
mod copies;
mod counters;
mod dispute;
mod epochs;
mod handover;
mod history;
mod late;
mod leap;
mod line;
mod occupancy;
mod options;
mod output;
mod place;
mod sort;
mod starts;
mod unexpected;
mod waiting;
mod window;

pub use counters::{ArbiterCounters, LineCounters};
pub use late::HoldNeeded;
pub use line::{ExclusionReason, Line, LineEvent};
pub use options::{ArbiterOptions, UnexpectedPolicy};
pub use output::{ArbiterOutput, Gap, OutOfSequence};

use std::collections::VecDeque;

use tickwire_fast::BufferedPacket;

use crate::digest::digest;
use copies::LastDelivery;
use dispute::Dispute;
use epochs::{PastEpoch, Transition};
use history::FateHistory;
use late::EndedWaits;
use leap::Leap;
use line::{ArbitratedLine, LineTrust};
use place::Stand;
use unexpected::PendingPacket;
use window::{HeldPacket, ReorderWindow};

/// Numbers above this are unexpected whatever the options, so that arithmetic never wraps.
const SEQ_NUM_MAX: u64 = u64::MAX / 2;

/// Most numbers that one packet carries: the largest number of bytes in a datagram.
const PACKET_NUMBERS_MAX: u64 = 65_535;

/// Consecutive unexpected packets that prove more than stray ones.
const OUT_OF_SEQUENCE_MIN: u32 = 3;

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
struct PacketArrival<'p> {
    received_ns: u64,
    line: Line,
    seq_num: u64,
    hash: u64,
    packet: BufferedPacket<'p>,
}

/// A packet without its bytes.
#[derive(Clone, Copy, Debug)]
struct PacketHeader {
    seq_num: u64,
    line: Line,
    received_ns: u64,
    hash: u64,
}

/// A packet that is placed once the numbers before it have been polled.
#[derive(Clone, Copy, Debug)]
struct Parked {
    seq_num: u64,
    held: HeldPacket,
}

/// Next action of [`Arbiter::poll_output`].
enum ArbiterStep {
    Deliver(u64),
    DeclareGap(u64),
    Begin(Transition),
}

/// Merges the packets of two lines. See the [module](self).
#[derive(Debug)]
pub struct Arbiter {
    options: ArbiterOptions,
    /// Counts epochs from 0.
    epoch: u64,
    window: ReorderWindow,
    history: FateHistory,
    /// Past epochs, the oldest first.
    past: VecDeque<PastEpoch>,
    /// The next number to deliver; `None` before the first packet.
    next: Option<u64>,
    /// First number of the epoch.
    first: u64,
    /// The number after the highest one accepted.
    top: u64,
    /// Missing numbers below this one are no longer waited for.
    released: u64,
    ended_waits: EndedWaits,
    /// The line that delivered first in this epoch.
    leader: Option<Line>,
    /// The dispute of two trusted lines whose packets differ.
    dispute: Option<Dispute>,
    parked: Option<Parked>,
    /// The packet delivered last, until another call or packet follows.
    delivered: Option<LastDelivery>,
    /// The rejected packet while another copy is expected.
    rejected: Option<PacketHeader>,
    /// Copies that differ from the packets held with their numbers.
    alternatives: Vec<(u64, HeldPacket)>,
    /// By line: true if unconfirmed packets wait in the window for longer than the hold time.
    is_on_probation: [bool; 2],
    /// By line, a packet whose number may be wrong.
    leaps: [Option<Leap>; 2],
    /// Unexpected packets of trusted lines since the last delivery of a packet that arrived after
    /// them.
    unexpected_in_a_row: u32,
    /// True if one of these packets had a number below the next one: no later packet has its
    /// content.
    is_unexpected_behind: bool,
    /// Arrival time of the last of these packets.
    unexpected_ns: u64,
    /// Packets that may belong to the next epoch, in order of arrival.
    pending: VecDeque<PendingPacket>,
    /// Packets to be assigned again, now that an epoch has begun.
    replay: VecDeque<PendingPacket>,
    /// True if packets were assigned again, some of which may have waited for long enough.
    is_resorted: bool,
    /// The packet of `replay` that is being assigned: its bytes are already in a buffer.
    replaying: Option<HeldPacket>,
    /// Position of its line when `replaying` arrived.
    replayed_stand: Option<Stand>,
    /// Number of times the packet of `replaying` was assigned again.
    replays: u8,
    /// The next epoch, which begins once the held packets of this one have been polled.
    transition: Option<Transition>,
    /// The latest time passed by the caller.
    now_ns: u64,
    /// When the first packet arrived.
    started_ns: Option<u64>,
    states: [ArbitratedLine; 2],
    lines: [LineCounters; 2],
    events: VecDeque<LineEvent>,
    counters: ArbiterCounters,
}

impl Arbiter {
    /// Creates an arbiter before its first packet.
    pub fn new(options: ArbiterOptions) -> Self {
        let window = ReorderWindow::new(options.packets_held_max);
        let first = options.first_seq_num.map(|first| first.min(SEQ_NUM_MAX));
        Self {
            history: FateHistory::new(options.behind_max, window.span() as usize),
            epoch: 0,
            past: VecDeque::new(),
            next: first,
            first: first.unwrap_or(0),
            top: 0,
            released: 0,
            ended_waits: EndedWaits::default(),
            leader: None,
            dispute: None,
            parked: None,
            delivered: None,
            rejected: None,
            alternatives: Vec::new(),
            is_on_probation: [false; 2],
            leaps: [None; 2],
            unexpected_in_a_row: 0,
            is_unexpected_behind: false,
            unexpected_ns: 0,
            pending: VecDeque::new(),
            replay: VecDeque::new(),
            is_resorted: false,
            replaying: None,
            replayed_stand: None,
            replays: 0,
            transition: None,
            now_ns: 0,
            started_ns: None,
            states: [ArbitratedLine::default(); 2],
            lines: [LineCounters::default(); 2],
            events: VecDeque::new(),
            counters: ArbiterCounters::default(),
            window,
            options,
        }
    }

    /// Returns the options of the arbiter.
    pub const fn options(&self) -> &ArbiterOptions {
        &self.options
    }

    fn new_history(&self) -> FateHistory {
        FateHistory::new(self.options.behind_max, self.window.span() as usize)
    }

    /// Returns the next number to deliver, `None` before the first packet.
    pub fn next_seq_num(&self) -> Option<u64> {
        self.next
    }

    /// Returns how many packets wait: for missing packets before them, or for the next epoch.
    pub fn packets_held(&self) -> usize {
        let has_left = self.states.iter().any(|state| state.has_left);
        let pending = if has_left { self.pending.len() } else { 0 };
        let parked = usize::from(self.parked.is_some());
        let leaps = self.leaps.iter().flatten().count();
        self.window.held() + parked + pending + leaps + self.replay.len()
    }

    /// Returns a value while trusted lines send packets with unexpected sequence numbers, several
    /// since the last delivered packet, or if all lines only repeat packets from more than
    /// `reorder_max` numbers ago. The content of packets with unexpected numbers is unknown.
    #[inline]
    pub const fn out_of_sequence(&self) -> Option<OutOfSequence> {
        if self.unexpected_in_a_row < OUT_OF_SEQUENCE_MIN {
            return None;
        }
        Some(OutOfSequence { may_hide_updates: self.is_unexpected_behind })
    }

    /// Returns the epoch, counted from 0, whose packets a line sends. If the line has left the
    /// current epoch, that is one more than the current one.
    pub(crate) fn epoch_of(&self, line: Line) -> u64 {
        let state = &self.states[line.index()];
        state.epoch + u64::from(state.has_left)
    }

    /// True if a line agrees with the other, or was the first.
    pub(crate) fn is_trusted(&self, line: Line) -> bool {
        self.standing(line) == LineTrust::Trusted
    }

    /// Counters of a line.
    pub fn line_counters(&self, line: Line) -> LineCounters {
        self.lines[line.index()]
    }

    /// Counters of both lines together.
    pub fn counters(&self) -> ArbiterCounters {
        self.counters
    }

    /// Handles a packet that arrived on `line` at `now_ns`. `packet` is a slice, or a [`BufferedPacket`] if
    /// the memory behind it is readable. Returns the packet if it is next in order, without copying
    /// it: process it, then poll. Otherwise it is held, or counted and dropped.
    #[must_use = "a packet that is next in order is returned"]
    pub fn handle_packet<'p>(
        &mut self,
        now_ns: u64,
        line: Line,
        seq_num: u64,
        packet: impl Into<BufferedPacket<'p>>,
    ) -> Option<ArbiterOutput<'p>> {
        let arrival = self.arrive(now_ns, line, seq_num, packet.into());
        if self.is_plain(&arrival) {
            return Some(self.deliver_plain(&arrival));
        }
        if self.is_plain_behind_gap(&arrival) {
            self.hold_plain(&arrival);
            return None;
        }
        let output = self.sort_packet(&arrival);
        let is_waiting =
            self.window.held() > 0 || self.rejected.is_some() || !self.pending.is_empty();
        if is_waiting || self.has_leap() {
            self.forget_old_pending();
            self.handle_timeout(now_ns);
        }
        output
    }

    /// Records the arrival of a packet, whatever happens to it.
    #[inline(always)]
    fn arrive<'p>(
        &mut self,
        now_ns: u64,
        line: Line,
        seq_num: u64,
        packet: BufferedPacket<'p>,
    ) -> PacketArrival<'p> {
        self.delivered = None;
        self.note_time(now_ns);
        let hash = digest(packet.bytes());
        let arrival = PacketArrival { received_ns: now_ns, line, seq_num, hash, packet };
        self.note_order(&arrival);
        let now_ns = self.now_ns;
        let state = &mut self.states[line.index()];
        let last_ns = state.last_received_ns.replace(now_ns);
        let pause_ns = last_ns.map(|last_ns| now_ns.saturating_sub(last_ns));
        if let Some(pause_ns) = pause_ns {
            state.pauses.take(pause_ns);
        }
        if pause_ns.is_none_or(|pause_ns| pause_ns >= self.options.silent_after_ns) {
            state.resumed_ns = now_ns;
        }
        if !state.is_trusted {
            self.note_alone(&arrival, last_ns.is_none());
        }
        self.end_alone(line);
        if self.states[line.index()].is_silent {
            self.end_silence(line);
        }
        arrival
    }

    /// True if nothing is held and nothing is about to change.
    fn is_quiet(&self) -> bool {
        self.window.held() == 0
            && self.parked.is_none()
            && self.transition.is_none()
            && self.rejected.is_none()
            && self.replay.is_empty()
    }

    /// Fast path: the next packet of a trusted line while nothing else is pending. Gives the same
    /// result as [`sort_packet`](Self::sort_packet) with fewer checks.
    fn is_plain(&self, arrival: &PacketArrival<'_>) -> bool {
        let PacketArrival { line, seq_num, .. } = *arrival;
        self.next == Some(seq_num)
            && self.window.held() == 0
            && self.is_undisturbed(arrival)
            && (self.states[line.index()].is_at(seq_num)
                || !self.has_left_out_before(line, seq_num))
    }

    /// True if nothing is about to change and the packet's line is trusted.
    #[inline]
    fn is_undisturbed(&self, arrival: &PacketArrival<'_>) -> bool {
        let PacketArrival { line, seq_num, packet, .. } = *arrival;
        seq_num < SEQ_NUM_MAX
            && self.parked.is_none()
            && self.transition.is_none()
            && self.rejected.is_none()
            && self.replay.is_empty()
            && self.past.is_empty()
            && self.pending.is_empty()
            && self.states[line.index()].is_plain()
            && self.leaps[line.index()].is_none()
            && packet.len() <= self.options.packet_bytes_max
    }

    /// Fast path while a number is missing: a packet above all that were accepted. See
    /// [`is_plain`](Self::is_plain).
    fn is_plain_behind_gap(&self, arrival: &PacketArrival<'_>) -> bool {
        let PacketArrival { line, seq_num, .. } = *arrival;
        let Some(next) = self.next else { return false };
        seq_num >= self.top
            && seq_num > next
            && seq_num - next < self.window.span()
            && self.states[line.index()].is_followed_by(seq_num, self.leap_reach())
            && self.window.at(seq_num).is_none()
            && self.is_undisturbed(arrival)
    }

    fn hold_plain(&mut self, arrival: &PacketArrival<'_>) {
        let PacketArrival { line, seq_num, hash, packet, received_ns } = *arrival;
        self.states[line.index()].note_highest(seq_num);
        self.lines[line.index()].first += 1;
        self.top = seq_num + 1;
        let held = self.window.store(line, received_ns, hash, packet.bytes());
        self.hold(seq_num, held);
        self.release_due();
    }

    fn deliver_plain<'p>(&mut self, arrival: &PacketArrival<'p>) -> ArbiterOutput<'p> {
        let PacketArrival { line, seq_num, hash, packet, received_ns } = *arrival;
        self.states[line.index()].note_highest(seq_num);
        self.lines[line.index()].first += 1;
        self.top = self.top.max(seq_num + 1);
        self.history.mark_accepted(seq_num, line, hash);
        self.note_delivery(PacketHeader { seq_num, line, received_ns, hash });
        let out_of_sequence = self.out_of_sequence();
        ArbiterOutput::Deliver { seq_num, line, received_ns, out_of_sequence, packet }
    }

    /// Reports that the packet delivered last carried every number below `next`, not only its own.
    /// Used by feeds that number messages and put several into a packet. Call it before the next
    /// [`poll_output`](Self::poll_output). A `next` that is not ahead, or is further ahead than a
    /// datagram has bytes, changes nothing.
    pub fn advance_to(&mut self, next: u64) {
        let Some(expected) = self.next else { return };
        if next <= expected || next - expected > PACKET_NUMBERS_MAX {
            return;
        }
        let fate = self.history.fate(expected.saturating_sub(1));
        for seq_num in expected..next {
            // A packet that begins inside the delivered one contains nothing new.
            if let Some(held) = self.window.take(seq_num) {
                *self.taken_counter(held.line, seq_num) -= 1;
                self.lines[held.line.index()].duplicate += 1;
                if !fate.was_seen_on(held.line) {
                    self.note_differing(held.line, seq_num, agreement::CopyComparison::Differs);
                }
            }
            self.history.mark_inside(seq_num, fate);
        }
        if let Some(parked) = self.parked.take_if(|parked| parked.seq_num < next) {
            self.lines[parked.held.line.index()].first -= 1;
            self.lines[parked.held.line.index()].duplicate += 1;
            self.window.discard(parked.held);
        }
        self.forget_copies(next);
        self.next = Some(next);
        self.top = self.top.max(next);
    }

    /// Returns the next packet, gap or reset; `None` if there is nothing to do but wait. A packet's
    /// bytes are valid until the next call.
    pub fn poll_output(&mut self) -> Option<ArbiterOutput<'_>> {
        self.delivered = None;
        if let Some(next) = self.next.filter(|_| !self.alternatives.is_empty()) {
            self.forget_copies(next);
        }
        match self.settle()? {
            ArbiterStep::Deliver(next) => self.deliver(next),
            ArbiterStep::DeclareGap(next) => Some(ArbiterOutput::Gap(self.declare_gap(next))),
            ArbiterStep::Begin(transition) => Some(self.begin_epoch(transition)),
        }
    }

    /// Advances the state until there is output.
    fn settle(&mut self) -> Option<ArbiterStep> {
        if self.is_quiet() && self.next.is_none_or(|next| next >= self.released) {
            self.window.forget_arrivals();
            return None;
        }
        loop {
            let next = self.next?;
            if self.is_deliverable(next) {
                return Some(ArbiterStep::Deliver(next));
            }
            if let Some(Parked { seq_num, held }) = self.take_parked(next) {
                self.hold(seq_num, held);
                self.is_resorted = true;
                continue;
            }
            if next < self.released {
                return Some(ArbiterStep::DeclareGap(next));
            }
            if let Some(parked) = &self.parked {
                self.released = parked.seq_num - (self.window.span() - 1);
            } else if let Some(transition) = self.transition {
                if self.window.held() == 0 && self.rejected.is_none() {
                    self.transition = None;
                    return Some(ArbiterStep::Begin(transition));
                }
                self.drop_unconfirmed(next);
                self.release_all();
            } else if self.replay_next() {
                self.is_resorted = true;
            } else if !std::mem::take(&mut self.is_resorted) || !self.release_due() {
                // Leaves the oldest packet at the front, where `poll_timeout` finds it.
                self.window.oldest(next);
                return None;
            }
        }
    }

    /// Stops waiting for all missing numbers before the last held packet.
    fn release_all(&mut self) {
        let Some(next) = self.next else { return };
        if let Some(seq_num) = self.window.last_from(next) {
            self.released = self.released.max(seq_num);
        }
        if let Some(rejected) = self.rejected {
            self.released = self.released.max(rejected.seq_num.saturating_add(1));
        }
    }

    fn deliver(&mut self, next: u64) -> Option<ArbiterOutput<'_>> {
        let held = self.window.take(next)?;
        let HeldPacket { line, received_ns, hash, .. } = held;
        if !self.history.fate(next).was_accepted() {
            self.accept_unconfirmed(next, &held);
        }
        self.note_delivery(PacketHeader { seq_num: next, line, received_ns, hash });
        let out_of_sequence = self.out_of_sequence();
        let packet = self.window.bytes(&held).into();
        Some(ArbiterOutput::Deliver { seq_num: next, line, received_ns, out_of_sequence, packet })
    }

    /// Ends the out-of-sequence state: lines send the next packets in order, or agree on past ones.
    #[inline]
    const fn note_in_sequence(&mut self) {
        self.unexpected_in_a_row = 0;
        self.is_unexpected_behind = false;
    }

    /// Advances past a delivered packet.
    fn note_delivery(&mut self, source: PacketHeader) {
        let is_replacement = self.end_rejection(source.seq_num);
        self.leader.get_or_insert(source.line);
        if source.received_ns >= self.unexpected_ns && !self.is_in_doubt() {
            self.note_in_sequence();
        }
        self.pass(source.seq_num, 1);
        self.counters.delivered += u64::from(!is_replacement);
        self.delivered = Some(LastDelivery { source, is_replacement });
    }

    /// Returns the missing numbers from `next` to the first held packet, up to the last one no
    /// longer waited for.
    fn declare_gap(&mut self, next: u64) -> Gap {
        if self.end_rejection(next) {
            self.pass(next, 1);
            return Gap { first: next, count: 1 };
        }
        let first_held = self.window.first_from(next);
        let first_parked = self.parked.map(|parked| parked.seq_num);
        let first = first_held.into_iter().chain(first_parked).min();
        let end = first.unwrap_or(self.released).min(self.released);
        let gap = Gap { first: next, count: end - next };
        self.pass(next, gap.count);
        self.counters.gaps += 1;
        self.counters.gap_seq_nums = self.counters.gap_seq_nums.saturating_add(gap.count);
        gap
    }

    /// Advances past `count` numbers that have the same fate.
    fn pass(&mut self, next: u64, count: u64) {
        let fate = self.history.fate(next);
        for line in Line::ALL {
            if count > 1 || !fate.was_seen_on(line) {
                let lost = &mut self.lines[line.index()].lost;
                *lost = lost.saturating_add(count);
            }
        }
        self.next = Some(next + count);
    }

    /// Returns the parked packet once the window reaches it.
    fn take_parked(&mut self, next: u64) -> Option<Parked> {
        let span = self.window.span();
        self.parked.take_if(|parked| parked.seq_num.saturating_sub(next) < span)
    }
}

#[cfg(test)]
mod tests;
