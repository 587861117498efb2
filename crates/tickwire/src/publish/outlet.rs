//! The writers of a publisher, and what it does when a subscriber is slow.

use crate::distribution::{ByKind, DdsArgs, Kind, Numbered, topic_names};
use std::time::{Duration, Instant};
use tickwire_dds::{
    Change, CycloneParticipant, CycloneWriter, Done, Error, MarketData, New, Participant, Quote,
    QuoteRequest, Remove, Sample,
};
use tickwire_distribution::fill::Filled;
use tickwire_net::Stop;

/// Longest sleep of a loop that waits for subscribers.
const TICK: Duration = Duration::from_millis(20);

/// What became of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutletCounters {
    /// Written, by kind.
    pub written: ByKind,
    /// Given up because no room came in the time allowed.
    pub dropped: u64,
    /// Of a security without topic.
    pub unlisted: u64,
    /// Writes that had to wait for room.
    pub stalls: u64,
    /// Time they waited, in nanoseconds.
    pub stalled_ns: u64,
}

/// How long to wait for room.
struct Patience {
    stop: Stop,
    max: Duration,
    /// The last sample waited in vain: until one succeeds, each is tried only once.
    is_exhausted: bool,
}

/// Writers of one kind of sample.
enum Topics<S: Sample> {
    One(CycloneWriter<S>),
    /// Ascending by security.
    BySecurity(Vec<(u32, CycloneWriter<S>)>),
}

impl<S: Numbered> Topics<S> {
    fn new(
        participant: &CycloneParticipant,
        args: &DdsArgs,
        keep_all: bool,
    ) -> Result<Self, Error> {
        let qos = args.writer_qos(S::KIND, keep_all);
        let mut by_security = Vec::new();
        for (security, topic) in topic_names::<S>(args.topics, &args.securities) {
            let writer = participant.writer(&topic, &qos)?;
            match security {
                Some(security) => by_security.push((security, writer)),
                None => return Ok(Self::One(writer)),
            }
        }
        Ok(Self::BySecurity(by_security))
    }

    fn of(&mut self, sample: &S) -> Option<&mut CycloneWriter<S>> {
        match self {
            Self::One(writer) => Some(writer),
            Self::BySecurity(writers) => {
                let security = sample.security()?;
                let found = writers.binary_search_by_key(&security, |(security, _)| *security);
                found.ok().map(|index| &mut writers[index].1)
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &CycloneWriter<S>> {
        let (one, many) = match self {
            Self::One(writer) => (Some(writer), &[][..]),
            Self::BySecurity(writers) => (None, &writers[..]),
        };
        one.into_iter().chain(many.iter().map(|(_, writer)| writer))
    }

    fn is_matched(&self, count: u32) -> Result<bool, Error> {
        for writer in self.all() {
            if writer.matched()? < count {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn wait_acknowledged(&self, until: Instant) -> Result<(), Error> {
        let left = || until.saturating_duration_since(Instant::now());
        self.all().try_for_each(|writer| writer.wait_acknowledged(left()))
    }
}

/// The writers of all kinds of samples that a publisher writes.
pub struct Outlet {
    change: Option<Topics<Change>>,
    market_data: Option<Topics<MarketData>>,
    new: Option<Topics<New>>,
    quote: Option<Topics<Quote>>,
    quote_request: Option<Topics<QuoteRequest>>,
    remove: Option<Topics<Remove>>,
    done: CycloneWriter<Done>,
    stopped: CycloneWriter<Done>,
    patience: Patience,
    counters: OutletCounters,
}

/// Does the same with the topics of every kind that is written.
macro_rules! for_all_topics {
    ($outlet:expr, $topics:ident => $body:expr) => {{
        let outlet = $outlet;
        if let Some($topics) = &outlet.change {
            $body
        }
        if let Some($topics) = &outlet.market_data {
            $body
        }
        if let Some($topics) = &outlet.new {
            $body
        }
        if let Some($topics) = &outlet.quote {
            $body
        }
        if let Some($topics) = &outlet.quote_request {
            $body
        }
        if let Some($topics) = &outlet.remove {
            $body
        }
    }};
}

impl Outlet {
    /// Writers of these kinds of samples. A write that finds no room is tried again for `wait_max`.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn new(
        participant: &CycloneParticipant,
        args: &DdsArgs,
        kinds: &[Kind],
        keep_all: bool,
        wait_max: Duration,
        stop: Stop,
    ) -> Result<Self, Error> {
        fn made<S: Numbered>(
            kinds: &[Kind],
            make: impl Fn() -> Result<Topics<S>, Error>,
        ) -> Result<Option<Topics<S>>, Error> {
            kinds.contains(&S::KIND).then(make).transpose()
        }
        Ok(Self {
            change: made(kinds, || Topics::new(participant, args, keep_all))?,
            market_data: made(kinds, || Topics::new(participant, args, keep_all))?,
            new: made(kinds, || Topics::new(participant, args, keep_all))?,
            quote: made(kinds, || Topics::new(participant, args, keep_all))?,
            quote_request: made(kinds, || Topics::new(participant, args, keep_all))?,
            remove: made(kinds, || Topics::new(participant, args, keep_all))?,
            done: participant.writer(Done::TOPIC, &args.done_qos())?,
            stopped: participant.writer(Done::STOPPED_TOPIC, &args.done_qos())?,
            patience: Patience { stop, max: wait_max, is_exhausted: false },
            counters: OutletCounters::default(),
        })
    }

    /// What became of the samples so far.
    pub fn counters(&self) -> &OutletCounters {
        &self.counters
    }

    /// Waits until every topic has `count` subscribers; false where `timeout` passed first or the user
    /// stopped it.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error> {
        let started = Instant::now();
        while !self.is_matched(count)? {
            if started.elapsed() >= timeout || self.patience.stop.is_set() {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
        Ok(true)
    }

    fn is_matched(&self, count: u32) -> Result<bool, Error> {
        for_all_topics!(self, topics => if !topics.is_matched(count)? { return Ok(false) });
        Ok(self.done.matched()? >= count)
    }

    /// Writes the samples of one message.
    ///
    /// # Errors
    /// What the middleware refuses; not that there was no room, which is counted.
    #[inline]
    pub fn publish(&mut self, filled: Filled<'_>) -> Result<(), Error> {
        let Self { change, market_data, new, quote, quote_request, remove, .. } = self;
        let (patience, counters) = (&mut self.patience, &mut self.counters);
        match filled {
            Filled::Change(sample) => write(change, &[sample], patience, counters),
            Filled::MarketData(samples) => write(market_data, samples, patience, counters),
            Filled::New(sample) => write(new, &[sample], patience, counters),
            Filled::Quote(sample) => write(quote, &[sample], patience, counters),
            Filled::QuoteRequest(samples) => write(quote_request, samples, patience, counters),
            Filled::Remove(sample) => write(remove, &[sample], patience, counters),
            Filled::Done | Filled::Other => Ok(()),
        }
    }

    /// Waits until the subscribers have everything, and tells them how much it was: as the whole feed, or as
    /// what was written before the publisher was stopped. False where they did not get there in `timeout`.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn finish(&mut self, is_whole: bool, timeout: Duration) -> Result<bool, Error> {
        let until = Instant::now() + timeout;
        let acknowledged = is_in_time(self.wait_acknowledged(until))?;
        let writer = if is_whole { &mut self.done } else { &mut self.stopped };
        writer.write(&Done { samples: self.counters.written.sum() })?;
        let left = until.saturating_duration_since(Instant::now()).max(TICK);
        Ok(is_in_time(writer.wait_acknowledged(left))? && acknowledged)
    }

    fn wait_acknowledged(&self, until: Instant) -> Result<(), Error> {
        for_all_topics!(self, topics => topics.wait_acknowledged(until)?);
        Ok(())
    }
}

fn is_in_time(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::TimedOut { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[inline]
fn write<S: Numbered>(
    topics: &mut Option<Topics<S>>,
    samples: &[S],
    patience: &mut Patience,
    counters: &mut OutletCounters,
) -> Result<(), Error> {
    for sample in samples {
        let Some(writer) = topics.as_mut().and_then(|topics| topics.of(sample)) else {
            counters.unlisted += 1;
            continue;
        };
        match writer.write(sample) {
            Ok(()) => patience.is_exhausted = false,
            Err(Error::TimedOut { .. }) => {
                if !write_again(writer, sample, patience, counters)? {
                    counters.dropped += 1;
                    continue;
                }
            }
            Err(error) => return Err(error),
        }
        counters.written.add(S::KIND);
    }
    Ok(())
}

/// Tries until there is room; false where there was none in time.
#[cold]
fn write_again<S: Numbered>(
    writer: &mut CycloneWriter<S>,
    sample: &S,
    patience: &mut Patience,
    counters: &mut OutletCounters,
) -> Result<bool, Error> {
    counters.stalls += 1;
    if patience.is_exhausted {
        return Ok(false);
    }
    let started = Instant::now();
    let mut is_written = false;
    while !is_written && started.elapsed() < patience.max && !patience.stop.is_set() {
        is_written = is_in_time(writer.write(sample))?;
    }
    patience.is_exhausted = !is_written;
    counters.stalled_ns += started.elapsed().as_nanos() as u64;
    Ok(is_written)
}
