//! The sum of a message.

use super::WINDOW;

/// Returns the sum of all bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn sum_of_windows(windows: &[[u8; WINDOW]]) -> u32 {
    // SAFETY: every processor of this architecture has SSE2.
    unsafe { sse2(windows) }
}

/// Sixteen bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn sse2(windows: &[[u8; WINDOW]]) -> u32 {
    use std::arch::x86_64::{
        _mm_add_epi64, _mm_cvtsi128_si64, _mm_sad_epu8, _mm_set_epi64x, _mm_setzero_si128,
        _mm_unpackhi_epi64,
    };
    let zero = _mm_setzero_si128();
    let mut sums = zero;
    for half in windows.as_flattened().as_chunks::<16>().0 {
        let word = u128::from_le_bytes(*half);
        let bytes = _mm_set_epi64x((word >> 64) as i64, word as i64);
        sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, zero));
    }
    _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))) as u32
}

/// Returns the sum of all bytes.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn sum_of_windows(windows: &[[u8; WINDOW]]) -> u32 {
    windows.iter().flatten().fold(0, |sum, byte| sum.wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_once() {
        assert_eq!(sum_of_windows(&[]), 0);
        assert_eq!(sum_of_windows(&[[255; WINDOW]; 9]), 255 * 32 * 9);
        for at in 0..2 * WINDOW {
            let mut windows = [[0; WINDOW]; 2];
            windows[at / WINDOW][at % WINDOW] = 129;
            assert_eq!(sum_of_windows(&windows), 129);
        }
    }
}
