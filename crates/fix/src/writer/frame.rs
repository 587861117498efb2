//! The parts before and after the body.
//!
//! Each field begins with the delimiter of the one before it, so the delimiter after BodyLength
//! belongs to MsgType.

use crate::digits::{eight, leading_zero_bits, short, short_word, triple};
use crate::raw::{Buffer, BufferOffset};
use crate::reader::SOH;

/// Maximum length of BeginString: with `8=` and the delimiter it takes two words.
const BEGIN_STRING_MAX: usize = 13;
/// Maximum length of `8=`, BeginString and the delimiter.
const BEGIN_LEN_MAX: usize = 16;
/// Space for these and for `9=` with nine digits.
pub(super) const HEAD_MAX: usize = BEGIN_LEN_MAX + 11;
/// Largest BodyLength.
const BODY_LEN_MAX: u32 = 999_999_999;
/// Maximum number of digits of a BodyLength that shares a word with `9=`.
const SHORT_LENGTH_DIGITS: u32 = 6;
/// Length of `10=nnn` and the delimiters before and after it.
const TRAILER_LEN: usize = 8;

/// `8=`, BeginString and a delimiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// The text, in the last bytes of sixteen.
    text: u128,
    len: usize,
}

impl Begin {
    /// Creates the start of a message; a text that is too long is stored as empty.
    #[inline(always)]
    pub(super) fn new(text: &[u8]) -> Self {
        if text.len() > BEGIN_STRING_MAX {
            return Self { text: 0, len: 0 };
        }
        let len = text.len() + 3;
        let (low, high) = text.split_at(text.len().min(8));
        let text = u128::from(short_word(low)) | u128::from(short_word(high)) << 64;
        let whole = u128::from(u16::from_le_bytes(*b"8=")) | text << 16;
        let whole = whole | u128::from(SOH) << (8 * (len - 1));
        Self { text: whole << (8 * (BEGIN_LEN_MAX - len)), len }
    }
}

/// Writes BeginString and BodyLength before the body, which ends at `end`, and CheckSum after it.
/// Returns the message; `None` if it does not fit.
#[inline(always)]
pub(super) fn finish<'b>(out: Buffer<'b>, end: BufferOffset, begin: Begin) -> Option<&'b mut [u8]> {
    // The delimiter before MsgType does not count; that of the last field is not written yet.
    let body_len = end.at().checked_sub(HEAD_MAX)?;
    if !out.pen().has_room(end) || body_len > BODY_LEN_MAX as usize || begin.len == 0 {
        return None;
    }
    let (length, digits) = length(body_len as u32);
    let put = |at, text: u128| {
        out.pen().put(BufferOffset::new(at), [(0, text as u64), (8, (text >> 64) as u64)], 0)
    };
    // Both texts end their sixteen bytes, with excess bytes before them. The length is written
    // first; BeginString then overwrites its excess.
    let _ = put(HEAD_MAX - 16, length);
    let length_at = HEAD_MAX - (digits + 2);
    let _ = put(length_at - BEGIN_LEN_MAX, begin.text);
    // The message is summed in windows; zeros after it keep the sum correct.
    let _ = out.pen().put(end, [(0, 0), (8, 0), (16, 0), (24, 0)], 0);
    let start = length_at - begin.len;
    let sum = out.sum(start, end)?.wrapping_add(SOH);
    let tag = u64::from_le_bytes([SOH, b'1', b'0', b'=', 0, 0, 0, SOH]);
    let _ = out.pen().put(end, [(0, tag | u64::from(triple(sum.into())) << 32)], 0);
    out.finish().get_mut(start..end.at() + TRAILER_LEN)
}

/// Returns `9=` and the length as the last bytes of sixteen, and its number of digits.
#[inline(always)]
fn length(body_len: u32) -> (u128, usize) {
    if body_len > 999_999 {
        return long_length(body_len);
    }
    if body_len < 1000 {
        let (text, digits) = short(body_len);
        let text = u64::from(u16::from_le_bytes(*b"9=")) | text << 16;
        return (u128::from(text << ((8 * (6 - digits)) & 63)) << 64, digits);
    }
    // Six digits end the word; leading zeros are cut.
    let text = eight(body_len);
    let cut = leading_zero_bits(text);
    let digits = 8 - cut / 8;
    let text = text >> cut << cut;
    let tag = u64::from(u16::from_le_bytes(*b"9=")) << (8 * (SHORT_LENGTH_DIGITS - digits));
    (u128::from(text | tag) << 64, digits as usize)
}

/// As `length`, for seven or more digits.
#[cold]
fn long_length(body_len: u32) -> (u128, usize) {
    let (mut text, mut rest, mut digits) = (0, body_len, 0);
    while rest > 0 {
        text |= u128::from(b'0' + (rest % 10) as u8) << (120 - 8 * digits);
        rest /= 10;
        digits += 1;
    }
    let tag = u128::from(u16::from_le_bytes(*b"9="));
    (text | tag << (112 - 8 * digits), digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_number_of_digits() {
        for len in [
            0,
            9,
            10,
            99,
            100,
            143,
            999,
            1000,
            9999,
            10_000,
            99_999,
            100_000,
            999_999,
            1_000_000,
            BODY_LEN_MAX,
        ] {
            let (text, digits) = length(len);
            let expected = format!("9={len}");
            assert_eq!(digits, expected.len() - 2);
            let bytes = text.to_le_bytes();
            let (before, found) = bytes.split_at(16 - expected.len());
            assert_eq!(found, expected.as_bytes());
            assert!(before.iter().all(|byte| *byte == 0));
        }
    }
}
