//! The writer: writes a message into the caller's buffer.
//!
//! The body is written first, after space for the longest start. BeginString and BodyLength are
//! written before it when the length is known, so nothing is moved. The sum is computed in a second
//! pass over the body with wide words, which is faster than summing during writing. Fields that do
//! not fit are not written, and [`Writer::finish`] returns an error.

mod frame;
mod part;
mod tag_text;
mod text;

pub use part::{Part, Sheet, WriteState};
pub use tag_text::TagText;
pub(crate) use text::Fraction;

use crate::error::{FixError, FixErrorKind};
use crate::raw::{Buffer, BufferOffset, WINDOW};
use crate::tag::Tag;
use crate::value::{FixDecimal, LocalMktDate, MonthYear, Precision, UtcTime, UtcTimestamp};
use frame::{Begin, HEAD_MAX};

/// Bytes that a field may write past its end; the next field overwrites them.
const SLACK: usize = WINDOW;

/// Writes one message.
///
/// Its methods are always inlined: a writer that no call takes by reference lives in registers.
#[derive(Debug)]
pub struct Writer<'b> {
    out: Buffer<'b>,
    begin: Begin,
    written: WriteState,
}

impl<'b> Writer<'b> {
    /// Bytes that the buffer needs beyond the message itself.
    pub const OVERHEAD: usize = HEAD_MAX + SLACK;

    /// Starts a message with BeginString, at most 13 bytes, and MsgType.
    ///
    /// `out` must be [`Writer::OVERHEAD`] longer than the message.
    #[inline(always)]
    pub fn new(out: &'b mut [u8], begin_string: &str, msg_type: &str) -> Self {
        let begin = Begin::new(begin_string.as_bytes());
        let written = WriteState { place: BufferOffset::new(HEAD_MAX), marks: 0 };
        let mut writer = Self { out: Buffer::new(out), begin, written };
        const MSG_TYPE: TagText = TagText::new(Tag::MSG_TYPE);
        writer.bytes(MSG_TYPE, msg_type.as_bytes());
        writer
    }

    /// Writes fields with a function for a part of a message.
    #[inline(always)]
    pub fn part(&mut self, write: impl FnOnce(Sheet<'_>, WriteState) -> WriteState) {
        self.written = write(Sheet(self.out.pen()), self.written);
    }

    /// Writes a field.
    #[inline(always)]
    fn field(&mut self, write: impl FnOnce(&mut Part<'_>)) {
        self.part(|sheet, written| {
            let mut part = Part::new(sheet, written);
            write(&mut part);
            part.written()
        });
    }

    /// Writes bytes without a check: the caller must ensure that they are a valid value.
    #[inline(always)]
    pub fn bytes(&mut self, tag: impl Into<TagText>, value: &[u8]) {
        self.field(|part| part.bytes(tag, value));
    }

    /// Writes text. An empty text, or one with a delimiter, is an error of [`Writer::finish`].
    #[inline(always)]
    pub fn text(&mut self, tag: impl Into<TagText>, value: &[u8]) {
        self.field(|part| part.text(tag, value));
    }

    /// Writes text. An empty text, or one with a delimiter, is an error of [`Writer::finish`].
    #[inline(always)]
    pub fn str(&mut self, tag: impl Into<TagText>, value: &str) {
        self.text(tag, value.as_bytes());
    }

    /// Writes a data field after its length field.
    #[inline(always)]
    pub fn data(&mut self, length: impl Into<TagText>, data: impl Into<TagText>, value: &[u8]) {
        self.field(|part| part.data(length, data, value));
    }

    /// Writes one character. A delimiter is an error of [`Writer::finish`].
    #[inline(always)]
    pub fn char(&mut self, tag: impl Into<TagText>, value: u8) {
        self.field(|part| part.char(tag, value));
    }

    /// Writes `Y` or `N`.
    #[inline(always)]
    pub fn boolean(&mut self, tag: impl Into<TagText>, value: bool) {
        self.field(|part| part.boolean(tag, value));
    }

    /// Writes an integer.
    #[inline(always)]
    pub fn int(&mut self, tag: impl Into<TagText>, value: i64) {
        self.field(|part| part.int(tag, value));
    }

    /// Writes a length, count, NumInGroup or sequence number.
    #[inline(always)]
    pub fn uint(&mut self, tag: impl Into<TagText>, value: u64) {
        self.field(|part| part.uint(tag, value));
    }

    /// Writes a decimal with exactly its digits.
    #[inline(always)]
    pub fn decimal(&mut self, tag: impl Into<TagText>, value: FixDecimal) {
        self.field(|part| part.decimal(tag, value));
    }

    /// Writes a UTCTimestamp.
    #[inline(always)]
    pub fn utc_timestamp(
        &mut self,
        tag: impl Into<TagText>,
        value: UtcTimestamp,
        precision: Precision,
    ) {
        self.field(|part| part.utc_timestamp(tag, value, precision));
    }

    /// Writes a UTCTimeOnly.
    #[inline(always)]
    pub fn utc_time(&mut self, tag: impl Into<TagText>, value: UtcTime, precision: Precision) {
        self.field(|part| part.utc_time(tag, value, precision));
    }

    /// Writes a UTCDateOnly or LocalMktDate.
    #[inline(always)]
    pub fn date(&mut self, tag: impl Into<TagText>, value: LocalMktDate) {
        self.field(|part| part.date(tag, value));
    }

    /// Writes a MonthYear.
    #[inline(always)]
    pub fn month_year(&mut self, tag: impl Into<TagText>, value: MonthYear) {
        self.field(|part| part.month_year(tag, value));
    }

    /// Writes BeginString and BodyLength before the body and CheckSum after it, and returns the
    /// message.
    ///
    /// # Errors
    /// [`FixErrorKind::BufferFull`] if a field did not fit or BeginString is too long;
    /// [`FixErrorKind::EmptyValue`] or [`FixErrorKind::FieldDelimiter`] if a text was empty or contained
    /// a delimiter.
    #[inline(always)]
    pub fn finish(self) -> Result<&'b [u8], FixError> {
        let Self { out, begin, written: WriteState { place, marks } } = self;
        if marks == 0
            && let Some(message) = frame::finish(out, place, begin)
        {
            return Ok(message);
        }
        let kind = match marks {
            0 => FixErrorKind::BufferFull,
            text::EMPTY => FixErrorKind::EmptyValue,
            _ => FixErrorKind::FieldDelimiter,
        };
        Err(FixError::new(kind, 0, place.at()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Reader, SOH};

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
    fn begin_string_has_at_most_13_bytes() {
        for (begin, is_written) in [("FIX.4.4-13-by", true), ("FIX.4.4-14-byt", false)] {
            let mut buffer = [0; 500];
            let mut writer = Writer::new(&mut buffer, begin, "0");
            writer.uint(Tag(34), 1);
            let head = format!("8={begin}\u{1}9=10\u{1}35=0\u{1}34=1\u{1}10=");
            match writer.finish() {
                Ok(message) => assert!(is_written && message.starts_with(head.as_bytes())),
                Err(error) => assert!(!is_written && error.kind == FixErrorKind::BufferFull),
            }
        }
    }

    #[test]
    fn times_of_day_have_their_precision() {
        let time = UtcTime::new(23, 59, 58, 123_456_789_012).expect("exists");
        for (precision, text) in [
            (Precision::Seconds, "23:59:58"),
            (Precision::Millis, "23:59:58.123"),
            (Precision::Micros, "23:59:58.123456"),
            (Precision::Nanos, "23:59:58.123456789"),
            (Precision::Picos, "23:59:58.123456789012"),
        ] {
            assert_eq!(body(|w| w.utc_time(Tag(273), time, precision)), format!("273={text}|"));
        }
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
                let value = FixDecimal::new(mantissa, exponent);
                assert_eq!(
                    body(|w| w.decimal(Tag(44), value)),
                    format!("44={value}|"),
                    "{value:?}"
                );
            }
        }
        for exponent in -128..=127 {
            for digits in [0, 7, 1 << 63, 1 << 64, 10_u128.pow(35), FixDecimal::DIGITS_MAX] {
                let value = FixDecimal::from_digits(true, digits, exponent).expect("fits");
                let written = body(|w| w.decimal(Tag(44), value));
                assert_eq!(written, format!("44={value}|"), "{value:?}");
            }
        }
    }

    #[test]
    fn text_of_every_length() {
        let text = "The quick brown fox jumps over the lazy dog";
        for len in 1..text.len() {
            assert_eq!(body(|w| w.str(Tag(58), &text[..len])), format!("58={}|", &text[..len]));
        }
        assert_eq!(body(|w| w.data(Tag(95), Tag(96), b"a|b")), "95=3|96=a|b|");
        for tag in [1, 99_999, 999_999, 1_000_000, 999_999_999] {
            assert_eq!(body(|w| w.boolean(Tag(tag), true)), format!("{tag}=Y|"));
            assert_eq!(body(|w| w.uint(Tag(tag), 7)), format!("{tag}=7|"));
        }
    }

    #[test]
    fn text_that_would_break_the_message_is_an_error() {
        let outcome = |text: &[u8]| {
            let mut buffer = [0; 200];
            let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
            writer.text(Tag(58), text);
            writer.uint(Tag(38), 5);
            writer.finish().map(<[u8]>::len).map_err(|error| error.kind)
        };
        assert_eq!(outcome(b""), Err(FixErrorKind::EmptyValue));
        for (len, byte) in (1..50).flat_map(|len| [0, 2, b'x', 0x80, 0x81, 255].map(|b| (len, b))) {
            let mut text = vec![byte; len];
            assert!(outcome(&text).is_ok(), "{len} {byte}");
            for at in 0..len {
                text[at] = SOH;
                assert_eq!(outcome(&text), Err(FixErrorKind::FieldDelimiter), "{len} {byte} {at}");
                text[at] = byte;
            }
        }
        let mut buffer = [0; 200];
        let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
        writer.char(Tag(54), SOH);
        assert_eq!(writer.finish().map_err(|error| error.kind), Err(FixErrorKind::FieldDelimiter));
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
        for len in 0..140 {
            let mut buffer = vec![0; len];
            let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
            writer.str(Tag(58), "some text");
            writer.uint(Tag(38), 5);
            match writer.finish() {
                Ok(message) => assert!(message.ends_with(b"\x01")),
                Err(error) => assert_eq!(error.kind, FixErrorKind::BufferFull),
            }
        }
    }
}
