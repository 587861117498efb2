//! A reader of all channels of a topic.

use crate::error::ShmTransportError;
use crate::participant::{ShmParticipant, schema};
use crate::sources::Sources;
use crate::{name, wait_set};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tickwire_distribution::cdr::CdrEncoding;
use tickwire_distribution::types::StructType;
use tickwire_distribution::{Durability, History, ParticipantId, Qos, RawReader, RawSample};

/// Sleep between two checks for writers.
const TICK: Duration = Duration::from_millis(5);

/// Reads the bytes of samples of one type from one topic.
#[derive(Debug)]
pub struct ShmRawReader {
    /// Index in the list of readers that [`wait_set::wait`] takes, and the channels.
    sources: (usize, SharedSources),
    bytes: Vec<u8>,
    encoding: CdrEncoding,
}

/// Channels that a reader and its wait sets share.
#[derive(Clone, Debug)]
pub struct SharedSources(Arc<Mutex<Sources>>);

impl SharedSources {
    /// Returns a number that orders all readers of this process.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub fn lock(&self) -> MutexGuard<'_, Sources> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShmRawReader {
    pub(crate) fn new(
        participant: &ShmParticipant,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self, ShmTransportError> {
        let partitions = name::partitions(qos)?.into_iter();
        let prefixes = partitions.map(|partition| name::prefix(topic, partition));
        let has_last_values = matches!(qos.durability, Durability::TransientLocal { .. });
        let sources = Sources::new(
            participant.config().clone(),
            Arc::clone(participant.directory()),
            prefixes.collect::<Result<_, _>>()?,
            schema(of)?,
            has_last_values,
            qos.history == History::KeepAll,
        )?;
        let sources = SharedSources(Arc::new(Mutex::new(sources)));
        Ok(Self { sources: (0, sources), bytes: Vec::new(), encoding: of.encoding })
    }

    pub(crate) fn sources(&self) -> &SharedSources {
        &self.sources.1
    }
}

impl RawReader for ShmRawReader {
    type Error = ShmTransportError;

    fn take(&mut self) -> Result<Option<RawSample<'_>>, ShmTransportError> {
        let mut sources = self.sources.1.lock();
        if !sources.take()? {
            return Ok(None);
        }
        let (bytes, info) = sources.taken();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        Ok(Some(RawSample { bytes: &self.bytes, encoding: self.encoding, info }))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, ShmTransportError> {
        let mut ready = Vec::new();
        wait_set::wait(std::slice::from_ref(&self.sources), &mut ready, timeout)?;
        Ok(!ready.is_empty())
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, ShmTransportError> {
        let begun = Instant::now();
        loop {
            self.sources.1.lock().scan(0)?;
            if self.matched()? >= count {
                return Ok(true);
            }
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        let mut sources = self.sources.1.lock();
        sources.scan_when_due()?;
        Ok(sources.matched() as u32)
    }

    fn publishers(&self) -> Result<Vec<ParticipantId>, ShmTransportError> {
        let mut sources = self.sources.1.lock();
        sources.scan_when_due()?;
        Ok(sources.publishers())
    }

    fn take_refusals(&mut self) -> Vec<String> {
        self.sources.1.lock().take_refusals()
    }

    fn has_stale_keys(&self) -> bool {
        self.sources.1.lock().has_stale_keys()
    }

    fn lost(&self) -> Result<u64, ShmTransportError> {
        Ok(self.sources.1.lock().lost())
    }
}
