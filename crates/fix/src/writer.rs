//! The writer: a message into the caller's buffer, its sum carried along.
//!
//! The body is written first, after room for the longest start; BeginString and BodyLength are put
//! before it when the length is known. So nothing is moved and nothing is read twice. Errors are kept
//! until [`Writer::finish`]: a field that does not fit is not written, nor is any after it.

use crate::digits::triple;
use crate::error::{Error, ErrorKind};
use crate::reader::SOH;
use crate::tag::Tag;
use crate::value::{Decimal, LocalMktDate, Precision, UtcTime, UtcTimestamp};

/// Longest BeginString.
const BEGIN_STRING_MAX: usize = 16;
/// Room for `8=`, BeginString, `9=`, nine digits and two delimiters.
const HEAD_MAX: usize = BEGIN_STRING_MAX + 15;
/// Bytes that a short field may write beyond its end, to be written over by the next.
const SLACK: usize = 16;
/// Length of `10=nnn` and its delimiter.
const TRAILER_LEN: usize = 7;

/// A tag and `=` as text, made at compile time: `const SIDE: TagText = TagText::new(Tag(54));`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagText {
    /// Text, first digit in the lowest byte.
    text: u64,
    len: u8,
    sum: u16,
    tag: Tag,
}

impl TagText {
    /// Creates the text of a tag. Digits above the seventh are cut: no dictionary has such tags.
    pub const fn new(tag: Tag) -> Self {
        let (mut text, mut sum, mut len) = (b'=' as u64, b'=' as u16, 1);
        let mut rest = tag.0 % 10_000_000;
        loop {
            let digit = b'0' as u64 + (rest % 10) as u64;
            text = text << 8 | digit;
            sum += digit as u16;
            len += 1;
            rest /= 10;
            if rest == 0 {
                return Self { text, len, sum, tag };
            }
        }
    }
}

impl From<Tag> for TagText {
    #[inline]
    fn from(tag: Tag) -> Self {
        Self::new(tag)
    }
}

/// Writes one message.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut [u8],
    at: usize,
    sum: u32,
    full: bool,
    begin_string: [u8; BEGIN_STRING_MAX],
    begin_len: usize,
}

impl<'b> Writer<'b> {
    /// Bytes that the buffer must have beyond the message itself.
    pub const OVERHEAD: usize = HEAD_MAX + SLACK;

    /// Starts a message with BeginString, at most 16 bytes, and MsgType.
    ///
    /// `out` must be [`Writer::OVERHEAD`] longer than the message.
    #[inline]
    pub fn new(out: &'b mut [u8], begin_string: &str, msg_type: &str) -> Self {
        let mut kept = [0; BEGIN_STRING_MAX];
        let begin_len = begin_string.len();
        let full = match kept.get_mut(..begin_len) {
            Some(slot) => {
                slot.copy_from_slice(begin_string.as_bytes());
                false
            }
            None => true,
        };
        let mut writer = Self { out, at: HEAD_MAX, sum: 0, full, begin_string: kept, begin_len };
        const MSG_TYPE: TagText = TagText::new(Tag::MSG_TYPE);
        writer.bytes(MSG_TYPE, msg_type.as_bytes());
        writer
    }

    /// Makes sure of room for `len` bytes and the trailer.
    #[inline(always)]
    fn room(&mut self, len: usize) -> bool {
        let fits =
            !self.full && self.out.len().saturating_sub(self.at) >= len + TRAILER_LEN + SLACK;
        self.full = !fits;
        fits
    }

    /// Writes eight bytes of which `len` count; `sum` is of those.
    #[inline(always)]
    fn word(&mut self, word: u64, len: usize, sum: u32) {
        if let Some(slot) = self.out.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut::<8>())
        {
            *slot = word.to_le_bytes();
        }
        self.at += len;
        self.sum = self.sum.wrapping_add(sum);
    }

    #[inline(always)]
    fn tag(&mut self, tag: TagText) {
        self.word(tag.text, usize::from(tag.len), u32::from(tag.sum));
    }

    #[inline(always)]
    fn delimiter(&mut self) {
        self.word(u64::from(SOH), 1, u32::from(SOH));
    }

    /// Writes bytes as they are: text, data, or a value made elsewhere.
    ///
    /// Whoever writes text makes sure that it holds no delimiter and is not empty.
    #[inline]
    pub fn bytes(&mut self, tag: impl Into<TagText>, value: &[u8]) {
        let tag = tag.into();
        if !self.room(value.len() + 10) {
            return;
        }
        self.tag(tag);
        let (words, rest) = value.as_chunks::<8>();
        for word in words {
            let word = u64::from_le_bytes(*word);
            self.word(word, 8, sum_of(word));
        }
        let word = short_word(rest);
        self.word(word | u64::from(SOH) << (8 * rest.len()), rest.len() + 1, sum_of(word) + 1);
    }

    /// Writes text.
    #[inline]
    pub fn str(&mut self, tag: impl Into<TagText>, value: &str) {
        self.bytes(tag, value.as_bytes());
    }

    /// Writes a data field after its length field.
    pub fn data(&mut self, length: impl Into<TagText>, data: impl Into<TagText>, value: &[u8]) {
        self.uint(length, value.len() as u64);
        self.bytes(data, value);
    }

    /// Writes one character.
    #[inline]
    pub fn char(&mut self, tag: impl Into<TagText>, value: u8) {
        if self.room(12) {
            self.tag(tag.into());
            let word = u64::from(value) | u64::from(SOH) << 8;
            self.word(word, 2, u32::from(value) + 1);
        }
    }

    /// Writes `Y` or `N`.
    #[inline]
    pub fn boolean(&mut self, tag: impl Into<TagText>, value: bool) {
        self.char(tag, if value { b'Y' } else { b'N' });
    }

    /// Writes an integer.
    #[inline]
    pub fn int(&mut self, tag: impl Into<TagText>, value: i64) {
        if self.room(30) {
            self.tag(tag.into());
            self.sign(value < 0);
            self.digits(value.unsigned_abs());
            self.delimiter();
        }
    }

    /// Writes a length, count, NumInGroup or sequence number.
    #[inline]
    pub fn uint(&mut self, tag: impl Into<TagText>, value: u64) {
        if self.room(30) {
            self.tag(tag.into());
            self.digits(value);
            self.delimiter();
        }
    }

    /// Writes a decimal with just the digits it has.
    #[inline]
    pub fn decimal(&mut self, tag: impl Into<TagText>, value: Decimal) {
        if self.full || !self.room(tag_len(value)) {
            return;
        }
        self.tag(tag.into());
        self.sign(value.mantissa < 0);
        let digits = value.mantissa.unsigned_abs();
        match -i32::from(value.exponent) {
            0 => self.digits(digits),
            1 => self.split(digits, 10, 1),
            2 => self.split(digits, 100, 2),
            3 => self.split(digits, 1000, 3),
            4 => self.split(digits, 10_000, 4),
            places @ 5..20 => {
                self.split(digits, 10_u64.saturating_pow(places as u32), places as u32)
            }
            places @ 20.. => {
                self.word(u64::from_le_bytes(*b"0.\0\0\0\0\0\0"), 2, 0x30 + 0x2E);
                self.zeros(places as u32 - 20);
                self.padded(digits, 20);
            }
            places => {
                self.digits(digits);
                self.zeros(if digits == 0 { 0 } else { places.unsigned_abs() });
            }
        }
        self.delimiter();
    }

    /// Writes a UTCTimestamp.
    #[inline]
    pub fn utc_timestamp(
        &mut self,
        tag: impl Into<TagText>,
        value: UtcTimestamp,
        precision: Precision,
    ) {
        if self.room(48) {
            self.tag(tag.into());
            self.day(value.date);
            self.word(u64::from(b'-'), 1, u32::from(b'-'));
            self.time_of_day(value.time, precision);
            self.delimiter();
        }
    }

    /// Writes a UTCTimeOnly.
    #[inline]
    pub fn utc_time(&mut self, tag: impl Into<TagText>, value: UtcTime, precision: Precision) {
        if self.room(40) {
            self.tag(tag.into());
            self.time_of_day(value, precision);
            self.delimiter();
        }
    }

    /// Writes a UTCDateOnly or LocalMktDate.
    #[inline]
    pub fn date(&mut self, tag: impl Into<TagText>, value: LocalMktDate) {
        if self.room(24) {
            self.tag(tag.into());
            self.day(value);
            self.delimiter();
        }
    }

    /// Puts BeginString and BodyLength before, and CheckSum after, and returns the message.
    ///
    /// # Errors
    /// [`ErrorKind::BufferFull`] if a field did not fit.
    #[inline]
    pub fn finish(mut self) -> Result<&'b [u8], Error> {
        if self.full || !self.room(0) {
            return Err(Error::new(ErrorKind::BufferFull, 0, self.at));
        }
        let (end, body_len) = (self.at, self.at - HEAD_MAX);
        if body_len > 999_999_999 {
            return Err(Error::new(ErrorKind::BufferFull, 0, self.at));
        }
        let length_len = digit_count(body_len as u64);
        let start = HEAD_MAX - (6 + self.begin_len + length_len);
        self.at = start;
        self.word(u64::from(u16::from_le_bytes(*b"8=")), 2, 0x38 + 0x3D);
        for byte in 0..self.begin_len {
            let byte = self.begin_string[byte];
            self.word_byte(byte);
        }
        for byte in [SOH, b'9', b'='] {
            self.word_byte(byte);
        }
        // Byte by byte from here: what follows is the body, which must not be written over.
        let mut power = 10_usize.pow(length_len as u32 - 1);
        while power > 0 {
            self.word_byte(b'0' + (body_len / power % 10) as u8);
            power /= 10;
        }
        self.word_byte(SOH);
        self.at = end;
        let sum = triple(self.sum & 0xFF).text;
        let trailer = u64::from(u32::from_le_bytes(*b"10=\0")) | u64::from(sum) << 24;
        self.word(trailer | u64::from(SOH) << 48, TRAILER_LEN, 0);
        let Self { out, at, .. } = self;
        Ok(out.get(start..at).unwrap_or_default())
    }

    #[inline(always)]
    fn word_byte(&mut self, byte: u8) {
        if let Some(slot) = self.out.get_mut(self.at) {
            *slot = byte;
        }
        self.at += 1;
        self.sum = self.sum.wrapping_add(u32::from(byte));
    }

    #[inline(always)]
    fn sign(&mut self, negative: bool) {
        if negative {
            self.word(u64::from(b'-'), 1, u32::from(b'-'));
        }
    }

    /// Writes a number below 1000 without leading zeros.
    #[inline(always)]
    fn first_triple(&mut self, number: u32) {
        let found = triple(number);
        let len = usize::from(found.len);
        let sum = u32::from(found.sum) - 0x30 * (3 - len as u32);
        self.word(u64::from(found.text >> (8 * (3 - len))), len, sum);
    }

    /// Writes a number below 1000 as three digits.
    #[inline(always)]
    fn next_triple(&mut self, number: u32) {
        let found = triple(number);
        self.word(u64::from(found.text), 3, u32::from(found.sum));
    }

    /// Writes a number below 100 as two digits.
    #[inline(always)]
    fn pair(&mut self, number: u32) {
        let found = triple(number);
        self.word(u64::from(found.text >> 8), 2, u32::from(found.sum) - 0x30);
    }

    #[inline(always)]
    fn digits(&mut self, value: u64) {
        if value < 1000 {
            self.first_triple(value as u32);
        } else if value < 1_000_000 {
            self.first_triple((value / 1000) as u32);
            self.next_triple((value % 1000) as u32);
        } else if value < 1_000_000_000 {
            let value = value as u32;
            self.first_triple(value / 1_000_000);
            self.next_triple(value / 1000 % 1000);
            self.next_triple(value % 1000);
        } else {
            self.many_digits(value);
        }
    }

    fn many_digits(&mut self, value: u64) {
        if value >= 1_000_000_000 {
            self.many_digits(value / 1_000_000_000);
            self.padded(value % 1_000_000_000, 9);
        } else {
            self.digits(value);
        }
    }

    /// Writes the last `len` digits of a number, with leading zeros.
    fn padded(&mut self, value: u64, len: u32) {
        let mut left = len;
        while left >= 3 {
            left -= 3;
            self.next_triple((value / 10_u64.pow(left) % 1000) as u32);
        }
        match left {
            2 => self.pair((value % 100) as u32),
            1 => self.first_triple((value % 10) as u32),
            _ => {}
        }
    }

    /// Writes `digits` with a point before the last `places` of them; `power` is ten to their number.
    #[inline(always)]
    fn split(&mut self, digits: u64, power: u64, places: u32) {
        self.digits(digits / power);
        self.word(u64::from(b'.'), 1, u32::from(b'.'));
        let rest = digits % power;
        match places {
            1 => self.first_triple(rest as u32),
            2 => self.pair(rest as u32),
            3 => self.next_triple(rest as u32),
            _ => self.padded(rest, places),
        }
    }

    fn zeros(&mut self, count: u32) {
        for _ in 0..count {
            self.word_byte(b'0');
        }
    }

    #[inline(always)]
    fn day(&mut self, date: LocalMktDate) {
        let year = u32::from(date.year);
        self.pair(year / 100);
        self.pair(year % 100);
        self.pair(u32::from(date.month));
        self.pair(u32::from(date.day));
    }

    #[inline(always)]
    fn time_of_day(&mut self, time: UtcTime, precision: Precision) {
        const COLON: u64 = b':' as u64;
        self.pair(u32::from(time.hour));
        self.word(COLON, 1, COLON as u32);
        self.pair(u32::from(time.minute));
        self.word(COLON, 1, COLON as u32);
        self.pair(u32::from(time.second));
        let places = match precision {
            Precision::Seconds => return,
            Precision::Millis => 3,
            Precision::Micros => 6,
            Precision::Nanos => 9,
            Precision::Picos => 12,
        };
        self.word(u64::from(b'.'), 1, u32::from(b'.'));
        self.padded(time.picos / 10_u64.pow(12 - places), places);
    }
}

/// Returns a bound on the written length of a decimal with its tag.
fn tag_len(value: Decimal) -> usize {
    34 + usize::from(value.exponent.unsigned_abs())
}

fn digit_count(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Returns fewer than eight bytes as the low bytes of a word.
#[inline(always)]
fn short_word(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (len - 4));
    }
    match bytes {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(*a) | u64::from(*b) << 8,
        [a, b, c, ..] => u64::from(*a) | u64::from(*b) << 8 | u64::from(*c) << 16,
    }
}

/// Returns the sum of the bytes of a word.
#[inline(always)]
const fn sum_of(word: u64) -> u32 {
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    let pairs = (word & EVEN) + (word >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;

    fn body(write: impl FnOnce(&mut Writer<'_>)) -> String {
        let mut buffer = [0; 2000];
        let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
        write(&mut writer);
        let message = writer.finish().expect("room");
        Reader::new().decode(message).expect("what is written can be read");
        let text = String::from_utf8(message.to_vec()).expect("ASCII").replace('\u{1}', "|");
        let (head, rest) = text.split_once("35=D|").expect("MsgType");
        assert!(head.starts_with("8=FIX.4.2|9="));
        rest.rsplit_once("10=").expect("CheckSum").0.to_owned()
    }

    #[test]
    fn integers_of_every_length() {
        let mut value = 1_u64;
        for _ in 0..20 {
            for value in [value, value - 1, value + 7] {
                assert_eq!(body(|w| w.uint(Tag(38), value)), format!("38={value}|"));
            }
            value = value.saturating_mul(10);
        }
        for value in [i64::MIN, i64::MAX, 0, -1] {
            assert_eq!(body(|w| w.int(Tag(38), value)), format!("38={value}|"));
        }
    }

    #[test]
    fn decimals_are_written_as_they_print() {
        for mantissa in [0, 5, -298_075, 100, i64::MAX, i64::MIN] {
            for exponent in -128..=127 {
                let value = Decimal::new(mantissa, exponent);
                assert_eq!(
                    body(|w| w.decimal(Tag(44), value)),
                    format!("44={value}|"),
                    "{value:?}"
                );
            }
        }
    }

    #[test]
    fn text_of_every_length() {
        let text = "The quick brown fox jumps over the lazy dog";
        for len in 0..text.len() {
            assert_eq!(body(|w| w.str(Tag(58), &text[..len])), format!("58={}|", &text[..len]));
        }
        assert_eq!(body(|w| w.data(Tag(95), Tag(96), b"a|b")), "95=3|96=a|b|");
        assert_eq!(body(|w| w.boolean(Tag(1_234_567), true)), "1234567=Y|");
    }

    #[test]
    fn moments_of_every_precision() {
        let stamp = UtcTimestamp::parse(b"20181227-11:20:43.123456789012").expect("valid");
        let text = "60=20181227-11:20:43.123456789012";
        let cases = [
            (Precision::Seconds, 20),
            (Precision::Millis, 24),
            (Precision::Micros, 27),
            (Precision::Nanos, 30),
            (Precision::Picos, 33),
        ];
        for (precision, len) in cases {
            let found = body(|w| w.utc_timestamp(Tag(60), stamp, precision));
            assert_eq!(found, format!("{}|", &text[..len]));
        }
        assert_eq!(body(|w| w.date(Tag(64), stamp.date)), "64=20181227|");
    }

    #[test]
    fn a_small_buffer_is_an_error_at_the_end() {
        for len in 0..120 {
            let mut buffer = vec![0; len];
            let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
            writer.str(Tag(58), "some text");
            writer.uint(Tag(38), 5);
            match writer.finish() {
                Ok(message) => assert!(message.ends_with(b"\x01")),
                Err(error) => assert_eq!(error.kind, ErrorKind::BufferFull),
            }
        }
    }
}
