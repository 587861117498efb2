//! Rust source generated from the grammars of this crate and from the study's program.
//!
//! A test checks the digests and names of all modules; the crate itself uses those of `opra2`.
#![cfg_attr(not(test), allow(dead_code))]

pub(crate) mod opra1;
pub(crate) mod opra2;
pub(crate) mod opra2_singly;
pub(crate) mod paper;
