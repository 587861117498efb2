//! DDS, shared memory, or both at once.

use super::{DdsParticipant, DeliveryArgs, HAS_DDS, refused};
use crate::failure::Failure;
use clap::builder::PossibleValue;
use std::path::PathBuf;
use std::time::Duration;
use tickwire_distribution::{OutletError, Outlets, TopicSet};
use tickwire_net::Stop;
use tickwire_shm::READERS_COUNTED_MAX;
use tickwire_shm_transport::ShmParticipant;

/// Names of the transports in reports.
pub const SHM: &str = "shm";
pub const DDS: &str = "dds";

/// The values of `--transport` for publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishTransport {
    /// DDS and shared memory.
    Both,
    /// DDS: this host and others.
    Dds,
    /// Shared memory: this host alone.
    Shm,
}

impl PublishTransport {
    fn is_over_dds(self) -> bool {
        self != Self::Shm
    }

    fn is_over_shm(self) -> bool {
        self != Self::Dds
    }
}

impl clap::ValueEnum for PublishTransport {
    fn value_variants<'a>() -> &'a [Self] {
        if HAS_DDS { &[Self::Both, Self::Dds, Self::Shm] } else { &[Self::Shm] }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Both => PossibleValue::new("both").help("DDS and shared memory"),
            Self::Dds => PossibleValue::new("dds").help("DDS: this host and others"),
            Self::Shm => PossibleValue::new("shm").help("Shared memory: this host alone"),
        })
    }
}

impl Default for PublishTransport {
    fn default() -> Self {
        if HAS_DDS { Self::Dds } else { Self::Shm }
    }
}

/// A participant in shared memory, and where its channels are.
#[derive(Clone, Debug)]
pub struct ShmPlace {
    /// The participant.
    pub participant: ShmParticipant,
    /// Directory of the channels.
    pub directory: PathBuf,
    /// Numeric id of the user who owns the channels.
    pub owner: u32,
}

/// The participants of a publisher, one for each transport.
pub struct TransportParticipants {
    pub dds: Option<DdsParticipant>,
    pub shm: Option<ShmParticipant>,
}

impl TransportParticipants {
    /// Joins the transports that `transport` selects. Options of a transport that is not selected are errors.
    pub fn join(args: &DeliveryArgs, transport: PublishTransport) -> Result<Self, Failure> {
        let (over_dds, over_shm) = (transport.is_over_dds(), transport.is_over_shm());
        args.check(over_dds, over_shm)?;
        Ok(Self {
            dds: over_dds.then(|| args.join_dds()).transpose()?,
            shm: over_shm.then(|| args.join_shm().participant),
        })
    }

    /// Returns true if there is more than one transport.
    pub fn are_several(&self) -> bool {
        self.dds.is_some() && self.shm.is_some()
    }

    /// Returns the name of the transports in the monitor.
    pub fn name(&self) -> &'static str {
        match (&self.shm, &self.dds) {
            (Some(_), Some(_)) => "DDS and shared memory",
            (None, _) => "DDS",
            (Some(_), None) => "shared memory",
        }
    }

    /// Creates writers for the topics of `sets`. Each sample is written to shared memory first, because that transport rarely
    /// has to wait. A write to a full buffer waits at most `patience`. With `all`, samples are kept for a slow subscriber:
    /// always over shared memory, and over DDS unless `--history` sets another policy.
    pub fn outlets(
        &self,
        args: &DeliveryArgs,
        sets: &[TopicSet],
        all: bool,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Outlets, Failure> {
        let mut outlets = Outlets::new(|name, error| {
            tracing::error!(
                "{name}: {error}; publishing over {name} ends, the other transport continues"
            );
        });
        let is_over = || {
            let stop = stop.clone();
            move || stop.is_set()
        };
        let fail = |error: OutletError| refused(&error);
        if let Some(place) = &self.shm {
            let delivery = args.published_over_shm(all);
            outlets.add(SHM, place, sets, &delivery, patience, is_over()).map_err(fail)?;
        }
        if let Some(place) = &self.dds {
            let delivery = args.over_dds(all);
            outlets.add(DDS, place, sets, &delivery, patience, is_over()).map_err(fail)?;
        }
        Ok(outlets)
    }

    /// Waits until `count` subscribers match, over all transports together: for every topic if `every_topic`, else for any
    /// topic. Returns false if `patience` passed or `stop` was set first. Without DDS, a `count` above the number of readers
    /// that shared memory can count is an error.
    pub fn wait(
        &self,
        outlets: &Outlets,
        count: u32,
        every_topic: bool,
        patience: Duration,
        stop: &Stop,
    ) -> Result<bool, Failure> {
        if self.dds.is_none() && count > READERS_COUNTED_MAX {
            return Err(Failure::Usage(format!(
                "--subscribers {count}: shared memory counts at most {READERS_COUNTED_MAX} subscribers; more can \
                 subscribe, but cannot be waited for"
            )));
        }
        let are_there = match every_topic {
            true => outlets.wait_matched(count, patience, || stop.is_set()),
            false => outlets.wait_subscribers(count, patience, || stop.is_set()),
        };
        are_there.map_err(|error| refused(&error))
    }
}
