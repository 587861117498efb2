//! Encodes messages that consist of integers and a symbol, which are almost all messages of a feed,
//! with the same code for every field.

use crate::bottom_up::BottomUpEngine;
use crate::record::{CHARS_MASK, lane};
use crate::writer::integer_len;
#[cfg(target_arch = "x86_64")]
use crate::x86;
use crate::{Chars, Field, OpraMessage};

/// Buffer size for any such message plus a word: a presence map, and fields of at most five bytes.
pub(crate) const ROOM_BYTES: usize = OFFSET_MASK + 1 + 8;
/// Upper bound and mask of offsets: eight bytes, and 50 fields of five bytes.
const OFFSET_MASK: usize = 511;
const _: () = assert!(8 + Field::ALL.len() * 5 <= OFFSET_MASK);

/// The bits of a value that fit four bytes on the wire.
const LOW_BITS: u64 = (1 << 28) - 1;
const SEQ_NUM: usize = Field::SeqNum as usize;
const SYMBOL: usize = Field::Symbol as usize;

/// The values without a 32-bit lane: sequence number and symbol.
#[derive(Clone, Copy)]
pub(crate) struct FlatValues {
    pub seq_num: u64,
    pub symbol: u64,
}

impl FlatValues {
    /// Returns the values of a message; `None` if the symbol to be sent is longer than five
    /// characters or begins with a NUL, because it is then not encoded like an integer.
    #[inline(always)]
    pub fn of(message: &OpraMessage<'_>, sent: u64) -> Option<Self> {
        let symbol = message.record.wide[lane::SYMBOL];
        let characters = symbol & CHARS_MASK;
        let is_sent = sent & Field::Symbol.bit() != 0;
        let is_integer = characters >> 35 == 0 && integer_len(characters) == Chars(symbol).len();
        (!is_sent || is_integer)
            .then_some(Self { seq_num: message.record.seq_num(), symbol: characters })
    }
}

/// The engine for this CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatWriter {
    /// Present if the vector engine is used.
    #[cfg(target_arch = "x86_64")]
    wide: Option<x86::OpraAvx512>,
}

impl FlatWriter {
    pub fn new(engine: BottomUpEngine) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let BottomUpEngine::Portable = engine;
        Self {
            #[cfg(target_arch = "x86_64")]
            wide: engine.wide(),
        }
    }

    /// Returns a mask of the lanes in which two rows of values differ. Slots from 48 on hold no
    /// numbers.
    #[inline]
    pub fn differing(self, left: &[u32; 64], right: &[u32; 64]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            return x86::encode::differing(wide, left, right);
        }
        differing(left, right)
    }

    /// Writes presence map and fields of a message; `numbers` holds its 32-bit values. Returns the
    /// length, or `None` if the general path must encode it.
    #[inline]
    pub fn write(
        self,
        room: &mut [u8; ROOM_BYTES],
        numbers: &mut [u32; 64],
        values: FlatValues,
        sent: u64,
    ) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            return x86::encode::write(wide, room, numbers, values, sent);
        }
        write(room, numbers, values, sent)
    }
}

/// Writes presence map and fields of a message; `numbers` holds its 32-bit values. Returns the
/// length, or `None` if one of them needs five bytes.
// A separate function, so that the loop's variables stay in registers.
#[inline(never)]
fn write(
    room: &mut [u8; ROOM_BYTES],
    numbers: &mut [u32; 64],
    values: FlatValues,
    sent: u64,
) -> Option<usize> {
    // The lanes of sequence number and symbol receive their low 28 bits; a fifth byte is added
    // below.
    numbers[SEQ_NUM] = (values.seq_num & LOW_BITS) as u32;
    numbers[SYMBOL] = (values.symbol & LOW_BITS) as u32;
    let mut fifths = [0_u8; 64];
    fifths[SEQ_NUM] = (values.seq_num >> 28) as u8;
    fifths[SYMBOL] = (values.symbol >> 28) as u8;

    let mut offset = write_presence_map(room, sent);
    let mut all = 0;
    let mut left = sent;
    while left != 0 {
        let slot = (left.trailing_zeros() & 63) as usize;
        left &= left - 1;
        let number = numbers[slot];
        all |= number;
        // The lowest seven bits in the lowest byte; the length follows from the highest byte used.
        let word = u64::from(spread(number)) | u64::from(fifths[slot]) << 32;
        let len = 1
            + usize::from(word > 0xFF)
            + usize::from(word > 0xFFFF)
            + usize::from(word > 0xFF_FFFF)
            + usize::from(word > 0xFFFF_FFFF);
        write_item(room, offset, word, len);
        offset += len;
    }
    (u64::from(all) <= LOW_BITS).then_some(offset)
}

/// Writes the low `len` bytes of `word`, highest first, and sets the stop bit of the last one.
/// `len` is 1 to 8.
#[inline(always)]
fn write_item(room: &mut [u8; ROOM_BYTES], offset: usize, word: u64, len: usize) {
    let bytes = ((word | 0x80) << (64 - 8 * len)).to_be_bytes();
    if let Some(room) = room[offset & OFFSET_MASK..].first_chunk_mut::<8>() {
        *room = bytes;
    }
}

/// Writes the presence map of slots up to 49 and returns its length.
#[inline(always)]
fn write_presence_map(room: &mut [u8; ROOM_BYTES], slots: u64) -> usize {
    let len = (1..8).fold(1, |len, bytes| len + usize::from(slots >> (7 * bytes) != 0));
    // Slot 0 becomes the highest of 7 * len bits.
    let bits = slots.reverse_bits() >> (64 - 7 * len);
    write_item(room, 0, crate::writer::spread(bits), len);
    len
}

/// Spreads 28 bits over the low seven bits of four bytes.
#[inline(always)]
fn spread(number: u32) -> u32 {
    // Adding `3 * part` shifts the part left by 2, adding `part` shifts it by 1. First the upper 14
    // bits move by 2, then the upper seven of each 14 bits by 1.
    let number = number.wrapping_add((number & 0x0FFF_C000).wrapping_mul(3));
    number.wrapping_add(number & 0x3F80_3F80)
}

/// Returns a mask of the lanes in which two rows of values differ. Slots from 48 on hold no
/// numbers.
#[inline]
fn differing(left: &[u32; 64], right: &[u32; 64]) -> u64 {
    let mut flags = [0u8; 48];
    for (flag, (left, right)) in flags.iter_mut().zip(left.iter().zip(right)) {
        *flag = u8::from(left != right);
    }
    let (words, _) = flags.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, word| {
        // The multiplication gathers the lowest bits of eight bytes in the product's top byte.
        mask << 8 | u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_of_up_to_five_characters_is_an_integer() {
        let value = |symbol: &[u8], sent: u64| {
            let mut draft = crate::OpraMessageDraft::new(crate::OpraVersion::V2);
            Field::ALL.into_iter().for_each(|field| draft.set_number(field, 32));
            draft.set_seq_num(7);
            draft.set_number(Field::Category, b'k'.into());
            draft.set_symbol(Chars::new(symbol).unwrap());
            FlatValues::of(&draft.message().unwrap(), sent)
                .map(|values| (values.seq_num, values.symbol))
        };
        let sent = Field::Symbol.bit();
        assert_eq!(value(b"IBM", sent), Some((7, 0x49 << 14 | 0x42 << 7 | 0x4D)));
        assert!(value(b"ABCDE", sent).is_some());
        assert_eq!(value(b"ABCDEF", sent), None, "too long");
        assert_eq!(value(b"\0A", sent), None, "it begins with a NUL");
        assert!(value(b"ABCDEF", 0).is_some(), "it is not sent");
    }

    #[test]
    fn spreading_puts_seven_bits_into_each_byte() {
        for number in [0, 1, 0x7F, 0x80, 0x3FFF, 0x4000, 0x0012_3456, 0x0FFF_FFFF] {
            let expected = (0..4).fold(0, |word, i| word | (number >> (7 * i) & 0x7F) << (8 * i));
            assert_eq!(spread(number), expected, "{number:x}");
        }
    }

    #[test]
    fn lanes_that_differ_are_found() {
        let (left, mut right) = ([7; 64], [7; 64]);
        for lane in [0, 9, 31, 47] {
            right[lane] = 8;
        }
        assert_eq!(differing(&left, &right), 1 | 1 << 9 | 1 << 31 | 1 << 47);
    }
}
