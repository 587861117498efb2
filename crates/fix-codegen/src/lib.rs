//! Generates Rust types for FIX messages: a struct for each message and group, an enum for each
//! list of values. They are decoded from and encoded to tag=value.
//!
//! [`FixGenerator`] generates the source from a dictionary; [`build`] does so in build scripts.
//! `tickwire-fix-messages` contains the result for the dictionaries of `tickwire-fix`.
//!
//! # Examples
//!
//! ```
//! use tickwire_fix::dictionary::{Dictionary, shipped};
//! use tickwire_fix_codegen::FixGenerator;
//!
//! let dictionary = Dictionary::parse(&shipped::FIX44).expect("it is whole");
//! let source = FixGenerator::new(&dictionary).messages(["NewOrderSingle"]).generate()?;
//! assert!(source.contains("pub struct NewOrderSingle<'m>"));
//! # Ok::<(), tickwire_fix_codegen::FixCodegenError>(())
//! ```
#![forbid(unsafe_code)]

pub mod build;
mod emit;
mod error;
mod generator;
mod names;
mod plan;

pub use error::FixCodegenError;
pub use generator::FixGenerator;
