//! The last packets of a channel, kept by the handler's thread.

use tickwire_feed::handler::FeedLine;

use crate::published::ArrivalPlace;

/// Number of packets kept.
const PACKETS: usize = 64;
/// Length of the longest packet that is kept: a jumbo frame.
const BYTES_MAX: usize = 9216;

/// A ring of packets. Its buffers are reused, so keeping a packet costs one copy.
#[derive(Debug)]
pub(crate) struct RecentPackets {
    slots: Vec<PacketSlot>,
    next: usize,
    kept: u64,
    /// Number of times that the packets from then on did not continue those before.
    epoch: u64,
    /// Number of packets of each source.
    arrivals: [u64; 6],
}

#[derive(Debug, Default)]
struct PacketSlot {
    received_ns: u64,
    source: Option<FeedLine>,
    place: ArrivalPlace,
    bytes: Vec<u8>,
}

/// A packet in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecentPacket<'r> {
    pub(crate) received_ns: u64,
    pub(crate) source: FeedLine,
    pub(crate) place: ArrivalPlace,
    pub(crate) bytes: &'r [u8],
}

impl RecentPackets {
    pub(crate) fn new() -> Self {
        let slots = (0..PACKETS).map(|_| PacketSlot::default()).collect();
        Self { slots, next: 0, kept: 0, epoch: 0, arrivals: [0; 6] }
    }

    /// Begins an epoch: packets from now on do not continue those before.
    pub(crate) fn begin_epoch(&mut self) {
        self.epoch += 1;
    }

    /// Keeps a packet in place of the oldest one. Ignores a packet longer than a jumbo frame.
    #[inline]
    pub(crate) fn keep(&mut self, received_ns: u64, source: FeedLine, packet: &[u8]) {
        let arrival = &mut self.arrivals[index(source)];
        *arrival += 1;
        let place = ArrivalPlace { epoch: self.epoch, arrival: *arrival };
        if packet.len() > BYTES_MAX {
            return;
        }
        let Some(slot) = self.slots.get_mut(self.next) else { return };
        slot.received_ns = received_ns;
        slot.source = Some(source);
        slot.place = place;
        slot.bytes.clear();
        slot.bytes.extend_from_slice(packet);
        self.next = (self.next + 1) % PACKETS;
        self.kept += 1;
    }

    /// Returns the number of packets kept so far, including overwritten ones.
    pub(crate) const fn count(&self) -> u64 {
        self.kept
    }

    /// Returns the number of packets in the ring.
    pub(crate) fn len(&self) -> usize {
        self.kept.min(PACKETS as u64) as usize
    }

    /// Returns the last `count` packets, or all if there are fewer, the oldest first.
    pub(crate) fn last(&self, count: usize) -> impl Iterator<Item = RecentPacket<'_>> {
        let count = count.min(PACKETS);
        (0..count).filter_map(move |index| {
            let slot = self.slots.get((self.next + PACKETS - count + index) % PACKETS)?;
            let PacketSlot { received_ns, source, place, bytes } = slot;
            Some(RecentPacket {
                received_ns: *received_ns,
                source: (*source)?,
                place: *place,
                bytes,
            })
        })
    }
}

/// Returns the position of a source in an array of all.
const fn index(source: FeedLine) -> usize {
    match source {
        FeedLine::Incremental(line) => line.index(),
        FeedLine::Snapshot(line) => 2 + line.index(),
        FeedLine::Definitions(line) => 4 + line.index(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::arbiter::Line;

    #[test]
    fn the_last_packets_come_in_order() {
        let mut recent = RecentPackets::new();
        assert_eq!(recent.last(8).count(), 0);
        for number in 0..100_u8 {
            recent.keep(u64::from(number), FeedLine::Incremental(Line::A), &[number; 3]);
        }
        let times: Vec<u64> = recent.last(4).map(|kept| kept.received_ns).collect();
        assert_eq!(times, [96, 97, 98, 99]);
        assert_eq!(recent.last(1000).count(), PACKETS);
        assert!(recent.last(2).all(|kept| kept.bytes == [kept.received_ns as u8; 3]));
        recent.keep(100, FeedLine::Incremental(Line::B), &[0; BYTES_MAX + 1]);
        assert_eq!((recent.count(), recent.last(1).next().unwrap().received_ns), (100, 99));
    }

    #[test]
    fn packets_have_their_epoch_and_their_number_among_those_of_their_source() {
        let mut recent = RecentPackets::new();
        let sources = [FeedLine::Incremental, FeedLine::Snapshot, FeedLine::Definitions];
        let sources: Vec<FeedLine> =
            sources.iter().flat_map(|of| [of(Line::A), of(Line::B)]).collect();
        for _ in 0..2 {
            sources.iter().for_each(|source| recent.keep(0, *source, &[0]));
            recent.begin_epoch();
        }
        let places: Vec<_> =
            recent.last(12).map(|kept| (kept.place.epoch, kept.place.arrival)).collect();
        assert_eq!(places, [[(0, 1); 6], [(1, 2); 6]].concat());
        // A packet that is too long to be kept counts too.
        recent.keep(0, sources[0], &[0; BYTES_MAX + 1]);
        recent.keep(0, sources[0], &[0]);
        assert_eq!(recent.last(1).next().unwrap().place.arrival, 4);
    }
}
