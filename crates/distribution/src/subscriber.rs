//! A subscriber: receives the samples of all its topics, tracks how publishers end, and counts losses.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::cdr::CdrEncoding;

use crate::delivery::{DeliverySettings, END_TOPICS, TopicSet};
use crate::ledger::{Known, PublisherStatus, SampleLedger};
use crate::stations::{SampleArrival, StationOutput, StationRole, Stations};
use crate::transport::{Participant, ParticipantId, RawSample, ReceivedSample, SampleInfo};
use crate::{Done, Sample, SampleReader, Total};

/// Interval at which the subscriber checks which publishers are present.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// Longest sleep of a conflating subscriber between two looks for publishers.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time to wait for further samples once a publisher has announced its end.
const QUIET: Duration = Duration::from_millis(500);

/// Options of a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriberOptions {
    /// True if publishers also write topics that this subscriber does not read. If such a publisher sends only the
    /// total of all topics, samples lost after the last received one are not detected.
    pub some_topics: bool,
    /// True if each sample is echoed, so that the publisher can measure round trips.
    pub echo: bool,
    /// Conflates: takes samples at most once per this interval, and then only the last one of each key. Skipped samples
    /// do not count as lost.
    pub every: Option<Duration>,
}

/// A sample that is kept until the end of a conflating subscriber's turn.
struct ConflatedSample {
    set: usize,
    topic: usize,
    bytes: Vec<u8>,
    encoding: CdrEncoding,
    info: SampleInfo,
    seq_num: Option<u64>,
    key: u64,
    taken_ns: u64,
}

impl ConflatedSample {
    fn of(arrival: &SampleArrival<'_>) -> Self {
        let SampleArrival { set, topic, raw, seq_num, key, taken_ns, .. } = *arrival;
        let (bytes, encoding, info) = (raw.bytes.to_vec(), raw.encoding, raw.info);
        Self { set, topic, bytes, encoding, info, seq_num, key, taken_ns }
    }

    fn arrival<'a, P: Participant>(&'a self, stations: &'a Stations<P>) -> SampleArrival<'a> {
        let Self { set, topic, ref bytes, encoding, info, seq_num, key, taken_ns } = *self;
        let raw = RawSample { bytes, encoding, info };
        SampleArrival { set, topic, of: stations.of(topic), raw, seq_num, key, taken_ns, missed: 0 }
    }
}

/// Reads the topics of its sets from all publishers, and counts lost samples.
///
/// # Examples
/// A subscriber over any transport:
/// ```
/// use std::time::Duration;
/// use tickwire_distribution::{
///     DeliverySettings, Participant, Quote, ReceivedSample, Subscriber, SubscriberOptions, TopicSet,
/// };
///
/// fn subscribe<P: Participant>(place: &P) -> Result<bool, P::Error> {
///     let sets = [TopicSet::of::<Quote>()];
///     let options = SubscriberOptions::default();
///     let mut subscriber = Subscriber::new(place, &sets, &DeliverySettings::default(), &options)?;
///     let mut quote = ReceivedSample::<Quote>::default();
///     while !subscriber.is_over() {
///         subscriber.receive(Duration::from_millis(20), |arrival| {
///             if arrival.load(&mut quote).is_ok() {
///                 println!("{:?}", quote.sample);
///             }
///         })?;
///     }
///     Ok(subscriber.ledger().is_complete())
/// }
/// ```
pub struct Subscriber<P: Participant> {
    stations: Stations<P>,
    /// Readers of the topics Stopped and Done.
    ends: [SampleReader<Done, P::RawReader>; 2],
    /// Reader of the totals by topic, which publishers write before they announce their end.
    totals: SampleReader<Total, P::RawReader>,
    watched: Instant,
    ledger: SampleLedger,
    /// Time at which the last sample or announced end was received.
    last: Instant,
    every: Option<Duration>,
    /// True if a reader that falls behind still gets the last sample of each key.
    has_last_values: bool,
    /// Time of the last turn of a conflating subscriber.
    turn: Option<Instant>,
    gone: Vec<ParticipantId>,
    /// Reasons why publishers are not read.
    refusals: Vec<String>,
}

impl<P: Participant> Subscriber<P> {
    /// Creates readers of the topics of `sets`.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn new(
        participant: &P,
        sets: &[TopicSet],
        delivery: &DeliverySettings,
        options: &SubscriberOptions,
    ) -> Result<Self, P::Error> {
        let known = match (options.every, delivery.best_effort, delivery.last_values) {
            (Some(_), ..) => Known::Conflated,
            (None, true, _) => Known::BestEffort,
            (None, false, depth) if options.some_topics => {
                Known::SomeTopics { last_values: depth > 0 }
            }
            (None, false, 0) => Known::None,
            (None, false, _) => Known::LastValues,
        };
        let role = StationRole::Samples { echo: options.echo, conflate: options.every.is_some() };
        let [done, stopped] = END_TOPICS;
        let end = |topic| participant.reader(topic, &delivery.done_qos());
        let mut stations = Stations::new(participant, sets, delivery, role)?;
        let totals = participant.reader(Total::TOPIC, &delivery.done_qos())?;
        Ok(Self {
            refusals: stations.take_refusals(),
            stations,
            totals,
            // Created last, because publishers take a reader of these topics for a complete subscriber.
            ends: [end(stopped)?, end(done)?],
            watched: Instant::now(),
            ledger: SampleLedger::new(known, sets.len()),
            last: Instant::now(),
            every: options.every,
            has_last_values: delivery.last_values > 0,
            turn: None,
            gone: Vec::new(),
        })
    }

    /// Waits at most `timeout` for samples, passes them to `take` and returns their number. A conflating subscriber
    /// passes samples on only when its interval has passed.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn receive(
        &mut self,
        timeout: Duration,
        take: impl FnMut(&SampleArrival<'_>),
    ) -> Result<usize, P::Error> {
        match self.every {
            Some(every) => self.take_turn(every, timeout, take),
            None => self.step(Some(timeout), take),
        }
    }

    /// Like [`receive`](Self::receive), without waiting.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn poll(&mut self, take: impl FnMut(&SampleArrival<'_>)) -> Result<usize, P::Error> {
        match self.every {
            Some(every) => self.take_turn(every, Duration::ZERO, take),
            None => self.step(None, take),
        }
    }

    /// Waits at most `timeout` for the end of the interval; if it has ended, takes all available samples.
    fn take_turn(
        &mut self,
        every: Duration,
        timeout: Duration,
        mut take: impl FnMut(&SampleArrival<'_>),
    ) -> Result<usize, P::Error> {
        let left = self.turn.map_or(Duration::ZERO, |turn| every.saturating_sub(turn.elapsed()));
        self.sleep(left.min(timeout))?;
        if left > timeout {
            self.watch()?;
            return Ok(0);
        }
        let begun = Instant::now();
        self.turn = Some(begun);
        let mut kept = HashMap::new();
        let Self { stations, ledger, .. } = self;
        // Some transports keep only the last sample of a key, others keep all. Samples that arrive once another
        // interval has passed wait for the next turn.
        loop {
            let count = stations.receive_all(None, &mut |taken| match taken {
                StationOutput::Sample(arrival) => {
                    kept.insert((arrival.topic, arrival.key), ConflatedSample::of(arrival));
                }
                StationOutput::EndOfInstance { topic, info } => {
                    ledger.note_end_of_instance(topic, &info)
                }
            })?;
            if count == 0 || begun.elapsed() >= every {
                break;
            }
        }
        let mut kept: Vec<ConflatedSample> = kept.into_values().collect();
        kept.sort_unstable_by_key(|one| one.taken_ns);
        for one in &kept {
            let arrival = one.arrival(stations);
            take(&SampleArrival { missed: ledger.count(&arrival), ..arrival });
        }
        let is_stale = match self.has_last_values {
            true => self.stations.has_stale_keys(),
            false => self.stations.lost()? > 0,
        };
        if is_stale {
            self.ledger.note_stale_keys();
        }
        self.note_step(kept.len())
    }

    /// Sleeps, and looks for publishers meanwhile: one that came and went during the sleep could no longer be read.
    fn sleep(&self, time: Duration) -> Result<(), P::Error> {
        let begun = Instant::now();
        loop {
            self.stations.matched()?;
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    fn step(
        &mut self,
        timeout: Option<Duration>,
        mut take: impl FnMut(&SampleArrival<'_>),
    ) -> Result<usize, P::Error> {
        let Self { stations, ledger, .. } = self;
        let count = stations.receive_all(timeout, &mut |taken| match taken {
            StationOutput::Sample(arrival) => {
                take(&SampleArrival { missed: ledger.count(arrival), ..*arrival });
            }
            StationOutput::EndOfInstance { topic, info } => {
                ledger.note_end_of_instance(topic, &info)
            }
        })?;
        self.note_step(count)
    }

    /// Updates the state of the publishers after `count` samples were received.
    fn note_step(&mut self, count: usize) -> Result<usize, P::Error> {
        if count > 0 {
            self.last = Instant::now();
        } else {
            self.take_ends()?;
        }
        self.watch()?;
        Ok(count)
    }

    /// Records announced ends. A publisher that announced both is done.
    fn take_ends(&mut self) -> Result<(), P::Error> {
        let mut ends = Vec::new();
        let mut received = ReceivedSample::<Done>::default();
        for (reader, is_whole) in self.ends.iter_mut().zip([false, true]) {
            while reader.take(&mut received)? {
                if received.has_data {
                    let Done { samples } = received.sample;
                    ends.push((received.participant, received.writer, is_whole, samples));
                }
            }
        }
        // Publishers write totals before they announce the end, so the totals are available now or follow immediately.
        self.take_totals()?;
        // The subscriber may stop after an end, so it collects the refusals now.
        if !ends.is_empty() {
            self.refusals.extend(self.stations.take_refusals());
        }
        for (publisher, teller, is_whole, written) in ends {
            let standing = match is_whole {
                true => PublisherStatus::Done { written },
                false => PublisherStatus::Stopped { written },
            };
            self.ledger.end(publisher, teller, standing);
            self.last = Instant::now();
        }
        Ok(())
    }

    fn take_totals(&mut self) -> Result<(), P::Error> {
        let Self { totals, stations, ledger, .. } = self;
        let mut received = ReceivedSample::<Total>::default();
        while totals.take(&mut received)? {
            if received.has_data {
                let Total { topic, samples } = &received.sample;
                let topic = (topic.as_str(), stations.topic(topic));
                ledger.note_total(topic, &received.info, *samples);
            }
        }
        Ok(())
    }

    /// Checks at intervals which publishers are present.
    fn watch(&mut self) -> Result<(), P::Error> {
        if self.watched.elapsed() < WATCH_EVERY {
            return Ok(());
        }
        self.watched = Instant::now();
        let present = self.ends[1].publishers()?;
        // First record the ends that publishers announced before they left.
        self.take_ends()?;
        self.gone.extend(self.ledger.note_present(&present));
        self.refusals.extend(self.stations.take_refusals());
        Ok(())
    }

    /// Returns publishers that have disappeared without announcing their end since the last call. Their last samples
    /// may be lost.
    pub fn take_gone(&mut self) -> impl Iterator<Item = ParticipantId> {
        std::mem::take(&mut self.gone).into_iter()
    }

    /// Returns publishers that are done and wrote to none of the topics that are read, with the topics that they wrote
    /// to; only those that are new since the last call. Their ends do not end the subscriber.
    pub fn take_others(&mut self) -> Vec<(Option<ParticipantId>, Vec<String>)> {
        self.ledger.take_others()
    }

    /// Returns readable reasons why publishers are not read; only those that are new since the last call. Readers are
    /// asked for them every 100 ms, and when a publisher announces its end.
    pub fn take_refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refusals)
    }

    /// Returns true if a publisher's feed is done and complete, or if it is done and nothing more arrives.
    pub fn is_over(&self) -> bool {
        let is_quiet = self.last.elapsed() > QUIET.max(self.every.unwrap_or_default());
        self.ledger.is_complete() || (self.ledger.has_end() && is_quiet)
    }

    /// Returns true if a publisher has sent something, or has a writer that matches.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn has_publisher(&self) -> Result<bool, P::Error> {
        match self.ledger.publishers().is_empty() {
            true => Ok(self.stations.matched()?.iter().any(|count| *count > 0)),
            false => Ok(true),
        }
    }

    /// Returns the counters of received and lost samples.
    pub fn ledger(&self) -> &SampleLedger {
        &self.ledger
    }

    /// Returns the readers.
    pub fn stations(&self) -> &Stations<P> {
        &self.stations
    }
}
