//! Framing options.

use super::{Reset, ResetAtArgs};
use crate::console::tell;
use crate::failure::Failure;
use std::str::FromStr;
use tickwire_captures::{CaptureSample, FoundFraming};
use tickwire_fast::{ResetPolicy, TemplateId, TemplateSet};
use tickwire_feed::framing::detect::Unproven;
use tickwire_feed::framing::{Framing, ParseFramingError, Preset, QuickFast};
use tickwire_net::channel_settings::ChannelSettings;

/// A framing, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramingChoice {
    Auto,
    /// The framing, and the preset that it is based on, if any.
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

/// The bytes around the messages of a packet.
#[derive(Clone, Debug, clap::Args)]
pub struct FramingArgs {
    /// The bytes around the FAST messages of a packet. A preset: cme, moex-asts, moex-spectra,
    /// moex-forts, b3-umdf, eurex-t7, cqg, szse-step, or none (the default). A description, such as
    /// preamble=5,seq=0:4:be,reset=packet. cme,envelope=counted is CME's TCP replay, with an
    /// encoded length before each packet. auto detects framing and reset from packets and prints
    /// them. It uses the packets to one destination: the busiest one whose packets fit a framing.
    /// If several framings fit, nothing is decoded.
    #[arg(long, value_name = "PRESET|TEXT|auto")]
    framing: Option<FramingChoice>,
    /// When dictionaries are reset. Default: defined by the framing.
    #[arg(long, value_name = "WHEN")]
    reset: Option<Reset>,
    /// Bytes to skip before the messages of each packet (also -pfix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    pfix: usize,
    /// Further bytes to skip, before those of --pfix (also -pprefix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    pprefix: usize,
    /// Further bytes to skip, after those of --pfix (also -psuffix).
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    psuffix: usize,
    /// A header of fixed size before each message, whose block length has this many bytes; 0 for
    /// none (also -hfix).
    #[arg(long, value_name = "BYTES", help_heading = "Headers, as QuickFAST names them")]
    hfix: Option<usize>,
    /// A header of FAST-encoded fields before each message, including a block length (also -hfast).
    #[arg(long, help_heading = "Headers, as QuickFAST names them", conflicts_with = "hfix")]
    hfast: bool,
    /// With --hfix, number of bytes before the block length; otherwise number of encoded fields (also -hprefix).
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    hprefix: usize,
    /// With --hfix, number of bytes after the block length; otherwise number of encoded fields (also -hsuffix).
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = "Headers, as QuickFAST names them")]
    hsuffix: usize,
    /// The block length of --hfix is big-endian (also -hbig).
    #[arg(long, help_heading = "Headers, as QuickFAST names them")]
    hbig: bool,
}

impl FramingArgs {
    /// Uses framing and reset of a channel of a feed file unless these options name them. If they name a
    /// framing, the file's reset is ignored too, because it belongs to the file's framing.
    pub fn set_channel(&mut self, channel: &ChannelSettings) {
        if self.framing.is_none() {
            self.framing =
                channel.framing.map(|framing| FramingChoice::Named(framing, channel.preset));
            self.reset = self.reset.or(channel.reset.map(Reset::from));
        }
    }

    /// The feed's heartbeat interval in nanoseconds: that of the named preset, else the one derived from the
    /// framing.
    pub fn heartbeat_ns(&self, framing: &Framing) -> u64 {
        let named = match self.framing {
            Some(FramingChoice::Named(_, preset)) => preset,
            Some(FramingChoice::Auto) | None => None,
        };
        Preset::heartbeat_for(named, framing)
    }

    /// True if the framing is detected from the packets.
    pub fn is_auto(&self) -> bool {
        self.framing == Some(FramingChoice::Auto)
    }

    /// Detects the framing as [`Self::find`] does, for a command that does not check the values of each
    /// message: refuses a sample in which another session begins, unless `sessions` name its first packet.
    /// `sessions` is `None` if the command has no --reset-at, or if the sample is from several captures, so
    /// that an index does not identify a packet.
    pub fn find_without_checks(
        &self,
        sample: &CaptureSample,
        set: &TemplateSet,
        name: &str,
        sessions: Option<&ResetAtArgs>,
    ) -> Result<Framing, Failure> {
        let (framing, found) = self.detected(sample, set, name)?;
        if self.reset.is_some() {
            return Ok(framing);
        }
        let named = sessions.map_or(&[][..], |sessions| &sessions.reset_at);
        let Some(place) = found.first_restart(set, named) else { return Ok(framing) };
        let remedy = match sessions {
            Some(_) if !found.channel.is_stream() => {
                let named = named.iter().chain([&place.packet.index]).map(u64::to_string);
                let named = named.collect::<Vec<_>>().join(",");
                format!("run the command with --reset-at {named}; if it is one session, ")
            }
            _ => "split the capture before this packet, or ".to_owned(),
        };
        Err(Failure::Data(format!(
            "{name}: {}: {}; {remedy}name --framing and --reset",
            place.text(),
            Unproven::Restarted
        )))
    }

    /// Detects the framing from packets of the feed and reports it. `name` is the name of the capture.
    pub fn find(
        &self,
        sample: &CaptureSample,
        set: &TemplateSet,
        name: &str,
    ) -> Result<Framing, Failure> {
        self.detected(sample, set, name).map(|(framing, _)| framing)
    }

    /// Detects the framing, and applies the named reset policy.
    fn detected<'s>(
        &self,
        sample: &'s CaptureSample,
        set: &TemplateSet,
        name: &str,
    ) -> Result<(Framing, FoundFraming<'s>), Failure> {
        if self.headers() != QuickFast::default() {
            return Err(Failure::Usage(
                "--framing auto cannot be used with --pfix, --hfix, --hfast and others of their kind"
                    .to_owned(),
            ));
        }
        let found = sample.detect(set).map_err(|unknown| {
            let advice = match unknown.has_several_destinations() {
                true => "; choose packets with --address and --port",
                false => "",
            };
            Failure::Data(format!("{name}: {unknown}{advice}"))
        })?;
        let detected = &found.detected;
        match found.destination {
            Some(destination) => tell!("{name}: packets to {destination}: found {detected}"),
            None => tell!("{name}: found {detected}"),
        }
        let framing = detected.framing;
        Ok((self.reset.map_or(framing, |reset| framing.reset(reset.into())), found))
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

    /// Returns the framing that all options together describe.
    pub fn framing(&self) -> Result<Framing, Failure> {
        let named = match self.framing {
            None => Framing::default(),
            Some(FramingChoice::Named(framing, _)) => framing,
            Some(FramingChoice::Auto) => {
                return Err(Failure::Usage(
                    "--framing auto needs a capture, and this command has none: let \
                     `tickwire decode CAPTURE --framing auto -t TEMPLATES` detect the framing, and \
                     name it here (tcpdump -w first.pcap captures the packets of a line)"
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

/// Converts a framing's reset policy to the decoder's type.
pub fn reset_policy(framing: &Framing) -> ResetPolicy {
    framing.reset_policy().into()
}

/// Adds to a template set the reset message that the exchange sends without defining it.
pub fn with_reset_template(set: TemplateSet, framing: &Framing) -> TemplateSet {
    match framing.reset_template_id() {
        Some(id) => set.with_reset_template(TemplateId(id)),
        None => set,
    }
}
