//! Kernels whose instructions are counted, and the tools to count them.
//!
//! [`Kernel`] is portable code on reproducible synthetic data. [`callgrind`] counts the
//! instructions of a program that runs a kernel; [`InstructionCounts`] stores the counts in a file and
//! compares them. The test `instructions` of this crate uses the crate's own program, which is
//! small and quick to build; `tickwire bench instructions` offers the same to users.
//!
//! # Examples
//!
//! ```
//! use tickwire_kernels::{InstructionCounts, Kernel};
//!
//! let kernel = Kernel::named("fix/parse/new-order-single").ok_or("a kernel")?;
//! kernel.run(1)?;
//!
//! let recorded = InstructionCounts { compiler: "rustc 1".to_owned(), of_kernels: vec![("a".to_owned(), 100.0)] };
//! let now = InstructionCounts { of_kernels: vec![("a".to_owned(), 110.0)], ..recorded.clone() };
//! assert!(now.are_off(&recorded), "10 % more instructions");
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

pub mod callgrind;
mod counts;
mod kernel;

pub use counts::{InstructionCounts, TOLERANCE_PERCENT};
pub use kernel::Kernel;

/// The compiler that built this crate; counts are compared only for the same compiler.
pub const COMPILER: &str = env!("TICKWIRE_RUSTC");
