//! Decoding errors.

use std::fmt;

use crate::Field;

/// The kind of a decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum OpraErrorKind {
    /// The packet does not begin with 0x01.
    StartByte,
    /// The message lengths do not lead to a closing 0x03.
    EndByte,
    /// The packet is longer than [`crate::PACKET_BYTES_MAX`].
    PacketTooLong,
    /// A header, message or field extends past the end of its input.
    EndOfInput,
    /// A presence map, integer or string exceeds its maximum length.
    FieldTooLong,
    /// A mandatory field is neither in the message nor in the dictionary.
    MissingValue,
    /// A quote has an unknown BBO indicator, so its remaining fields are unknown.
    BboIndicator,
    /// A group has more entries than [`crate::GROUP_ENTRIES_MAX`].
    GroupCount,
    /// The presence map has bits that the category does not use.
    PresenceMapBits,
    /// The message has bytes after its last field.
    LeftoverBytes,
    /// The grammar of a [`crate::grammar::GrammarDecoder`] does not match the packet, in which the
    /// reference decoder finds no error.
    Grammar,
}

/// A decoding error and its position. The rest of the packet cannot be decoded, because its
/// dictionary may be wrong; the next packet starts with an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpraError {
    /// The kind of error.
    pub kind: OpraErrorKind,
    /// The field that was being decoded, if any.
    pub field: Option<Field>,
    /// Index of the message in the packet; the number of messages for an error after the last.
    pub message: u16,
    /// Offset of the failing item in the packet.
    pub offset: u32,
}

const _: () = assert!(size_of::<OpraError>() <= 16, "errors travel by value on the hot path");

impl OpraError {
    pub(crate) fn new(
        kind: OpraErrorKind,
        field: Option<Field>,
        message: usize,
        offset: usize,
    ) -> Self {
        let message = u16::try_from(message).unwrap_or(u16::MAX);
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        Self { kind, field, message, offset }
    }

    /// Returns the field's presence-map slot in version 2.0.
    pub fn slot(&self) -> Option<u8> {
        self.field.map(|field| field as u8)
    }

    /// Returns kind and field without the position, as conformance cases state errors.
    pub fn cause(&self) -> ErrorCause {
        ErrorCause { kind: self.kind, field: self.field }
    }
}

impl fmt::Display for OpraError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} at offset {}: {}", self.message, self.offset, self.cause())?;
        match (self.kind, self.field) {
            (OpraErrorKind::MissingValue, _) | (_, None) => Ok(()),
            (_, Some(field)) => write!(f, " in field {}", field.name()),
        }
    }
}

impl std::error::Error for OpraError {}

/// An error without its position; prints as the fixed words of conformance cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCause {
    kind: OpraErrorKind,
    field: Option<Field>,
}

impl fmt::Display for ErrorCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            OpraErrorKind::StartByte => "no start byte",
            OpraErrorKind::EndByte => "no end byte",
            OpraErrorKind::PacketTooLong => "packet too long",
            OpraErrorKind::EndOfInput => "end of input",
            OpraErrorKind::FieldTooLong => "field too long",
            OpraErrorKind::MissingValue => {
                return write!(f, "missing value {}", self.field.map_or("?", Field::name));
            }
            OpraErrorKind::BboIndicator => "unknown BBO indicator",
            OpraErrorKind::GroupCount => "too many group entries",
            OpraErrorKind::PresenceMapBits => "presence bits outside the category",
            OpraErrorKind::LeftoverBytes => "bytes left over",
            OpraErrorKind::Grammar => "the grammar does not fit the packet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_place_and_field() {
        let error = OpraError::new(OpraErrorKind::FieldTooLong, Some(Field::Bid), 2, 40);
        assert_eq!(error.to_string(), "message 2 at offset 40: field too long in field bid");
        let error = OpraError::new(OpraErrorKind::MissingValue, Some(Field::Category), 0, 16);
        assert_eq!(error.to_string(), "message 0 at offset 16: missing value cat");
        assert_eq!(error.cause().to_string(), "missing value cat");
    }
}
