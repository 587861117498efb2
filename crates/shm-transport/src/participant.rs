//! A place in a directory of channels.

use crate::beats::Beats;
use crate::config::ShmConfig;
use crate::error::Error;
use crate::listener::ShmListener;
use crate::reader::ShmRawReader;
use crate::wait_set::ShmWaitSet;
use crate::writer::ShmRawWriter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tickwire_distribution::types::StructType;
use tickwire_distribution::{Participant, ParticipantId, Qos, RawReader, RawSample};
use tickwire_shm::Schema;

/// Makes writers and readers in shared memory.
#[derive(Clone, Debug)]
pub struct ShmParticipant(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: ShmConfig,
    id: ParticipantId,
    writers: AtomicU64,
    /// From the first writer on.
    beats: Mutex<Option<Beats>>,
}

impl ShmParticipant {
    /// Joins the participants whose channels are in the same directory.
    #[must_use]
    pub fn join(config: ShmConfig) -> Self {
        let (writers, beats) = (AtomicU64::new(0), Mutex::new(None));
        Self(Arc::new(Inner { config, id: unique_id(), writers, beats }))
    }

    /// What names it.
    #[must_use]
    pub fn id(&self) -> ParticipantId {
        self.0.id
    }

    /// Whether a writer of a topic is there now.
    ///
    /// # Errors
    /// As [`raw_reader`](Participant::raw_reader).
    pub fn has_writer(&self, of: &Arc<StructType>, topic: &str, qos: &Qos) -> Result<bool, Error> {
        self.look_for_writer(of, topic, qos).map(|(is_there, _)| is_there)
    }

    /// Whether a writer of a topic is there now, and for people, why channels of the topic cannot be read.
    ///
    /// # Errors
    /// As [`raw_reader`](Participant::raw_reader).
    pub fn look_for_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<(bool, Vec<String>), Error> {
        // A new reader passes over what killed writers have left.
        let mut reader = self.raw_reader(of, topic, qos)?;
        Ok((reader.matched()? > 0, reader.take_refusals()))
    }

    pub(crate) fn config(&self) -> &ShmConfig {
        &self.0.config
    }

    /// The thread that says that the writers live.
    pub(crate) fn beats(&self) -> Result<Beats, Error> {
        let mut beats = self.0.beats.lock().unwrap_or_else(PoisonError::into_inner);
        match &*beats {
            Some(beats) => Ok(beats.clone()),
            None => Ok(beats.insert(Beats::start()?).clone()),
        }
    }

    /// A number for another writer.
    pub(crate) fn writer_number(&self) -> u64 {
        self.0.writers.fetch_add(1, Ordering::Relaxed)
    }
}

/// Time, process and a count: no two participants of a host have the same.
fn unique_id() -> ParticipantId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = since.as_nanos() as u64;
    let number =
        u128::from(time) << 64 | u128::from(std::process::id()) << 32 | u128::from(count as u32);
    ParticipantId(number.to_be_bytes())
}

/// A type as a channel states it: by name, and by all that it is made of.
pub(crate) fn schema(of: &StructType) -> Result<Schema, Error> {
    Ok(Schema::new(&of.name, format!("{of:?}").as_bytes())?)
}

impl Participant for ShmParticipant {
    type Error = Error;
    type RawWriter = ShmRawWriter;
    type RawReader = ShmRawReader;
    type Listener = ShmListener;
    type WaitSet = ShmWaitSet;

    fn raw_writer(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<ShmRawWriter, Error> {
        ShmRawWriter::new(self, of, topic, qos)
    }

    fn raw_reader(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<ShmRawReader, Error> {
        ShmRawReader::new(self, of, topic, qos)
    }

    fn raw_listen(
        &self,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
        on_sample: impl FnMut(&RawSample<'_>) + Send + 'static,
    ) -> Result<ShmListener, Error> {
        ShmListener::start(self.raw_reader(of, topic, qos)?, on_sample)
    }

    fn wait_set(&self) -> Result<ShmWaitSet, Error> {
        Ok(ShmWaitSet::default())
    }
}
