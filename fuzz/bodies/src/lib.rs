//! The bodies of the fuzz targets: plain functions that panic if a guarantee is violated.
//!
//! cargo-fuzz calls them from `fuzz/fuzz_targets`; `tests/smoke.rs` calls them on seeds and a
//! bounded number of mutated inputs with stable Rust.
#![forbid(unsafe_code)]

mod capture;
mod choices;
mod decoder;
mod encoder;
mod engines;
mod events;
mod fill;
mod fix_dictionary;
mod fix_framer;
mod fix_message;
mod fix_session;
mod fix_settings;
mod fix_store;
mod fix_typed;
mod generated;
mod grammar;
mod handler;
mod opra;
mod sets;
mod shm;
mod template_xml;

pub use capture::capture;
pub use decoder::decoder;
pub use encoder::encoder;
pub use engines::engines;
pub use fix_dictionary::fix_dictionary;
pub use fix_framer::fix_framer;
pub use fix_message::fix_message;
pub use fix_session::fix_session;
pub use fix_settings::fix_settings;
pub use fix_store::fix_store;
pub use generated::generated;
pub use grammar::grammar;
pub use handler::handler;
pub use opra::opra;
pub use shm::shm;
pub use template_xml::template_xml;
