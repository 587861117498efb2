//! Reads the wire types from a slice: integers, strings, vectors and presence maps.
//!
//! Spec: FAST 1.1 §10.

use std::ops::Add;

use crate::error::FastErrorKind;

/// Which reportable errors a decoder tolerates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conformance {
    /// Counts every reportable error (R code) but R4 and continues with the most plausible value. R4,
    /// a delta out of range, has no plausible value and is an error.
    Lenient,
    /// Reportable errors that make a value doubtful (R1, R2, R3, R4, R5, R9) are errors; overlong
    /// encodings (R6, R7, R8) have a certain value and are counted.
    #[default]
    Strict,
    /// Every reportable error is an error: accepts only the output of a canonical encoder.
    Canonical,
}

/// Number of reportable errors tolerated since the decoder was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// R1: exponent outside -63 to 63.
    pub decimal_range: u64,
    /// R2: a unicode string that is not UTF-8.
    pub invalid_utf8: u64,
    /// R6: integer longer than necessary.
    pub overlong_integer: u64,
    /// R7: presence map longer than necessary.
    pub overlong_presence_map: u64,
    /// R8: set presence-map bits that the template does not use.
    pub presence_map_bits: u64,
    /// R9: string with more leading zeros than necessary.
    pub overlong_string: u64,
}

impl Findings {
    /// Returns the sum of all counters.
    pub fn total(&self) -> u64 {
        self.decimal_range
            + self.invalid_utf8
            + self.overlong_integer
            + self.overlong_presence_map
            + self.presence_map_bits
            + self.overlong_string
    }
}

impl Add for Findings {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            decimal_range: self.decimal_range + other.decimal_range,
            invalid_utf8: self.invalid_utf8 + other.invalid_utf8,
            overlong_integer: self.overlong_integer + other.overlong_integer,
            overlong_presence_map: self.overlong_presence_map + other.overlong_presence_map,
            presence_map_bits: self.presence_map_bits + other.presence_map_bits,
            overlong_string: self.overlong_string + other.overlong_string,
        }
    }
}

const STOP: u8 = 0x80;

/// Reads wire types from a slice, and tolerates or raises reportable errors.
pub(crate) struct WireReader<'b> {
    bytes: &'b [u8],
    pos: usize,
    conformance: Conformance,
    findings: &'b mut Findings,
    /// True if more bytes may arrive: fields that are too long must be rejected, not waited for.
    streaming: bool,
    /// End of the incomplete byte vector or string, if its length is known.
    field_end: Option<usize>,
}

impl<'b> WireReader<'b> {
    pub(crate) fn new(
        bytes: &'b [u8],
        conformance: Conformance,
        findings: &'b mut Findings,
    ) -> Self {
        Self { bytes, pos: 0, conformance, findings, streaming: false, field_end: None }
    }

    /// Returns a reader for the bytes of a stream received so far.
    pub(crate) fn streaming(self) -> Self {
        Self { streaming: true, ..self }
    }

    /// Returns the end of the byte vector or string in which the input ends; `None` if it ends
    /// elsewhere.
    pub(crate) fn field_end(&self) -> Option<usize> {
        self.field_end
    }

    /// Returns the number of unread bytes.
    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Returns all bytes, from the start.
    #[inline]
    pub(crate) fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Continues at a position inside [`bytes`](Self::bytes).
    #[inline]
    pub(crate) fn set_position(&mut self, position: usize) {
        debug_assert!(position <= self.bytes.len());
        self.pos = position;
    }

    /// Counts or raises a reportable error.
    #[cold]
    pub(crate) fn report(&mut self, kind: FastErrorKind) -> Result<(), FastErrorKind> {
        let (count, raised_from) = match kind {
            FastErrorKind::DecimalRange => (&mut self.findings.decimal_range, Conformance::Strict),
            FastErrorKind::InvalidUtf8 => (&mut self.findings.invalid_utf8, Conformance::Strict),
            FastErrorKind::OverlongString => {
                (&mut self.findings.overlong_string, Conformance::Strict)
            }
            FastErrorKind::OverlongInteger => {
                (&mut self.findings.overlong_integer, Conformance::Canonical)
            }
            FastErrorKind::OverlongPresenceMap => {
                (&mut self.findings.overlong_presence_map, Conformance::Canonical)
            }
            FastErrorKind::PresenceMapBits => {
                (&mut self.findings.presence_map_bits, Conformance::Canonical)
            }
            _ => return Err(kind),
        };
        if self.conformance >= raised_from {
            return Err(kind);
        }
        *count += 1;
        Ok(())
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, FastErrorKind> {
        let byte = *self.bytes.get(self.pos).ok_or(FastErrorKind::Truncated)?;
        self.pos += 1;
        Ok(byte)
    }

    /// Reads an unsigned integer of at most 64 bits; more is D2.
    #[inline(always)]
    pub(crate) fn unsigned(&mut self) -> Result<u64, FastErrorKind> {
        let first = self.byte()?;
        if first & STOP != 0 {
            return Ok(u64::from(first & !STOP));
        }
        let second = self.byte()?;
        if second & STOP != 0 && first != 0 {
            return Ok(u64::from(first) << 7 | u64::from(second & !STOP));
        }
        self.unsigned_from(first, second)
    }

    fn unsigned_from(&mut self, first: u8, second: u8) -> Result<u64, FastErrorKind> {
        if first == 0 {
            self.report(FastErrorKind::OverlongInteger)?;
        }
        let mut value = u64::from(first) << 7 | u64::from(second & !STOP);
        if second & STOP != 0 {
            return Ok(value);
        }
        let rest = &self.bytes[self.pos..];
        for (index, &byte) in rest.iter().enumerate() {
            if value >> 57 != 0 {
                return Err(FastErrorKind::IntegerRange);
            }
            value = value << 7 | u64::from(byte & !STOP);
            if byte & STOP != 0 {
                self.pos += index + 1;
                return Ok(value);
            }
        }
        Err(FastErrorKind::Truncated)
    }

    /// Reads a nullable unsigned integer; `None` is NULL.
    #[inline(always)]
    pub(crate) fn unsigned_nullable(&mut self) -> Result<Option<u64>, FastErrorKind> {
        let start = self.pos;
        match self.unsigned() {
            Ok(value) => Ok(value.checked_sub(1)),
            Err(FastErrorKind::IntegerRange) => self.largest_nullable(start),
            Err(kind) => Err(kind),
        }
    }

    /// Handles 2^64, which encodes 2^64 - 1: the only nullable value that needs a 65th bit.
    #[cold]
    fn largest_nullable(&mut self, start: usize) -> Result<Option<u64>, FastErrorKind> {
        match self.wide_from(start)? {
            value if value == 1 << 64 => Ok(Some(u64::MAX)),
            _ => Err(FastErrorKind::IntegerRange),
        }
    }

    /// Reads a signed integer of at most 64 bits; more is D2.
    #[inline(always)]
    pub(crate) fn signed(&mut self) -> Result<i64, FastErrorKind> {
        let first = self.byte()?;
        let value = i64::from((first << 1) as i8 >> 1);
        if first & STOP != 0 {
            return Ok(value);
        }
        self.signed_from(first, value)
    }

    fn signed_from(&mut self, first: u8, mut value: i64) -> Result<i64, FastErrorKind> {
        let start = self.pos - 1;
        let second = self.byte()?;
        value = value << 7 | i64::from(second & !STOP);
        // Overlong: the first byte only repeats the sign bit of the second.
        if (first == 0 || first == 0x7f) && (first ^ second) & 0x40 == 0 {
            self.report(FastErrorKind::OverlongInteger)?;
        }
        if second & STOP != 0 {
            return Ok(value);
        }
        let rest = &self.bytes[self.pos..];
        for (index, &byte) in rest.iter().enumerate().take(7) {
            value = value << 7 | i64::from(byte & !STOP);
            if byte & STOP != 0 {
                self.pos += index + 1;
                return Ok(value);
            }
        }
        if rest.len() < 7 {
            return Err(FastErrorKind::Truncated);
        }
        self.pos = start;
        i64::try_from(self.wide_signed()?).map_err(|_| FastErrorKind::IntegerRange)
    }

    /// Reads a nullable signed integer; `None` is NULL.
    #[inline(always)]
    pub(crate) fn signed_nullable(&mut self) -> Result<Option<i64>, FastErrorKind> {
        let start = self.pos;
        match self.signed() {
            Ok(0) => Ok(None),
            Ok(value) => Ok(Some(value - i64::from(value > 0))),
            Err(FastErrorKind::IntegerRange) => {
                let value = self.wide_from(start)? - 1;
                i64::try_from(value).map(Some).map_err(|_| FastErrorKind::IntegerRange)
            }
            Err(kind) => Err(kind),
        }
    }

    /// Reads a signed integer, nullable or not; `None` is NULL.
    #[inline]
    pub(crate) fn signed_or_null(&mut self, nullable: bool) -> Result<Option<i64>, FastErrorKind> {
        if nullable { self.signed_nullable() } else { self.signed().map(Some) }
    }

    /// Reads a signed integer again from `start`, because it exceeded 64 bits. Deltas and the
    /// largest nullable value need one bit more.
    #[cold]
    pub(crate) fn wide_from(&mut self, start: usize) -> Result<i128, FastErrorKind> {
        self.pos = start;
        self.wide_signed()
    }

    /// Reads a signed integer of any length whose value fits 67 bits; more is D2.
    #[cold]
    fn wide_signed(&mut self) -> Result<i128, FastErrorKind> {
        let mut byte = self.byte()?;
        let mut value = i128::from((byte << 1) as i8 >> 1);
        while byte & STOP == 0 {
            byte = self.byte()?;
            if value.unsigned_abs() >> 60 != 0 {
                return Err(FastErrorKind::IntegerRange);
            }
            value = value << 7 | i128::from(byte & !STOP);
        }
        Ok(value)
    }

    /// Returns the bytes of an ascii string as on the wire, including the byte with the stop bit.
    #[inline(always)]
    fn stop_bit_bytes(&mut self, max: u32) -> Result<&'b [u8], FastErrorKind> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        match rest {
            [first, ..] if first & STOP != 0 => {
                self.pos += 1;
                Ok(&rest[..1])
            }
            _ => self.long_stop_bit_bytes(rest, max),
        }
    }

    fn long_stop_bit_bytes(&mut self, rest: &'b [u8], max: u32) -> Result<&'b [u8], FastErrorKind> {
        let max = max as usize;
        let Some(last) = rest.iter().position(|byte| byte & STOP != 0) else {
            let too_long = self.streaming && rest.len() > max;
            return Err(if too_long {
                FastErrorKind::StringTooLong
            } else {
                FastErrorKind::Truncated
            });
        };
        if last >= max {
            return Err(FastErrorKind::StringTooLong);
        }
        self.pos += last + 1;
        Ok(&rest[..=last])
    }

    /// Reads an ascii string. The last byte of the result still has its stop bit.
    #[inline(always)]
    pub(crate) fn ascii(&mut self, max: u32) -> Result<&'b [u8], FastErrorKind> {
        let wire = self.stop_bit_bytes(max)?;
        if wire[0] & !STOP != 0 {
            return Ok(wire);
        }
        self.ascii_with_preamble(wire, 0)
    }

    /// Reads a nullable ascii string; `None` is NULL.
    #[inline(always)]
    pub(crate) fn ascii_nullable(&mut self, max: u32) -> Result<Option<&'b [u8]>, FastErrorKind> {
        let wire = self.stop_bit_bytes(max)?;
        if wire[0] & !STOP != 0 {
            return Ok(Some(wire));
        }
        if wire.len() == 1 {
            return Ok(None);
        }
        self.ascii_with_preamble(wire, 1).map(Some)
    }

    /// Reads a string that starts with a zero byte: `empty_at` zeros before the last byte are the
    /// empty string, one more is a NUL; other counts are overlong (R9).
    fn ascii_with_preamble(
        &mut self,
        wire: &'b [u8],
        empty_at: usize,
    ) -> Result<&'b [u8], FastErrorKind> {
        let zeros = wire.iter().take_while(|&&byte| byte & !STOP == 0).count();
        let all_zero = zeros == wire.len();
        if all_zero && zeros == empty_at + 1 {
            return Ok(&[]);
        }
        if !(all_zero && zeros == empty_at + 2) {
            self.report(FastErrorKind::OverlongString)?;
        }
        Ok(if all_zero { &wire[wire.len() - 1..] } else { &wire[zeros..] })
    }

    /// Returns the bytes of a unicode string or byte vector.
    #[inline]
    pub(crate) fn vector(&mut self, max: u32) -> Result<&'b [u8], FastErrorKind> {
        let len = self.unsigned()?;
        self.vector_of(len, max)
    }

    /// Returns the bytes of a nullable unicode string or byte vector; `None` is NULL.
    #[inline]
    pub(crate) fn vector_nullable(&mut self, max: u32) -> Result<Option<&'b [u8]>, FastErrorKind> {
        match self.unsigned_nullable()? {
            Some(len) => self.vector_of(len, max).map(Some),
            None => Ok(None),
        }
    }

    fn vector_of(&mut self, len: u64, max: u32) -> Result<&'b [u8], FastErrorKind> {
        if len > u64::from(u32::MAX) {
            return Err(FastErrorKind::IntegerRange);
        }
        let too_long = len > u64::from(max);
        if too_long && self.streaming {
            return Err(FastErrorKind::StringTooLong);
        }
        let rest = &self.bytes[self.pos..];
        let Some(value) = rest.get(..len as usize) else {
            self.field_end = Some(self.pos.saturating_add(len as usize));
            return Err(FastErrorKind::Truncated);
        };
        if too_long {
            return Err(FastErrorKind::StringTooLong);
        }
        self.pos += len as usize;
        Ok(value)
    }

    /// Reads a presence map.
    #[inline(always)]
    pub(crate) fn presence_map(&mut self) -> Result<PresenceMap<'b>, FastErrorKind> {
        let first = self.byte()?;
        if first & STOP != 0 {
            return Ok(PresenceMap { bits: u64::from(first) << 57, more: &[] });
        }
        self.long_presence_map(first)
    }

    fn long_presence_map(&mut self, first: u8) -> Result<PresenceMap<'b>, FastErrorKind> {
        let mut bits = u64::from(first) << 57;
        let mut shift = 50i32;
        loop {
            let byte = self.byte()?;
            bits |= u64::from(byte & !STOP) << shift;
            if byte & STOP != 0 {
                if byte == STOP {
                    self.report(FastErrorKind::OverlongPresenceMap)?;
                }
                return Ok(PresenceMap { bits, more: &[] });
            }
            shift -= 7;
            if shift < 1 {
                return self.presence_map_beyond_word(bits);
            }
        }
    }

    #[cold]
    fn presence_map_beyond_word(&mut self, bits: u64) -> Result<PresenceMap<'b>, FastErrorKind> {
        let more = self.stop_bit_bytes(u32::MAX)?;
        if more.last() == Some(&STOP) {
            self.report(FastErrorKind::OverlongPresenceMap)?;
        }
        Ok(PresenceMap { bits, more })
    }

    /// Reports unused bits at the end of a segment (R8).
    #[inline]
    pub(crate) fn finish_map(&mut self, map: &PresenceMap<'b>) -> Result<(), FastErrorKind> {
        if map.bits != 0 || !map.more.is_empty() {
            self.finish_long_map(map)?;
        }
        Ok(())
    }

    #[cold]
    fn finish_long_map(&mut self, map: &PresenceMap<'b>) -> Result<(), FastErrorKind> {
        if map.bits != 0 || map.more.iter().any(|byte| byte & !STOP != 0) {
            self.report(FastErrorKind::PresenceMapBits)?;
        }
        Ok(())
    }
}

/// The remaining bits of a presence map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PresenceMap<'b> {
    /// The next bits, the first at the top; at most 63.
    bits: u64,
    /// Map bytes after the first nine.
    more: &'b [u8],
}

/// Bits in the word of a [`PresenceMap`].
pub(crate) const WORD_BITS: u32 = 63;

/// Reads presence-map bits in order.
pub(crate) trait Map: Copy {
    /// Consumes the next bit. Bits past the end are 0.
    fn take(&mut self) -> bool;
    /// Returns the next bit without consuming it.
    fn peek(&self) -> bool;
    /// Returns the remaining bits, the next at the top; `None` if one word does not hold all of
    /// them.
    fn bits(&self) -> Option<u64>;
    /// Consumes `count` bits that [`bits`](Self::bits) returned.
    fn skip(&mut self, count: u32);
}

/// At most [`WORD_BITS`] bits of a map are read bit by bit.
impl Map for PresenceMap<'_> {
    #[inline(always)]
    fn take(&mut self) -> bool {
        let bit = self.bits >> 63 != 0;
        self.bits <<= 1;
        bit
    }

    #[inline(always)]
    fn peek(&self) -> bool {
        self.bits >> 63 != 0
    }

    #[inline(always)]
    fn bits(&self) -> Option<u64> {
        self.more.is_empty().then_some(self.bits)
    }

    #[inline(always)]
    fn skip(&mut self, count: u32) {
        self.bits = self.bits.checked_shl(count).unwrap_or(0);
    }
}

/// A position in a presence map wider than a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WideMap<'b> {
    map: PresenceMap<'b>,
    used: u32,
}

impl<'b> WideMap<'b> {
    pub(crate) fn new(map: PresenceMap<'b>) -> Self {
        Self { map, used: 0 }
    }

    /// Returns the map of a template whose id bit is already consumed.
    pub(crate) fn after_first(map: PresenceMap<'b>) -> Self {
        Self { map, used: 1 }
    }

    pub(crate) fn rest(&self) -> PresenceMap<'b> {
        self.map
    }

    fn refill(&mut self) {
        let (now, more) = self.map.more.split_at(self.map.more.len().min(9));
        let mut shift = 64;
        self.map.bits = now.iter().fold(0, |bits, byte| {
            shift -= 7;
            bits | u64::from(byte & !STOP) << shift
        });
        self.map.more = more;
    }
}

impl Map for WideMap<'_> {
    #[inline]
    fn take(&mut self) -> bool {
        let bit = self.peek();
        self.used += 1;
        self.map.bits <<= 1;
        if self.used.is_multiple_of(WORD_BITS) {
            self.refill();
        }
        bit
    }

    #[inline]
    fn peek(&self) -> bool {
        self.map.peek()
    }

    fn bits(&self) -> Option<u64> {
        None
    }

    fn skip(&mut self, _count: u32) {}
}
