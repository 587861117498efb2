//! Signs that packets are decoded by the wrong framing or reset policy.

use std::fmt;

use tickwire_fast::{TemplateId, TemplateSet};

use super::super::description::Framing;
use super::candidates::FramingCandidate;
use super::{Detected, PACKETS_MAX, PACKETS_MIN, choice, detect};

/// Least fraction of packets that a correct framing decodes.
const FIT_MIN: f64 = 0.25;

/// Reason to doubt a framing.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Few packets can be decoded.
    Malformed {
        /// The packets of the sample.
        packets: usize,
        /// Packets that the framing decodes to their last byte.
        whole: usize,
        /// A framing that decodes most packets, if there is one.
        instead: Option<Box<Detected>>,
    },
    /// The packets decode, but another reset policy gives other values, and those are correct.
    Reset {
        /// The framing with that policy.
        instead: Box<Detected>,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { packets, whole, instead } => {
                write!(f, "only {whole} of {packets} packets decode: ")?;
                match instead {
                    Some(found) => write!(f, "they fit {found}"),
                    None => f.write_str(
                        "do --framing and --templates fit this feed? (`tickwire templates diff` compares \
                         template files, `tickwire explain` shows where a packet fails)",
                    ),
                }
            }
            Self::Reset { instead } => {
                let reset = instead.framing.reset_policy();
                write!(
                    f,
                    "the values look wrong, as with a missing or superfluous reset: try --reset {reset}; "
                )?;
                write!(f, "packets and values fit {instead}")
            }
        }
    }
}

/// Looks for signs that these packets of one channel have another framing. Returns `None` if there
/// are none, or for fewer than [`PACKETS_MIN`] packets.
pub fn doubt<P: AsRef<[u8]>>(packets: &[P], set: &TemplateSet, framing: &Framing) -> Option<Doubt> {
    let sample: Vec<&[u8]> =
        packets.iter().take(PACKETS_MAX).map(AsRef::as_ref).filter(|p| !p.is_empty()).collect();
    if sample.len() < PACKETS_MIN {
        return None;
    }
    let with_reset = framing.reset_template_id().map(TemplateId);
    let set = match with_reset {
        Some(id) => set.clone().with_reset_template(id),
        None => set.clone(),
    };
    let shape = FramingCandidate::new(*framing, &set)?;
    let trials = choice::trials(&sample, &shape);
    let given = trials.iter().find(|trial| trial.framing == *framing)?;
    let fit = given.fit();
    let values = given.values.clone();
    let (whole, packets) = (given.whole, given.packets);
    if packets < PACKETS_MIN {
        return None;
    }
    let found = choice::answer(&trials).ok();
    let other = found.filter(|found| {
        let policy = found.framing.reset_policy();
        let trial = trials.iter().find(|trial| trial.framing.reset_policy() == policy);
        trial.is_some_and(|trial| trial.values != values) && found.whole >= PACKETS_MIN
    });
    match other {
        Some(instead) => Some(Doubt::Reset { instead: Box::new(instead) }),
        None if fit < FIT_MIN => {
            let instead = detect(&sample, &set).ok().map(Box::new);
            Some(Doubt::Malformed { packets, whole, instead })
        }
        None => None,
    }
}
