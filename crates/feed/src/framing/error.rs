//! Errors of splitting a packet.

use std::error::Error;
use std::fmt;

/// Error in the framing of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingErrorKind {
    /// The block length before a message is wider than 64 bits.
    BlockLengthOverflow,
    /// The block length before a message is above the limit.
    BlockLengthTooLong {
        /// The length as sent.
        len: u64,
        /// The limit in bytes.
        len_max: usize,
    },
    /// D12: the block length before a message is zero.
    BlockLengthZero,
    /// The number of a chunk is 0 or above the count of chunks.
    ChunkNumber {
        /// The number as sent.
        number: u64,
        /// The number of chunks as sent.
        count: u64,
    },
    /// A chunk arrived, but its predecessor did not.
    ChunkUnexpected {
        /// Its number, from 1.
        number: u64,
        /// Number of chunks of its message.
        count: u64,
    },
    /// A message was abandoned because another began before all of its chunks arrived.
    ChunksMissing {
        /// Number of chunks that had arrived.
        arrived: u64,
        /// Number of chunks of the message.
        count: u64,
    },
    /// A FIXT field does not consist of a tag, `=`, a value and a separator.
    FixtSyntax,
    /// The packet ends inside a FIXT field.
    FixtTruncated,
    /// The length in the preamble differs from the number of bytes.
    Length {
        /// The length as sent.
        len: u64,
        /// The actual number of bytes.
        found: usize,
    },
    /// A message header does not end within the limit.
    MessageHeaderTooLong {
        /// The limit in bytes.
        len_max: usize,
    },
    /// A message of several chunks is longer than the limit.
    MessageTooLong {
        /// The limit in bytes.
        len_max: usize,
    },
    /// Nothing follows the preamble.
    NoMessage,
    /// The preamble of a packet in a stream gives a length above the limit.
    PacketTooLong {
        /// The length as sent.
        len: u64,
        /// The limit in bytes.
        len_max: usize,
    },
    /// The packet is shorter than its preamble.
    PreambleTruncated {
        /// Length of the preamble.
        wanted: usize,
        /// Length of the packet.
        found: usize,
    },
    /// RawData (96) has no RawDataLength (95) before it, or another length.
    RawDataLength,
}

/// The reason and position at which a packet, or the rest of it, was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingError {
    /// Offset in the packet.
    pub offset: usize,
    /// The error.
    pub kind: FramingErrorKind,
}

const _: () = assert!(size_of::<FramingError>() <= 32, "errors travel by value");

impl FramingError {
    /// Returns the code of FAST 1.1 Appendix 4, if the standard has one for it.
    pub const fn code(&self) -> Option<&'static str> {
        match self.kind {
            FramingErrorKind::BlockLengthZero => Some("D12"),
            _ => None,
        }
    }
}

impl FramingErrorKind {
    /// True if chunks of a message are missing or out of order, so that chunks of the other line
    /// may complete it.
    pub const fn is_of_chunks(&self) -> bool {
        matches!(self, Self::ChunkUnexpected { .. } | Self::ChunksMissing { .. })
    }
}

impl fmt::Display for FramingErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BlockLengthOverflow => f.write_str("the block length is wider than 64 bits"),
            Self::BlockLengthTooLong { len, len_max } => {
                write!(f, "the block length {len} is above the limit of {len_max} bytes")
            }
            Self::BlockLengthZero => f.write_str("the block length is zero (D12)"),
            Self::ChunkNumber { number, count } => {
                write!(f, "chunk {number} of {count}: numbers go from 1 to the count")
            }
            Self::ChunkUnexpected { number, count } => {
                write!(f, "chunk {number} of {count} arrived without the previous one")
            }
            Self::ChunksMissing { arrived, count } => {
                write!(f, "a message is lost: {arrived} of its {count} chunks arrived")
            }
            Self::FixtSyntax => f.write_str("not a FIXT field: tag, '=', value, SOH expected"),
            Self::FixtTruncated => f.write_str("the packet ends inside this FIXT field"),
            Self::Length { len, found } => {
                write!(f, "the preamble announces {len} bytes, found {found}")
            }
            Self::MessageHeaderTooLong { len_max } => {
                write!(f, "the message header does not end within {len_max} bytes")
            }
            Self::NoMessage => f.write_str("the packet ends after its preamble"),
            Self::PacketTooLong { len, len_max } => write!(
                f,
                "a packet of {len} bytes in a stream exceeds the limit of {len_max}; the position of the next packet is unknown"
            ),
            Self::MessageTooLong { len_max } => {
                write!(f, "the chunks of the message exceed the limit of {len_max} bytes")
            }
            Self::PreambleTruncated { wanted, found } => {
                write!(f, "expected a preamble of {wanted} bytes, found {found}")
            }
            Self::RawDataLength => {
                f.write_str("RawData (96) needs its length in RawDataLength (95) before it")
            }
        }
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {}", self.offset, self.kind)
    }
}

impl Error for FramingError {}
