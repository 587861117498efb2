//! OPRA lines: arbitrates the sides A and B of a line and delivers its messages in order and once.
//!
//! The sequence numbers of a line count messages. A packet header has the first number and the
//! count. Line integrity and administrative messages may repeat the last number; their bytes
//! distinguish such a packet from a copy of the previous one. A packet that cannot be decoded is
//! replaced by the copy of the other side, if that arrives in time. No message is delivered twice.
//!
//! The control message that resets the numbers (category H, type K) has a number of the new epoch,
//! and the next message has its successor. It starts an epoch if it is the first message of a
//! packet whose number is not the next one. The epoch starts when both sides have sent the reset,
//! or after the hold time (after `skew_ns` if the other side continues in the old epoch), so that
//! the other side can still deliver packets of the old epoch. If both sides lost the reset,
//! [`ArbiterOptions::unexpected`] controls how restarted numbers are handled.
//!
//! Lines are independent of each other and can be distributed over threads.
//!
//! # Examples
//!
//! ```
//! use tickwire_feed::arbiter::{ArbiterOptions, Line};
//! use tickwire_feed::opra::{LineHandler, OpraEvent};
//! use tickwire_opra::{OpraVersion, generate};
//!
//! let packets = generate::trace(OpraVersion::V2, 1, 100)?;
//! let mut handler = LineHandler::new(ArbiterOptions::default());
//! let mut messages = 0;
//! for packet in &packets {
//!     handler.handle_packet(0, Line::A, packet);
//!     handler.handle_packet(0, Line::B, packet);
//!     while let Some(event) = handler.poll_event(|_message| messages += 1) {
//!         assert!(matches!(event, OpraEvent::Packet { result: Ok(_), .. }));
//!     }
//! }
//! assert!(messages >= 100);
//! assert_eq!(handler.arbiter().counters().delivered, packets.len() as u64);
//! # Ok::<(), tickwire_opra::OpraEncodeError>(())
//! ```

mod driven;
mod market;
mod reset;

pub use driven::OpraSink;
pub use market::OpraAdapter;

use std::collections::VecDeque;

use tickwire_opra::{Decode, OpraError, OpraMessage, OpraSummary, OpraVersion, bottom_up, peek};

use crate::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Gap, Line};
use crate::digest::digest;
use reset::{LineReset, ResetOccurrence};

/// Most packets with a repeated number that wait to be polled.
const REPEATS_HELD_MAX: usize = 64;
/// Most packets with the last used number whose bytes are remembered.
const SEEN_MAX: usize = 64;

/// Output of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpraEvent {
    /// A packet was decoded, and its messages have been passed on. [`OpraSummary::warnings`] has its
    /// irregularities; after an error the rest of the packet is lost.
    Packet {
        /// Number of its first message, from the packet header.
        seq_num: u64,
        /// Line of the first copy.
        line: Line,
        /// Arrival time, as passed to [`LineHandler::handle_packet`].
        received_ns: u64,
        /// Result of decoding the packet.
        result: Result<OpraSummary, OpraError>,
    },
    /// Messages that arrived on neither line in time.
    Gap(Gap),
    /// The sequence numbers restart.
    Reset {
        /// Number of the next message.
        seq_num: u64,
    },
}

/// Counters of a line, in addition to those of its arbiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineHandlerCounters {
    /// Packets whose number cannot be determined: the header is missing, or its number is not
    /// decimal.
    pub unnumbered: u64,
    /// Delivered packets that repeat the last used sequence number.
    pub repeats: u64,
    /// Copies of such packets.
    pub repeats_dropped: u64,
    /// Packets dropped because the previous one was not polled.
    pub not_polled: u64,
    /// Packets that could not be decoded, and were replaced by a copy or waited for one.
    pub rejected: u64,
}

/// A packet that could not be decoded, while a copy is expected.
#[derive(Clone, Copy, Debug)]
struct RejectedOpraPacket {
    packet: DeliveredPacket,
    error: OpraError,
    /// Messages passed on before the error.
    shown: u32,
}

/// Properties of a packet besides its bytes.
#[derive(Clone, Copy, Debug)]
struct DeliveredPacket {
    seq_num: u64,
    line: Line,
    received_ns: u64,
    digest: u64,
    /// Number of messages, from the packet header.
    count: Option<u32>,
}

/// A packet after an attempt to decode it.
struct DecodeAttempt {
    packet: DeliveredPacket,
    has_header: bool,
    /// Messages passed on: those before the error, or all.
    shown: u32,
    result: Result<OpraSummary, OpraError>,
}

impl DecodeAttempt {
    /// Decodes a packet; messages that a rejected copy of it has passed on are skipped.
    fn new(
        decoder: &mut bottom_up::BottomUpDecoder,
        (seq_num, line, received_ns): (u64, Line, u64),
        bytes: &[u8],
        rejected: Option<RejectedOpraPacket>,
        mut visit: impl FnMut(OpraMessage<'_>),
    ) -> Self {
        let header = peek(bytes).and_then(|(_, header)| header);
        let count = header.and_then(|header| header.count());
        let packet = DeliveredPacket { seq_num, line, received_ns, digest: digest(bytes), count };
        let known = rejected.map_or(0, |rejected| rejected.shown);
        let mut shown = 0;
        let result = decoder.decode_packet(bytes, |message| {
            shown += 1;
            if shown > known {
                visit(message);
            }
        });
        Self { packet, has_header: header.is_some(), shown, result }
    }
}

/// A packet that repeats a number.
#[derive(Debug)]
struct Repeat {
    seq_num: u64,
    line: Line,
    received_ns: u64,
    bytes: Vec<u8>,
}

/// Arbitrates the A and B side of an OPRA line and decodes its messages in order. See the
/// [module](self).
pub struct LineHandler {
    arbiter: Arbiter,
    decoder: bottom_up::BottomUpDecoder,
    /// The last number used by a delivered packet.
    last_used: Option<u64>,
    /// Digests of the packets seen with that number.
    seen: Vec<u64>,
    repeats: VecDeque<Repeat>,
    rejected: Option<RejectedOpraPacket>,
    /// Number, line and time of the packet in `next_bytes`, the next one in order.
    next: Option<(u64, Line, u64)>,
    next_bytes: Vec<u8>,
    reset: LineReset,
    counters: LineHandlerCounters,
}

impl LineHandler {
    /// Creates a handler before its first packet. Options that count sequence numbers count
    /// messages.
    pub fn new(options: ArbiterOptions) -> Self {
        Self {
            // A line integrity message repeats a number with other content; that is no disagreement
            // of lines.
            arbiter: Arbiter::new(ArbiterOptions { differing_max: u32::MAX, ..options }),
            decoder: bottom_up::BottomUpDecoder::new(),
            last_used: None,
            seen: Vec::new(),
            repeats: VecDeque::new(),
            rejected: None,
            next: None,
            next_bytes: Vec::new(),
            reset: LineReset::default(),
            counters: LineHandlerCounters::default(),
        }
    }

    /// Returns the arbiter, for its counters.
    pub fn arbiter(&self) -> &Arbiter {
        &self.arbiter
    }

    /// Returns the counters that the arbiter does not have.
    pub fn counters(&self) -> LineHandlerCounters {
        self.counters
    }

    /// Handles a packet that arrived on `line` at `now_ns`. Poll until `None` before passing the
    /// next packet.
    pub fn handle_packet(&mut self, now_ns: u64, line: Line, packet: &[u8]) {
        if let Some(next) = self.sort_packet(now_ns, line, packet) {
            self.next = Some(next);
            self.next_bytes.clear();
            self.next_bytes.extend_from_slice(packet);
        }
    }

    /// Handles a packet. If it is next in order, and no output is left to poll, it is decoded in
    /// place.
    fn handle_packet_in_place(
        &mut self,
        now_ns: u64,
        line: Line,
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Option<OpraEvent> {
        let source = self.sort_packet(now_ns, line, packet)?;
        self.decode_next(source, packet, visit)
    }

    /// Decodes the next packet in order.
    fn decode_next(
        &mut self,
        source: (u64, Line, u64),
        packet: &[u8],
        visit: impl FnMut(OpraMessage<'_>),
    ) -> Option<OpraEvent> {
        let Self { decoder, rejected, .. } = self;
        let known = rejected.take_if(|rejected| rejected.packet.seq_num == source.0);
        let attempt = DecodeAttempt::new(decoder, source, packet, known, visit);
        self.end_attempt(attempt)
    }

    /// Classifies a packet; returns its number, line and time if it is next in order.
    fn sort_packet(&mut self, now_ns: u64, line: Line, packet: &[u8]) -> Option<(u64, Line, u64)> {
        let Some(seq_num) = self.seq_num_of(packet) else {
            self.counters.unnumbered += 1;
            self.arbiter.handle_timeout(now_ns);
            return None;
        };
        let reset = self.reset.note(&mut self.decoder, packet);
        let last_used = self.last_used;
        if last_used == Some(seq_num) {
            if !self.note_seen(packet) {
                self.counters.repeats_dropped += 1;
            } else if self.repeats.len() < REPEATS_HELD_MAX {
                self.counters.repeats += 1;
                let bytes = packet.to_vec();
                self.repeats.push_back(Repeat { seq_num, line, received_ns: now_ns, bytes });
            }
            self.arbiter.handle_timeout(now_ns);
            return None;
        }
        let is_next = self.arbiter.next_seq_num() == Some(seq_num);
        if self.next.is_some() && is_next {
            self.counters.not_polled += 1;
            self.arbiter.handle_timeout(now_ns);
            return None;
        }
        let has_begun = self.arbiter.next_seq_num().is_some();
        let begins_epoch = match reset {
            Some(ResetOccurrence::First) => has_begun && !is_next,
            Some(ResetOccurrence::Copy) => self.arbiter.is_epoch_announced(seq_num),
            None => false,
        };
        if begins_epoch {
            let is_used = self.arbiter.handle_epoch_start(now_ns, line, seq_num, packet);
            if !is_used && reset == Some(ResetOccurrence::First) {
                self.reset.forget_last();
            }
            return None;
        }
        let next = self.arbiter.handle_packet(now_ns, line, seq_num, packet);
        next.map(|_| (seq_num, line, now_ns))
    }

    /// Declares numbers lost whose hold time is over at `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.arbiter.handle_timeout(now_ns);
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout); `None` while
    /// nothing is held.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.arbiter.poll_timeout()
    }

    /// Returns the next event, after passing the messages of a packet to `visit`. `None` if there
    /// is nothing to do but wait.
    pub fn poll_event(&mut self, mut visit: impl FnMut(OpraMessage<'_>)) -> Option<OpraEvent> {
        if let Some(repeat) = self.repeats.pop_front() {
            let Repeat { seq_num, line, received_ns, bytes } = repeat;
            let result = self.decoder.decode_packet(&bytes, visit);
            return Some(OpraEvent::Packet { seq_num, line, received_ns, result });
        }
        if let Some(source) = self.next.take() {
            let packet = std::mem::take(&mut self.next_bytes);
            let event = self.decode_next(source, &packet, &mut visit);
            self.next_bytes = packet;
            if event.is_some() {
                return event;
            }
        }
        loop {
            match self.arbiter.poll_output()? {
                ArbiterOutput::Deliver { seq_num, line, received_ns, packet, .. } => {
                    let Self { decoder, rejected, .. } = self;
                    let known = rejected.take_if(|rejected| rejected.packet.seq_num == seq_num);
                    let source = (seq_num, line, received_ns);
                    let decoded =
                        DecodeAttempt::new(decoder, source, packet.bytes(), known, &mut visit);
                    if let Some(event) = self.end_attempt(decoded) {
                        return Some(event);
                    }
                }
                ArbiterOutput::Gap(gap) => {
                    let is_own =
                        |rejected: &mut RejectedOpraPacket| rejected.packet.seq_num == gap.first;
                    if let Some(RejectedOpraPacket { packet, error, .. }) =
                        self.rejected.take_if(is_own)
                    {
                        return Some(self.end_packet(packet, true, Err(error)));
                    }
                    self.last_used = Some(gap.last());
                    self.seen.clear();
                    return Some(OpraEvent::Gap(gap));
                }
                ArbiterOutput::Reset { seq_num } => {
                    self.rejected = None;
                    self.last_used = None;
                    self.seen.clear();
                    return Some(OpraEvent::Reset { seq_num });
                }
            }
        }
    }

    /// Rejects a packet that could not be decoded, so that the arbiter may deliver a copy; returns
    /// the event of any other packet.
    fn end_attempt(&mut self, attempt: DecodeAttempt) -> Option<OpraEvent> {
        let DecodeAttempt { packet, has_header, shown, result } = attempt;
        match result {
            Err(error) if self.arbiter.reject() => {
                self.counters.rejected += 1;
                self.rejected = Some(RejectedOpraPacket { packet, error, shown });
                None
            }
            result => Some(self.end_packet(packet, has_header, result)),
        }
    }

    /// Completes a packet and the numbers of its messages.
    fn end_packet(
        &mut self,
        packet: DeliveredPacket,
        has_header: bool,
        result: Result<OpraSummary, OpraError>,
    ) -> OpraEvent {
        let DeliveredPacket { seq_num, line, received_ns, digest, count } = packet;
        let decoded = || result.ok().map(|summary| summary.messages);
        let count = if has_header { count } else { decoded() };
        self.arbiter.advance_to(seq_num.saturating_add(count.unwrap_or(1).into()));
        self.last_used = self.arbiter.next_seq_num().and_then(|next| next.checked_sub(1));
        self.seen.clear();
        self.seen.push(digest);
        OpraEvent::Packet { seq_num, line, received_ns, result }
    }

    /// Returns the number of the first message of a packet.
    fn seq_num_of(&mut self, packet: &[u8]) -> Option<u64> {
        match peek(packet)? {
            (OpraVersion::V2, Some(header)) => header.seq_num(),
            // In the old version only messages have the number.
            _ => self.decoder.decode_packet(packet, |_| {}).ok()?.first_seq_num,
        }
    }

    /// Remembers a packet with the last used number; returns true if it is new.
    fn note_seen(&mut self, packet: &[u8]) -> bool {
        let digest = digest(packet);
        let is_new = !self.seen.contains(&digest);
        if is_new && self.seen.len() < SEEN_MAX {
            self.seen.push(digest);
        }
        is_new
    }
}

/// Assigns packets to lines by destination port: A sides have consecutive ports, and so have B
/// sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Port of the A side of the first line.
    pub first_a: u16,
    /// Port of the B side of the first line.
    pub first_b: u16,
    /// Number of lines.
    pub lines: u16,
}

impl Default for Ports {
    /// Returns the ports of published configurations, with 24 lines.
    fn default() -> Self {
        Self { first_a: 11_101, first_b: 12_101, lines: 24 }
    }
}

impl Ports {
    /// Returns the line, from 0, and the side of a port.
    pub fn side_of(&self, port: u16) -> Option<(usize, Line)> {
        let sides = [(self.first_a, Line::A), (self.first_b, Line::B)];
        sides.into_iter().find_map(|(first, line)| {
            let index = port.checked_sub(first)?;
            (index < self.lines).then_some((usize::from(index), line))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbiter::UnexpectedPolicy;
    use tickwire_opra::{Field, OpraEncoder, OpraMessageDraft, generate};

    fn trace() -> Vec<Vec<u8>> {
        generate::trace(OpraVersion::V2, 3, 2_000).expect("generates")
    }

    /// A line integrity packet; `minute` makes its bytes distinct.
    fn integrity(seq_num: u64, minute: u32) -> Vec<u8> {
        control(b'N', seq_num, minute)
    }

    fn control(message_type: u8, seq_num: u64, minute: u32) -> Vec<u8> {
        let mut draft = OpraMessageDraft::new(OpraVersion::V2);
        for (field, value) in [
            (Field::Category, u32::from(b'H')),
            (Field::MessageType, message_type.into()),
            (Field::Participant, u32::from(b'O')),
            (Field::Retransmission, 32),
            (Field::Time, minute * 100_000),
        ] {
            draft.set_number(field, value);
        }
        draft.set_seq_num(seq_num);
        let mut encoder = OpraEncoder::new(OpraVersion::V2);
        encoder.begin(seq_num);
        encoder.push(&draft.message().expect("complete")).expect("encodes");
        encoder.finish().expect("finishes").to_vec()
    }

    /// Polls everything: the sequence numbers of all messages, and the counts of gaps.
    fn poll_all(handler: &mut LineHandler) -> (Vec<u64>, Vec<u64>) {
        let (mut seq_nums, mut gaps) = (Vec::new(), Vec::new());
        loop {
            match handler.poll_event(|message| seq_nums.extend(message.seq_num())) {
                Some(OpraEvent::Packet { result, .. }) => assert_eq!(result.map(drop), Ok(())),
                Some(OpraEvent::Gap(gap)) => gaps.push(gap.count),
                Some(OpraEvent::Reset { .. }) => {}
                None => return (seq_nums, gaps),
            }
        }
    }

    #[test]
    fn what_one_side_loses_comes_from_the_other() {
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let mut seq_nums = Vec::new();
        for (index, packet) in trace().iter().enumerate() {
            if index % 3 != 0 {
                handler.handle_packet(index as u64, Line::A, packet);
                seq_nums.extend(poll_all(&mut handler).0);
            }
            if index % 3 != 1 {
                handler.handle_packet(index as u64, Line::B, packet);
                seq_nums.extend(poll_all(&mut handler).0);
            }
        }
        assert!(seq_nums.len() >= 2_000 - 10);
        assert!(seq_nums.is_sorted_by(|a, b| a < b));
        assert_eq!(handler.arbiter().counters().gaps, 0);
    }

    #[test]
    fn a_packet_that_is_bad_on_one_side_comes_from_the_other() {
        let packets = trace();
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let (mut seq_nums, mut expected) = (Vec::new(), Vec::new());
        for (index, packet) in packets.iter().enumerate() {
            let mut cut = packet.clone();
            cut.truncate(packet.len() / 2);
            let sides = match index % 8 {
                1 => [&cut, packet],
                5 => [packet, &cut],
                _ => [packet, packet],
            };
            for (line, packet) in Line::ALL.into_iter().zip(sides) {
                handler.handle_packet(index as u64, line, packet);
                seq_nums.extend(poll_all(&mut handler).0);
            }
            bottom_up::BottomUpDecoder::new()
                .decode_packet(packet, |message| expected.extend(message.seq_num()))
                .expect("decodes");
        }
        assert_eq!(seq_nums, expected);
        assert_eq!(handler.counters().rejected, ((packets.len() + 6) / 8) as u64);
        assert_eq!(handler.arbiter().counters().gaps, 0);
    }

    /// Returns the output of a line whose A side breaks before B sends anything, with `pause_ns`
    /// between packets.
    fn messages_of_a_late_side(good: usize, pause_ns: u64) -> (Vec<u64>, Vec<u64>) {
        let packets = trace();
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let (mut seq_nums, mut expected) = (Vec::new(), Vec::new());
        for (index, packet) in packets.iter().enumerate().take(good + 6) {
            let now_ns = index as u64 * pause_ns;
            let broken = &packet[..packet.len() / 2];
            let a = if index == good { broken } else { packet };
            handler.handle_packet(now_ns, Line::A, a);
            seq_nums.extend(poll_all(&mut handler).0);
            if index >= good {
                handler.handle_packet(now_ns + 1, Line::B, packet);
                seq_nums.extend(poll_all(&mut handler).0);
            }
            handler.handle_timeout(now_ns + pause_ns);
            seq_nums.extend(poll_all(&mut handler).0);
            bottom_up::BottomUpDecoder::new()
                .decode_packet(packet, |message| expected.extend(message.seq_num()))
                .expect("decodes");
        }
        assert_eq!(handler.arbiter().counters().gaps, 0);
        (seq_nums, expected)
    }

    #[test]
    fn a_packet_that_is_bad_before_the_other_side_was_seen_comes_from_the_other() {
        for good in [0, 1, 5] {
            for pause_ns in [10, 3_000_000] {
                let (seq_nums, expected) = messages_of_a_late_side(good, pause_ns);
                assert_eq!(seq_nums, expected, "after {good} packets, {pause_ns} ns");
            }
        }
    }

    #[test]
    fn a_packet_that_is_bad_on_both_sides_is_told_of_once() {
        let packets = trace();
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let mut errors = Vec::new();
        for packet in [&packets[0], &packets[1][..40].to_vec(), &packets[2]] {
            for line in Line::ALL {
                handler.handle_packet(0, line, packet);
                while let Some(event) = handler.poll_event(|_| {}) {
                    match event {
                        OpraEvent::Packet { seq_num, result: Err(_), .. } => errors.push(seq_num),
                        OpraEvent::Packet { .. } => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
        let second = peek(&packets[1]).and_then(|(_, header)| header?.seq_num());
        assert_eq!(errors, [second.expect("header")]);
        assert_eq!(handler.poll_timeout(), None);
    }

    /// Line B is some packets behind. Line A loses those of them that `lost` names, by their
    /// distance before the reset.
    fn assert_resets_once(lost: &[i64]) {
        let (before, after) =
            (trace(), generate::trace(OpraVersion::V2, 5, 500).expect("generates"));
        let first_of =
            |packets: &[Vec<u8>]| peek(&packets[0]).and_then(|(_, head)| head?.seq_num());
        let first = first_of(&after).expect("numbered");
        let reset = control(b'K', first.checked_sub(1).expect("room"), 930);
        let sent: Vec<&Vec<u8>> = before.iter().chain([&reset]).chain(&after).collect();
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let (mut messages, mut resets, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let mut bring = |line, packet: &[u8], at: usize| {
            handler.handle_packet(at as u64, line, packet);
            while let Some(event) = handler.poll_event(|message| messages.extend(message.seq_num()))
            {
                match event {
                    OpraEvent::Packet { result, .. } => assert_eq!(result.map(drop), Ok(())),
                    OpraEvent::Reset { seq_num } => resets.push(seq_num),
                    OpraEvent::Gap(gap) => panic!("{gap:?}"),
                }
            }
        };
        for (at, packet) in sent.iter().enumerate() {
            if !lost.contains(&(at as i64 - before.len() as i64)) {
                bring(Line::A, packet, at);
            }
            if let Some(behind) = at.checked_sub(5) {
                bring(Line::B, sent[behind], at);
            }
        }
        for packet in &sent {
            let visit = |message: OpraMessage<'_>| expected.extend(message.seq_num());
            bottom_up::BottomUpDecoder::new().decode_packet(packet, visit).expect("decodes");
        }
        assert_eq!((messages == expected, resets), (true, vec![first - 1]), "{lost:?}");
        assert_eq!(handler.arbiter().line_counters(Line::B).unexpected, 0);
    }

    #[test]
    fn a_control_message_resets_the_numbers() {
        assert_resets_once(&[]);
    }

    #[test]
    fn the_other_line_may_still_bring_packets_of_before_a_reset() {
        assert_resets_once(&[-1]);
        assert_resets_once(&[-4, -2, -1]);
    }

    /// Packets of the new epoch are already waiting.
    #[test]
    fn a_reset_that_one_line_has_lost_comes_from_the_other() {
        assert_resets_once(&[0]);
        assert_resets_once(&[-1, 0, 1]);
    }

    /// Line B is silent.
    #[test]
    fn a_reset_on_one_line_alone_waits_for_the_other_and_no_longer() {
        let mut handler = LineHandler::new(ArbiterOptions { hold_ns: 100, ..Default::default() });
        handler.handle_packet(0, Line::A, &integrity(50, 930));
        handler.handle_packet(1, Line::A, &control(b'K', 1, 931));
        handler.handle_packet(2, Line::A, &integrity(2, 931));
        assert_eq!(poll_all(&mut handler).0, [50]);
        assert_eq!(handler.poll_timeout(), Some(101));
        handler.handle_timeout(101);
        assert_eq!(poll_all(&mut handler).0, [1, 2]);
        assert_eq!(handler.arbiter().packets_held(), 0);
    }

    /// A handler after packets 900 to 929 of both sides; all packets of B differ.
    fn with_side_b_excluded() -> LineHandler {
        let mut handler = LineHandler::new(ArbiterOptions { hold_ns: 100, ..Default::default() });
        for seq_num in 900..930 {
            handler.handle_packet(0, Line::A, &integrity(seq_num, 900));
            handler.handle_packet(0, Line::B, &integrity(seq_num, 901));
            poll_all(&mut handler);
        }
        assert!(handler.arbiter().is_excluded(Line::B));
        handler
    }

    #[test]
    fn a_side_that_is_excluded_neither_hides_nor_delays_the_reset_of_the_other() {
        for sides in [vec![Line::B, Line::A], vec![Line::A, Line::B], vec![Line::A]] {
            let mut handler = with_side_b_excluded();
            let mut told = Vec::new();
            for side in &sides {
                handler.handle_packet(10, *side, &control(b'K', 1, 931));
                told.extend(poll_all(&mut handler).0);
            }
            handler.handle_packet(20, Line::A, &integrity(2, 931));
            told.extend(poll_all(&mut handler).0);
            assert_eq!(told, [1, 2], "{sides:?}");
            assert_eq!(handler.arbiter().packets_held(), 0);
        }
    }

    #[test]
    fn packets_behind_a_reset_wait_for_the_epoch_under_each_policy() {
        for unexpected in [UnexpectedPolicy::Drop, UnexpectedPolicy::Follow { packets_min: 3 }] {
            let options = ArbiterOptions { hold_ns: 100, unexpected, ..Default::default() };
            let mut handler = LineHandler::new(options);
            handler.handle_packet(0, Line::A, &integrity(50, 930));
            handler.handle_packet(1, Line::A, &control(b'K', 1, 931));
            for seq_num in 2..6 {
                handler.handle_packet(seq_num, Line::A, &integrity(seq_num, 931));
            }
            assert_eq!(poll_all(&mut handler), (vec![50], vec![]), "{unexpected:?}");
            handler.handle_timeout(101);
            assert_eq!(poll_all(&mut handler), (vec![1, 2, 3, 4, 5], vec![]), "{unexpected:?}");
        }
    }

    /// A copy as the first packet, as the next in order, twice in a row, and with a used number.
    #[test]
    fn a_copy_of_a_reset_that_was_taken_in_order_resets_nothing() {
        let reset = |seq_num, minute| control(b'K', seq_num, minute);
        let sent = [
            reset(1, 930),
            integrity(2, 930),
            reset(3, 931),
            reset(4, 931),
            integrity(5, 931),
            reset(5, 932),
            integrity(6, 932),
        ];
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let (mut seq_nums, mut resets) = (Vec::new(), 0);
        for line in Line::ALL {
            for packet in &sent {
                handler.handle_packet(0, line, packet);
                while let Some(event) =
                    handler.poll_event(|message| seq_nums.extend(message.seq_num()))
                {
                    resets += u32::from(matches!(event, OpraEvent::Reset { .. }));
                }
            }
        }
        assert_eq!((seq_nums, resets), (vec![1, 2, 3, 4, 5, 5, 6], 0));
    }

    #[test]
    fn what_both_sides_lose_is_a_gap_of_messages() {
        let packets = trace();
        let options = ArbiterOptions { hold_ns: 10, ..Default::default() };
        let mut handler = LineHandler::new(options);
        for (index, packet) in packets.iter().take(5).enumerate().filter(|(index, _)| *index != 2) {
            handler.handle_packet(index as u64, Line::A, packet);
        }
        let before = poll_all(&mut handler);
        handler.handle_timeout(100);
        let (after, gaps) = poll_all(&mut handler);
        let lost = after.first().zip(before.0.last()).map(|(first, last)| first - last - 1);
        assert_eq!(Some(gaps), lost.map(|lost| vec![lost]));
    }

    #[test]
    fn packets_that_repeat_the_last_number_come_once_each() {
        let packets = trace();
        let mut handler = LineHandler::new(ArbiterOptions::default());
        handler.handle_packet(0, Line::A, &packets[0]);
        let (seq_nums, _) = poll_all(&mut handler);
        let last = *seq_nums.last().expect("messages");
        for minute in [930, 931] {
            for line in Line::ALL {
                handler.handle_packet(1, line, &integrity(last, minute));
            }
        }
        assert_eq!(poll_all(&mut handler).0, [last, last]);
        handler.handle_packet(2, Line::B, &packets[0]);
        handler.handle_packet(2, Line::B, &packets[1]);
        assert_eq!(poll_all(&mut handler).0.first(), Some(&(last + 1)));
        let LineHandlerCounters { repeats, repeats_dropped, .. } = handler.counters();
        assert_eq!((repeats, repeats_dropped), (2, 2));
        assert_eq!(handler.arbiter().line_counters(Line::B).duplicate, 1);
    }

    #[test]
    fn the_old_version_is_numbered_by_its_messages() {
        let packets = generate::trace(OpraVersion::V1, 3, 200).expect("generates");
        let mut handler = LineHandler::new(ArbiterOptions::default());
        let mut seq_nums = Vec::new();
        for packet in &packets {
            for line in Line::ALL {
                handler.handle_packet(0, line, packet);
                seq_nums.extend(poll_all(&mut handler).0);
            }
        }
        assert!(seq_nums.len() > 150 && seq_nums.is_sorted_by(|a, b| a < b));
        handler.handle_packet(0, Line::A, b"\x07no packet");
        assert_eq!(handler.counters().unnumbered, 1);
    }

    #[test]
    fn ports_tell_line_and_side() {
        let ports = Ports { lines: 48, ..Ports::default() };
        assert_eq!(ports.side_of(11_101), Some((0, Line::A)));
        assert_eq!(ports.side_of(12_148), Some((47, Line::B)));
        assert_eq!(ports.side_of(11_149), None);
        assert_eq!(Ports::default().side_of(12_125), None);
    }
}
