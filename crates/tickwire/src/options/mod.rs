//! Options that several commands share.

mod decoder;
mod framing;
mod input;

pub use decoder::{DecoderArgs, Reset};
pub use framing::{FramingArgs, is_by_packet, reset_policy, with_reset_template};
pub use input::InputArgs;
