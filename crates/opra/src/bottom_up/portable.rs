//! The portable engine: presence bits and stop bits of a message walk in step.

use super::Padded;
use super::drive::{LEN_MAX, Outcome};
use super::tables::{BASE, message_fields};
use crate::Field;
use crate::field::PRESENCE_MAP_BYTES_MAX;
use crate::packet::Frame;
use crate::record::{LANE, Record, lane};

/// Bytes before a message that belong to its window: a word that ends at its first byte begins there.
const LEAD: usize = 7;
/// Bytes of a window: a message of at most 63 bytes, and a word's length more.
const WINDOW_BYTES: usize = LEAD + 64 + 1;

type Window = [u8; WINDOW_BYTES];

/// Decodes the message at `frame` into `record`. `base` has the fields of the category of the message
/// before, and then of this one.
#[inline]
pub(super) fn message(
    padded: &Padded,
    frame: Frame,
    base: &mut u64,
    record: &mut Record,
) -> Outcome {
    let Frame { start, end, .. } = frame;
    let len = end - start;
    if len > LEN_MAX {
        return Outcome::Unusual;
    }
    // A message lies behind a header of 15 bytes and inside 65535, so nothing wraps or is cut here.
    let origin = start.wrapping_sub(LEAD) & 0xFFFF;
    let Some(window) = padded[origin..].first_chunk::<WINDOW_BYTES>() else {
        return Outcome::Unusual;
    };
    let end_bit = 1u64 << (len & 63);
    let stops = stop_mask(window, len) & (end_bit - 1);
    let pmap_last = stops.trailing_zeros() as usize;
    // An empty mask has 64 trailing zeros.
    if pmap_last >= PRESENCE_MAP_BYTES_MAX {
        return Outcome::Unusual;
    }
    let present = presence_map(window, pmap_last);
    let field_stops = stops & (stops - 1);
    let no_stops = !stops & (end_bit - 1) & (u64::MAX << (pmap_last + 1));
    if has_run_of_five(no_stops) || stops & (end_bit >> 1) == 0 {
        return Outcome::Unusual;
    }
    let mut category_bits = *base;
    if present & Field::Category.bit() != 0 {
        let code = window[(LEAD + pmap_last + 1) & 63];
        if code & 0x80 == 0 {
            return Outcome::Unusual;
        }
        category_bits = BASE[usize::from(code & 0x7F)];
    }
    if category_bits == 0 {
        return Outcome::Unusual;
    }
    *base = category_bits;

    record.wide[lane::SEQ_NUM] = record.wide[lane::SEQ_NUM].wrapping_add(1);
    let left_over = store_fields(window, present, field_stops | end_bit, pmap_last, record);
    record.wide[lane::SEQ_NUM] &= (1 << 56) - 1;

    let fields = message_fields(category_bits, record.numbers[Field::Bbo as usize]);
    let defined = record.defined | present;
    let missing = fields & !defined & !Field::Symbol.bit();
    if (present & !fields) | missing | (left_over ^ end_bit) != 0 {
        return Outcome::Wrong;
    }
    record.defined = defined;
    record.fields = fields;
    record.changed = present | Field::SeqNum.bit();
    Outcome::Done
}

/// Stores every present field and returns the stop bits that are left.
#[inline]
fn store_fields(
    window: &Window,
    mut present: u64,
    mut stops: u64,
    pmap_last: usize,
    record: &mut Record,
) -> u64 {
    let mut previous = pmap_last;
    while present != 0 {
        let slot = (present.trailing_zeros() & 63) as usize;
        present &= present - 1;
        let last = (stops.trailing_zeros() & 63) as usize;
        stops &= stops.wrapping_sub(1);
        let len = last.wrapping_sub(previous);
        previous = last;
        // The word ends with the field's last byte, so the field is its low end.
        let Some(word) = window[last..].first_chunk::<8>() else { return 0 };
        let value = join_five(u64::from_be_bytes(*word) & LOW_BITS[len & 7]);
        record.numbers[slot] = value as u32;
        record.wide[usize::from(LANE[slot] & 15)] = value | (len as u64) << 56;
    }
    stops
}

/// By the length of a field, at most five bytes: the bits of its bytes that are not stop bits.
static LOW_BITS: [u64; 8] =
    [0, 0x7F, 0x7F7F, 0x7F_7F7F, 0x7F7F_7F7F, 0x7F_7F7F_7F7F, 0x7F_7F7F_7F7F, 0x7F_7F7F_7F7F];

/// Puts the groups of seven bits of five bytes without stop bits together.
#[inline]
fn join_five(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x3F80_3F80);
    (pairs & 0x3FFF) | (pairs >> 2 & 0x0FFF_C000) | (pairs >> 4 & 0x0007_F000_0000)
}

/// Puts the low seven bits of eight bytes together.
#[inline]
fn squeeze(word: u64) -> u64 {
    let word = word & 0x7F7F_7F7F_7F7F_7F7F;
    let word = word - (word >> 1 & 0x3F80_3F80_3F80_3F80);
    let word = (word & 0x0000_3FFF_0000_3FFF) | (word >> 2 & 0x0FFF_C000_0FFF_C000);
    (word & 0x0FFF_FFFF) | (word >> 4 & 0x00FF_FFFF_F000_0000)
}

/// The presence map that ends at byte `last` of the message: slot n becomes bit n.
#[inline]
fn presence_map(window: &Window, last: usize) -> u64 {
    let Some(bytes) = window[LEAD..].first_chunk::<8>() else { return 0 };
    let word = u64::from_be_bytes(*bytes) & (u64::MAX << ((56 - 8 * last) & 63));
    squeeze(word).reverse_bits() >> 8
}

/// Whether five bits in a row are set: a field of six bytes or more.
#[inline]
fn has_run_of_five(bits: u64) -> bool {
    let pairs = bits & bits >> 1;
    let fours = pairs & pairs >> 2;
    fours & bits >> 4 != 0
}

/// The stop bits of a message of `len` bytes: byte n becomes bit n. Bits behind the message mean nothing.
#[inline]
fn stop_mask(window: &Window, len: usize) -> u64 {
    let (words, _) = window[LEAD..].as_chunks::<8>();
    let half = |words: &[[u8; 8]]| {
        words.iter().rev().fold(0, |mask, word| {
            let bits = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
            // The product gathers the eight bits in its top byte.
            mask << 8 | bits.wrapping_mul(0x0002_0408_1020_4081) >> 56
        })
    };
    // Most messages are short, so the second half is worth a branch.
    let low = half(&words[..4]);
    if len > 32 { low | half(&words[4..8]) << 32 } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squeezing_joins_groups_of_seven_bits() {
        for word in [0, 0x7F, 0x017F, 0xFFFF_FFFF_FFFF_FFFF, 0x0123_4567_89AB_CDEF] {
            let expected = (0..8).fold(0, |value, i| value | (word >> (8 * i) & 0x7F) << (7 * i));
            assert_eq!(squeeze(word), expected, "{word:x}");
        }
    }

    #[test]
    fn joining_up_to_five_groups_is_the_same_as_squeezing() {
        for word in [0, 0x7F, 0x017F, 0x7F_7F7F_7F7F, 0x23_4567_0912, 0x40_2010_0804] {
            assert_eq!(join_five(word), squeeze(word), "{word:x}");
        }
    }

    #[test]
    fn presence_bits_ascend_with_the_slots() {
        let mut window = [0; WINDOW_BYTES];
        window[LEAD..LEAD + 3].copy_from_slice(&[0x40, 0x01, 0xA0]);
        window[LEAD + 3..].fill(0xFF);
        assert_eq!(presence_map(&window, 2), 1 | 1 << 13 | 1 << 15);
    }

    #[test]
    fn stop_bits_are_found_at_their_bytes() {
        let mut window = [0x7F; WINDOW_BYTES];
        for last in [0, 1, 15, 16, 33, 63] {
            window[LEAD + last] = 0x80;
        }
        assert_eq!(stop_mask(&window, 64), 1 | 2 | 1 << 15 | 1 << 16 | 1 << 33 | 1 << 63);
    }

    #[test]
    fn runs_shorter_than_five_are_allowed() {
        assert!(!has_run_of_five(0b1111_0111_1001_1110_1111_0000));
        assert!(has_run_of_five(0b1_1111 << 58));
    }
}
