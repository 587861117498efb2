//! Options for decoding messages.

use crate::failure::Failure;
use crate::units::ByteCount;
use clap::ValueEnum;
#[cfg(feature = "columns")]
use serde_json::{Value, json};
use tickwire_fast::{Conformance, DecoderOptions, Limits, Program, ResetPolicy, TemplateId};
use tickwire_feed::framing;

/// When dictionaries are reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reset {
    /// Never, even if a template has the reset attribute.
    Never,
    /// Before every packet, and before messages whose template has the reset attribute.
    Packet,
    /// Before every message.
    Message,
    /// Before messages whose template has the reset attribute.
    Template,
}

impl From<framing::FramingResetPolicy> for Reset {
    fn from(policy: framing::FramingResetPolicy) -> Self {
        match policy {
            framing::FramingResetPolicy::Never => Self::Never,
            framing::FramingResetPolicy::Packet => Self::Packet,
            framing::FramingResetPolicy::Message => Self::Message,
            framing::FramingResetPolicy::Template => Self::Template,
        }
    }
}

impl From<Reset> for framing::FramingResetPolicy {
    fn from(reset: Reset) -> Self {
        match reset {
            Reset::Never => Self::Never,
            Reset::Packet => Self::Packet,
            Reset::Message => Self::Message,
            Reset::Template => Self::Template,
        }
    }
}

/// Handling of the errors that the specification calls reportable (R codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConformanceLevel {
    /// Count them all and continue with the best interpretation.
    Lenient,
    /// Errors that leave a value in doubt end the message; redundant encodings are counted.
    Strict,
    /// All of them end the message: only canonical encodings are accepted.
    Canonical,
}

/// Options of the decoder.
#[derive(Clone, Debug, clap::Args)]
pub struct DecoderArgs {
    /// Which reportable errors (R1 to R9) end a message; the others are only counted.
    #[arg(long, value_name = "LEVEL", default_value = "strict")]
    conformance: ConformanceLevel,
    /// Template id of messages without one, for feeds that never send it.
    #[arg(long, value_name = "ID")]
    template_id: Option<u32>,
    /// Most entries accepted in one sequence.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().entries_max)]
    #[arg(help_heading = "Limits")]
    entries_max: u32,
    /// Most entries accepted in all sequences of one message.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().entries_total_max)]
    #[arg(help_heading = "Limits")]
    entries_total_max: u32,
    /// Longest string or byte vector accepted, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(Limits::default().string_max.into()))]
    #[arg(help_heading = "Limits")]
    string_max: ByteCount,
    /// Deepest nesting of dynamic template references accepted.
    #[arg(long, value_name = "DEPTH", default_value_t = Limits::default().nesting_max)]
    #[arg(help_heading = "Limits")]
    nesting_max: u32,
    /// Most memory for one decoded message, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(Limits::default().message_bytes_max as u64))]
    #[arg(help_heading = "Limits")]
    message_bytes_max: ByteCount,
    /// Most bytes of an incomplete message that are buffered in a stream.
    #[arg(long, value_name = "BYTES", default_value_t = ByteCount(Limits::default().stream_bytes_max as u64))]
    #[arg(help_heading = "Limits")]
    stream_bytes_max: ByteCount,
}

impl DecoderArgs {
    /// The decoder's options.
    pub fn options(&self, reset: ResetPolicy) -> DecoderOptions {
        DecoderOptions::default()
            .conformance(match self.conformance {
                ConformanceLevel::Lenient => Conformance::Lenient,
                ConformanceLevel::Strict => Conformance::Strict,
                ConformanceLevel::Canonical => Conformance::Canonical,
            })
            .reset(reset)
            .limits(
                Limits::default()
                    .entries_max(self.entries_max)
                    .entries_total_max(self.entries_total_max)
                    .string_max(u32::try_from(self.string_max.0).unwrap_or(u32::MAX))
                    .nesting_max(self.nesting_max)
                    .message_bytes_max(self.message_bytes_max.bytes())
                    .stream_bytes_max(self.stream_bytes_max.bytes()),
            )
            .implied_template(self.template_id.map(TemplateId))
    }

    /// The options as JSON, to compare them with those of another run.
    #[cfg(feature = "columns")]
    pub fn settings(&self) -> Value {
        let Self {
            conformance,
            template_id,
            entries_max,
            entries_total_max,
            string_max,
            nesting_max,
            message_bytes_max,
            stream_bytes_max,
        } = self;
        json!({
            "conformance": format!("{conformance:?}").to_lowercase(),
            "template_id": template_id,
            "entries_max": entries_max,
            "entries_total_max": entries_total_max,
            "string_max": string_max.0,
            "nesting_max": nesting_max,
            "message_bytes_max": message_bytes_max.0,
            "stream_bytes_max": stream_bytes_max.0,
        })
    }

    /// Like `options`, but refuses a `--template-id` that the program does not have.
    pub fn checked_options(
        &self,
        reset: ResetPolicy,
        program: &Program,
    ) -> Result<DecoderOptions, Failure> {
        let options = self.options(reset);
        match options.implied_template {
            Some(id) if program.template_index(id).is_none() => Err(Failure::Usage(format!(
                "--template-id {id}: the templates have none with this id"
            ))),
            _ => Ok(options),
        }
    }
}
