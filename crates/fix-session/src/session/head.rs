//! Header tags, and the header of a received message.

use tickwire_fix::{FixError, FixMessage, Tag, UtcTimestamp};

use crate::tags;

/// Header tags of all versions, ascending.
const HEADER: [u32; 31] = [
    8, 9, 34, 35, 43, 49, 50, 52, 56, 57, 90, 91, 97, 115, 116, 122, 128, 129, 142, 143, 144, 145,
    212, 213, 347, 369, 370, 627, 1128, 1129, 1156,
];

/// True if a tag belongs to the header.
pub(crate) fn is_header(tag: u32) -> bool {
    HEADER.binary_search(&tag).is_ok() || matches!(tag, 628..=630)
}

/// Header fields that the session needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionHeader<'m> {
    pub seq_num: u64,
    pub sender: &'m [u8],
    pub target: &'m [u8],
    pub sending_time: Option<UtcTimestamp>,
    pub orig_sending_time: Option<UtcTimestamp>,
    pub poss_dup: bool,
    pub poss_resend: bool,
}

impl<'m> SessionHeader<'m> {
    /// Reads the header; the error is that of MsgSeqNum.
    pub fn of(message: &FixMessage<'m, '_>) -> Result<Self, Option<FixError>> {
        let seq_num = message.field(Tag::MSG_SEQ_NUM).ok_or(None)?.uint().map_err(Some)?;
        let value = |tag| message.field(tag).map_or(&[][..], |field| field.value);
        let time = |tag| message.field(tag).and_then(|field| field.utc_timestamp().ok());
        let poss_dup = value(tags::POSS_DUP_FLAG) == b"Y";
        Ok(Self {
            seq_num,
            sender: value(Tag::SENDER_COMP_ID),
            target: value(Tag::TARGET_COMP_ID),
            sending_time: time(Tag::SENDING_TIME),
            orig_sending_time: if poss_dup { time(tags::ORIG_SENDING_TIME) } else { None },
            poss_dup,
            poss_resend: value(tags::POSS_RESEND) == b"Y",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_tags_are_ascending_and_body_tags_are_not_among_them() {
        assert!(HEADER.is_sorted());
        assert!(is_header(629) && is_header(1128));
        assert!(!is_header(11) && !is_header(10) && !is_header(58));
    }
}
