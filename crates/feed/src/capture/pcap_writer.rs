//! Writes pcap files that hold UDP datagrams.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::PacketBuilder;

use super::pcap::{MAGIC_NANOSECONDS, NANOSECONDS_PER_SECOND};

/// Longest payload of a UDP datagram over IPv4 without options.
const PAYLOAD_BYTES_MAX: usize = 65_507;
const SNAPSHOT_BYTES: u32 = 262_144;
const LINK_TYPE_ETHERNET: u32 = 1;
/// Locally administered addresses: the frames were never on a wire.
const MAC_SOURCE: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const MAC_DESTINATION: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
const TIME_TO_LIVE: u8 = 64;

/// Why a datagram was not written to a pcap file.
#[derive(Debug)]
#[non_exhaustive]
pub enum PcapWriteError {
    /// The output failed.
    Io(io::Error),
    /// The payload does not fit a datagram.
    PayloadTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// The time is after the year 2106, which a pcap file cannot say.
    Timestamp {
        /// The time in nanoseconds since 1970.
        timestamp_ns: u64,
    },
}

impl fmt::Display for PcapWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the datagram cannot be written: {error}"),
            Self::PayloadTooLong { len } => write!(
                f,
                "a payload of {len} bytes does not fit a UDP datagram: {PAYLOAD_BYTES_MAX} do"
            ),
            Self::Timestamp { timestamp_ns } => {
                write!(
                    f,
                    "{timestamp_ns} ns since 1970 does not fit the 32-bit seconds of a pcap file"
                )
            }
        }
    }
}

impl Error for PcapWriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Writes a pcap file with nanosecond times: each packet a UDP datagram over IPv4 and Ethernet, with
/// right lengths and checksums.
///
/// It writes a packet in two pieces: give it a buffered output.
#[derive(Debug)]
pub struct PcapWriter<W> {
    output: W,
    frame: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Creates a writer and writes the header of the file.
    ///
    /// # Errors
    /// [`PcapWriteError::Io`] where the output fails.
    pub fn new(mut output: W) -> Result<Self, PcapWriteError> {
        let version: u32 = 2 | 4 << 16;
        let fields = [MAGIC_NANOSECONDS, version, 0, 0, SNAPSHOT_BYTES, LINK_TYPE_ETHERNET];
        write_fields(&mut output, &fields).map_err(PcapWriteError::Io)?;
        Ok(Self { output, frame: Vec::new() })
    }

    /// Writes one datagram with `payload`, sent at `timestamp_ns` nanoseconds since 1970.
    ///
    /// # Errors
    /// - [`PcapWriteError::PayloadTooLong`] from 65,508 bytes on.
    /// - [`PcapWriteError::Timestamp`] for a time that pcap cannot hold.
    /// - [`PcapWriteError::Io`] where the output fails.
    pub fn write_datagram(
        &mut self,
        timestamp_ns: u64,
        source: SocketAddrV4,
        destination: SocketAddrV4,
        payload: &[u8],
    ) -> Result<(), PcapWriteError> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(PcapWriteError::PayloadTooLong { len: payload.len() });
        }
        let seconds = u32::try_from(timestamp_ns / NANOSECONDS_PER_SECOND)
            .map_err(|_| PcapWriteError::Timestamp { timestamp_ns })?;
        let nanoseconds = (timestamp_ns % NANOSECONDS_PER_SECOND) as u32;
        self.frame.clear();
        PacketBuilder::ethernet2(MAC_SOURCE, mac_destination(*destination.ip()))
            .ipv4(source.ip().octets(), destination.ip().octets(), TIME_TO_LIVE)
            .udp(source.port(), destination.port())
            .write_to_vec(&mut self.frame, payload)
            .map_err(|_| PcapWriteError::PayloadTooLong { len: payload.len() })?;
        let len = self.frame.len() as u32;
        write_fields(&mut self.output, &[seconds, nanoseconds, len, len])
            .and_then(|()| self.output.write_all(&self.frame))
            .map_err(PcapWriteError::Io)
    }

    /// Returns the output, not flushed.
    pub fn into_inner(self) -> W {
        self.output
    }
}

/// Returns the Ethernet address of a multicast group, or one of our own for a host.
fn mac_destination(address: Ipv4Addr) -> [u8; 6] {
    let [_, b, c, d] = address.octets();
    if address.is_multicast() { [0x01, 0x00, 0x5E, b & 0x7F, c, d] } else { MAC_DESTINATION }
}

fn write_fields(output: &mut impl Write, fields: &[u32]) -> io::Result<()> {
    fields.iter().try_for_each(|field| output.write_all(&field.to_le_bytes()))
}
