//! The pieces of work whose instructions are watched, and what counts them.
//!
//! [`Kernel`] is portable code on data that is made up here, the same each time. [`callgrind`] counts
//! the instructions of a program that runs one, and [`Counts`] keeps them in a file and compares. The
//! test `instructions` of this crate does all that with this crate's own program, which is small, so
//! that it is soon built; `tickwire bench instructions` does it for users.
#![forbid(unsafe_code)]

pub mod callgrind;
mod counts;
mod kernel;

pub use counts::{Counts, TOLERANCE_PERCENT};
pub use kernel::Kernel;

/// The compiler that built this: counts are compared only where it is the same.
pub const COMPILER: &str = env!("TICKWIRE_RUSTC");
