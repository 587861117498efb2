//! Generated decoders and encoders behind one interface, to be held against the dynamic ones.
#![forbid(unsafe_code)]

mod harness;
mod text;

pub use harness::{Engine, Make, decoded_text, make};
pub use text::record_text;

include!(concat!(env!("OUT_DIR"), "/sets.rs"));

/// Returns the engine of a set, by its name.
pub fn engine(name: &str) -> Option<Make> {
    SETS.iter().find(|(set, _)| *set == name).map(|(_, make)| *make)
}
