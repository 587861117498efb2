//! The modules that the generator writes for the grammars; `generated_source.rs` compares them.

pub mod fast_framed;
pub mod fix;
pub mod iex;
pub mod language;
pub mod mdp3;
pub mod moldudp64_itch;
pub mod opra2;
/// The grammar of crate `opra`, which its decoder runs.
#[path = "../../../opra/src/generated/opra2.rs"]
pub mod opra2_complete;
pub mod quotes;
pub mod soupbintcp;
