//! Finds the framing and the reset policy of a feed from a sample of its packets.
//!
//! [`detect`] decodes a bounded sample under every candidate: the presets, preambles of 0 to
//! [`PREAMBLE_BYTES_TRIED`] bytes, and headers with block lengths, each with all four reset
//! policies. Three criteria rank the candidates:
//!
//! 1. **Whole packets.** At a wrong position, template ids are unknown and packets end inside a
//!    message. The right framing decodes most packets to their last byte.
//! 2. **The same bytes.** A wrong reset policy often decodes every packet, silently wrong. Under the
//!    right policy an encoder reproduces the packet's bytes. Under `never` it would omit the values
//!    that a feed with a reset before every packet repeats (full presence maps at packet starts).
//! 3. **Values.** MsgSeqNum (34) and similar fields increase by one. Deltas of a feed with resets grow
//!    without bound if they are added up without the resets; absolute values read as deltas are as
//!    often negative as positive.
//!
//! If several results that decode to different values remain, or none, the result is
//! [`Undetected`]. Fewer than [`PACKETS_MIN`] packets give no result.
//!
//! A sample shows how a feed begins. [`ValueCheck`] checks the messages of a whole capture, which may
//! contain a second session. [`RestartWatch`] looks only for sequence numbers that go back.

mod candidates;
mod choice;
mod doubt;
mod preamble;
mod reencode;
mod restart_watch;
mod series;
mod trial;
mod value_check;

pub use doubt::{Doubt, doubt};
pub use restart_watch::RestartWatch;
pub use value_check::{Restart, Unproven, ValueCheck};

use std::error::Error;
use std::fmt;

use tickwire_fast::TemplateSet;

use super::description::{Framing, FramingResetPolicy};
use super::preset::Preset;

/// Fewest packets with messages for a result.
pub const PACKETS_MIN: usize = 8;
/// Most packets of a sample that are examined; the rest is ignored.
pub const PACKETS_MAX: usize = 2000;
/// Longest preamble tried, in bytes.
pub const PREAMBLE_BYTES_TRIED: usize = 16;

/// How well the packets support a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Most packets fit; some do not, or there are few.
    Likely,
    /// Nearly all of many packets fit, and values or bytes confirm it.
    Sure,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Likely => "likely",
            Self::Sure => "sure",
        })
    }
}

/// The framing of a feed, with the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Detected {
    /// The framing, with its reset policy.
    pub framing: Framing,
    /// The preset that has this framing.
    pub preset: Option<Preset>,
    /// Other presets whose framing gives the same values in this sample.
    pub alike: Vec<Preset>,
    /// How well the packets support it.
    pub confidence: Confidence,
    /// Packets of the sample with FAST bytes.
    pub packets: usize,
    /// Packets decoded to their last byte without an error.
    pub whole: usize,
    /// Messages decoded.
    pub messages: usize,
    /// Messages whose bytes an encoder reproduces.
    pub same_bytes: usize,
    /// Other reset policies that give the same values in this sample.
    pub equivalent: Vec<FramingResetPolicy>,
    /// Fraction of the messages with a sequence number whose number follows the previous one.
    pub consecutive: Option<f64>,
}

impl Detected {
    /// Returns the command-line options that set this framing.
    pub fn options(&self) -> String {
        let reset = self.framing.reset_policy();
        match self.preset {
            Some(preset) => format!("--framing {preset} --reset {reset}"),
            None => format!("--framing {}", self.framing),
        }
    }
}

impl fmt::Display for Detected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { confidence, whole, packets, messages, same_bytes, .. } = self;
        write!(
            f,
            "{} ({confidence}: {whole} of {packets} packets decode to their last byte, {same_bytes} \
             of {messages} messages encode to the same bytes",
            self.options()
        )?;
        if let Some(consecutive) = self.consecutive {
            write!(f, ", {:.0} % of sequence numbers follow the one before", consecutive * 100.0)?;
        }
        f.write_str(")")?;
        if !self.equivalent.is_empty() {
            f.write_str("; in these packets --reset")?;
            for (index, policy) in self.equivalent.iter().enumerate() {
                write!(f, "{} {policy}", if index > 0 { " or" } else { "" })?;
            }
            f.write_str(" gives the same values")?;
        }
        for preset in &self.alike {
            write!(f, "; in these packets --framing {preset} gives the same values")?;
        }
        Ok(())
    }
}

/// Reason why no framing was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Undetected {
    /// The sample has too few packets with messages.
    TooFew {
        /// Its number of packets with messages.
        packets: usize,
    },
    /// No candidate decodes most packets.
    NoneFits {
        /// The packets of the sample.
        packets: usize,
        /// Packets that the best candidate decodes.
        whole: usize,
    },
    /// Two candidates decode the packets to different values, and nothing shows which values are
    /// correct.
    Ambiguous {
        /// One candidate.
        first: Box<Framing>,
        /// The other candidate.
        second: Box<Framing>,
    },
    /// One candidate decodes the packets, but neither their bytes nor their sequence numbers confirm
    /// the values: the templates may be of another date or feed.
    Unconfirmed {
        /// The candidate.
        framing: Box<Framing>,
    },
}

impl fmt::Display for Undetected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { packets } => write!(
                f,
                "cannot tell the framing: too few packets with messages, {packets} of the \
                 {PACKETS_MIN} that are needed; name the framing and check the values (raw files have no \
                 packets)"
            ),
            Self::NoneFits { packets, whole } => write!(
                f,
                "cannot tell the framing: the best candidate decodes {whole} of {packets} packets; \
                 are the templates those of this feed and its date? In a capture of several feeds, \
                 choose the address and port of one. TCP streams need a named framing"
            ),
            Self::Ambiguous { first, second } => write!(
                f,
                "cannot tell the framing: {first} and {second} both decode the packets, to \
                 different values"
            ),
            Self::Unconfirmed { framing } => write!(
                f,
                "cannot tell the framing: {framing} decodes the packets, but no sequence numbers or \
                 encoded bytes confirm the values; are the templates those of this feed and its date?"
            ),
        }
    }
}

impl Error for Undetected {}

/// Finds the framing of a feed from packets of one channel, in order.
///
/// # Errors
/// [`Undetected`] if the packets do not determine a framing.
///
/// # Examples
///
/// ```
/// use tickwire_fast::TemplateSet;
/// use tickwire_feed::framing::Preset;
/// use tickwire_feed::framing::detect::detect;
///
/// let xml = r#"<templates><template name="T" id="1">
///     <uInt32 name="seq" id="34"/><uInt32 name="a"><copy/></uInt32></template></templates>"#;
/// let set = TemplateSet::parse(xml).unwrap();
/// // A sequence number and a subchannel, then a message with a full presence map.
/// let packet = |n: u8| vec![0, 0, 0, n, 1, 0xE0, 0x81, 0x80 | n, 0x85];
/// let packets: Vec<Vec<u8>> = (1..=20).map(packet).collect();
/// assert_eq!(detect(&packets, &set)?.preset, Some(Preset::Cme));
/// # Ok::<(), tickwire_feed::framing::detect::Undetected>(())
/// ```
pub fn detect<P: AsRef<[u8]>>(packets: &[P], set: &TemplateSet) -> Result<Detected, Undetected> {
    let packets: Vec<&[u8]> =
        packets.iter().take(PACKETS_MAX).map(AsRef::as_ref).filter(|p| !p.is_empty()).collect();
    if packets.len() < PACKETS_MIN {
        return Err(Undetected::TooFew { packets: packets.len() });
    }
    let shapes = candidates::shapes(&packets, set);
    let found = choice::choose(&packets, &shapes)?;
    let alike = candidates::presets_alike(&found, set);
    Ok(Detected { alike, ..found })
}
