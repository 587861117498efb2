//! Selection of a subscriber's transport.

use crate::distribution::{DeliveryArgs, ShmPlace};
use crate::failure::Failure;
use std::fmt;
use tickwire_distribution::TopicSet;

/// The values of `--transport` for subscribing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SubscribeTransport {
    /// Shared memory if a publisher of one of the topics is there, otherwise DDS.
    Auto,
    /// DDS.
    #[cfg(feature = "dds")]
    Dds,
    /// Shared memory.
    Shm,
}

/// The selected transport.
pub enum Chosen {
    /// DDS.
    #[cfg(feature = "dds")]
    Dds {
        /// Reason for not using shared memory, if it was checked.
        why: Option<String>,
    },
    /// Shared memory.
    Shm(ShmPlace),
}

impl Chosen {
    /// What the monitor calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "dds")]
            Self::Dds { .. } => "DDS",
            Self::Shm(_) => "shared memory",
        }
    }

    /// True if the channels belong to another user, in whose directory this process cannot write.
    pub fn is_of_another_user(&self) -> bool {
        match self {
            #[cfg(feature = "dds")]
            Self::Dds { .. } => false,
            Self::Shm(place) => place.owner != tickwire_shm::effective_user(),
        }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "dds")]
            Self::Dds { why: None } => f.write_str("over DDS"),
            #[cfg(feature = "dds")]
            Self::Dds { why: Some(why) } => {
                write!(
                    f,
                    "over DDS ({why}; publishers that use only shared memory are not received)"
                )
            }
            Self::Shm(place) => {
                write!(f, "over shared memory in {}", place.directory.display())?;
                match cfg!(feature = "dds") {
                    true => f.write_str(" (publishers that use only DDS are not received)"),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Selects the transport by the publishers that exist now.
pub fn choose(
    transport: SubscribeTransport,
    args: &DeliveryArgs,
    sets: &[TopicSet],
) -> Result<Chosen, Failure> {
    let place = args.join_shm();
    match transport {
        SubscribeTransport::Shm => Ok(Chosen::Shm(place)),
        #[cfg(feature = "dds")]
        SubscribeTransport::Dds => Ok(Chosen::Dds { why: None }),
        #[cfg(feature = "dds")]
        SubscribeTransport::Auto => Ok(match has_writer(&place, args, sets) {
            Ok((true, _)) => Chosen::Shm(place),
            Ok((false, refusals)) => {
                let directory = place.directory.display();
                let why = match refusals.len() {
                    0 => format!("no publisher of these topics in {directory}"),
                    count => {
                        format!("{count} channels of these topics in {directory} cannot be read")
                    }
                };
                refusals.iter().for_each(|why| tracing::warn!("shared memory: {why}"));
                Chosen::Dds { why: Some(why) }
            }
            Err(error) => {
                tracing::warn!("shared memory: {error}");
                Chosen::Dds { why: Some("shared memory cannot be read".to_owned()) }
            }
        }),
        // This build has no other transport.
        #[cfg(not(feature = "dds"))]
        SubscribeTransport::Auto => {
            let _ = sets;
            Ok(Chosen::Shm(place))
        }
    }
}

/// Returns whether a publisher of one of the topics uses shared memory, and the reasons why channels cannot
/// be read.
#[cfg(feature = "dds")]
fn has_writer(
    place: &ShmPlace,
    args: &DeliveryArgs,
    sets: &[TopicSet],
) -> Result<(bool, Vec<String>), tickwire_shm_transport::Error> {
    let (delivery, mut refusals) = (args.over_shm(), Vec::new());
    for set in sets {
        let qos = delivery.reader_qos(set.of.has_key(), false);
        for (_, topic) in set.topics() {
            let (is_there, refused) = place.participant.look_for_writer(&set.of, &topic, &qos)?;
            refusals.extend(refused);
            if is_there {
                return Ok((true, refusals));
            }
        }
    }
    Ok((false, refusals))
}
