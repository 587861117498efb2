//! IP datagrams reassembled from fragments, within limits.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use etherparse::IpNumber;

use super::options::CaptureLimits;
use super::statistics::Statistics;

/// Longest payload of an IP packet.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// Length unit of fragments: all but the last are a multiple of it.
const FRAGMENT_UNIT_BYTES: usize = 8;

/// Records after which an incomplete datagram is dropped if the capture has no times.
const AGE_RECORDS_MAX: u64 = 100_000;

/// Key that the fragments of one datagram share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DatagramKey {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) identification: u32,
    pub(super) protocol: IpNumber,
}

/// One fragment: `payload` lies at `offset` in the datagram; `more` is true if further fragments
/// follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpFragment<'a> {
    pub(super) key: DatagramKey,
    pub(super) offset: usize,
    pub(super) more: bool,
    pub(super) payload: &'a [u8],
}

/// Capture time of a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaptureTime {
    pub(super) timestamp_ns: Option<u64>,
    pub(super) record: u64,
}

/// A datagram that is not complete yet.
#[derive(Debug)]
struct PartialDatagram {
    bytes: Vec<u8>,
    /// Ranges of `bytes` that have arrived: sorted, neither overlapping nor touching.
    arrived: Vec<Range<usize>>,
    /// Length; known once the last fragment has arrived.
    len: Option<usize>,
    since: CaptureTime,
}

/// A fragment contradicts the datagram.
struct Conflict;

impl PartialDatagram {
    const fn new(since: CaptureTime) -> Self {
        Self { bytes: Vec::new(), arrived: Vec::new(), len: None, since }
    }

    fn is_complete(&self) -> bool {
        let all = self.len.map(|len| 0..len);
        matches!((&all, self.arrived.as_slice()), (Some(all), [arrived]) if arrived == all)
    }

    fn is_older_than(&self, age_ns: u64, now: CaptureTime) -> bool {
        match (self.since.timestamp_ns, now.timestamp_ns) {
            (Some(since), Some(now)) => now.saturating_sub(since) > age_ns,
            _ => now.record.saturating_sub(self.since.record) > AGE_RECORDS_MAX,
        }
    }

    /// Adds a fragment. Overlaps must hold the same bytes: a datagram that can be read in two ways
    /// is dropped.
    fn add(&mut self, fragment: &IpFragment<'_>) -> Result<(), Conflict> {
        let range = fragment.offset..fragment.offset + fragment.payload.len();
        self.check_len(fragment, range.end)?;
        for arrived in &self.arrived {
            let overlap = arrived.start.max(range.start)..arrived.end.min(range.end);
            if overlap.is_empty() {
                continue;
            }
            let again = overlap.start - range.start..overlap.end - range.start;
            if self.bytes.get(overlap) != fragment.payload.get(again) {
                return Err(Conflict);
            }
        }
        if self.bytes.len() < range.end {
            self.bytes.resize(range.end, 0);
        }
        self.bytes[range.clone()].copy_from_slice(fragment.payload);
        self.mark(range);
        Ok(())
    }

    fn check_len(&mut self, fragment: &IpFragment<'_>, end: usize) -> Result<(), Conflict> {
        if !fragment.more {
            if self.len.is_some_and(|len| len != end) || self.bytes.len() > end {
                return Err(Conflict);
            }
            self.len = Some(end);
        }
        if self.len.is_some_and(|len| end > len) { Err(Conflict) } else { Ok(()) }
    }

    /// Records that `range` has arrived, and joins it with ranges that it touches.
    fn mark(&mut self, mut range: Range<usize>) {
        self.arrived.retain(|arrived| {
            let touches = arrived.start <= range.end && range.start <= arrived.end;
            if touches {
                range = range.start.min(arrived.start)..range.end.max(arrived.end);
            }
            !touches
        });
        let index = self.arrived.partition_point(|arrived| arrived.start < range.start);
        self.arrived.insert(index, range);
    }
}

/// The datagrams being reassembled.
#[derive(Debug)]
pub(super) struct Reassembly {
    datagrams: BTreeMap<DatagramKey, PartialDatagram>,
    bytes: usize,
    datagrams_max: usize,
    bytes_max: usize,
    age_ns: u64,
}

impl Reassembly {
    pub(super) const fn new(limits: &CaptureLimits) -> Self {
        Self {
            datagrams: BTreeMap::new(),
            bytes: 0,
            datagrams_max: limits.fragmented_datagrams_max,
            bytes_max: limits.fragmented_bytes_max,
            age_ns: limits.fragmented_age_ns,
        }
    }

    /// True if no datagram waits for fragments.
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Adds a fragment; returns the datagram's payload if it is now complete.
    pub(super) fn accept(
        &mut self,
        fragment: &IpFragment<'_>,
        now: CaptureTime,
        statistics: &mut Statistics,
    ) -> Option<Vec<u8>> {
        statistics.fragments += 1;
        let len = fragment.payload.len();
        let partial_unit = fragment.more && !len.is_multiple_of(FRAGMENT_UNIT_BYTES);
        if len == 0 || partial_unit || fragment.offset + len > DATAGRAM_BYTES_MAX {
            statistics.malformed += 1;
            return None;
        }
        self.expire(now, statistics);
        let mut datagram = match self.take(&fragment.key) {
            Some(datagram) => datagram,
            None => PartialDatagram::new(now),
        };
        if datagram.add(fragment).is_err() {
            statistics.fragmented_incomplete += 1;
            return None;
        }
        if datagram.is_complete() {
            return Some(datagram.bytes);
        }
        self.hold(fragment.key, datagram, statistics);
        None
    }

    /// Drops all incomplete datagrams at the end of the capture.
    pub(super) fn finish(&mut self, statistics: &mut Statistics) {
        statistics.fragmented_incomplete += self.datagrams.len() as u64;
        self.datagrams.clear();
        self.bytes = 0;
    }

    fn take(&mut self, key: &DatagramKey) -> Option<PartialDatagram> {
        let datagram = self.datagrams.remove(key)?;
        self.bytes -= datagram.bytes.len();
        Some(datagram)
    }

    fn hold(&mut self, key: DatagramKey, datagram: PartialDatagram, statistics: &mut Statistics) {
        self.bytes += datagram.bytes.len();
        self.datagrams.insert(key, datagram);
        while self.datagrams.len() > self.datagrams_max || self.bytes > self.bytes_max {
            let oldest = self.datagrams.iter().min_by_key(|(_, datagram)| datagram.since.record);
            let Some(key) = oldest.map(|(key, _)| *key) else { return };
            self.take(&key);
            statistics.fragmented_incomplete += 1;
        }
    }

    fn expire(&mut self, now: CaptureTime, statistics: &mut Statistics) {
        let age_ns = self.age_ns;
        let bytes = &mut self.bytes;
        self.datagrams.retain(|_, datagram| {
            let old = datagram.is_older_than(age_ns, now);
            if old {
                *bytes -= datagram.bytes.len();
                statistics.fragmented_incomplete += 1;
            }
            !old
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn key(identification: u32) -> DatagramKey {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let protocol = IpNumber::UDP;
        DatagramKey { source: address, destination: address, identification, protocol }
    }

    fn fragment(identification: u32, offset: usize, more: bool, payload: &[u8]) -> IpFragment<'_> {
        IpFragment { key: key(identification), offset, more, payload }
    }

    const fn at(record: u64) -> CaptureTime {
        CaptureTime { timestamp_ns: Some(record * 1_000_000_000), record }
    }

    #[test]
    fn fragments_in_any_order_and_twice_give_the_datagram_once() {
        let mut reassembly = Reassembly::new(&CaptureLimits::default());
        let mut statistics = Statistics::default();
        let parts = [
            fragment(1, 16, false, b"end"),
            fragment(1, 0, true, b"01234567"),
            fragment(1, 0, true, b"01234567"),
            fragment(1, 8, true, b"89abcdef"),
        ];
        let mut datagrams =
            parts.iter().filter_map(|part| reassembly.accept(part, at(0), &mut statistics));
        assert_eq!(datagrams.next().unwrap(), b"0123456789abcdefend");
        assert_eq!(datagrams.next(), None);
        assert_eq!(statistics.fragmented_incomplete, 0);
        assert_eq!(reassembly.bytes, 0);
    }

    #[test]
    fn overlaps_with_other_bytes_give_up_the_datagram() {
        let mut reassembly = Reassembly::new(&CaptureLimits::default());
        let mut statistics = Statistics::default();
        assert!(
            reassembly.accept(&fragment(1, 0, true, &[1; 16]), at(0), &mut statistics).is_none()
        );
        assert!(
            reassembly.accept(&fragment(1, 8, true, &[2; 16]), at(0), &mut statistics).is_none()
        );
        assert_eq!(statistics.fragmented_incomplete, 1);
        assert_eq!(reassembly.bytes, 0);
    }

    #[test]
    fn a_second_end_elsewhere_gives_up_the_datagram() {
        let mut reassembly = Reassembly::new(&CaptureLimits::default());
        let mut statistics = Statistics::default();
        reassembly.accept(&fragment(1, 8, false, b"end"), at(0), &mut statistics);
        reassembly.accept(&fragment(1, 16, false, b"end"), at(0), &mut statistics);
        assert_eq!(statistics.fragmented_incomplete, 1);
    }

    #[test]
    fn number_bytes_and_age_of_waiting_datagrams_are_limited() {
        let limits = CaptureLimits {
            fragmented_datagrams_max: 3,
            fragmented_bytes_max: 40,
            fragmented_age_ns: 10_000_000_000,
            ..CaptureLimits::default()
        };
        let mut reassembly = Reassembly::new(&limits);
        let mut statistics = Statistics::default();
        for id in 0..4 {
            reassembly.accept(&fragment(id, 0, true, &[0; 8]), at(u64::from(id)), &mut statistics);
        }
        assert_eq!((reassembly.datagrams.len(), reassembly.bytes), (3, 24));
        reassembly.accept(&fragment(9, 16, true, &[0; 16]), at(5), &mut statistics);
        assert_eq!((reassembly.datagrams.len(), reassembly.bytes), (2, 40));
        reassembly.accept(&fragment(10, 0, true, &[0; 8]), at(100), &mut statistics);
        assert_eq!((reassembly.datagrams.len(), reassembly.bytes), (1, 8));
        assert_eq!(statistics.fragmented_incomplete, 5);
    }

    #[test]
    fn impossible_fragments_are_malformed() {
        let mut reassembly = Reassembly::new(&CaptureLimits::default());
        let mut statistics = Statistics::default();
        reassembly.accept(&fragment(1, 0, true, b""), at(0), &mut statistics);
        reassembly.accept(&fragment(1, 0, true, b"seven b"), at(0), &mut statistics);
        reassembly.accept(&fragment(1, 65_528, false, &[0; 8]), at(0), &mut statistics);
        assert_eq!(statistics.malformed, 3);
        assert!(reassembly.datagrams.is_empty());
    }
}
