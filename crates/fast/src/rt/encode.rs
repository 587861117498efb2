//! Writes the wire types for generated encoders.
//!
//! As the cursor of decoders, [`Output`] writes what is well-formed and common; `None` stands for
//! everything else, and the dynamic engine then encodes the message or finds the error.
//!
//! Spec: FAST 1.1 §10.

use super::context::Context;
use super::text::{Charset, Text};

const STOP: u8 = 0x80;
const FIRST_BIT: u8 = 0x40;

/// Where a generated encoder writes: a buffer, and whether it was too small.
#[derive(Debug)]
pub struct Output<'o> {
    bytes: &'o mut [u8],
    pos: usize,
    is_full: bool,
}

/// Spreads the low 56 bits to eight bytes of seven, the highest first.
#[inline(always)]
fn spread(value: u64) -> u64 {
    let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1
}

/// Number of bytes that `bits` bits take, at least one: as `bits.div_ceil(7).max(1)` up to 70.
#[inline(always)]
fn groups(bits: u32) -> usize {
    (((bits + 6) * 37) >> 8).max(1) as usize
}

/// Whether the word of a string is one of one to seven ascii characters, the first not NUL.
#[inline(always)]
fn is_plain(word: u64) -> bool {
    let characters = word << 8 >> 8;
    characters & 0x0080_8080_8080_8080 == 0 && characters & 0xff != 0 && word >> 56 <= 7
}

impl<'o> Output<'o> {
    pub(crate) fn new(bytes: &'o mut [u8]) -> Self {
        Self { bytes, pos: 0, is_full: false }
    }

    /// What was written.
    #[inline(always)]
    pub(crate) fn written(&self) -> &[u8] {
        self.bytes.get(..self.pos).unwrap_or_default()
    }

    /// Whether the buffer was too small.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    #[cold]
    fn full(&mut self) -> Option<()> {
        self.is_full = true;
        None
    }

    /// Writes the first `len` of eight bytes.
    #[inline(always)]
    fn front(&mut self, word: [u8; 8], len: usize) -> Option<()> {
        match self.bytes.get_mut(self.pos..).and_then(<[u8]>::first_chunk_mut::<8>) {
            Some(room) => {
                *room = word;
                self.pos += len;
                Some(())
            }
            None => self.full(),
        }
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Option<()> {
        match self.bytes.get_mut(self.pos) {
            Some(room) => {
                *room = byte;
                self.pos += 1;
                Some(())
            }
            None => self.full(),
        }
    }

    #[inline(always)]
    fn grouped(&mut self, value: u64, len: usize) -> Option<()> {
        let bytes = (spread(value) | u64::from(STOP)) << (64 - 8 * len);
        self.front(bytes.to_be_bytes(), len)
    }

    /// NULL, whatever the type.
    #[inline(always)]
    pub fn null(&mut self) -> Option<()> {
        self.byte(STOP)
    }

    /// An unsigned integer.
    #[inline(always)]
    pub fn unsigned(&mut self, value: u64) -> Option<()> {
        if value < 0x80 {
            return self.byte(value as u8 | STOP);
        }
        match groups(u64::BITS - value.leading_zeros()) {
            len @ 1..=8 => self.grouped(value, len),
            len => self.wide(value, len),
        }
    }

    #[cold]
    fn wide(&mut self, value: u64, len: usize) -> Option<()> {
        for index in (1..len as u32).rev() {
            self.byte((i128::from(value) >> (7 * index)) as u8 & !STOP)?;
        }
        self.byte(value as u8 | STOP)
    }

    /// A nullable unsigned integer; `None` is NULL.
    #[inline(always)]
    pub fn unsigned_nullable(&mut self, value: Option<u64>) -> Option<()> {
        match value {
            Some(value) => self.unsigned(value.checked_add(1)?),
            None => self.null(),
        }
    }

    /// A signed integer, given as two's complement.
    #[inline(always)]
    pub fn signed(&mut self, value: u64) -> Option<()> {
        let magnitude = value ^ ((value as i64) >> 63) as u64;
        if magnitude < 0x40 {
            return self.byte(value as u8 | STOP);
        }
        match groups(u64::BITS + 1 - magnitude.leading_zeros()) {
            len @ 1..=8 => self.grouped(value, len),
            len => self.wide_signed(value as i64, len),
        }
    }

    #[cold]
    fn wide_signed(&mut self, value: i64, len: usize) -> Option<()> {
        for index in (1..len as u32).rev() {
            self.byte((i128::from(value) >> (7 * index)) as u8 & !STOP)?;
        }
        self.byte(value as u8 | STOP)
    }

    /// A nullable signed integer; `None` is NULL.
    #[inline(always)]
    pub fn signed_nullable(&mut self, value: Option<u64>) -> Option<()> {
        match value {
            Some(value) => {
                let value = value as i64;
                self.signed(value.checked_add(i64::from(value >= 0))? as u64)
            }
            None => self.null(),
        }
    }

    /// What has to be added to an unsigned `base` to give `value`.
    #[inline(always)]
    pub fn unsigned_difference(&mut self, value: u64, base: u64, nullable: bool) -> Option<()> {
        let difference = value.wrapping_sub(base);
        if (difference as i64 >= 0) != (value >= base) {
            return None;
        }
        self.difference(difference, nullable)
    }

    /// What has to be added to a signed `base` to give `value`.
    #[inline(always)]
    pub fn signed_difference(&mut self, value: u64, base: u64, nullable: bool) -> Option<()> {
        let difference = (value as i64).checked_sub(base as i64)?;
        self.difference(difference as u64, nullable)
    }

    #[inline(always)]
    fn difference(&mut self, difference: u64, nullable: bool) -> Option<()> {
        match nullable {
            true => self.signed_nullable(Some(difference)),
            false => self.signed(difference),
        }
    }

    /// An ascii string.
    #[inline(always)]
    pub fn ascii(&mut self, text: Text, nullable: bool, arena: &[u8], x: &Context) -> Option<()> {
        let word = text.word();
        let len = (word >> 56) as usize;
        if is_plain(word) && len <= x.string_max {
            return self.plain_ascii(word);
        }
        self.any_ascii(text.bytes(arena), nullable, x)
    }

    /// An ascii string in the form of a word.
    #[inline(always)]
    pub(crate) fn short_ascii(&mut self, word: u64, nullable: bool) -> Option<()> {
        match is_plain(word) {
            true => self.plain_ascii(word),
            false => self.empty_ascii(word, nullable),
        }
    }

    #[cold]
    fn empty_ascii(&mut self, word: u64, nullable: bool) -> Option<()> {
        if word != 0 {
            return None;
        }
        if nullable {
            self.byte(0)?;
        }
        self.byte(STOP)
    }

    #[inline(always)]
    fn plain_ascii(&mut self, word: u64) -> Option<()> {
        let len = (word >> 56) as usize;
        let stop = u64::from(STOP) << (8 * len - 8);
        self.front((word << 8 >> 8 | stop).to_le_bytes(), len)
    }

    /// A nullable ascii string; `None` is NULL.
    #[inline(always)]
    pub fn ascii_nullable(&mut self, text: Option<Text>, arena: &[u8], x: &Context) -> Option<()> {
        match text {
            Some(text) => self.ascii(text, true, arena, x),
            None => self.null(),
        }
    }

    #[inline(never)]
    pub(super) fn any_ascii(&mut self, value: &[u8], nullable: bool, x: &Context) -> Option<()> {
        if value.len() > x.string_max || !value.is_ascii() {
            return None;
        }
        let Some((last, head)) = value.split_last() else {
            if nullable {
                self.byte(0)?;
            }
            return self.byte(STOP);
        };
        if value[0] == 0 {
            if value.len() > 1 {
                return None;
            }
            if nullable {
                self.byte(0)?;
            }
            self.byte(0)?;
        }
        self.raw(head)?;
        self.byte(last | STOP)
    }

    fn raw(&mut self, bytes: &[u8]) -> Option<()> {
        match self.bytes.get_mut(self.pos..).and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.pos += bytes.len();
                Some(())
            }
            None => self.full(),
        }
    }

    /// A unicode string or byte vector.
    pub fn vector(
        &mut self,
        value: &[u8],
        charset: Charset,
        nullable: bool,
        x: &Context,
    ) -> Option<()> {
        if value.len() > x.string_max
            || charset == Charset::Unicode && std::str::from_utf8(value).is_err()
        {
            return None;
        }
        self.unsigned(value.len() as u64 + u64::from(nullable))?;
        self.raw(value)
    }

    /// A nullable unicode string or byte vector; `None` is NULL.
    pub fn vector_nullable(
        &mut self,
        text: Option<Text>,
        charset: Charset,
        arena: &[u8],
        x: &Context,
    ) -> Option<()> {
        match text {
            Some(text) => self.vector(text.bytes(arena), charset, true, x),
            None => self.null(),
        }
    }

    /// A presence map of at most 56 bits, the first bit at the top: up to its last set bit.
    #[inline(always)]
    pub fn map(&mut self, map: u64) -> Option<()> {
        let len = groups(u64::BITS - map.trailing_zeros().min(u64::BITS));
        let stop = u64::from(STOP) << (64 - 8 * len);
        self.front((spread(map >> 8) | stop).to_be_bytes(), len)
    }

    /// Makes room for a presence map of `bits` bits, to be written bit by bit.
    pub fn begin_map(&mut self, bits: usize) -> Option<OpenMap> {
        let start = self.pos;
        for _ in 0..bits.div_ceil(7).max(1) {
            self.byte(0)?;
        }
        Some(OpenMap { start, end: self.pos, at: start, mask: FIRST_BIT })
    }

    /// Writes the next bit of a map.
    pub fn push_bit(&mut self, map: &mut OpenMap, bit: bool) {
        if let (Some(byte), true) = (self.bytes.get_mut(map.at), bit) {
            *byte |= map.mask;
        }
        map.mask >>= 1;
        if map.mask == 0 {
            map.mask = FIRST_BIT;
            map.at += 1;
        }
    }

    /// Ends a map: trailing zero bytes go, what is behind it moves up.
    pub fn end_map(&mut self, map: OpenMap) {
        let mut last = map.end - 1;
        while last > map.start && self.bytes.get(last) == Some(&0) {
            last -= 1;
        }
        if let Some(byte) = self.bytes.get_mut(last) {
            *byte |= STOP;
        }
        let gap = map.end - last - 1;
        if gap > 0 {
            self.bytes.copy_within(map.end..self.pos, last + 1);
            self.pos -= gap;
        }
    }
}

/// A presence map ahead of its fields, open for bits.
#[derive(Debug)]
pub struct OpenMap {
    start: usize,
    end: usize,
    at: usize,
    mask: u8,
}
