//! Tag numbers, with constants for those that the library uses itself.

use std::fmt;

/// The number of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Tag {
    /// BeginString.
    pub const BEGIN_STRING: Self = Self(8);
    /// BodyLength.
    pub const BODY_LENGTH: Self = Self(9);
    /// CheckSum.
    pub const CHECK_SUM: Self = Self(10);
    /// MsgSeqNum.
    pub const MSG_SEQ_NUM: Self = Self(34);
    /// MsgType.
    pub const MSG_TYPE: Self = Self(35);
    /// SenderCompID.
    pub const SENDER_COMP_ID: Self = Self(49);
    /// SendingTime.
    pub const SENDING_TIME: Self = Self(52);
    /// TargetCompID.
    pub const TARGET_COMP_ID: Self = Self(56);
}
