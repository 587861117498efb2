//! The packet around the messages: start byte, header, lengths, end byte; and its warnings.

use crate::error::OpraErrorKind::{self, *};
use crate::{OpraError, OpraVersion};
use std::fmt;

/// First byte of a packet.
pub(crate) const SOH: u8 = 0x01;
/// Last byte of a packet.
pub(crate) const ETX: u8 = 0x03;
/// Second byte of a packet of version 2.0.
pub(crate) const VERSION_2: u8 = 0x02;
/// Bytes before the first message in version 2.0.
pub(crate) const HEADER_BYTES_V2: usize = 15;
/// Length byte of a message that extends to the end of the packet.
pub(crate) const LENGTH_TO_END: u8 = 0xFF;

/// The longest packet in bytes that a decoder accepts: the limit of a UDP datagram.
pub const PACKET_BYTES_MAX: usize = 65_535;

/// The header of a packet of version 2.0, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpraHeader {
    /// Sequence number of the first message: ten decimal digits.
    pub seq_num_digits: [u8; 10],
    /// Number of messages: three decimal digits.
    pub count_digits: [u8; 3],
}

impl OpraHeader {
    /// Returns the sequence number, or `None` if it is not decimal.
    pub fn seq_num(&self) -> Option<u64> {
        decimal(&self.seq_num_digits)
    }

    /// Returns the number of messages, or `None` if it is not decimal.
    pub fn count(&self) -> Option<u32> {
        decimal(&self.count_digits).and_then(|count| u32::try_from(count).ok())
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value: u64, digit| {
        digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0'))
    })
}

/// An inconsistency in a packet that affects no decoded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The header's sequence number differs from that of the first message.
    SeqNum {
        /// The header's number; `None` if it is not decimal.
        header: Option<u64>,
        /// The first message's number.
        message: u64,
    },
    /// The header's count differs from the number of messages.
    Count {
        /// The header's number; `None` if it is not decimal.
        header: Option<u32>,
        /// The number of messages found.
        messages: u32,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |header: Option<u64>| match header {
            Some(number) => number.to_string(),
            None => "not decimal".to_owned(),
        };
        match *self {
            Self::SeqNum { header, message } => {
                let header = number(header);
                write!(
                    f,
                    "sequence number of the header is {header}, of the first message {message}"
                )
            }
            Self::Count { header, messages } => {
                let header = number(header.map(u64::from));
                write!(f, "message count of the header is {header}, but {messages} were found")
            }
        }
    }
}

/// The summary of a decoded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpraSummary {
    /// The packet's version.
    pub version: OpraVersion,
    /// The header; version 1.03 has none.
    pub header: Option<OpraHeader>,
    /// The number of decoded messages.
    pub messages: u32,
    /// The sequence number of the first message; `None` if there is no message or the first one is
    /// a default message.
    pub first_seq_num: Option<u64>,
}

impl OpraSummary {
    /// Returns the packet's warnings: the sequence number first, then the count.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        let seq_num = self.header.zip(self.first_seq_num).and_then(|(header, message)| {
            let header = header.seq_num();
            (header != Some(message)).then_some(Warning::SeqNum { header, message })
        });
        let count = self.header.and_then(|header| {
            let header = header.count();
            let messages = self.messages;
            (header != Some(messages)).then_some(Warning::Count { header, messages })
        });
        seq_num.into_iter().chain(count)
    }
}

/// Decodes the bytes before the first message.
///
/// Returns version, header and the offset of the first length byte.
#[inline]
pub(crate) fn open(packet: &[u8]) -> Result<(OpraVersion, Option<OpraHeader>, usize), OpraError> {
    let fail = |kind: OpraErrorKind, offset| Err(OpraError::new(kind, None, 0, offset));
    if packet.len() > PACKET_BYTES_MAX {
        return fail(PacketTooLong, PACKET_BYTES_MAX);
    }
    match packet {
        [] | [SOH] => fail(EndOfInput, packet.len()),
        [SOH, VERSION_2, rest @ ..] => {
            let Some((seq_num_digits, rest)) = rest.split_first_chunk::<10>() else {
                return fail(EndOfInput, packet.len());
            };
            match rest {
                // One byte more than the count, because a packet also has an end byte.
                [a, b, c, _, ..] => {
                    let count_digits = [*a, *b, *c];
                    let header = OpraHeader { seq_num_digits: *seq_num_digits, count_digits };
                    Ok((OpraVersion::V2, Some(header), HEADER_BYTES_V2))
                }
                _ => fail(EndOfInput, packet.len()),
            }
        }
        [SOH, ..] => Ok((OpraVersion::V1, None, 1)),
        _ => fail(StartByte, 0),
    }
}

/// Returns a packet's version and, for version 2.0, its header; `None` if the packet does not begin
/// with a valid start.
pub fn peek(packet: &[u8]) -> Option<(OpraVersion, Option<OpraHeader>)> {
    open(packet).ok().map(|(version, header, _)| (version, header))
}

/// The position of a message in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketFrame {
    /// Index of the message in the packet.
    pub index: usize,
    /// Offset of the first byte of its presence map.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
}

/// Finds the message whose length byte is at `offset`; `None` at the end of the packet.
#[inline]
pub(crate) fn frame(
    packet: &[u8],
    offset: usize,
    index: usize,
) -> Result<Option<PacketFrame>, OpraError> {
    let last = packet.len() - 1;
    if offset >= last {
        return match packet.get(last) {
            Some(&ETX) => Ok(None),
            _ => Err(OpraError::new(EndByte, None, index, last)),
        };
    }
    let start = offset + 1;
    let end = match packet[offset] {
        LENGTH_TO_END => last,
        len => start + usize::from(len),
    };
    if end > last {
        return Err(OpraError::new(EndOfInput, None, index, last));
    }
    Ok(Some(PacketFrame { index, start, end }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(
        seq_num: &[u8; 10],
        count: &[u8; 3],
        messages: u32,
        first: Option<u64>,
    ) -> OpraSummary {
        let header = OpraHeader { seq_num_digits: *seq_num, count_digits: *count };
        OpraSummary {
            version: OpraVersion::V2,
            header: Some(header),
            messages,
            first_seq_num: first,
        }
    }

    #[test]
    fn a_header_that_agrees_with_the_messages_gives_no_warning() {
        assert_eq!(summary(b"0000000007", b"002", 2, Some(7)).warnings().count(), 0);
        assert_eq!(summary(b"0000000015", b"001", 1, None).warnings().count(), 0);
    }

    #[test]
    fn mismatches_are_warnings_with_both_numbers() {
        let warnings: Vec<_> = summary(b"0000006115", b"0x1", 1, Some(61)).warnings().collect();
        let seq_num = Warning::SeqNum { header: Some(6115), message: 61 };
        assert_eq!(warnings, [seq_num, Warning::Count { header: None, messages: 1 }]);
    }

    #[test]
    fn a_packet_is_as_long_as_a_datagram_may_be_and_no_longer() {
        let mut packet = b"\x01\x020000000001000".to_vec();
        packet.resize(PACKET_BYTES_MAX, 3);
        assert_eq!(open(&packet).unwrap().2, HEADER_BYTES_V2);
        packet.push(3);
        assert_eq!(open(&packet).map(drop).unwrap_err().kind, PacketTooLong);
    }

    #[test]
    fn a_packet_that_ends_inside_its_header_is_refused() {
        let whole = b"\x01\x020000000001000\x03";
        for len in 0..whole.len() {
            assert_eq!(open(&whole[..len]).map(drop).unwrap_err().kind, EndOfInput, "{len}");
        }
        assert_eq!(open(whole).unwrap().2, HEADER_BYTES_V2);
        assert_eq!(open(b"\x02\x02").unwrap_err().kind, StartByte);
    }
}
