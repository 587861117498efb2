//! TCP streams in order, within limits.
//!
//! A segment that continues its stream is returned at once. An early one is held until the hole
//! before it is filled, or until so much is held that the hole is declared lost.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use super::fragments::CaptureTime;
use super::options::CaptureLimits;
use super::packet::StreamPosition;
use super::statistics::Statistics;
use super::transport::{TcpSegment, TransportAddresses};

/// Largest distance of a segment from the expected position. A segment further away belongs to a
/// connection on the same ports whose start was not captured.
const WINDOW_BYTES_MAX: i64 = 16 << 20;

/// Handling of the payload of the current segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentDecision {
    /// Return the payload from byte `skip` on.
    Now { skip: usize, stream: StreamPosition },
    /// Return nothing now: the segment is held, or was already returned.
    Later,
}

/// A held segment that is now due.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) addresses: TransportAddresses,
    pub(super) bytes: Vec<u8>,
    /// Bytes at the start of `bytes` that were returned before.
    pub(super) skip: usize,
    pub(super) stream: StreamPosition,
    pub(super) moment: CaptureTime,
    pub(super) file_offset: u64,
}

#[derive(Debug)]
struct HeldSegment {
    bytes: Vec<u8>,
    moment: CaptureTime,
    file_offset: u64,
}

#[derive(Debug)]
struct Flow {
    number: u64,
    /// Sequence number of the first byte: distinguishes a repeated SYN from a new connection.
    first_seq_num: u32,
    next_seq_num: u32,
    next_offset: u64,
    /// Offset at which the sender ended its stream (FIN).
    end_offset: Option<u64>,
    joined_midway: bool,
    held: BTreeMap<u64, HeldSegment>,
    held_bytes: usize,
    last_record: u64,
}

impl Flow {
    fn position(&self, lost_bytes: u64) -> StreamPosition {
        let joined_midway = self.joined_midway;
        StreamPosition { flow: self.number, offset: self.next_offset, lost_bytes, joined_midway }
    }

    /// Moves the expected position to `offset`, which is not before it.
    fn advance(&mut self, offset: u64) {
        let bytes = offset.saturating_sub(self.next_offset);
        // Sequence numbers count modulo 2^32.
        self.next_seq_num = self.next_seq_num.wrapping_add(bytes as u32);
        self.next_offset = offset;
    }

    /// Returns how far after the expected position a segment starts; negative if before it.
    fn distance(&self, seq_num: u32) -> i64 {
        i64::from(seq_num.wrapping_sub(self.next_seq_num).cast_signed())
    }

    /// Records a FIN.
    fn ends_at(&mut self, seq_num: u32) {
        let distance = self.distance(seq_num);
        if (0..=WINDOW_BYTES_MAX).contains(&distance) {
            self.end_offset = Some(self.next_offset + distance.unsigned_abs());
        }
    }

    /// Counts the bytes that are missing at the end of the stream.
    fn count_missing_end(&self, statistics: &mut Statistics) {
        let missing = self.end_offset.unwrap_or(0).saturating_sub(self.next_offset);
        statistics.tcp_gaps += u64::from(missing > 0);
        statistics.tcp_lost_bytes += missing;
    }

    /// Counts the bytes of a segment that precede the first captured byte of a stream whose start
    /// was not captured; they are no longer returned. The segment has `len` bytes and begins
    /// `distance` before the expected position.
    fn count_before_start(&self, distance: u64, len: usize, statistics: &mut Statistics) {
        let before = distance.saturating_sub(self.next_offset).min(len as u64);
        if self.joined_midway && before > 0 {
            statistics.tcp_gaps += 1;
            statistics.tcp_lost_bytes += before;
        }
    }

    fn hold(&mut self, offset: u64, held: HeldSegment) {
        let len = held.bytes.len();
        if self.held.get(&offset).is_some_and(|before| before.bytes.len() >= len) {
            return;
        }
        self.held_bytes += len;
        if let Some(before) = self.held.insert(offset, held) {
            self.held_bytes -= before.bytes.len();
        }
    }

    /// Takes the next held segment: one that continues the stream, or any if `over_hole`.
    fn take_next(
        &mut self,
        addresses: TransportAddresses,
        over_hole: bool,
        statistics: &mut Statistics,
    ) -> Option<Due> {
        loop {
            let entry = self.held.first_entry()?;
            let offset = *entry.key();
            if offset > self.next_offset && !over_hole {
                return None;
            }
            let HeldSegment { bytes, moment, file_offset } = entry.remove();
            self.held_bytes -= bytes.len();
            let skip = usize::try_from(self.next_offset.saturating_sub(offset));
            let Some(skip) = skip.ok().filter(|skip| *skip < bytes.len()) else {
                statistics.tcp_retransmitted += 1;
                continue;
            };
            let lost_bytes = offset.saturating_sub(self.next_offset);
            if lost_bytes > 0 {
                statistics.tcp_gaps += 1;
                statistics.tcp_lost_bytes += lost_bytes;
                self.advance(offset);
            }
            let stream = self.position(lost_bytes);
            self.advance(offset + bytes.len() as u64);
            return Some(Due { addresses, bytes, skip, stream, moment, file_offset });
        }
    }
}

/// The TCP streams of a capture.
#[derive(Debug)]
pub(super) struct Flows {
    flows: BTreeMap<TransportAddresses, Flow>,
    /// The flow whose held segments may continue it now, and whether its next hole may be skipped.
    draining: Option<(TransportAddresses, bool)>,
    /// Ended flows: their held segments are returned in spite of holes.
    ending: VecDeque<(TransportAddresses, Flow)>,
    flows_seen: u64,
    flows_max: usize,
    held_bytes_max: usize,
    held_segments_max: usize,
}

impl Flows {
    pub(super) const fn new(limits: &CaptureLimits) -> Self {
        Self {
            flows: BTreeMap::new(),
            draining: None,
            ending: VecDeque::new(),
            flows_seen: 0,
            flows_max: limits.tcp_flows_max,
            held_bytes_max: limits.tcp_held_bytes_max,
            held_segments_max: limits.tcp_held_segments_max,
        }
    }

    /// True if there was no segment yet.
    pub(super) const fn is_untouched(&self) -> bool {
        self.flows_seen == 0
    }

    /// Accepts one segment. [`take_due`](Self::take_due) must have returned `None` before; call it
    /// again afterwards.
    pub(super) fn accept(
        &mut self,
        addresses: TransportAddresses,
        segment: TcpSegment,
        payload: &[u8],
        (moment, file_offset): (CaptureTime, u64),
        statistics: &mut Statistics,
    ) -> SegmentDecision {
        let seq_num = segment.seq_num.wrapping_add(u32::from(segment.syn));
        if payload.is_empty() && !segment.syn {
            if let Some(flow) = self.flows.get_mut(&addresses).filter(|_| segment.fin) {
                flow.ends_at(seq_num);
            }
            return SegmentDecision::Later;
        }
        self.open(addresses, segment.syn, seq_num, moment.record);
        let Some(flow) = self.flows.get_mut(&addresses) else { return SegmentDecision::Later };
        flow.last_record = moment.record;
        if payload.is_empty() {
            return SegmentDecision::Later;
        }
        if segment.fin {
            flow.ends_at(seq_num.wrapping_add(payload.len() as u32));
        }

        let distance = flow.distance(seq_num);
        if distance > 0 {
            let offset = flow.next_offset + distance.unsigned_abs();
            flow.hold(offset, HeldSegment { bytes: payload.to_vec(), moment, file_offset });
            if flow.held_bytes > self.held_bytes_max || flow.held.len() > self.held_segments_max {
                self.draining = Some((addresses, true));
            }
            return SegmentDecision::Later;
        }
        flow.count_before_start(distance.unsigned_abs(), payload.len(), statistics);
        let skip = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
        if skip >= payload.len() {
            statistics.tcp_retransmitted += 1;
            return SegmentDecision::Later;
        }
        let stream = flow.position(0);
        flow.advance(flow.next_offset + (payload.len() - skip) as u64);
        if !flow.held.is_empty() {
            self.draining = Some((addresses, false));
        }
        SegmentDecision::Now { skip, stream }
    }

    /// Returns the next held segment that is due.
    pub(super) fn take_due(&mut self, statistics: &mut Statistics) -> Option<Due> {
        while let Some((addresses, flow)) = self.ending.front_mut() {
            if let Some(due) = flow.take_next(*addresses, true, statistics) {
                return Some(due);
            }
            flow.count_missing_end(statistics);
            self.ending.pop_front();
        }
        let (addresses, over_hole) = self.draining?;
        let flow = self.flows.get_mut(&addresses)?;
        let due = flow.take_next(addresses, over_hole, statistics);
        // Only one hole is skipped; the next one may still be filled.
        self.draining = due.is_some().then_some((addresses, false));
        due
    }

    /// Ends all flows at the end of the capture: their holes are lost.
    pub(super) fn finish(&mut self) {
        let mut flows: Vec<_> = mem::take(&mut self.flows).into_iter().collect();
        flows.sort_by_key(|(_, flow)| flow.number);
        self.ending.extend(flows);
    }

    /// Ensures that a flow exists for a segment at `seq_num`.
    fn open(&mut self, addresses: TransportAddresses, syn: bool, seq_num: u32, record: u64) {
        if let Some(flow) = self.flows.get(&addresses) {
            let belongs = match syn {
                true => flow.first_seq_num == seq_num && !flow.joined_midway,
                false => flow.distance(seq_num).abs() <= WINDOW_BYTES_MAX,
            };
            if belongs {
                return;
            }
            self.end(addresses);
        }
        while self.flows.len() >= self.flows_max.max(1) {
            let silent = self.flows.iter().min_by_key(|(_, flow)| flow.last_record);
            let Some(silent) = silent.map(|(addresses, _)| *addresses) else { break };
            self.end(silent);
        }
        let flow = Flow {
            number: self.flows_seen,
            first_seq_num: seq_num,
            next_seq_num: seq_num,
            next_offset: 0,
            end_offset: None,
            joined_midway: !syn,
            held: BTreeMap::new(),
            held_bytes: 0,
            last_record: record,
        };
        self.flows_seen += 1;
        self.flows.insert(addresses, flow);
    }

    fn end(&mut self, addresses: TransportAddresses) {
        if let Some(flow) = self.flows.remove(&addresses) {
            self.ending.push_back((addresses, flow));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(port: u16) -> TransportAddresses {
        TransportAddresses {
            source: ([10, 0, 0, 1], port).into(),
            destination: ([10, 0, 0, 2], 80).into(),
        }
    }

    /// An output: flow, offset, bytes lost before, bytes.
    type Piece = (u64, u64, u64, Vec<u8>);

    struct Tested {
        flows: Flows,
        statistics: Statistics,
        record: u64,
        pieces: Vec<Piece>,
    }

    impl Tested {
        fn new(limits: &CaptureLimits) -> Self {
            let statistics = Statistics::default();
            Self { flows: Flows::new(limits), statistics, record: 0, pieces: Vec::new() }
        }

        fn segment(&mut self, port: u16, seq_num: u32, syn: bool, payload: &[u8]) -> &mut Self {
            let moment = CaptureTime { timestamp_ns: None, record: self.record };
            self.record += 1;
            let segment = TcpSegment { seq_num, syn, fin: false };
            let place = (moment, 0);
            let taken =
                self.flows.accept(addresses(port), segment, payload, place, &mut self.statistics);
            if let SegmentDecision::Now { skip, stream } = taken {
                self.keep(stream, &payload[skip..]);
            }
            self.drain()
        }

        fn drain(&mut self) -> &mut Self {
            while let Some(due) = self.flows.take_due(&mut self.statistics) {
                self.keep(due.stream, &due.bytes[due.skip..]);
            }
            self
        }

        fn keep(&mut self, stream: StreamPosition, bytes: &[u8]) {
            self.pieces.push((stream.flow, stream.offset, stream.lost_bytes, bytes.to_vec()));
        }
    }

    fn tested() -> Tested {
        Tested::new(&CaptureLimits::default())
    }

    #[test]
    fn segments_out_of_order_come_out_in_order() {
        let mut tested = tested();
        tested.segment(1, 99, true, b"").segment(1, 106, false, b"ghi");
        tested.segment(1, 103, false, b"def").segment(1, 100, false, b"abc");
        let expected =
            [(0, 0, 0, b"abc".to_vec()), (0, 3, 0, b"def".to_vec()), (0, 6, 0, b"ghi".to_vec())];
        assert_eq!(tested.pieces, expected);
    }

    #[test]
    fn retransmissions_are_dropped_and_overlaps_cut() {
        let mut tested = tested();
        tested.segment(1, 100, false, b"abcd").segment(1, 100, false, b"abcd");
        tested.segment(1, 102, false, b"cdef").segment(1, 99, false, b"x");
        assert_eq!(tested.pieces, [(0, 0, 0, b"abcd".to_vec()), (0, 4, 0, b"ef".to_vec())]);
        assert_eq!(tested.statistics.tcp_retransmitted, 2);
    }

    #[test]
    fn what_is_missing_at_the_end_and_what_comes_before_the_start_is_counted() {
        let mut tested = tested();
        let moment = || (CaptureTime { timestamp_ns: None, record: 0 }, 0);
        let fin = |tested: &mut Tested, port, seq_num, payload: &[u8]| {
            let segment = TcpSegment { seq_num, syn: false, fin: true };
            let Tested { flows, statistics, .. } = tested;
            flows.accept(addresses(port), segment, payload, moment(), statistics);
            tested.drain();
        };
        tested.segment(1, 99, true, b"").segment(1, 100, false, b"abc");
        fin(&mut tested, 1, 107, b"");
        tested.segment(2, 99, true, b"").segment(2, 100, false, b"abc");
        fin(&mut tested, 2, 105, b"fg");
        tested.segment(2, 103, false, b"d");
        // No segment was ever sent at that position.
        fin(&mut tested, 3, 107, b"");
        tested
            .segment(4, 100, false, b"def")
            .segment(4, 96, false, b"xabc")
            .segment(4, 103, false, b"g");
        fin(&mut tested, 4, 104, b"");
        tested.flows.finish();
        tested.drain();
        // Four bytes at the end of the first stream, one within the second, four before the start
        // of the last.
        let Statistics { tcp_gaps, tcp_lost_bytes, .. } = tested.statistics;
        assert_eq!((tcp_gaps, tcp_lost_bytes), (3, 9));
    }

    #[test]
    fn a_hole_is_declared_when_too_much_waits_behind_it() {
        let mut tested =
            Tested::new(&CaptureLimits { tcp_held_bytes_max: 5, ..CaptureLimits::default() });
        tested.segment(1, 0, false, b"ab").segment(1, 4, false, b"ef").segment(1, 6, false, b"gh");
        assert_eq!(tested.pieces.len(), 1);
        tested.segment(1, 10, false, b"kl");
        let expected =
            [(0, 0, 0, b"ab".to_vec()), (0, 4, 2, b"ef".to_vec()), (0, 6, 0, b"gh".to_vec())];
        assert_eq!(tested.pieces, expected);
        tested.flows.finish();
        tested.drain();
        assert_eq!(tested.pieces.last(), Some(&(0, 10, 2, b"kl".to_vec())));
        assert_eq!((tested.statistics.tcp_gaps, tested.statistics.tcp_lost_bytes), (2, 4));
    }

    #[test]
    fn sequence_numbers_wrap_around() {
        let mut tested = tested();
        tested.segment(1, u32::MAX - 1, false, b"abcd").segment(1, 2, false, b"ef");
        assert_eq!(tested.pieces, [(0, 0, 0, b"abcd".to_vec()), (0, 4, 0, b"ef".to_vec())]);
    }

    #[test]
    fn a_new_connection_on_the_same_ports_is_a_new_flow() {
        let mut tested = tested();
        tested.segment(1, 99, true, b"").segment(1, 100, false, b"a").segment(1, 99, true, b"");
        tested
            .segment(1, 105, false, b"lost")
            .segment(1, 5000, true, b"")
            .segment(1, 5001, false, b"b");
        let expected =
            [(0, 0, 0, b"a".to_vec()), (0, 5, 4, b"lost".to_vec()), (1, 0, 0, b"b".to_vec())];
        assert_eq!(tested.pieces, expected);
        tested.segment(1, 0x8000_0000, false, b"c");
        assert_eq!(tested.pieces.last(), Some(&(2, 0, 0, b"c".to_vec())));
    }

    #[test]
    fn the_flow_longest_silent_is_let_go_with_what_it_holds() {
        let mut tested =
            Tested::new(&CaptureLimits { tcp_flows_max: 2, ..CaptureLimits::default() });
        tested.segment(1, 0, false, b"a").segment(1, 5, false, b"f");
        tested.segment(2, 0, false, b"b").segment(3, 0, false, b"c");
        assert_eq!(tested.flows.flows.len(), 2);
        assert!(tested.pieces.contains(&(0, 5, 4, b"f".to_vec())));
    }

    #[test]
    fn held_segments_that_overlap_come_out_once() {
        let mut tested = tested();
        tested.segment(1, 0, false, b"a").segment(1, 2, false, b"cd").segment(1, 2, false, b"cde");
        tested.segment(1, 3, false, b"d").segment(1, 1, false, b"b");
        let bytes: Vec<u8> = tested.pieces.iter().flat_map(|piece| piece.3.clone()).collect();
        assert_eq!(bytes, b"abcde");
    }
}
