//! The interface of transports, which carry samples between processes.
//!
//! A transport moves bytes: it implements [`Participant`], [`RawWriter`] and [`RawReader`]. All that it knows of a
//! sample is the [`StructType`], from which it derives the key. Typed writers and readers, publishers and subscribers
//! are built on these traits and are the same for all transports.
//!
//! Samples are either pulled or pushed. [`SampleReader::take`](crate::SampleReader::take) fills one reused value, so a warm reader
//! does not allocate. [`Participant::listen`] calls a function for each sample, so that no other thread has to be
//! woken.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use crate::cdr::{CdrEncoding, SampleDecoder, SampleEncodeError};
use crate::types::StructType;
use crate::{Qos, Sample, SampleReader, SampleWriter};

/// State of an instance: whether it can still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceState {
    /// At least one of its writers exists.
    #[default]
    Alive,
    /// A writer disposed of it.
    Disposed,
    /// All of its writers are gone.
    NoWriters,
}

/// Identifies a participant uniquely on the network. Spec: DDSI-RTPS 2.5 §8.2.4.1 (GUID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParticipantId(pub [u8; 16]);

impl fmt::Display for ParticipantId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// Information about a received sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleInfo {
    /// False if only `instance_state` changed; then there is no sample.
    pub has_data: bool,
    /// State of the instance when the sample was taken.
    pub instance_state: InstanceState,
    /// Time of writing by the writer's clock, in nanoseconds since the Unix epoch.
    pub source_timestamp_ns: i64,
    /// Number of the instance, unique within the reader.
    pub instance: u64,
    /// Number of the writer, unique within the reader.
    pub writer: u64,
    /// Sequence number of the sample at its writer, from 1; 0 if unknown, as for a writer of this process.
    /// Spec: DDSI-RTPS 2.5 §8.3.5.4 (SequenceNumber).
    pub writer_seq_num: u64,
    /// Sequence number of the last sample that the writer had written when reader and writer matched; 0 if unknown. DDS
    /// takes it from the writer's first heartbeat to this reader, which may come a millisecond later.
    pub history_end: u64,
    /// The participant of the writer, even if it has left; `None` for a writer of this process.
    pub participant: Option<ParticipantId>,
}

impl SampleInfo {
    /// Returns true if the sample was written before writer and reader matched, so that it is a last value for late
    /// readers.
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.writer_seq_num != 0 && self.writer_seq_num <= self.history_end
    }
}

/// One sample taken from a reader, and the information about it.
#[derive(Debug, Clone, Default)]
pub struct ReceivedSample<S> {
    /// The sample; only its key is valid if `has_data` is false.
    pub sample: S,
    /// Information about the sample.
    pub info: SampleInfo,
}

impl<S> Deref for ReceivedSample<S> {
    type Target = SampleInfo;

    fn deref(&self) -> &SampleInfo {
        &self.info
    }
}

impl<S> DerefMut for ReceivedSample<S> {
    fn deref_mut(&mut self) -> &mut SampleInfo {
        &mut self.info
    }
}

/// The bytes of a sample, borrowed from the reader.
#[derive(Debug, Clone, Copy)]
pub struct RawSample<'r> {
    /// The members, or only those of the key if `info.has_data` is false.
    pub bytes: &'r [u8],
    /// Encoding of the bytes.
    pub encoding: CdrEncoding,
    /// Information about the sample.
    pub info: SampleInfo,
}

impl<'r> RawSample<'r> {
    /// Creates a decoder at the first member.
    #[must_use]
    pub const fn decoder(&self) -> SampleDecoder<'r> {
        SampleDecoder::new(self.bytes, self.encoding)
    }
}

/// Contents of the echoes that subscribers send back over a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoContents {
    /// An [`EchoMark`](crate::EchoMark): the publisher of the sample and the publisher's number for it. Needs
    /// [`Participant::own_id`].
    Mark,
    /// A copy of the whole sample: subscribers written in other languages need no further type. It does not identify
    /// the publisher of the sample.
    Sample,
}

/// Error of a transport.
pub trait TransportError:
    std::error::Error + From<SampleEncodeError> + Send + Sync + 'static
{
    /// Returns true if the time limit passed: a full history had no room, or a reader did not acknowledge in time. All
    /// other errors are permanent.
    fn is_timed_out(&self) -> bool;
}

/// Creates writers and readers on a transport. A clone is the same participant.
pub trait Participant: Clone {
    /// Error of the transport.
    type Error: TransportError;
    /// Type of the writers of encoded samples.
    type RawWriter: RawWriter<Error = Self::Error>;
    /// Type of the readers of encoded samples.
    type RawReader: RawReader<Error = Self::Error>;
    /// Type of the readers that pass samples to a function.
    type Listener: Listener<Error = Self::Error>;
    /// Type of the wait sets.
    type WaitSet: WaitSet<Self::RawReader, Error = Self::Error>;
    /// Contents of echoes.
    const ECHO: EchoContents = EchoContents::Sample;
    /// Time in which a writer and a reader that exist discover each other.
    const DISCOVERY: Duration = Duration::from_secs(3);

    /// Returns the identifier of this participant, by which others know it; `None` if it has none.
    fn own_id(&self) -> Option<ParticipantId> {
        None
    }

    /// Creates a writer of samples of type `of` to the topic `topic`.
    ///
    /// # Errors
    /// The transport cannot carry the type, or refuses the QoS.
    fn raw_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self::RawWriter, Self::Error>;

    /// Creates a reader of samples of type `of` from the topic `topic`.
    ///
    /// # Errors
    /// The transport cannot carry the type, or refuses the QoS.
    fn raw_reader(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self::RawReader, Self::Error>;

    /// Like [`listen`](Self::listen), with encoded samples.
    ///
    /// # Errors
    /// The transport cannot carry the type, or refuses the QoS.
    fn raw_listen(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
        on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<Self::Listener, Self::Error>;

    /// Creates a wait set for readers of this participant.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait_set(&self) -> Result<Self::WaitSet, Self::Error>;

    /// Creates a writer of samples of type `S` to the topic `topic`.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn writer<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
    ) -> Result<SampleWriter<S, Self::RawWriter>, Self::Error> {
        self.raw_writer(S::struct_type(), topic, qos).map(SampleWriter::new)
    }

    /// Creates a reader of samples of type `S` from the topic `topic`.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn reader<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
    ) -> Result<SampleReader<S, Self::RawReader>, Self::Error> {
        self.raw_reader(S::struct_type(), topic, qos).map(SampleReader::new)
    }

    /// Creates a reader of the topic `topic` that calls `on_sample` for each sample in order, one at a time, on the
    /// transport's receiving thread. This has the lowest latency, because no other thread is woken. Samples whose bytes
    /// do not match the type are dropped.
    ///
    /// While `on_sample` runs, nothing else is received, including acknowledgements for this participant's writers. It
    /// may therefore write to a writer that keeps the last samples, but not to one that keeps all samples, which would
    /// wait for acknowledgements that cannot arrive. It must not drop its own listener, and a panic in it ends the
    /// process.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn listen<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
        mut on_sample: impl FnMut(&ReceivedSample<S>) + Send + 'static,
    ) -> Result<Self::Listener, Self::Error> {
        let mut received = ReceivedSample::<S>::default();
        self.raw_listen(S::struct_type(), topic, qos, move |raw| {
            if received.load(raw).is_ok() {
                on_sample(&received);
            }
        })
    }
}

/// Writes samples to one topic.
pub trait RawWriter: Send {
    /// Error of the transport.
    type Error: TransportError;

    /// Writes one sample in the writer's type and encoding. `source_timestamp_ns` is its time of writing in nanoseconds
    /// since the Unix epoch; `None` for now.
    ///
    /// # Errors
    /// [Timed out](TransportError::is_timed_out) if a reliable writer's history stayed full for `max_blocking`.
    /// Permanent errors if the bytes do not match the type or the transport failed.
    fn write(&mut self, sample: &[u8], source_timestamp_ns: Option<i64>)
    -> Result<(), Self::Error>;

    /// Ends the instance with this key and notifies its readers.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    fn dispose(&mut self, key: &[u8]) -> Result<(), Self::Error>;

    /// Stops waiting for the readers that block writes now: they lose samples, the others do not. Returns false if the
    /// transport cannot do so.
    fn pass_over_slow_readers(&mut self) -> bool {
        false
    }

    /// Sends the samples that a writer with [`batching`](Qos::batching) has collected; no effect on other writers.
    ///
    /// # Errors
    /// Errors of the transport.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Waits until at least `count` readers match; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Returns the number of readers that match now.
    ///
    /// # Errors
    /// Errors of the transport.
    fn matched(&self) -> Result<u32, Self::Error>;

    /// Waits until all matched reliable readers have acknowledged all samples.
    ///
    /// # Errors
    /// `timeout` passed first.
    fn wait_acknowledged(&self, timeout: Duration) -> Result<(), Self::Error>;

    /// Returns the number of samples that the slowest matched reader has not acknowledged or, over a transport without
    /// acknowledgements, not read. If the writer waits for no reader: 0 or `None`, depending on the transport.
    ///
    /// # Errors
    /// Errors of the transport.
    fn backlog(&self) -> Result<Option<u64>, Self::Error>;
}

/// Reads samples from one topic.
pub trait RawReader: Send {
    /// Error of the transport.
    type Error: TransportError;

    /// Takes the next sample; `None` if there is none. Does not wait; call it in a loop to poll.
    ///
    /// # Errors
    /// Errors of the transport.
    fn take(&mut self) -> Result<Option<RawSample<'_>>, Self::Error>;

    /// Waits until a sample can be taken; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait(&mut self, timeout: Duration) -> Result<bool, Self::Error>;

    /// Waits until at least `count` writers match; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Returns the number of writers that match now.
    ///
    /// # Errors
    /// Errors of the transport.
    fn matched(&self) -> Result<u32, Self::Error>;

    /// Returns the participants of the writers that match now, one entry for each writer.
    ///
    /// # Errors
    /// Errors of the transport.
    fn publishers(&self) -> Result<Vec<ParticipantId>, Self::Error>;

    /// Returns readable reasons why writers of the topic are not read; only those that are new since the last call.
    /// Empty if the transport does not report them.
    fn take_refusals(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of samples lost in transit since the reader was created, as far as the transport knows.
    ///
    /// # Errors
    /// Errors of the transport.
    fn lost(&self) -> Result<u64, Self::Error>;

    /// Returns true if a reader of last values has stale keys: it lost their last samples and could not read their last
    /// values either.
    fn has_stale_keys(&self) -> bool {
        false
    }
}

/// A reader that passes samples to a function until it is dropped. Dropping it waits for a call in progress.
pub trait Listener: Send {
    /// Error of the transport.
    type Error: TransportError;

    /// Waits until at least `count` writers match; false if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Returns the number of writers that match now.
    ///
    /// # Errors
    /// Errors of the transport.
    fn matched(&self) -> Result<u32, Self::Error>;
}

/// Waits for several readers at once.
pub trait WaitSet<R>: Send {
    /// Error of the transport.
    type Error: TransportError;

    /// Adds `reader` and returns its index, from 0, which [`wait`](Self::wait) reports.
    ///
    /// # Errors
    /// Errors of the transport.
    fn attach(&mut self, reader: &R) -> Result<usize, Self::Error>;

    /// Waits until samples can be taken from at least one reader, and stores the indexes of those readers in `ready`.
    /// `ready` is empty if `timeout` passed first.
    ///
    /// # Errors
    /// Errors of the transport.
    fn wait(&mut self, ready: &mut Vec<usize>, timeout: Duration) -> Result<(), Self::Error>;
}
