//! Detects delimiters in words of text.

use crate::reader::SOH;

/// Returns a non-zero number if one of sixteen bytes is a delimiter; only its lower half has bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn delimiters_in(first: u64, last: u64) -> u64 {
    // SAFETY: every CPU of this architecture has SSE2.
    unsafe { sse2(first, last) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2(first: u64, last: u64) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let bytes = _mm_set_epi64x(last as i64, first as i64);
    let found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(SOH as i8)));
    u64::from(found as u32)
}

/// Returns a non-zero number if one of sixteen bytes is a delimiter; only its lower half has bits.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) const fn delimiters_in(first: u64, last: u64) -> u64 {
    portable(first, last)
}

/// Portable version.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
const fn portable(first: u64, last: u64) -> u64 {
    (marked(first) | marked(last)) >> 32
}

/// Returns a word with bits in its upper half if one of its bytes is a delimiter.
#[cfg(any(test, not(target_arch = "x86_64")))]
const fn marked(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (ONES * SOH as u64);
    let marks = other.wrapping_sub(ONES) & !other & (ONES << 7);
    marks | marks << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_delimiter_is_found_at_any_place_among_any_bytes() {
        for find in [delimiters_in, portable] {
            for other in 0..=255_u8 {
                let whole = u64::from_le_bytes([other; 8]);
                assert_eq!(find(whole, whole) == 0, other != SOH);
                for at in 0..8 {
                    let mut bytes = [other; 8];
                    bytes[at] = SOH;
                    let word = u64::from_le_bytes(bytes);
                    for found in [find(word, whole), find(whole, word)] {
                        assert!(found != 0 && found >> 32 == 0, "{other} {at}");
                    }
                }
            }
        }
    }
}
