//! Bytes before and after the body.
//!
//! Each field includes the delimiter before it, so the delimiter after BodyLength belongs to
//! MsgType.

use crate::digits::{eight, leading_zero_bits, short, short_word, triple};
use crate::raw::{Buffer, Place};
use crate::reader::SOH;

/// Longest BeginString: with `8=` and the delimiter it takes two words.
const BEGIN_STRING_MAX: usize = 13;
/// Length of `8=`, BeginString and the delimiter at most.
const BEGIN_LEN_MAX: usize = 16;
/// Room for the above and `9=` and nine digits.
pub(super) const HEAD_MAX: usize = BEGIN_LEN_MAX + 11;
/// Largest BodyLength.
const BODY_LEN_MAX: u32 = 999_999_999;
/// Digits of a BodyLength that lies in one word with `9=`.
const SHORT_LENGTH_DIGITS: u32 = 6;
/// Length of `10=nnn` and the delimiters before and after it.
const TRAILER_LEN: usize = 8;

/// `8=`, BeginString and a delimiter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// In the last bytes of sixteen.
    text: u128,
    len: usize,
}

impl Begin {
    /// The start of a message; a text that is too long is kept as none.
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

/// Puts BeginString and BodyLength before the body, which ends at `end`, and CheckSum after it. Returns the
/// message; `None` if it does not fit.
#[inline(always)]
pub(super) fn finish<'b>(out: Buffer<'b>, end: Place, begin: Begin) -> Option<&'b mut [u8]> {
    // The delimiter before MsgType does not count, and that of the last field is still to come.
    let body_len = end.at().checked_sub(HEAD_MAX)?;
    if !out.pen().has_room(end) || body_len > BODY_LEN_MAX as usize || begin.len == 0 {
        return None;
    }
    let (length, digits) = length(body_len as u32);
    let put = |at, text: u128| {
        out.pen().put(Place::new(at), [(0, text as u64), (8, (text >> 64) as u64)], 0)
    };
    // Both texts end their sixteen bytes, and what is too much lies before: the later begins.
    let _ = put(HEAD_MAX - 16, length);
    let length_at = HEAD_MAX - (digits + 2);
    let _ = put(length_at - BEGIN_LEN_MAX, begin.text);
    // The message is summed in windows, with zeros after it.
    let _ = out.pen().put(end, [(0, 0), (8, 0), (16, 0), (24, 0)], 0);
    let start = length_at - begin.len;
    let sum = out.sum(start, end)?.wrapping_add(SOH);
    let tag = u64::from_le_bytes([SOH, b'1', b'0', b'=', 0, 0, 0, SOH]);
    let _ = out.pen().put(end, [(0, tag | u64::from(triple(sum.into())) << 32)], 0);
    out.finish().get_mut(start..end.at() + TRAILER_LEN)
}

/// Returns `9=` and the length as the last bytes of sixteen, and how many digits it has.
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
    // Six digits end the word; zeros before the first digit are cut.
    let text = eight(body_len);
    let cut = leading_zero_bits(text);
    let digits = 8 - cut / 8;
    let text = text >> cut << cut;
    let tag = u64::from(u16::from_le_bytes(*b"9=")) << (8 * (SHORT_LENGTH_DIGITS - digits));
    (u128::from(text | tag) << 64, digits as usize)
}

/// The same for seven and more digits.
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
