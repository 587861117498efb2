//! Errors of messages: kind, tag and offset.

use std::fmt;

use crate::reason::SessionRejectReason;
use crate::tag::Tag;

/// The kind of an error, in alphabetical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FixErrorKind {
    /// BodyLength (9) is not a number, or differs from the length of the body.
    BodyLength,
    /// The caller's buffer is too small for the message being written.
    BufferFull,
    /// CheckSum (10) is not three digits, or differs from the sum of the bytes.
    CheckSum,
    /// A data field does not follow its length field, or has another length.
    DataLength,
    /// A tag without a value.
    EmptyValue,
    /// More fields than [`crate::FixLimits::fields_max`].
    FieldCount,
    /// A field without `=`; the usual cause is a delimiter in a value of a type other than data.
    FieldDelimiter,
    /// NumInGroup differs from the number of entries that follow.
    GroupCount,
    /// The fields of a group entry are not in the dictionary's order.
    GroupOrder,
    /// The message does not begin with BeginString, BodyLength and MsgType, or does not end with
    /// CheckSum.
    HeaderOrder,
    /// Longer than [`crate::FixLimits::message_len_max`].
    MessageLength,
    /// MsgType is not in the dictionary.
    MsgType,
    /// Groups are nested deeper than this library supports.
    NestingTooDeep,
    /// A tag appears more than once outside a repeating group.
    RepeatedTag,
    /// A required tag is missing.
    RequiredTag,
    /// The tag exists but not in this message type.
    TagNotInMessage,
    /// A header field in the body, or a body field in the trailer.
    TagOrder,
    /// The tag is not a positive number without leading zeros.
    TagSyntax,
    /// The tag is not in the dictionary.
    UndefinedTag,
    /// The value is malformed for its type.
    ValueFormat,
    /// The value is well-formed but not allowed, or out of range.
    ValueRange,
}

/// The reason why a message, or a value in it, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixError {
    /// The kind of error.
    pub kind: FixErrorKind,
    /// The tag of the field, if there is one.
    pub tag: Option<Tag>,
    /// Offset of the field in the message, or of the message's end if the field is missing.
    pub offset: u32,
}

const _: () = assert!(size_of::<FixError>() <= 16, "errors travel by value on the hot path");

impl FixError {
    pub(crate) const fn new(kind: FixErrorKind, tag: u32, offset: usize) -> Self {
        let tag = if tag == 0 { None } else { Some(Tag(tag)) };
        let offset = if offset > u32::MAX as usize { u32::MAX } else { offset as u32 };
        Self { kind, tag, offset }
    }

    /// True if the message is garbled: it must be ignored, and its MsgSeqNum is not consumed.
    ///
    /// A message that is refused but not garbled is invalid and answered with a reject.
    pub const fn is_garbled(&self) -> bool {
        matches!(
            self.kind,
            FixErrorKind::BodyLength
                | FixErrorKind::CheckSum
                | FixErrorKind::FieldCount
                | FixErrorKind::HeaderOrder
                | FixErrorKind::MessageLength
        )
    }

    /// Returns the value for SessionRejectReason (373); `None` if the message is garbled, or the
    /// error concerns a message being written.
    pub const fn session_reject_reason(&self) -> Option<SessionRejectReason> {
        Some(match self.kind {
            FixErrorKind::BodyLength
            | FixErrorKind::BufferFull
            | FixErrorKind::CheckSum
            | FixErrorKind::FieldCount
            | FixErrorKind::HeaderOrder
            | FixErrorKind::MessageLength => return None,
            FixErrorKind::TagSyntax => SessionRejectReason::InvalidTagNumber,
            FixErrorKind::RequiredTag => SessionRejectReason::RequiredTagMissing,
            FixErrorKind::TagNotInMessage => SessionRejectReason::TagNotDefinedForMessageType,
            FixErrorKind::UndefinedTag => SessionRejectReason::UndefinedTag,
            FixErrorKind::EmptyValue => SessionRejectReason::TagWithoutValue,
            FixErrorKind::ValueRange => SessionRejectReason::ValueIncorrect,
            FixErrorKind::DataLength | FixErrorKind::ValueFormat => {
                SessionRejectReason::IncorrectDataFormat
            }
            FixErrorKind::MsgType => SessionRejectReason::InvalidMsgType,
            FixErrorKind::RepeatedTag => SessionRejectReason::TagAppearsMoreThanOnce,
            FixErrorKind::TagOrder => SessionRejectReason::TagOutOfRequiredOrder,
            FixErrorKind::GroupOrder => SessionRejectReason::GroupFieldsOutOfOrder,
            FixErrorKind::GroupCount => SessionRejectReason::IncorrectNumInGroupCount,
            FixErrorKind::FieldDelimiter => SessionRejectReason::FieldDelimiterInValue,
            FixErrorKind::NestingTooDeep => SessionRejectReason::Other,
        })
    }
}

impl fmt::Display for FixError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FixErrorKind::BodyLength => "BodyLength is not the length of the body",
            FixErrorKind::BufferFull => "the buffer is too small for the message",
            FixErrorKind::CheckSum => "CheckSum is not the sum of the bytes, or not three digits",
            FixErrorKind::DataLength => {
                "the data field does not have the length that its length field gives"
            }
            FixErrorKind::EmptyValue => "the tag has no value",
            FixErrorKind::FieldCount => "more fields than the limit allows",
            FixErrorKind::FieldDelimiter => "a field without '='",
            FixErrorKind::GroupCount => "NumInGroup is not the number of entries",
            FixErrorKind::GroupOrder => "group fields out of order",
            FixErrorKind::HeaderOrder => {
                "the message must begin with tags 8, 9, 35 and end with tag 10 and a delimiter"
            }
            FixErrorKind::MessageLength => "the message is longer than the limit allows",
            FixErrorKind::MsgType => "MsgType is not in the dictionary",
            FixErrorKind::NestingTooDeep => "groups are nested too deep",
            FixErrorKind::RepeatedTag => "the tag appears more than once",
            FixErrorKind::RequiredTag => "a required tag is missing",
            FixErrorKind::TagNotInMessage => "the tag is not defined for this message type",
            FixErrorKind::TagOrder => {
                "the tag is out of order: header, body and trailer must follow each other"
            }
            FixErrorKind::TagSyntax => "a tag must be a positive number without leading zeros",
            FixErrorKind::UndefinedTag => "the tag is not in the dictionary",
            FixErrorKind::ValueFormat => "the value is malformed for its type",
            FixErrorKind::ValueRange => "the value is not allowed here",
        };
        match self.tag {
            Some(tag) => write!(out, "tag {tag} at offset {}: {what}", self.offset),
            None => write!(out, "offset {}: {what}", self.offset),
        }
    }
}

impl std::error::Error for FixError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbled_has_no_reject_reason() {
        let garbled = FixError::new(FixErrorKind::CheckSum, 10, 7);
        assert!(garbled.is_garbled());
        assert_eq!(garbled.session_reject_reason(), None);
        let invalid = FixError::new(FixErrorKind::TagSyntax, 0, 7);
        assert!(!invalid.is_garbled());
        assert_eq!(invalid.session_reject_reason(), Some(SessionRejectReason::InvalidTagNumber));
        assert_eq!(
            invalid.to_string(),
            "offset 7: a tag must be a positive number without leading zeros"
        );
    }
}
