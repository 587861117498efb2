//! Generated decoders and encoders behind one interface, to be held against the dynamic ones.
#![forbid(unsafe_code)]

mod harness;
mod text;

pub use harness::{Engine, Make, decoded_text, make};
pub use text::record_text;

include!(concat!(env!("OUT_DIR"), "/sets.rs"));
