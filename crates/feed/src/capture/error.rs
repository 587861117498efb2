//! Why a capture could not be read.

use std::error::Error;
use std::fmt;
use std::io;

use super::format::AmbiguousFormat;

/// The part of a capture file that was being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The header of a pcap file, or of a section of a pcapng file.
    FileHeader,
    /// The length in front of a packet, or the header of a pcap record or a pcapng block.
    RecordHeader,
    /// The bytes of a packet.
    Packet,
    /// The other parts of a pcapng block.
    Block,
}

impl fmt::Display for Part {
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
    /// The byte-order magic of a section header is neither of the two.
    ByteOrder,
    /// The length at the end is not the length at the start.
    LengthsDiffer,
    /// The length is not a multiple of 4, or too short for what the block must hold.
    Length,
    /// A packet longer than the block around it.
    PacketLength,
    /// A packet of an interface that no block described.
    Interface,
    /// More interfaces than the limit allows.
    InterfacesTooMany,
    /// An interface description longer than 64 KiB.
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

/// Why a capture could not be read on. Offsets count bytes of the file after decompression.
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
    /// More content than the caller is ready to hold, in [`read_whole`](super::CaptureReader::read_whole).
    ContentTooLong {
        /// The limit, in bytes.
        len_max: usize,
    },
    /// The first bytes fit more than one format, or none well enough.
    FormatAmbiguous(AmbiguousFormat),
    /// A pcap file of a link type that is unknown.
    LinkType {
        /// The number of the link type.
        link_type: u32,
    },
    /// The file is to be pcap, and does not start as pcap or pcapng does.
    NotPcap {
        /// Its first bytes.
        magic: [u8; 4],
    },
    /// A packet longer than the limit.
    PacketTooLong {
        /// File offset of the packet's length.
        offset: u64,
        /// Its length in bytes, as the file says.
        len: u64,
        /// The limit in bytes.
        len_max: u64,
    },
    /// The input could not be read or decompressed.
    Read {
        /// How far it was read.
        offset: u64,
        /// Error of the input.
        source: io::Error,
    },
    /// The file ends in the middle.
    Truncated {
        /// Part in which the file ends.
        part: Part,
        /// File offset of that part.
        offset: u64,
        /// Its length in bytes.
        wanted: u64,
        /// The bytes of it that are there.
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
                 the file has another format or byte order, or the limit must be raised"
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
