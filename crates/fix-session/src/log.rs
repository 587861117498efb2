//! The message log: one line per message, with time and direction.
//!
//! `20240305-08:00:00.123456789 < 8=FIX.4.4|9=...`, where the delimiters are SOH as on the wire.
//! `<` marks received messages, `>` sent ones. Backslashes and control characters other than the
//! delimiter are escaped (`
//! `, `\r`, `\\`, `\x1b`), so a peer cannot break a line. Secrets are replaced (see `redact`).

mod redact;

use std::borrow::Cow;

use tickwire_fix::UtcTimestamp;
use tickwire_fix::reader::SOH;

use self::redact::redacted;
use crate::now::Now;

/// Bytes before the message: time, space, direction, space.
const HEAD_LEN: usize = 30;

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It arrived.
    In,
    /// It was sent.
    Out,
}

/// Adds a line to a log.
pub(crate) fn push_line(log: &mut Vec<u8>, now: Now, direction: Direction, message: &[u8]) {
    use std::io::Write;
    let at = UtcTimestamp::from_unix_nanos(now.wall_ns);
    let (date, time) = (at.date, at.time);
    let sign = if direction == Direction::In { '<' } else { '>' };
    // Writing into memory does not fail.
    let _ = write!(
        log,
        "{:04}{:02}{:02}-{:02}:{:02}:{:02}.{:09} {sign} ",
        date.year(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.picos() / 1000
    );
    escape(&redacted(message), log);
    log.push(b'\n');
}

/// True if a byte is written unchanged.
const fn is_plain(byte: u8) -> bool {
    byte == SOH || byte >= 0x20 && byte != b'\\' && byte != 0x7F
}

fn escape(message: &[u8], log: &mut Vec<u8>) {
    let mut rest = message;
    while let Some(at) = rest.iter().position(|byte| !is_plain(*byte)) {
        log.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => log.extend_from_slice(b"\\n"),
            b'\r' => log.extend_from_slice(b"\\r"),
            b'\\' => log.extend_from_slice(b"\\\\"),
            other => log.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    log.extend_from_slice(rest);
}

/// Undoes `escape`; a backslash before any other byte is kept.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let (mut message, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        message.extend_from_slice(&rest[..at]);
        let (byte, len) = match &rest[at + 1..] {
            [b'n', ..] => (b'\n', 2),
            [b'r', ..] => (b'\r', 2),
            [b'\\', ..] => (b'\\', 2),
            [b'x', high, low, ..] => match std::str::from_utf8(&[*high, *low]) {
                Ok(digits) => u8::from_str_radix(digits, 16).map_or((b'\\', 1), |byte| (byte, 4)),
                Err(_) => (b'\\', 1),
            },
            _ => (b'\\', 1),
        };
        message.push(byte);
        rest = &rest[at + len..];
    }
    message.extend_from_slice(rest);
    Cow::Owned(message)
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine<'l> {
    /// When, as written.
    pub time: &'l str,
    /// Direction of the message.
    pub direction: Direction,
    /// The message.
    pub message: Cow<'l, [u8]>,
    /// The message as the line has it, escaped.
    pub escaped: &'l [u8],
}

impl<'l> LogLine<'l> {
    /// Parses a line without its end.
    pub fn parse(line: &'l [u8]) -> Option<Self> {
        let (head, message) = line.split_at_checked(HEAD_LEN)?;
        let (time, sign) = std::str::from_utf8(head).ok()?.split_once(' ')?;
        let direction = match sign.trim_end() {
            "<" => Direction::In,
            ">" => Direction::Out,
            _ => return None,
        };
        let is_time = time.len() == 27 && time.as_bytes().get(8) == Some(&b'-');
        let escaped = message;
        is_time.then(|| Self { time, direction, message: unescape(message), escaped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Now = Now { wall_ns: 1_709_625_600_123_456_789, steady_ns: 0 };

    fn line_of(message: &[u8]) -> Vec<u8> {
        let mut log = Vec::new();
        push_line(&mut log, NOW, Direction::Out, message);
        log
    }

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let message = b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";
        let log = line_of(message);
        let line = LogLine::parse(log.strip_suffix(b"\n").expect("a line")).expect("parses");
        assert_eq!(line.time, "20240305-08:00:00.123456789");
        assert_eq!((line.direction, &*line.message), (Direction::Out, &message[..]));
        assert_eq!(LogLine::parse(b"something else that is long enough to be one"), None);
    }

    #[test]
    fn a_message_cannot_forge_a_line() {
        let forged = b"x\n20240305-08:00:00.123456789 > 8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";
        let message = [b"8=FIX.4.2\x0135=B\x0195=70\x0196=", &forged[..], b"\x01"].concat();
        let log = line_of(&message);
        assert_eq!(log.iter().filter(|byte| **byte == b'\n').count(), 1);
        let line = LogLine::parse(log.strip_suffix(b"\n").expect("a line")).expect("parses");
        assert_eq!(*line.message, *message);
        assert!(!line_of(b"8=FIX.4.2\x0158=\x1b[2J\x07\x01").contains(&0x1B), "no terminal codes");
    }

    proptest! {
        #[test]
        fn any_message_is_one_line_and_comes_back(message in "([a-z0-9=\\\\\n\r\x01\x1b]{0,4}|\\\\x4)*") {
            let log = line_of(message.as_bytes());
            let line = log.strip_suffix(b"\n").expect("a line");
            prop_assert!(!line.contains(&b'\n'));
            let parsed = LogLine::parse(line).expect("parses");
            if redacted(message.as_bytes()) == message.as_bytes() {
                prop_assert_eq!(&*parsed.message, message.as_bytes());
            }
        }
    }
}
