//! The writers of a publisher, and what happens when subscribers are slow.

use std::time::{Duration, Instant};

use crate::cdr::SampleEncoder;
use crate::delivery::{DeliverySettings, END_TOPICS, TopicSet};
use crate::transport::{Participant, RawWriter, TransportError};
use crate::{Done, Sample, SampleWriter, Total};

/// Longest single sleep while waiting for subscribers or echoes.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// Waits until `found` returns at least `count` readers or writers; false if `timeout` passed or `is_over` returned true first.
pub(crate) fn wait_for<E>(
    count: u32,
    timeout: Duration,
    is_over: impl Fn() -> bool,
    found: impl Fn() -> Result<u32, E>,
) -> Result<bool, E> {
    let started = Instant::now();
    while found()? < count {
        if started.elapsed() >= timeout || is_over() {
            return Ok(false);
        }
        std::thread::sleep(TICK);
    }
    Ok(true)
}

/// Counters of a publisher's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublisherCounters {
    /// Samples written, by topic set.
    pub written: Vec<u64>,
    /// Samples dropped because the buffer stayed full for the allowed time.
    pub dropped: u64,
    /// Samples not written because their security has no topic.
    pub unlisted: u64,
    /// Writes that had to wait for room.
    pub stalls: u64,
    /// Total time of these waits in nanoseconds.
    pub stalled_ns: u64,
}

impl PublisherCounters {
    /// Returns the number of samples written to all topic sets.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.iter().sum()
    }
}

/// Destination of samples: a [`Publisher`], or publishers on several transports ([`Outlets`](crate::Outlets)).
pub trait Outlet {
    /// Error of the destination's transports.
    type Error;

    /// Writes a sample to the set with this index, which must have its type.
    ///
    /// # Errors
    /// Errors of the transport. A full buffer is not an error; it is counted.
    fn publish<S: Sample>(&mut self, set: usize, sample: &S) -> Result<(), Self::Error>;

    /// Writes an encoded sample to the set with this index. It must have the type and the encoding of the set.
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish).
    fn publish_bytes(&mut self, set: usize, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl<P: Participant> Outlet for Publisher<P> {
    type Error = P::Error;

    #[inline]
    fn publish<S: Sample>(&mut self, set: usize, sample: &S) -> Result<(), P::Error> {
        Self::publish(self, set, sample)
    }

    #[inline]
    fn publish_bytes(&mut self, set: usize, bytes: &[u8]) -> Result<(), P::Error> {
        Self::publish_bytes(self, set, bytes)
    }
}

/// How long a write waits for room.
struct Patience {
    is_over: Box<dyn Fn() -> bool + Send>,
    max: Duration,
    /// True if the last sample found no room in time: until a write succeeds, each sample is tried only once.
    is_exhausted: bool,
}

/// A topic with its writer.
struct TopicWriter<W> {
    topic: String,
    writer: W,
    written: u64,
}

/// Writers of the topics of one set.
enum Writers<W> {
    One(TopicWriter<W>),
    /// A writer per security, ascending by security.
    BySecurity(Vec<(u32, TopicWriter<W>)>),
}

impl<W> Writers<W> {
    #[inline]
    fn of(&mut self, security: Option<u32>) -> Option<&mut TopicWriter<W>> {
        match self {
            Self::One(writer) => Some(writer),
            Self::BySecurity(writers) => {
                let security = security?;
                let found = writers.binary_search_by_key(&security, |(security, _)| *security);
                found.ok().map(|index| &mut writers[index].1)
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &TopicWriter<W>> {
        let (one, many) = match self {
            Self::One(writer) => (Some(writer), &[][..]),
            Self::BySecurity(writers) => (None, &writers[..]),
        };
        one.into_iter().chain(many.iter().map(|(_, own)| own))
    }
}

/// Writes samples to the topics of its sets, and announces the end of its feed.
///
/// # Examples
/// A publisher over any transport:
/// ```
/// use std::time::Duration;
/// use tickwire_distribution::{DeliverySettings, Participant, Publisher, Quote, TopicSet};
///
/// fn publish<P: Participant>(place: &P, quotes: &[Quote]) -> Result<(), P::Error> {
///     let sets = [TopicSet::of::<Quote>()];
///     let patience = Duration::from_secs(10);
///     let mut publisher = Publisher::new(place, &sets, &DeliverySettings::default(), patience, || false)?;
///     publisher.wait_matched(1, patience)?;
///     for quote in quotes {
///         publisher.publish(0, quote)?;
///     }
///     publisher.finish(true, patience)?;
///     Ok(())
/// }
/// ```
pub struct Publisher<P: Participant> {
    sets: Vec<Writers<P::RawWriter>>,
    /// The writers of the topics Done and Stopped.
    ends: [SampleWriter<Done, P::RawWriter>; 2],
    totals: SampleWriter<Total, P::RawWriter>,
    patience: Patience,
    counters: PublisherCounters,
    /// Buffer of the encoded sample.
    bytes: Vec<u8>,
}

impl<P: Participant> Publisher<P> {
    /// Creates writers of the topics of `sets`. A write to a full buffer is retried for up to `wait_max`, or until
    /// `is_over` returns true.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn new(
        participant: &P,
        sets: &[TopicSet],
        delivery: &DeliverySettings,
        wait_max: Duration,
        is_over: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, P::Error> {
        let made = sets.iter().map(|set| Self::writers(participant, set, delivery));
        let sets: Vec<Writers<P::RawWriter>> = made.collect::<Result<_, _>>()?;
        let [done, stopped] = END_TOPICS;
        let end = |topic| participant.writer(topic, &delivery.done_qos());
        Ok(Self {
            totals: participant.writer(Total::TOPIC, &delivery.done_qos())?,
            ends: [end(done)?, end(stopped)?],
            patience: Patience { is_over: Box::new(is_over), max: wait_max, is_exhausted: false },
            counters: PublisherCounters { written: vec![0; sets.len()], ..Default::default() },
            bytes: Vec::new(),
            sets,
        })
    }

    fn writers(
        participant: &P,
        set: &TopicSet,
        delivery: &DeliverySettings,
    ) -> Result<Writers<P::RawWriter>, P::Error> {
        let qos = delivery.writer_qos(set.of.has_key());
        let mut by_security = Vec::new();
        for (security, topic) in set.topics() {
            let writer = participant.raw_writer(&set.of, &topic, &qos)?;
            let own = TopicWriter { topic, writer, written: 0 };
            match security {
                Some(security) => by_security.push((security, own)),
                None => return Ok(Writers::One(own)),
            }
        }
        Ok(Writers::BySecurity(by_security))
    }

    /// Returns the counters of the samples so far.
    pub fn counters(&self) -> &PublisherCounters {
        &self.counters
    }

    /// Returns the number of readers that match now, by topic set; for a set with several topics, the largest number
    /// among them.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn matched(&self) -> Result<Vec<u32>, P::Error> {
        let most = |set: &Writers<P::RawWriter>| {
            set.all()
                .try_fold(0, |most: u32, own| own.writer.matched().map(|count| count.max(most)))
        };
        self.sets.iter().map(most).collect()
    }

    /// Returns the number of complete subscribers by topic set: readers of its topics, but at most as many as
    /// read the topic Done, which a [`Subscriber`](crate::Subscriber) does last.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn subscribers(&self) -> Result<Vec<u32>, P::Error> {
        let complete = self.ends[0].matched()?;
        Ok(self.matched()?.into_iter().map(|count| count.min(complete)).collect())
    }

    /// Returns the [backlog](RawWriter::backlog) of each topic set; for a set with several topics, the largest among them.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn backlogs(&self) -> Result<Vec<Option<u64>>, P::Error> {
        let most = |set: &Writers<P::RawWriter>| {
            set.all().try_fold(None, |most, own| own.writer.backlog().map(|of| most.max(of)))
        };
        self.sets.iter().map(most).collect()
    }

    /// Waits until every topic has `count` subscribers; false if `timeout` passed or the publisher had to end first.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, P::Error> {
        self.wait(count, true, timeout)
    }

    /// Like [`wait_matched`](Self::wait_matched), for subscribers that read only some of the topics: waits for `count`
    /// readers of the topic Done, which a [`Subscriber`](crate::Subscriber) creates last.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait_subscribers(&self, count: u32, timeout: Duration) -> Result<bool, P::Error> {
        self.wait(count, false, timeout)
    }

    fn wait(&self, count: u32, every_topic: bool, timeout: Duration) -> Result<bool, P::Error> {
        wait_for(count, timeout, &self.patience.is_over, || self.complete(every_topic))
    }

    /// Returns the number of readers of the topic Done, or of the topic with the fewest readers if `every_topic`.
    pub(crate) fn complete(&self, every_topic: bool) -> Result<u32, P::Error> {
        let mut complete = self.ends[0].matched()?;
        if every_topic {
            for own in self.sets.iter().flat_map(Writers::all) {
                complete = complete.min(own.writer.matched()?);
            }
        }
        Ok(complete)
    }

    /// Writes a sample to the set with this index, which must have its type. Once warm it does not allocate.
    ///
    /// # Errors
    /// Errors of the transport. A full buffer is not an error; it is counted.
    ///
    /// # Panics
    /// If there is no such set.
    #[inline]
    pub fn publish<S: Sample>(&mut self, set: usize, sample: &S) -> Result<(), P::Error> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let encoded =
            sample.encode_members(&mut SampleEncoder::new(&mut bytes, S::struct_type().encoding));
        let written = match encoded {
            Ok(()) => self.write(set, sample.security(), &bytes),
            Err(error) => Err(error.into()),
        };
        self.bytes = bytes;
        written
    }

    /// Writes an encoded sample to the set with this index. It must have the type and the encoding of the set.
    ///
    /// # Errors
    /// Errors of the transport. A full buffer is not an error; it is counted.
    ///
    /// # Panics
    /// If there is no such set.
    #[inline]
    pub fn publish_bytes(&mut self, set: usize, bytes: &[u8]) -> Result<(), P::Error> {
        self.write(set, None, bytes)
    }

    #[inline]
    pub(crate) fn write(
        &mut self,
        set: usize,
        security: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), P::Error> {
        let Some(own) = self.sets[set].of(security) else {
            self.counters.unlisted += 1;
            return Ok(());
        };
        let writer = &mut own.writer;
        match writer.write(bytes, None) {
            Ok(()) => self.patience.is_exhausted = false,
            Err(error) if error.is_timed_out() => {
                let (patience, counters) = (&mut self.patience, &mut self.counters);
                if !write_again(writer, bytes, patience, counters)? {
                    self.counters.dropped += 1;
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
        self.counters.written[set] += 1;
        own.written += 1;
        Ok(())
    }

    /// Waits until the subscribers have acknowledged all samples, then sends the totals and announces that the feed is
    /// done (`is_whole`) or that the publisher was stopped. False if they did not acknowledge everything within
    /// `timeout`.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn finish(&mut self, is_whole: bool, timeout: Duration) -> Result<bool, P::Error> {
        let until = Instant::now() + timeout;
        let left = || until.saturating_duration_since(Instant::now());
        let mut all = self.sets.iter().flat_map(Writers::all);
        let acknowledged =
            is_in_time(all.try_for_each(|own| own.writer.wait_acknowledged(left())))?;
        for TopicWriter { topic, written, .. } in self.sets.iter().flat_map(Writers::all) {
            self.totals.write(&Total { topic: topic.clone(), samples: *written })?;
        }
        // Subscribers must have the totals when the end reaches them.
        is_in_time(self.totals.wait_acknowledged(left().max(TICK)))?;
        let end = &mut self.ends[usize::from(!is_whole)];
        end.write(&Done { samples: self.counters.written() })?;
        Ok(is_in_time(end.wait_acknowledged(left().max(TICK)))? && acknowledged)
    }
}

/// Returns true for success, false if the time limit passed first; passes other errors on.
pub(crate) fn is_in_time<E: TransportError>(result: Result<(), E>) -> Result<bool, E> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.is_timed_out() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes until there is room; false if there was none in time.
#[cold]
fn write_again<W: RawWriter>(
    writer: &mut W,
    bytes: &[u8],
    patience: &mut Patience,
    counters: &mut PublisherCounters,
) -> Result<bool, W::Error> {
    counters.stalls += 1;
    if patience.is_exhausted {
        return Ok(false);
    }
    let started = Instant::now();
    let mut is_written = false;
    while !is_written && started.elapsed() < patience.max && !(patience.is_over)() {
        is_written = is_in_time(writer.write(bytes, None))?;
    }
    // A reader that has stopped must not delay the others again at each sample.
    if !is_written && writer.pass_over_slow_readers() {
        is_written = is_in_time(writer.write(bytes, None))?;
    }
    patience.is_exhausted = !is_written;
    counters.stalled_ns += started.elapsed().as_nanos() as u64;
    Ok(is_written)
}
