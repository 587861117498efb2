//! Text messages whose fields are separated in several ways, as where parts of a line were edited by hand.

use crate::SOH;
use crate::scanner::{SEPARATOR, SOH_FORMS};
use regex::bytes::Regex;

/// Tags whose values hold no separator: BeginString, BodyLength, MsgSeqNum, MsgType, SenderCompID,
/// SendingTime, TargetCompID.
const PLAIN: [&[u8]; 7] = [b"8", b"9", b"34", b"35", b"49", b"52", b"56"];

/// Recognizes and splits such messages.
#[derive(Debug)]
pub struct Mixed {
    /// Any separator and the field behind it.
    any: Regex,
    /// A way to write SOH and the field behind it.
    soh: Regex,
}

/// The fields of one message.
pub struct Split {
    /// Each followed by SOH.
    pub bytes: Vec<u8>,
    /// Bytes of the text that it takes.
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

    /// True if fields that were split by one separator hold others: a value that has none of its own holds
    /// any, or another one holds what stands for SOH.
    pub fn is_in(&self, fields: &[u8]) -> bool {
        fields.split(|byte| *byte == SOH).any(|field| {
            let tag = field.split(|byte| *byte == b'=').next().unwrap_or_default();
            let pattern = if PLAIN.contains(&tag) { &self.any } else { &self.soh };
            pattern.is_match(field)
        })
    }

    /// Splits the message at the start of `line`, which ends before another one. `close` cuts its last value.
    pub fn split(&self, line: &[u8], close: impl Fn(&[u8]) -> &[u8]) -> Split {
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
        Split { bytes, len, has_check_sum: digits.is_some() }
    }
}
