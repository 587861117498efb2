//! Finds out where the packets of captures are sent.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use super::drive::OTHER_DESTINATIONS_MAX;
use super::packet::Packet;

/// Most different payloads of a destination that are remembered for comparison with others.
const DIGESTS_MAX: usize = 4096;

/// Packets sent to one destination.
#[derive(Clone, Debug, Default)]
struct DestinationTraffic {
    packets: u64,
    digests: HashSet<u64>,
}

/// Counts datagrams by destination, and finds destinations with equal payloads: lines A and B of a
/// channel.
///
/// Memory: hashes of the first 4,096 different payloads of each of at most
/// [`OTHER_DESTINATIONS_MAX`] destinations.
#[derive(Clone, Debug, Default)]
pub struct DestinationSurvey {
    sent: BTreeMap<SocketAddr, DestinationTraffic>,
    packets: u64,
}

impl DestinationSurvey {
    /// Creates an empty survey.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet. Pieces of byte streams and packets without a destination are skipped.
    pub fn add(&mut self, packet: &Packet<'_>) {
        let (Some(destination), None) = (packet.destination, packet.stream) else { return };
        self.packets += 1;
        if self.sent.len() >= OTHER_DESTINATIONS_MAX && !self.sent.contains_key(&destination) {
            return;
        }
        let sent = self.sent.entry(destination).or_default();
        sent.packets += 1;
        if sent.digests.len() < DIGESTS_MAX {
            let mut hasher = DefaultHasher::new();
            packet.bytes.hash(&mut hasher);
            sent.digests.insert(hasher.finish());
        }
    }

    /// Returns the destinations with the packets sent to each, in the order of their addresses.
    pub fn destinations(&self) -> impl Iterator<Item = (SocketAddr, u64)> {
        self.sent.iter().map(|(address, sent)| (*address, sent.packets))
    }

    /// Returns pairs of destinations with equal payloads: at least half of the payloads of the one
    /// with fewer were sent to both.
    pub fn pairs(&self) -> Vec<(SocketAddr, SocketAddr)> {
        let all: Vec<_> = self.sent.iter().collect();
        let rest = |index: usize| all.iter().skip(index + 1);
        let pairs = all.iter().enumerate().flat_map(|(index, first)| {
            rest(index)
                .filter(|second| is_same(first.1, second.1))
                .map(|second| (*first.0, *second.0))
        });
        pairs.collect()
    }
}

/// True if at least half of the payloads of the smaller destination were also sent to the other.
/// Different channels share almost no payloads; lines of one channel share all that were not lost.
fn is_same(first: &DestinationTraffic, second: &DestinationTraffic) -> bool {
    let common = first.digests.intersection(&second.digests).count();
    let least = first.digests.len().min(second.digests.len());
    common > 0 && common * 2 >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(packets: &[(u16, &[u8])]) -> DestinationSurvey {
        let mut survey = DestinationSurvey::new();
        for (port, bytes) in packets {
            survey.add(&Packet {
                index: 0,
                record: 0,
                bytes,
                file_offset: 0,
                timestamp_ns: None,
                source: None,
                destination: Some(address(*port)),
                stream: None,
                missing_bytes: 0,
            });
        }
        survey
    }

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([239, 1, 1, 1], port))
    }

    #[test]
    fn destinations_with_the_same_payloads_are_a_pair() {
        let found = survey(&[
            (1, b"one"),
            (2, b"one"),
            (3, b"other"),
            (1, b"two"),
            (1, b"three"),
            (2, b"three"),
            (3, b"third"),
        ]);
        assert_eq!(found.pairs(), [(address(1), address(2))]);
        let counts: Vec<_> = found.destinations().map(|(_, packets)| packets).collect();
        assert_eq!(counts, [3, 2, 2]);
    }

    #[test]
    fn a_payload_that_all_channels_send_makes_no_pair() {
        let found = survey(&[(1, b"h"), (2, b"h"), (1, b"1"), (1, b"2"), (2, b"3"), (2, b"4")]);
        assert_eq!(found.pairs(), []);
    }
}
