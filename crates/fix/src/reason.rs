//! Reject reasons of session and application, with the standard's numbers and texts.

/// SessionRejectReason (373). In the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionRejectReason {
    /// 0.
    InvalidTagNumber,
    /// 1.
    RequiredTagMissing,
    /// 2.
    TagNotDefinedForMessageType,
    /// 3.
    UndefinedTag,
    /// 4.
    TagWithoutValue,
    /// 5.
    ValueIncorrect,
    /// 6.
    IncorrectDataFormat,
    /// 7.
    Decryption,
    /// 8.
    Signature,
    /// 9.
    CompId,
    /// 10.
    SendingTimeAccuracy,
    /// 11.
    InvalidMsgType,
    /// 12.
    XmlValidation,
    /// 13.
    TagAppearsMoreThanOnce,
    /// 14.
    TagOutOfRequiredOrder,
    /// 15.
    GroupFieldsOutOfOrder,
    /// 16.
    IncorrectNumInGroupCount,
    /// 17.
    FieldDelimiterInValue,
    /// 18.
    UnsupportedApplicationVersion,
    /// 99.
    Other,
    /// A number that the standard does not name; occurs only in received messages.
    Unknown(u32),
}

impl SessionRejectReason {
    const NAMED: [(Self, &'static str); 19] = [
        (Self::InvalidTagNumber, "Invalid tag number"),
        (Self::RequiredTagMissing, "Required tag missing"),
        (Self::TagNotDefinedForMessageType, "Tag not defined for this message type"),
        (Self::UndefinedTag, "Undefined tag"),
        (Self::TagWithoutValue, "Tag specified without a value"),
        (Self::ValueIncorrect, "Value is incorrect (out of range) for this tag"),
        (Self::IncorrectDataFormat, "Incorrect data format for value"),
        (Self::Decryption, "Decryption problem"),
        (Self::Signature, "Signature problem"),
        (Self::CompId, "CompID problem"),
        (Self::SendingTimeAccuracy, "SendingTime accuracy problem"),
        (Self::InvalidMsgType, "Invalid MsgType"),
        (Self::XmlValidation, "XML validation error"),
        (Self::TagAppearsMoreThanOnce, "Tag appears more than once"),
        (Self::TagOutOfRequiredOrder, "Tag specified out of required order"),
        (Self::GroupFieldsOutOfOrder, "Repeating group fields out of order"),
        (Self::IncorrectNumInGroupCount, "Incorrect NumInGroup count for repeating group"),
        (Self::FieldDelimiterInValue, "Non \"data\" value includes field delimiter"),
        (Self::UnsupportedApplicationVersion, "Invalid/Unsupported application version"),
    ];

    /// Returns the number on the wire.
    pub fn code(self) -> u32 {
        match self {
            Self::Other => 99,
            Self::Unknown(code) => code,
            named => {
                Self::NAMED.iter().position(|(reason, _)| *reason == named).unwrap_or(99) as u32
            }
        }
    }

    /// Returns the reason for a number on the wire.
    pub fn from_code(code: u32) -> Self {
        match code {
            99 => Self::Other,
            _ => Self::NAMED.get(code as usize).map_or(Self::Unknown(code), |(reason, _)| *reason),
        }
    }

    /// Returns the standard's text, for Text (58).
    pub fn text(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(reason, _)| *reason == self);
        named.map_or("Other", |(_, text)| text)
    }
}

/// BusinessRejectReason (380). In the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BusinessRejectReason {
    /// 0.
    Other,
    /// 1.
    UnknownId,
    /// 2.
    UnknownSecurity,
    /// 3.
    UnsupportedMessageType,
    /// 4.
    ApplicationNotAvailable,
    /// 5.
    ConditionallyRequiredFieldMissing,
    /// 6.
    NotAuthorized,
    /// 7.
    DeliverToFirmNotAvailable,
    /// 18.
    InvalidPriceIncrement,
    /// A number that the standard does not name; occurs only in received messages.
    Unknown(u32),
}

impl BusinessRejectReason {
    const NAMED: [(Self, u32, &'static str); 9] = [
        (Self::Other, 0, "Other"),
        (Self::UnknownId, 1, "Unknown ID"),
        (Self::UnknownSecurity, 2, "Unknown Security"),
        (Self::UnsupportedMessageType, 3, "Unsupported Message Type"),
        (Self::ApplicationNotAvailable, 4, "Application not available"),
        (Self::ConditionallyRequiredFieldMissing, 5, "Conditionally required field missing"),
        (Self::NotAuthorized, 6, "Not Authorized"),
        (Self::DeliverToFirmNotAvailable, 7, "DeliverTo firm not available at this time"),
        (Self::InvalidPriceIncrement, 18, "Invalid price increment"),
    ];

    /// Returns the number on the wire.
    pub fn code(self) -> u32 {
        match self {
            Self::Unknown(code) => code,
            named => Self::NAMED
                .iter()
                .find(|(reason, ..)| *reason == named)
                .map_or(0, |(_, code, _)| *code),
        }
    }

    /// Returns the reason for a number on the wire.
    pub fn from_code(code: u32) -> Self {
        let named = Self::NAMED.iter().find(|(_, named, _)| *named == code);
        named.map_or(Self::Unknown(code), |(reason, ..)| *reason)
    }

    /// Returns the standard's text, for Text (58).
    pub fn text(self) -> &'static str {
        Self::NAMED.iter().find(|(reason, ..)| *reason == self).map_or("Other", |(.., text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_read_as_it_is_written() {
        for code in 0..200 {
            assert_eq!(SessionRejectReason::from_code(code).code(), code);
            assert_eq!(BusinessRejectReason::from_code(code).code(), code);
        }
        assert_eq!(SessionRejectReason::IncorrectNumInGroupCount.code(), 16);
        assert_eq!(SessionRejectReason::UnsupportedApplicationVersion.code(), 18);
        assert_eq!(BusinessRejectReason::UnsupportedMessageType.text(), "Unsupported Message Type");
    }
}
