//! Text messages with several separators, such as lines that were partly edited by hand.

use crate::SOH;
use crate::scanner::{SEPARATOR, SOH_FORMS};
use regex::bytes::Regex;

/// Tags whose values contain no separator: BeginString, BodyLength, MsgSeqNum, MsgType,
/// SenderCompID, SendingTime, TargetCompID.
const PLAIN: [&[u8]; 7] = [b"8", b"9", b"34", b"35", b"49", b"52", b"56"];

/// Detects and splits such messages.
#[derive(Debug)]
pub struct Mixed {
    /// Any separator followed by a field.
    any: Regex,
    /// A form of SOH followed by a field.
    soh: Regex,
}

/// The fields of one message.
pub struct SplitMessage {
    /// The fields, each followed by SOH.
    pub bytes: Vec<u8>,
    /// Length in the text, in bytes.
    pub len: usize,
    /// True if it ends with CheckSum.
    pub has_check_sum: bool,
}

impl Mixed {
    pub fn new() -> Self {
        let make = |separator: &str| {
            Regex::new(&format!(r"(?i-u)({separator})\d{{1,9}}=")).expect("a right pattern")
        };
        Self { any: make(SEPARATOR), soh: make(SOH_FORMS) }
    }

    /// True if fields that were split by one separator contain others: any separator in a value
    /// that cannot contain one, or a form of SOH in another value.
    pub fn is_in(&self, fields: &[u8]) -> bool {
        fields.split(|byte| *byte == SOH).any(|field| {
            let tag = field.split(|byte| *byte == b'=').next().unwrap_or_default();
            let pattern = if PLAIN.contains(&tag) { &self.any } else { &self.soh };
            pattern.is_match(field)
        })
    }

    /// Splits the message at the start of `line`, which ends before another one. `close` truncates
    /// its last value.
    pub fn split(&self, line: &[u8], close: impl Fn(&[u8]) -> &[u8]) -> SplitMessage {
        let (mut bytes, mut at) = (Vec::new(), 0);
        let mut separators = Vec::new();
        for found in self.any.captures_iter(line).filter_map(|found| found.get(1)) {
            if line[at..].starts_with(b"10=") {
                break;
            }
            bytes.extend_from_slice(&line[at..found.start()]);
            bytes.push(SOH);
            separators.push(found.as_bytes());
            at = found.end();
        }
        let last = &line[at..];
        let digits = last
            .strip_prefix(b"10=")
            .map(|value| value.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let value = match digits {
            Some(digits) => &last[..3 + digits],
            None => {
                let value = close(last).trim_ascii_end();
                let ends = separators.iter().find_map(|end| value.strip_suffix(end.trim_ascii()));
                ends.unwrap_or(value)
            }
        };
        bytes.extend_from_slice(value);
        bytes.push(SOH);
        let len = digits.map_or(line.len(), |digits| at + 3 + digits);
        SplitMessage { bytes, len, has_check_sum: digits.is_some() }
    }
}
