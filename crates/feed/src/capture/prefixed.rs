//! Length-prefixed files: a 32-bit length before each packet.

use std::error::Error;
use std::fmt;
use std::io::{self, Read, Write};

use super::error::{CaptureError, CapturePart};
use super::options::CaptureLimits;
use super::source::CaptureInput;
use crate::endian::Endian;

/// Reads the next packet into `data` and returns its offset in the file, or `None` at the end.
pub(super) fn next_packet<R: Read>(
    source: &mut CaptureInput<R>,
    endian: Endian,
    limits: &CaptureLimits,
    data: &mut Vec<u8>,
) -> Result<Option<u64>, CaptureError> {
    let offset = source.position();
    let Some(header) = source.header(CapturePart::RecordHeader)? else { return Ok(None) };
    let len = endian.u32(header) as usize;
    if len > limits.packet_bytes_max {
        let len_max = limits.packet_bytes_max as u64;
        return Err(CaptureError::PacketTooLong { offset, len: len as u64, len_max });
    }
    let offset = source.position();
    source.read(CapturePart::Packet, data, len)?;
    Ok(Some(offset))
}

/// Reason why a packet was not written to a length-prefixed file.
#[derive(Debug)]
#[non_exhaustive]
pub enum PrefixedWriteError {
    /// The output failed.
    Io(io::Error),
    /// The packet's length does not fit 32 bits.
    PacketTooLong {
        /// Its length in bytes.
        len: usize,
    },
}

impl fmt::Display for PrefixedWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the packet cannot be written: {error}"),
            Self::PacketTooLong { len } => {
                write!(f, "a packet of {len} bytes does not fit a 32-bit length")
            }
        }
    }
}

impl Error for PrefixedWriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::PacketTooLong { .. } => None,
        }
    }
}

/// Writes packets, each after its length as a 32-bit number.
///
/// Each packet takes two writes: pass a buffered output.
#[derive(Debug)]
pub struct PrefixedWriter<W> {
    output: W,
    endian: Endian,
}

impl<W: Write> PrefixedWriter<W> {
    /// Creates a writer whose lengths have the byte order `endian`.
    pub const fn new(output: W, endian: Endian) -> Self {
        Self { output, endian }
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// - [`PrefixedWriteError::Io`] if the output fails.
    /// - [`PrefixedWriteError::PacketTooLong`] from 4 GiB on.
    pub fn write_packet(&mut self, packet: &[u8]) -> Result<(), PrefixedWriteError> {
        let len = u32::try_from(packet.len())
            .map_err(|_| PrefixedWriteError::PacketTooLong { len: packet.len() })?;
        self.output.write_all(&self.endian.u32_bytes(len)).map_err(PrefixedWriteError::Io)?;
        self.output.write_all(packet).map_err(PrefixedWriteError::Io)
    }

    /// Returns the output without flushing it.
    pub fn into_inner(self) -> W {
        self.output
    }
}
