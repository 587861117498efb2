//! Output of encoded packets.

use crate::failure::Failure;
use clap::ValueEnum;
use std::fmt::Display;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use tickwire_feed::Endian;
use tickwire_feed::capture::{PcapWriter, PrefixedWriter};

/// Format of the output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacketFormat {
    /// Each packet with a big-endian 32-bit length prefix.
    U32be,
    /// Each packet with a little-endian 32-bit length prefix.
    U32le,
    /// Packets without separators.
    Raw,
    /// UDP datagrams in a pcap file, one microsecond apart.
    Pcap,
}

/// Writes packets.
pub enum PacketWriter {
    /// Packets with length prefixes.
    Prefixed(PrefixedWriter<Box<dyn Write>>),
    /// Without separators.
    Raw(Box<dyn Write>),
    /// Datagrams in a pcap file, and the number written so far.
    Pcap(PcapWriter<Box<dyn Write>>, u64),
}

const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 30_001);
const DESTINATION: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), 30_001);
const NANOSECONDS_APART: u64 = 1_000;

impl PacketWriter {
    /// Starts a file.
    pub fn new(out: Box<dyn Write>, format: PacketFormat) -> Result<Self, Failure> {
        Ok(match format {
            PacketFormat::U32be => Self::Prefixed(PrefixedWriter::new(out, Endian::Big)),
            PacketFormat::U32le => Self::Prefixed(PrefixedWriter::new(out, Endian::Little)),
            PacketFormat::Raw => Self::Raw(out),
            PacketFormat::Pcap => Self::Pcap(PcapWriter::new(out).map_err(failure)?, 0),
        })
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Prefixed(writer) => writer.write_packet(packet).map_err(failure),
            Self::Raw(out) => Ok(out.write_all(packet)?),
            Self::Pcap(writer, count) => {
                let time = *count * NANOSECONDS_APART;
                *count += 1;
                writer.write_datagram(time, SOURCE, DESTINATION, packet).map_err(failure)
            }
        }
    }

    /// Writes the output that is still buffered.
    pub fn finish(self) -> Result<(), Failure> {
        let mut out = match self {
            Self::Prefixed(writer) => writer.into_inner(),
            Self::Raw(out) => out,
            Self::Pcap(writer, _) => writer.into_inner(),
        };
        Ok(out.flush()?)
    }
}

fn failure(error: impl Display) -> Failure {
    Failure::Usage(format!("cannot write the output: {error}"))
}
