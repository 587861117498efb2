//! Source written from the grammars of this crate, and from the study's program, by the generator.
//!
//! A test looks at digests and names of them all; the crate itself at those of `opra2`.
#![cfg_attr(not(test), allow(dead_code))]

pub(crate) mod opra1;
pub(crate) mod opra2;
pub(crate) mod opra2_singly;
pub(crate) mod paper;
