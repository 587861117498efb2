//! Instructions that every x86-64 CPU has.

use std::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};

/// Returns the top bits of 64 bytes: byte n becomes bit n.
#[inline(always)]
pub(crate) fn stop_mask(bytes: &[u8; 64]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let quarter = |index: usize| {
        let [low, high] = [2 * index, 2 * index + 1].map(|i| i64::from_le_bytes(words[i]));
        // SAFETY: SSE2 is part of x86-64, so there is no CPU without it.
        let mask = unsafe { _mm_movemask_epi8(_mm_set_epi64x(high, low)) };
        (mask as u64) << (16 * index)
    };
    quarter(0) | quarter(1) | quarter(2) | quarter(3)
}
