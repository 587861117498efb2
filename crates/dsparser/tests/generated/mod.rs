//! What the generator makes of the grammars; `generated_source.rs` keeps it fresh.

pub mod fast_framed;
pub mod fix;
pub mod opra2;
pub mod opra2_complete;
pub mod quotes;
