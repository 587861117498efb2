//! AVX-512 engine: decodes all fields of a record at once.
//!
//! A record's bytes lie in one vector. The mask of its stop bits compresses the byte positions into
//! a list of field ends; the presence map expands that list so that each lane holds its own end and
//! length. Byte permutations then gather up to four bytes per lane, two multiply-adds join their
//! groups of seven bits, and a masked addition merges the transmitted values into the previous
//! record, which stays in registers. No branch depends on field lengths or on which fields are
//! present. A last permutation expands the lanes to the caller's words.
//!
//! Unsupported records (a field of more than four bytes, text of more than three, more bytes than a
//! vector, NULL exponents) and suspicious ones (values out of range, overlong encodings, the end of
//! the bytes) set error bits, which are checked after the last entry. If any is set, machine code
//! or the portable engine decodes all entries again.
//!
//! This module uses `unsafe` to call functions whose CPU features were detected, and to load and
//! store vectors.
#![allow(unsafe_code)]

mod fill;
mod kernel;

pub(crate) use fill::FilledLanes;

use super::lanes::{RecordPlace, RunProgress};
use crate::dictionary::{LaneState, LaneWords, Word};
use crate::program::{BLOCK, LANES_MAX, LanePlan, LaneRun};
use std::arch::x86_64::*;

/// Proof that this CPU has every instruction the engine uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide(());

/// Decodes all entries or none. Arguments: call data, next byte, first lane of the first record,
/// number of entries, and the lanes present before.
///
/// # Safety
/// The kernel was returned by [`Wide::kernel`] for this plan. The bytes from the next one to
/// `call.end` are readable. `call.before` points to [`LANES_MAX`] words, or is null for the plan's
/// own fresh lanes. From the first lane on there is memory for as many records as entries, each
/// with the plan's blocks of words and presence word.
pub(super) type WideKernel =
    unsafe extern "sysv64" fn(&LanePlan, &mut WideCall, *const u8, *mut Word, u64, u64) -> WideEnd;

/// Arguments of a kernel that are passed in memory.
#[derive(Debug)]
#[repr(C)]
pub(super) struct WideCall {
    /// End of the readable bytes.
    pub end: *const u8,
    /// First lane of the previous record.
    pub before: *const Word,
    /// Nonzero if the entries were rejected.
    pub is_declined: u64,
}

/// Result of a kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct WideEnd {
    /// Position after the last byte; null if the entries were rejected.
    pub end: *const u8,
    /// Lanes present in the last record in the low half, lanes present in any record in the high
    /// half.
    pub lanes: u64,
}

impl Wide {
    /// Detects whether this CPU has every instruction that the engine uses.
    pub(crate) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        is_there.then_some(Self(()))
    }

    /// True if the engine may decode entries of this run.
    #[inline(always)]
    pub(super) fn takes(self, run: &LaneRun) -> bool {
        run.plan.is_some()
    }

    /// Returns the kernel for records of a plan. It is safe to call: the CPU features were
    /// detected.
    pub(super) fn kernel(self, plan: &LanePlan) -> WideKernel {
        match plan.blocks {
            0 | 1 => kernel::entries::<1, 1>,
            2 => kernel::entries::<1, 2>,
            3 => kernel::entries::<2, 3>,
            _ => kernel::entries::<2, 4>,
        }
    }

    /// Decodes entries as [`lanes::entries`](super::lanes::entries) does, but all of them or none.
    #[inline]
    pub(super) fn entries(
        self,
        run: &LaneRun,
        bytes: &[u8],
        place: &mut RecordPlace<'_>,
        lanes: &LaneWords,
        progress: &mut RunProgress,
        count: u32,
    ) -> Option<()> {
        let plan = run.plan.as_deref()?;
        let RecordPlace { ref mut words, base, step, presence_at } = *place;
        let (first_slot, presence_at) = (run.first_slot as usize, presence_at as usize);
        let span = (first_slot + plan.blocks * BLOCK).max(presence_at + 1);
        let needed = (count as usize).saturating_sub(1).saturating_mul(step).saturating_add(span);
        let to_presence = (presence_at as isize - first_slot as isize) * size_of::<Word>() as isize;
        let is_known = plan.step == step * size_of::<Word>() && plan.to_presence == to_presence;
        let words = words.get_mut(base..).filter(|words| is_known && words.len() >= needed);
        let (words, rest) = (words?, bytes.get(progress.position..)?);
        let end = bytes.as_ptr_range().end;
        let is_fresh = std::ptr::eq(lanes, &run.fresh) && plan.fresh.is_some();
        let out = words.as_mut_ptr().wrapping_add(first_slot);
        let carried = u64::from(progress.state.carried());
        let before = if is_fresh { std::ptr::null() } else { lanes.as_ptr() };
        let mut call = WideCall { end, before, is_declined: 0 };
        // SAFETY: the CPU features were detected. `rest` is readable from the position to its end.
        // There are `needed` words: for each of `count` records, `step` words apart, the plan's
        // blocks from the first slot on and the presence word. `LaneWords` has `LANES_MAX`.
        let WideEnd { end, lanes } = unsafe {
            self.kernel(plan)(plan, &mut call, rest.as_ptr(), out, u64::from(count), carried)
        };
        if end.is_null() {
            return None;
        }
        let assigned = progress.state.assigned() | (lanes >> 32) as u32;
        progress.position = end as usize - bytes.as_ptr() as usize;
        progress.state = LaneState::new(lanes as u32, assigned);
        Some(())
    }

    /// Writes the lanes of a run that have an entry to the words of these entries, with full-width stores: vector
    /// loads stall on narrower stores to the same address.
    #[inline]
    pub(super) fn keep(self, run: &LaneRun, words: &mut LaneWords, lanes: &[Word]) {
        let Some(plan) = run.plan.as_deref() else { return };
        // SAFETY: the CPU features were detected.
        unsafe {
            match plan.blocks {
                1 => keep::<1>(run, plan, words, lanes),
                2 => keep::<2>(run, plan, words, lanes),
                3 => keep::<3>(run, plan, words, lanes),
                _ => keep::<{ LANES_MAX / BLOCK }>(run, plan, words, lanes),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn keep<const N: usize>(run: &LaneRun, plan: &LanePlan, words: &mut LaneWords, lanes: &[Word]) {
    let (words, _) = words.as_chunks_mut::<BLOCK>();
    let (lanes, _) = lanes.as_chunks::<BLOCK>();
    for ((words, lanes), kept) in words.iter_mut().zip(lanes).zip(&plan.kept_words).take(N) {
        let mut merged = load(lanes);
        if !run.is_alone {
            // `a ? b : c`, bitwise.
            merged = _mm512_ternarylogic_epi64::<0xca>(
                load(&kept.0.map(u64::to_le_bytes)),
                merged,
                load(words),
            );
        }
        // SAFETY: eight words of eight bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), merged) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(block: &[Word; BLOCK]) -> __m512i {
    // SAFETY: eight words of eight bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
