//! STEP: FIXT messages that carry blocks of FAST bytes.

use std::ops::Range;

use super::error::{FramingError, FramingErrorKind};

const SOH: u8 = 0x01;
const BEGIN_STRING: u32 = 8;
const MSG_SEQ_NUM: u32 = 34;
const RAW_DATA_LENGTH: u32 = 95;
const RAW_DATA: u32 = 96;

/// First bytes of a FIXT message.
pub(super) const FIXT_START: &[u8] = b"8=FIX";

/// Digits of the longest tag.
const TAG_DIGITS_MAX: usize = 9;
/// Longest value of a field other than RawData.
const VALUE_BYTES_MAX: usize = 4096;

/// A block of FAST bytes in a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PacketBlock {
    pub(super) range: Range<usize>,
    /// MsgSeqNum (34) of the FIXT message around it.
    pub(super) seq_num: Option<u64>,
}

/// Returns true if `packet` starts with a FIXT message, not with a bare block.
pub(super) fn is_fixt(packet: &[u8]) -> bool {
    packet.starts_with(FIXT_START)
}

/// Reads the fields of FIXT messages one by one.
#[derive(Debug, Default)]
pub(super) struct FieldWalk {
    /// Offset of the next field.
    pub(super) offset: usize,
    seq_num: Option<u64>,
    raw_data_bytes: Option<usize>,
}

impl FieldWalk {
    /// Starts at `offset`, before a message.
    pub(super) fn starting_at(offset: usize) -> Self {
        Self { offset, ..Self::default() }
    }

    /// Reads one field of `bytes` and returns the block if it is RawData.
    ///
    /// After [`FramingErrorKind::FixtTruncated`] nothing has changed: the field can be read again
    /// once more bytes have arrived.
    pub(super) fn read_field(
        &mut self,
        bytes: &[u8],
    ) -> Result<Option<PacketBlock>, FramingErrorKind> {
        let (tag, value_offset) = self.read_tag(bytes)?;
        if tag == RAW_DATA {
            return self.read_raw_data(bytes, value_offset).map(Some);
        }
        let rest = bytes.get(value_offset..).unwrap_or_default();
        let rest = rest.get(..=VALUE_BYTES_MAX).unwrap_or(rest);
        let Some(len) = rest.iter().position(|&byte| byte == SOH) else {
            let too_long = rest.len() > VALUE_BYTES_MAX;
            return Err(match too_long {
                true => FramingErrorKind::FixtSyntax,
                false => FramingErrorKind::FixtTruncated,
            });
        };
        let value = rest.get(..len).unwrap_or_default();
        self.offset = value_offset + len + 1;
        match tag {
            BEGIN_STRING => (self.seq_num, self.raw_data_bytes) = (None, None),
            MSG_SEQ_NUM => self.seq_num = parse_number(value),
            RAW_DATA_LENGTH => {
                let len = parse_number(value).and_then(|len| usize::try_from(len).ok());
                self.raw_data_bytes = Some(len.ok_or(FramingErrorKind::RawDataLength)?);
            }
            _ => {}
        }
        Ok(None)
    }

    /// Returns the tag of the field and the offset of its value.
    fn read_tag(&self, bytes: &[u8]) -> Result<(u32, usize), FramingErrorKind> {
        let rest = bytes.get(self.offset..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > TAG_DIGITS_MAX {
            return Err(FramingErrorKind::FixtSyntax);
        }
        match rest.get(digits) {
            None => return Err(FramingErrorKind::FixtTruncated),
            Some(b'=') if digits > 0 => {}
            Some(_) => return Err(FramingErrorKind::FixtSyntax),
        }
        let tag = rest.get(..digits).and_then(parse_number);
        let tag =
            tag.and_then(|tag| u32::try_from(tag).ok()).ok_or(FramingErrorKind::FixtSyntax)?;
        Ok((tag, self.offset + digits + 1))
    }

    fn read_raw_data(
        &mut self,
        bytes: &[u8],
        start: usize,
    ) -> Result<PacketBlock, FramingErrorKind> {
        let len = self.raw_data_bytes.ok_or(FramingErrorKind::RawDataLength)?;
        let end = start.checked_add(len).ok_or(FramingErrorKind::FixtTruncated)?;
        match bytes.get(end) {
            None => Err(FramingErrorKind::FixtTruncated),
            Some(&SOH) => {
                self.raw_data_bytes = None;
                self.offset = end + 1;
                Ok(PacketBlock { range: start..end, seq_num: self.seq_num })
            }
            Some(_) => Err(FramingErrorKind::RawDataLength),
        }
    }
}

/// The blocks in the FIXT messages of a packet, in order. It ends after the first error.
pub(super) struct Blocks<'a> {
    packet: &'a [u8],
    walk: FieldWalk,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(packet: &'a [u8]) -> Self {
        Self { packet, walk: FieldWalk::default() }
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<PacketBlock, FramingError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.walk.offset < self.packet.len() {
            let offset = self.walk.offset;
            match self.walk.read_field(self.packet) {
                Ok(None) => {}
                Ok(Some(block)) => return Some(Ok(block)),
                Err(kind) => {
                    self.walk.offset = self.packet.len();
                    return Some(Err(FramingError { offset, kind }));
                }
            }
        }
        None
    }
}

fn parse_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(text: &str) -> Vec<u8> {
        text.replace('|', "\x01").into_bytes()
    }

    /// A block's text and sequence number, or an error with its offset.
    type Found = Result<(String, Option<u64>), (usize, FramingErrorKind)>;

    fn blocks(text: &str) -> Vec<Found> {
        let packet = packet(text);
        let text = |range: Range<usize>| String::from_utf8(packet[range].to_vec()).unwrap();
        Blocks::new(&packet)
            .map(|block| match block {
                Ok(block) => Ok((text(block.range), block.seq_num)),
                Err(error) => Err((error.offset, error.kind)),
            })
            .collect()
    }

    #[test]
    fn blocks_are_found_in_several_messages() {
        let found = blocks(
            "8=FIXT.1.1|9=50|35=UA|34=7|95=4|96=ab|c|10=000|8=FIXT.1.1|35=0|10=1|8=FIXT|95=1|96=d|10=0|",
        );
        assert_eq!(found, [Ok(("ab\x01c".into(), Some(7))), Ok(("d".into(), None))]);
    }

    #[test]
    fn a_message_without_raw_data_has_no_block() {
        assert_eq!(blocks("8=FIXT.1.1|35=0|10=000|"), []);
    }

    #[test]
    fn raw_data_must_be_as_long_as_said() {
        let length = FramingErrorKind::RawDataLength;
        assert_eq!(blocks("8=FIX|96=ab|"), [Err((6, length))]);
        assert_eq!(blocks("8=FIX|95=1|96=ab|"), [Err((11, length))]);
        assert_eq!(blocks("8=FIX|95=x|96=ab|"), [Err((6, length))]);
        assert_eq!(blocks("8=FIX|95=9|96=ab|"), [Err((11, FramingErrorKind::FixtTruncated))]);
        let endless = "8=FIX|95=18446744073709551615|96=ab|";
        assert_eq!(blocks(endless), [Err((30, FramingErrorKind::FixtTruncated))]);
    }

    #[test]
    fn what_is_no_field_is_told_with_its_offset() {
        assert_eq!(blocks("8=FIX|hello|"), [Err((6, FramingErrorKind::FixtSyntax))]);
        assert_eq!(blocks("8=FIX|=1|"), [Err((6, FramingErrorKind::FixtSyntax))]);
        assert_eq!(blocks("8=FIX|35=0"), [Err((6, FramingErrorKind::FixtTruncated))]);
        assert_eq!(blocks("8=FIX|1234567890=0|"), [Err((6, FramingErrorKind::FixtSyntax))]);
    }
}
