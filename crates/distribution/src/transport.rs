//! The interface to a transport: what carries samples between processes.
//!
//! A transport moves bytes: it implements [`Participant`], [`RawWriter`] and [`RawReader`], and knows of a
//! sample only its [`StructType`], of which the key is what matters. Typed writers and readers, publishers
//! and subscribers are made of these here and are the same for all transports.
//!
//! Samples are pulled: [`Reader::take`](crate::Reader::take) fills one reused value, so a warm reader hands
//! out samples without allocation. Or they are pushed, by [`Participant::listen`], which saves the waking of
//! a thread.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use crate::cdr::{Decoder, EncodeError, Encoding};
use crate::types::StructType;
use crate::{Qos, Reader, Sample, Writer};

/// Whether an instance still has data behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceState {
    /// At least one writer writes it.
    #[default]
    Alive,
    /// A writer disposed of it.
    Disposed,
    /// All writers that wrote it are gone.
    NoWriters,
}

/// Names a participant among all that can meet. Spec: DDSI-RTPS 2.5 §8.2.4.1 (GUID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParticipantId(pub [u8; 16]);

impl fmt::Display for ParticipantId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// What is known about a sample that came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleInfo {
    /// Whether a sample came, or only news of `instance_state`.
    pub has_data: bool,
    /// State of the instance when the sample was taken.
    pub instance_state: InstanceState,
    /// The writer's clock when it wrote, in nanoseconds since the Unix epoch.
    pub source_timestamp_ns: i64,
    /// Names the instance within the reader.
    pub instance: u64,
    /// Names the writer within the reader.
    pub writer: u64,
    /// Number of the sample among those of its writer, from 1; 0 where that is unknown, as from a writer of
    /// this process. Spec: DDSI-RTPS 2.5 §8.3.5.4 (SequenceNumber).
    pub writer_seq_num: u64,
    /// Number of the last sample that its writer had written when they met; 0 where that is unknown. By DDS it
    /// is what the writer's first heartbeat to this reader says, which may be a millisecond later.
    pub history_end: u64,
    /// Whose the writer is, also where it has gone since; `None` for a writer of this process.
    pub participant: Option<ParticipantId>,
}

impl SampleInfo {
    /// Whether it was written before its writer met this reader: one of the last values for those who
    /// come late.
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.writer_seq_num != 0 && self.writer_seq_num <= self.history_end
    }
}

/// One sample taken from a reader and what is known about it.
#[derive(Debug, Clone, Default)]
pub struct Received<S> {
    /// The sample; only its key counts where `has_data` is false.
    pub sample: S,
    /// What is known about it.
    pub info: SampleInfo,
}

impl<S> Deref for Received<S> {
    type Target = SampleInfo;

    fn deref(&self) -> &SampleInfo {
        &self.info
    }
}

impl<S> DerefMut for Received<S> {
    fn deref_mut(&mut self) -> &mut SampleInfo {
        &mut self.info
    }
}

/// The bytes of a sample, as long as the reader that lends them is left alone.
#[derive(Debug, Clone, Copy)]
pub struct RawSample<'r> {
    /// The members, or those of the key alone where `info.has_data` is false.
    pub bytes: &'r [u8],
    /// How they are encoded.
    pub encoding: Encoding,
    /// What is known about it.
    pub info: SampleInfo,
}

impl<'r> RawSample<'r> {
    /// A decoder at the first member.
    #[must_use]
    pub const fn decoder(&self) -> Decoder<'r> {
        Decoder::new(self.bytes, self.encoding)
    }
}

/// Why a transport refused.
pub trait TransportError: std::error::Error + From<EncodeError> + Send + Sync + 'static {
    /// Whether the time allowed has passed without success: a full history had no room, or a reader has not
    /// acknowledged. Everything else is an error that stays.
    fn is_timed_out(&self) -> bool;
}

/// A place on a transport that makes writers and readers. A clone is the same place.
pub trait Participant: Clone {
    /// Why it refuses.
    type Error: TransportError;
    /// Writes bytes.
    type RawWriter: RawWriter<Error = Self::Error>;
    /// Reads bytes.
    type RawReader: RawReader<Error = Self::Error>;
    /// The reader that hands its samples on by itself.
    type Listener: Listener<Error = Self::Error>;
    /// Waits for several readers at once.
    type WaitSet: WaitSet<Self::RawReader, Error = Self::Error>;

    /// Creates a writer of samples of a type to topic `topic`.
    ///
    /// # Errors
    /// The transport cannot carry the type, or refuses the QoS.
    fn raw_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self::RawWriter, Self::Error>;

    /// Creates a reader of samples of a type from topic `topic`.
    ///
    /// # Errors
    /// The transport cannot carry the type, or refuses the QoS.
    fn raw_reader(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self::RawReader, Self::Error>;

    /// As [`listen`](Self::listen), with bytes.
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
    /// The transport refuses.
    fn wait_set(&self) -> Result<Self::WaitSet, Self::Error>;

    /// Creates a writer of topic `topic`.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn writer<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
    ) -> Result<Writer<S, Self::RawWriter>, Self::Error> {
        self.raw_writer(S::struct_type(), topic, qos).map(Writer::new)
    }

    /// Creates a reader of topic `topic`.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn reader<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
    ) -> Result<Reader<S, Self::RawReader>, Self::Error> {
        self.raw_reader(S::struct_type(), topic, qos).map(Reader::new)
    }

    /// Creates a reader of topic `topic` that hands each sample to `on_sample`, on the thread of the
    /// transport that received it and in its order, one at a time. Of the ways to wait this has the least
    /// latency: no other thread has to wake. Samples whose bytes are not of the type are dropped.
    ///
    /// `on_sample` holds up all that comes after, acknowledgements for this participant's writers too: it may
    /// write to a writer that keeps the last samples, but not to one that keeps all, which would wait for
    /// itself. It must not drop its own listener, and a panic in it ends the process.
    ///
    /// # Errors
    /// The transport refuses the topic or the QoS.
    fn listen<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
        mut on_sample: impl FnMut(&Received<S>) + Send + 'static,
    ) -> Result<Self::Listener, Self::Error> {
        let mut received = Received::<S>::default();
        self.raw_listen(S::struct_type(), topic, qos, move |raw| {
            if received.load(raw).is_ok() {
                on_sample(&received);
            }
        })
    }
}

/// Writes samples to one topic.
pub trait RawWriter: Send {
    /// Why it refuses.
    type Error: TransportError;

    /// Writes one sample of the writer's type and encoding. `source_timestamp_ns` is the time when it was
    /// written, in nanoseconds since the Unix epoch; now unless given.
    ///
    /// # Errors
    /// [Timed out](TransportError::is_timed_out) where a reliable writer's full history had no room in
    /// `max_blocking`; or the bytes are not of the type, or the transport refuses.
    fn write(&mut self, sample: &[u8], source_timestamp_ns: Option<i64>)
    -> Result<(), Self::Error>;

    /// Tells readers that the instance with this key has ended.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn dispose(&mut self, key: &[u8]) -> Result<(), Self::Error>;

    /// Sends what a writer with [`batching`](Qos::batching) has collected; nothing to do for others.
    ///
    /// # Errors
    /// The transport refuses.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Waits until at least `count` readers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// The transport refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Number of readers that match now.
    ///
    /// # Errors
    /// The transport refuses.
    fn matched(&self) -> Result<u32, Self::Error>;

    /// Waits until all matched reliable readers acknowledged all samples.
    ///
    /// # Errors
    /// Timed out where `timeout` passed first.
    fn wait_acknowledged(&self, timeout: Duration) -> Result<(), Self::Error>;
}

/// Reads samples from one topic.
pub trait RawReader: Send {
    /// Why it refuses.
    type Error: TransportError;

    /// Takes the next sample; `None` where none is there. Does not wait, so calling it again and again is
    /// the polling reader.
    ///
    /// # Errors
    /// The transport refuses.
    fn take(&mut self) -> Result<Option<RawSample<'_>>, Self::Error>;

    /// Waits until a sample can be taken; false where `timeout` passed first.
    ///
    /// # Errors
    /// The transport refuses.
    fn wait(&mut self, timeout: Duration) -> Result<bool, Self::Error>;

    /// Waits until at least `count` writers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// The transport refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Number of writers that match now.
    ///
    /// # Errors
    /// The transport refuses.
    fn matched(&self) -> Result<u32, Self::Error>;

    /// Whose the writers are that match now, a participant for each.
    ///
    /// # Errors
    /// The transport refuses.
    fn publishers(&self) -> Result<Vec<ParticipantId>, Self::Error>;

    /// Why writers of the topic are not read, for people, since this was asked last; none where the transport does not
    /// tell.
    fn take_refusals(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Samples lost on the way since the reader was created, as far as the transport knows.
    ///
    /// # Errors
    /// The transport refuses.
    fn lost(&self) -> Result<u64, Self::Error>;
}

/// A reader that hands its samples on until it is dropped. Dropping waits for a call that is under way.
pub trait Listener: Send {
    /// Why it refuses.
    type Error: TransportError;

    /// Waits until at least `count` writers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// The transport refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Self::Error>;

    /// Number of writers that match now.
    ///
    /// # Errors
    /// The transport refuses.
    fn matched(&self) -> Result<u32, Self::Error>;
}

/// Waits for several readers at once.
pub trait WaitSet<R>: Send {
    /// Why it refuses.
    type Error: TransportError;

    /// Adds `reader` and returns its index in what [`wait`](Self::wait) reports, counted from 0.
    ///
    /// # Errors
    /// The transport refuses.
    fn attach(&mut self, reader: &R) -> Result<usize, Self::Error>;

    /// Waits until samples can be taken from at least one reader and puts the indexes of those readers
    /// into `ready`, which is empty where `timeout` passed first.
    ///
    /// # Errors
    /// The transport refuses.
    fn wait(&mut self, ready: &mut Vec<usize>, timeout: Duration) -> Result<(), Self::Error>;
}
