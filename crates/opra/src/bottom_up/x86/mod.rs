//! Instructions of x86-64 that plain Rust cannot say.
//!
//! This is the one module that may use `unsafe`: to call functions of a CPU that is known to have their
//! features, and to load and store vectors.
#![allow(unsafe_code)]

pub(super) mod avx512;
mod sse2;

pub(super) use sse2::stop_mask;
