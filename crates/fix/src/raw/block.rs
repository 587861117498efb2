//! Finds the delimiters of a 64-byte block and sums its bytes. On x86-64, where every CPU has SSE2,
//! it processes sixteen bytes at a time; elsewhere eight in a word. Results are equal.

use crate::reader::SOH;

/// Length of a block in bytes.
pub(crate) const BLOCK_LEN: usize = 64;

/// Delimiters and sum of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelimiterBlock {
    /// One bit per byte, first byte lowest; set for delimiters.
    pub delimiters: u64,
    /// Sum of all bytes, modulo 65,536 or more.
    pub sum: u32,
}

/// 64 zero bytes and 64 bytes of ones: a slice at offset `len` is a mask that keeps the last `len`
/// bytes of a block.
static LAST: [u8; 2 * BLOCK_LEN] = {
    let mut bytes = [0; 2 * BLOCK_LEN];
    let mut at = BLOCK_LEN;
    while at < 2 * BLOCK_LEN {
        bytes[at] = 0xFF;
        at += 1;
    }
    bytes
};

impl DelimiterBlock {
    /// Processes a block.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8; BLOCK_LEN]) -> Self {
        look(bytes, &[0xFF; BLOCK_LEN])
    }

    /// Processes the last `len` bytes of a block; the others count as 0.
    #[inline(always)]
    pub(crate) fn of_last(bytes: &[u8; BLOCK_LEN], len: usize) -> Self {
        let keep = LAST.get(len..).and_then(|keep| keep.first_chunk());
        look(bytes, keep.unwrap_or(&[0xFF; BLOCK_LEN]))
    }
}

/// Finds the delimiters and the sum of the bytes of a block that are selected by the mask `keep`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn look(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> DelimiterBlock {
    // SAFETY: every CPU of this architecture has SSE2.
    unsafe { sse2(bytes, keep) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> DelimiterBlock {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64,
        _mm_movemask_epi8, _mm_sad_epu8, _mm_set_epi64x, _mm_set1_epi8, _mm_setzero_si128,
        _mm_unpackhi_epi64,
    };
    #[target_feature(enable = "sse2")]
    #[inline]
    fn load(bytes: &[u8; 16]) -> __m128i {
        let word = u128::from_le_bytes(*bytes);
        _mm_set_epi64x((word >> 64) as i64, word as i64)
    }
    let zero = _mm_setzero_si128();
    let (mut delimiters, mut sums) = (0, zero);
    let quarters = bytes.as_chunks::<16>().0.iter().zip(keep.as_chunks::<16>().0);
    for (at, (bytes, keep)) in quarters.enumerate() {
        let bytes = _mm_and_si128(load(bytes), load(keep));
        let found = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(SOH as i8));
        delimiters |= u64::from(_mm_movemask_epi8(found) as u32) << (16 * at);
        sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, zero));
    }
    let sum = _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))) as u32;
    DelimiterBlock { delimiters, sum }
}

/// Finds the delimiters and the sum of the bytes of a block that are selected by the mask `keep`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn look(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> DelimiterBlock {
    words(bytes, keep)
}

/// Portable version: eight bytes at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn words(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> DelimiterBlock {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    let (mut others, mut sums) = (0, 0);
    let words = bytes.as_chunks::<8>().0.iter().zip(keep.as_chunks::<8>().0);
    for (at, (bytes, keep)) in words.enumerate() {
        let word = u64::from_le_bytes(*bytes) & u64::from_le_bytes(*keep);
        let differing = word ^ (ONES * SOH as u64);
        // Sets the high bit of each byte that is not 0. Adding 0x7F to the low seven bits cannot
        // carry into the next byte.
        let other = (((differing & !HIGHS) + !HIGHS) | differing) & HIGHS;
        // The multiplication gathers the eight high bits in the product's top byte.
        others |= (other.wrapping_mul(0x0002_0408_1020_4081) >> 56) << (8 * at);
        // Each 16-bit lane sums sixteen bytes; the multiplication below adds the four lanes.
        sums += (word & EVEN) + ((word >> 8) & EVEN);
    }
    DelimiterBlock { delimiters: !others, sum: (sums.wrapping_mul(EVEN / 255) >> 48) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_seen_once_on_any_architecture() {
        let mut bytes = [0xFF; BLOCK_LEN];
        let all = [0xFF; BLOCK_LEN];
        for look in [look, words] {
            assert_eq!(look(&bytes, &all), DelimiterBlock { delimiters: 0, sum: 255 * 64 });
        }
        for value in [0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF] {
            for at in 0..BLOCK_LEN {
                bytes = [0; BLOCK_LEN];
                bytes[at] = value;
                // A byte beside a delimiter is not one.
                bytes[(at + 1) % BLOCK_LEN] = SOH;
                let set = |at: usize, value| u64::from(value == SOH) << (at % BLOCK_LEN);
                let delimiters = set(at, value) | set(at + 1, SOH);
                let expected = DelimiterBlock { delimiters, sum: u32::from(value) + 1 };
                assert_eq!((look(&bytes, &all), words(&bytes, &all)), (expected, expected));
                assert_eq!(DelimiterBlock::of(&bytes), expected);
            }
        }
    }

    #[test]
    fn what_is_not_kept_counts_as_zero() {
        let bytes: [u8; BLOCK_LEN] = std::array::from_fn(|at| (at % 7) as u8);
        for len in 0..=BLOCK_LEN {
            let mut last = bytes;
            last[..BLOCK_LEN - len].fill(0);
            assert_eq!(DelimiterBlock::of_last(&bytes, len), DelimiterBlock::of(&last), "{len}");
            let keep = LAST[len..].first_chunk().expect("a block");
            assert_eq!(words(&bytes, keep), DelimiterBlock::of(&last), "{len}");
        }
    }
}
