//! A sample in a channel: a header of 16 bytes, then the encoded sample.
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 7 | time of writing, nanoseconds since the Unix epoch, little-endian |
//! | 8 | 0: a sample; 1: its instance has ended, and only the key follows |
//! | 9 to 15 | 0 |

use std::time::{SystemTime, UNIX_EPOCH};
use tickwire_distribution::types::{MemberType, StructType};

/// Length of the header in bytes.
pub const HEAD_BYTES: usize = 16;

/// Appends the header and the sample to `out`, after clearing it.
pub fn encode(out: &mut Vec<u8>, source_timestamp_ns: Option<i64>, is_end: bool, bytes: &[u8]) {
    out.clear();
    out.extend_from_slice(&source_timestamp_ns.unwrap_or_else(now_ns).to_le_bytes());
    out.extend_from_slice(&u64::from(is_end).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Returns the time of writing, whether the instance has ended, and the sample's bytes; `None` if no writer writes such
/// bytes.
pub fn decode(bytes: &[u8]) -> Option<(i64, bool, &[u8])> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (kind, sample) = rest.split_first_chunk()?;
    let is_end = match u64::from_le_bytes(*kind) {
        0 => false,
        1 => true,
        _ => return None,
    };
    Some((i64::from_le_bytes(*time), is_end, sample))
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Limit of the length of a type's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The type alone: no sample is longer than this many bytes.
    Fixed(usize),
    /// The length of its strings.
    Text,
    /// The number of elements of its sequences.
    Sequences,
}

impl Shape {
    pub fn of(of: &StructType) -> Self {
        of.members.iter().fold(Self::Fixed(0), |shape, each| shape.and(Self::of_member(&each.of)))
    }

    fn of_member(of: &MemberType) -> Self {
        match of {
            MemberType::Struct(of) => Self::of(of),
            MemberType::Bytes | MemberType::Sequence(_) => Self::Sequences,
            MemberType::Str => Self::Text,
            // A value of at most 8 bytes, up to 7 of alignment, and a flag if it is optional.
            _ => Self::Fixed(16),
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sequences, _) | (_, Self::Sequences) => Self::Sequences,
            (Self::Text, _) | (_, Self::Text) => Self::Text,
            (Self::Fixed(one), Self::Fixed(other)) => Self::Fixed(one + other),
        }
    }
}
