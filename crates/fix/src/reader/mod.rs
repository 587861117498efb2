//! The reader: finds every field of a message in one pass that also sums its bytes.
//!
//! A [`FixMessage`] borrows the caller's bytes and the reader's index; nothing is copied, and a warm
//! reader allocates nothing. Fields and generated messages borrow only the bytes, so they outlive
//! the next message. To keep whole messages, give each a separate [`FieldIndex`].
//!
//! Garbled messages are errors. A message that is whole but has a fault in a field (an invalid tag
//! number, a data field with a wrong length) is decoded, so that its MsgSeqNum can be consumed;
//! [`FixMessage::fault`] returns the first fault.

mod data;
mod examine;
mod index;
mod message;
mod portable;
mod words;

pub use data::DataFields;
pub use examine::FrameFault;
pub use message::{Columns, Cursor, Field, FixMessage};
pub(crate) use {data::TagFilter, index::Index};

use crate::digits::{ZEROS, are_digits, eight_digits, short, triple};
use crate::error::{FixError, FixErrorKind};
use crate::limits::FixLimits;
use crate::raw;

/// The delimiter of fields.
pub const SOH: u8 = 1;

/// Maximum number of digits of a tag.
const TAG_DIGITS_MAX: usize = 9;
/// Length of `10=nnn` and its delimiter.
const TRAILER_LEN: usize = 7;
/// `10=nnn` and its delimiter with the last byte in the highest of a word: the constant bytes.
const TRAILER: u64 = u64::from_le_bytes([0, b'1', b'0', b'=', 0, 0, 0, SOH]);
const TRAILER_MASK: u64 = 0xFF00_0000_FFFF_FF00;
/// The sum of its bytes for `000`.
const TRAILER_SUM: u32 = b'1' as u32 + b'0' as u32 * 4 + b'=' as u32 + SOH as u32;

/// The instruction set that finds the fields. Results are equal; only the speed differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderEngine(EngineKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineKind {
    Portable,
    Avx2(raw::Avx2),
    Avx512(raw::Avx512),
}

impl ReaderEngine {
    /// Returns the engines that this machine supports, slowest first. The first is always portable.
    pub fn available() -> impl Iterator<Item = Self> {
        let avx2 = raw::Avx2::detect().map(|token| Self(EngineKind::Avx2(token)));
        let avx512 = raw::Avx512::detect().map(|token| Self(EngineKind::Avx512(token)));
        [Some(Self(EngineKind::Portable)), avx2, avx512].into_iter().flatten()
    }

    /// Returns the fastest engine of this machine.
    pub fn detect() -> Self {
        Self::available().last().unwrap_or(Self(EngineKind::Portable))
    }

    /// Returns the engine that runs on any machine.
    pub const fn portable() -> Self {
        Self(EngineKind::Portable)
    }

    /// Returns the engine's name: `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            EngineKind::Portable => "portable",
            EngineKind::Avx2(_) => "avx2",
            EngineKind::Avx512(_) => "avx512",
        }
    }

    /// Returns the proof that this machine has AVX-512 if this is its engine.
    pub(crate) const fn avx512(self) -> Option<raw::Avx512> {
        match self.0 {
            EngineKind::Avx512(token) => Some(token),
            _ => None,
        }
    }
}

/// Decodes messages, one at a time, with a reusable index.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    scanner: FieldScanner,
    index: Index,
}

/// Field positions of one message, filled by [`Reader::decode_in`]. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct FieldIndex(Index);

impl Reader {
    /// Creates a reader with the fastest engine, default limits and the standard's data fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the engine. For tests and measurements; the default is the fastest.
    pub fn engine(mut self, engine: ReaderEngine) -> Self {
        self.scanner.engine = engine;
        self
    }

    /// Sets the limits. A length above 2 GiB counts as 2 GiB, because offsets are 32 bits wide.
    pub fn limits(mut self, limits: FixLimits) -> Self {
        let message_len_max = limits.message_len_max.min(i32::MAX as usize);
        self.scanner.limits = FixLimits { message_len_max, ..limits };
        self
    }

    /// Sets which fields hold data, each after its length field.
    pub fn data_fields(mut self, data_fields: DataFields) -> Self {
        self.scanner.data_fields = data_fields;
        self
    }

    /// Decodes `bytes`, which must be one whole message from `8=` to the delimiter of CheckSum. The
    /// message is valid until the next one is decoded; fields and generated messages remain valid
    /// as long as the bytes.
    ///
    /// # Errors
    /// [`FixErrorKind::HeaderOrder`], [`FixErrorKind::BodyLength`], [`FixErrorKind::CheckSum`],
    /// [`FixErrorKind::FieldCount`], [`FixErrorKind::MessageLength`]: the message is garbled.
    #[inline(always)]
    pub fn decode<'b>(&mut self, bytes: &'b [u8]) -> Result<FixMessage<'b, '_>, FixError> {
        // Inlined into the caller so that the message is in registers: a result in memory would
        // cause a stall.
        self.scanner.scan(bytes, &mut self.index)?;
        Ok(FixMessage::new(bytes, &self.index))
    }

    /// Decodes as [`Self::decode`], with the caller's index: several messages may exist at once,
    /// and may outlive the reader.
    ///
    /// ```
    /// use tickwire_fix::{FieldIndex, Reader, Tag};
    ///
    /// let beat = b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";
    /// let test = b"8=FIX.4.2\x019=11\x0135=1\x01112=x\x0110=025\x01";
    /// let [mut first, mut second] = [FieldIndex::default(), FieldIndex::default()];
    /// let (first, second) = {
    ///     let reader = Reader::new();
    ///     (reader.decode_in(beat, &mut first)?, reader.decode_in(test, &mut second)?)
    /// };
    /// assert_eq!((first.msg_type(), second.msg_type()), (&b"0"[..], &b"1"[..]));
    /// assert_eq!(second.field(Tag(112)).map(|field| field.value), Some(&b"x"[..]));
    /// # Ok::<(), tickwire_fix::FixError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::decode`].
    #[inline(always)]
    pub fn decode_in<'b, 'i>(
        &self,
        bytes: &'b [u8],
        index: &'i mut FieldIndex,
    ) -> Result<FixMessage<'b, 'i>, FixError> {
        self.scanner.scan(bytes, &mut index.0)?;
        Ok(FixMessage::new(bytes, &index.0))
    }
}

/// A reader without its index.
#[derive(Clone, Debug)]
struct FieldScanner {
    engine: ReaderEngine,
    limits: FixLimits,
    data_fields: DataFields,
}

impl Default for FieldScanner {
    fn default() -> Self {
        Self {
            engine: ReaderEngine::detect(),
            limits: FixLimits::default(),
            data_fields: DataFields::standard(),
        }
    }
}

impl FieldScanner {
    /// Finds the fields and checks the frame.
    fn scan(&self, bytes: &[u8], index: &mut Index) -> Result<(), FixError> {
        if bytes.len() > self.limits.message_len_max {
            return Err(FixError::new(FixErrorKind::MessageLength, 0, bytes.len()));
        }
        let fields_max = self.limits.fields_max;
        index.clear();
        let filter = self.data_fields.filter();
        let scan = match self.engine.0 {
            EngineKind::Portable => words::scan(bytes, index, fields_max, filter),
            EngineKind::Avx2(token) => token.scan(bytes, index, fields_max, filter),
            EngineKind::Avx512(token) => token.scan(bytes, index, fields_max, filter),
        };
        let sum = match scan {
            // The engines ignore data fields, so the index may be wrong because of one.
            Some(scan) if !scan.may_hold_data || self.data_fields.agree(bytes, index) => scan.sum,
            _ => portable::scan(bytes, index, &self.data_fields, fields_max)?,
        };
        verify(bytes, index, sum)
    }
}

/// Checks the frame: first three tags, BodyLength, CheckSum. `sum` is the sum of all bytes.
#[inline]
fn verify(bytes: &[u8], index: &Index, sum: u32) -> Result<(), FixError> {
    let &[8, 9, 35, ..] = index.tags() else {
        return Err(FixError::new(FixErrorKind::HeaderOrder, 0, 0));
    };
    let trailer = bytes.len().saturating_sub(TRAILER_LEN);
    let tail = bytes.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail));
    let last = index.len() - 1;
    if tail & TRAILER_MASK != TRAILER || index.tags()[last] != 10 || index.start(last) != trailer {
        return Err(FixError::new(FixErrorKind::HeaderOrder, 10, trailer));
    }
    let text = (tail >> 32) as u32 & 0x00FF_FFFF;
    // `sum` includes the trailer: its constant bytes and digits are subtracted. A text with another
    // sum or with a non-digit differs from the digits of the result.
    let digit_sum = (text ^ 0x0030_3030).wrapping_mul(0x0001_0101) >> 16 & 0xFF;
    if text != triple(sum.wrapping_sub(TRAILER_SUM + digit_sum) & 0xFF) {
        return Err(FixError::new(FixErrorKind::CheckSum, 10, trailer));
    }
    let body = index.start(2);
    let expected = trailer - body;
    if !is_body_length(bytes, index, body, expected)
        && body_length(bytes, index, body) != Some(expected)
    {
        return Err(FixError::new(FixErrorKind::BodyLength, 9, index.start(1)));
    }
    Ok(())
}

/// True if the second field consists of exactly the digits of a length below 1000; the third begins
/// at `body`.
#[inline(always)]
fn is_body_length(bytes: &[u8], index: &Index, body: usize, expected: usize) -> bool {
    let [_, equal, ..] = &*index.equals else { return false };
    let end = body.wrapping_sub(1);
    let tail = bytes.get(..end).and_then(|before| before.last_chunk());
    let (Some(tail), 0..1000) = (tail, expected) else { return false };
    let (digits, len) = short(expected as u32);
    let text = u64::from_le_bytes(*tail) >> ((64 - 8 * len) & 63);
    text == digits && end.wrapping_sub(*equal as usize + 1) == len
}

/// Returns the length in the second field, of one to nine digits; the third begins at `body`.
#[inline(never)]
fn body_length(bytes: &[u8], index: &Index, body: usize) -> Option<usize> {
    let [_, equal, ..] = &*index.equals else { return None };
    let end = body.checked_sub(1)?;
    let len = end.checked_sub(*equal as usize + 1)?;
    let tail = bytes.get(..end).and_then(|before| before.last_chunk());
    if let (Some(tail), 1..=8) = (tail, len) {
        let above = (64 - 8 * len) & 63;
        let digits = (u64::from_le_bytes(*tail) ^ ZEROS) >> above << above;
        return are_digits(digits).then(|| eight_digits(digits) as usize);
    }
    parse_length(index.value(1, bytes))
}

/// Parses a length of one to nine digits.
#[inline]
pub(crate) fn parse_length(text: &[u8]) -> Option<usize> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + usize::from(byte - b'0'))
    })
}

/// Parses a tag: digits, the first of them not 0.
pub(crate) fn parse_tag(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > TAG_DIGITS_MAX || text.starts_with(b"0") {
        return None;
    }
    let add = |tag, byte: &u8| byte.is_ascii_digit().then(|| tag * 10 + u32::from(byte - b'0'));
    text.iter().try_fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;

    fn framed(body: &str) -> Vec<u8> {
        let body = body.replace('|', "\u{1}");
        let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        bytes
    }

    fn each_engine(check: impl Fn(Reader)) {
        for engine in ReaderEngine::available() {
            check(Reader::new().engine(engine));
        }
    }

    #[test]
    fn a_message_is_as_long_as_it_may_be_and_no_longer() {
        let bytes = framed("35=0|49=A|56=B|34=1|");
        each_engine(|reader| {
            let limited = |message_len_max: usize| {
                let limits = FixLimits { message_len_max, ..FixLimits::default() };
                reader.clone().limits(limits).decode(&bytes).map(drop).map_err(|error| error.kind)
            };
            assert_eq!(limited(bytes.len()), Ok(()));
            assert_eq!(limited(bytes.len() - 1), Err(FixErrorKind::MessageLength));
        });
    }

    #[test]
    fn a_cursor_goes_on_and_comes_round() {
        let bytes = framed("35=D|49=A|453=2|448=one|447=D|448=two|447=C|58=text|");
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("well formed");
        let mut cursor = message.cursor();
        let mut next = |tag: u32| cursor.field(Tag(tag)).map(|field| field.value);
        assert_eq!(next(448), Some(&b"one"[..]));
        assert_eq!(next(447), Some(&b"D"[..]), "just after");
        assert_eq!(next(448), Some(&b"two"[..]));
        assert_eq!(next(58), Some(&b"text"[..]), "with others between");
        assert_eq!(next(49), Some(&b"A"[..]), "before it");
        assert_eq!(next(1), None);
        assert_eq!(next(453), Some(&b"2"[..]), "a missing field leaves the cursor where it is");
    }

    #[test]
    fn fields_are_found_in_order() {
        let bytes = framed("35=0|49=A|56=B|34=1|52=20181227-11:20:43|112=a=b|12345=x|");
        each_engine(|mut reader| {
            let message = reader.decode(&bytes).expect("well formed");
            let fields: Vec<_> = message.fields().map(|field| (field.tag.0, field.value)).collect();
            assert_eq!(fields[2], (35, &b"0"[..]));
            assert_eq!(fields[7], (112, &b"a=b"[..]));
            assert_eq!(fields[8], (12345, &b"x"[..]));
            assert_eq!(fields.len(), 10);
            assert_eq!(message.fault(), None);
            assert_eq!(message.field(Tag(49)).map(|field| field.value), Some(&b"A"[..]));
            assert_eq!(message.field(Tag(50)), None);
        });
    }

    #[test]
    fn garbled_messages_are_errors() {
        let good = framed("35=0|49=A|56=B|34=1|");
        let cases: [(Vec<u8>, FixErrorKind); 6] = [
            (Vec::new(), FixErrorKind::HeaderOrder),
            (good[1..].to_vec(), FixErrorKind::HeaderOrder),
            (good[..good.len() - 1].to_vec(), FixErrorKind::HeaderOrder),
            (framed("34=1|35=0|49=A|"), FixErrorKind::HeaderOrder),
            (String::from_utf8_lossy(&good).replace("49=A", "49=B").into(), FixErrorKind::CheckSum),
            (
                String::from_utf8_lossy(&good).replace("9=20", "9=02").into(),
                FixErrorKind::BodyLength,
            ),
        ];
        each_engine(|mut reader| {
            for (bytes, kind) in &cases {
                let error = reader.decode(bytes).expect_err("garbled");
                assert_eq!(error.kind, *kind, "{}", String::from_utf8_lossy(bytes));
                assert!(error.is_garbled());
            }
        });
    }

    #[test]
    fn body_lengths_of_every_number_of_digits() {
        for text_len in (0..1030).chain([9980, 9990, 99_990, 100_000]) {
            let body = format!("35=0\u{1}58={}\u{1}", "x".repeat(text_len));
            for zeros in ["", "0", "00000"] {
                for (more, is_right) in [(0, true), (1, false), (10, false), (100, false)] {
                    let len = body.len() + more;
                    let is_right = is_right && format!("{zeros}{len}").len() <= 9;
                    let mut bytes = format!("8=FIX.4.2\u{1}9={zeros}{len}\u{1}{body}").into_bytes();
                    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
                    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
                    each_engine(|mut reader| {
                        let kind = reader.decode(&bytes).err().map(|error| error.kind);
                        assert_eq!(kind, (!is_right).then_some(FixErrorKind::BodyLength));
                    });
                }
            }
        }
    }

    #[test]
    fn any_byte_in_the_check_sum_but_its_digits_is_an_error() {
        let good = framed("35=0|34=7|");
        let digits = good.len() - 4;
        for first in 0..=255 {
            for pair in [*b"00", *b"12", *b"99", *b"/:", *b"0:", [0, 255], [255, 255]] {
                let [second, third] = pair;
                for sum in [[first, second, third], [second, first, third], [second, third, first]]
                {
                    let mut bytes = good.clone();
                    bytes[digits..digits + 3].copy_from_slice(&sum);
                    let is_right = bytes == good;
                    each_engine(|mut reader| assert_eq!(reader.decode(&bytes).is_ok(), is_right));
                }
            }
        }
    }

    #[test]
    fn a_fault_in_a_field_leaves_the_message_readable() {
        let cases = [
            ("35=0|34=7|-1=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|0=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|012=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|4garbled9=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|12345678901=HI|", FixErrorKind::TagSyntax),
            ("35=0|34=7|no equals sign|", FixErrorKind::FieldDelimiter),
            ("35=0|34=7||", FixErrorKind::FieldDelimiter),
            ("35=0|34=7|||95=1|96=x|", FixErrorKind::FieldDelimiter),
            ("35=0|34=7|95=9|96=abc|", FixErrorKind::DataLength),
            ("35=0|34=7|95=x|96=abc|", FixErrorKind::DataLength),
            ("35=0|34=7|95=3|58=abc|", FixErrorKind::DataLength),
        ];
        each_engine(|mut reader| {
            for (body, kind) in cases {
                let bytes = framed(body);
                let message = reader.decode(&bytes).expect(body);
                assert_eq!(message.fault().map(|error| error.kind), Some(kind), "{body}");
                let seq_num = message.field(Tag::MSG_SEQ_NUM).map(|field| field.value);
                assert_eq!(seq_num, Some(&b"7"[..]));
                assert_eq!(message.fields().count(), message.len(), "{body}");
            }
        });
    }

    #[test]
    fn data_fields_may_hold_delimiters() {
        let bytes = framed("35=B|34=7|95=9|96=a|10=000||58=text|");
        each_engine(|mut reader| {
            let message = reader.decode(&bytes).expect("well formed");
            assert_eq!(message.fault(), None);
            assert_eq!(message.field(Tag(96)).map(|f| f.value), Some(&b"a\x0110=000\x01"[..]));
            assert_eq!(message.field(Tag(58)).map(|f| f.value), Some(&b"text"[..]));
        });
    }

    #[test]
    fn limits_hold() {
        let bytes = framed("35=0|49=A|56=B|34=1|");
        each_engine(|reader| {
            let limits = FixLimits { fields_max: 3, ..FixLimits::default() };
            let error = reader.clone().limits(limits).decode(&bytes).expect_err("seven fields");
            assert_eq!(error.kind, FixErrorKind::FieldCount);
            let limits = FixLimits { message_len_max: 10, ..FixLimits::default() };
            let error = reader.limits(limits).decode(&bytes).expect_err("longer than 10");
            assert_eq!(error.kind, FixErrorKind::MessageLength);
        });
    }

    #[test]
    fn a_warm_reader_does_not_allocate() {
        let bytes = framed("35=0|49=A|56=B|34=1|52=20181227-11:20:43|112=a=b|95=1|96=x|");
        each_engine(|mut reader| {
            reader.decode(&bytes).expect("well formed");
            let info = allocation_counter::measure(|| {
                let message = reader.decode(&bytes).expect("well formed");
                assert!(message.field(Tag(112)).is_some());
            });
            assert_eq!(info.count_total, 0);
        });
    }
}
