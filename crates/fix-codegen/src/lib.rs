//! FIX messages as Rust types: a struct a message and a group, an enum a list of values, decoded from and
//! encoded to tag=value.
//!
//! [`Generator`] makes the source from a dictionary; [`build`] is for build scripts. `tickwire-fix-messages` is
//! what comes of the dictionaries of `tickwire-fix`.
//!
//! # Examples
//!
//! ```
//! use tickwire_fix::dictionary::{Dictionary, shipped};
//! use tickwire_fix_codegen::Generator;
//!
//! let dictionary = Dictionary::parse(shipped::FIX44).expect("it is whole");
//! let source = Generator::new(&dictionary).messages(["NewOrderSingle"]).generate()?;
//! assert!(source.contains("pub struct NewOrderSingle<'m>"));
//! # Ok::<(), tickwire_fix_codegen::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod build;
mod emit;
mod error;
mod generator;
mod names;
mod plan;

pub use error::Error;
pub use generator::Generator;
