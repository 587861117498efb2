//! Options that several commands share.

mod admin;
mod channel;
mod channels;
mod cpu;
mod decoder;
mod definitions;
mod endpoints;
mod faults;
mod framing;
mod input;
mod metrics;
mod monitor;
mod record;
mod reset_at;
mod sequence;
mod sources;
mod spans;
mod templates;
mod tier_up;
mod wait;

pub use admin::{AdminArgs, AdminToken};
pub use channel::ChannelArgs;
pub use channels::ChannelsArgs;
pub use cpu::{check_cpu, pin_to};
pub use decoder::{DecoderArgs, Reset};
pub use definitions::DefinitionArgs;
pub use endpoints::LineArgs;
pub use endpoints::{EndpointArgs, Endpoints};
pub use faults::{FaultArgs, Interval, Percent, SnapshotFaultArgs};
pub use framing::{FramingArgs, reset_policy, with_reset_template};
#[cfg(feature = "columns")]
pub use input::CaptureArgs;
pub use input::{InputArgs, InputReplay};
pub use metrics::{MetricsArgs, metrics_of};
pub use monitor::{MonitorArgs, ServedMonitor};
pub use record::{RecordArgs, recorded_json, recorded_text};
pub use reset_at::ResetAtArgs;
pub use sequence::sequencing;
pub use sources::SourceArgs;
pub use spans::{SpanArgs, Spans};
pub use templates::TemplateArgs;
pub use tier_up::TierUpChoice;
pub use wait::wait;
