//! Selects a subscriber's transport.

use crate::distribution::{DeliveryArgs, HAS_DDS, ShmPlace};
use crate::failure::Failure;
use clap::builder::PossibleValue;
use std::fmt;
use tickwire_distribution::TopicSet;
use tickwire_feed::counted;
use tickwire_shm_transport::PublisherSearch;

/// The values of `--transport` for subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscribeTransport {
    /// Shared memory if it has a publisher of one of the topics, otherwise DDS.
    Auto,
    /// DDS.
    Dds,
    /// Shared memory.
    Shm,
}

impl clap::ValueEnum for SubscribeTransport {
    fn value_variants<'a>() -> &'a [Self] {
        if HAS_DDS { &[Self::Auto, Self::Dds, Self::Shm] } else { &[Self::Auto, Self::Shm] }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Auto => PossibleValue::new("auto")
                .help("Shared memory if it has a publisher of one of the topics, otherwise DDS"),
            Self::Dds => PossibleValue::new("dds").help("DDS"),
            Self::Shm => PossibleValue::new("shm").help("Shared memory"),
        })
    }
}

/// The selected transport.
pub enum SelectedTransport {
    /// DDS. With `auto`, also searches for publishers in shared memory.
    Dds(Option<Box<Elsewhere>>),
    /// Shared memory.
    Shm(ShmPlace),
}

/// The search for publishers in shared memory that arrive later, and the reason why DDS was selected.
pub struct Elsewhere {
    pub search: PublisherSearch,
    why: String,
}

impl SelectedTransport {
    /// Returns the name of the transport in the monitor.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dds(None) => "DDS",
            Self::Dds(Some(_)) => "DDS, or shared memory",
            Self::Shm(_) => "shared memory",
        }
    }

    /// Returns true if the channels belong to another user; this process cannot write in that user's directory.
    pub fn is_of_another_user(&self) -> bool {
        match self {
            Self::Dds(_) => false,
            Self::Shm(place) => place.owner != tickwire_shm::effective_user(),
        }
    }
}

impl fmt::Display for SelectedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dds(None) => f.write_str("over DDS"),
            Self::Dds(Some(elsewhere)) => write!(
                f,
                "over DDS ({}; once one arrives over DDS, publishers that use only shared memory are not received)",
                elsewhere.why
            ),
            Self::Shm(place) => {
                write!(f, "over shared memory in {}", place.directory.display())?;
                match HAS_DDS {
                    true => f.write_str(" (publishers that use only DDS are not received)"),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Selects the transport by the publishers that exist now. Options of a transport that is not selected are errors.
pub fn choose(
    transport: SubscribeTransport,
    args: &DeliveryArgs,
    sets: &[TopicSet],
) -> Result<SelectedTransport, Failure> {
    let over_dds = transport != SubscribeTransport::Shm && HAS_DDS;
    args.check(over_dds, transport != SubscribeTransport::Dds)?;
    let place = args.join_shm();
    if !over_dds {
        return Ok(SelectedTransport::Shm(place));
    }
    if transport == SubscribeTransport::Dds {
        return Ok(SelectedTransport::Dds(None));
    }
    let mut search =
        PublisherSearch::new(place.participant.clone(), sets.to_vec(), args.over_shm());
    let why = match search.look() {
        Ok((true, _)) => return Ok(SelectedTransport::Shm(place)),
        Ok((false, refusals)) => {
            let directory = place.directory.display();
            // The channels of one publisher are refused for the same reason.
            match &refusals[..] {
                [] => format!("no publisher of these topics in {directory}"),
                [first, rest @ ..] => {
                    let more = match rest.len() {
                        0 => String::new(),
                        count => format!("; {} not read either", counted(count, "more channel")),
                    };
                    tracing::warn!("shared memory in {directory}: {first}{more}");
                    let count = counted(refusals.len(), "channel");
                    format!("unreadable in {directory}: {count} of these topics")
                }
            }
        }
        Err(error) => {
            tracing::warn!("shared memory: {error}");
            "shared memory cannot be read".to_owned()
        }
    };
    Ok(SelectedTransport::Dds(Some(Box::new(Elsewhere { search, why }))))
}
