//! Packets of a capture by destination, as text for messages to the user.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use tickwire_feed::capture::CaptureReader;
use tickwire_feed::counted;

/// Maximum number of destinations in a message.
const SHOWN_MAX: usize = 20;
/// Most destinations that are counted separately: all ports of one host, in about 5 MiB.
const COUNTED_MAX: usize = 1 << 16;

/// Packets of a capture by destination.
#[derive(Debug, Default)]
pub struct Destinations {
    /// UDP datagrams.
    datagrams: BTreeMap<SocketAddr, u64>,
    /// TCP segments.
    segments: BTreeMap<SocketAddr, u64>,
    /// Packets to destinations beyond [`COUNTED_MAX`].
    beyond: u64,
    /// Packets read.
    packets: u64,
    /// True if the capture was read to its end.
    is_whole: bool,
}

impl Destinations {
    /// Counts the packets of a capture. `wanted` are always counted, however many other destinations there are.
    /// Stops after `packets_max` packets or, if `wanted` is not empty, once each of them has a datagram. Read
    /// errors end the count and are ignored.
    pub fn of(
        reader: &mut CaptureReader<impl Read>,
        packets_max: u64,
        wanted: &[SocketAddr],
    ) -> Self {
        let mut found = Self::default();
        let mut missing: Vec<SocketAddr> = wanted.to_vec();
        while found.packets < packets_max {
            let packet = match reader.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => {
                    found.is_whole = true;
                    break;
                }
                Err(_) => break,
            };
            found.packets += 1;
            let Some(destination) = packet.destination else { continue };
            let is_stream = packet.stream.is_some();
            found.count(destination, is_stream, wanted);
            if !is_stream && !missing.is_empty() {
                missing.retain(|address| *address != destination);
                if missing.is_empty() {
                    break;
                }
            }
        }
        found
    }

    fn count(&mut self, destination: SocketAddr, is_stream: bool, wanted: &[SocketAddr]) {
        let is_full = self.datagrams.len() + self.segments.len() >= COUNTED_MAX;
        let counts = if is_stream { &mut self.segments } else { &mut self.datagrams };
        match counts.get_mut(&destination) {
            Some(count) => *count += 1,
            None if is_full && !wanted.contains(&destination) => self.beyond += 1,
            None => {
                counts.insert(destination, 1);
            }
        }
    }

    /// True if a datagram was sent to `destination`.
    pub fn contains(&self, destination: SocketAddr) -> bool {
        self.datagrams.contains_key(&destination)
    }

    /// Returns the destination of all datagrams; `None` if they have several, or none.
    pub fn only(&self) -> Option<SocketAddr> {
        let (first, _) = self.datagrams.first_key_value()?;
        (!self.has_several()).then_some(*first)
    }

    /// True if datagrams were sent to several destinations.
    pub fn has_several(&self) -> bool {
        self.datagrams.len() > 1
    }

    /// Returns the number of packets read, if the capture was not read to its end.
    pub fn packets_of_part(&self) -> Option<u64> {
        (!self.is_whole).then_some(self.packets)
    }

    /// Returns the list of destinations with their packet counts; `None` if there are none.
    pub fn text(&self) -> Option<String> {
        let datagrams = self.datagrams.iter().map(|(address, count)| (*count, address, ""));
        let segments = self.segments.iter().map(|(address, count)| (*count, address, " (TCP)"));
        let found = datagrams.chain(segments);
        text_of(
            found.map(|(count, address, mark)| (count, format!("{address}{mark}"))),
            self.beyond,
        )
    }
}

/// Returns a list of destinations of datagrams with their packet counts; `None` if there are none.
pub fn destinations_text(destinations: impl Iterator<Item = (SocketAddr, u64)>) -> Option<String> {
    text_of(destinations.map(|(address, packets)| (packets, address.to_string())), 0)
}

/// Returns the list, the destinations with the most packets first.
fn text_of(destinations: impl Iterator<Item = (u64, String)>, beyond: u64) -> Option<String> {
    let mut all: Vec<_> = destinations.collect();
    all.sort_by_key(|(packets, _)| Reverse(*packets));
    let more = all.len().saturating_sub(SHOWN_MAX);
    let shown = all.iter().take(SHOWN_MAX);
    let mut texts: Vec<String> =
        shown.map(|(packets, destination)| format!("{packets} to {destination}")).collect();
    if more > 0 {
        let rest = all.iter().skip(SHOWN_MAX).map(|(packets, _)| packets).sum::<u64>() + beyond;
        let over = if beyond > 0 { "more than " } else { "" };
        texts.push(format!("{rest} to {over}{}", counted(more, "other destination")));
    }
    (!texts.is_empty()).then(|| format!("Packets found: {}", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 53))
    }

    #[test]
    fn the_destinations_with_the_most_packets_come_first_and_tcp_is_marked() {
        let feed = SocketAddr::from(([239, 1, 1, 1], 5000));
        let mut found = Destinations::default();
        for number in 0..SHOWN_MAX {
            found.count(address(number), false, &[]);
        }
        (0..3).for_each(|_| found.count(feed, false, &[]));
        (0..2).for_each(|_| found.count(feed, true, &[]));
        let text = found.text().expect("a list");
        assert!(text.starts_with(
            "Packets found: 3 to 239.1.1.1:5000, 2 to 239.1.1.1:5000 (TCP), 1 to 10."
        ));
        assert!(text.ends_with(", 2 to 2 other destinations"), "{text}");
        assert_eq!(
            destinations_text([(feed, 1)].into_iter()).as_deref(),
            Some("Packets found: 1 to 239.1.1.1:5000")
        );
    }

    #[test]
    fn a_wanted_destination_is_counted_after_any_number_of_others() {
        let mut found = Destinations::default();
        let noise =
            |number: usize| SocketAddr::from(([10, 9, 9, (number >> 16) as u8], number as u16));
        for number in 0..=COUNTED_MAX {
            found.count(noise(number), false, &[]);
        }
        let (wanted, other) = (address(1), address(2));
        found.count(wanted, false, &[wanted]);
        found.count(other, false, &[wanted]);
        assert!(found.contains(wanted) && !found.contains(other));
        assert_eq!(found.beyond, 2);
        assert!(found.text().expect("a list").ends_with(&format!(
            " to more than {} other destinations",
            COUNTED_MAX + 1 - SHOWN_MAX
        )));
    }
}
