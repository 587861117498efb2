//! Options that several commands share.

mod decoder;
mod endpoints;
mod framing;
mod input;
mod metrics;

pub use decoder::{DecoderArgs, Reset};
pub use endpoints::{EndpointArgs, Endpoints};
pub use framing::{FramingArgs, is_by_packet, reset_policy, with_reset_template};
pub use input::InputArgs;
pub use metrics::MetricsArgs;
