//! Detection of framings in captures, intact and damaged.

mod corpora;
mod mutations;
