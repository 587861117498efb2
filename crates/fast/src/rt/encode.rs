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

/// Most value bits of four bytes.
const SHORT_BITS: u32 = 28;

/// Where an encoder writes: a buffer and how far it is filled.
///
/// Functions make an output of their own and hand on its place, so that it stays in registers; what
/// is long or rare is therefore written by functions that take buffer and place.
#[derive(Debug)]
pub struct Output<'o> {
    bytes: &'o mut [u8],
    pos: usize,
}

/// Spreads the low 28 bits to four bytes of seven, the highest first.
#[inline(always)]
fn spread_short(value: u32) -> u32 {
    let halves = value & 0x3fff | (value & 0x0fff_c000) << 2;
    halves & 0x007f_007f | (halves & 0x3f80_3f80) << 1
}

/// Spreads the low 56 bits to eight bytes of seven, the highest first.
#[inline(always)]
fn spread(value: u64) -> u64 {
    let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1
}

/// Number of bytes that `bits` bits take: as `bits.div_ceil(7)` from 1 to 70.
#[inline(always)]
fn groups(bits: u32) -> usize {
    (((bits + 6) * 37) >> 8) as usize
}

/// Whether the word of a string is one of one to seven ascii characters, the first not NUL.
#[inline(always)]
fn is_plain(word: u64) -> bool {
    let characters = word << 8 >> 8;
    characters & 0x0080_8080_8080_8080 == 0 && characters & 0xff != 0 && word >> 56 <= 7
}

/// Writes an integer of `len` bytes, more than four.
#[inline(never)]
fn long(bytes: &mut [u8], pos: usize, value: i128, len: usize) -> Option<usize> {
    let room = bytes.get_mut(pos..)?.get_mut(..len)?;
    let mut left = value;
    for byte in room.iter_mut().rev() {
        *byte = left as u8 & !STOP;
        left >>= 7;
    }
    *room.last_mut()? |= STOP;
    Some(pos + len)
}

/// Writes five to eight bytes.
#[inline(never)]
fn medium(bytes: &mut [u8], pos: usize, value: u64, len: usize) -> Option<usize> {
    let word = (spread(value) | u64::from(STOP)) << (64 - 8 * len);
    *bytes.get_mut(pos..)?.first_chunk_mut()? = word.to_be_bytes();
    Some(pos + len)
}

/// Writes an ascii string that is not a plain one of a word.
#[inline(never)]
fn any_ascii(bytes: &mut [u8], pos: usize, value: &[u8], nullable: bool) -> Option<usize> {
    let mut out = Output::new(bytes, pos);
    if !value.is_ascii() {
        return None;
    }
    let Some((last, head)) = value.split_last() else {
        if nullable {
            out.byte(0)?;
        }
        out.byte(STOP)?;
        return Some(out.pos);
    };
    if value[0] == 0 {
        if value.len() > 1 {
            return None;
        }
        if nullable {
            out.byte(0)?;
        }
        out.byte(0)?;
    }
    out.raw(head)?;
    out.byte(last | STOP)?;
    Some(out.pos)
}

#[inline(never)]
fn vector(bytes: &mut [u8], pos: usize, value: &[u8], nullable: bool) -> Option<usize> {
    let mut out = Output::new(bytes, pos);
    out.unsigned(value.len() as u64 + u64::from(nullable))?;
    out.raw(value)?;
    Some(out.pos)
}

impl<'o> Output<'o> {
    /// Writes from `pos` on.
    #[inline(always)]
    pub fn new(bytes: &'o mut [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    /// Where the next byte goes.
    #[inline(always)]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Lets `write` go on from here; it says where it ended.
    #[inline(always)]
    pub fn append(&mut self, write: impl FnOnce(&mut [u8], usize) -> Option<usize>) -> Option<()> {
        self.pos = write(self.bytes, self.pos)?;
        Some(())
    }

    /// Writes the first `len` bytes of a word.
    #[inline(always)]
    fn front<const N: usize>(&mut self, word: [u8; N], len: usize) -> Option<()> {
        *self.bytes.get_mut(self.pos..)?.first_chunk_mut()? = word;
        self.pos += len;
        Some(())
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.pos)? = byte;
        self.pos += 1;
        Some(())
    }

    /// Writes the low groups of `value`; `magnitude`, not 0, has as many bits as are to be written,
    /// but for `sign_bits`.
    #[inline(always)]
    fn grouped(&mut self, value: u64, magnitude: u64, sign_bits: u32) -> Option<()> {
        if magnitude >> (SHORT_BITS - sign_bits) == 0 {
            let len = groups((magnitude as u32).ilog2() + 1 + sign_bits);
            let word = (spread_short(value as u32) | u32::from(STOP)) << (32 - 8 * len);
            return self.front(word.to_be_bytes(), len);
        }
        let len = groups(magnitude.ilog2() + 1 + sign_bits);
        match len {
            ..=8 => self.append(|bytes, pos| medium(bytes, pos, value, len)),
            _ if sign_bits == 0 => self.append(|bytes, pos| long(bytes, pos, value.into(), len)),
            _ => self.append(|bytes, pos| long(bytes, pos, (value as i64).into(), len)),
        }
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
        self.grouped(value, value, 0)
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
        self.grouped(value, magnitude, 1)
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
        if is_plain(word) && (word >> 56) as usize <= x.string_max {
            return self.plain_ascii(word);
        }
        let value = text.bytes(arena);
        if value.len() > x.string_max {
            return None;
        }
        self.append(|bytes, pos| any_ascii(bytes, pos, value, nullable))
    }

    /// An ascii string in the form of a word; `None` for longer ones.
    #[inline(always)]
    pub(crate) fn short_ascii(&mut self, word: u64, nullable: bool) -> Option<()> {
        if is_plain(word) {
            return self.plain_ascii(word);
        }
        let word = word.to_le_bytes();
        self.append(|bytes, pos| any_ascii(bytes, pos, word.get(..word[7].into())?, nullable))
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

    pub(super) fn any_ascii(&mut self, value: &[u8], nullable: bool, x: &Context) -> Option<()> {
        if value.len() > x.string_max {
            return None;
        }
        self.append(|bytes, pos| any_ascii(bytes, pos, value, nullable))
    }

    fn raw(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.pos..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.pos += bytes.len();
        Some(())
    }

    /// A unicode string or byte vector.
    #[inline]
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
        self.append(|bytes, pos| vector(bytes, pos, value, nullable))
    }

    /// A nullable unicode string or byte vector; `None` is NULL.
    #[inline]
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
        if map << SHORT_BITS == 0 {
            // A map of nothing is a byte too.
            let bits = (map >> (64 - SHORT_BITS)) as u32;
            let len = groups(SHORT_BITS - (bits | 1 << (SHORT_BITS - 1)).trailing_zeros());
            let stop = u32::from(STOP) << (32 - 8 * len);
            return self.front((spread_short(bits) | stop).to_be_bytes(), len);
        }
        let len = groups(u64::BITS - map.trailing_zeros());
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
