//! Packets kept for explanation, a bounded number of each kind.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tickwire_feed::arbiter::Gap;
use tickwire_feed::framing::{Framer, Framing};
use tickwire_feed::handler::FeedLine;

use crate::published::{ArrivalPlace, HandOverReason, PacketCopy, PacketKey};

/// Number of packets kept as the last ones.
const RECENT_MAX: usize = 128;
/// Number of packets kept because they failed or are near a failure or a gap: those of the gaps and events in the state, unless
/// many come at once.
const MARKED_MAX: usize = 1024;
/// Number of gaps whose numbers are known as lost: more than have packets.
const GAPS_MAX: usize = 1024;
/// Most of these packets in a list.
const LISTED_MARKED_MAX: usize = 256;

/// A kept packet.
#[derive(Debug)]
pub(crate) struct StoredPacket {
    pub(crate) id: u64,
    pub(crate) received_ns: u64,
    pub(crate) source: FeedLine,
    place: ArrivalPlace,
    pub(crate) bytes: Arc<[u8]>,
    /// Sequence numbers of its first and its last segment. Most packets have one segment.
    pub(crate) seq_nums: Option<(u64, u64)>,
    pub(crate) mark: KeepReason,
}

/// Why a packet is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeepReason {
    /// It was received near a packet that failed, or just before a gap was declared.
    Around,
    /// It could not be decoded.
    Failed(String),
    /// It is among the last packets.
    Recent,
}

/// A packet in a list.
#[derive(Clone, Debug, Serialize)]
pub struct PacketSummary {
    /// Id of the packet for requests.
    pub id: u64,
    /// Receive time in milliseconds since 1970.
    pub at_ms: f64,
    /// `incremental`, `snapshot` or `definitions`.
    pub feed: &'static str,
    /// `a` or `b`.
    pub line: &'static str,
    /// Sequence number in the preamble, if it has one.
    pub seq_num: Option<String>,
    /// Length of the packet in bytes.
    pub len: usize,
    /// `recent`, `around` (near a gap or a failed packet) or `failed`.
    pub kind: &'static str,
    /// Why the packet failed.
    pub error: Option<String>,
}

/// Which packets a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PacketFilter {
    /// Only packets of this kind.
    pub(crate) kind: Option<PacketKind>,
    /// Only packets with this sequence number.
    pub(crate) seq_num: Option<u64>,
}

impl PacketFilter {
    fn passes(&self, packet: &StoredPacket) -> bool {
        let has_number =
            |number| packet.seq_nums.is_some_and(|(first, last)| (first..=last).contains(&number));
        self.kind.is_none_or(|kind| kind == packet.mark.kind())
            && self.seq_num.is_none_or(has_number)
    }
}

/// Why a packet is kept, in the form of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PacketKind {
    Around,
    Failed,
    Recent,
}

impl PacketKind {
    const fn label(self) -> &'static str {
        match self {
            Self::Around => "around",
            Self::Failed => "failed",
            Self::Recent => "recent",
        }
    }
}

impl KeepReason {
    const fn kind(&self) -> PacketKind {
        match self {
            Self::Around => PacketKind::Around,
            Self::Failed(_) => PacketKind::Failed,
            Self::Recent => PacketKind::Recent,
        }
    }
}

/// The kept packets of a channel.
#[derive(Debug)]
pub(crate) struct StoredPackets {
    framing: Option<Framing>,
    next_id: u64,
    recent: VecDeque<StoredPacket>,
    marked: VecDeque<StoredPacket>,
    gaps: VecDeque<Gap>,
}

impl StoredPackets {
    /// The packets get ids from `first_id` on.
    pub(crate) const fn new(framing: Option<Framing>, first_id: u64) -> Self {
        Self {
            framing,
            next_id: first_id,
            recent: VecDeque::new(),
            marked: VecDeque::new(),
            gaps: VecDeque::new(),
        }
    }

    /// Records a declared gap. Packets with these numbers that arrive later are not used.
    pub(crate) fn note_gap(&mut self, gap: Gap) {
        if self.gaps.len() == GAPS_MAX {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// Keeps a packet and returns its id. If an equal packet is already kept, returns the id of that one.
    pub(crate) fn add(&mut self, copy: PacketCopy) -> u64 {
        let PacketCopy { received_ns, source, place, bytes, why } = copy;
        let seq_nums = self.seq_nums(&bytes);
        let mark = match why {
            HandOverReason::Failed { text, seq_num } if is_within(seq_num, seq_nums) => {
                KeepReason::Failed(text)
            }
            HandOverReason::Failed { .. }
            | HandOverReason::NearFailed
            | HandOverReason::Gap { .. } => KeepReason::Around,
            HandOverReason::Recent => KeepReason::Recent,
        };
        let is_same = |packet: &&mut StoredPacket| {
            packet.received_ns == received_ns && packet.source == source && *packet.bytes == *bytes
        };
        if let Some(known) = self.marked.iter_mut().rev().find(is_same) {
            if matches!(mark, KeepReason::Failed(_)) {
                known.mark = mark;
            }
            return known.id;
        }
        let (packets, packets_max) = match mark {
            KeepReason::Recent => (&mut self.recent, RECENT_MAX),
            KeepReason::Around | KeepReason::Failed(_) => (&mut self.marked, MARKED_MAX),
        };
        if let Some(known) = packets.iter_mut().rev().find(is_same) {
            return known.id;
        }
        if packets.len() == packets_max {
            packets.pop_front();
        }
        let id = self.next_id;
        self.next_id += 1;
        let bytes = bytes.into();
        packets.push_back(StoredPacket { id, received_ns, source, place, bytes, seq_nums, mark });
        id
    }

    /// Returns the id of the failed packet with this key, if it is kept.
    pub(crate) fn failed(&self, key: &PacketKey) -> Option<u64> {
        let is_meant = |packet: &&StoredPacket| {
            packet.source == key.source
                && packet.received_ns == key.received_ns
                && is_within(key.seq_num, packet.seq_nums)
        };
        self.marked.iter().rev().find(is_meant).map(|packet| packet.id)
    }

    pub(crate) fn get(&self, id: u64) -> Option<&StoredPacket> {
        self.marked.iter().chain(&self.recent).find(|packet| packet.id == id)
    }

    /// Returns the packets that the handler decoded before `packet`, the oldest first, back to the first one that is not kept
    /// or not known for certain.
    pub(crate) fn before(&self, packet: &StoredPacket) -> Vec<Arc<[u8]>> {
        let mut found = Vec::new();
        let mut next = packet;
        while found.len() < RECENT_MAX
            && let Some(previous) = self.previous(next)
        {
            found.push(previous.bytes.clone());
            next = previous;
        }
        found.reverse();
        found
    }

    /// Returns the packet that the handler decoded before `next`; `None` if it is not kept or not known for certain.
    fn previous(&self, next: &StoredPacket) -> Option<&StoredPacket> {
        let wanted = next.seq_nums?.0.checked_sub(1)?;
        let is_lost = |gap: &Gap| wanted.checked_sub(gap.first).is_some_and(|at| at < gap.count);
        let is_incremental = matches!(next.source, FeedLine::Incremental(_));
        if is_incremental && self.gaps.iter().any(is_lost) {
            return None;
        }
        let is_before = |kept: &&StoredPacket| match (kept.source, next.source) {
            // A packet of either line is sufficient.
            (FeedLine::Incremental(_), FeedLine::Incremental(_)) => {
                kept.place.epoch == next.place.epoch
            }
            // Each line is decoded separately as it arrives, and its numbers restart with each
            // cycle.
            (kept_of, next_of) => {
                kept_of == next_of && kept.place.arrival + 1 == next.place.arrival
            }
        };
        let has_number =
            |kept: &&StoredPacket| kept.seq_nums.is_some_and(|(_, last)| last == wanted);
        let kept = self.marked.iter().chain(&self.recent);
        let copies: Vec<&StoredPacket> = kept.filter(is_before).filter(has_number).collect();
        let first = *copies.iter().min_by_key(|copy| copy.received_ns)?;
        // The handler may have refused the first copy, so copies that differ leave open which one it decoded.
        copies.iter().all(|copy| self.has_same_messages(copy, first)).then_some(first)
    }

    /// Returns whether two packets have the same bytes beside their preambles.
    fn has_same_messages(&self, one: &StoredPacket, other: &StoredPacket) -> bool {
        let Some(framing) = self.framing else { return one.bytes == other.bytes };
        let mut framers = [Framer::new(framing), Framer::new(framing)];
        let [of_one, of_other] = &mut framers;
        let of_one = of_one.split(&one.bytes).map(|segment| segment.ok().map(|of| of.bytes));
        let of_other = of_other.split(&other.bytes).map(|segment| segment.ok().map(|of| of.bytes));
        of_one.eq(of_other)
    }

    /// Returns whether a packet that is near a gap or a fault is still kept.
    pub(crate) fn has_marked(&self, id: u64) -> bool {
        // A packet gets its id when it is added to the queue, so the ids grow.
        self.marked.binary_search_by_key(&id, |packet| packet.id).is_ok()
    }

    /// Returns the packets that pass the filter, the newest first; marked packets come before the recent ones. Leaves out marked packets
    /// beyond [`LISTED_MARKED_MAX`].
    pub(crate) fn summaries(&self, epoch_ns: u64, filter: &PacketFilter) -> Vec<PacketSummary> {
        let is_wanted = |packet: &&StoredPacket| filter.passes(packet);
        let marked = self.marked.iter().rev().filter(is_wanted).take(LISTED_MARKED_MAX);
        let packets = marked.chain(self.recent.iter().rev().filter(is_wanted));
        packets.map(|packet| packet.summary(epoch_ns)).collect()
    }

    /// Returns the sequence numbers of the first and the last preamble.
    fn seq_nums(&self, bytes: &[u8]) -> Option<(u64, u64)> {
        let mut framer = Framer::new(self.framing?);
        let segments = framer.split(bytes).map_while(Result::ok);
        let mut numbers = segments.filter_map(|segment| segment.seq_num);
        let first = numbers.next()?;
        Some((first, numbers.last().unwrap_or(first)))
    }
}

/// Returns true if a packet with these sequence numbers may contain `wanted`; true too if either is unknown.
fn is_within(wanted: Option<u64>, seq_nums: Option<(u64, u64)>) -> bool {
    match (wanted, seq_nums) {
        (Some(wanted), Some((first, last))) => (first..=last).contains(&wanted),
        _ => true,
    }
}

impl StoredPacket {
    pub(crate) fn summary(&self, epoch_ns: u64) -> PacketSummary {
        let error = match &self.mark {
            KeepReason::Failed(text) => Some(text.clone()),
            KeepReason::Around | KeepReason::Recent => None,
        };
        let (feed, line) = crate::line_names(self.source);
        PacketSummary {
            id: self.id,
            at_ms: (epoch_ns.saturating_add(self.received_ns) / 1_000) as f64 / 1e3,
            feed,
            line,
            seq_num: self.seq_nums.map(|(first, _)| first.to_string()),
            len: self.bytes.len(),
            kind: self.mark.kind().label(),
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::arbiter::Line;
    use tickwire_feed::framing::Preset;

    fn copy(received_ns: u64, why: HandOverReason) -> PacketCopy {
        let bytes = vec![0, 0, 0, received_ns as u8, 0, 0xC0].into();
        let place = ArrivalPlace { epoch: 0, arrival: received_ns };
        PacketCopy { received_ns, source: FeedLine::Incremental(Line::A), place, bytes, why }
    }

    #[test]
    fn the_packet_of_a_fault_is_marked_and_others_lie_around_it() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        for number in 1..=4 {
            packets.add(copy(
                number,
                HandOverReason::Failed { text: "D9".to_owned(), seq_num: Some(3) },
            ));
        }
        let kinds: Vec<_> = packets
            .summaries(0, &PacketFilter::default())
            .into_iter()
            .map(|packet| packet.kind)
            .collect();
        assert_eq!(kinds, ["around", "failed", "around", "around"]);
        let failed = &packets.summaries(0, &PacketFilter::default())[1];
        assert_eq!((failed.seq_num.as_deref(), failed.error.as_deref()), (Some("3"), Some("D9")));
        assert_eq!(packets.add(copy(3, HandOverReason::Recent)), failed.id);
    }

    #[test]
    fn a_list_has_the_packets_that_its_filter_wants() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 500);
        packets.add(copy(1, HandOverReason::Recent));
        packets.add(copy(2, HandOverReason::Gap { first: 1 }));
        packets.add(copy(3, HandOverReason::Failed { text: "D9".to_owned(), seq_num: None }));
        let listed = |kind, seq_num| {
            let packets = packets.summaries(0, &PacketFilter { kind, seq_num });
            packets.iter().map(|packet| packet.id).collect::<Vec<_>>()
        };
        assert_eq!(listed(None, None), [502, 501, 500]);
        assert_eq!(listed(Some(PacketKind::Failed), None), [502]);
        assert_eq!(listed(Some(PacketKind::Around), None), [501]);
        assert_eq!(listed(None, Some(1)), [500]);
        assert_eq!(listed(Some(PacketKind::Recent), Some(2)), [0; 0]);
    }

    #[test]
    fn packets_before_one_have_no_hole_and_are_of_its_feed() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        let gap = || HandOverReason::Gap { first: 1 };
        // Line B brings 4, the list has 5 already; 2 is missing.
        for (number, line, why) in [
            (1, Line::A, HandOverReason::Recent),
            (3, Line::A, gap()),
            (5, Line::A, HandOverReason::Recent),
            (4, Line::B, HandOverReason::Recent),
            (6, Line::A, gap()),
        ] {
            packets.add(PacketCopy { source: FeedLine::Incremental(line), ..copy(number, why) });
        }
        packets.add(PacketCopy {
            source: FeedLine::Snapshot(Line::A),
            ..copy(2, HandOverReason::Recent)
        });
        let last = packets.marked.back().unwrap();
        let numbers: Vec<u8> = packets.before(last).iter().map(|bytes| bytes[3]).collect();
        assert_eq!(numbers, [3, 4, 5]);
    }

    /// Returns the last bytes of the packets before the newest marked one.
    fn before_last(packets: &StoredPackets) -> Vec<u8> {
        let last = packets.marked.back().unwrap();
        packets.before(last).iter().filter_map(|bytes| bytes.last().copied()).collect()
    }

    /// A packet with a number and a last byte that tells it from others.
    fn numbered(
        received_ns: u64,
        source: FeedLine,
        place: ArrivalPlace,
        number: u8,
        last: u8,
    ) -> PacketCopy {
        let bytes = vec![0, 0, 0, number, 0, 0xC0, last].into();
        PacketCopy { received_ns, source, place, bytes, why: HandOverReason::Gap { first: 1 } }
    }

    #[test]
    fn packets_of_an_earlier_epoch_are_not_before_one() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        let source = FeedLine::Incremental(Line::A);
        let place = |epoch| ArrivalPlace { epoch, arrival: 0 };
        packets.add(numbered(1, source, place(0), 1, 11));
        packets.add(numbered(2, source, place(0), 2, 12));
        // Number 1 of the new epoch is not kept.
        packets.add(numbered(3, source, place(1), 2, 22));
        packets.add(numbered(4, source, place(1), 3, 23));
        assert_eq!(before_last(&packets), [22]);
    }

    #[test]
    fn packets_of_a_snapshot_line_follow_those_of_the_same_line_and_cycle() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        let place = |arrival| ArrivalPlace { epoch: 0, arrival };
        let (a, b) = (FeedLine::Snapshot(Line::A), FeedLine::Snapshot(Line::B));
        packets.add(numbered(1, a, place(1), 1, 11));
        packets.add(numbered(2, a, place(2), 2, 12));
        packets.add(numbered(3, b, place(1), 2, 22));
        packets.add(numbered(4, a, place(3), 3, 13));
        assert_eq!(before_last(&packets), [11, 12]);
        // In the next cycle, number 2 is not kept; the packets with this number are from the
        // previous cycle or from line B.
        packets.add(numbered(5, a, place(6), 3, 33));
        assert!(before_last(&packets).is_empty());
    }

    #[test]
    fn of_equal_copies_one_is_before_and_of_differing_copies_none() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        let (a, b) = (FeedLine::Incremental(Line::A), FeedLine::Incremental(Line::B));
        let place = ArrivalPlace::default();
        packets.add(numbered(1, a, place, 1, 11));
        packets.add(numbered(2, b, place, 1, 11));
        packets.add(numbered(3, a, place, 2, 12));
        assert_eq!(before_last(&packets), [11]);
        // The later copy is nearer in time to the next packet, but the handler had the first.
        packets.add(numbered(4, b, place, 2, 22));
        packets.add(numbered(5, a, place, 3, 13));
        assert!(before_last(&packets).is_empty());
    }

    #[test]
    fn a_packet_that_came_after_its_gap_was_declared_is_not_before_others() {
        let mut packets = StoredPackets::new(Some(Preset::Cme.framing()), 1);
        let source = FeedLine::Incremental(Line::A);
        for (received_ns, number) in [(1, 1), (5, 2), (6, 3), (3, 4), (4, 5)] {
            packets.add(numbered(received_ns, source, ArrivalPlace::default(), number, number));
        }
        assert_eq!(before_last(&packets), [1, 2, 3, 4]);
        packets.note_gap(Gap { first: 2, count: 2 });
        assert_eq!(before_last(&packets), [4]);
    }

    #[test]
    fn packets_are_bounded_in_number() {
        let mut packets = StoredPackets::new(None, 1);
        for number in 0..2 * MARKED_MAX as u64 {
            packets.add(copy(number, HandOverReason::Recent));
            packets.add(copy(number + 10_000, HandOverReason::Gap { first: 1 }));
        }
        assert_eq!(
            packets.summaries(0, &PacketFilter::default()).len(),
            RECENT_MAX + LISTED_MARKED_MAX
        );
        assert_eq!(packets.marked.len(), MARKED_MAX);
        assert!(packets.get(1).is_none());
        let [first, last] =
            [packets.marked.front(), packets.marked.back()].map(|of| of.unwrap().id);
        assert!(packets.has_marked(first) && packets.has_marked(last));
        assert!(!packets.has_marked(2) && !packets.has_marked(last + 1));
    }
}
