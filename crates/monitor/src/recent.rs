//! The last packets of a channel, kept by the handler's thread.

use tickwire_feed::handler::Source;

/// Number of packets kept.
const PACKETS: usize = 64;
/// Length of the longest packet that is kept: a jumbo frame.
const BYTES_MAX: usize = 9216;

/// A ring of packets. Its buffers are reused, so keeping a packet costs one copy.
#[derive(Debug)]
pub(crate) struct Recent {
    slots: Vec<Slot>,
    next: usize,
    kept: u64,
}

#[derive(Debug, Default)]
struct Slot {
    received_ns: u64,
    source: Option<Source>,
    bytes: Vec<u8>,
}

/// A packet in the ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'r> {
    pub(crate) received_ns: u64,
    pub(crate) source: Source,
    pub(crate) bytes: &'r [u8],
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self { slots: (0..PACKETS).map(|_| Slot::default()).collect(), next: 0, kept: 0 }
    }

    /// Keeps a packet in place of the oldest one. Ignores a packet longer than a jumbo frame.
    #[inline]
    pub(crate) fn keep(&mut self, received_ns: u64, source: Source, packet: &[u8]) {
        if packet.len() > BYTES_MAX {
            return;
        }
        let Some(slot) = self.slots.get_mut(self.next) else { return };
        slot.received_ns = received_ns;
        slot.source = Some(source);
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
    pub(crate) fn last(&self, count: usize) -> impl Iterator<Item = Kept<'_>> {
        let count = count.min(PACKETS);
        (0..count).filter_map(move |index| {
            let slot = self.slots.get((self.next + PACKETS - count + index) % PACKETS)?;
            let Slot { received_ns, source, bytes } = slot;
            Some(Kept { received_ns: *received_ns, source: (*source)?, bytes })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::arbiter::Line;

    #[test]
    fn the_last_packets_come_in_order() {
        let mut recent = Recent::new();
        assert_eq!(recent.last(8).count(), 0);
        for number in 0..100_u8 {
            recent.keep(u64::from(number), Source::Incremental(Line::A), &[number; 3]);
        }
        let times: Vec<u64> = recent.last(4).map(|kept| kept.received_ns).collect();
        assert_eq!(times, [96, 97, 98, 99]);
        assert_eq!(recent.last(1000).count(), PACKETS);
        assert!(recent.last(2).all(|kept| kept.bytes == [kept.received_ns as u8; 3]));
        recent.keep(100, Source::Incremental(Line::B), &[0; BYTES_MAX + 1]);
        assert_eq!((recent.count(), recent.last(1).next().unwrap().received_ns), (100, 99));
    }
}
