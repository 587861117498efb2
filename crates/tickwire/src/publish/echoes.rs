//! Receives the echoes of published samples and counts those that are missing.

use crate::console::tell;
use crate::distribution::{DdsParticipant, DeliveryArgs, Latencies, Places, refused};
use crate::failure::Failure;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tickwire_distribution::{
    Arrival, Delivery, Participant, ParticipantId, Role, Stations, TopicSet,
};
use tickwire_net::Stop;
use tickwire_shm_transport::ShmParticipant;

/// Name of the row of round-trip times.
const ROUND_TRIP: &str = "one way, round trip halved";
/// Interval at which the thread checks whether it should end.
const TICK: Duration = Duration::from_millis(20);
/// Time without a new echo writer after which subscribers without one count as not echoing. A subscriber makes its echo
/// writers before its last reader, so the writers of those that are there have only to be discovered: in a directory or, by
/// DDS, over the network.
const DISCOVERY_SHM: Duration = Duration::from_secs(1);
const DISCOVERY_DDS: Duration = Duration::from_secs(3);
/// Shortest time without an echo after which no more are expected.
const QUIET: Duration = Duration::from_millis(500);
/// Maximum number of subscribers that are counted separately; further ones share a count.
const SEPARATE_MAX: usize = 1024;

/// Readers of the echoes on all transports, created before the first sample.
pub struct Listeners {
    shm: Option<Stations<ShmParticipant>>,
    dds: Option<Stations<DdsParticipant>>,
    are_several: bool,
}

/// Subscribers of each topic set that were present before the first sample, over shared memory and DDS; `None`
/// if `--subscribers` did not wait for them.
pub type AwaitedSubscribers = Option<[Vec<u32>; 2]>;

impl Listeners {
    /// Makes the readers.
    pub fn new(places: &Places, args: &DeliveryArgs, sets: &[TopicSet]) -> Result<Self, Failure> {
        let over_shm = args.over_shm();
        let shm = places.shm.as_ref().map(|place| stations(place, sets, &over_shm));
        let over_dds = args.over_dds(false);
        let dds = places.dds.as_ref().map(|place| stations(place, sets, &over_dds));
        Ok(Self { shm: shm.transpose()?, dds: dds.transpose()?, are_several: places.are_several() })
    }

    /// Waits for the echo writers of the subscribers, up to `patience`, then starts to receive. Subscribers that have none
    /// by then owe no echoes.
    pub fn start(
        self,
        awaited: AwaitedSubscribers,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Vec<Echoes>, Failure> {
        let name = |transport: &str| match self.are_several {
            true => format!("{ROUND_TRIP}, {transport}"),
            false => ROUND_TRIP.to_owned(),
        };
        let [over_shm, over_dds] = match awaited {
            Some(awaited) => awaited.map(Some),
            None => [None, None],
        };
        let mut all = Vec::new();
        if let Some(stations) = self.shm {
            let wait = WriterWait { patience, discovery: DISCOVERY_SHM };
            all.push(Echoes::start(stations, "shm", name("shm"), over_shm, wait, stop)?);
        }
        if let Some(stations) = self.dds {
            let wait = WriterWait { patience, discovery: DISCOVERY_DDS };
            all.push(Echoes::start(stations, "dds", name("dds"), over_dds, wait, stop)?);
        }
        Ok(all)
    }
}

fn stations<P: Participant>(
    place: &P,
    sets: &[TopicSet],
    delivery: &Delivery,
) -> Result<Stations<P>, Failure> {
    Stations::new(place, sets, delivery, Role::Echoes).map_err(|error| refused(&error))
}

/// A thread that measures round trips.
pub struct Echoes {
    /// Its transport.
    pub transport: &'static str,
    thread: JoinHandle<Result<EchoesReceived, Failure>>,
    /// Number of echoing subscribers present before the first sample, by topic set.
    awaited: Option<Vec<u32>>,
    last: Arc<OnceLock<LastSample>>,
}

/// Facts that the echo thread needs once the last sample is written.
struct LastSample {
    at: Instant,
    /// Subscribers by topic set that owe an echo of each sample; `None` if unknown.
    awaited: Option<Vec<u32>>,
    /// Samples by topic set.
    written: Vec<u64>,
    /// Longest time without an echo.
    quiet: Duration,
}

/// Echoes received by the thread.
struct EchoesReceived {
    latencies: Latencies,
    counts: EchoCounts,
    /// Echoes of this publisher's samples that the transport lost, as far as it knows.
    lost: u64,
}

/// Echoes on one transport.
pub struct Heard {
    /// The halved round-trip times.
    pub latencies: Latencies,
    /// Echoes received.
    pub echoes: u64,
    /// Missing echoes.
    pub missing: MissingEchoes,
}

/// Number of missing echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingEchoes {
    /// At least so many.
    pub at_least: u64,
    /// True if there are no more.
    pub is_exact: bool,
}

impl Echoes {
    fn start<P: Participant>(
        stations: Stations<P>,
        transport: &'static str,
        name: String,
        awaited: Option<Vec<u32>>,
        wait: WriterWait,
        stop: &Stop,
    ) -> Result<Self, Failure>
    where
        Stations<P>: Send + 'static,
    {
        let owing = |present: Vec<u32>| -> Result<Vec<u32>, Failure> {
            let owing = echoing(&stations, &present, wait, stop)?;
            let silent = present.iter().zip(&owing).map(|(present, owing)| present - owing).max();
            let (silent, present) = (silent.unwrap_or(0), present.into_iter().max().unwrap_or(0));
            if silent > 0 && !stop.is_set() {
                tell!("tickwire: {silent} of {present} subscribers over {transport} do not echo");
            }
            Ok(owing)
        };
        let awaited = awaited.map(owing).transpose()?;
        let last = Arc::new(OnceLock::new());
        let thread = {
            let last = last.clone();
            std::thread::spawn(move || measure(stations, &name, &last))
        };
        Ok(Self { transport, thread, awaited, last })
    }

    /// Waits for the echoes of all samples: `written` has their number by topic set. Ends early if all
    /// subscribers have ended, or after `patience` without an echo. If the subscribers are not known or `stop`
    /// is set, half a second without an echo is enough.
    pub fn finish(
        self,
        written: &[u64],
        patience: Duration,
        stop: &Stop,
    ) -> Result<Heard, Failure> {
        let quiet = match &self.awaited {
            Some(_) if !stop.is_set() => patience.max(QUIET),
            _ => QUIET,
        };
        let (awaited, written_to_all) = (self.awaited.clone(), written.to_vec());
        let last = LastSample { at: Instant::now(), awaited, written: written_to_all, quiet };
        // Set only here.
        let _ = self.last.set(last);
        let received = self.thread.join();
        let EchoesReceived { latencies, counts, lost } =
            received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let missing = counts.missing(self.awaited.as_deref(), written, lost);
        Ok(Heard { latencies, echoes: counts.all, missing })
    }
}

/// Limits of the wait for echo writers.
#[derive(Clone, Copy)]
struct WriterWait {
    /// Longest time in all.
    patience: Duration,
    /// Longest time without a new writer.
    discovery: Duration,
}

/// Returns how many of the subscribers that are `present` have echo writers, by topic set. Waits for those of all of them.
fn echoing<P: Participant>(
    stations: &Stations<P>,
    present: &[u32],
    wait: WriterWait,
    stop: &Stop,
) -> Result<Vec<u32>, Failure> {
    let started = Instant::now();
    let matched = stations.matched().map_err(|error| refused(&error))?;
    let mut writers: u32 = matched.iter().sum();
    loop {
        let left = wait.patience.saturating_sub(started.elapsed());
        let are_all = stations.wait_writers(present, left.min(wait.discovery), || stop.is_set());
        let are_all = are_all.map_err(|error| refused(&error))?;
        let matched = stations.matched().map_err(|error| refused(&error))?;
        let before = std::mem::replace(&mut writers, matched.iter().sum());
        if are_all || writers == before || left.is_zero() || stop.is_set() {
            let of_set = |(present, matched): (&u32, u32)| matched.min(*present);
            return Ok(present.iter().zip(matched).map(of_set).collect());
        }
    }
}

/// Echoes by topic set and subscriber.
#[derive(Default)]
struct EchoCounts {
    all: u64,
    sets: Vec<HashMap<Option<ParticipantId>, u64>>,
}

impl EchoCounts {
    fn count(&mut self, arrival: &Arrival<'_>) {
        self.add(arrival.set, arrival.raw.info.participant);
    }

    fn add(&mut self, set: usize, subscriber: Option<ParticipantId>) {
        self.all += 1;
        if self.sets.len() <= set {
            self.sets.resize_with(set + 1, HashMap::new);
        }
        let counts = &mut self.sets[set];
        let is_separate = counts.len() < SEPARATE_MAX || counts.contains_key(&subscriber);
        *counts.entry(subscriber.filter(|_| is_separate)).or_default() += 1;
    }

    /// True if the subscribers are known and each has echoed each sample.
    fn are_complete(&self, last: &LastSample) -> bool {
        let awaited = last.awaited.as_deref();
        awaited.is_some() && self.missing(awaited, &last.written, 0).at_least == 0
    }

    /// Compares the counts with the samples `written`. Each of the `awaited` subscribers owes an echo for each
    /// sample. Subscribers that came later owe an unknown number; those with the most echoes are assumed to be
    /// the awaited ones.
    fn missing(&self, awaited: Option<&[u32]>, written: &[u64], lost: u64) -> MissingEchoes {
        let mut missing = MissingEchoes { at_least: 0, is_exact: awaited.is_some() };
        for (set, written) in written.iter().enumerate() {
            let awaited =
                awaited.and_then(|awaited| awaited.get(set)).copied().unwrap_or(0) as usize;
            let counts = self.sets.get(set).into_iter().flat_map(HashMap::values);
            let mut counts: Vec<u64> = counts.copied().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            missing.is_exact &= counts.len() <= awaited;
            let all = counts.into_iter().chain(std::iter::repeat(0)).take(awaited);
            missing.at_least += all.map(|count| written.saturating_sub(count)).sum::<u64>();
        }
        missing.at_least = missing.at_least.max(lost);
        missing
    }
}

fn measure<P: Participant>(
    mut stations: Stations<P>,
    name: &str,
    last: &OnceLock<LastSample>,
) -> Result<EchoesReceived, Failure> {
    let mut latencies = Latencies::default();
    let row = latencies.add(name);
    let mut counts = EchoCounts::default();
    let mut heard = Instant::now();
    let fail = |error: P::Error| refused(&error);
    loop {
        // Looked at before the readers: echoes that follow are received below.
        let last = last.get();
        let have_ended = match last {
            Some(_) => stations.matched().map_err(fail)?.iter().all(|count| *count == 0),
            None => false,
        };
        let received = stations.receive(TICK, |arrival| {
            if let Some(round_trip_ns) = arrival.age_ns() {
                latencies.record(row, round_trip_ns / 2);
            }
            counts.count(arrival);
        });
        if received.map_err(fail)? > 0 {
            heard = Instant::now();
        } else if let Some(last) = last
            && (have_ended || heard.max(last.at).elapsed() >= last.quiet)
        {
            break;
        }
        if last.is_some_and(|last| counts.are_complete(last)) {
            break;
        }
    }
    for why in stations.take_refusals() {
        tracing::warn!("echoes: {why}");
    }
    // With several publishers, it is unknown whose echoes the transport lost.
    let lost = match stations.echoes_of_others() {
        0 => stations.lost().map_err(fail)?,
        _ => 0,
    };
    Ok(EchoesReceived { latencies, counts, lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Echoes of the subscribers of one set.
    fn counts(by_subscriber: &[u64]) -> EchoCounts {
        let mut counts = EchoCounts::default();
        for (subscriber, count) in by_subscriber.iter().enumerate() {
            let id = Some(ParticipantId([subscriber as u8; 16]));
            (0..*count).for_each(|_| counts.add(0, id));
        }
        counts
    }

    #[test]
    fn each_awaited_subscriber_owes_an_echo_of_each_sample() {
        let missing = |by_subscriber: &[u64], awaited: Option<u32>, lost| {
            let awaited = awaited.map(|count| vec![count]);
            let MissingEchoes { at_least, is_exact } =
                counts(by_subscriber).missing(awaited.as_deref(), &[10], lost);
            (at_least, is_exact)
        };
        assert_eq!(missing(&[10], Some(1), 0), (0, true));
        assert_eq!(missing(&[10, 7], Some(2), 0), (3, true));
        assert_eq!(missing(&[10], Some(2), 0), (10, true), "one never echoes");
        assert_eq!(missing(&[], Some(1), 0), (10, true));
        assert_eq!(missing(&[4, 9], Some(1), 0), (1, false), "one came later");
        let last = |written| LastSample {
            at: Instant::now(),
            awaited: Some(vec![1]),
            written: vec![written],
            quiet: QUIET,
        };
        assert!(!counts(&[4, 9]).are_complete(&last(10)), "13 echoes, of which one is missing");
        assert!(counts(&[4, 10]).are_complete(&last(10)));
        assert_eq!(missing(&[], None, 0), (0, false));
        assert_eq!(missing(&[4], None, 2), (2, false));
    }
}
