//! The packets to send: a synthetic feed, framed for the cable, the same on each line.

use super::cable;
use crate::failure::Failure;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use tickwire_exchange::{Generator, Options};
use tickwire_fast::{Decoder, DecoderOptions, Program};
use tickwire_feed::arbiter::ArbiterOptions;
use tickwire_feed::framing::{Framing, Preset};
use tickwire_feed::handler::{Dynamic, Handler, HandlerOptions, SeqNumField, SequenceSource};
use tickwire_feed::market::NoBooks;
use tickwire_net::multicast::Endpoint;
use tickwire_net::packets::frames::multicast_frame;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 77, 0, 1);
const PORT: u16 = 13014;
/// Longest time that a packet is held back for the other line, in nanoseconds.
const HOLD_NS: u64 = 10_000_000;

/// A feed whose packets all have the same number of messages.
#[derive(Debug)]
pub struct BenchFeed {
    program: Arc<Program>,
    framing: Framing,
    /// Frames of all packets, by line.
    frames: Vec<Vec<Vec<u8>>>,
    payload_bytes: usize,
}

impl BenchFeed {
    /// Generates this many packets of this many messages.
    pub fn new(packets: usize, messages_a_packet: usize, lines: usize) -> Result<Self, Failure> {
        let framing = Preset::Cme.framing();
        let options = Options {
            messages: (packets * messages_a_packet) as u64,
            messages_per_packet_max: messages_a_packet,
            packet_bytes_max: 1_472,
            framing: Some(framing),
            done: false,
            ..Options::simple()
        };
        let failed =
            |error: &dyn std::fmt::Display| Failure::Data(format!("the generated feed: {error}"));
        let mut generator = Generator::new(&options).map_err(|error| failed(&error))?;
        let mut frames: Vec<Vec<Vec<u8>>> = vec![Vec::with_capacity(packets); lines];
        let mut payload_bytes = 0;
        while let Some(packet) = generator.next_packet().map_err(|error| failed(&error))? {
            payload_bytes += packet.bytes.len();
            for (line, frames) in frames.iter_mut().enumerate() {
                let [a, b, c, _] = cable::address(line).octets();
                let from = SocketAddrV4::new(Ipv4Addr::new(a, b, c, 9), 5000);
                frames.push(multicast_frame(from, SocketAddrV4::new(GROUP, PORT), &packet.bytes));
            }
        }
        Ok(Self { program: generator.program().clone(), framing, frames, payload_bytes })
    }

    /// Returns the number of packets of each line.
    pub fn packets(&self) -> usize {
        self.frames.first().map_or(0, Vec::len)
    }

    /// Returns the mean payload of a datagram in bytes.
    pub fn mean_bytes(&self) -> usize {
        self.payload_bytes / self.packets().max(1)
    }

    /// Returns the frames of a line.
    pub fn frames(&self, line: usize) -> &[Vec<u8>] {
        self.frames.get(line).map_or(&[], Vec::as_slice)
    }

    /// Returns the address at which a line is received.
    pub fn endpoint(line: usize) -> Endpoint {
        Endpoint { group: GROUP, port: PORT, interface: cable::address(line), source: None }
    }

    /// Creates a handler that arbitrates and decodes, without books.
    pub fn handler(&self) -> Result<Handler<Dynamic, NoBooks>, Failure> {
        let engine = || {
            let reset = self.framing.reset_policy().into();
            let options = DecoderOptions::default().reset(reset);
            Dynamic::new(
                Decoder::with_options(self.program.clone(), options),
                &SeqNumField::default(),
            )
        };
        let arbiter = ArbiterOptions {
            hold_ns: HOLD_NS,
            first_seq_num: Some(1),
            ..ArbiterOptions::default()
        };
        let sequence = SequenceSource::Preamble;
        let options = HandlerOptions {
            framing: self.framing,
            sequence,
            arbiter,
            ..HandlerOptions::default()
        };
        Handler::new(options, engine, NoBooks)
            .map_err(|error| Failure::Data(format!("the generated feed: {error}")))
    }
}
