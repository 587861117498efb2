//! Assembles messages from existing bytes: resends, and messages that hooks changed.

use tickwire_fix::reader::SOH;
use tickwire_fix::{FixMessage, Precision, Tag, UtcTimestamp};

use super::head::is_header;
use crate::config::Config;
use crate::now::Now;
use crate::tags;

/// Returns a moment in the form of SendingTime.
pub(super) fn timestamp(wall_ns: u64, precision: Precision) -> String {
    let at = UtcTimestamp::from_unix_nanos(wall_ns);
    let (date, time) = (at.date, at.time);
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let seconds = format!("{year:04}{month:02}{day:02}-{hour:02}:{minute:02}:{second:02}");
    let digits = match precision {
        Precision::Seconds => return seconds,
        Precision::Millis => 3,
        Precision::Micros => 6,
        Precision::Nanos => 9,
        Precision::Picos => 12,
    };
    let fraction = format!("{:012}", time.picos());
    format!("{seconds}.{}", &fraction[..digits])
}

/// Adds a field.
pub(super) fn push(content: &mut Vec<u8>, tag: Tag, value: &[u8]) {
    content.extend_from_slice(tag.to_string().as_bytes());
    content.push(b'=');
    content.extend_from_slice(value);
    content.push(SOH);
}

/// Puts a frame around fields that begin with MsgType: BeginString, BodyLength, CheckSum.
pub(super) fn frame(out: &mut Vec<u8>, begin_string: &str, content: &[u8]) {
    out.clear();
    push(out, Tag::BEGIN_STRING, begin_string.as_bytes());
    push(out, Tag::BODY_LENGTH, content.len().to_string().as_bytes());
    out.extend_from_slice(content);
    let sum = out.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    push(out, Tag::CHECK_SUM, format!("{sum:03}").as_bytes());
}

/// Converts a stored message to a possible duplicate: writes a new header and copies the bytes of
/// the body unchanged, including fields that no dictionary knows.
pub(super) fn again(
    out: &mut Vec<u8>,
    content: &mut Vec<u8>,
    config: &Config,
    now: Now,
    last_processed: Option<u64>,
    message: &FixMessage<'_, '_>,
) {
    content.clear();
    push(content, Tag::MSG_TYPE, message.msg_type());
    let mut orig = message.field(Tag::SENDING_TIME).map(|field| field.value);
    let last = message.len().saturating_sub(1);
    let mut at = 3;
    while at < last
        && let Some(field) = message.field_at(at).filter(|field| is_header(field.tag.0))
    {
        at += 1;
        if field.tag > tags::ORIG_SENDING_TIME
            && let Some(sent) = orig.take()
        {
            push(content, tags::ORIG_SENDING_TIME, sent);
        }
        match field.tag {
            Tag::MSG_SEQ_NUM => {
                push(content, field.tag, field.value);
                push(content, tags::POSS_DUP_FLAG, b"Y");
            }
            Tag::SENDING_TIME => {
                let time = timestamp(now.wall_ns, config.precision);
                push(content, field.tag, time.as_bytes());
            }
            tags::POSS_DUP_FLAG | tags::ORIG_SENDING_TIME => {}
            tags::LAST_MSG_SEQ_NUM_PROCESSED if last_processed.is_some() => {
                let processed = last_processed.unwrap_or_default().to_string();
                push(content, field.tag, processed.as_bytes());
            }
            tag => push(content, tag, field.value),
        }
    }
    if let Some(sent) = orig {
        push(content, tags::ORIG_SENDING_TIME, sent);
    }
    let offset = |at| message.field_offset(at).unwrap_or_default() as usize;
    content.extend_from_slice(message.bytes().get(offset(at)..offset(last)).unwrap_or_default());
    frame(out, config.id.begin_string.as_str(), content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_its_digits() {
        let at = 1_709_210_096_789_012_345;
        let text = "20240229-12:34:56.789012345000";
        let cases = [
            (Precision::Seconds, 17),
            (Precision::Millis, 21),
            (Precision::Micros, 24),
            (Precision::Nanos, 27),
            (Precision::Picos, 30),
        ];
        for (precision, len) in cases {
            assert_eq!(timestamp(at, precision), text[..len]);
        }
    }
}
