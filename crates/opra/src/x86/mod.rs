//! x86-64 instructions that portable Rust does not offer.
//!
//! This is the only module that may use `unsafe`: to call functions whose CPU features were
//! detected, and to load and store vectors.
#![allow(unsafe_code)]

pub(crate) mod decode;
pub(crate) mod encode;
mod sse2;

pub(crate) use sse2::stop_mask;

use std::arch::x86_64::{__m512i, _mm512_loadu_si512};

/// Proof that this CPU has every instruction set that this module uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpraAvx512(());

impl OpraAvx512 {
    /// Detects the CPU's features.
    pub fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Self(()))
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
