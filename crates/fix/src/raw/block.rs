//! Blocks of a message: where the delimiters are, and the sum. Alike on every architecture; of x86-64, where every
//! processor has SSE2, sixteen bytes are looked at together, elsewhere eight in a word.

use crate::reader::SOH;

/// Bytes of a block.
pub(crate) const BLOCK_LEN: usize = 64;

/// Content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// A bit for each byte that is a delimiter, the first the lowest.
    pub delimiters: u64,
    /// The sum of all bytes, modulo 65,536 at least.
    pub sum: u32,
}

/// Bytes of ones after as many zeros, for masks that keep the last bytes of a block.
static LAST: [u8; 2 * BLOCK_LEN] = {
    let mut bytes = [0; 2 * BLOCK_LEN];
    let mut at = BLOCK_LEN;
    while at < 2 * BLOCK_LEN {
        bytes[at] = 0xFF;
        at += 1;
    }
    bytes
};

impl Block {
    /// Looks at a block.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8; BLOCK_LEN]) -> Self {
        look(bytes, &[0xFF; BLOCK_LEN])
    }

    /// Looks at the last `len` bytes of a block, as if those before were 0.
    #[inline(always)]
    pub(crate) fn of_last(bytes: &[u8; BLOCK_LEN], len: usize) -> Self {
        let keep = LAST.get(len..).and_then(|keep| keep.first_chunk());
        look(bytes, keep.unwrap_or(&[0xFF; BLOCK_LEN]))
    }
}

/// Looks at the bytes of a block that are kept.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn look(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> Block {
    // SAFETY: every processor of this architecture has SSE2.
    unsafe { sse2(bytes, keep) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> Block {
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
    Block { delimiters, sum }
}

/// Looks at the bytes of a block that are kept.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn look(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> Block {
    words(bytes, keep)
}

/// Eight bytes at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn words(bytes: &[u8; BLOCK_LEN], keep: &[u8; BLOCK_LEN]) -> Block {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
    let (mut others, mut sums) = (0, 0);
    let words = bytes.as_chunks::<8>().0.iter().zip(keep.as_chunks::<8>().0);
    for (at, (bytes, keep)) in words.enumerate() {
        let word = u64::from_le_bytes(*bytes) & u64::from_le_bytes(*keep);
        let differing = word ^ (ONES * SOH as u64);
        // The high bit of a byte is set if the byte is not 0: nothing is carried from one to the next.
        let other = (((differing & !HIGHS) + !HIGHS) | differing) & HIGHS;
        // The high bits, one after the other.
        others |= (other.wrapping_mul(0x0002_0408_1020_4081) >> 56) << (8 * at);
        // Sums of sixteen bytes each lie in sixteen bits.
        sums += (word & EVEN) + ((word >> 8) & EVEN);
    }
    Block { delimiters: !others, sum: (sums.wrapping_mul(EVEN / 255) >> 48) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_seen_once_on_any_architecture() {
        let mut bytes = [0xFF; BLOCK_LEN];
        let all = [0xFF; BLOCK_LEN];
        for look in [look, words] {
            assert_eq!(look(&bytes, &all), Block { delimiters: 0, sum: 255 * 64 });
        }
        for value in [0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF] {
            for at in 0..BLOCK_LEN {
                bytes = [0; BLOCK_LEN];
                bytes[at] = value;
                // Those beside a delimiter are none.
                bytes[(at + 1) % BLOCK_LEN] = SOH;
                let set = |at: usize, value| u64::from(value == SOH) << (at % BLOCK_LEN);
                let delimiters = set(at, value) | set(at + 1, SOH);
                let expected = Block { delimiters, sum: u32::from(value) + 1 };
                assert_eq!((look(&bytes, &all), words(&bytes, &all)), (expected, expected));
                assert_eq!(Block::of(&bytes), expected);
            }
        }
    }

    #[test]
    fn what_is_not_kept_counts_as_zero() {
        let bytes: [u8; BLOCK_LEN] = std::array::from_fn(|at| (at % 7) as u8);
        for len in 0..=BLOCK_LEN {
            let mut last = bytes;
            last[..BLOCK_LEN - len].fill(0);
            assert_eq!(Block::of_last(&bytes, len), Block::of(&last), "{len}");
            let keep = LAST[len..].first_chunk().expect("a block");
            assert_eq!(words(&bytes, keep), Block::of(&last), "{len}");
        }
    }
}
