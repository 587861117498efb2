//! The publisher's half of echoes: receives them and counts those that are missing.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::outlets::OutletError;
use crate::publisher::TICK;
use crate::stations::{SampleArrival, Stations};
use crate::transport::{Participant, ParticipantId};

/// Shortest time without an echo after which no more are expected.
const QUIET: Duration = Duration::from_millis(500);
/// Maximum number of subscribers that are counted separately; further ones share a count.
const SEPARATE_MAX: usize = 1024;

/// Receives the echoes of a publisher's samples on a thread of its own.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tickwire_distribution::{
///     DeliverySettings, EchoSummary, Echoes, OutletError, Participant, Publisher, Quote, StationRole, Stations, TopicSet,
/// };
///
/// fn publish<P: Participant>(place: &P, quotes: &[Quote]) -> Result<EchoSummary, Box<dyn std::error::Error>>
/// where
///     Stations<P>: Send + 'static,
/// {
///     let (sets, delivery) = ([TopicSet::of::<Quote>()], DeliverySettings::default());
///     let patience = Duration::from_secs(10);
///     // Created before the publisher, so that both directions match at the same time.
///     let readers = Stations::new(place, &sets, &delivery, StationRole::Echoes)?;
///     let mut publisher = Publisher::new(place, &sets, &delivery, patience, || false)?;
///     publisher.wait_matched(1, patience)?;
///     let present = Some(publisher.subscribers()?);
///     let echoes = Echoes::start(readers, present, patience, || false, |echo| {
///         if let Some(round_trip_ns) = echo.age_ns() {
///             println!("{round_trip_ns} ns");
///         }
///     })?;
///     for quote in quotes {
///         publisher.publish(0, quote)?;
///     }
///     publisher.finish(true, patience)?;
///     Ok(echoes.finish(&publisher.counters().written, patience)?)
/// }
/// ```
pub struct Echoes {
    thread: JoinHandle<Result<EchoesReceived, OutletError>>,
    awaited: Option<Vec<u32>>,
    last: Arc<OnceLock<LastSample>>,
}

/// Facts that the thread needs once the last sample is written.
struct LastSample {
    at: Instant,
    /// Number of subscribers from which an echo of each sample is expected, by topic set; `None` if
    /// unknown.
    awaited: Option<Vec<u32>>,
    /// Samples by topic set.
    written: Vec<u64>,
    /// Longest time without an echo.
    quiet: Duration,
}

/// Echoes received by the thread.
struct EchoesReceived {
    counts: EchoCounts,
    /// Echoes of this publisher's samples that the transport lost, as far as the transport knows.
    lost: u64,
    refusals: Vec<String>,
}

/// Received and missing echoes of a publisher's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EchoSummary {
    /// Echoes received.
    pub received: u64,
    /// Missing echoes: at least so many.
    pub missing: u64,
    /// True if no more are missing.
    pub is_exact: bool,
    /// Readable reasons why writers of echoes were not read.
    pub refusals: Vec<String>,
}

impl Echoes {
    /// Starts to receive with readers of the [role](crate::StationRole) `Echoes`. Calls `on_echo` with each echo on the new thread;
    /// the [age](SampleArrival::age_ns) of an echo is the round-trip time.
    ///
    /// `present` has the number of subscribers by topic set, as
    /// [`Publisher::subscribers`](crate::Publisher::subscribers) returns it; `None` if unknown.
    /// First waits for their echo writers: for at most `patience`, and until no new one has come
    /// for [`Participant::DISCOVERY`] or `is_over` returns true. No echoes are expected from
    /// subscribers without an echo writer by then.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn start<P: Participant>(
        stations: Stations<P>,
        present: Option<Vec<u32>>,
        patience: Duration,
        is_over: impl Fn() -> bool,
        on_echo: impl FnMut(&SampleArrival<'_>) + Send + 'static,
    ) -> Result<Self, OutletError>
    where
        Stations<P>: Send + 'static,
    {
        let owing = |present: Vec<u32>| echoing(&stations, &present, patience, is_over);
        let awaited = present.map(owing).transpose().map_err(OutletError::of)?;
        let last = Arc::new(OnceLock::new());
        let thread = {
            let last = last.clone();
            std::thread::spawn(move || receive(stations, on_echo, &last).map_err(OutletError::of))
        };
        Ok(Self { thread, awaited, last })
    }

    /// Returns the number of subscribers from which an echo of each sample is expected, by topic
    /// set; `None` if unknown.
    #[must_use]
    pub fn awaited(&self) -> Option<&[u32]> {
        self.awaited.as_deref()
    }

    /// Waits for the echoes of all samples: `written` has their number by topic set. Ends early if all subscribers have ended,
    /// or after `patience` without an echo, at least half a second. If the subscribers are not known, half a second without an
    /// echo is enough.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn finish(self, written: &[u64], patience: Duration) -> Result<EchoSummary, OutletError> {
        let quiet = if self.awaited.is_some() { patience.max(QUIET) } else { QUIET };
        let (awaited, written_to_all) = (self.awaited.clone(), written.to_vec());
        let last = LastSample { at: Instant::now(), awaited, written: written_to_all, quiet };
        // Set only here.
        let _ = self.last.set(last);
        let received = self.thread.join();
        let EchoesReceived { counts, lost, refusals } =
            received.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let (missing, is_exact) = counts.missing(self.awaited.as_deref(), written, lost);
        Ok(EchoSummary { received: counts.all, missing, is_exact, refusals })
    }
}

/// Returns how many of the subscribers that are `present` have echo writers, by topic set. Waits for those of all of them. A
/// subscriber makes its echo writers before its last reader, so they have only to be discovered.
fn echoing<P: Participant>(
    stations: &Stations<P>,
    present: &[u32],
    patience: Duration,
    is_over: impl Fn() -> bool,
) -> Result<Vec<u32>, P::Error> {
    let started = Instant::now();
    let mut writers: u32 = stations.matched()?.iter().sum();
    loop {
        let left = patience.saturating_sub(started.elapsed());
        let are_all = stations.wait_writers(present, left.min(P::DISCOVERY), &is_over)?;
        let matched = stations.matched()?;
        let before = std::mem::replace(&mut writers, matched.iter().sum());
        if are_all || writers == before || left.is_zero() || is_over() {
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
        awaited.is_some() && self.missing(awaited, &last.written, 0).0 == 0
    }

    /// Compares the counts with the samples `written`. An echo of each sample is expected from each
    /// of the `awaited` subscribers. Subscribers that came later echo an unknown number of samples;
    /// those with the most echoes are assumed to be the awaited ones. Returns the least number of
    /// missing echoes, and true if no more are missing.
    fn missing(&self, awaited: Option<&[u32]>, written: &[u64], lost: u64) -> (u64, bool) {
        let (mut at_least, mut is_exact) = (0, awaited.is_some());
        for (set, written) in written.iter().enumerate() {
            let awaited =
                awaited.and_then(|awaited| awaited.get(set)).copied().unwrap_or(0) as usize;
            let counts = self.sets.get(set).into_iter().flat_map(HashMap::values);
            let mut counts: Vec<u64> = counts.copied().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            is_exact &= counts.len() <= awaited;
            let all = counts.into_iter().chain(std::iter::repeat(0)).take(awaited);
            at_least += all.map(|count| written.saturating_sub(count)).sum::<u64>();
        }
        (at_least.max(lost), is_exact)
    }
}

fn receive<P: Participant>(
    mut stations: Stations<P>,
    mut on_echo: impl FnMut(&SampleArrival<'_>),
    last: &OnceLock<LastSample>,
) -> Result<EchoesReceived, P::Error> {
    let mut counts = EchoCounts::default();
    let mut heard = Instant::now();
    loop {
        // Checked before the readers, so that echoes that arrive after the check are received
        // below.
        let last = last.get();
        let have_ended = match last {
            Some(_) => stations.matched()?.iter().all(|count| *count == 0),
            None => false,
        };
        let received = stations.receive(TICK, |arrival| {
            on_echo(arrival);
            counts.add(arrival.set, arrival.raw.info.participant);
        })?;
        if received > 0 {
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
    // With several publishers, it is unknown whose echoes the transport lost.
    let lost = match stations.echoes_of_others() {
        0 => stations.lost()?,
        _ => 0,
    };
    Ok(EchoesReceived { counts, lost, refusals: stations.take_refusals() })
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
            counts(by_subscriber).missing(awaited.as_deref(), &[10], lost)
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
