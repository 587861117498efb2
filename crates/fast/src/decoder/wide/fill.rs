//! Entries of generated code: each entry's lanes are passed to it in memory.

use super::Wide;
use super::kernel::{Last, fresh, records};
use crate::program::LanePlan;
use crate::rt::{LaneSegment, LaneValues};
use std::arch::x86_64::*;

/// Result of decoding entries.
pub(crate) struct FilledLanes {
    /// Bytes decoded.
    pub len: usize,
    /// Lanes present in the last entry, and in any entry.
    pub present: u32,
    pub assigned: u32,
}

impl Wide {
    /// Decodes as many entries as there are places, from the front of `bytes`, with undefined
    /// previous values; writes the lanes of the last entry to `last`. `None` if they need another
    /// engine. The plan must have fresh lanes.
    #[inline(always)]
    pub(crate) fn fill<S: LaneSegment>(
        self,
        plan: &LanePlan,
        bytes: &[u8],
        entries: &mut [S::Out],
        last: &mut LaneValues,
    ) -> Option<FilledLanes> {
        // SAFETY: the CPU features were detected.
        unsafe {
            match S::COUNT {
                0..=16 => fill::<S, 1>(plan, bytes, entries, last),
                _ => fill::<S, 2>(plan, bytes, entries, last),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn fill<S: LaneSegment, const N: usize>(
    plan: &LanePlan,
    bytes: &[u8],
    entries: &mut [S::Out],
    last: &mut LaneValues,
) -> Option<FilledLanes> {
    let before = (fresh::<N>(plan), _mm512_setzero_si512());
    let (begin, count) = (bytes.as_ptr_range(), entries.len() as u64);
    let mut places = entries.iter_mut();
    let put = |_: &LanePlan, lanes: &[__m512i; N], present: u32| {
        store(lanes, last);
        if let Some(entry) = places.next() {
            S::fill(last, u64::from(_pext_u32(present, S::OPTIONAL)), entry);
        }
    };
    // SAFETY: the bytes can be read.
    let end = unsafe {
        records::<N>(plan, begin.start, begin.end, count, before, plan.fresh_carried, put)
    }?;
    let Last { position, present, assigned } = end;
    Some(FilledLanes { len: position.addr() - begin.start.addr(), present, assigned })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<const N: usize>(lanes: &[__m512i; N], to: &mut LaneValues) {
    let (vectors, _) = to.0.as_chunks_mut::<16>();
    for (lanes, to) in lanes.iter().zip(vectors) {
        // SAFETY: 64 bytes, aligned to 64: `LaneValues` is, and so is each chunk of 64 bytes.
        unsafe { _mm512_store_si512(to.as_mut_ptr().cast(), *lanes) };
    }
}
