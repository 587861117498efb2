//! Replaces secrets before a message is logged.
//!
//! Passwords become `***` in every message. In a Logon, RawData, SecureData, Signature and all
//! user-defined fields become `***` too, because venues put keys, signatures and passwords there.
//! BodyLength and CheckSum are adjusted, so the line is still a valid message; a garbled message
//! stays garbled.

use std::borrow::Cow;

use tickwire_fix::reader::SOH;

/// Replacement of a secret.
const MASK: &[u8] = b"***";
/// Password, NewPassword, EncryptedPassword, EncryptedNewPassword.
const ALWAYS: [&[u8]; 4] = [b"554", b"925", b"1402", b"1404"];
/// RawData, SecureData, Signature: secrets in a Logon.
const IN_LOGON: [&[u8]; 3] = [b"96", b"91", b"89"];
/// Secret fields of type data, each with its length field.
const LENGTHS: [(&[u8], &[u8]); 5] =
    [(b"1401", b"1402"), (b"1403", b"1404"), (b"95", b"96"), (b"90", b"91"), (b"93", b"89")];
/// Tags from here on count as user-defined, except those in [`STANDARD_AGAIN`]. The standard leaves
/// 5000 to 9999 and 20000 to 39999 to users and has no tags from 50000 on.
const USER_DEFINED: u64 = 5000;
/// Standard tags above the user-defined ones.
const STANDARD_AGAIN: std::ops::Range<u64> = 40_000..50_000;
/// Length of `10=nnn` and its delimiter.
const TRAILER_LEN: usize = 7;

/// Returns a message without its secrets.
pub(super) fn redacted(message: &[u8]) -> Cow<'_, [u8]> {
    if !may_have_secrets(message) {
        return Cow::Borrowed(message);
    }
    let is_logon = fields(message).any(|(tag, value)| tag == b"35" && value == b"A");
    let is_secret = |tag: &[u8]| {
        ALWAYS.contains(&tag) || is_logon && (IN_LOGON.contains(&tag) || is_user_defined(tag))
    };
    let trailer_len = if has_trailer(message) { TRAILER_LEN + 1 } else { 0 };
    let mut masked = Vec::with_capacity(message.len());
    let mut rest = message;
    // Length and tag of the data field that must follow.
    let mut data: Option<(usize, &[u8])> = None;
    while !rest.is_empty() {
        let (tag, value_at) = match rest.iter().position(|byte| matches!(*byte, b'=' | SOH)) {
            Some(at) if rest[at] == b'=' => (&rest[..at], at + 1),
            _ => (&rest[..0], 0),
        };
        let to_delimiter =
            |from: usize| rest[from..].iter().position(|byte| *byte == SOH).map(|at| from + at);
        let said = data.take().filter(|(_, wanted)| *wanted == tag).map(|(len, _)| value_at + len);
        let end = match said {
            Some(end) if rest.get(end) == Some(&SOH) => end,
            // With a wrong length the end of the secret is unknown: mask up to the trailer.
            Some(_) if is_secret(tag) => rest.len().saturating_sub(trailer_len).max(value_at),
            _ => to_delimiter(value_at).unwrap_or(rest.len()),
        };
        let value = &rest[value_at..end];
        let following = LENGTHS.iter().find(|(length, _)| *length == tag).map(|(_, data)| *data);
        let masks_length = following.is_some_and(is_secret);
        if let Some(following) = following {
            let len = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            data = len.map(|len: usize| (len.min(message.len()), following));
        }
        masked.extend_from_slice(&rest[..value_at]);
        match (is_secret(tag), masks_length) {
            (true, _) => masked.extend_from_slice(MASK),
            (_, true) => masked.extend_from_slice(MASK.len().to_string().as_bytes()),
            _ => masked.extend_from_slice(value),
        }
        let next = (end + 1).min(rest.len());
        masked.extend_from_slice(&rest[end..next]);
        rest = &rest[next..];
    }
    Cow::Owned(fitted(message, masked))
}

fn is_user_defined(tag: &[u8]) -> bool {
    let number = std::str::from_utf8(tag).ok().and_then(|text| text.parse::<u64>().ok());
    number.is_some_and(|number| number >= USER_DEFINED && !STANDARD_AGAIN.contains(&number))
}

/// True if the message ends with a CheckSum.
fn has_trailer(message: &[u8]) -> bool {
    let trailer = message.len().checked_sub(TRAILER_LEN + 1).map(|at| &message[at..]);
    trailer.is_some_and(|trailer| trailer.starts_with(b"\x0110=") && trailer.ends_with(&[SOH]))
}

/// True if the message contains the tag of a secret, or may be a Logon.
fn may_have_secrets(message: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = message.get(at..).and_then(|rest| rest.iter().position(|b| *b == SOH)) {
        at += found + 1;
        let rest = &message[at..];
        let begins = |tag: &&[u8]| rest.starts_with(tag) && rest.get(tag.len()) == Some(&b'=');
        if ALWAYS.iter().any(&begins) || rest.starts_with(b"35=A\x01") {
            return true;
        }
    }
    false
}

/// Returns tags and values; data fields are split at delimiters like all others.
fn fields(message: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    message.split(|byte| *byte == SOH).filter_map(|field| {
        let equal = field.iter().position(|byte| *byte == b'=')?;
        Some((&field[..equal], &field[equal + 1..]))
    })
}

fn sum_of(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Returns the bounds of body and trailer if BodyLength and CheckSum are correct.
fn frame(message: &[u8]) -> Option<(usize, usize, usize)> {
    let begin_end = message.iter().position(|byte| *byte == SOH)? + 1;
    let length = message.get(begin_end..)?.strip_prefix(b"9=")?;
    let digits = length.iter().position(|byte| *byte == SOH)?;
    let body = begin_end + 2 + digits + 1;
    let body_len: usize = std::str::from_utf8(&length[..digits]).ok()?.parse().ok()?;
    let trailer = body.checked_add(body_len)?;
    let sum = message.get(trailer..)?.strip_prefix(b"10=")?.strip_suffix(&[SOH])?;
    let said: u8 = std::str::from_utf8(sum).ok()?.parse().ok()?;
    (said == sum_of(&message[..trailer])).then_some((begin_end, body, trailer))
}

/// Adjusts BodyLength and CheckSum to the masked message, if they were right before.
fn fitted(message: &[u8], masked: Vec<u8>) -> Vec<u8> {
    let Some((begin_end, body, _)) = frame(message) else { return masked };
    // Only the body can contain masked fields.
    let Some(content) = masked.get(body..masked.len().saturating_sub(TRAILER_LEN)) else {
        return masked;
    };
    let mut fitted = masked[..begin_end].to_vec();
    fitted.extend_from_slice(format!("9={}\u{1}", content.len()).as_bytes());
    fitted.extend_from_slice(content);
    let sum = sum_of(&fitted);
    fitted.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tickwire_fix::Reader;

    fn message(body: &str) -> Vec<u8> {
        let body = body.replace('|', "\u{1}");
        let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = sum_of(&bytes);
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        bytes
    }

    fn shown(body: &str) -> String {
        let message = message(body);
        let shown = redacted(&message);
        Reader::new().decode(&shown).expect("still a message");
        let text = String::from_utf8(shown.into_owned()).expect("text").replace('\u{1}', "|");
        let (_, rest) = text.split_once("|35=").expect("MsgType");
        rest.rsplit_once("10=").expect("CheckSum").0.to_owned()
    }

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        assert_eq!(shown("35=A|553=me|554=secret|98=0|"), "A|553=me|554=***|98=0|");
        assert_eq!(shown("35=BE|925=new|554=old|"), "BE|925=***|554=***|");
        assert_eq!(shown("35=A|95=5|96=a|b=c|98=0|"), "A|95=3|96=***|98=0|");
        assert_eq!(shown("35=A|95=5|96=554=x|98=0|"), "A|95=3|96=***|98=0|");
        assert_eq!(shown("35=A|1401=4|1402=a|bc|98=0|"), "A|1401=3|1402=***|98=0|");
        assert_eq!(shown("35=A|90=3|91=a|b|98=0|93=2|89=xy|"), "A|90=3|91=***|98=0|93=3|89=***|");
        assert_eq!(shown("35=A|9479=key|58=x|20001=y|"), "A|9479=***|58=x|20001=***|");
        assert_eq!(shown("35=A|1137=9|40001=x|"), "A|1137=9|40001=x|");
        assert_eq!(shown("35=B|148=x|9479=key|554=y|"), "B|148=x|9479=key|554=***|");
        assert_eq!(shown("35=B|148=x|95=5|96=a|b=c|"), "B|148=x|95=5|96=a|b=c|");
        assert_eq!(shown("35=B|148=x|95=5|96=a|b=c|554=x|"), "B|148=x|95=5|96=a|b=c|554=***|");
    }

    #[test]
    fn a_garbled_logon_shows_no_secret_either() {
        for body in [
            "35=A|95=500|96=se|cr|et|",
            "35=A|95=2|96=secret|",
            "35=A|96=secret|",
            "35=A|554=secret",
        ] {
            for cut in 0..3 {
                let mut bytes = message(body);
                bytes[5] ^= 1;
                bytes.truncate(bytes.len() - cut);
                let shown = redacted(&bytes).into_owned();
                let text = String::from_utf8_lossy(&shown).into_owned();
                assert!(!text.contains("se") && !text.contains("cr"), "{body} {cut}: {text}");
            }
        }
    }

    #[test]
    fn a_secret_that_ends_the_bytes_is_masked_whole() {
        for text in ["35=A|95=6|96=secret", "35=A|95=500|96=secret|", "35=A|95=500|96=secret|10=|"]
        {
            let bytes = format!("8=FIX.4.4|{text}").replace('|', "\u{1}");
            let shown = String::from_utf8(redacted(bytes.as_bytes()).into_owned()).expect("text");
            assert_eq!(shown, "8=FIX.4.4\u{1}35=A\u{1}95=3\u{1}96=***", "{text}");
        }
    }

    #[test]
    fn a_length_that_is_wrong_masks_all_up_to_the_trailer() {
        assert_eq!(shown("35=A|95=500|96=se|cr|et|"), "A|95=3|96=***|");
        assert_eq!(shown("35=A|95=2|96=secret|58=x|"), "A|95=3|96=***|");
    }

    #[test]
    fn a_field_without_a_value_hides_no_other() {
        let bytes = message("35=A|554|58=x|554=secret|");
        let text = String::from_utf8(redacted(&bytes).into_owned()).expect("text");
        assert!(text.contains("35=A\u{1}554\u{1}58=x\u{1}554=***\u{1}"), "{text:?}");
    }

    #[test]
    fn a_message_without_secrets_is_not_copied() {
        let borrowed = |body: &str| matches!(redacted(&message(body)), Cow::Borrowed(_));
        assert!(borrowed("35=B|148=554=x|1554=x|5=x|"));
        assert!(borrowed("35=B|96=x|") && !borrowed("35=B|148=x|554=x|") && !borrowed("35=A|1=x|"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_masked_without_panic(bytes in "(\x01|=|35=A|95=|96=|554=|10=|8=FIX|9=|1|2|x)*") {
            let shown = redacted(bytes.as_bytes()).into_owned();
            prop_assert_eq!(redacted(&shown).into_owned(), shown);
        }
    }
}
