//! Framings found in captures, whole and mutilated.

mod corpora;
mod mutations;
