//! Generated decoders and encoders behind one interface, for comparison with the dynamic ones.
#![forbid(unsafe_code)]

mod harness;
mod text;

pub use harness::{Make, ModuleEngine, decoded_text, make};
pub use text::record_text;

include!(concat!(env!("OUT_DIR"), "/sets.rs"));

/// Returns the engine of the template set with this name.
pub fn engine(name: &str) -> Option<Make> {
    SETS.iter().find(|(set, _)| *set == name).map(|(_, make)| *make)
}
