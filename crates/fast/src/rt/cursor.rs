//! Reads the wire types as a sender writes them.
//!
//! A [`Cursor`] reads what is well-formed and fits. `None` stands for everything else: an error, the
//! end of the bytes, or a form that hardly occurs. The dynamic engine then decodes the message again
//! and finds the value, or the error and its place; so nothing here needs to know why.
//!
//! Spec: FAST 1.1 §10.

use super::context::Context;

const STOP: u8 = 0x80;

/// A position in a packet. It is copied into the function that reads and stays in its registers.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'b> {
    bytes: &'b [u8],
    pos: usize,
}

/// A value and the position behind it, or position 0: not read.
#[derive(Clone, Copy)]
struct Long {
    value: u64,
    pos: usize,
}

const NOT_READ: Long = Long { value: 0, pos: 0 };

impl<'b> Cursor<'b> {
    /// A cursor at `pos` of `bytes`.
    #[inline(always)]
    pub fn new(bytes: &'b [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    /// Where the cursor stands.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Goes to where another function left off.
    #[inline(always)]
    pub fn go_to(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The bytes the cursor moves in.
    #[inline(always)]
    pub fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Bytes not read yet.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.pos)
    }

    #[inline(always)]
    fn byte(&self, index: usize) -> Option<u8> {
        self.bytes.get(self.pos + index).copied()
    }

    #[inline(always)]
    fn take_long(&mut self, long: Long) -> Option<u64> {
        if long.pos == 0 {
            return None;
        }
        self.pos = long.pos;
        Some(long.value)
    }

    /// An unsigned integer of at most `MAX`.
    #[inline(always)]
    pub fn unsigned<const MAX: u64>(&mut self, context: &mut Context) -> Option<u64> {
        let first = self.byte(0)?;
        if first & STOP != 0 {
            self.pos += 1;
            return Some(u64::from(first ^ STOP));
        }
        let value = match first {
            0 => self.take_long(long_unsigned(self.bytes, self.pos, context))?,
            first => self.more_unsigned(first, context)?,
        };
        (value <= MAX).then_some(value)
    }

    /// An integer of two bytes or more, the first of which is not 0.
    #[inline(always)]
    fn more_unsigned(&mut self, first: u8, context: &mut Context) -> Option<u64> {
        let second = self.byte(1)?;
        let value = u64::from(first) << 7 | u64::from(second & !STOP);
        if second & STOP != 0 {
            self.pos += 2;
            return Some(value);
        }
        let third = self.byte(2)?;
        let value = value << 7 | u64::from(third & !STOP);
        if third & STOP != 0 {
            self.pos += 3;
            return Some(value);
        }
        let fourth = self.byte(3)?;
        let value = value << 7 | u64::from(fourth & !STOP);
        if fourth & STOP != 0 {
            self.pos += 4;
            return Some(value);
        }
        self.take_long(long_unsigned(self.bytes, self.pos, context))
    }

    /// An unsigned integer of 64 bits that mostly is many bytes long: a time, an identifier.
    #[inline(always)]
    pub fn unsigned_long(&mut self, context: &mut Context) -> Option<u64> {
        self.take_long(long_unsigned(self.bytes, self.pos, context))
    }

    /// A nullable unsigned integer of at most `MAX`; the inner `None` is NULL.
    #[inline(always)]
    pub fn unsigned_nullable<const MAX: u64>(
        &mut self,
        context: &mut Context,
    ) -> Option<Option<u64>> {
        let value = self.unsigned::<{ u64::MAX }>(context)?;
        match value.checked_sub(1) {
            Some(value) if value > MAX => None,
            value => Some(value),
        }
    }

    /// A signed integer of at most 64 bits.
    #[inline(always)]
    pub fn signed_word(&mut self, context: &mut Context) -> Option<i64> {
        let first = self.byte(0)?;
        let value = i64::from((first << 1) as i8 >> 1);
        if first & STOP != 0 {
            self.pos += 1;
            return Some(value);
        }
        let second = self.byte(1)?;
        let value = value << 7 | i64::from(second & !STOP);
        if (-64..64).contains(&value) {
            // Longer than needed.
            return self.take_long(long_signed(self.bytes, self.pos, context)).map(|v| v as i64);
        }
        if second & STOP != 0 {
            self.pos += 2;
            return Some(value);
        }
        let third = self.byte(2)?;
        let value = value << 7 | i64::from(third & !STOP);
        if third & STOP != 0 {
            self.pos += 3;
            return Some(value);
        }
        self.take_long(long_signed(self.bytes, self.pos, context)).map(|value| value as i64)
    }

    /// A signed integer of at most `BITS` bits, as two's complement in 64.
    #[inline(always)]
    pub fn signed<const BITS: u32>(&mut self, context: &mut Context) -> Option<u64> {
        let value = self.signed_word(context)?;
        fits_signed::<BITS>(value).then_some(value as u64)
    }

    /// A nullable signed integer of at most `BITS` bits; the inner `None` is NULL.
    #[inline(always)]
    pub fn signed_nullable<const BITS: u32>(
        &mut self,
        context: &mut Context,
    ) -> Option<Option<u64>> {
        match self.signed_word(context)? {
            0 => Some(None),
            value => {
                let value = value - i64::from(value > 0);
                fits_signed::<BITS>(value).then_some(Some(value as u64))
            }
        }
    }

    /// The difference that a nullable delta says; the inner `None` is NULL.
    #[inline(always)]
    pub fn delta_nullable(&mut self, context: &mut Context) -> Option<Option<i64>> {
        match self.signed_word(context)? {
            0 => Some(None),
            value => Some(Some(value - i64::from(value > 0))),
        }
    }

    /// A presence map of at most 63 bits, the first bit at the top.
    #[inline(always)]
    pub fn map(&mut self, context: &mut Context) -> Option<u64> {
        let first = self.byte(0)?;
        let bits = u64::from(first) << 57;
        if first & STOP != 0 {
            self.pos += 1;
            return Some(bits);
        }
        let second = self.byte(1)?;
        let bits = bits | u64::from(second & !STOP) << 50;
        if second > STOP {
            self.pos += 2;
            return Some(bits);
        }
        if second < STOP {
            let third = self.byte(2)?;
            if third > STOP {
                self.pos += 3;
                return Some(bits | u64::from(third & !STOP) << 43);
            }
        }
        self.take_long(long_map(self.bytes, self.pos, context))
    }

    /// Goes behind a presence map of any length; says whether its first bit is set.
    #[inline(never)]
    pub fn skip_map(&mut self) -> Option<bool> {
        let first = self.byte(0)?;
        let rest = self.bytes.get(self.pos..)?;
        self.pos += 1 + rest.iter().position(|byte| byte & STOP != 0)?;
        Some(first & 0x40 != 0)
    }

    /// A presence map of any width for a segment that uses up to 63 bits a word of `WORDS`.
    pub fn wide_map<const WORDS: usize>(
        &mut self,
        context: &mut Context,
    ) -> Option<WideBits<WORDS>> {
        let mut bits = WideBits { words: [0; WORDS], used: 0, beyond: false };
        for (index, &byte) in self.bytes.get(self.pos..)?.iter().enumerate() {
            let value = u64::from(byte & !STOP) << (57 - 7 * (index % 9));
            match bits.words.get_mut(index / 9) {
                Some(word) => *word |= value,
                None => bits.beyond |= value != 0,
            }
            if byte & STOP != 0 {
                if byte == STOP && index > 0 {
                    context.notes.overlong_presence_map += 1;
                }
                self.pos += index + 1;
                return Some(bits);
            }
        }
        None
    }

    /// The bytes of an ascii string of at least two bytes, as on the wire.
    #[inline(never)]
    pub(super) fn stop_bit_bytes(&mut self, max: usize) -> Option<&'b [u8]> {
        let rest = self.bytes.get(self.pos..)?;
        let last = rest.iter().position(|byte| byte & STOP != 0)?;
        if last >= max && last > 0 {
            return None;
        }
        self.pos += last + 1;
        rest.get(..=last)
    }

    /// The next `len` bytes.
    #[inline]
    pub(super) fn raw(&mut self, len: usize) -> Option<&'b [u8]> {
        let value = self.bytes.get(self.pos..)?.get(..len)?;
        self.pos += len;
        Some(value)
    }

    /// The next byte if it ends an ascii string of one character.
    #[inline(always)]
    pub(super) fn one_character(&mut self) -> Option<u8> {
        let first = self.byte(0)?;
        if first <= STOP {
            return None;
        }
        self.pos += 1;
        Some(first ^ STOP)
    }
}

/// Whether a value fits a signed type.
#[inline(always)]
pub(super) fn fits_signed<const BITS: u32>(value: i64) -> bool {
    let shift = 64 - BITS;
    (value << shift) >> shift == value
}

/// The bytes of a word up to its first stop bit, as a number of that many groups of seven bits;
/// `None` if there is no stop bit.
#[inline(always)]
fn groups_of(word: u64) -> Option<(u64, usize)> {
    let stops = word & 0x8080_8080_8080_8080;
    if stops == 0 {
        return None;
    }
    let len = stops.leading_zeros() as usize / 8 + 1;
    Some((joined(word >> (64 - 8 * len)), len))
}

/// The low seven bits of each byte as one number.
#[inline(always)]
fn joined(bytes: u64) -> u64 {
    let pairs = bytes & 0x007f_007f_007f_007f | (bytes & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
}

#[inline(never)]
fn long_unsigned(bytes: &[u8], pos: usize, context: &mut Context) -> Long {
    let Some(rest) = bytes.get(pos..) else { return NOT_READ };
    if let Some((word, _)) = rest.split_first_chunk::<8>()
        && word[0] != 0
    {
        let word = u64::from_be_bytes(*word);
        if let Some((value, len)) = groups_of(word) {
            return Long { value, pos: pos + len };
        }
        if let Some(&ninth) = rest.get(8)
            && ninth & STOP != 0
        {
            let value = joined(word) << 7 | u64::from(ninth & !STOP);
            return Long { value, pos: pos + 9 };
        }
    }
    long_unsigned_bytewise(rest, pos, context)
}

fn long_unsigned_bytewise(rest: &[u8], pos: usize, context: &mut Context) -> Long {
    let mut value = 0u64;
    for (index, &byte) in rest.iter().enumerate() {
        if value >> 57 != 0 {
            return NOT_READ;
        }
        value = value << 7 | u64::from(byte & !STOP);
        if byte & STOP != 0 {
            if rest.first() == Some(&0) {
                context.notes.overlong_integer += 1;
            }
            return Long { value, pos: pos + index + 1 };
        }
    }
    NOT_READ
}

#[inline(never)]
fn long_signed(bytes: &[u8], pos: usize, context: &mut Context) -> Long {
    let Some([first, second, ..]) = bytes.get(pos..) else { return NOT_READ };
    let overlong = (*first == 0 || *first == 0x7f) && (first ^ second) & 0x40 == 0;
    let mut value = i64::from((first << 1) as i8 >> 1);
    for (index, &byte) in bytes.iter().enumerate().skip(pos + 1).take(8) {
        value = value << 7 | i64::from(byte & !STOP);
        if byte & STOP != 0 {
            if overlong {
                context.notes.overlong_integer += 1;
            }
            return Long { value: value as u64, pos: index + 1 };
        }
    }
    // Nine bytes and more: not worth a form of its own.
    long_signed_wide(bytes, pos, overlong, context)
}

#[cold]
fn long_signed_wide(bytes: &[u8], pos: usize, overlong: bool, context: &mut Context) -> Long {
    let mut value = 0i128;
    for (index, &byte) in bytes.iter().enumerate().skip(pos) {
        value = match index == pos {
            true => i128::from((byte << 1) as i8 >> 1),
            false => value << 7 | i128::from(byte & !STOP),
        };
        let Ok(word) = i64::try_from(value) else { return NOT_READ };
        if byte & STOP != 0 {
            context.notes.overlong_integer += u32::from(overlong);
            return Long { value: word as u64, pos: index + 1 };
        }
    }
    NOT_READ
}

#[inline(never)]
fn long_map(bytes: &[u8], pos: usize, context: &mut Context) -> Long {
    let mut bits = 0;
    let mut shift = 57i32;
    for (index, &byte) in bytes.iter().enumerate().skip(pos).take(9) {
        bits |= u64::from(byte & !STOP) << shift;
        shift -= 7;
        if byte & STOP != 0 {
            if byte == STOP {
                context.notes.overlong_presence_map += 1;
            }
            return Long { value: bits | 1, pos: index + 1 };
        }
    }
    NOT_READ
}

/// Bits of a presence map that are taken one by one, where which one comes next depends on values.
#[derive(Clone, Copy, Debug)]
pub struct Bits(u64);

impl Bits {
    /// Bits of a map, the first at the top.
    #[inline(always)]
    pub fn new(map: u64) -> Self {
        Self(map & !1)
    }

    /// The next bit; bits past the end are 0.
    #[inline(always)]
    pub fn take(&mut self) -> bool {
        let bit = self.0 >> 63 != 0;
        self.0 <<= 1;
        bit
    }

    /// The next bit, which stays.
    #[inline(always)]
    pub fn peek(&self) -> bool {
        self.0 >> 63 != 0
    }

    /// Counts bits that nothing took (R8).
    #[inline(always)]
    pub fn finish(self, context: &mut Context) {
        context.unused_map_bits(self.0);
    }
}

/// As [`Bits`], of a map wider than a word.
#[derive(Clone, Copy, Debug)]
pub struct WideBits<const WORDS: usize> {
    words: [u64; WORDS],
    used: usize,
    /// A bit is set behind the last word.
    beyond: bool,
}

impl<const WORDS: usize> WideBits<WORDS> {
    /// The next bit; bits past the end are 0.
    pub fn take(&mut self) -> bool {
        let bit = self.peek();
        self.used += 1;
        bit
    }

    /// The next bit, which stays.
    pub fn peek(&self) -> bool {
        self.words.get(self.used / 63).is_some_and(|word| word << (self.used % 63) >> 63 != 0)
    }

    /// Counts bits that nothing took (R8).
    pub fn finish(mut self, context: &mut Context) {
        let mut left = u64::from(self.beyond);
        while self.used < 63 * WORDS {
            left |= u64::from(self.take());
        }
        context.unused_map_bits(left);
    }
}
