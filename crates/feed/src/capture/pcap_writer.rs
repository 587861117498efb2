//! Writes pcap files that hold UDP datagrams.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddrV4;

use super::frame::{LINK_TYPE_ETHERNET, PAYLOAD_BYTES_MAX, SNAPSHOT_BYTES, append_frame};
use super::pcap::{MAGIC_NANOSECONDS, NANOSECONDS_PER_SECOND};

/// Reason why a datagram was not written to a pcap or pcapng file.
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
    /// The interface was not added to the file.
    UnknownInterface {
        /// Its number.
        interface: u32,
    },
    /// The time is after the year 2106, which the pcap format cannot store.
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
            Self::UnknownInterface { interface } => write!(f, "there is no interface {interface}"),
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

/// Writes a pcap file with nanosecond times. Each packet is a UDP datagram over IPv4 and Ethernet,
/// with correct lengths and checksums.
///
/// Each packet takes two writes: pass a buffered output.
#[derive(Debug)]
pub struct PcapWriter<W> {
    output: W,
    frame: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Creates a writer and writes the header of the file.
    ///
    /// # Errors
    /// [`PcapWriteError::Io`] if the output fails.
    pub fn new(mut output: W) -> Result<Self, PcapWriteError> {
        let version: u32 = 2 | 4 << 16;
        let fields = [MAGIC_NANOSECONDS, version, 0, 0, SNAPSHOT_BYTES, LINK_TYPE_ETHERNET.into()];
        write_fields(&mut output, &fields).map_err(PcapWriteError::Io)?;
        Ok(Self { output, frame: Vec::new() })
    }

    /// Writes one datagram with `payload`, sent at `timestamp_ns` nanoseconds since 1970.
    ///
    /// # Errors
    /// - [`PcapWriteError::PayloadTooLong`] from 65,508 bytes on.
    /// - [`PcapWriteError::Timestamp`] for a time that pcap cannot store.
    /// - [`PcapWriteError::Io`] if the output fails.
    pub fn write_datagram(
        &mut self,
        timestamp_ns: u64,
        source: SocketAddrV4,
        destination: SocketAddrV4,
        payload: &[u8],
    ) -> Result<(), PcapWriteError> {
        let seconds = u32::try_from(timestamp_ns / NANOSECONDS_PER_SECOND)
            .map_err(|_| PcapWriteError::Timestamp { timestamp_ns })?;
        let nanoseconds = (timestamp_ns % NANOSECONDS_PER_SECOND) as u32;
        self.frame.clear();
        append_frame(&mut self.frame, source, destination, payload)?;
        let len = self.frame.len() as u32;
        write_fields(&mut self.output, &[seconds, nanoseconds, len, len])
            .and_then(|()| self.output.write_all(&self.frame))
            .map_err(PcapWriteError::Io)
    }

    /// Returns the output without flushing it.
    pub fn into_inner(self) -> W {
        self.output
    }
}

fn write_fields(output: &mut impl Write, fields: &[u32]) -> io::Result<()> {
    fields.iter().try_for_each(|field| output.write_all(&field.to_le_bytes()))
}
