//! FIX messages as Rust types: a struct a message and a group, an enum a list of values, decoded from and
//! encoded to tag=value.
//!
//! [`Generator`] makes the source from a dictionary; [`build`] is for build scripts. `tickwire-fix-messages` is
//! what comes of the dictionaries of `tickwire-fix`.
#![forbid(unsafe_code)]

pub mod build;
mod emit;
mod error;
mod generator;
mod names;
mod plan;

pub use error::Error;
pub use generator::Generator;
