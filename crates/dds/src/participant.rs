//! The interface to a DDS middleware that the rest of the toolkit uses.
//!
//! A program generic over [`Participant`] does not know which middleware is below. Samples are pulled:
//! [`Reader::take`] fills one reused value, so a warm reader hands out samples without allocation of ours.
//! Or they are pushed, by [`Participant::listen`], which saves the waking of a thread of ours.

use std::fmt;
use std::time::Duration;

use crate::{Error, Qos, Sample};

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

/// Names a participant in the whole domain. Spec: DDSI-RTPS 2.5 §8.2.4.1 (GUID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParticipantId(pub [u8; 16]);

impl fmt::Display for ParticipantId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// One sample taken from a reader and what is known about it.
#[derive(Debug, Clone, Default)]
pub struct Received<S> {
    /// The sample; only its key counts where `has_data` is false.
    pub sample: S,
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
    /// Number of the sample among those of its writer, from 1; 0 from a writer of this process.
    /// Spec: DDSI-RTPS 2.5 §8.3.5.4 (SequenceNumber).
    pub writer_seq_num: u64,
    /// Number of the last sample that its writer had written when they met, as its first heartbeat to this
    /// reader says, which may be a millisecond later; 0 where that is unknown.
    pub history_end: u64,
    /// Whose the writer is, also where it has gone since; `None` for a writer of this process.
    pub participant: Option<ParticipantId>,
}

impl<S> Received<S> {
    /// Whether it was written before its writer met this reader: one of the last values for those who
    /// come late.
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.writer_seq_num != 0 && self.writer_seq_num <= self.history_end
    }
}

/// A place on the data bus that makes writers and readers.
pub trait Participant {
    /// The writer of one type of sample.
    type Writer<S: Sample>: Writer<S>;
    /// The reader of one type of sample.
    type Reader<S: Sample>: Reader<S>;
    /// The reader that hands its samples on by itself.
    type Listener: Listener;
    /// Waits for several readers at once.
    type WaitSet;

    /// Creates a writer of topic `topic`.
    ///
    /// # Errors
    /// [`Error::TextWithNul`], [`Error::OptionRange`], or [`Error::Middleware`] where the middleware refuses.
    fn writer<S: Sample>(&self, topic: &str, qos: &Qos) -> Result<Self::Writer<S>, Error>;

    /// Creates a reader of topic `topic`.
    ///
    /// # Errors
    /// [`Error::TextWithNul`], [`Error::OptionRange`], or [`Error::Middleware`] where the middleware refuses.
    fn reader<S: Sample>(&self, topic: &str, qos: &Qos) -> Result<Self::Reader<S>, Error>;

    /// Creates a reader of topic `topic` that hands each sample to `on_sample`, on the thread of the
    /// middleware that received it and in its order, one at a time. Of the ways to wait this has the least latency:
    /// no other thread has to wake.
    ///
    /// `on_sample` holds up all that comes after, acknowledgements for this participant's writers too: it may
    /// write to a writer that keeps the last samples, but not to one that keeps all, which would wait for
    /// itself. It must not drop its own listener, and a panic in it ends the process.
    ///
    /// # Errors
    /// [`Error::TextWithNul`], [`Error::OptionRange`], or [`Error::Middleware`] where the middleware refuses.
    fn listen<S: Sample>(
        &self,
        topic: &str,
        qos: &Qos,
        on_sample: impl FnMut(&Received<S>) + Send + 'static,
    ) -> Result<Self::Listener, Error>;

    /// Creates a wait set for readers of this participant.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn wait_set(&self) -> Result<Self::WaitSet, Error>;
}

/// Writes samples of one type to one topic.
pub trait Writer<S: Sample> {
    /// Writes one sample.
    ///
    /// # Errors
    /// - [`Error::TimedOut`] where a reliable writer's full history had no room in `max_blocking`.
    /// - [`Error::TextWithNul`] and [`Error::TooLong`] where DDS cannot carry the sample.
    /// - [`Error::Middleware`] where the middleware refuses.
    fn write(&mut self, sample: &S) -> Result<(), Error>;

    /// Writes one sample with `source_timestamp_ns` as the time when it was written, in nanoseconds since
    /// the Unix epoch. An echo with the time of what it answers measures a round trip by one clock.
    ///
    /// # Errors
    /// As [`write`](Writer::write).
    fn write_at(&mut self, sample: &S, source_timestamp_ns: i64) -> Result<(), Error>;

    /// Sends what a writer with [`batching`](Qos::batching) has collected; nothing to do for others.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn flush(&mut self) -> Result<(), Error>;

    /// Tells readers that the instance with the key of `sample` has ended.
    ///
    /// # Errors
    /// As [`write`](Writer::write).
    fn dispose(&mut self, sample: &S) -> Result<(), Error>;

    /// Waits until at least `count` readers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error>;

    /// Number of readers that match now.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn matched(&self) -> Result<u32, Error>;

    /// Waits until all matched reliable readers acknowledged all samples.
    ///
    /// # Errors
    /// [`Error::TimedOut`] where `timeout` passed first.
    fn wait_acknowledged(&self, timeout: Duration) -> Result<(), Error>;
}

/// Reads samples of one type from one topic.
pub trait Reader<S: Sample> {
    /// Takes the next sample into `received`; false where none is there. Does not wait, so calling it
    /// again and again is the polling reader.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn take(&mut self, received: &mut Received<S>) -> Result<bool, Error>;

    /// Waits until a sample can be taken; false where `timeout` passed first.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn wait(&mut self, timeout: Duration) -> Result<bool, Error>;

    /// Waits until at least `count` writers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error>;

    /// Number of writers that match now.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn matched(&self) -> Result<u32, Error>;

    /// Whose the writers are that match now, a participant for each.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn publishers(&self) -> Result<Vec<ParticipantId>, Error>;

    /// Samples lost on the way since the reader was created, as far as the middleware knows.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn lost(&self) -> Result<u64, Error>;

    /// Samples dropped because a string in them is not UTF-8.
    fn not_utf8(&self) -> u64;
}

/// A reader that hands its samples on until it is dropped. Dropping waits for a call that is under way.
pub trait Listener {
    /// Waits until at least `count` writers match; false where `timeout` passed first.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error>;

    /// Number of writers that match now.
    ///
    /// # Errors
    /// [`Error::Middleware`] where the middleware refuses.
    fn matched(&self) -> Result<u32, Error>;

    /// Samples dropped because a string in them is not UTF-8.
    fn not_utf8(&self) -> u64;
}
