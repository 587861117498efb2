//! Missing bytes of an incomplete message in a stream.

use crate::limits::Limits;

/// Every field ends with a byte that has this bit, or its length is given before it.
const STOP: u8 = 0x80;
/// Bytes of the longest integer. A longer one is decoded again, because it may be out of range.
const INTEGER_BYTES_MAX: usize = 10;

/// The missing part of an incomplete message: how many bytes at least, and whether the bytes that
/// arrive can complete a field.
///
/// Decoding restarts at the message's first byte, so trying after every byte takes time quadratic
/// in the message's length. Callers that ask [`may_go_on`](Self::may_go_on) first try at most once
/// per field, and far less often for a sequence of many entries.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use tickwire_fast::{Decoder, MissingBytes, Program, Step, TemplateSet};
/// # let xml = "<templates><template name='T' id='1'><byteVector name='v'/></template></templates>";
/// # let mut decoder = Decoder::new(Arc::new(Program::compile(TemplateSet::parse(xml)?)?));
/// let arriving = [0xc0, 0x81, 0x83, b'a', b'b', b'c'];
/// let (mut held, mut missing) = (Vec::new(), MissingBytes::default());
/// let mut tries = 0;
/// for byte in arriving {
///     held.push(byte);
///     if missing.may_go_on(&held) {
///         tries += 1;
///         match decoder.decode_stream(&held)? {
///             Step::Message(decoded) => assert_eq!(decoded.len, 6),
///             Step::NeedMore(still) => missing = still,
///         }
///     }
/// }
/// assert_eq!(tries, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct MissingBytes {
    bytes_min: usize,
    /// Bytes before this offset have been searched for the stop bit that the message waits for.
    searched: usize,
    /// From this length on, decoding is tried with or without a stop bit.
    tried_at: usize,
}

impl Default for MissingBytes {
    /// No bytes yet: a message has at least one.
    fn default() -> Self {
        Self { bytes_min: 1, searched: 0, tried_at: 1 }
    }
}

impl MissingBytes {
    /// Returns the missing part of `input`. A field of known length ends at `field_end`; `owed` is
    /// the least number of bytes after the truncated field.
    pub(super) fn of(input: &[u8], field_end: Option<usize>, owed: usize, limits: &Limits) -> Self {
        let len = input.len();
        let bytes_min = field_end.unwrap_or(0).max(len + 1).saturating_add(owed);
        let tried_at = match field_end {
            Some(_) => bytes_min,
            None => {
                // A field without a stop bit is tried whenever its length has doubled, to detect
                // fields that are too long.
                let open = input.iter().rev().take_while(|&&byte| byte & STOP == 0).count();
                len + open.max(INTEGER_BYTES_MAX)
            }
        };
        // Messages longer than the limit are not waited for.
        let tried_at = tried_at.min(limits.stream_bytes_max.saturating_add(1)).max(bytes_min);
        Self { bytes_min, searched: len, tried_at }
    }

    /// Returns the least length of the message in bytes, including the received ones.
    pub fn bytes_min(&self) -> usize {
        self.bytes_min
    }

    /// True if decoding `input` may get further than before. `input` is the previous input,
    /// followed by all bytes received since.
    pub fn may_go_on(&mut self, input: &[u8]) -> bool {
        if input.len() < self.bytes_min {
            return false;
        }
        if input.len() >= self.tried_at {
            return true;
        }
        let new = input.get(self.searched..).unwrap_or_default();
        self.searched = input.len();
        new.iter().any(|byte| byte & STOP != 0)
    }
}
