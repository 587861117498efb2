//! A participant: writers and readers in one directory of channels.

use crate::beats::Beats;
use crate::config::ShmConfig;
use crate::directory::ChannelDirectory;
use crate::error::ShmTransportError;
use crate::listener::ShmListener;
use crate::reader::ShmRawReader;
use crate::wait_set::ShmWaitSet;
use crate::writer::ShmRawWriter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tickwire_distribution::types::StructType;
use tickwire_distribution::{EchoContents, Participant, ParticipantId, Qos, RawReader, RawSample};
use tickwire_shm::Schema;

/// Creates writers and readers in shared memory.
#[derive(Clone, Debug)]
pub struct ShmParticipant(Arc<ParticipantState>);

#[derive(Debug)]
struct ParticipantState {
    config: ShmConfig,
    directory: Arc<ChannelDirectory>,
    id: ParticipantId,
    writers: AtomicU64,
    /// The thread that sends heartbeats; started with the first writer.
    beats: Mutex<Option<Beats>>,
}

impl ShmParticipant {
    /// Joins the participants whose channels are in the same directory.
    #[must_use]
    pub fn join(config: ShmConfig) -> Self {
        let (writers, beats) = (AtomicU64::new(0), Mutex::new(None));
        let directory = Arc::new(ChannelDirectory::new(&config));
        Self(Arc::new(ParticipantState { config, directory, id: unique_id(), writers, beats }))
    }

    /// Returns the identifier of this participant.
    #[must_use]
    pub fn id(&self) -> ParticipantId {
        self.0.id
    }

    /// Returns whether a topic has a writer now, and messages for users that say why channels of the topic cannot be
    /// read.
    ///
    /// # Errors
    /// As [`raw_reader`](Participant::raw_reader).
    pub fn look_for_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<(bool, Vec<String>), ShmTransportError> {
        // A new reader skips the channels that killed writers left behind.
        let mut reader = self.raw_reader(of, topic, qos)?;
        Ok((reader.matched()? > 0, reader.take_refusals()))
    }

    pub(crate) fn config(&self) -> &ShmConfig {
        &self.0.config
    }

    /// Returns the directory that all readers share.
    pub(crate) fn directory(&self) -> &Arc<ChannelDirectory> {
        &self.0.directory
    }

    /// Returns the thread that sends the heartbeats of writers; starts it if it does not run.
    pub(crate) fn beats(&self) -> Result<Beats, ShmTransportError> {
        let mut beats = self.0.beats.lock().unwrap_or_else(PoisonError::into_inner);
        match &*beats {
            Some(beats) => Ok(beats.clone()),
            None => Ok(beats.insert(Beats::start()?).clone()),
        }
    }

    /// Returns the number of the next writer.
    pub(crate) fn writer_number(&self) -> u64 {
        self.0.writers.fetch_add(1, Ordering::Relaxed)
    }
}

/// Combines time, process number and a counter, so that no two participants of a host have the same identifier.
fn unique_id() -> ParticipantId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = since.as_nanos() as u64;
    let number =
        u128::from(time) << 64 | u128::from(std::process::id()) << 32 | u128::from(count as u32);
    ParticipantId(number.to_be_bytes())
}

/// Returns the schema of a type for its channel: its name, and all that it consists of.
pub(crate) fn schema(of: &StructType) -> Result<Schema, ShmTransportError> {
    Ok(Schema::new(&of.name, format!("{of:?}").as_bytes())?)
}

impl Participant for ShmParticipant {
    type Error = ShmTransportError;
    type RawWriter = ShmRawWriter;
    type RawReader = ShmRawReader;
    type Listener = ShmListener;
    type WaitSet = ShmWaitSet;
    /// A slot of a ring has room for the largest sample: rings of marks hold many more echoes in less memory.
    const ECHO: EchoContents = EchoContents::Mark;
    const DISCOVERY: Duration = Duration::from_secs(1);

    fn own_id(&self) -> Option<ParticipantId> {
        Some(self.id())
    }

    fn raw_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<ShmRawWriter, ShmTransportError> {
        ShmRawWriter::new(self, of, topic, qos)
    }

    fn raw_reader(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<ShmRawReader, ShmTransportError> {
        ShmRawReader::new(self, of, topic, qos)
    }

    fn raw_listen(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
        on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<ShmListener, ShmTransportError> {
        ShmListener::start(self.raw_reader(of, topic, qos)?, on_sample)
    }

    fn wait_set(&self) -> Result<ShmWaitSet, ShmTransportError> {
        Ok(ShmWaitSet::default())
    }
}
