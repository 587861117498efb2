//! Headers that some feeds put before each message of a packet or stream.

use super::description::FramingConfigError;
use super::error::{FramingError, FramingErrorKind};
use crate::endian::Endian;

/// Longest header before a message, in bytes.
pub const HEADER_BYTES_MAX: usize = 1024;

/// Longest message that a block length may announce, in bytes.
pub const BLOCK_BYTES_MAX: usize = 16 << 20;

const STOP_BIT: u8 = 0x80;

/// The header before each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MessageHeader {
    /// Fields in FAST's stop-bit encoding. One is the block length: the bytes of the message.
    Encoded {
        /// Fields before the block length.
        prefix_fields: usize,
        /// Fields after the block length.
        suffix_fields: usize,
    },
    /// Bytes of fixed length, with a block length among them if it has a width.
    Fixed {
        /// Bytes before the block length.
        prefix_bytes: usize,
        /// Width of the block length in bytes, 0 to 8; 0 for no block length.
        length_bytes: usize,
        /// Byte order of the block length.
        endian: Endian,
        /// Bytes after the block length.
        suffix_bytes: usize,
    },
    /// Nothing.
    #[default]
    None,
}

/// Position of a message after its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBounds {
    /// Length of the header in bytes.
    pub header_bytes: usize,
    /// Length of the message after the header, if the header has it. The available bytes may be
    /// fewer: the rest is still to come, or was truncated.
    pub message_bytes: Option<usize>,
}

impl MessageHeader {
    /// Returns true if messages have no header.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(super) fn check(&self) -> Result<(), FramingConfigError> {
        let len = match *self {
            Self::None => 0,
            Self::Encoded { prefix_fields, suffix_fields } => {
                prefix_fields.saturating_add(suffix_fields).saturating_add(1)
            }
            Self::Fixed { prefix_bytes, length_bytes, suffix_bytes, .. } => {
                if length_bytes > size_of::<u64>() {
                    return Err(FramingConfigError::FieldWidth { width: length_bytes });
                }
                prefix_bytes.saturating_add(suffix_bytes).saturating_add(length_bytes)
            }
        };
        if len > HEADER_BYTES_MAX {
            return Err(FramingConfigError::HeaderTooLong { len });
        }
        Ok(())
    }
}

/// Reads the header of the message at `position` in `bytes`; `None` if the bytes end inside it.
///
/// Offsets in errors count from the start of `bytes`.
///
/// # Errors
/// - [`FramingErrorKind::BlockLengthZero`] (D12).
/// - [`FramingErrorKind::BlockLengthTooLong`] above [`BLOCK_BYTES_MAX`].
/// - [`FramingErrorKind::BlockLengthOverflow`] above 64 bits.
/// - [`FramingErrorKind::MessageHeaderTooLong`] if stop bits do not end the header within
///   [`HEADER_BYTES_MAX`].
///
/// # Examples
///
/// ```
/// use tickwire_feed::framing::{MessageBounds, MessageHeader, read_message_header};
///
/// let header = MessageHeader::Encoded { prefix_fields: 1, suffix_fields: 0 };
/// let bytes = [0x01, 0x80, 0x83, 0xC0, 0x81, 0x85];
/// let bounds = MessageBounds { header_bytes: 3, message_bytes: Some(3) };
/// assert_eq!(read_message_header(header, &bytes, 0)?, Some(bounds));
/// assert_eq!(read_message_header(header, &bytes[..2], 0)?, None);
/// # Ok::<(), tickwire_feed::framing::FramingError>(())
/// ```
///
/// Spec: FAST 1.1 Appendix 4, D12.
pub fn read_message_header(
    header: MessageHeader,
    bytes: &[u8],
    position: usize,
) -> Result<Option<MessageBounds>, FramingError> {
    let mut cursor =
        HeaderCursor { bytes: bytes.get(position..).unwrap_or_default(), position, read: 0 };
    let Some(len) = cursor.block_length(header)? else { return Ok(None) };
    let message_bytes = match len {
        None => None,
        Some((offset, len)) => Some(check_length(offset, len)?),
    };
    Ok(Some(MessageBounds { header_bytes: cursor.read, message_bytes }))
}

fn check_length(offset: usize, len: u64) -> Result<usize, FramingError> {
    let kind = match usize::try_from(len) {
        Ok(0) => FramingErrorKind::BlockLengthZero,
        Ok(len) if len <= BLOCK_BYTES_MAX => return Ok(len),
        _ => FramingErrorKind::BlockLengthTooLong { len, len_max: BLOCK_BYTES_MAX },
    };
    Err(FramingError { offset, kind })
}

/// A header, of which `read` bytes have been read.
struct HeaderCursor<'a> {
    bytes: &'a [u8],
    position: usize,
    read: usize,
}

/// A number and its offset.
type NumberAtOffset = (usize, u64);

impl HeaderCursor<'_> {
    /// Reads the whole header; returns its block length, if it has one. The outer `None` means that
    /// bytes are missing.
    fn block_length(
        &mut self,
        header: MessageHeader,
    ) -> Result<Option<Option<NumberAtOffset>>, FramingError> {
        match header {
            MessageHeader::None => Ok(Some(None)),
            MessageHeader::Fixed { prefix_bytes, length_bytes, endian, suffix_bytes } => {
                Ok(self.fixed(prefix_bytes, length_bytes, endian, suffix_bytes))
            }
            MessageHeader::Encoded { prefix_fields, suffix_fields } => {
                if !self.skip_fields(prefix_fields)? {
                    return Ok(None);
                }
                let offset = self.position + self.read;
                let Some(len) = self.number(offset)? else { return Ok(None) };
                let whole = self.skip_fields(suffix_fields)?;
                Ok(whole.then_some(Some((offset, len))))
            }
        }
    }

    fn fixed(
        &mut self,
        prefix_bytes: usize,
        length_bytes: usize,
        endian: Endian,
        suffix_bytes: usize,
    ) -> Option<Option<NumberAtOffset>> {
        let length = self.bytes.get(prefix_bytes..)?.get(..length_bytes)?;
        self.bytes.get(prefix_bytes + length_bytes..)?.get(..suffix_bytes)?;
        self.read = prefix_bytes + length_bytes + suffix_bytes;
        let offset = self.position + prefix_bytes;
        Some(endian.number(length).filter(|_| length_bytes > 0).map(|len| (offset, len)))
    }

    /// Reads a byte; `None` at the end.
    fn byte(&mut self) -> Result<Option<u8>, FramingError> {
        if self.read >= HEADER_BYTES_MAX {
            let kind = FramingErrorKind::MessageHeaderTooLong { len_max: HEADER_BYTES_MAX };
            return Err(FramingError { offset: self.position, kind });
        }
        let byte = self.bytes.get(self.read).copied();
        self.read += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Skips `count` stop-bit encoded fields; `false` if bytes are missing.
    fn skip_fields(&mut self, count: usize) -> Result<bool, FramingError> {
        let mut left = count;
        while left > 0 {
            let Some(byte) = self.byte()? else { return Ok(false) };
            left -= usize::from(byte & STOP_BIT != 0);
        }
        Ok(true)
    }

    /// Reads a stop-bit encoded number; `None` if bytes are missing.
    fn number(&mut self, offset: usize) -> Result<Option<u64>, FramingError> {
        let mut number = 0_u64;
        while let Some(byte) = self.byte()? {
            if number > u64::MAX >> 7 {
                return Err(FramingError { offset, kind: FramingErrorKind::BlockLengthOverflow });
            }
            number = number << 7 | u64::from(byte & !STOP_BIT);
            if byte & STOP_BIT != 0 {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: MessageHeader = MessageHeader::Encoded { prefix_fields: 0, suffix_fields: 0 };

    fn bounds(header_bytes: usize, message_bytes: Option<usize>) -> Option<MessageBounds> {
        Some(MessageBounds { header_bytes, message_bytes })
    }

    fn kind(header: MessageHeader, bytes: &[u8]) -> FramingErrorKind {
        read_message_header(header, bytes, 0).unwrap_err().kind
    }

    #[test]
    fn without_a_header_a_message_starts_at_once() {
        assert_eq!(read_message_header(MessageHeader::None, &[], 0), Ok(bounds(0, None)));
    }

    #[test]
    fn fixed_headers_with_and_without_a_length() {
        let fixed = |prefix_bytes, length_bytes, suffix_bytes| MessageHeader::Fixed {
            prefix_bytes,
            length_bytes,
            endian: Endian::Little,
            suffix_bytes,
        };
        let bytes = [9, 5, 1, 9, 9];
        assert_eq!(read_message_header(fixed(1, 2, 2), &bytes, 0), Ok(bounds(5, Some(0x0105))));
        assert_eq!(read_message_header(fixed(2, 0, 1), &bytes, 1), Ok(bounds(3, None)));
        assert_eq!(read_message_header(fixed(1, 2, 3), &bytes, 0), Ok(None));
        assert_eq!(read_message_header(fixed(1, 2, 0), &bytes, 9), Ok(None));
    }

    #[test]
    fn encoded_headers_count_fields_not_bytes() {
        let header = MessageHeader::Encoded { prefix_fields: 2, suffix_fields: 1 };
        let bytes = [0xFF, 0x01, 0x02, 0x83, 0x88, 0x84, 0x00, 0x81];
        assert_eq!(read_message_header(header, &bytes, 0), Ok(bounds(6, Some(8))));
        assert_eq!(read_message_header(header, &bytes[..5], 0), Ok(None));
    }

    #[test]
    fn a_length_of_several_bytes_has_its_high_bits_first() {
        assert_eq!(read_message_header(PLAIN, &[0x01, 0x80], 0), Ok(bounds(2, Some(128))));
    }

    #[test]
    fn zero_lengths_are_d12() {
        let error = read_message_header(PLAIN, &[0x55, 0x80], 1).unwrap_err();
        assert_eq!((error.offset, error.kind), (1, FramingErrorKind::BlockLengthZero));
        assert_eq!(error.code(), Some("D12"));
        assert_eq!(kind(PLAIN, &[0x00, 0x80]), FramingErrorKind::BlockLengthZero);
    }

    #[test]
    fn lengths_and_headers_without_end_are_refused() {
        let too_long = kind(PLAIN, &[0x7F, 0x7F, 0x7F, 0xFF]);
        let len_max = BLOCK_BYTES_MAX;
        assert_eq!(too_long, FramingErrorKind::BlockLengthTooLong { len: 0x0FFF_FFFF, len_max });
        assert_eq!(kind(PLAIN, &[0x7F; 20]), FramingErrorKind::BlockLengthOverflow);
        let len_max = HEADER_BYTES_MAX;
        let endless = FramingErrorKind::MessageHeaderTooLong { len_max };
        assert_eq!(kind(PLAIN, &[0; 2000]), endless);
        let fields = MessageHeader::Encoded { prefix_fields: 1, suffix_fields: 0 };
        assert_eq!(kind(fields, &[0; 2000]), endless);
    }
}
