//! Readers of all kinds of samples, waited for together.

use super::args::DdsArgs;
use super::numbered::{Kind, Numbered};
use super::topics::{echo_of, topic_names};
use std::time::{Duration, Instant};
use tickwire_dds::{
    Change, CycloneParticipant, CycloneReader, CycloneWriter, Error, MarketData, New, Participant,
    ParticipantId, Quote, QuoteRequest, ReaderWaitSet, Received, Remove, WaitSet,
};
use tickwire_net::clock::unix_ns;

/// Longest sleep of a loop that waits for something besides samples.
const TICK: Duration = Duration::from_millis(20);
/// Samples taken from one reader before the next has its turn.
const DRAINED_MAX: usize = 256;
/// The time of an echo that is not to be timed.
const NO_TIME: i64 = 0;

/// What is told of a sample that came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its kind.
    pub kind: Kind,
    /// Its sequence number.
    pub seq_num: u32,
    /// Its key; `None` for a kind without.
    pub security: Option<u32>,
    /// When it was written, by the writer's clock, in nanoseconds since the Unix epoch.
    pub written_ns: i64,
    /// When it was taken, by this machine's.
    pub taken_ns: u64,
    /// Whose it is; `None` where that is this process.
    pub publisher: Option<ParticipantId>,
    /// Names the writer.
    pub writer: u64,
    /// Number of the sample among those of its writer, from 1.
    pub writer_seq_num: u64,
    /// Number of the last sample that its writer had written when it met the reader.
    pub history_end: u64,
    /// Whether it was written before.
    pub is_history: bool,
}

impl Arrival {
    /// From when it was written to when it was taken, in nanoseconds; `None` for a sample that was written
    /// before writer and reader met, and for the echo of one.
    pub fn age_ns(&self) -> Option<u64> {
        let written_ns = u64::try_from(self.written_ns).ok().filter(|&time| time > 0)?;
        (!self.is_history).then(|| self.taken_ns.saturating_sub(written_ns))
    }
}

/// A reader of one topic, and the writer of its echo if there is one.
struct Station<S: Numbered> {
    reader: CycloneReader<S>,
    echo: Option<CycloneWriter<S>>,
    received: Received<S>,
    echoes_refused: u64,
}

/// Takes an arrival.
type Take<'t> = &'t mut dyn FnMut(&Arrival);

trait AnyStation: Send {
    fn drain(&mut self, take: Take<'_>) -> Result<usize, Error>;
    fn is_matched(&self) -> Result<bool, Error>;
    fn lost(&self) -> Result<u64, Error>;
    fn not_utf8(&self) -> u64;
    fn echoes_refused(&self) -> u64;
}

impl<S: Numbered> AnyStation for Station<S> {
    fn drain(&mut self, take: Take<'_>) -> Result<usize, Error> {
        let Self { reader, echo, received, echoes_refused } = self;
        let mut count = 0;
        while count < DRAINED_MAX && reader.take(received)? {
            if !received.has_data {
                continue;
            }
            let taken_ns = unix_ns();
            let is_history = received.is_history();
            if let Some(echo) = echo {
                // A last value may be old: its echo says nothing of the time that samples take.
                let written_ns = if is_history { NO_TIME } else { received.source_timestamp_ns };
                match echo.write_at(&received.sample, written_ns) {
                    Ok(()) => {}
                    Err(Error::TimedOut { .. }) => *echoes_refused += 1,
                    Err(error) => return Err(error),
                }
            }
            count += 1;
            let arrival = Arrival {
                kind: S::KIND,
                seq_num: received.sample.seq_num(),
                security: received.sample.security(),
                written_ns: received.source_timestamp_ns,
                taken_ns,
                publisher: received.participant,
                writer: received.writer,
                writer_seq_num: received.writer_seq_num,
                history_end: received.history_end,
                is_history,
            };
            take(&arrival);
        }
        Ok(count)
    }

    fn is_matched(&self) -> Result<bool, Error> {
        let is_heard = match &self.echo {
            Some(echo) => echo.matched()? > 0,
            None => true,
        };
        Ok(is_heard && self.reader.matched()? > 0)
    }

    fn lost(&self) -> Result<u64, Error> {
        self.reader.lost()
    }

    fn not_utf8(&self) -> u64 {
        self.reader.unreadable()
    }

    fn echoes_refused(&self) -> u64 {
        self.echoes_refused
    }
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The echoes of what this process publishes.
    Echoes,
    /// What publishers write.
    Samples {
        /// Whether to write each sample back.
        echo: bool,
    },
}

/// Readers of all topics of some kinds of samples.
pub struct Stations {
    stations: Vec<Box<dyn AnyStation>>,
    set: ReaderWaitSet,
    ready: Vec<usize>,
}

impl Stations {
    /// Makes the readers.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn new(
        participant: &CycloneParticipant,
        args: &DdsArgs,
        kinds: &[Kind],
        role: Role,
    ) -> Result<Self, Error> {
        let set = participant.wait_set()?;
        let mut stations = Self { stations: Vec::new(), set, ready: Vec::new() };
        for kind in kinds {
            match kind {
                Kind::Change => stations.add::<Change>(participant, args, role)?,
                Kind::MarketData => stations.add::<MarketData>(participant, args, role)?,
                Kind::New => stations.add::<New>(participant, args, role)?,
                Kind::Quote => stations.add::<Quote>(participant, args, role)?,
                Kind::QuoteRequest => stations.add::<QuoteRequest>(participant, args, role)?,
                Kind::Remove => stations.add::<Remove>(participant, args, role)?,
            }
        }
        Ok(stations)
    }

    fn add<S: Numbered>(
        &mut self,
        participant: &CycloneParticipant,
        args: &DdsArgs,
        role: Role,
    ) -> Result<(), Error> {
        for (_, topic) in topic_names::<S>(args.topics, &args.securities) {
            let (reader, echo) = match role {
                Role::Echoes => (participant.reader(&echo_of(&topic), &args.echo_qos())?, None),
                Role::Samples { echo } => {
                    let echo = echo.then(|| participant.writer(&echo_of(&topic), &args.echo_qos()));
                    let echo = echo.transpose()?;
                    (participant.reader(&topic, &args.reader_qos(S::KIND))?, echo)
                }
            };
            self.set.attach(reader.raw())?;
            let received = Received::default();
            let station = Station::<S> { reader, echo, received, echoes_refused: 0 };
            self.stations.push(Box::new(station));
        }
        Ok(())
    }

    /// Waits for samples, `timeout` at most, and hands those that came to `take`. Returns how many; not
    /// all that are there, so that a loop around this sees other things too.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn receive(
        &mut self,
        timeout: Duration,
        mut take: impl FnMut(&Arrival),
    ) -> Result<usize, Error> {
        self.set.wait(&mut self.ready, timeout)?;
        let mut count = 0;
        for &index in &self.ready {
            count += self.stations[index].drain(&mut take)?;
        }
        Ok(count)
    }

    /// As [`receive`](Self::receive) without waiting.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn poll(&mut self, mut take: impl FnMut(&Arrival)) -> Result<usize, Error> {
        self.stations.iter_mut().map(|station| station.drain(&mut take)).sum()
    }

    /// Waits until every topic has a writer, and every echo a reader; false where `timeout` passed first
    /// or `is_over` says so.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn wait_matched(
        &self,
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, Error> {
        let started = Instant::now();
        for station in &self.stations {
            while !station.is_matched()? {
                if started.elapsed() >= timeout || is_over() {
                    return Ok(false);
                }
                std::thread::sleep(TICK);
            }
        }
        Ok(true)
    }

    /// Samples lost on the way, as far as the middleware knows.
    ///
    /// # Errors
    /// What the middleware refuses.
    pub fn lost(&self) -> Result<u64, Error> {
        self.stations.iter().map(|station| station.lost()).sum()
    }

    /// Samples dropped because a string in them is not UTF-8.
    pub fn not_utf8(&self) -> u64 {
        self.stations.iter().map(|station| station.not_utf8()).sum()
    }

    /// Echoes given up because the publisher did not take them.
    pub fn echoes_refused(&self) -> u64 {
        self.stations.iter().map(|station| station.echoes_refused()).sum()
    }
}
