//! Finds messages in a stream of bytes.
//!
//! The framer parses only BeginString, BodyLength, and the position of CheckSum. It keeps no bytes:
//! the caller keeps them until they are consumed. The reader verifies the sum.

use crate::limits::FixLimits;
use crate::reader::SOH;

/// Maximum length of a BeginString value.
const BEGIN_STRING_MAX: usize = 16;
/// Maximum length of a BodyLength value.
const BODY_LENGTH_MAX: usize = 9;
/// Length of `10=nnn` and its delimiter.
const TRAILER_LEN: usize = 7;
/// Shortest malformed trailer that careless peers send: `10=n` and its delimiter.
const TRAILER_LEN_MIN: usize = 5;
/// Maximum length of a CheckSum value.
const VALUE_MAX: usize = 16;

/// The start of every message.
const BEGIN: &[u8] = b"8=FIX";

/// The contents at the start of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum FramerStep<'b> {
    /// A message, or bytes in the shape of one: decode it, then consume its bytes.
    Message(&'b [u8]),
    /// This many bytes are not a message: consume them.
    Garbage(usize),
    /// The bytes may be an incomplete message: call again with at least this many bytes in total.
    NeedMore(usize),
}

/// Finds messages in a stream.
///
/// It stores only two things: how far it has searched for a CheckSum field, so that no byte is
/// searched twice, and whether it is resynchronizing after garbage.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixFramer {
    limits: FixLimits,
    searched: usize,
    /// True after garbage until the next message is found.
    lost: bool,
}

/// The end of a message that begins at the first byte.
enum MessageExtent {
    Whole(usize),
    Partial(usize),
    Not,
}

impl FixFramer {
    /// Creates a framer. A BodyLength that makes a message longer than the limit is garbage.
    pub const fn new(limits: FixLimits) -> Self {
        Self { limits, searched: 0, lost: false }
    }

    /// Returns the contents at the start of `bytes`, which are the unconsumed bytes of the previous
    /// step followed by new ones.
    ///
    /// A message ends with the first CheckSum field at or after the position given by BodyLength.
    /// If CheckSum is not exactly there, the reader reports the message as garbled; the bytes in
    /// between are lost with it, as sessions expect (test case 2m). A message that begins at or
    /// after that position is not lost. After garbage, the next message is the next `8=FIX`.
    pub fn step<'b>(&mut self, bytes: &'b [u8]) -> FramerStep<'b> {
        // After garbage the start must be `8=FIX`, independent of how the bytes were split.
        let shape = match self.lost && !looks_like_begin(bytes) {
            true => MessageExtent::Not,
            false => self.shape(bytes),
        };
        match shape {
            MessageExtent::Whole(len) => {
                (self.searched, self.lost) = (0, false);
                FramerStep::Message(&bytes[..len])
            }
            MessageExtent::Partial(len) => FramerStep::NeedMore(len.max(bytes.len() + 1)),
            MessageExtent::Not => {
                (self.searched, self.lost) = (0, true);
                FramerStep::Garbage(next_begin(bytes))
            }
        }
    }

    /// Returns the declared length of the message at the start of `bytes` if it exceeds the limit.
    /// [`FixFramer::step`] reports such a message as garbage.
    pub fn too_long(&self, bytes: &[u8]) -> Option<usize> {
        let trailer =
            trailer_at(bytes).filter(|trailer| *trailer > 0 && looks_like_begin(bytes))?;
        let len = trailer + TRAILER_LEN;
        (len > self.limits.message_len_max).then_some(len)
    }

    fn shape(&mut self, bytes: &[u8]) -> MessageExtent {
        let trailer = match trailer_at(bytes) {
            None => return MessageExtent::Not,
            Some(0) => return MessageExtent::Partial(0),
            Some(trailer) => trailer,
        };
        let len = trailer + TRAILER_LEN;
        if len > self.limits.message_len_max {
            return MessageExtent::Not;
        }
        if bytes.len() < trailer {
            return MessageExtent::Partial(trailer + TRAILER_LEN_MIN);
        }
        let whole = bytes.get(trailer..len).is_some_and(|found| {
            let sum = [found[3], found[4], found[5]];
            bytes[trailer - 1] == SOH
                && found.starts_with(b"10=")
                && found[6] == SOH
                && !sum.contains(&SOH)
        });
        if whole { MessageExtent::Whole(len) } else { self.search(bytes, trailer - 1) }
    }

    /// Searches for the end of the first CheckSum field that follows a delimiter at or after
    /// `from`. If a message starts before that, the CheckSum is missing, and the message ends
    /// there.
    #[cold]
    fn search(&mut self, bytes: &[u8], from: usize) -> MessageExtent {
        let mut from = from.max(self.searched);
        let seen = &bytes[..bytes.len().min(self.limits.message_len_max)];
        while let Some(found) =
            seen.get(from..).and_then(|rest| rest.iter().position(|b| *b == SOH))
        {
            let at = from + found;
            self.searched = at;
            let rest = &seen[at + 1..];
            if rest.starts_with(BEGIN) {
                return MessageExtent::Whole(at + 1);
            }
            if rest.starts_with(b"10=") {
                match checksum_end(&rest[3..]) {
                    Some(Some(len)) => return MessageExtent::Whole(at + 4 + len),
                    Some(None) => {}
                    None => return self.wait(seen),
                }
            } else if BEGIN.starts_with(rest) || b"10=".starts_with(rest) {
                return self.wait(seen);
            }
            from = at + 1;
        }
        self.searched = from.max(seen.len());
        self.wait(seen)
    }

    fn wait(&self, seen: &[u8]) -> MessageExtent {
        if seen.len() < self.limits.message_len_max {
            MessageExtent::Partial(0)
        } else {
            MessageExtent::Not
        }
    }
}

/// Returns the end of a CheckSum whose value begins here: after its delimiter, or at the start of a
/// message. `Some(None)` if the value is too long for a CheckSum; `None` if more bytes are needed.
fn checksum_end(value: &[u8]) -> Option<Option<usize>> {
    let shown = &value[..value.len().min(VALUE_MAX + 1)];
    let delimiter = shown.iter().position(|byte| *byte == SOH);
    let text = &shown[..delimiter.unwrap_or(shown.len())];
    if let Some(begin) = text.windows(BEGIN.len()).position(|window| window == BEGIN) {
        return Some(Some(begin));
    }
    match delimiter {
        Some(len) => Some(Some(len + 1)),
        None if shown.len() > VALUE_MAX => Some(None),
        None => None,
    }
}

/// Returns the offset of the trailer by the BodyLength of the message at the start; 0 if more bytes
/// are needed; `None` if no message begins there.
fn trailer_at(bytes: &[u8]) -> Option<usize> {
    let begin_len = field_len(bytes, b"8=", BEGIN_STRING_MAX)?;
    if begin_len == 0 {
        return Some(0);
    }
    let rest = &bytes[begin_len..];
    let length_len = field_len(rest, b"9=", BODY_LENGTH_MAX)?;
    if length_len == 0 {
        return Some(0);
    }
    let body_len = crate::reader::parse_length(&rest[2..length_len - 1])?;
    Some(begin_len + length_len + body_len)
}

/// Returns the length of the field that must be at the start, including its delimiter; 0 if more
/// bytes are needed; `None` if it is another field or too long.
fn field_len(bytes: &[u8], start: &[u8; 2], value_max: usize) -> Option<usize> {
    let shown = bytes.len().min(start.len());
    if bytes[..shown] != start[..shown] {
        return None;
    }
    let value = &bytes[shown..];
    match value.iter().take(value_max + 1).position(|byte| *byte == SOH) {
        Some(0) => None,
        Some(len) => Some(start.len() + len + 1),
        None => (value.len() <= value_max).then_some(0),
    }
}

/// Returns the number of bytes to drop: up to the next possible start of a message, or all of them.
fn next_begin(bytes: &[u8]) -> usize {
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        let begins = *byte == b'8' && bytes.get(at + 1).is_none_or(|next| *next == b'=');
        if begins && looks_like_begin(&bytes[at..]) {
            return at;
        }
    }
    bytes.len()
}

/// True if the bytes, as far as they go, match the start of a standard BeginString.
fn looks_like_begin(bytes: &[u8]) -> bool {
    let shown = bytes.len().min(BEGIN.len());
    bytes[..shown] == BEGIN[..shown]
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";

    fn messages(mut framer: FixFramer, bytes: &[u8], chunk: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut buffer, mut found, mut garbage) = (Vec::new(), Vec::new(), 0);
        for chunk in bytes.chunks(chunk) {
            buffer.extend_from_slice(chunk);
            loop {
                let len = match framer.step(&buffer) {
                    FramerStep::Message(message) => {
                        found.push(message.to_vec());
                        message.len()
                    }
                    FramerStep::Garbage(len) => {
                        garbage += len;
                        len
                    }
                    FramerStep::NeedMore(len) => {
                        assert!(len > buffer.len());
                        break;
                    }
                };
                assert!(len > 0 || buffer.is_empty());
                if len == 0 {
                    break;
                }
                buffer.drain(..len);
            }
        }
        (found, garbage)
    }

    #[test]
    fn any_split_gives_the_same_messages() {
        let mut stream = GOOD.to_vec();
        stream.extend_from_slice(b"noise8=FIX.8=FIX.4.2\x019=x\x01");
        stream.extend_from_slice(GOOD);
        stream.extend_from_slice(b"8=FIX.4.2\x019=5\x0135=0\x0110=1\x01");
        stream.extend_from_slice(GOOD);
        let whole = messages(FixFramer::default(), &stream, stream.len());
        assert_eq!(whole.0.len(), 4);
        assert_eq!([&whole.0[0], &whole.0[1], &whole.0[3]], [GOOD, GOOD, GOOD]);
        for chunk in 1..stream.len() {
            assert_eq!(messages(FixFramer::default(), &stream, chunk), whole, "{chunk}");
        }
    }

    #[test]
    fn after_garbage_a_message_begins_the_same_however_it_comes() {
        let stream = [b"&=noise8=P\x019=5\x0135=0\x0110=161\x018=8=F".as_slice(), GOOD].concat();
        let whole = messages(FixFramer::default(), &stream, stream.len());
        assert_eq!(whole.0, [GOOD]);
        for chunk in 1..stream.len() {
            assert_eq!(messages(FixFramer::default(), &stream, chunk), whole, "{chunk}");
        }
    }

    #[test]
    fn an_odd_checksum_ends_the_message_at_the_same_place_however_it_comes() {
        let long = b"10=1234567890123456\x01";
        let too_long = b"10=12345678901234567\x01";
        for (sum, first) in [(&b"10=1\x01x\x01"[..], 5), (long, long.len()), (too_long, 0)] {
            let mut stream = b"8=FIX.4.2\x019=5\x0135=0\x01".to_vec();
            let head = stream.len();
            stream.extend_from_slice(sum);
            stream.extend_from_slice(GOOD);
            stream.extend_from_slice(GOOD);
            let (whole, _) = messages(FixFramer::default(), &stream, stream.len());
            for chunk in 1..20 {
                assert_eq!(messages(FixFramer::default(), &stream, chunk).0, whole, "{chunk}");
            }
            let expected = if first == 0 { head + sum.len() } else { head + first };
            assert_eq!(whole[0].len(), expected);
        }
    }

    #[test]
    fn a_body_length_too_short_costs_its_message_only() {
        let wrong = b"8=FIX.4.2\x019=3\x0135=0\x0110=161\x01";
        let stream = [&wrong[..], GOOD].concat();
        let (found, garbage) = messages(FixFramer::default(), &stream, 7);
        assert_eq!((found, garbage), (vec![wrong.to_vec(), GOOD.to_vec()], 0));
    }

    #[test]
    fn a_message_after_one_without_checksum_is_not_lost() {
        let whole = b"8=FIX.4.2\x019=5\x0135=0\x01";
        for trailer in [&b""[..], b"10=", b"10=16", b"1X=161\x01", b"10=\x01", b"10=161"] {
            let stream = [&whole[..], trailer, GOOD, GOOD].concat();
            let (found, _) = messages(FixFramer::default(), &stream, stream.len());
            assert_eq!(&found[found.len() - 2..], [GOOD, GOOD], "{trailer:?}");
            for chunk in 1..stream.len() {
                let (split, _) = messages(FixFramer::default(), &stream, chunk);
                assert_eq!(split, found, "{trailer:?} {chunk}");
            }
        }
    }

    #[test]
    fn a_body_length_that_leads_into_the_next_message_takes_it_with_it() {
        for (body_len, found_count) in [("12", 3), ("22", 2)] {
            let wrong = format!("8=FIX.4.2\u{1}9={body_len}\u{1}35=0\u{1}10=161\u{1}");
            let stream = [wrong.as_bytes(), GOOD, GOOD].concat();
            let (found, garbage) = messages(FixFramer::default(), &stream, 3);
            assert_eq!((found.len(), garbage), (found_count, 0), "{body_len}");
            assert_eq!(found[found_count - 1], GOOD);
        }
    }

    #[test]
    fn a_message_without_end_is_given_up_at_the_limit() {
        let mut framer = FixFramer::new(FixLimits { message_len_max: 100, ..FixLimits::default() });
        let mut bytes = b"8=FIX.4.2\x019=5\x0135=0\x01".to_vec();
        bytes.resize(99, b'x');
        assert_eq!(framer.step(&bytes), FramerStep::NeedMore(100));
        bytes.push(b'x');
        assert_eq!(framer.step(&bytes), FramerStep::Garbage(100));
    }

    #[test]
    fn heads_and_messages_are_as_long_as_they_may_be() {
        let message = |begin: &str, length: &str| {
            format!("8={begin}\u{1}9={length}\u{1}35=0\u{1}10=161\u{1}").into_bytes()
        };
        let is_message = |bytes: &[u8], len_max: usize| {
            let limits = FixLimits { message_len_max: len_max, ..FixLimits::default() };
            FixFramer::new(limits).step(bytes) == FramerStep::Message(bytes)
        };
        let begin = "FIX.4.4-extended";
        assert_eq!(begin.len(), BEGIN_STRING_MAX);
        assert!(is_message(&message(begin, "5"), 1000));
        assert!(!is_message(&message("FIX.4.4-extended!", "5"), 1000));
        assert!(is_message(&message("FIX.4.4", "000000005"), 1000));
        assert!(!is_message(&message("FIX.4.4", "0000000005"), 1000));
        assert!(is_message(GOOD, GOOD.len()));
        assert!(!is_message(GOOD, GOOD.len() - 1));
    }

    #[test]
    fn a_length_above_the_limit_is_garbage_at_once() {
        let mut framer = FixFramer::new(FixLimits { message_len_max: 100, ..FixLimits::default() });
        let bytes = b"8=FIX.4.2\x019=999999999\x0135=0\x01";
        assert_eq!(framer.step(bytes), FramerStep::Garbage(bytes.len()));
        assert_eq!(framer.too_long(bytes), Some(999_999_999 + bytes.len() - 5 + 7));
        assert_eq!(framer.too_long(b"8=FIX.4.2\x019=70\x0135="), None);
        assert_eq!(framer.too_long(b"8=FIX.4.2\x019=99999"), None);
        assert!(matches!(framer.step(b"8=FIX.4.2\x019=70\x0135="), FramerStep::NeedMore(90)));
    }
}
