//! The readers of all topics of a subscriber. It waits for all of them together.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::cdr::{SampleDecodeError, SampleEncoder};
use crate::delivery::{DeliverySettings, TopicSet, echo_topic};
use crate::publisher::{is_in_time, wait_for};
use crate::transport::{
    EchoContents, Participant, ParticipantId, RawReader, RawSample, RawWriter, ReceivedSample,
    SampleInfo, WaitSet,
};
use crate::types::StructType;
use crate::{EchoMark, Sample, SampleFields};

/// Maximum number of samples taken from one reader before the next reader's turn.
const DRAINED_MAX: usize = 256;
/// Time of writing of an echo that must not be used for measuring.
const NO_TIME: i64 = 0;
/// Names of the members that hold the sequence number of the message or packet from which a sample comes.
const SEQ_NUMS: [&str; 4] = ["SequenceNumber", "msgSeqNum", "MsgSeqNum", "seq_num"];

/// A received sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleArrival<'a> {
    /// Index of the sample's topic set.
    pub set: usize,
    /// Index of the sample's topic among the topics of all sets, in their order.
    pub topic: usize,
    /// Type of the sample.
    pub of: &'a StructType,
    /// Bytes of the sample, and information from the transport.
    pub raw: RawSample<'a>,
    /// Sequence number of the message from which the sample comes; `None` for a type without one.
    pub seq_num: Option<u64>,
    /// Hash of the key: equal keys have equal numbers; 0 for a type without key.
    pub key: u64,
    /// Time at which the sample was taken, by this machine's clock, in nanoseconds since the Unix epoch.
    pub taken_ns: u64,
    /// Number of samples of its writer missing directly before it, as a [`Subscriber`](crate::Subscriber) counts them;
    /// 0 without one.
    pub missed: u64,
}

impl SampleArrival<'_> {
    /// Returns the time from writing to taking in nanoseconds. `None` for a sample that was written before writer and
    /// reader matched, and for its echo.
    #[must_use]
    pub fn age_ns(&self) -> Option<u64> {
        let written_ns = u64::try_from(self.raw.info.source_timestamp_ns).ok();
        let written_ns = written_ns.filter(|&time| time > 0)?;
        (!self.raw.info.is_history()).then(|| self.taken_ns.saturating_sub(written_ns))
    }

    /// Returns the participant of the publisher; `None` if it is this process.
    #[must_use]
    pub fn publisher(&self) -> Option<ParticipantId> {
        self.raw.info.participant
    }

    /// Decodes the sample into `received`.
    ///
    /// # Errors
    /// The sample is not of type `S`.
    pub fn load<S: Sample>(
        &self,
        received: &mut ReceivedSample<S>,
    ) -> Result<(), SampleDecodeError> {
        received.load(&self.raw)
    }
}

/// Writes the echoes of one topic.
struct EchoWriter<W> {
    writer: W,
    /// A mark, or a sample that was received in another encoding than that of its topic.
    bytes: Vec<u8>,
    refused: u64,
}

impl<W: RawWriter> EchoWriter<W> {
    /// Echoes a sample of type `of`. The echo has the sample's time of writing; a last value may be old, so
    /// its echo is not to be timed.
    fn write(
        &mut self,
        contents: EchoContents,
        of: &StructType,
        raw: &RawSample<'_>,
    ) -> Result<(), W::Error> {
        let written_ns = if raw.info.is_history() { NO_TIME } else { raw.info.source_timestamp_ns };
        let bytes = match contents {
            EchoContents::Sample if raw.encoding == of.encoding => raw.bytes,
            EchoContents::Sample if of.transcode(raw, &mut self.bytes).is_err() => {
                self.refused += 1;
                return Ok(());
            }
            EchoContents::Sample => &self.bytes,
            EchoContents::Mark => {
                let mark = EchoMark::of(raw.info.writer_seq_num, raw.info.participant);
                let encoding = EchoMark::struct_type().encoding;
                mark.encode_members(&mut SampleEncoder::new(&mut self.bytes, encoding))?;
                &self.bytes
            }
        };
        self.refused += u64::from(!is_in_time(self.writer.write(bytes, Some(written_ns)))?);
        Ok(())
    }
}

/// A reader of one topic, and the writer of its echoes if samples are echoed.
struct Station<P: Participant> {
    set: usize,
    of: Arc<StructType>,
    topic: String,
    /// Index of the member with the sequence number.
    seq_num: Option<usize>,
    reader: P::RawReader,
    echo: Option<EchoWriter<P::RawWriter>>,
    /// The publisher whose echoes are taken, if they are marks; those of other publishers are counted.
    echoes_of: Option<ParticipantId>,
    echoes_of_others: u64,
    unreadable: u64,
}

/// A sample or event from a reader.
pub(crate) enum StationOutput<'a> {
    Sample(&'a SampleArrival<'a>),
    /// An instance was disposed of, or has no writers left.
    EndOfInstance {
        /// Index of the instance's topic.
        topic: usize,
        info: SampleInfo,
    },
}

impl<P: Participant> Station<P> {
    /// Passes the samples of one reader to `take`; `topic` is the index of this station. Returns their number, with the
    /// echoes of samples of other publishers.
    fn drain(
        &mut self,
        topic: usize,
        take: &mut dyn FnMut(StationOutput<'_>),
    ) -> Result<usize, P::Error> {
        let Self {
            set, of, seq_num, reader, echo, echoes_of, echoes_of_others, unreadable, ..
        } = self;
        let mut count = 0;
        while count < DRAINED_MAX {
            let Some(raw) = reader.take()? else { break };
            if !raw.info.has_data {
                take(StationOutput::EndOfInstance { topic, info: raw.info });
                continue;
            }
            let taken_ns = unix_ns();
            let Ok((seq_num, key)) = identity(of, *seq_num, &raw) else {
                *unreadable += 1;
                continue;
            };
            if is_of_other(*echoes_of, &raw) {
                *echoes_of_others += 1;
                // Counted although it is not passed on: a caller takes a count of 0 to mean that no
                // samples are waiting.
                count += 1;
                continue;
            }
            if let Some(echo) = echo {
                echo.write(P::ECHO, of, &raw)?;
            }
            count += 1;
            let (set, missed) = (*set, 0);
            take(StationOutput::Sample(&SampleArrival {
                set,
                topic,
                of,
                raw,
                seq_num,
                key,
                taken_ns,
                missed,
            }));
        }
        Ok(count)
    }
}

/// Returns true for the mark of a sample of another publisher than `own`; `own` is `None` if echoes
/// are no marks.
fn is_of_other(own: Option<ParticipantId>, raw: &RawSample<'_>) -> bool {
    let Some(own) = own else { return false };
    let mut mark = EchoMark::default();
    // A mark that cannot be decoded was dropped before.
    mark.decode_members(&mut raw.decoder()).is_ok()
        && mark.publisher().is_some_and(|publisher| publisher != own)
}

/// Validates the bytes of a sample; returns its sequence number and the hash of its key.
fn identity(
    of: &StructType,
    seq_num: Option<usize>,
    raw: &RawSample<'_>,
) -> Result<(Option<u64>, u64), SampleDecodeError> {
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

/// Kind of data to read: samples or echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationRole {
    /// The echoes of the samples that the participant publishes; over a transport whose echoes do not say whose samples
    /// they were ([`EchoContents::Sample`]), also those of other publishers.
    Echoes,
    /// The samples of publishers.
    Samples {
        /// True if each sample is echoed.
        echo: bool,
        /// True if only the last sample of each instance is held.
        conflate: bool,
    },
}

/// The readers of the topics of some sets.
pub struct Stations<P: Participant> {
    stations: Vec<Station<P>>,
    wait_set: P::WaitSet,
    ready: Vec<usize>,
}

impl<P: Participant> Stations<P> {
    /// Creates the readers.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn new(
        participant: &P,
        sets: &[TopicSet],
        delivery: &DeliverySettings,
        role: StationRole,
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
        delivery: &DeliverySettings,
        role: StationRole,
    ) -> Result<(), P::Error> {
        let echo_of = match P::ECHO {
            EchoContents::Mark => EchoMark::struct_type(),
            EchoContents::Sample => &set.of,
        };
        let (echo_name, echo_qos) = (echo_topic(topic), delivery.echo_qos());
        let mut echoes_of = None;
        let (of, reader, echo) = match role {
            StationRole::Echoes => {
                echoes_of = participant.own_id().filter(|_| P::ECHO == EchoContents::Mark);
                (echo_of, participant.raw_reader(echo_of, &echo_name, &echo_qos)?, None)
            }
            StationRole::Samples { echo, conflate } => {
                let qos = delivery.reader_qos(set.of.has_key(), conflate);
                let reader = participant.raw_reader(&set.of, topic, &qos)?;
                let writer = echo.then(|| participant.raw_writer(echo_of, &echo_name, &echo_qos));
                let echo = |writer| EchoWriter { writer, bytes: Vec::new(), refused: 0 };
                (&set.of, reader, writer.transpose()?.map(echo))
            }
        };
        self.wait_set.attach(&reader)?;
        let seq_num = SEQ_NUMS.iter().find_map(|name| of.index_of(name));
        self.stations.push(Station {
            set: index,
            of: of.clone(),
            topic: topic.to_owned(),
            seq_num,
            reader,
            echo,
            echoes_of,
            echoes_of_others: 0,
            unreadable: 0,
        });
        Ok(())
    }

    /// Waits at most `timeout` for samples and passes them to `take`. Returns their number, with the echoes of samples of
    /// other publishers, which are not passed on. One call takes a limited number of samples, so that the caller's loop
    /// can do other work.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn receive(
        &mut self,
        timeout: Duration,
        mut take: impl FnMut(&SampleArrival<'_>),
    ) -> Result<usize, P::Error> {
        self.receive_all(Some(timeout), &mut |taken| {
            if let StationOutput::Sample(arrival) = taken {
                take(arrival);
            }
        })
    }

    /// Like [`receive`](Self::receive), but also passes the ends of instances. Without a timeout it does not wait.
    pub(crate) fn receive_all(
        &mut self,
        timeout: Option<Duration>,
        take: &mut dyn FnMut(StationOutput<'_>),
    ) -> Result<usize, P::Error> {
        let Some(timeout) = timeout else {
            let all = self.stations.iter_mut().enumerate();
            return all.map(|(index, station)| station.drain(index, take)).sum();
        };
        self.wait_set.wait(&mut self.ready, timeout)?;
        let mut count = 0;
        for &index in &self.ready {
            count += self.stations[index].drain(index, take)?;
        }
        Ok(count)
    }

    /// Returns the type of the topic with this index.
    pub(crate) fn of(&self, topic: usize) -> &StructType {
        &self.stations[topic].of
    }

    /// Returns the index of a topic; `None` if it is not read.
    pub(crate) fn topic(&self, name: &str) -> Option<usize> {
        self.stations.iter().position(|station| station.topic == name)
    }

    /// Waits until each topic has as many writers as `counts` has for its set; false if `timeout` passed or
    /// `is_over` returned true first.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn wait_writers(
        &self,
        counts: &[u32],
        timeout: Duration,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, P::Error> {
        let started = Instant::now();
        for station in &self.stations {
            let wanted = counts.get(station.set).copied().unwrap_or(0);
            let left = timeout.saturating_sub(started.elapsed());
            if !wait_for(wanted, left, &is_over, || station.reader.matched())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the number of writers that match now, by topic set; for a set with several topics, the largest number
    /// among them.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn matched(&self) -> Result<Vec<u32>, P::Error> {
        let sets = self.stations.iter().map(|station| station.set + 1).max().unwrap_or(0);
        let mut matched = vec![0; sets];
        for station in &self.stations {
            let most: &mut u32 = &mut matched[station.set];
            *most = station.reader.matched()?.max(*most);
        }
        Ok(matched)
    }

    /// Returns true if the last samples of keys were lost with their last values.
    pub(crate) fn has_stale_keys(&self) -> bool {
        self.stations.iter().any(|station| station.reader.has_stale_keys())
    }

    /// Returns the number of samples lost in transit, as far as the transport knows.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn lost(&self) -> Result<u64, P::Error> {
        self.stations.iter().map(|station| station.reader.lost()).sum()
    }

    /// Returns readable reasons why writers are not read; only those that are new since the last call.
    pub fn take_refusals(&mut self) -> Vec<String> {
        let readers = self.stations.iter_mut().map(|station| &mut station.reader);
        readers.flat_map(RawReader::take_refusals).collect()
    }

    /// Returns the number of samples dropped because their bytes do not match the type, for example because a string is
    /// not UTF-8.
    pub fn unreadable(&self) -> u64 {
        self.stations.iter().map(|station| station.unreadable).sum()
    }

    /// Returns the number of echoes of other publishers' samples, which were not passed on.
    pub fn echoes_of_others(&self) -> u64 {
        self.stations.iter().map(|station| station.echoes_of_others).sum()
    }

    /// Returns the number of echoes dropped because the publisher did not take them in time.
    pub fn echoes_refused(&self) -> u64 {
        let echoes = self.stations.iter().filter_map(|station| station.echo.as_ref());
        echoes.map(|echo| echo.refused).sum()
    }
}
