//! The destinations of the packets of a capture, in messages.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use tickwire_feed::capture::{CaptureReader, OTHER_DESTINATIONS_MAX, Packet};

/// Maximum number of destinations in a message.
const SHOWN_MAX: usize = 20;

/// A list of destinations with their packet counts; `None` if there are none.
pub fn destinations_text(destinations: impl Iterator<Item = (SocketAddr, u64)>) -> Option<String> {
    let mut all: Vec<_> = destinations.collect();
    let more = all.len().saturating_sub(SHOWN_MAX);
    all.truncate(SHOWN_MAX);
    let texts = all.iter().map(|(address, packets)| format!("{packets} to {address}"));
    let mut texts: Vec<String> = texts.collect();
    if more > 0 {
        texts.push(format!("and {more} destinations more"));
    }
    (!texts.is_empty()).then(|| format!("Packets found: {}", texts.join(", ")))
}

/// Counts the packets of a capture for which `is_counted` returns true, by destination. Reads at most `packets_max`
/// packets; an unreadable rest is ignored.
pub fn destinations_of(
    reader: &mut CaptureReader<impl Read>,
    packets_max: u64,
    is_counted: impl Fn(&Packet<'_>) -> bool,
) -> BTreeMap<SocketAddr, u64> {
    let mut counts = BTreeMap::new();
    let mut packets = 0;
    while packets < packets_max {
        let Ok(Some(packet)) = reader.next_packet() else { break };
        packets += 1;
        let Some(destination) = packet.destination.filter(|_| is_counted(&packet)) else {
            continue;
        };
        if counts.len() < OTHER_DESTINATIONS_MAX || counts.contains_key(&destination) {
            *counts.entry(destination).or_default() += 1;
        }
    }
    counts
}
