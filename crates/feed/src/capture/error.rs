//! Errors of reading captures.

use std::error::Error;
use std::fmt;
use std::io;

use super::format::AmbiguousFormat;

/// The part of a capture file that was being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePart {
    /// The header of a pcap file, or of a section of a pcapng file.
    FileHeader,
    /// The length in front of a packet, or the header of a pcap record or a pcapng block.
    RecordHeader,
    /// The bytes of a packet.
    Packet,
    /// The other parts of a pcapng block.
    Block,
}

impl fmt::Display for CapturePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileHeader => "file header",
            Self::RecordHeader => "header of a record",
            Self::Packet => "packet",
            Self::Block => "pcapng block",
        })
    }
}

/// Error in a pcapng block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockFault {
    /// The byte-order magic of a section header has neither of the two valid values.
    ByteOrder,
    /// The length at the end is not the length at the start.
    LengthsDiffer,
    /// The length is not a multiple of 4, or too short for the block's mandatory content.
    Length,
    /// A packet is longer than the block around it.
    PacketLength,
    /// A packet belongs to an interface that no block described.
    Interface,
    /// There are more interfaces than the limit allows.
    InterfacesTooMany,
    /// An interface description is longer than 64 KiB.
    InterfaceTooLong,
}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByteOrder => "its byte-order magic is not 1A2B3C4D in either order",
            Self::LengthsDiffer => "the length at its end differs from the one at its start",
            Self::Length => "its length is not a multiple of 4, or too short for its type",
            Self::PacketLength => "its packet is longer than the block",
            Self::Interface => "its packet belongs to an undescribed interface",
            Self::InterfacesTooMany => "it exceeds the limit of interfaces",
            Self::InterfaceTooLong => "it is an interface description longer than 64 KiB",
        })
    }
}

/// Error of reading a capture. Offsets count bytes of the file after decompression.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// A pcapng block contradicts itself.
    Block {
        /// File offset of the block.
        offset: u64,
        /// The error.
        fault: BlockFault,
    },
    /// The content is longer than the caller's limit, in
    /// [`read_whole`](super::CaptureReader::read_whole).
    ContentTooLong {
        /// The limit, in bytes.
        len_max: usize,
    },
    /// The first bytes fit several formats, or none well enough.
    FormatAmbiguous(AmbiguousFormat),
    /// A pcap file has an unknown link type.
    LinkType {
        /// The number of the link type.
        link_type: u32,
    },
    /// The file was declared as pcap, but does not begin like pcap or pcapng.
    NotPcap {
        /// Its first bytes.
        magic: [u8; 4],
    },
    /// A packet is longer than the limit.
    PacketTooLong {
        /// File offset of the packet's length.
        offset: u64,
        /// Its length in bytes, as stated in the file.
        len: u64,
        /// The limit in bytes.
        len_max: u64,
    },
    /// The input could not be read or decompressed.
    Read {
        /// Offset at which reading failed.
        offset: u64,
        /// Error of the input.
        source: io::Error,
    },
    /// The file ends inside a part.
    Truncated {
        /// Part in which the file ends.
        part: CapturePart,
        /// File offset of that part.
        offset: u64,
        /// Its length in bytes.
        wanted: u64,
        /// Bytes of it in the file.
        found: u64,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { offset, fault } => write!(f, "pcapng block at offset {offset}: {fault}"),
            Self::ContentTooLong { len_max } => write!(
                f,
                "the content is longer than {len_max} bytes: read it in pieces, or raise the limit"
            ),
            Self::FormatAmbiguous(ambiguous) => ambiguous.fmt(f),
            Self::LinkType { link_type } => write!(
                f,
                "link type {link_type} is not supported: Ethernet, Linux cooked, raw IP and \
                 loopback captures are"
            ),
            Self::NotPcap { magic: [a, b, c, d] } => write!(
                f,
                "not a pcap or pcapng file: it starts with {a:02X} {b:02X} {c:02X} {d:02X}; name \
                 its format"
            ),
            Self::PacketTooLong { offset, len, len_max } => write!(
                f,
                "offset {offset}: a packet of {len} bytes is longer than the limit of {len_max}: \
                 this length is damaged, or the file has another format or byte order"
            ),
            Self::Read { offset, source } => {
                write!(f, "the input cannot be read after {offset} bytes: {source}")
            }
            Self::Truncated { part, offset, wanted, found } => write!(
                f,
                "the file ends inside the {part} at offset {offset}: {wanted} bytes wanted, \
                 {found} found"
            ),
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
