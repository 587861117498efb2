//! Sample packets of a capture, for the detection of its framing.

use crate::place::{MessagePlace, OffsetBase, PacketPlace};
use crate::session_starts::SessionStarts;
use std::cmp::Reverse;
use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use tickwire_fast::TemplateSet;
use tickwire_feed::capture::Packet;
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::{Detected, Doubt, Undetected, ValueCheck, detect, doubt};

/// Most channels of which packets are kept. A further channel replaces the one with the fewest
/// packets; if several have the fewest, the oldest of these.
const CHANNELS_KEPT_MAX: usize = 32;
/// Most packets that are examined; later ones are ignored.
const PACKETS_EXAMINED_MAX: u32 = 50_000;
/// Most channels that are examined, the busiest first.
const CHANNELS_EXAMINED_MAX: usize = 4;
/// Most destinations in a message.
const DESTINATIONS_SHOWN_MAX: usize = 8;

/// The first packets of each channel of a capture.
#[derive(Debug)]
pub struct CaptureSample {
    /// The channels, in the order of their first packets.
    channels: Vec<SampledChannel>,
    packets_max: usize,
    /// Packets examined.
    examined: u32,
    /// Index of the channel of the previous packet, which the next one often has too.
    previous: usize,
}

/// The first packets to one destination.
#[derive(Debug)]
pub struct SampledChannel {
    destination: Option<SocketAddr>,
    /// True for segments of TCP streams.
    is_stream: bool,
    packets: Vec<Vec<u8>>,
    places: Vec<PacketPlace>,
    /// Packets so far, including those that are not kept.
    count: u64,
}

impl SampledChannel {
    /// Returns the place of a packet in its capture, by its index in the sample.
    pub fn place(&self, index: usize) -> Option<PacketPlace> {
        self.places.get(index).copied()
    }

    /// True for segments of TCP streams.
    pub const fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Returns the packets.
    pub fn packets(&self) -> &[Vec<u8>] {
        &self.packets
    }
}

/// The framing of a capture, and the channel whose packets show it.
#[derive(Debug)]
pub struct FoundFraming<'s> {
    /// The framing.
    pub detected: Detected,
    /// The channel.
    pub channel: &'s SampledChannel,
    /// Destination of the channel, if the sample has several destinations.
    pub destination: Option<SocketAddr>,
}

impl FoundFraming<'_> {
    /// Returns the first message of the channel at which its sender started again with empty dictionaries although
    /// nothing resets them there: the values from there on are wrong. Dictionaries are reset as the detected framing
    /// says, and at `sessions`, as [`Channels::reset_at`](crate::Channels::reset_at) does.
    pub fn first_restart(&self, set: &TemplateSet, sessions: &[u64]) -> Option<MessagePlace> {
        let Self { detected, channel, .. } = self;
        let mut starts = SessionStarts::new(sessions.to_vec());
        let begins = |packet| {
            let Some(PacketPlace { index, .. }) = channel.place(packet) else { return false };
            !channel.is_stream && starts.begins_before(index)
        };
        let restart = ValueCheck::first_restart(channel.packets(), &detected.framing, set, begins)?;
        let packet = channel.place(restart.packet)?;
        Some(MessagePlace { packet, origin: OffsetBase::Packet, offset: restart.offset as u64 })
    }
}

/// Reason why no channel shows its framing.
#[derive(Debug)]
pub struct UnknownFraming {
    undetected: Undetected,
    /// The destination of the packets to which the reason applies, if the sample has several.
    destination: Option<SocketAddr>,
    /// The other destinations that were examined.
    others: Vec<SocketAddr>,
}

impl fmt::Display for UnknownFraming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { undetected, destination, others } = self;
        if let Some(destination) = destination {
            write!(f, "packets to {destination}: ")?;
        }
        undetected.fmt(f)?;
        for (index, other) in others.iter().take(DESTINATIONS_SHOWN_MAX).enumerate() {
            let before = if index == 0 { "; nor do packets to " } else { ", " };
            write!(f, "{before}{other}")?;
        }
        if !others.is_empty() {
            f.write_str(" show a framing")?;
        }
        Ok(())
    }
}

impl UnknownFraming {
    /// True if packets to several destinations were examined, so selecting one destination may
    /// help.
    pub const fn has_several_destinations(&self) -> bool {
        !self.others.is_empty()
    }
}

impl Error for UnknownFraming {}

impl CaptureSample {
    /// Creates a sample of at most `packets_max` packets of each channel.
    pub const fn new(packets_max: usize) -> Self {
        Self { channels: Vec::new(), packets_max, examined: 0, previous: 0 }
    }

    /// Adds a packet if it is whole and there is room. Pieces of raw files are ignored, and so are packets after the
    /// first 50,000.
    pub fn add(&mut self, packet: &Packet<'_>) {
        if self.packets_max == 0 || self.examined >= PACKETS_EXAMINED_MAX {
            return;
        }
        self.examined += 1;
        let is_stream = packet.stream.is_some();
        if packet.is_truncated() || is_stream && packet.source.is_none() {
            return;
        }
        let is_its = |channel: &SampledChannel| {
            (channel.destination, channel.is_stream) == (packet.destination, is_stream)
        };
        if !self.channels.get(self.previous).is_some_and(is_its) {
            let known = self.channels.iter().position(is_its);
            self.previous = known.unwrap_or_else(|| self.begin_channel(packet));
        }
        let Some(channel) = self.channels.get_mut(self.previous) else { return };
        channel.count += 1;
        if channel.packets.len() < self.packets_max {
            channel.packets.push(packet.bytes.to_vec());
            channel.places.push(PacketPlace::of(packet));
        }
    }

    /// Begins the channel of a packet and returns its index.
    fn begin_channel(&mut self, packet: &Packet<'_>) -> usize {
        if self.channels.len() >= CHANNELS_KEPT_MAX {
            let channels = self.channels.iter().enumerate();
            let least = channels.min_by_key(|(_, channel)| channel.count);
            if let Some((index, _)) = least {
                self.channels.remove(index);
            }
        }
        self.channels.push(SampledChannel {
            destination: packet.destination,
            is_stream: packet.stream.is_some(),
            packets: Vec::new(),
            places: Vec::new(),
            count: 0,
        });
        self.channels.len() - 1
    }

    /// True if no further packets are needed: the sample of a channel is full, or 50,000 packets were examined.
    pub fn is_full(&self) -> bool {
        self.examined >= PACKETS_EXAMINED_MAX
            || self.channels.iter().any(|channel| channel.packets.len() >= self.packets_max)
    }

    /// Returns the channels that are examined: those with the most packets, datagrams before
    /// segments of TCP streams.
    fn busiest(&self) -> Vec<&SampledChannel> {
        let mut channels: Vec<_> = self.channels.iter().collect();
        channels.sort_by_key(|channel| (channel.is_stream, Reverse(channel.count)));
        channels.truncate(CHANNELS_EXAMINED_MAX);
        channels
    }

    /// Returns a destination for messages; `None` if the sample has no other.
    fn named(&self, channel: &SampledChannel) -> Option<SocketAddr> {
        channel.destination.filter(|_| self.channels.len() > 1)
    }

    /// Detects the framing from the busiest channel whose packets fit one. Channels that fit none,
    /// such as those of other protocols, are skipped.
    ///
    /// # Errors
    /// [`UnknownFraming`] if no channel shows its framing, or one fits several.
    pub fn detect(&self, set: &TemplateSet) -> Result<FoundFraming<'_>, UnknownFraming> {
        let mut unknown: Option<UnknownFraming> = None;
        for channel in self.busiest() {
            let destination = self.named(channel);
            let undetected = match detect(channel.packets(), set) {
                Ok(detected) => return Ok(FoundFraming { detected, channel, destination }),
                Err(undetected) => undetected,
            };
            let fits_none =
                matches!(undetected, Undetected::NoneFits { .. } | Undetected::TooFew { .. });
            match &mut unknown {
                Some(unknown) if fits_none => unknown.others.extend(destination),
                _ => unknown = Some(UnknownFraming { undetected, destination, others: Vec::new() }),
            }
            if !fits_none {
                break;
            }
        }
        Err(unknown.unwrap_or(UnknownFraming {
            undetected: Undetected::TooFew { packets: 0 },
            destination: None,
            others: Vec::new(),
        }))
    }

    /// Returns the signs that the busiest channels have another framing, one sentence each.
    /// Segments of TCP streams are not examined: messages continue in the next segment.
    pub fn doubts(&self, set: &TemplateSet, framing: &Framing) -> Vec<String> {
        let datagrams = self.busiest().into_iter().filter(|channel| !channel.is_stream);
        let doubts = datagrams.filter_map(|channel| {
            let doubt = doubt(channel.packets(), set, framing)?;
            let Some(destination) = self.named(channel) else { return Some(doubt.to_string()) };
            let other = match doubt {
                Doubt::Malformed { instead: None, .. } => {
                    "; if they are of another feed, leave them out with --address and --port"
                }
                _ => "",
            };
            Some(format!("packets to {destination}: {doubt}{other}"))
        });
        doubts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_feed::capture::StreamPosition;
    use tickwire_feed::framing::Preset;

    const XML: &str = r#"<templates><template name="T" id="1">
        <uInt32 name="seq" id="34"/><uInt32 name="a"><copy/></uInt32></template></templates>"#;

    fn packet<'b>(port: u16, bytes: &'b [u8], is_stream: bool) -> Packet<'b> {
        let stream = StreamPosition { flow: 0, offset: 0, lost_bytes: 0, joined_midway: false };
        let address = |port| Some(SocketAddr::from(([239, 1, 1, 1], port)));
        Packet {
            index: 0,
            record: 0,
            bytes,
            file_offset: 0,
            timestamp_ns: None,
            source: address(9),
            destination: address(port),
            stream: is_stream.then_some(stream),
            missing_bytes: 0,
        }
    }

    /// A packet of CME's framing.
    fn numbered(n: u8) -> [u8; 9] {
        [0, 0, 0, n, 1, 0xE0, 0x81, 0x80 | n, 0x85]
    }

    fn sample_with_noise(noise_packets: u8) -> CaptureSample {
        let mut sample = CaptureSample::new(100);
        for n in 0..noise_packets {
            sample.add(&packet(53, b"GET / of another protocol", false));
            if n < 20 {
                sample.add(&packet(1000, &numbered(n + 1), false));
            }
        }
        sample
    }

    #[test]
    fn the_framing_is_that_of_the_busiest_channel_that_fits_one() {
        let set = TemplateSet::parse(XML).expect("templates");
        let sample = sample_with_noise(50);
        let found = sample.detect(&set).expect("a framing");
        assert_eq!(found.detected.preset, Some(Preset::Cme));
        assert_eq!(found.destination, packet(1000, b"", false).destination);
        let mut noise = CaptureSample::new(100);
        for port in [53, 54] {
            (0..20).for_each(|_| noise.add(&packet(port, b"GET / of another protocol", false)));
        }
        let text = noise.detect(&set).expect_err("noise").to_string();
        assert!(text.starts_with("packets to 239.1.1.1:53: cannot tell the framing"), "{text}");
        assert!(text.ends_with("nor do packets to 239.1.1.1:54 show a framing"), "{text}");
    }

    #[test]
    fn a_feed_is_found_after_more_destinations_than_are_kept() {
        let set = TemplateSet::parse(XML).expect("templates");
        let mut sample = CaptureSample::new(100);
        let mut ports = 2000..;
        let mut noise = |sample: &mut CaptureSample| {
            for port in ports.by_ref().take(CHANNELS_KEPT_MAX - 1) {
                sample.add(&packet(port, b"an answer to a port", false));
            }
        };
        noise(&mut sample);
        for n in 0..20 {
            noise(&mut sample);
            sample.add(&packet(1000, &numbered(n + 1), false));
        }
        let found = sample.detect(&set).expect("a framing");
        assert_eq!(found.destination, packet(1000, b"", false).destination);
        assert_eq!(found.channel.packets().len(), 20);
    }

    #[test]
    fn packets_after_the_examined_ones_are_ignored() {
        let mut sample = CaptureSample::new(100);
        for _ in 0..PACKETS_EXAMINED_MAX {
            assert!(!sample.is_full());
            sample.add(&packet(53, b"", true));
            sample.channels.clear();
        }
        assert!(sample.is_full());
        sample.add(&packet(1000, &numbered(1), false));
        assert!(sample.channels.is_empty());
    }

    #[test]
    fn doubts_name_the_destination_and_pass_over_streams() {
        let set = TemplateSet::parse(XML).expect("templates");
        let framing = Preset::Cme.framing();
        let doubts = sample_with_noise(30).doubts(&set, &framing);
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        let start = "packets to 239.1.1.1:53: only 0 of 30 packets decode: ";
        assert!(doubts[0].starts_with(start), "{doubts:?}");
        let mut streams = CaptureSample::new(100);
        (0..20).for_each(|_| streams.add(&packet(53, b"a segment of a stream", true)));
        assert!(streams.doubts(&set, &framing).is_empty());
    }
}
