//! Fast readers of the wire types, for common encodings.
//!
//! An [`InputCursor`] reads well-formed values in range. `None` means anything else: an error, the end of
//! the bytes, or a rare encoding. The dynamic engine then decodes the message again and returns the
//! value, or the error with its position; so the cursor need not know the reason.
//!
//! A cursor may read bytes after the packet: code that reads a segment then checks that the cursor
//! is still within the packet ([`CodingContext::check_end`]).
//!
//! Spec: FAST 1.1 §10.

use super::ahead::{Ahead, WINDOW};
use super::context::CodingContext;
use super::kernel::{CpuKernel, DecodeSegment, Portable};
use super::text::TextValue;

pub(super) const STOP: u8 = 0x80;
/// The stop bits of four bytes.
const STOPS: u32 = 0x8080_8080;
/// The stop bits of eight bytes.
const WORD_STOPS: u64 = 0x8080_8080_8080_8080;
/// The stop bits of the seven lowest bytes of a word.
const TEXT_STOPS: u64 = WORD_STOPS >> 8;

/// A position in a packet. It is passed between functions by value, in registers.
#[derive(Clone, Copy, Debug)]
pub struct InputCursor<'b, K = Portable> {
    pub(super) ahead: Ahead<'b>,
    pub(super) kernel: K,
}

/// A value and its length in bytes; length 0 means that it was not read.
#[derive(Clone, Copy)]
pub(super) struct Long {
    pub(super) value: u64,
    pub(super) len: usize,
}

pub(super) const NOT_READ: Long = Long { value: 0, len: 0 };

/// Shorter input has no cursor: it is copied to a buffer where more bytes follow.
pub(super) const BYTES_MIN: usize = WINDOW;

impl<'b, K: CpuKernel> InputCursor<'b, K> {
    /// Returns a cursor at the start of `bytes`; `None` if there are too few.
    #[inline(always)]
    pub(super) fn new(bytes: &'b [u8], kernel: K) -> Option<Self> {
        Ahead::of(bytes).map(|ahead| Self { ahead, kernel })
    }

    /// Returns the same position for the portable kernel, for code not compiled for a specific CPU.
    #[inline(always)]
    pub fn portable(self) -> InputCursor<'b> {
        InputCursor { ahead: self.ahead, kernel: Portable }
    }

    /// Returns this position for the kernel of another cursor.
    #[inline(always)]
    pub fn like<L: CpuKernel>(self, other: &InputCursor<'b, L>) -> InputCursor<'b, L> {
        InputCursor { ahead: self.ahead, kernel: other.kernel }
    }

    /// Decodes a segment in a separate function.
    #[inline(always)]
    pub fn decode<S: DecodeSegment>(
        self,
        map: S::Map<'b, K>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut CodingContext,
    ) -> Option<Self> {
        K::decode::<S>(self, map, state, out, context)
    }

    /// Returns the address of the next byte, to compare positions in one packet.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        self.ahead.address()
    }

    /// Slow path: a value that is too long, or too near the end, for a window.
    #[inline(always)]
    pub(super) fn take_long(&mut self, long: Long) -> Option<u64> {
        if long.len == 0 {
            return None;
        }
        self.ahead.skip(long.len)?;
        Some(long.value)
    }

    /// Reads an unsigned integer of at most `MAX`, with a predictable length.
    #[inline(always)]
    pub fn unsigned<const MAX: u64>(&mut self, context: &mut CodingContext) -> Option<u64> {
        self.unsigned_up_to(MAX, context)
    }

    #[inline(always)]
    fn unsigned_up_to(&mut self, max: u64, context: &mut CodingContext) -> Option<u64> {
        'long: {
            let Some(window) = self.ahead.window() else { break 'long };
            let bytes = window.bytes();
            let first = bytes[0];
            if first & STOP != 0 {
                self.ahead = window.behind(1);
                return Some(u64::from(first ^ STOP));
            }
            seldom();
            if first == 0 {
                break 'long;
            }
            let [_, second, third, fourth, ..] = *bytes;
            if second & STOP != 0 {
                let value = u64::from(first) << 7 | u64::from(second & !STOP);
                self.ahead = window.behind(2);
                return (value <= max).then_some(value);
            }
            if third & STOP != 0 {
                let value = u64::from(self.kernel.joined_short(window.word() >> 8));
                self.ahead = window.behind(3);
                return (value <= max).then_some(value);
            }
            if fourth & STOP == 0 {
                break 'long;
            }
            let value = u64::from(self.kernel.joined_short(window.word()));
            self.ahead = window.behind(4);
            return (value <= max).then_some(value);
        }
        seldom();
        let value = self.take_long(long_unsigned(self.ahead.rest(), context))?;
        (value <= max).then_some(value)
    }

    /// As [`unsigned`](Self::unsigned), for lengths that vary from value to value.
    #[inline(always)]
    pub fn unsigned_varied<const MAX: u64>(&mut self, context: &mut CodingContext) -> Option<u64> {
        self.varied_up_to(MAX, context)
    }

    #[inline(always)]
    fn varied_up_to(&mut self, max: u64, context: &mut CodingContext) -> Option<u64> {
        'long: {
            let Some(window) = self.ahead.window() else { break 'long };
            let first = window.bytes()[0];
            if first & STOP != 0 {
                self.ahead = window.behind(1);
                return Some(u64::from(first ^ STOP));
            }
            seldom();
            let word = window.word();
            let stops = word & STOPS;
            if first == 0 || stops == 0 {
                break 'long;
            }
            if stops == u32::from(STOP) {
                // Dates and times of day always have four bytes. The constant length makes the next
                // position available at once.
                self.ahead = window.behind(4);
                let value = u64::from(self.kernel.joined_short(word));
                return (value <= max).then_some(value);
            }
            seldom();
            let zeros = stops.leading_zeros();
            self.ahead = window.behind(zeros as usize / 8 + 1);
            // The last byte is in the lowest bits.
            let value = u64::from(self.kernel.joined_short(word >> (zeros ^ 24)));
            return (value <= max).then_some(value);
        }
        seldom();
        let value = self.take_long(long_unsigned(self.ahead.rest(), context))?;
        (value <= max).then_some(value)
    }

    /// Reads an unsigned 64-bit integer that is mostly many bytes long: a time, an identifier.
    #[inline(always)]
    pub fn unsigned_long(&mut self, context: &mut CodingContext) -> Option<u64> {
        if let Some(window) = self.ahead.window()
            && let Some((value, len)) = wide_unsigned(self.kernel, window.bytes())
        {
            self.ahead = window.behind(len);
            return Some(value);
        }
        seldom();
        self.take_long(long_unsigned(self.ahead.rest(), context))
    }

    /// Reads a nullable unsigned integer of at most `MAX`; the inner `None` is NULL.
    #[inline(always)]
    pub fn unsigned_nullable<const MAX: u64>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        Some(self.unsigned_up_to(MAX.saturating_add(1), context)?.checked_sub(1))
    }

    /// As [`unsigned_nullable`](Self::unsigned_nullable), for lengths that vary.
    #[inline(always)]
    pub fn unsigned_varied_nullable<const MAX: u64>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        Some(self.varied_up_to(MAX.saturating_add(1), context)?.checked_sub(1))
    }

    /// Reads a signed integer of at most 64 bits. Prices and sizes have predictable lengths: with a
    /// branch per length, the next field does not wait for this one.
    #[inline(always)]
    pub fn signed_word(&mut self, context: &mut CodingContext) -> Option<i64> {
        'long: {
            let Some(window) = self.ahead.window() else { break 'long };
            let [first, second, third, fourth, ..] = *window.bytes();
            let value = i64::from((first << 1) as i8 >> 1);
            if first & STOP != 0 {
                self.ahead = window.behind(1);
                return Some(value);
            }
            seldom();
            let value = value << 7 | i64::from(second & !STOP);
            if (-64..64).contains(&value) {
                // Overlong.
                break 'long;
            }
            if second & STOP != 0 {
                self.ahead = window.behind(2);
                return Some(value);
            }
            let value = value << 7 | i64::from(third & !STOP);
            if third & STOP != 0 {
                self.ahead = window.behind(3);
                return Some(value);
            }
            let value = value << 7 | i64::from(fourth & !STOP);
            if fourth & STOP != 0 {
                self.ahead = window.behind(4);
                return Some(value);
            }
            seldom();
            // The other kernel is for older CPUs: smaller code suffices.
            if K::HAS_FORMS
                && let Some((value, len)) = wide_signed(self.kernel, window.bytes())
            {
                self.ahead = window.behind(len);
                return Some(value as i64);
            }
        }
        seldom();
        self.take_long(long_signed(self.ahead.rest(), context)).map(|value| value as i64)
    }

    /// Reads a signed integer of at most `BITS` bits, as 64-bit two's complement.
    #[inline(always)]
    pub fn signed<const BITS: u32>(&mut self, context: &mut CodingContext) -> Option<u64> {
        let value = self.signed_word(context)?;
        fits_signed::<BITS>(value).then_some(value as u64)
    }

    /// Reads a nullable signed integer of at most `BITS` bits; the inner `None` is NULL.
    #[inline(always)]
    pub fn signed_nullable<const BITS: u32>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<u64>> {
        match self.signed_word(context)? {
            0 => Some(None),
            value => {
                let value = without_null(value);
                fits_signed::<BITS>(value).then_some(Some(value as u64))
            }
        }
    }

    /// Reads the difference of a delta; the inner `None` is NULL.
    #[inline(always)]
    pub fn delta<const NULLABLE: bool>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<i64>> {
        Some(match self.signed_word(context)? {
            0 if NULLABLE => None,
            value if NULLABLE => Some(without_null(value)),
            value => Some(value),
        })
    }

    /// Reads the presence map of a message, as [`map`](Self::map); mostly one byte.
    #[inline(always)]
    pub fn first_map(&mut self, context: &mut CodingContext) -> Option<u64> {
        if let Some(window) = self.ahead.window()
            && window.bytes()[0] & STOP != 0
        {
            self.ahead = window.behind(1);
            return Some(u64::from(window.bytes()[0]) << 57);
        }
        seldom();
        self.map(context)
    }

    /// Reads a presence map of at most 63 bits; returns the first bit at the top.
    #[inline(always)]
    pub fn map(&mut self, context: &mut CodingContext) -> Option<u64> {
        'long: {
            let Some(window) = self.ahead.window() else { break 'long };
            let [first, second, third, fourth, ..] = *window.bytes();
            let bits = u64::from(first) << 57;
            if first & STOP != 0 {
                self.ahead = window.behind(1);
                return Some(bits);
            }
            let bits = bits | u64::from(second & !STOP) << 50;
            if second > STOP {
                self.ahead = window.behind(2);
                return Some(bits);
            }
            if second == STOP {
                break 'long;
            }
            let bits = bits | u64::from(third & !STOP) << 43;
            if third > STOP {
                self.ahead = window.behind(3);
                return Some(bits);
            }
            if third == STOP || fourth <= STOP {
                break 'long;
            }
            self.ahead = window.behind(4);
            return Some(bits | u64::from(fourth & !STOP) << 36);
        }
        seldom();
        self.take_long(long_map(self.ahead.rest(), context))
    }

    /// Skips a presence map of any length; returns whether its first bit is set.
    #[inline(never)]
    pub fn skip_map(&mut self) -> Option<bool> {
        let rest = self.ahead.rest();
        let last = rest.iter().position(|byte| byte & STOP != 0)?;
        self.ahead.skip(last + 1)?;
        Some(rest.first()? & 0x40 != 0)
    }

    /// Reads a presence map of any length for a segment that uses up to 63 bits in each of `WORDS`
    /// words.
    pub fn wide_map<const WORDS: usize>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<WideBits<WORDS>> {
        let mut bits = WideBits { words: [0; WORDS], used: 0, beyond: false };
        for (index, &byte) in self.ahead.rest().iter().enumerate() {
            let value = u64::from(byte & !STOP) << (57 - 7 * (index % 9));
            match bits.words.get_mut(index / 9) {
                Some(word) => *word |= value,
                None => bits.beyond |= value != 0,
            }
            if byte & STOP != 0 {
                if byte == STOP && index > 0 {
                    context.note_map();
                }
                self.ahead.skip(index + 1)?;
                return Some(bits);
            }
        }
        None
    }

    /// If the next byte is NULL, of an ascii string or of the length of a delta, skips it and returns true.
    #[inline(always)]
    pub(super) fn take_null(&mut self) -> bool {
        self.ahead.rest().first() == Some(&STOP) && self.ahead.skip(1).is_some()
    }

    /// Reads the next `len` bytes.
    #[inline]
    pub(super) fn raw(&mut self, len: usize) -> Option<&'b [u8]> {
        let value = self.ahead.rest().get(..len)?;
        self.ahead.skip(len)?;
        Some(value)
    }

    /// Reads an ascii string of at most seven characters that does not begin with NUL. One
    /// character has its own branch, so that the next field does not wait for the length; two to
    /// seven are read as one word.
    #[inline(always)]
    pub(super) fn short_ascii(&mut self, context: &CodingContext) -> Option<TextValue> {
        let window = self.ahead.window()?;
        let first = window.bytes()[0];
        if first > STOP {
            self.ahead = window.behind(1);
            return Some(TextValue::of_ascii(u64::from(first ^ STOP), 1));
        }
        seldom();
        let word = u64::from_le_bytes(*window.bytes().first_chunk()?);
        // The first character is in the lowest byte. A text's word has no room for an eighth.
        let stops = word & TEXT_STOPS;
        if first & !STOP == 0 || stops == 0 {
            return None;
        }
        let len = stops.trailing_zeros() as usize / 8 + 1;
        if len > context.string_max {
            return None;
        }
        self.ahead = window.behind(len);
        // Keeps the bits below the stop bit of the last character.
        Some(TextValue::of_ascii(word & !stops & (stops - 1), len))
    }
}

/// Cold-path hint: keeps rare code out of line.
#[cold]
#[inline]
pub fn seldom() {}

/// Returns the index of the first byte with a stop bit; searches eight bytes at a time.
#[inline(always)]
pub(crate) fn first_stop(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let stops = u64::from_le_bytes(*word) & WORD_STOPS;
        if stops != 0 {
            return Some(8 * index + stops.trailing_zeros() as usize / 8);
        }
    }
    let in_tail = tail.iter().position(|byte| byte & STOP != 0)?;
    Some(8 * words.len() + in_tail)
}

/// Reads an unsigned integer of up to nine bytes whose first byte is not 0.
#[inline(always)]
fn wide_unsigned<K: CpuKernel>(kernel: K, window: &[u8; WINDOW]) -> Option<(u64, usize)> {
    let [first, .., ninth, _] = *window;
    let word = u64::from_be_bytes(*window.first_chunk()?);
    if first == 0 {
        seldom();
        return None;
    }
    if let Some(short) = groups_of(kernel, word) {
        return Some(short);
    }
    seldom();
    (ninth & STOP != 0).then(|| (kernel.joined(word) << 7 | u64::from(ninth & !STOP), 9))
}

/// Reads a signed integer of up to nine bytes, as two's complement.
#[inline(always)]
fn wide_signed<K: CpuKernel>(kernel: K, window: &[u8; WINDOW]) -> Option<(u64, usize)> {
    let [.., ninth, _] = *window;
    let word = u64::from_be_bytes(*window.first_chunk()?);
    let stops = word & WORD_STOPS;
    let (groups, len) = if stops != 0 {
        let len = stops.leading_zeros() as usize / 8 + 1;
        (kernel.joined(word >> (64 - 8 * len)), len)
    } else if ninth & STOP != 0 {
        (kernel.joined(word) << 7 | u64::from(ninth & !STOP), 9)
    } else {
        return None;
    };
    // The sign is the highest bit of the first group.
    let shift = 64 - 7 * len;
    Some((((groups << shift) as i64 >> shift) as u64, len))
}

/// Decodes a nullable signed integer other than NULL.
#[inline(always)]
fn without_null(value: i64) -> i64 {
    // Subtracts one from positive values; negative values do not overflow.
    value.wrapping_sub(1).wrapping_add((value as u64 >> 63) as i64)
}

/// True if a value fits a signed type.
#[inline(always)]
pub(super) fn fits_signed<const BITS: u32>(value: i64) -> bool {
    let shift = 64 - BITS;
    (value << shift) >> shift == value
}

/// Joins the bytes of a word up to its first stop bit, seven bits each; `None` without a stop bit.
#[inline(always)]
fn groups_of<K: CpuKernel>(kernel: K, word: u64) -> Option<(u64, usize)> {
    let stops = word & WORD_STOPS;
    if stops == 0 {
        seldom();
        return None;
    }
    if stops == u64::from(STOP) {
        // Most times have eight bytes. The constant length makes the next position available at
        // once.
        return Some((kernel.joined(word), 8));
    }
    seldom();
    let len = stops.leading_zeros() as usize / 8 + 1;
    Some((kernel.joined(word >> (64 - 8 * len)), len))
}

#[inline(never)]
fn long_unsigned(bytes: &[u8], context: &mut CodingContext) -> Long {
    if let Some(window) = bytes.first_chunk()
        && let Some((value, len)) = wide_unsigned(Portable, window)
    {
        return Long { value, len };
    }
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate() {
        if value >> 57 != 0 {
            return NOT_READ;
        }
        value = value << 7 | u64::from(byte & !STOP);
        if byte & STOP != 0 {
            if index > 0 && bytes.first() == Some(&0) {
                context.note_integer();
            }
            return Long { value, len: index + 1 };
        }
    }
    NOT_READ
}

#[inline(never)]
fn long_signed(bytes: &[u8], context: &mut CodingContext) -> Long {
    let Some((first, rest)) = bytes.split_first() else { return NOT_READ };
    let mut value = i64::from((first << 1) as i8 >> 1);
    if first & STOP != 0 {
        return Long { value: value as u64, len: 1 };
    }
    let second = rest.first().copied().unwrap_or_default();
    let overlong = (*first == 0 || *first == 0x7f) && (first ^ second) & 0x40 == 0;
    if let Some(window) = bytes.first_chunk()
        && !overlong
        && let Some((value, len)) = wide_signed(Portable, window)
    {
        return Long { value, len };
    }
    for (index, &byte) in rest.iter().enumerate().take(8) {
        value = value << 7 | i64::from(byte & !STOP);
        if byte & STOP != 0 {
            if overlong {
                context.note_integer();
            }
            return Long { value: value as u64, len: index + 2 };
        }
    }
    // Ten bytes and more: rare, so not optimized.
    long_signed_wide(bytes, overlong, context)
}

#[cold]
fn long_signed_wide(bytes: &[u8], overlong: bool, context: &mut CodingContext) -> Long {
    let mut value = 0i128;
    for (index, &byte) in bytes.iter().enumerate() {
        value = match index {
            0 => i128::from((byte << 1) as i8 >> 1),
            _ => value << 7 | i128::from(byte & !STOP),
        };
        let Ok(word) = i64::try_from(value) else { return NOT_READ };
        if byte & STOP != 0 {
            if overlong {
                context.note_integer();
            }
            return Long { value: word as u64, len: index + 1 };
        }
    }
    NOT_READ
}

#[inline(never)]
fn long_map(bytes: &[u8], context: &mut CodingContext) -> Long {
    let mut bits = 0;
    let mut shift = 57i32;
    for (index, &byte) in bytes.iter().enumerate().take(9) {
        bits |= u64::from(byte & !STOP) << shift;
        shift -= 7;
        if byte & STOP != 0 {
            if byte == STOP && index > 0 {
                context.note_map();
            }
            return Long { value: bits, len: index + 1 };
        }
    }
    NOT_READ
}

/// Presence-map bits that are read one by one, because values determine which bit comes next.
#[derive(Clone, Copy, Debug)]
pub struct Bits(u64);

impl Bits {
    /// Creates the reader for a map with its first bit at the top.
    #[inline(always)]
    pub fn new(map: u64) -> Self {
        Self(map & !1)
    }

    /// Consumes the next bit; bits past the end are 0.
    #[inline(always)]
    pub fn take(&mut self) -> bool {
        let bit = self.0 >> 63 != 0;
        self.0 <<= 1;
        bit
    }

    /// Returns the next bit without consuming it.
    #[inline(always)]
    pub fn peek(&self) -> bool {
        self.0 >> 63 != 0
    }

    /// Records set bits that were not consumed (R8).
    #[inline(always)]
    pub fn finish(self, context: &mut CodingContext) {
        context.unused_map_bits(self.0);
    }
}

/// As [`Bits`], for a map wider than a word.
#[derive(Clone, Copy, Debug)]
pub struct WideBits<const WORDS: usize> {
    words: [u64; WORDS],
    used: usize,
    /// True if a bit after the last word is set.
    beyond: bool,
}

impl<const WORDS: usize> WideBits<WORDS> {
    /// Consumes the next bit; bits past the end are 0.
    pub fn take(&mut self) -> bool {
        let bit = self.peek();
        self.used += 1;
        bit
    }

    /// Returns the next bit without consuming it.
    pub fn peek(&self) -> bool {
        self.words.get(self.used / 63).is_some_and(|word| word << (self.used % 63) >> 63 != 0)
    }

    /// Records set bits that were not consumed (R8).
    pub fn finish(mut self, context: &mut CodingContext) {
        let mut left = u64::from(self.beyond);
        while self.used < 63 * WORDS {
            left |= u64::from(self.take());
        }
        context.unused_map_bits(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of every kind of read at the cursor, with the number of bytes consumed.
    fn reads(bytes: &[u8], len: usize) -> Vec<Option<(String, usize)>> {
        let values = reads_by(Portable, bytes, len);
        if let Some(extracting) = crate::rt::extract::Extracting::detect() {
            assert_eq!(reads_by(extracting, bytes, len), values, "{bytes:02x?}");
        }
        values
    }

    fn reads_by<K: CpuKernel>(kernel: K, bytes: &[u8], len: usize) -> Vec<Option<(String, usize)>> {
        type Read<K> = fn(&mut InputCursor<'_, K>, &mut CodingContext) -> Option<String>;
        let reads: [Read<K>; 13] = [
            |c, x| Some(format!("{:?}", c.unsigned::<{ u32::MAX as u64 }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_varied::<{ u32::MAX as u64 }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_varied::<{ u16::MAX as u64 }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_varied_nullable::<{ u64::MAX }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned::<{ u8::MAX as u64 }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_long(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_nullable::<{ u64::MAX }>(x)?)),
            |c, x| Some(format!("{:?}", c.unsigned_nullable::<{ u16::MAX as u64 }>(x)?)),
            |c, x| Some(format!("{:?}", c.signed::<32>(x)?)),
            |c, x| Some(format!("{:?}", c.signed_nullable::<64>(x)?)),
            |c, x| Some(format!("{:?}", c.map(x)?)),
            |c, x| Some(format!("{:?}", c.ascii::<false>(x)??.word())),
            |c, x| Some(format!("{:?}", c.ascii::<true>(x)?.map(|text| text.word()))),
        ];
        reads
            .iter()
            .map(|read| {
                let mut context = CodingContext::default();
                context.string_max = 100;
                let mut cursor = InputCursor::new(bytes, kernel).expect("bytes enough");
                let start = cursor.address();
                context.begin_in(start + len, false);
                let value = read(&mut cursor, &mut context)?;
                context.check_end(&cursor)?;
                let notes = context.take_notes();
                Some((format!("{value} {notes:?}"), cursor.address() - start))
            })
            .collect()
    }

    #[test]
    fn a_read_near_the_end_is_that_with_more_bytes_behind() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = || random.u8(..);
        for round in 0..20_000 {
            let len = WINDOW + round % 3;
            let bytes: Vec<u8> = (0..len)
                .map(|index| match next() % 8 {
                    0 => 0,
                    1 => 0x80,
                    2 => 0x7f,
                    3 if index > 2 => next() | STOP,
                    _ => next() & !STOP,
                })
                .collect();
            let padded: Vec<u8> = bytes.iter().copied().chain([0x81; 64]).collect();
            assert_eq!(reads(&bytes, len), reads(&padded, len), "{bytes:02x?}");
        }
    }

    #[test]
    fn a_read_that_goes_over_the_end_of_the_packet_is_none() {
        let bytes: Vec<u8> = [1, 2, 3].into_iter().chain([0x81; 40]).collect();
        assert!(reads(&bytes, 3).iter().all(|read| read.is_none()));
        assert!(reads(&bytes, 4).iter().any(|read| read.is_some()));
    }

    #[test]
    fn what_is_behind_a_window_is_read_byte_by_byte() {
        let mut context = CodingContext::default();
        let bytes = [0x01; WINDOW - 1].into_iter().chain([0x85, 0x86]).collect::<Vec<u8>>();
        let mut cursor = InputCursor::new(&bytes, Portable).expect("bytes enough");
        assert_eq!(cursor.raw(WINDOW - 1), Some(&bytes[..WINDOW - 1]));
        assert_eq!(cursor.unsigned::<9>(&mut context), Some(5));
        assert_eq!(cursor.unsigned::<9>(&mut context), Some(6));
        assert_eq!(cursor.unsigned::<9>(&mut context), None);
        assert_eq!(cursor.map(&mut context), None);
        assert!(InputCursor::new(&bytes[..WINDOW - 1], Portable).is_none());
    }
}
