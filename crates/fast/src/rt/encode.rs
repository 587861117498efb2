//! Writes the wire types for generated encoders.
//!
//! Like the decoders' cursor, [`OutputCursor`] handles well-formed, common values. `None` means anything
//! else; the dynamic engine then encodes the message or reports the error.
//!
//! Spec: FAST 1.1 §10.

use super::ahead::space::{PIECE, Space, SpaceMark};
use super::context::CodingContext;
use super::kernel::{CpuKernel, EncodeSegment, Portable};
use super::text::{Charset, TextValue};

const STOP: u8 = 0x80;
const FIRST_BIT: u8 = 0x40;

/// Most value bits of one store.
const PIECE_BITS: u32 = 56;
/// Bits of a bit index that select the byte.
const BYTE: u32 = 0x38;

/// Output position of an encoder. It is passed between functions by value, in registers.
#[derive(Debug)]
pub struct OutputCursor<'o, K = Portable> {
    space: Space<'o>,
    pub(super) kernel: K,
}

/// The length byte in the word of a one-character string.
const ONE_CHARACTER: u64 = 1 << 56;
/// Bits that are set in a string's word if it is not ascii or longer than seven characters.
const NOT_SHORT_ASCII: u64 = 0xf880_8080_8080_8080;

/// Writes an integer of more than 56 bits.
#[inline(never)]
fn long<'o>(mut space: Space<'o>, value: i128, len: usize) -> Option<Space<'o>> {
    let mut bytes = [0; 10];
    let mut left = value;
    for byte in bytes.get_mut(..len)?.iter_mut().rev() {
        *byte = left as u8 & !STOP;
        left >>= 7;
    }
    *bytes.get_mut(len.checked_sub(1)?)? |= STOP;
    space.put_all(bytes.get(..len)?)?;
    Some(space)
}

/// Writes an ascii string that is not a plain one in a word.
#[inline(never)]
fn any_ascii<'o>(mut space: Space<'o>, value: &[u8], nullable: bool) -> Option<Space<'o>> {
    if !value.is_ascii() {
        return None;
    }
    let Some((last, head)) = value.split_last() else {
        space.put_all(if nullable { &[0, STOP] } else { &[STOP] })?;
        return Some(space);
    };
    if value[0] == 0 {
        if value.len() > 1 {
            return None;
        }
        space.put_all(if nullable { &[0, 0] } else { &[0] })?;
    }
    space.put_all(head)?;
    space.put_all(&[last | STOP])?;
    Some(space)
}

impl<'o, K: CpuKernel> OutputCursor<'o, K> {
    #[inline(always)]
    pub(crate) fn new(space: Space<'o>, kernel: K) -> Self {
        Self { space, kernel }
    }

    #[inline(always)]
    pub(crate) fn into_space(self) -> Space<'o> {
        self.space
    }

    /// Returns the address of the next byte, to compare positions in one message.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        self.space.address()
    }

    /// Returns the kernel (CPU) of this output.
    #[inline(always)]
    pub(crate) fn kernel(&self) -> K {
        self.kernel
    }

    /// Encodes a segment in a separate function.
    #[inline(always)]
    pub fn encode<S: EncodeSegment + ?Sized>(
        self,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<Self> {
        K::encode(self, segment, arena, state, context)
    }

    /// Returns `None` unless there is room for any value of up to `bytes` bytes.
    #[inline(always)]
    pub fn expect_room(&self, bytes: usize) -> Option<()> {
        self.space.has_room(bytes).then_some(())
    }

    /// Writes the low bytes of a word, all but `dropped` (at most seven), the lowest first.
    #[inline(always)]
    fn put(&mut self, word: u64, dropped: u32) -> Option<()> {
        self.space.put(word, dropped as usize)
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Option<()> {
        self.put(byte.into(), PIECE as u32 - 1)
    }

    /// Writes the low groups of `value`, as many as `sized` has; both have at most 56 bits.
    #[inline(always)]
    fn groups(&mut self, value: u64, sized: u64) -> Option<()> {
        let zeros = (self.kernel.spread(sized) | u64::from(STOP)).leading_zeros();
        let groups = self.kernel.spread(value) | u64::from(STOP);
        self.put((groups << (zeros & BYTE)).swap_bytes(), zeros / u8::BITS)
    }

    /// Writes NULL, which is the same for all types.
    #[inline(always)]
    pub fn null(&mut self) -> Option<()> {
        self.byte(STOP)
    }

    /// Writes an unsigned integer, mostly of one byte.
    #[inline(always)]
    pub fn unsigned(&mut self, value: u64) -> Option<()> {
        if value < 0x80 {
            return self.byte(value as u8 | STOP);
        }
        self.unsigned_varied(value)
    }

    /// As [`unsigned`](Self::unsigned), for lengths that vary from value to value.
    #[inline(always)]
    pub fn unsigned_varied(&mut self, value: u64) -> Option<()> {
        if value >> PIECE_BITS == 0 {
            return self.groups(value, value);
        }
        let len = if value >> 63 == 0 { 9 } else { 10 };
        self.space.lend(|space| long(space, value.into(), len))
    }

    /// Writes a nullable unsigned integer.
    #[inline(always)]
    pub fn unsigned_nullable(&mut self, value: u64) -> Option<()> {
        self.unsigned(value.checked_add(1)?)
    }

    /// Writes a signed integer, given as two's complement.
    #[inline(always)]
    pub fn signed(&mut self, value: u64) -> Option<()> {
        let magnitude = value ^ ((value as i64) >> 63) as u64;
        if magnitude < 0x40 {
            return self.byte(value as u8 | STOP);
        }
        if magnitude >> (PIECE_BITS - 1) == 0 {
            // The highest group also holds the sign.
            return self.groups(value, magnitude << 1);
        }
        let len = if magnitude >> 62 == 0 { 9 } else { 10 };
        self.space.lend(|space| long(space, (value as i64).into(), len))
    }

    /// Writes a nullable signed integer.
    #[inline(always)]
    pub fn signed_nullable(&mut self, value: u64) -> Option<()> {
        let value = value as i64;
        self.signed(value.checked_add(i64::from(value >= 0))? as u64)
    }

    /// Writes the difference from an unsigned `base` to `value`.
    #[inline(always)]
    pub fn unsigned_difference(&mut self, value: u64, base: u64, nullable: bool) -> Option<()> {
        let difference = value.wrapping_sub(base);
        if (difference as i64 >= 0) != (value >= base) {
            return None;
        }
        self.difference(difference, nullable)
    }

    /// Writes the difference from a signed `base` to `value`.
    #[inline(always)]
    pub fn signed_difference(&mut self, value: u64, base: u64, nullable: bool) -> Option<()> {
        let difference = (value as i64).checked_sub(base as i64)?;
        self.difference(difference as u64, nullable)
    }

    #[inline(always)]
    pub(super) fn difference(&mut self, difference: u64, nullable: bool) -> Option<()> {
        // Common case, one byte: -64 to 63; 62 if nullable, because non-negative values are encoded
        // plus one.
        if difference.wrapping_add(0x40) < 0x80 - u64::from(nullable) {
            let shift = u64::from(nullable && difference as i64 >= 0);
            return self.byte((difference + shift) as u8 | STOP);
        }
        match nullable {
            true => self.signed_nullable(difference),
            false => self.signed(difference),
        }
    }

    /// Writes an ascii string.
    #[inline(always)]
    pub fn ascii(
        &mut self,
        text: TextValue,
        nullable: bool,
        arena: &[u8],
        x: &CodingContext,
    ) -> Option<()> {
        if self.is_short_ascii(text.word())? {
            return Some(());
        }
        let value = text.bytes(arena);
        if value.len() > x.string_max {
            return None;
        }
        self.space.lend(|space| any_ascii(space, value, nullable))
    }

    /// Writes an ascii string given as a word; `None` for longer ones.
    #[inline(always)]
    pub(crate) fn short_ascii(&mut self, word: u64, nullable: bool) -> Option<()> {
        if self.is_short_ascii(word)? {
            return Some(());
        }
        let word = word.to_le_bytes();
        self.space.lend(|space| any_ascii(space, word.get(..word[7].into())?, nullable))
    }

    /// Writes a string of one to seven ascii characters, the first not NUL, given as a word;
    /// returns false for any other. Not called by encoders whose limit on strings is lower.
    #[inline(always)]
    fn is_short_ascii(&mut self, word: u64) -> Option<bool> {
        // One character, such as flags and codes.
        if word.wrapping_sub(ONE_CHARACTER | 1) < 0x7f {
            self.byte(word as u8 | STOP)?;
            return Some(true);
        }
        if word & NOT_SHORT_ASCII != 0 || word & 0xff == 0 {
            return Some(false);
        }
        let dropped = PIECE as u32 - (word >> 56) as u32;
        // The highest bit of the last character's byte.
        let stop = 1 << 63 >> ((dropped * u8::BITS) & BYTE);
        self.put(word << 8 >> 8 | stop, dropped)?;
        Some(true)
    }

    pub(super) fn any_ascii(
        &mut self,
        value: &[u8],
        nullable: bool,
        x: &CodingContext,
    ) -> Option<()> {
        if value.len() > x.string_max {
            return None;
        }
        self.space.lend(|space| any_ascii(space, value, nullable))
    }

    /// Writes a unicode string or byte vector.
    #[inline]
    pub fn vector(
        &mut self,
        value: &[u8],
        charset: Charset,
        nullable: bool,
        x: &CodingContext,
    ) -> Option<()> {
        if value.len() > x.string_max
            || charset == Charset::Unicode && std::str::from_utf8(value).is_err()
        {
            return None;
        }
        self.unsigned(value.len() as u64 + u64::from(nullable))?;
        self.space.lend(|mut space| {
            space.put_all(value)?;
            Some(space)
        })
    }

    /// Writes a presence map of at most `BITS` bits (up to 56), the first bit at the top; ends it
    /// after its last set bit.
    #[inline(always)]
    pub fn map<const BITS: u32>(&mut self, map: u64) -> Option<()> {
        if BITS <= 7 {
            return self.byte((map >> 57) as u8 | STOP);
        }
        let groups = self.kernel.spread(map >> 8);
        // An all-zero map still has one byte.
        let zeros = (groups | 1 << PIECE_BITS).trailing_zeros();
        let groups = groups | u64::from(STOP) << (zeros & BYTE);
        self.put(groups.swap_bytes(), zeros / u8::BITS)
    }

    /// Writes a presence map except its first seven bits: the following `BITS` bits, at most 49,
    /// are in `behind`, the first at the top.
    #[inline(always)]
    pub fn begin_behind<const BITS: u32>(&mut self, behind: u64) -> Option<FirstByte<'o>> {
        let at = self.space.mark()?;
        if BITS == 0 {
            self.byte(STOP)?;
            return Some(FirstByte { at, stop: STOP });
        }
        self.map::<{ PIECE_BITS }>(behind)?;
        Some(FirstByte { at, stop: if behind == 0 { STOP } else { 0 } })
    }

    /// Fills in the first seven bits of a map.
    #[inline(always)]
    pub fn end_first(&mut self, first: FirstByte<'o>, bits: u8) {
        if let Some(byte) = self.space.written(&first.at).first_mut() {
            *byte = bits | first.stop;
        }
    }

    /// Reserves a presence map of `bits` bits, to be written bit by bit.
    pub fn begin_map(&mut self, bits: usize) -> Option<OpenMap<'o>> {
        let start = self.space.mark()?;
        let len = bits.div_ceil(7).max(1);
        for _ in 0..len {
            self.byte(0)?;
        }
        Some(OpenMap { start, len, at: 0, mask: FIRST_BIT })
    }

    /// Writes the next bit of a map.
    pub fn push_bit(&mut self, map: &mut OpenMap<'o>, bit: bool) {
        if let (Some(byte), true) = (self.space.written(&map.start).get_mut(map.at), bit) {
            *byte |= map.mask;
        }
        map.mask >>= 1;
        if map.mask == 0 {
            map.mask = FIRST_BIT;
            map.at += 1;
        }
    }

    /// Ends a map: removes trailing zero bytes and moves the data after it up.
    pub fn end_map(&mut self, map: OpenMap<'o>) {
        let written = self.space.written(&map.start);
        let Some(bytes) = written.get_mut(..map.len) else { return };
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        if let Some(byte) = bytes.get_mut(last) {
            *byte |= STOP;
        }
        let gap = map.len - last - 1;
        if gap > 0 {
            let len = written.len() - gap;
            written.copy_within(map.len.., last + 1);
            self.space.cut(&map.start, len);
        }
    }
}

/// The first byte of a presence map: its bits are not yet known, its stop bit is.
#[derive(Debug)]
pub struct FirstByte<'o> {
    at: SpaceMark<'o>,
    stop: u8,
}

/// A reserved presence map before its fields, to be filled bit by bit.
#[derive(Debug)]
pub struct OpenMap<'o> {
    start: SpaceMark<'o>,
    /// Reserved bytes.
    len: usize,
    /// Byte of the next bit, and the bit's position in it.
    at: usize,
    mask: u8,
}
