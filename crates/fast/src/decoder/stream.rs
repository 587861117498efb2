//! What a stream still lacks of a message that is cut.

use crate::limits::Limits;

/// Every field ends with a byte that has this bit, or with bytes that a length before it counts.
const STOP: u8 = 0x80;
/// Bytes of the longest integer: one that goes on behind them is looked at again, as it may be out of range.
const INTEGER_BYTES_MAX: usize = 10;

/// What is missing of a message that a stream has only the beginning of: how many bytes at least, and whether what arrives
/// can make a difference.
///
/// Decoding begins again at the message's first byte, so a caller that tries after every byte does work that grows with the
/// square of the message's length. One that asks [`may_go_on`](Self::may_go_on) first tries at most once a field, and for a
/// sequence of many entries far less often.
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
    /// Bytes before this are known to hold no stop bit that the message waits for.
    searched: usize,
    /// From here on decoding is tried whether there is a stop bit or not.
    tried_at: usize,
}

impl Default for MissingBytes {
    /// Nothing has arrived: a message has at least a byte.
    fn default() -> Self {
        Self { bytes_min: 1, searched: 0, tried_at: 1 }
    }
}

impl MissingBytes {
    /// What `input` lacks. A field whose length is known ends at `field_end`; `owed` is the least count of bytes
    /// behind the field that is cut.
    pub(super) fn of(input: &[u8], field_end: Option<usize>, owed: usize, limits: &Limits) -> Self {
        let len = input.len();
        let bytes_min = field_end.unwrap_or(0).max(len + 1).saturating_add(owed);
        let tried_at = match field_end {
            Some(_) => bytes_min,
            None => {
                // A field without end is tried whenever it has doubled, so that one that is too long is found.
                let open = input.iter().rev().take_while(|&&byte| byte & STOP == 0).count();
                len + open.max(INTEGER_BYTES_MAX)
            }
        };
        // Whatever is longer than the limit is not waited for.
        let tried_at = tried_at.min(limits.stream_bytes_max.saturating_add(1)).max(bytes_min);
        Self { bytes_min, searched: len, tried_at }
    }

    /// The least count of bytes that the message has, those that are there included.
    pub fn bytes_min(&self) -> usize {
        self.bytes_min
    }

    /// Whether decoding `input` can come further than it did: `input` is what was decoded and all that has arrived behind it.
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
