//! Generated code for CPUs with bit extract and deposit instructions: x86-64 with BMI2.
//!
//! This module uses `unsafe` to call functions that require these CPU features.
#![allow(unsafe_code)]

use super::context::CodingContext;
use super::cursor::InputCursor;
use super::encode::OutputCursor;
use super::kernel::{CpuKernel, DecodeSegment, EncodeSegment, LanePrediction, sealed::Sealed};
use std::arch::x86_64::{
    __cpuid, _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64,
    _mm256_loadu_si256, _mm256_movemask_pd, _pdep_u64, _pext_u32, _pext_u64,
};

/// Proof that this CPU has the features for which [`run`] and [`run_outgoing`] are compiled; values
/// exist only on such CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Extracting(());

/// On older AMD families, PEXT and PDEP are microcoded and slower than portable code.
const AMD_FAMILY_MIN: u32 = 0x19;

impl Extracting {
    /// Returns a value if this CPU has the features and executes them fast.
    pub(crate) fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
            && is_x86_feature_detected!("avx2");
        (has_all && is_quick()).then_some(Self(()))
    }
}

#[allow(unused_unsafe, reason = "older compilers call it unsafe")]
fn is_quick() -> bool {
    // SAFETY: every x86-64 CPU has the CPUID instruction, with leaves 0 and 1.
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let is_amd = vendor.ebx == u32::from_le_bytes(*b"Auth");
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    !is_amd || family >= AMD_FAMILY_MIN
}

impl Sealed for Extracting {}

impl CpuKernel for Extracting {
    const HAS_FORMS: bool = true;

    #[inline(always)]
    fn joined(self, bytes: u64) -> u64 {
        // SAFETY: `self` proves that the CPU has BMI2.
        unsafe { _pext_u64(bytes, 0x7f7f_7f7f_7f7f_7f7f) }
    }

    #[inline(always)]
    fn joined_short(self, bytes: u32) -> u32 {
        // SAFETY: `self` proves that the CPU has BMI2.
        unsafe { _pext_u32(bytes, 0x7f7f_7f7f) }
    }

    #[inline(always)]
    fn spread(self, value: u64) -> u64 {
        // SAFETY: `self` proves that the CPU has BMI2.
        unsafe { _pdep_u64(value, 0x7f7f_7f7f_7f7f_7f7f) }
    }

    #[inline(always)]
    fn differing<const N: usize>(
        self,
        words: &[[u8; 8]; N],
        before: &[[u8; 8]; N],
        change: LanePrediction<'_, N>,
    ) -> u32 {
        // SAFETY: `self` proves that the CPU has AVX2. The load reads four words of eight bytes and
        // needs no alignment.
        let load = |words: &[[u8; 8]; 4]| unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let load_sums = |words: &[u64; 4]| unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        let (words, before) = (words.as_chunks().0, before.as_chunks().0);
        let (keep, add) = (change.keep.as_chunks().0, change.add.as_chunks().0);
        let mut equal = 0;
        for (at, (words, before)) in words.iter().zip(before).enumerate().take(8) {
            let (before, keep, add) = (load(before), load_sums(&keep[at]), load_sums(&add[at]));
            // SAFETY: as above.
            let expected = unsafe { _mm256_add_epi64(_mm256_and_si256(before, keep), add) };
            // SAFETY: as above.
            let bits = unsafe {
                _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(load(words), expected)))
            };
            equal |= (bits as u32) << (4 * at);
        }
        !equal & (u32::MAX >> (32 - N.clamp(1, 32)))
    }

    #[inline(always)]
    fn encode<'o, S: EncodeSegment + ?Sized>(
        out: OutputCursor<'o, Self>,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<OutputCursor<'o, Self>> {
        // SAFETY: an output of this kernel contains a value of it, which proves that the CPU has
        // the features for which the function is compiled.
        unsafe { run_outgoing(out, segment, arena, state, context) }
    }

    #[inline(always)]
    fn decode<'b, S: DecodeSegment>(
        at: InputCursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut CodingContext,
    ) -> Option<InputCursor<'b, Self>> {
        // SAFETY: a cursor of this kernel contains a value of it, which proves that the CPU has the
        // features for which the function is compiled.
        unsafe { run::<S>(at, map, state, out, context) }
    }
}

/// Decodes a segment; compiled for these CPUs.
#[target_feature(enable = "bmi1,bmi2,lzcnt,movbe")]
#[inline(never)]
fn run<'b, S: DecodeSegment>(
    at: InputCursor<'b, Extracting>,
    map: S::Map<'b, Extracting>,
    state: &mut S::State,
    out: &mut S::Out,
    context: &mut CodingContext,
) -> Option<InputCursor<'b, Extracting>> {
    S::decode(at, map, state, out, context)
}

/// Encodes a segment; compiled for these CPUs.
#[target_feature(enable = "bmi1,bmi2,lzcnt,movbe,avx2")]
#[inline(never)]
fn run_outgoing<'o, S: EncodeSegment + ?Sized>(
    out: OutputCursor<'o, Extracting>,
    segment: &S,
    arena: &[u8],
    state: &mut S::State,
    context: &mut S::Context,
) -> Option<OutputCursor<'o, Extracting>> {
    segment.encode(out, arena, state, context)
}
