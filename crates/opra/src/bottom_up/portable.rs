//! The portable engine: steps through presence bits and stop bits of a message in parallel.

use std::num::NonZeroU64;

use super::Padded;
use super::drive::{LEN_MAX, RecordOutcome};
use super::tables::{BASE, message_fields};
use crate::Field;
use crate::field::SLOTS_V2;
use crate::packet::PacketFrame;
use crate::record::{OpraRecord, lane};

/// Bytes before a message in its window: an eight-byte word that ends at the first byte begins
/// there.
pub(super) const LEAD: usize = 7;
/// Bytes of a window: the lead, a message of at most 63 bytes, and padding.
pub(super) const WINDOW_BYTES: usize = LEAD + 64 + 1;

/// A message with the bytes around it.
pub(super) type BlockWindow = [u8; WINDOW_BYTES];

/// Returns the window of the message that begins at `start`.
#[inline(always)]
fn window(padded: &Padded, start: usize) -> Option<&BlockWindow> {
    // A message begins after a header of 15 bytes and within 65535 bytes, so the mask never changes
    // the origin.
    let origin = start.wrapping_sub(LEAD) & 0xFFFF;
    padded[origin..].first_chunk::<WINDOW_BYTES>()
}

/// Decodes the message at `frame` into `record`.
#[inline(always)]
pub(super) fn message(
    padded: &Padded,
    frame: PacketFrame,
    state: &mut BlockState,
    record: &mut OpraRecord,
) -> RecordOutcome {
    let len = frame.end - frame.start;
    let Some(window) = window(padded, frame.start) else { return RecordOutcome::Unusual };
    let stops = stop_mask(window);
    let pmap_last = stops.trailing_zeros() as usize;
    // An empty mask has 64 trailing zeros.
    if pmap_last >= MAP_BYTES_MAX || pmap_last >= len {
        return RecordOutcome::Unusual;
    }
    let present = presence_map(window, pmap_last);
    fields(&BlockItems { window, stops, len, pmap_last, present }, state, record)
}

/// State carried from message to message.
#[derive(Debug)]
pub(crate) struct BlockState {
    /// Fields of the last message's category; zero if the engine does not support it.
    pub base: u64,
    /// For each slot, the last byte of the field in the last message that contained it.
    lasts: [u8; 64],
}

impl BlockState {
    /// Creates the state before a packet.
    pub fn new() -> Self {
        Self { base: 0, lasts: [0; 64] }
    }
}

/// Decodes the message at `frame` into `record`. Its presence map ends at byte `pmap_last` of the
/// message.
#[inline(always)]
pub(crate) fn decode_items(
    padded: &Padded,
    frame: PacketFrame,
    pmap_last: usize,
    state: &mut BlockState,
    record: &mut OpraRecord,
) -> RecordOutcome {
    match window(padded, frame.start) {
        Some(window) if pmap_last < MAP_BYTES_MAX => {
            let present = presence_map(window, pmap_last);
            let (stops, len) = (stop_mask(window), frame.end - frame.start);
            fields(&BlockItems { window, stops, len, pmap_last, present }, state, record)
        }
        _ => RecordOutcome::Unusual,
    }
}

/// A message with its masks.
struct BlockItems<'a> {
    /// The message.
    window: &'a BlockWindow,
    /// Its [`stop_mask`].
    stops: u64,
    /// Its length in bytes.
    len: usize,
    /// The last byte of its presence map, which has a stop bit.
    pmap_last: usize,
    /// Its presence map: slot n is bit n.
    present: u64,
}

/// Decodes the fields of a message into `record`.
#[inline(always)]
fn fields(
    items: &BlockItems<'_>,
    state: &mut BlockState,
    record: &mut OpraRecord,
) -> RecordOutcome {
    let &BlockItems { window, stops, len, pmap_last, present } = items;
    if len > LEN_MAX {
        return RecordOutcome::Unusual;
    }
    let end_bit = 1u64 << (len & 63);
    let in_fields = (end_bit - 1) & (!1u64 << (pmap_last & 63));
    if stops & (end_bit >> 1) == 0 || present & SPARE_SLOTS != 0 {
        return RecordOutcome::Unusual;
    }
    let mut category_bits = state.base;
    if present & Field::Category.bit() != 0 {
        let code = window[(LEAD + pmap_last + 1) & 63];
        if code & 0x80 == 0 {
            return RecordOutcome::Unusual;
        }
        category_bits = BASE[usize::from(code & 0x7F)];
    }
    if category_bits == 0 {
        return RecordOutcome::Unusual;
    }
    state.base = category_bits;

    let lasts = &mut state.lasts;
    lasts[NO_SLOT] = 0;
    let left =
        store_numbers(window, stops & in_fields, pmap_last, present, &mut record.numbers, lasts);
    let unmatched = left | u64::from(lasts[NO_SLOT]);
    let long = store_words(items, lasts, record) ^ long_items(!stops & in_fields);

    let fields = message_fields(category_bits, record.numbers[Field::Bbo as usize]);
    let defined = record.defined | present;
    let missing = fields & !defined & !Field::Symbol.bit();
    if (present & !fields) | missing | unmatched | long != 0 {
        return RecordOutcome::Wrong;
    }
    record.defined = defined;
    record.fields = fields;
    record.changed = present | Field::SeqNum.bit();
    RecordOutcome::Done
}

/// Slots without a field.
const SPARE_SLOTS: u64 = u64::MAX << SLOTS_V2;
/// The slot that receives fields without a presence bit.
const NO_SLOT: usize = 63;

/// Stores the low 28 bits of every present field; the values of fields that are longer than four
/// bytes are completed or rejected later. Sets `lasts` to the last byte of each field, by slot.
///
/// Returns the presence bits for which no field was left.
// A separate function, so that the loop's variables stay in registers. The loop runs over the stops
// rather than the presence bits because the stops are known sooner, and so the loop's exit is.
#[inline(never)]
fn store_numbers(
    window: &BlockWindow,
    mut stops: u64,
    mut previous: usize,
    mut present: u64,
    numbers: &mut [u32; 64],
    lasts: &mut [u8; 64],
) -> u64 {
    while let Some((slot, last)) = next_field(&mut present, &mut stops) {
        let len = last.wrapping_sub(previous);
        previous = last;
        lasts[slot] = last as u8;
        numbers[slot] = integer(window, last, len);
    }
    present
}

/// Takes the next stop bit and presence bit. Returns the slot of a field and the offset of its last
/// byte in the message.
#[inline(always)]
pub(super) fn next_field(present: &mut u64, stops: &mut u64) -> Option<(usize, usize)> {
    let ends = NonZeroU64::new(*stops)?;
    let slot = (*present | 1 << NO_SLOT).trailing_zeros() as usize;
    *present &= present.wrapping_sub(1);
    *stops &= stops.wrapping_sub(1);
    Some((slot, ends.trailing_zeros() as usize))
}

/// Returns the low 28 bits of the item of `len` bytes that ends at byte `last` of the message.
#[inline(always)]
pub(super) fn integer(window: &BlockWindow, last: usize, len: usize) -> u32 {
    // The word's last byte is the item's last byte, so the item is the low end of the word.
    let bytes = window.get(LEAD + last - 3..).and_then(|bytes| bytes.first_chunk::<4>());
    let word = bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes));
    join_four(word & LOW_BITS[len & 7])
}

/// Returns the value of the item of `len` bytes, at most five, that ends at byte `last` of the
/// message. `low` are its low 28 bits.
#[inline(always)]
pub(super) fn five_bytes(window: &BlockWindow, last: usize, len: usize, low: u32) -> u64 {
    let is_long = u64::from(len == 5);
    // The first of five bytes. The index is valid because the window has seven bytes before the
    // message.
    let first = u64::from(window[(last & 63) + LEAD - 4] & 0x7F);
    u64::from(low) | (first & is_long.wrapping_neg()) << 28
}

/// Stores sequence number and symbol, which may have five bytes. Returns a mask of the first bytes
/// of those that have.
#[inline(always)]
fn store_words(items: &BlockItems<'_>, lasts: &[u8; 64], record: &mut OpraRecord) -> u64 {
    // Selects by mask rather than by branch: the presence of a symbol is hard to predict.
    let (value, len, begin) = word(items, lasts, &record.numbers, Field::Symbol);
    let keep = (items.present >> Field::Symbol as u8 & 1).wrapping_sub(1);
    let symbol = record.wide[lane::SYMBOL] & keep | (value | len << 56) & !keep;
    let mut long = begin & !keep;
    let mut seq_num = record.wide[lane::SEQ_NUM].wrapping_add(1);
    if items.present & Field::SeqNum.bit() != 0 {
        let (value, _, begin) = word(items, lasts, &record.numbers, Field::SeqNum);
        seq_num = value;
        long |= begin;
    }
    record.wide[lane::SYMBOL] = symbol;
    record.wide[lane::SEQ_NUM] = seq_num;
    long
}

/// Returns the value of a present field of at most five bytes, its length, and, if it has five
/// bytes, the bit of its first byte.
#[inline(always)]
fn word(
    items: &BlockItems<'_>,
    lasts: &[u8; 64],
    numbers: &[u32; 64],
    field: Field,
) -> (u64, u64, u64) {
    let last = usize::from(lasts[field as usize] & 63);
    // The previous item ends at the last stop below, which is the presence map's if there is no
    // other.
    let below = items.stops & ((1 << last) - 1);
    let len = last.wrapping_sub((below | 1).ilog2() as usize);
    let value = five_bytes(items.window, last, len, numbers[field as usize]);
    (value, len as u64, u64::from(len == 5) << (last.wrapping_sub(4) & 63))
}

/// For each length of a field: the mask of the value bits in its last four bytes.
static LOW_BITS: [u32; 8] = {
    let mut table = [0x7F7F_7F7F; 8];
    (table[0], table[1], table[2], table[3]) = (0, 0x7F, 0x7F7F, 0x7F_7F7F);
    table
};

/// Joins the four groups of seven bits of a word without stop bits to 28 bits.
///
/// First `2 x 7` to 14 bits in each half (`high * 256 + low - high * 128`), then `2 x 14` to 28
/// bits.
#[inline(always)]
fn join_four(word: u32) -> u32 {
    let pairs = word - (word >> 1 & 0x3F80_3F80);
    (pairs & 0x3FFF) | (pairs >> 2 & 0x0FFF_C000)
}

/// Length in bytes of the longest presence map that the engine decodes; messages with a group or a
/// text need more.
pub(super) const MAP_BYTES_MAX: usize = 6;

/// The slots in a byte of a presence map, by the byte's index and value.
static SLOTS_OF_BYTE: [[u64; 128]; MAP_BYTES_MAX] = {
    let mut table = [[0; 128]; MAP_BYTES_MAX];
    let mut index = 0;
    while index < MAP_BYTES_MAX * 128 {
        let (place, value) = (index / 128, index % 128);
        let bits = (value as u8).reverse_bits() >> 1;
        table[place][value] = (bits as u64) << (7 * place);
        index += 1;
    }
    table
};

/// Decodes the presence map that ends at byte `last` of the message, one of the first
/// [`MAP_BYTES_MAX`]: slot n becomes bit n.
#[inline(always)]
pub(super) fn presence_map(window: &BlockWindow, last: usize) -> u64 {
    // Looks up all bytes and masks the result afterwards, so that the loads do not depend on the
    // length.
    let bytes = window[LEAD..].iter().zip(&SLOTS_OF_BYTE);
    let slots = bytes.fold(0, |slots, (byte, of_byte)| slots | of_byte[usize::from(byte & 0x7F)]);
    let len_bits = 7 * (last + 1);
    slots & ((1 << (len_bits & 63)) - 1)
}

/// Returns the first bytes of items of five bytes: four bytes in a row without a stop bit. A longer
/// item sets more than one bit.
#[inline(always)]
fn long_items(no_stops: u64) -> u64 {
    let pairs = no_stops & no_stops >> 1;
    pairs & pairs >> 2
}

/// Returns the stop bits of the 64 bytes from the message's start: byte n becomes bit n.
#[inline(always)]
pub(super) fn stop_mask(window: &BlockWindow) -> u64 {
    match window[LEAD..].first_chunk::<64>() {
        #[cfg(target_arch = "x86_64")]
        Some(bytes) => crate::x86::stop_mask(bytes),
        #[cfg(not(target_arch = "x86_64"))]
        Some(bytes) => stop_mask_by_words(bytes),
        None => 0,
    }
}

/// Returns the top bits of 64 bytes: byte n becomes bit n.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) fn stop_mask_by_words(bytes: &[u8; 64]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, word| {
        let bits = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        // The multiplication gathers the top bits of the eight bytes in the product's top byte.
        mask << 8 | bits.wrapping_mul(0x0002_0408_1020_4081) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_puts_groups_of_seven_bits_together() {
        for word in [0, 0x7F, 0x017F, 0x7F7F_7F7F, 0x4567_0912, 0x2010_0804] {
            let expected = (0..4).fold(0, |value, i| value | (word >> (8 * i) & 0x7F) << (7 * i));
            assert_eq!(join_four(word), expected, "{word:x}");
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
        let expected = 1 | 2 | 1 << 15 | 1 << 16 | 1 << 33 | 1 << 63;
        assert_eq!(stop_mask(&window), expected);
        assert_eq!(stop_mask_by_words(window[LEAD..].first_chunk().unwrap()), expected);
    }

    #[test]
    fn items_of_five_bytes_are_found_where_they_begin() {
        assert_eq!(long_items(0b1110_1111_0111_1000), 1 << 8 | 1 << 3);
        assert_eq!(long_items(0b1_1111), 0b11);
    }
}
