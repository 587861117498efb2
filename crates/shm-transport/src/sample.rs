//! A sample in a channel: a header of 8 bytes, then the encoded sample.
//!
//! | bits | content, little-endian |
//! |---|---|
//! | 0 to 62 | time of writing, nanoseconds since the Unix epoch; 0 if unknown |
//! | 63 | 0: a sample; 1: its instance has ended, and only the key follows |
//!
//! With the slot's header of 24 bytes, samples of up to 32 bytes, such as quotes, take one cache line.

use std::time::{SystemTime, UNIX_EPOCH};
use tickwire_distribution::types::{Member, MemberType, StructType};

/// Length of the header in bytes.
pub const HEAD_BYTES: usize = 8;
/// Bit of the header that says that the instance has ended.
const END: u64 = 1 << 63;

/// Appends the header and the sample to `out`, after clearing it. A time before 1970 is stated as unknown.
pub fn encode(out: &mut Vec<u8>, source_timestamp_ns: Option<i64>, is_end: bool, bytes: &[u8]) {
    let time = source_timestamp_ns.unwrap_or_else(now_ns).max(0).cast_unsigned();
    out.clear();
    out.extend_from_slice(&(time | if is_end { END } else { 0 }).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Returns the time of writing, whether the instance has ended, and the sample's bytes; `None` if no writer writes such
/// bytes.
pub fn decode(bytes: &[u8]) -> Option<(i64, bool, &[u8])> {
    let (head, sample) = bytes.split_first_chunk()?;
    let head = u64::from_le_bytes(*head);
    Some(((head & !END).cast_signed(), head & END != 0, sample))
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Limit of the length of a type's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleShape {
    /// Only its type: no sample is longer than this many bytes.
    Fixed(usize),
    /// The length of its strings.
    Text,
    /// The number of elements of its sequences.
    Sequences,
}

impl SampleShape {
    pub fn of(of: &StructType) -> Self {
        of.members.iter().fold(Self::Fixed(0), Self::then)
    }

    /// Returns the shape of a structure that continues with this member.
    ///
    /// The length is that in XCDR1 with all optional members. A member that is absent, or aligned to four bytes instead
    /// of eight as in XCDR2, can only make later members begin earlier.
    fn then(self, member: &Member) -> Self {
        let flag = usize::from(member.is_optional);
        let size = match (&member.of, self) {
            (MemberType::Struct(of), Self::Fixed(end)) => {
                return of.members.iter().fold(Self::Fixed(end + flag), Self::then);
            }
            (MemberType::Struct(of), shape) => return of.members.iter().fold(shape, Self::then),
            (MemberType::Bytes | MemberType::Sequence(_), _) => return Self::Sequences,
            (MemberType::Str, Self::Fixed(_)) => return Self::Text,
            (MemberType::Bool | MemberType::Char | MemberType::U8, _) => 1,
            (MemberType::U16, _) => 2,
            (MemberType::I32 | MemberType::U32, _) => 4,
            (MemberType::F64 | MemberType::I64 | MemberType::U64 | MemberType::Str, _) => 8,
        };
        match self {
            Self::Fixed(end) => Self::Fixed((end + flag).next_multiple_of(size) + size),
            longer => longer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_distribution::cdr::CdrEncoding;
    use tickwire_distribution::{BookTop, EchoMark, MarketData, Quote, SampleFields};

    #[test]
    fn the_header_has_time_and_end() {
        let mut bytes = Vec::new();
        for (time, is_end) in [(1_795_725_934_994_532_328, false), (0, true)] {
            encode(&mut bytes, Some(time), is_end, b"sample");
            assert_eq!(decode(&bytes), Some((time, is_end, &b"sample"[..])));
        }
        encode(&mut bytes, Some(-1), false, b"");
        assert_eq!(decode(&bytes), Some((0, false, &b""[..])));
        assert_eq!(decode(&bytes[..7]), None);
    }

    #[test]
    fn fixed_types_have_the_length_of_their_longest_sample() {
        assert_eq!(SampleShape::of(Quote::struct_type()), SampleShape::Fixed(29));
        assert_eq!(
            SampleShape::of(EchoMark::struct_type()),
            SampleShape::Fixed(24),
            "with headers, 56 bytes"
        );
        assert_eq!(SampleShape::of(BookTop::struct_type()), SampleShape::Text);
        assert_eq!(SampleShape::of(MarketData::struct_type()), SampleShape::Sequences);
    }

    #[test]
    fn flags_and_alignment_count() {
        let member =
            |of, is_optional| Member { name: String::new(), of, is_key: false, is_optional };
        let of = |members: &[(MemberType, bool)]| {
            let members = members.iter().map(|(of, is_optional)| member(of.clone(), *is_optional));
            let members = members.collect();
            SampleShape::of(&StructType {
                name: "T".to_owned(),
                members,
                encoding: CdrEncoding::Xcdr2,
            })
        };
        assert_eq!(
            of(&[(MemberType::U64, true)]),
            SampleShape::Fixed(16),
            "flag, seven bytes, value"
        );
        assert_eq!(of(&[(MemberType::U8, false), (MemberType::U16, true)]), SampleShape::Fixed(4));
        assert_eq!(of(&[(MemberType::Str, false), (MemberType::U64, false)]), SampleShape::Text);
        assert_eq!(
            of(&[(MemberType::Str, false), (MemberType::Bytes, false)]),
            SampleShape::Sequences
        );
    }
}
