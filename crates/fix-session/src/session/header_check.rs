//! Checks of the header fields that the application sets.

use tickwire_fix::Tag;
use tickwire_fix::reader::SOH;

use super::event::OutgoingHeader;
use super::head::is_header;
use super::is_admin;
use crate::config::Config;
use crate::error::SendError;
use crate::tags;

/// First tag of user-defined fields, which venues may use in the header.
const USER_DEFINED: u32 = 5000;

/// Length fields of the header, each with its data field.
const DATA: [(Tag, Tag); 2] =
    [(tags::SECURE_DATA_LEN, tags::SECURE_DATA), (tags::XML_DATA_LEN, tags::XML_DATA)];

/// Checks that MsgType and header fields are valid, and that no value can end its field early.
pub(super) fn check_head(config: &Config, head: &OutgoingHeader<'_>) -> Result<(), SendError> {
    let msg_type = head.msg_type.as_bytes();
    let is_type = !msg_type.is_empty() && msg_type.iter().all(u8::is_ascii_graphic);
    if !is_type || msg_type.contains(&b'=') || is_admin(msg_type) {
        return Err(SendError::Header(Tag::MSG_TYPE));
    }
    let mut before: Option<(Tag, &[u8])> = None;
    for (tag, value) in head.fields.iter().copied() {
        let is_ascending = before.is_none_or(|(last, _)| last < tag);
        let has_place = is_header(tag.0) || tag.0 >= USER_DEFINED;
        if !is_ascending || !has_place || is_own(config, tag) || !is_value(tag, value, before) {
            return Err(SendError::Header(tag));
        }
        before = Some((tag, value));
    }
    match before {
        Some((tag, _)) if DATA.iter().any(|(length, _)| *length == tag) => {
            Err(SendError::Header(tag))
        }
        _ => Ok(()),
    }
}

/// True if the session writes a field itself.
fn is_own(config: &Config, tag: Tag) -> bool {
    match tag {
        Tag::BEGIN_STRING
        | Tag::BODY_LENGTH
        | Tag::CHECK_SUM
        | Tag::MSG_TYPE
        | Tag::MSG_SEQ_NUM
        | Tag::SENDER_COMP_ID
        | Tag::SENDING_TIME
        | Tag::TARGET_COMP_ID
        | tags::POSS_DUP_FLAG
        | tags::ORIG_SENDING_TIME => true,
        tags::SENDER_SUB_ID => config.sender_sub_id.is_some(),
        tags::TARGET_SUB_ID => config.target_sub_id.is_some(),
        tags::SENDER_LOCATION_ID => config.sender_location_id.is_some(),
        tags::TARGET_LOCATION_ID => config.target_location_id.is_some(),
        tags::LAST_MSG_SEQ_NUM_PROCESSED => config.last_seq_num_processed,
        _ => false,
    }
}

/// True if a value is valid in its field: only data after its length may contain delimiters.
fn is_value(tag: Tag, value: &[u8], before: Option<(Tag, &[u8])>) -> bool {
    let length = before.map(|(tag, _)| tag);
    if let Some((_, data)) = DATA.iter().find(|(tag, _)| Some(*tag) == length) {
        let said = before.and_then(|(_, text)| std::str::from_utf8(text).ok()?.parse().ok());
        return tag == *data && said == Some(value.len()) && !value.is_empty();
    }
    let is_data = DATA.iter().any(|(_, data)| *data == tag);
    !is_data && !value.is_empty() && !value.contains(&SOH)
}
