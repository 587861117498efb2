//! What an exchange puts around FAST messages.

use super::Reset;
use crate::console::tell;
use crate::failure::Failure;
use std::str::FromStr;
use tickwire_fast::{ResetPolicy, TemplateId, TemplateSet};
use tickwire_feed::framing::detect::detect;
use tickwire_feed::framing::{Framing, ParseFramingError, Preset, QuickFast};
use tickwire_net::channel_settings::ChannelSettings;

/// A framing, or the wish that it be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramingChoice {
    Auto,
    /// The framing, and the preset that it was described by, if any.
    Named(Framing, Option<Preset>),
}

impl FromStr for FramingChoice {
    type Err = ParseFramingError;

    fn from_str(text: &str) -> Result<Self, ParseFramingError> {
        if text.eq_ignore_ascii_case("auto") {
            Ok(Self::Auto)
        } else {
            Ok(Self::Named(text.parse()?, Preset::named_in(text)))
        }
    }
}

/// What stands around the messages of a packet.
#[derive(Clone, Debug, clap::Args)]
pub struct FramingArgs {
    /// What surrounds the FAST messages of a packet. A preset: cme, moex-asts, moex-spectra,
    /// moex-forts, b3-umdf, eurex-t7, cqg, szse-step or none, the default. A description, such as
    /// preamble=5,seq=0:4:be,reset=packet. Or auto: framing and reset are found from the packets of a
    /// capture and printed; if several fit, nothing is decoded. cme,envelope=counted is CME's TCP
    /// replay: packets behind their encoded lengths.
    #[arg(long, value_name = "PRESET|TEXT|auto")]
    framing: Option<FramingChoice>,
    /// When all dictionaries are reset; default: as the framing says.
    #[arg(long, value_name = "WHEN")]
    reset: Option<Reset>,
    /// Bytes before the messages of each packet, passed over (also -pfix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    pfix: usize,
    /// More bytes before those of --pfix (also -pprefix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    pprefix: usize,
    /// More bytes behind those of --pfix (also -psuffix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    psuffix: usize,
    /// A header of fixed size before each message, with a block length of this many bytes, 0 for
    /// none (also -hfix).
    #[arg(long, value_name = "BYTES", help_heading = "Headers, as QuickFAST names them")]
    hfix: Option<usize>,
    /// A header of FAST-encoded fields before each message, with a block length among them (also -hfast).
    #[arg(long, help_heading = "Headers, as QuickFAST names them", conflicts_with = "hfix")]
    hfast: bool,
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
    /// Takes framing and reset of a channel of a feed file where these options name none. A framing
    /// option leaves the file's reset out: it belongs to the file's framing.
    pub fn set_channel(&mut self, channel: &ChannelSettings) {
        if self.framing.is_none() {
            self.framing =
                channel.framing.map(|framing| FramingChoice::Named(framing, channel.preset));
            self.reset = self.reset.or(channel.reset.map(Reset::from));
        }
    }

    /// The interval of the feed's heartbeats in nanoseconds: that of the preset that is named, else what the
    /// framing in use tells.
    pub fn heartbeat_ns(&self, framing: &Framing) -> u64 {
        let named = match self.framing {
            Some(FramingChoice::Named(_, preset)) => preset,
            Some(FramingChoice::Auto) | None => None,
        };
        Preset::heartbeat_for(named, framing)
    }

    /// Whether the framing is to be found from the packets.
    pub fn is_auto(&self) -> bool {
        self.framing == Some(FramingChoice::Auto)
    }

    /// Finds the framing from packets of the feed, and says what was found. `name` is the capture's.
    pub fn find(
        &self,
        packets: &[Vec<u8>],
        set: &TemplateSet,
        name: &str,
    ) -> Result<Framing, Failure> {
        if self.headers() != QuickFast::default() {
            return Err(Failure::Usage(
                "--framing auto cannot be used with --pfix, --hfix, --hfast and others of their kind"
                    .to_owned(),
            ));
        }
        let found = detect(packets, set)
            .map_err(|undetected| Failure::Data(format!("{name}: {undetected}")))?;
        tell!("{name}: found {found}");
        Ok(match self.reset {
            Some(reset) => found.framing.reset(reset.into()),
            None => found.framing,
        })
    }

    fn headers(&self) -> QuickFast {
        QuickFast {
            hfix: self.hfix,
            hfast: self.hfast,
            hprefix: self.hprefix,
            hsuffix: self.hsuffix,
            hbig: self.hbig,
            pfix: self.pfix,
            pprefix: self.pprefix,
            psuffix: self.psuffix,
        }
    }

    /// The framing that all options together describe.
    pub fn framing(&self) -> Result<Framing, Failure> {
        let named = match self.framing {
            None => Framing::default(),
            Some(FramingChoice::Named(framing, _)) => framing,
            Some(FramingChoice::Auto) => {
                return Err(Failure::Usage(
                    "--framing auto needs packets to look at, which sockets have not: capture some \
                     (tcpdump -w first.pcap), let `tickwire decode first.pcap --framing auto -t \
                     TEMPLATES` find it, and name it here"
                        .to_owned(),
                ));
            }
        };
        let framing = self.headers().apply_to(named).map_err(|error| {
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
