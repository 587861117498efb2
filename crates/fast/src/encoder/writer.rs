//! Writes the wire types in their shortest form to the end of a buffer.
//!
//! Spec: FAST 1.1 §10.

use crate::dictionary::{INLINE_MAX, Word};
use crate::error::FastErrorKind;
use crate::rt::{CpuKernel, Portable};

const STOP: u8 = 0x80;
/// Value bits per byte.
const GROUP_BITS: u32 = 7;
/// Longest integer in bytes: a nullable delta of a 64-bit field has up to 66 bits.
const INTEGER_BYTES_MAX: usize = 10;

/// Returns the number of bytes for `bits` bits, at least one.
#[inline]
fn groups(bits: u32) -> usize {
    // Equals `bits.div_ceil(7).max(1)` for up to 70 bits, without a division.
    (((bits + 6) * 37) >> 8).max(1) as usize
}

#[inline]
pub(super) fn unsigned_len(value: u64) -> usize {
    groups(u64::BITS - value.leading_zeros())
}

#[inline]
pub(super) fn signed_len(value: i64) -> usize {
    let magnitude = (value ^ (value >> 63)) as u64;
    groups(u64::BITS + 1 - magnitude.leading_zeros())
}

/// Writes the low `len` groups (of seven bits) of `value`, at most eight, the highest first.
///
/// All eight bytes are computed and written without branches, because the lengths of successive
/// integers are hard to predict.
#[inline]
fn push_groups(out: &mut Vec<u8>, value: u64, len: usize) {
    let bytes = (Portable.spread(value) | u64::from(STOP)) << (8 * (8 - len));
    push_front(out, bytes.to_be_bytes(), len);
}

/// Writes the first `len` of eight bytes.
#[inline]
fn push_front(out: &mut Vec<u8>, bytes: [u8; 8], len: usize) {
    out.extend_from_slice(&bytes);
    out.truncate(out.len() - (8 - len));
}

/// Writes an unsigned integer.
#[inline]
pub(super) fn unsigned(out: &mut Vec<u8>, value: u64, nullable: bool) {
    let Some(value) = value.checked_add(u64::from(nullable)) else {
        return wide(out, 1 << 64, INTEGER_BYTES_MAX);
    };
    match unsigned_len(value) {
        len @ 1..=8 => push_groups(out, value, len),
        len => wide(out, i128::from(value), len),
    }
}

/// Writes NULL, which is the same for all types.
#[inline]
pub(super) fn null(out: &mut Vec<u8>) {
    out.push(STOP);
}

/// Writes a signed integer.
#[inline]
pub(super) fn signed(out: &mut Vec<u8>, value: i64, nullable: bool) {
    let Some(value) = value.checked_add(i64::from(nullable && value >= 0)) else {
        return wide(out, 1 << 63, INTEGER_BYTES_MAX);
    };
    match signed_len(value) {
        len @ 1..=8 => push_groups(out, value as u64, len),
        len => wide(out, i128::from(value), len),
    }
}

/// Writes the difference of two 64-bit integers that itself exceeds 64 bits.
#[cold]
pub(super) fn wide_delta(out: &mut Vec<u8>, value: i128, nullable: bool) {
    wide(out, value + i128::from(nullable && value >= 0), INTEGER_BYTES_MAX);
}

/// Writes the low `len` groups of an integer of any length.
#[cold]
fn wide(out: &mut Vec<u8>, value: i128, len: usize) {
    for index in (0..len as u32).rev() {
        out.push((value >> (index * GROUP_BITS)) as u8 & !STOP);
    }
    if let Some(last) = out.last_mut() {
        *last |= STOP;
    }
}

/// True if an ascii string is distinct from an overlong form: a leading NUL must be the only
/// character.
#[inline]
pub(super) fn is_ascii_expressible(value: &[u8]) -> bool {
    !matches!(value, [0, _, ..])
}

/// Writes an ascii string.
///
/// # Errors
/// R3 for a byte of 128 or more, D11 for a NUL before other characters.
#[inline]
pub(super) fn ascii(out: &mut Vec<u8>, value: &[u8], nullable: bool) -> Result<(), FastErrorKind> {
    // What a string that may start with a zero byte has in front.
    let preamble = if nullable { &[0][..] } else { &[] };
    let Some((last, head)) = value.split_last() else {
        out.extend_from_slice(preamble);
        out.push(STOP);
        return Ok(());
    };
    if !value.is_ascii() {
        return Err(FastErrorKind::NotAscii);
    }
    if value[0] == 0 {
        if !is_ascii_expressible(value) {
            return Err(FastErrorKind::StringSyntax);
        }
        out.extend_from_slice(preamble);
        out.push(0);
    }
    out.extend_from_slice(head);
    out.push(last | STOP);
    Ok(())
}

/// Writes an ascii string of one to seven characters, given in the form of a word.
///
/// # Errors
/// As [`ascii`].
#[inline]
pub(super) fn short_ascii(
    out: &mut Vec<u8>,
    word: Word,
    nullable: bool,
) -> Result<(), FastErrorKind> {
    let len = usize::from(word[INLINE_MAX]);
    let characters = u64::from_le_bytes(word) << 8 >> 8;
    if characters & 0x0080_8080_8080_8080 != 0 {
        return Err(FastErrorKind::NotAscii);
    }
    if characters & 0xff == 0 {
        return ascii(out, &word[..len.min(INLINE_MAX)], nullable);
    }
    let stop = u64::from(STOP) << (8 * (len - 1));
    push_front(out, (characters | stop).to_le_bytes(), len);
    Ok(())
}

/// Writes a unicode string or byte vector: length and bytes.
#[inline]
pub(super) fn vector(out: &mut Vec<u8>, value: &[u8], nullable: bool) {
    unsigned(out, value.len() as u64, nullable);
    out.extend_from_slice(value);
}

/// A presence map under construction: it reserves space for all bits a segment may use, before the
/// segment's fields.
#[derive(Debug, Default)]
pub(super) struct MapWriter {
    start: usize,
    end: usize,
    /// Index of the byte for the next bit.
    at: usize,
    byte: u8,
    /// The next bit of the byte.
    mask: u8,
}

const FIRST_BIT: u8 = 0x40;

impl MapWriter {
    /// Reserves space for `bits` bits at the end of `out`.
    #[inline]
    pub(super) fn begin(out: &mut Vec<u8>, bits: u32) -> Self {
        let start = out.len();
        let len = bits.div_ceil(GROUP_BITS).max(1) as usize;
        match len {
            1 => out.push(0),
            2 => out.extend_from_slice(&[0; 2]),
            _ => out.resize(start + len, 0),
        }
        Self { start, end: start + len, at: start, byte: 0, mask: FIRST_BIT }
    }

    /// Writes the next bit.
    #[inline]
    pub(super) fn push(&mut self, out: &mut [u8], bit: bool) {
        self.byte |= if bit { self.mask } else { 0 };
        self.mask >>= 1;
        if self.mask == 0 {
            out[self.at] = self.byte;
            self.at += 1;
            self.byte = 0;
            self.mask = FIRST_BIT;
        }
    }

    /// Ends the map: removes trailing zero bytes and moves the fields after it up.
    #[inline]
    pub(super) fn finish(self, out: &mut Vec<u8>) {
        if self.mask != FIRST_BIT {
            out[self.at] = self.byte;
        }
        let mut last = self.end - 1;
        while last > self.start && out[last] == 0 {
            last -= 1;
        }
        out[last] |= STOP;
        if last + 1 < self.end {
            out.copy_within(self.end.., last + 1);
            out.truncate(out.len() - (self.end - last - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Conformance, Findings, Map, WideMap, WireReader};

    const UNSIGNED: [u64; 14] = [
        0,
        1,
        126,
        127,
        128,
        16_383,
        16_384,
        u32::MAX as u64 - 1,
        u32::MAX as u64,
        1 << 56,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];

    fn signed_values() -> Vec<i64> {
        let positive = (0..63).flat_map(|shift| [(1i64 << shift) - 1, 1 << shift]);
        let mut values: Vec<i64> = positive.chain([i64::MAX, i64::MAX - 1]).collect();
        values.extend(values.clone().iter().map(|value| -1 - value));
        values
    }

    /// Writes a value and reads it back with a canonical decoder, which must consume the whole
    /// output.
    fn round<T>(
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut WireReader<'_>) -> Result<T, FastErrorKind>,
    ) -> (T, Vec<u8>) {
        let mut out = Vec::new();
        write(&mut out);
        let mut findings = Findings::default();
        let mut reader = WireReader::new(&out, Conformance::Canonical, &mut findings);
        let value = read(&mut reader).unwrap_or_else(|kind| panic!("{kind:?} in {out:02x?}"));
        assert_eq!(reader.position(), out.len(), "{out:02x?}");
        (value, out)
    }

    #[test]
    fn unsigned_integers_read_back_and_are_shortest() {
        for value in UNSIGNED {
            let (read, out) = round(|out| unsigned(out, value, false), |reader| reader.unsigned());
            assert_eq!(read, value);
            assert_eq!(out.len(), unsigned_len(value));
            let (read, _) =
                round(|out| unsigned(out, value, true), |reader| reader.unsigned_nullable());
            assert_eq!(read, Some(value));
        }
        let (read, out) = round(null, |reader| reader.unsigned_nullable());
        assert_eq!((read, out), (None, vec![0x80]));
    }

    #[test]
    fn the_largest_nullable_unsigned_integer_takes_65_bits() {
        let (_, out) =
            round(|out| unsigned(out, u64::MAX, true), |reader| reader.unsigned_nullable());
        assert_eq!(out, [0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    }

    #[test]
    fn signed_integers_read_back_and_are_shortest() {
        for value in signed_values() {
            let (read, out) = round(|out| signed(out, value, false), |reader| reader.signed());
            assert_eq!(read, value);
            assert_eq!(out.len(), signed_len(value), "{value}");
            let (read, _) =
                round(|out| signed(out, value, true), |reader| reader.signed_nullable());
            assert_eq!(read, Some(value));
        }
        let (read, out) = round(null, |reader| reader.signed_nullable());
        assert_eq!((read, out), (None, vec![0x80]));
    }

    #[test]
    fn signed_integers_have_the_bytes_of_the_specification() {
        let bytes = |value| round(|out| signed(out, value, false), |reader| reader.signed()).1;
        assert_eq!(bytes(942_755), [0x39, 0x45, 0xa3]);
        assert_eq!(bytes(-7_942_755), [0x7c, 0x1b, 0x1b, 0x9d]);
        assert_eq!(bytes(8_193), [0x00, 0x40, 0x81]);
        assert_eq!(bytes(-8_193), [0x7f, 0x3f, 0xff]);
    }

    #[test]
    fn deltas_of_65_bits_read_back() {
        for value in [i128::from(u64::MAX), -i128::from(u64::MAX), 1 << 63, -(1 << 63) - 1] {
            let (read, _) =
                round(|out| wide_delta(out, value, false), |reader| reader.wide_from(0));
            assert_eq!(read, value);
            let (read, _) = round(|out| wide_delta(out, value, true), |reader| reader.wide_from(0));
            assert_eq!(read - i128::from(read > 0), value);
        }
    }

    #[test]
    fn ascii_strings_read_back() {
        for value in [&b""[..], b"\0", b"A", b"AB\0", b"a longer string"] {
            let plain = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                if let Some(last) = bytes.last_mut() {
                    *last &= !STOP;
                }
                bytes
            };
            let (read, _) = round(
                |out| ascii(out, value, false).unwrap(),
                |reader| reader.ascii(99).map(plain),
            );
            assert_eq!(read, value);
            let (read, _) = round(
                |out| ascii(out, value, true).unwrap(),
                |reader| reader.ascii_nullable(99).map(|bytes| bytes.map(plain)),
            );
            assert_eq!(read.as_deref(), Some(value));
        }
    }

    #[test]
    fn a_short_string_is_written_as_any_other() {
        for value in [&b""[..], b"\0", b"A", b"AB\0", b"seven c", b"\0A", b"\x80", b"sevenc\xff"] {
            let word = crate::dictionary::inline_word(value).unwrap();
            let (mut short, mut long) = (Vec::new(), Vec::new());
            for nullable in [false, true] {
                let outcome = ascii(&mut long, value, nullable);
                assert_eq!(short_ascii(&mut short, word, nullable), outcome);
            }
            assert_eq!(short, long);
        }
    }

    #[test]
    fn zero_preambles_tell_null_empty_and_nul_apart() {
        let bytes = |value: &[u8], nullable| {
            let mut out = Vec::new();
            ascii(&mut out, value, nullable).unwrap();
            out
        };
        assert_eq!(bytes(b"", true), [0x00, 0x80]);
        assert_eq!(bytes(b"\0", true), [0x00, 0x00, 0x80]);
        assert_eq!(bytes(b"", false), [0x80]);
        assert_eq!(bytes(b"\0", false), [0x00, 0x80]);
    }

    #[test]
    fn ascii_strings_that_cannot_be_written_are_errors() {
        let mut out = Vec::new();
        assert_eq!(ascii(&mut out, b"\0A", false), Err(FastErrorKind::StringSyntax));
        assert_eq!(ascii(&mut out, "\u{fc}".as_bytes(), false), Err(FastErrorKind::NotAscii));
        assert_eq!(ascii(&mut out, b"\0\0", true), Err(FastErrorKind::StringSyntax));
    }

    #[test]
    fn vectors_read_back() {
        for value in [&b""[..], b"\0\x80\xff", &[7; 300]] {
            let (read, _) = round(
                |out| vector(out, value, false),
                |reader| reader.vector(999).map(<[u8]>::to_vec),
            );
            assert_eq!(read, value);
            let (read, _) = round(
                |out| vector(out, value, true),
                |reader| reader.vector_nullable(999).map(|bytes| bytes.map(<[u8]>::to_vec)),
            );
            assert_eq!(read.as_deref(), Some(value));
        }
    }

    #[test]
    fn presence_maps_of_any_width_end_with_their_last_set_bit() {
        for width in 1..=200u32 {
            for last_set in [None, Some(0), Some(width / 2), Some(width - 1)] {
                let mut out = vec![0xaa];
                let mut map = MapWriter::begin(&mut out, width);
                out.extend_from_slice(b"fields");
                for bit in 0..width {
                    map.push(&mut out, Some(bit) == last_set);
                }
                map.finish(&mut out);
                let len = last_set.map_or(1, |bit| bit as usize / 7 + 1);
                assert_eq!(out.len(), 1 + len + 6);
                assert_eq!(&out[1 + len..], b"fields");

                let mut findings = Findings::default();
                let mut reader = WireReader::new(&out[1..], Conformance::Canonical, &mut findings);
                let mut map = WideMap::new(reader.presence_map().unwrap());
                for bit in 0..width {
                    assert_eq!(map.take(), Some(bit) == last_set, "bit {bit} of {width}");
                }
                assert_eq!(reader.position(), len);
            }
        }
    }
}
