//! The message log: a line a message, with time and direction.
//!
//! `20240305-08:00:00.123456789 < 8=FIX.4.4|9=...`, delimiters as they are. `<` arrived, `>` was sent.

use tickwire_fix::UtcTimestamp;

use crate::now::Now;

/// Bytes before the message: time, space, direction, space.
const HEAD_LEN: usize = 30;

/// Which way a message went.
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
    log.extend_from_slice(message);
    log.push(b'\n');
}

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLine<'l> {
    /// When, as written.
    pub time: &'l str,
    /// Which way.
    pub direction: Direction,
    /// The message.
    pub message: &'l [u8],
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
        is_time.then_some(Self { time, direction, message })
    }

    /// Whether the message ends as messages do; one whose data hold line ends goes on in the next line.
    pub fn is_whole(&self) -> bool {
        let tail = self.message.len().saturating_sub(8);
        let tail = self.message.get(tail..).unwrap_or_default();
        tail.starts_with(b"\x0110=") && tail.ends_with(b"\x01")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let mut log = Vec::new();
        let now = Now { wall_ns: 1_709_625_600_123_456_789, steady_ns: 0 };
        let message = b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";
        push_line(&mut log, now, Direction::Out, message);
        let line = LogLine::parse(log.strip_suffix(b"\n").expect("a line")).expect("parses");
        assert_eq!(line.time, "20240305-08:00:00.123456789");
        assert_eq!((line.direction, line.message), (Direction::Out, &message[..]));
        assert!(line.is_whole());
        assert_eq!(LogLine::parse(b"something else that is long enough to be one"), None);
    }
}
