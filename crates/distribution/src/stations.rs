//! Readers of all topics of a subscriber, waited for together.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Sample;
use crate::cdr::DecodeError;
use crate::delivery::{Delivery, TopicSet, echo_topic};
use crate::transport::{
    Participant, ParticipantId, RawReader, RawSample, RawWriter, Received, TransportError, WaitSet,
};
use crate::types::StructType;

/// Longest sleep of a loop that waits for something besides samples.
const TICK: Duration = Duration::from_millis(20);
/// Samples taken from one reader before the next has its turn.
const DRAINED_MAX: usize = 256;
/// The time of an echo that is not to be timed.
const NO_TIME: i64 = 0;
/// Members that number the messages samples come from.
const MESSAGE_SEQ_NUMS: [&str; 3] = ["SequenceNumber", "msgSeqNum", "MsgSeqNum"];
/// The member that numbers the packets.
const PACKET_SEQ_NUM: &str = "seq_num";

/// A sample that came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Index of its topic set.
    pub set: usize,
    /// Its type.
    pub of: &'a StructType,
    /// Its bytes, and what the transport knows about it.
    pub raw: RawSample<'a>,
    /// Sequence number of the message that it comes from; `None` for a type without one.
    pub seq_num: Option<u64>,
    /// Whether that is the number of a packet, of which an instance may have several samples.
    pub is_of_packet: bool,
    /// A number for its key: equal keys have equal numbers. 0 for a type without key.
    pub key: u64,
    /// When it was taken, by this machine's clock, in nanoseconds since the Unix epoch.
    pub taken_ns: u64,
}

impl Arrival<'_> {
    /// From when it was written to when it was taken, in nanoseconds; `None` for a sample that was written
    /// before writer and reader met, and for the echo of one.
    #[must_use]
    pub fn age_ns(&self) -> Option<u64> {
        let written_ns = u64::try_from(self.raw.info.source_timestamp_ns).ok();
        let written_ns = written_ns.filter(|&time| time > 0)?;
        (!self.raw.info.is_history()).then(|| self.taken_ns.saturating_sub(written_ns))
    }

    /// Whose it is; `None` where that is this process.
    #[must_use]
    pub fn publisher(&self) -> Option<ParticipantId> {
        self.raw.info.participant
    }

    /// Copies the sample.
    ///
    /// # Errors
    /// `S` is not its type.
    pub fn load<S: Sample>(&self, received: &mut Received<S>) -> Result<(), DecodeError> {
        received.load(&self.raw)
    }
}

/// A reader of one topic, and the writer of its echo if there is one.
struct Station<P: Participant> {
    set: usize,
    of: Arc<StructType>,
    /// Index of the member with the sequence number.
    seq_num: Option<usize>,
    /// Whether that is of packets.
    is_of_packet: bool,
    reader: P::RawReader,
    echo: Option<P::RawWriter>,
    unreadable: u64,
    echoes_refused: u64,
}

impl<P: Participant> Station<P> {
    fn drain(&mut self, take: &mut dyn FnMut(&Arrival<'_>)) -> Result<usize, P::Error> {
        let Self { set, of, seq_num, is_of_packet, reader, echo, unreadable, echoes_refused } =
            self;
        let is_of_packet = *is_of_packet;
        let mut count = 0;
        while count < DRAINED_MAX {
            let Some(raw) = reader.take()? else { break };
            if !raw.info.has_data {
                continue;
            }
            let taken_ns = unix_ns();
            let Ok((seq_num, key)) = identity(of, *seq_num, &raw) else {
                *unreadable += 1;
                continue;
            };
            if let Some(echo) = echo {
                // A last value may be old: its echo says nothing of the time that samples take.
                let is_old = raw.info.is_history();
                let written_ns = if is_old { NO_TIME } else { raw.info.source_timestamp_ns };
                match echo.write(raw.bytes, Some(written_ns)) {
                    Ok(()) => {}
                    Err(error) if error.is_timed_out() => *echoes_refused += 1,
                    Err(error) => return Err(error),
                }
            }
            count += 1;
            take(&Arrival { set: *set, of, raw, seq_num, is_of_packet, key, taken_ns });
        }
        Ok(count)
    }

    fn is_matched(&self) -> Result<bool, P::Error> {
        let is_heard = match &self.echo {
            Some(echo) => echo.matched()? > 0,
            None => true,
        };
        Ok(is_heard && self.reader.matched()? > 0)
    }
}

/// Sequence number and key of a sample whose bytes are of its type.
fn identity(
    of: &StructType,
    seq_num: Option<usize>,
    raw: &RawSample<'_>,
) -> Result<(Option<u64>, u64), DecodeError> {
    of.check(raw.bytes, raw.encoding)?;
    let seq_num = match seq_num {
        Some(member) => of.number(member, raw.bytes, raw.encoding)?,
        None => None,
    };
    let key = match of.key(raw.bytes, raw.encoding)? {
        [] => 0,
        key => {
            let mut hasher = DefaultHasher::new();
            hasher.write(key);
            hasher.finish()
        }
    };
    Ok((seq_num, key))
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
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
        /// Whether only the last sample of each instance waits to be taken.
        conflate: bool,
    },
}

/// Readers of the topics of some sets.
pub struct Stations<P: Participant> {
    stations: Vec<Station<P>>,
    wait_set: P::WaitSet,
    ready: Vec<usize>,
}

impl<P: Participant> Stations<P> {
    /// Makes the readers.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn new(
        participant: &P,
        sets: &[TopicSet],
        delivery: &Delivery,
        role: Role,
    ) -> Result<Self, P::Error> {
        let wait_set = participant.wait_set()?;
        let mut stations = Self { stations: Vec::new(), wait_set, ready: Vec::new() };
        for (index, set) in sets.iter().enumerate() {
            for (_, topic) in set.topics() {
                stations.add(participant, index, set, &topic, delivery, role)?;
            }
        }
        Ok(stations)
    }

    fn add(
        &mut self,
        participant: &P,
        index: usize,
        set: &TopicSet,
        topic: &str,
        delivery: &Delivery,
        role: Role,
    ) -> Result<(), P::Error> {
        let (of, echo_qos) = (&set.of, delivery.echo_qos());
        let (reader, echo) = match role {
            Role::Echoes => (participant.raw_reader(of, &echo_topic(topic), &echo_qos)?, None),
            Role::Samples { echo, conflate } => {
                let echo = echo.then(|| participant.raw_writer(of, &echo_topic(topic), &echo_qos));
                let qos = delivery.reader_qos(of.has_key(), conflate);
                (participant.raw_reader(of, topic, &qos)?, echo.transpose()?)
            }
        };
        self.wait_set.attach(&reader)?;
        let of_message = MESSAGE_SEQ_NUMS.iter().find_map(|name| of.index_of(name));
        let of_packet = of.index_of(PACKET_SEQ_NUM);
        let (seq_num, is_of_packet) = (of_message.or(of_packet), of_message.is_none());
        let of = of.clone();
        let (unreadable, echoes_refused) = (0, 0);
        self.stations.push(Station {
            set: index,
            of,
            seq_num,
            is_of_packet,
            reader,
            echo,
            unreadable,
            echoes_refused,
        });
        Ok(())
    }

    /// Waits for samples, `timeout` at most, and hands those that came to `take`. Returns how many; not
    /// all that are there, so that a loop around this sees other things too.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn receive(
        &mut self,
        timeout: Duration,
        mut take: impl FnMut(&Arrival<'_>),
    ) -> Result<usize, P::Error> {
        self.wait_set.wait(&mut self.ready, timeout)?;
        let mut count = 0;
        for &index in &self.ready {
            count += self.stations[index].drain(&mut take)?;
        }
        Ok(count)
    }

    /// As [`receive`](Self::receive) without waiting.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn poll(&mut self, mut take: impl FnMut(&Arrival<'_>)) -> Result<usize, P::Error> {
        self.stations.iter_mut().map(|station| station.drain(&mut take)).sum()
    }

    /// Waits until every topic has a writer, and every echo a reader; false where `timeout` passed first
    /// or `is_over` says so.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn wait_matched(
        &self,
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, P::Error> {
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

    /// Samples lost on the way, as far as the transport knows.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn lost(&self) -> Result<u64, P::Error> {
        self.stations.iter().map(|station| station.reader.lost()).sum()
    }

    /// Samples dropped because their bytes are not of the type: a string that is not UTF-8.
    pub fn unreadable(&self) -> u64 {
        self.stations.iter().map(|station| station.unreadable).sum()
    }

    /// Echoes abandoned because the publisher did not take them.
    pub fn echoes_refused(&self) -> u64 {
        self.stations.iter().map(|station| station.echoes_refused).sum()
    }
}
