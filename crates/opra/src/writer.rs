//! Writes presence maps, integers and strings into a buffer.

use crate::record::CHARS_MASK;
use crate::{Chars, WireText};

/// Writes items into a buffer that must be large enough for any message.
pub(crate) struct OpraWriter<'a> {
    pub buffer: &'a mut [u8],
    pub offset: usize,
}

impl OpraWriter<'_> {
    /// Stores the low `len` bytes of `word`, highest first, and sets the stop bit of the last one.
    /// `len` is 1 to 8.
    #[inline]
    pub fn item(&mut self, word: u64, len: usize) {
        let bytes = ((word | 0x80) << (64 - 8 * len)).to_be_bytes();
        if let Some(room) = self.buffer[self.offset..].first_chunk_mut::<8>() {
            *room = bytes;
        }
        self.offset += len;
    }

    #[inline]
    pub fn presence_map(&mut self, slots: u64) {
        let len = (63 - (slots | 1).leading_zeros() as usize) / 7 + 1;
        // Slot 0 becomes the highest of 7 * len bits.
        let bits = slots.reverse_bits() >> (64 - 7 * len);
        self.item(spread(bits), len);
    }

    #[inline]
    pub fn integer(&mut self, value: u64) {
        self.item(spread(value), integer_len(value));
    }

    pub fn chars(&mut self, chars: Chars) {
        self.item(spread(chars.0 & CHARS_MASK), chars.len().clamp(1, Chars::LEN_MAX));
    }

    pub fn text(&mut self, text: WireText<'_>) {
        let room = &mut self.buffer[self.offset..self.offset + text.len()];
        room.iter_mut().zip(text.bytes()).for_each(|(room, byte)| *room = byte);
        if let Some(last) = room.last_mut() {
            *last |= 0x80;
        }
        self.offset += text.len();
    }
}

/// Returns the number of seven-bit groups that a value of at most 35 bits needs, at least one.
#[inline]
pub(crate) fn integer_len(value: u64) -> usize {
    1 + usize::from(value >= 1 << 7)
        + usize::from(value >= 1 << 14)
        + usize::from(value >= 1 << 21)
        + usize::from(value >= 1 << 28)
}

/// Spreads 56 bits over the low seven bits of eight bytes: first 2 x 28 bits, then 4 x 14, then 8
/// x 7.
#[inline]
pub(crate) fn spread(bits: u64) -> u64 {
    let bits = (bits & 0x0000_0000_0FFF_FFFF) | (bits & 0x00FF_FFFF_F000_0000) << 4;
    let bits = (bits & 0x0000_3FFF_0000_3FFF) | (bits & 0x0FFF_C000_0FFF_C000) << 2;
    (bits & 0x007F_007F_007F_007F) | (bits & 0x3F80_3F80_3F80_3F80) << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_puts_seven_bits_into_each_byte() {
        for bits in [0, 1, 0x7F, 0x80, 0x0012_3456_789A_BCDE, (1 << 56) - 1] {
            let expected = (0..8).fold(0, |word, i| word | (bits >> (7 * i) & 0x7F) << (8 * i));
            assert_eq!(spread(bits), expected, "{bits:x}");
        }
    }

    #[test]
    pub fn presence_maps_end_with_the_last_byte_that_has_a_bit() {
        let bytes = |slots| {
            let mut buffer = [0; 16];
            let mut writer = OpraWriter { buffer: &mut buffer, offset: 0 };
            writer.presence_map(slots);
            let len = writer.offset;
            buffer[..len].to_vec()
        };
        assert_eq!(bytes(0), [0x80]);
        assert_eq!(bytes(1), [0xC0]);
        assert_eq!(bytes(1 << 6), [0x81]);
        assert_eq!(bytes(1 << 7 | 1), [0x40, 0xC0]);
        assert_eq!(bytes(1 << 49), [0, 0, 0, 0, 0, 0, 0, 0xC0]);
    }
}
