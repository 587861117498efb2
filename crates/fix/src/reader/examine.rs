//! Decoding of messages with a faulty frame, for inspection.

use std::fmt;

use super::{FieldScanner, FixMessage, Reader, TRAILER_LEN, portable};
use crate::error::{FixError, FixErrorKind};

/// A fault in the frame of a message. A session ignores such a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// BodyLength differs from the length of the body.
    BodyLength {
        /// The value in the message.
        found: Vec<u8>,
        /// The actual length.
        expected: usize,
    },
    /// CheckSum differs from the sum of the bytes.
    CheckSum {
        /// The value in the message.
        found: Vec<u8>,
        /// The actual sum.
        expected: u8,
    },
    /// The last field is not CheckSum.
    CheckSumMissing,
}

impl fmt::Display for FrameFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BodyLength { found, expected } => {
                write!(out, "BodyLength (9) is {}, expected {expected}", found.escape_ascii())
            }
            Self::CheckSum { found, expected } => {
                write!(out, "CheckSum (10) is {}, expected {expected:03}", found.escape_ascii())
            }
            Self::CheckSumMissing => out.write_str("the message does not end with CheckSum (10)"),
        }
    }
}

impl Reader {
    /// Finds the fields of a message from `8=` to a last delimiter, and the faults of its frame.
    /// For inspection: sessions must ignore messages that [`Reader::decode`] refuses.
    ///
    /// # Errors
    /// [`FixErrorKind::HeaderOrder`]: the message does not begin with BeginString, BodyLength and
    /// MsgType, or does not end with a delimiter. [`FixErrorKind::FieldCount`],
    /// [`FixErrorKind::MessageLength`].
    pub fn examine<'b>(
        &mut self,
        bytes: &'b [u8],
    ) -> Result<(FixMessage<'b, '_>, Vec<FrameFault>), FixError> {
        let FieldScanner { limits, data_fields, .. } = &self.scanner;
        if bytes.len() > limits.message_len_max {
            return Err(FixError::new(FixErrorKind::MessageLength, 0, bytes.len()));
        }
        portable::scan(bytes, &mut self.index, data_fields, limits.fields_max)?;
        let index = &self.index;
        let &[8, 9, 35, ..] = index.tags() else {
            return Err(FixError::new(FixErrorKind::HeaderOrder, 0, 0));
        };
        let last = index.len() - 1;
        let has_sum = index.tags()[last] == 10;
        let trailer = if has_sum { index.start(last) } else { bytes.len() };
        let mut faults = Vec::new();
        let (found, expected) = (index.value(1, bytes), trailer - index.start(2));
        if super::parse_length(found) != Some(expected) {
            faults.push(FrameFault::BodyLength { found: found.to_vec(), expected });
        }
        let sum = bytes.iter().take(trailer).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        let found = index.value(last, bytes);
        if !has_sum {
            faults.push(FrameFault::CheckSumMissing);
        } else if bytes.len() - trailer != TRAILER_LEN || found != format!("{sum:03}").as_bytes() {
            faults.push(FrameFault::CheckSum { found: found.to_vec(), expected: sum });
        }
        Ok((FixMessage::new(bytes, &self.index), faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Result<Vec<String>, FixErrorKind> {
        let bytes = text.replace('|', "\u{1}");
        let mut reader = Reader::new();
        let examined = reader.examine(bytes.as_bytes());
        examined
            .map(|(_, faults)| faults.iter().map(ToString::to_string).collect())
            .map_err(|error| error.kind)
    }

    #[test]
    fn what_is_wrong_with_a_frame_is_told_beside_the_fields() {
        assert_eq!(faults("8=FIX.4.2|9=5|35=0|10=161|"), Ok(vec![]));
        let one = |text, wanted: &str| assert_eq!(faults(text), Ok(vec![wanted.to_owned()]));
        one("8=FIX.4.2|9=5|35=0|10=162|", "CheckSum (10) is 162, expected 161");
        one("8=FIX.4.2|9=5|35=0|", "the message does not end with CheckSum (10)");
        let both = "8=FIX.4.2|9=x|35=0|10=1|";
        let wanted = ["BodyLength (9) is x, expected 5", "CheckSum (10) is 1, expected 228"];
        assert_eq!(faults(both), Ok(wanted.map(str::to_owned).to_vec()));
        for text in ["", "8=FIX.4.2|35=0|9=5|10=161|", "8=FIX.4.2|9=5|35=0|10=161"] {
            assert_eq!(faults(text), Err(FixErrorKind::HeaderOrder), "{text}");
        }
    }

    #[test]
    fn whatever_is_right_is_right_here_too() {
        let text = "8=FIX.4.2|9=5|35=0|10=161|";
        for at in 0..text.len() {
            for byte in [b'0', b'9', b'=', 1] {
                let mut bytes = text.replace('|', "\u{1}").into_bytes();
                bytes[at] = byte;
                let is_right = Reader::new().decode(&bytes).is_ok();
                let examined =
                    Reader::new().examine(&bytes).is_ok_and(|(_, faults)| faults.is_empty());
                assert_eq!(examined, is_right, "{}", bytes.escape_ascii());
            }
        }
    }
}
