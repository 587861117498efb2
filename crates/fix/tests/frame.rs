//! The frame checks (header, BodyLength, CheckSum) agree with a slow field-by-field check on
//! arbitrary bytes.

use tickwire_fix::{FixErrorKind, Reader, ReaderEngine};

const TRAILER_LEN: usize = 7;

fn with_sum(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Parses digits, at most nine.
fn number(text: &[u8]) -> Option<usize> {
    let is_number = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Returns tag and value of a field; an invalid tag is 0.
fn parts(field: &[u8]) -> (usize, &[u8]) {
    let Some(equal) = field.iter().position(|byte| *byte == b'=') else { return (0, &[]) };
    let tag = number(&field[..equal]).filter(|_| field[0] != b'0');
    (tag.unwrap_or(0), &field[equal + 1..])
}

/// Returns the first error.
fn wrong(bytes: &[u8]) -> Option<FixErrorKind> {
    let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 1).collect();
    let Some((&[], fields)) = fields.split_last() else { return Some(FixErrorKind::HeaderOrder) };
    let tags: Vec<usize> = fields.iter().map(|field| parts(field).0).collect();
    let ([8, 9, 35, .., 10], Some(last)) = (&*tags, fields.last()) else {
        return Some(FixErrorKind::HeaderOrder);
    };
    if last.len() + 1 != TRAILER_LEN {
        return Some(FixErrorKind::HeaderOrder);
    }
    let (before, _) = bytes.split_at(bytes.len() - TRAILER_LEN);
    let sum = before.iter().map(|byte| usize::from(*byte)).sum::<usize>() % 256;
    if number(parts(last).1) != Some(sum) {
        return Some(FixErrorKind::CheckSum);
    }
    let body = fields[0].len() + fields[1].len() + 2;
    (number(parts(fields[1]).1) != Some(before.len() - body)).then_some(FixErrorKind::BodyLength)
}

/// Checks every engine. Returns true if there is no error.
fn is_good(bytes: &[u8]) -> bool {
    let expected = wrong(bytes);
    for engine in ReaderEngine::available() {
        let found = Reader::new().engine(engine).decode(bytes).map(|_| ()).err();
        assert_eq!(found.map(|error| error.kind), expected, "{}", bytes.escape_ascii());
    }
    expected.is_none()
}

const BODY: &[u8] = b"35=0\x0149=A\x0156=B\x0134=1\x01";

/// Replaces each byte of head and trailer by every other byte, with the old and with a corrected
/// sum. Returns the number of messages that are valid. `body` begins with a MsgType of one byte.
fn good_of_every_byte(body: &[u8]) -> u32 {
    let (mut good, mut head) = (0, format!("8=FIX.4.2\u{1}9={}\u{1}", body.len()).into_bytes());
    let head_len = head.len() + 3;
    head.extend_from_slice(body);
    let whole = with_sum(head);
    for at in (0..head_len).chain(whole.len() - TRAILER_LEN - 1..whole.len()) {
        for byte in 0..=255 {
            let mut other = whole.clone();
            other[at] = byte;
            good += u32::from(is_good(&other));
            other.truncate(whole.len() - TRAILER_LEN);
            good += u32::from(is_good(&with_sum(other)));
        }
    }
    for len in 0..whole.len() {
        assert!(!is_good(&whole[..len]));
        assert!(!is_good(&whole[whole.len() - len..]));
    }
    good
}

#[test]
fn every_byte_at_every_place_of_head_and_trailer() {
    let good = good_of_every_byte(BODY);
    assert!(good > 1500, "{good}");
}

#[test]
fn every_byte_of_lengths_that_are_shorter_and_longer() {
    for text_len in [1, 2, 91, 92, 991, 992] {
        let body = format!("35=0\u{1}1={}\u{1}", "x".repeat(text_len));
        let good = good_of_every_byte(body.as_bytes());
        assert!(good > 1500, "{text_len}: {good}");
    }
}

#[test]
fn body_lengths_of_every_number_of_digits() {
    for begin in ["", "F", "FIX.4", "FIXT.1.1", "a string that is too long for a version"] {
        for zeros in 0..9 {
            for text in ["20", "19", "2O", "20 ", "-20", "2/", "2:", "", "20\u{80}"] {
                let head = format!("8={begin}\u{1}9={}{text}\u{1}", "0".repeat(zeros));
                let bytes = with_sum([head.as_bytes(), BODY].concat());
                assert_eq!(is_good(&bytes), text == "20" && zeros < 8, "{head}");
            }
        }
    }
}
