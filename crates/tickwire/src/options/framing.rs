//! What an exchange puts around FAST messages.

use super::Reset;
use crate::failure::Failure;
use tickwire_fast::{ResetPolicy, TemplateId, TemplateSet};
use tickwire_feed::framing::{Envelope, Framing, QuickFast};

/// What stands around the messages of a packet.
#[derive(Clone, Debug, clap::Args)]
pub struct FramingArgs {
    /// What is around the messages of a packet: the name of a preset, or a description such as
    /// preamble=5,seq=0:4:be,reset=packet. Presets: cme, moex-asts, moex-spectra, moex-forts,
    /// b3-umdf, eurex-t7, cqg, szse-step, none.
    #[arg(long, value_name = "PRESET|TEXT", default_value = "none")]
    framing: Framing,
    /// When dictionaries are emptied; the framing says so unless given.
    #[arg(long, value_name = "WHEN")]
    reset: Option<Reset>,
    /// Bytes before the messages of each packet, passed over (also -pfix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    pfix: usize,
    /// A header of fixed size before each message, with a block length of this many bytes, 0 for
    /// none (also -hfix).
    #[arg(long, value_name = "BYTES", help_heading = "Headers, as QuickFAST names them")]
    hfix: Option<usize>,
    /// Bytes, without --hfix encoded fields, before the block length (also -hprefix).
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    hprefix: usize,
    /// Bytes, without --hfix encoded fields, behind the block length (also -hsuffix).
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    hsuffix: usize,
    /// The block length of --hfix is big-endian (also -hbig).
    #[arg(long, help_heading = "Headers, as QuickFAST names them")]
    hbig: bool,
}

impl FramingArgs {
    /// The framing that all options together describe.
    pub fn framing(&self) -> Result<Framing, Failure> {
        let headers = QuickFast {
            hfix: self.hfix,
            hprefix: self.hprefix,
            hsuffix: self.hsuffix,
            hbig: self.hbig,
            pfix: self.pfix,
            ..QuickFast::default()
        };
        let framing = headers.apply_to(self.framing).map_err(|error| {
            Failure::Usage(format!("the header options cannot be used: {error}"))
        })?;
        Ok(match self.reset {
            Some(reset) => framing.reset(reset.into()),
            None => framing,
        })
    }
}

/// The decoder's word for a framing's reset policy.
pub fn reset_policy(framing: &Framing) -> ResetPolicy {
    framing.reset_policy().into()
}

/// Puts the reset message that the exchange sends by convention into a template set.
pub fn with_reset_template(set: TemplateSet, framing: &Framing) -> TemplateSet {
    match framing.reset_template_id() {
        Some(id) => set.with_reset_template(TemplateId(id)),
        None => set,
    }
}

/// Whether the framing can only be found from the start of a packet on.
pub fn is_by_packet(framing: &Framing) -> bool {
    framing.preamble_bytes() > 0 || framing.packet_envelope() == Envelope::Step
}
