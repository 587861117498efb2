//! DDS, shared memory, or both at once.

use super::{DdsParticipant, DeliveryArgs, HAS_DDS, refused};
use crate::failure::Failure;
use clap::builder::PossibleValue;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickwire_distribution::{
    Outlet, Participant, Publisher, PublisherCounters, Sample, TopicSet, TransportError,
};
use tickwire_net::Stop;
use tickwire_shm::READERS_COUNTED_MAX;
use tickwire_shm_transport::ShmParticipant;

/// Longest single sleep while waiting for subscribers.
const TICK: Duration = Duration::from_millis(20);

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
pub struct Places {
    pub dds: Option<DdsParticipant>,
    pub shm: Option<ShmParticipant>,
}

impl Places {
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
}

/// Message of a transport that rejected a sample.
#[derive(Clone, Debug)]
pub struct OutletError(String);

impl OutletError {
    #[cold]
    fn of(error: &impl TransportError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for OutletError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutletError {}

/// Publishers of the same samples, one for each transport. Shared memory comes first, because it waits seldom.
///
/// A transport that rejects a sample ends: its subscribers are told that publishing was stopped, and the other
/// transport continues.
pub struct Outlets {
    shm: Option<Side<ShmParticipant>>,
    dds: Option<Side<DdsParticipant>>,
}

/// A publisher on one transport.
struct Side<P: Participant> {
    name: &'static str,
    publisher: Publisher<P>,
    /// True once the transport has rejected a sample; its subscribers know that nothing follows.
    has_failed: bool,
}

impl<P: Participant> Side<P> {
    fn new(name: &'static str, publisher: Publisher<P>) -> Self {
        Self { name, publisher, has_failed: false }
    }

    fn is_live(side: Option<&Self>) -> bool {
        side.is_some_and(|side| !side.has_failed)
    }

    /// Calls `write`. If the transport rejects the sample, this side ends. That is an error only if there is no other
    /// side (`has_other`).
    #[inline]
    fn write(
        side: &mut Option<Self>,
        has_other: bool,
        write: impl FnOnce(&mut Publisher<P>) -> Result<(), P::Error>,
    ) -> Result<(), OutletError> {
        let Some(side) = side.as_mut().filter(|side| !side.has_failed) else { return Ok(()) };
        match write(&mut side.publisher) {
            Ok(()) => Ok(()),
            Err(error) if has_other => {
                side.fail(&error);
                Ok(())
            }
            Err(error) => Err(OutletError::of(&error)),
        }
    }

    #[cold]
    fn fail(&mut self, error: &P::Error) {
        self.has_failed = true;
        let name = self.name;
        tracing::error!(
            "{name}: {error}; publishing over {name} ends, the other transport continues"
        );
        if let Err(error) = self.publisher.finish(false, Duration::ZERO) {
            tracing::error!("{name}: cannot announce the end to subscribers: {error}");
        }
    }

    fn finish(
        side: &mut Option<Self>,
        is_whole: bool,
        patience: Duration,
    ) -> Result<bool, Failure> {
        let Some(side) = side else { return Ok(true) };
        match side.has_failed {
            true => Ok(true),
            false => side.publisher.finish(is_whole, patience).map_err(|error| refused(&error)),
        }
    }
}

impl Outlet for Outlets {
    type Error = OutletError;

    #[inline]
    fn publish<S: Sample>(&mut self, set: usize, sample: &S) -> Result<(), OutletError> {
        let has_other = Side::is_live(self.dds.as_ref());
        Side::write(&mut self.shm, has_other, |shm| shm.publish(set, sample))?;
        let has_other = Side::is_live(self.shm.as_ref());
        Side::write(&mut self.dds, has_other, |dds| dds.publish(set, sample))
    }

    #[inline]
    fn publish_bytes(&mut self, set: usize, bytes: &[u8]) -> Result<(), OutletError> {
        let has_other = Side::is_live(self.dds.as_ref());
        Side::write(&mut self.shm, has_other, |shm| shm.publish_bytes(set, bytes))?;
        let has_other = Side::is_live(self.shm.as_ref());
        Side::write(&mut self.dds, has_other, |dds| dds.publish_bytes(set, bytes))
    }
}

impl Outlets {
    /// Creates writers for the topics of `sets`. A write to a full buffer waits at most `patience`. With `all`, samples
    /// are kept for a slow subscriber: over shared memory always, over DDS unless `--history` says otherwise.
    pub fn new(
        places: &Places,
        args: &DeliveryArgs,
        sets: &[TopicSet],
        all: bool,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        let is_over = || {
            let stop = stop.clone();
            move || stop.is_set()
        };
        let shm = places.shm.as_ref().map(|place| {
            Publisher::new(place, sets, &args.published_over_shm(all), patience, is_over())
                .map_err(|error| refused(&error))
        });
        let dds = places.dds.as_ref().map(|place| {
            Publisher::new(place, sets, &args.over_dds(all), patience, is_over())
                .map_err(|error| refused(&error))
        });
        Ok(Self {
            shm: shm.transpose()?.map(|publisher| Side::new("shm", publisher)),
            dds: dds.transpose()?.map(|publisher| Side::new("dds", publisher)),
        })
    }

    /// Returns the transports that rejected a sample and ended while the other one continued.
    pub fn failed(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        all.extend(self.shm.as_ref().filter(|side| side.has_failed).map(|side| side.name));
        all.extend(self.dds.as_ref().filter(|side| side.has_failed).map(|side| side.name));
        all
    }

    /// Waits until `count` subscribers of all transports together match: for every topic if `every_topic`,
    /// else for any. Returns false if `patience` passed or `stop` was set first. More subscribers than shared
    /// memory counts are an error if there is no other transport.
    pub fn wait(
        &self,
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
        let started = Instant::now();
        while !self.are_there(count, every_topic)? {
            if started.elapsed() >= patience || stop.is_set() {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
        Ok(true)
    }

    fn are_there(&self, count: u32, every_topic: bool) -> Result<bool, Failure> {
        for over_shm in 0..=count {
            // If shared memory lacks this many, it also lacks more.
            if !has(self.shm.as_ref(), over_shm, every_topic)? {
                break;
            }
            if has(self.dds.as_ref(), count - over_shm, every_topic)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Number of complete subscribers by topic set, over shared memory and over DDS.
    pub fn subscribers(&self) -> Result<[Vec<u32>; 2], Failure> {
        Ok([subscribers(self.shm.as_ref())?, subscribers(self.dds.as_ref())?])
    }

    /// Returns the name of the transports in the monitor.
    pub fn name(&self) -> &'static str {
        match (&self.shm, &self.dds) {
            (Some(_), Some(_)) => "DDS and shared memory",
            (None, _) => "DDS",
            (Some(_), None) => "shared memory",
        }
    }

    /// Returns the number of matched readers by topic set, over all transports together.
    pub fn matched(&self) -> Result<Vec<u32>, Failure> {
        let of_shm = self.shm.as_ref().map(|side| side.publisher.matched());
        let all = of_shm.transpose().map_err(|error| refused(&error))?.unwrap_or_default();
        let all = match self.dds.as_ref().map(|side| side.publisher.matched()) {
            None => all,
            Some(of_dds) => {
                let of_dds = of_dds.map_err(|error| refused(&error))?;
                let of_shm = all.into_iter().chain(std::iter::repeat(0));
                of_dds.into_iter().zip(of_shm).map(|(dds, shm)| dds + shm).collect()
            }
        };
        Ok(all)
    }

    /// Returns for each topic set how many samples the slowest subscriber has still to acknowledge (DDS) or to read (shared
    /// memory), the largest of all transports; `None` if no subscriber says so.
    pub fn backlogs(&self) -> Result<Vec<Option<u64>>, Failure> {
        let of_dds = self.dds.as_ref().map(|side| side.publisher.backlogs());
        let of_dds = of_dds.transpose().map_err(|error| refused(&error))?.unwrap_or_default();
        let of_shm = self.shm.as_ref().map(|side| side.publisher.backlogs());
        let of_shm = of_shm.transpose().map_err(|error| refused(&error))?.unwrap_or_default();
        let of = |all: &[Option<u64>], set: usize| all.get(set).copied().flatten();
        let sets = of_dds.len().max(of_shm.len());
        Ok((0..sets).map(|set| of(&of_dds, set).max(of(&of_shm, set))).collect())
    }

    /// Tells the subscribers that the samples are complete or that publishing was stopped early. Returns true if all
    /// subscribers acknowledged everything within `patience`; over shared memory there are no acknowledgements. Ends
    /// both transports even if one fails.
    pub fn finish(&mut self, is_whole: bool, patience: Duration) -> Result<bool, Failure> {
        let over_shm = Side::finish(&mut self.shm, is_whole, patience);
        let over_dds = Side::finish(&mut self.dds, is_whole, patience);
        Ok(over_shm? & over_dds?)
    }

    /// Returns the counters of the samples, by transport.
    pub fn by_transport(&self) -> Vec<(&'static str, &PublisherCounters)> {
        let mut all = Vec::new();
        all.extend(self.shm.as_ref().map(|side| (side.name, side.publisher.counters())));
        all.extend(self.dds.as_ref().map(|side| (side.name, side.publisher.counters())));
        all
    }

    /// Returns the counters of all transports together. `written` and `unlisted` are maxima, because both transports
    /// carry the same samples; the others are sums.
    pub fn counters(&self) -> PublisherCounters {
        let mut sum = PublisherCounters::default();
        for (_, counters) in self.by_transport() {
            let PublisherCounters { written, dropped, unlisted, stalls, stalled_ns } = counters;
            sum.written.resize(written.len(), 0);
            sum.written.iter_mut().zip(written).for_each(|(sum, one)| *sum = (*sum).max(*one));
            sum.dropped += dropped;
            sum.unlisted = sum.unlisted.max(*unlisted);
            sum.stalls += stalls;
            sum.stalled_ns += stalled_ns;
        }
        sum
    }
}

/// Returns true if a publisher has this many subscribers; a missing publisher has none.
fn has<P: Participant>(
    side: Option<&Side<P>>,
    count: u32,
    every_topic: bool,
) -> Result<bool, Failure> {
    let Some(Side { publisher, .. }) = side else { return Ok(count == 0) };
    let is_so = match every_topic {
        true => publisher.is_matched(count),
        false => publisher.has_subscribers(count),
    };
    is_so.map_err(|error| refused(&error))
}

fn subscribers<P: Participant>(side: Option<&Side<P>>) -> Result<Vec<u32>, Failure> {
    let counts = side.map(|side| side.publisher.subscribers()).transpose();
    Ok(counts.map_err(|error| refused(&error))?.unwrap_or_default())
}
