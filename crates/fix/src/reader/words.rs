//! The portable engine for plain messages, eight bytes at a time. Plain means that every field is a
//! tag of one to nine digits without leading zero, `=`, a value and a delimiter. For other messages
//! [`scan`] returns `None`, and the byte-by-byte scanner decides.
//!
//! The engine first finds all delimiters and sums the bytes, then parses each tag from the first
//! word of its field. So no field waits for the one before it.

use super::index::Index;
use super::{SOH, TagFilter, parse_tag};
use crate::digits::short_word;
use crate::raw::{BLOCK_LEN, DelimiterBlock, MessageScan};

/// Fills `index`; `None` if the message is not plain or has more than `fields_max` fields.
#[inline(never)]
pub(super) fn scan(
    bytes: &[u8],
    index: &mut Index,
    fields_max: usize,
    filter: &TagFilter,
) -> Option<MessageScan> {
    if bytes.last() != Some(&SOH) {
        return None;
    }
    let sum = delimiters(bytes, index, fields_max)?;
    let may_hold_data = tags(bytes, index, filter)?;
    Some(MessageScan { sum, may_hold_data })
}

/// Writes the positions of all delimiters, and returns the sum of all bytes; `None` if there are
/// more than `fields_max`.
#[inline(always)]
fn delimiters(bytes: &[u8], index: &mut Index, fields_max: usize) -> Option<u32> {
    let (blocks, rest) = bytes.as_chunks();
    let (mut sum, mut base) = (0_u32, 0);
    for block in blocks {
        let block = DelimiterBlock::of(block);
        sum = sum.wrapping_add(block.sum);
        note(index, block.delimiters, base, fields_max)?;
        base += BLOCK_LEN as u32;
    }
    if !rest.is_empty() {
        // Processes the last 64 bytes again and masks those already seen; a short message is
        // copied.
        let mut short = [0; BLOCK_LEN];
        let last = bytes.last_chunk().unwrap_or_else(|| {
            short[BLOCK_LEN - rest.len()..].copy_from_slice(rest);
            &short
        });
        let block = DelimiterBlock::of_last(last, rest.len());
        sum = sum.wrapping_add(block.sum);
        let delimiters = block.delimiters >> ((BLOCK_LEN - rest.len()) & 63);
        note(index, delimiters, base, fields_max)?;
    }
    Some(sum)
}

/// Writes the positions of the delimiters in a block that begins at `base`.
#[inline(always)]
fn note(index: &mut Index, mut delimiters: u64, base: u32, fields_max: usize) -> Option<()> {
    let first = index.len + 1;
    if first + BLOCK_LEN > index.ends.len() {
        index.grow();
    }
    let slots: &mut [u32; BLOCK_LEN] = index.ends.get_mut(first..)?.first_chunk_mut()?;
    let mut count = 0;
    while delimiters != 0 {
        slots[count % BLOCK_LEN] = base + delimiters.trailing_zeros();
        delimiters &= delimiters - 1;
        count += 1;
    }
    index.len += count;
    (index.len <= fields_max).then_some(())
}

/// Parses the tag of every field; `None` if one is not plain. Returns true if one may be in the
/// filter.
#[inline(always)]
fn tags(bytes: &[u8], index: &mut Index, filter: &TagFilter) -> Option<bool> {
    const ONES: u32 = u32::MAX / 255;
    const HIGHS: u32 = ONES << 7;
    while index.capacity() < index.len {
        index.grow();
    }
    let len = index.len;
    let (tags, equals) = (index.tags.get_mut(..len)?, index.equals.get_mut(..len)?);
    let ends = index.ends.get(..len)?;
    // Accumulated high bits: `others` for bytes that are not digits, `zeros` for a first digit 0.
    let (mut others, mut zeros, mut may_hold_data) = (0, 0, 0);
    for ((tag, equal), end) in tags.iter_mut().zip(equals).zip(ends) {
        let start = end.wrapping_add(1);
        let word = word_at(bytes, start as usize)?;
        // Looks for `=` in the four bytes after the first.
        let differing = (word >> 8) as u32 ^ (ONES * u32::from(b'='));
        // The lowest set bit belongs to the first byte that is 0; higher bits may be wrong because
        // of borrows.
        let found = differing.wrapping_sub(ONES) & !differing & HIGHS;
        let number = if found == 0 {
            let field = bytes.get(start as usize..)?;
            let len = field.iter().position(|byte| *byte == b'=')?;
            *equal = start + len as u32;
            parse_tag(field.get(..len)?)?
        } else {
            // Eight times the number of digits after the first, plus 7.
            let bits = found.trailing_zeros();
            *equal = start + 1 + bits / 8;
            // Shifts the digits to the end of the word, with zeros before them.
            let digits = (word as u32 ^ (ONES * u32::from(b'0'))) << ((31 - bits) & 31);
            // Adding 6 carries into the high half of a byte above 9.
            others |= digits.wrapping_add(ONES * 6) | digits;
            zeros |= (word as u32).wrapping_sub(u32::from(b'1'));
            // Four digits to two pairs, in bytes 0 and 2, and these to a number below 10,000.
            let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF;
            pairs.wrapping_mul(1 + (100 << 16)) >> 16
        };
        *tag = number;
        may_hold_data |= filter.bits(number);
    }
    let is_plain = others & (ONES * 0xF0) == 0 && zeros & 0x80 == 0;
    is_plain.then_some(may_hold_data & 1 != 0)
}

/// Returns the word at a position, padded with zeros at the end.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    match bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk()) {
        Some(word) => Some(u64::from_le_bytes(*word)),
        // CheckSum, or the frame is wrong.
        None => bytes.get(at..).map(short_word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{DataFields, portable};

    /// Asserts that a message with these tags is plain or not, and that both scanners agree.
    fn check(bytes: &[u8], is_plain: bool) {
        let (mut index, mut expected) = (Index::default(), Index::default());
        let none = DataFields::none();
        let scan = scan(bytes, &mut index, 1000, none.filter());
        assert_eq!(scan.is_some(), is_plain, "{}", bytes.escape_ascii());
        let Some(scan) = scan else { return };
        let sum = portable::scan(bytes, &mut expected, &none, 1000).expect("it is read");
        assert_eq!(scan.sum & 0xFF, sum & 0xFF);
        let len = index.len;
        assert_eq!((index.tags(), expected.fault), (expected.tags(), None));
        assert_eq!(index.equals[..len], expected.equals[..len]);
        assert_eq!(index.ends[..=len], expected.ends[..=len]);
    }

    #[test]
    fn tags_are_plain_or_not() {
        let plain = ["1", "12", "123", "1234", "12345", "1234567", "123456789", "90", "5001"];
        let odd =
            ["", "0", "01", "1x", "x1", "12x4", "1234x", "0123456", "1234567890", "-1", "1\u{1}2"];
        let cases = plain.map(|tag| (tag, true)).into_iter().chain(odd.map(|tag| (tag, false)));
        for (tag, is_plain) in cases {
            for value in ["", "v", "=", "\u{e9}", "a long value that goes on and on"] {
                check(format!("8=FIX.4.2\u{1}{tag}={value}\u{1}").as_bytes(), is_plain);
                check(format!("{tag}={value}\u{1}58=x\u{1}").as_bytes(), is_plain);
            }
            let other_sign = format!("8=FIX.4.2\u{1}{tag}\u{e9}=v\u{1}10=000\u{1}");
            check(other_sign.as_bytes(), false);
        }
        check(b"8=FIX.4.2\x0112\x01", false);
        check(b"8=FIX.4.2\x011", false);
        check(b"", false);
    }

    #[test]
    fn lengths_of_data_are_told() {
        let standard = DataFields::standard();
        for (tag, may_hold_data) in [("58", false), ("95", true), ("89", false), ("12345", false)] {
            let (bytes, mut index) =
                (format!("8=FIX.4.2\u{1}{tag}=1\u{1}10=000\u{1}"), Index::default());
            let scan = scan(bytes.as_bytes(), &mut index, 10, standard.filter()).expect("plain");
            assert_eq!(scan.may_hold_data, may_hold_data, "{tag}");
        }
    }

    #[test]
    fn messages_of_every_length_and_of_very_many_fields() {
        for len in 0..300 {
            check(format!("8={}\u{1}9=1\u{1}", "x".repeat(len)).as_bytes(), true);
            check(&b"1=\x01".repeat(len + 1), true);
            check(&b"1=\x01".repeat(len + 800), len + 800 <= 1000);
        }
        // Only delimiters.
        check(&[SOH; 200], false);
    }
}
