//! Sample packets of a capture, for the detection of its framing.

use crate::place::PacketPlace;
use std::net::SocketAddr;
use tickwire_feed::capture::Packet;

/// The first packets of one channel of a capture.
#[derive(Debug)]
pub struct Sample {
    packets: Vec<Vec<u8>>,
    places: Vec<PacketPlace>,
    packets_max: usize,
    /// The channel: that of the first packet.
    destination: Option<Option<SocketAddr>>,
}

impl Sample {
    /// Creates a sample of at most `packets_max` packets.
    pub const fn new(packets_max: usize) -> Self {
        Self { packets: Vec::new(), places: Vec::new(), packets_max, destination: None }
    }

    /// Adds a packet if it is whole, belongs to the channel, and there is room.
    pub fn add(&mut self, packet: &Packet<'_>) {
        let is_of_stream = packet.stream.is_some() && packet.source.is_none();
        if self.is_full() || packet.is_truncated() || is_of_stream {
            return;
        }
        if *self.destination.get_or_insert(packet.destination) == packet.destination {
            self.packets.push(packet.bytes.to_vec());
            self.places.push(PacketPlace::of(packet));
        }
    }

    /// True if the sample is full.
    pub fn is_full(&self) -> bool {
        self.packets.len() >= self.packets_max
    }

    /// Returns the place of a packet in its capture, by its index in the sample.
    pub fn place(&self, index: usize) -> Option<PacketPlace> {
        self.places.get(index).copied()
    }

    /// Returns the packets.
    pub fn packets(&self) -> &[Vec<u8>] {
        &self.packets
    }
}
