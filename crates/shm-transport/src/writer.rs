//! A writer: one channel.

use crate::error::Error;
use crate::participant::{ShmParticipant, schema};
use crate::{name, sample};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_distribution::types::StructType;
use tickwire_distribution::{Durability, History, Qos, RawWriter};
use tickwire_shm::{Channel, Writer, WriterOptions, check_directory, effective_user};

/// Sleep between two looks for readers.
const TICK: Duration = Duration::from_millis(1);

/// Bytes that a key may have: as many as a channel allows.
pub const KEY_BYTES: usize = 256;
/// Samples that the ring of a writer holds whose readers want the last one alone.
const LAST_SLOTS: usize = 1 << 14;

/// Writes the bytes of samples of one type to one topic. Dropping it ends its channel; readers get what is left.
#[derive(Debug)]
pub struct ShmRawWriter {
    /// `None` once it is dropped.
    writer: Option<Writer>,
    of: Arc<StructType>,
    topic: String,
    has_last_values: bool,
    bytes: Vec<u8>,
}

impl ShmRawWriter {
    pub(crate) fn new(
        participant: &ShmParticipant,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self, Error> {
        let config = participant.config();
        let [partition] = name::partitions(qos)?[..] else { return Err(Error::Partitions) };
        let prefix = name::prefix(topic, partition)?;
        if config.directory.exists() {
            check_directory(&config.directory, effective_user())?;
        }
        remove_abandoned(participant, &prefix)?;
        let number = participant.writer_number();
        let channel = name::channel(&config.directory, &prefix, participant.id(), number)?;
        let has_last_values = matches!(qos.durability, Durability::TransientLocal { .. });
        let room = config.room(of);
        let sample_bytes = sample::HEAD_BYTES + room.sample_bytes;
        let slots = room.ring_bytes / sample_bytes.next_multiple_of(64);
        let is_of_last = qos.history == History::KeepLast(1);
        let options = WriterOptions {
            sample_bytes,
            slots: if is_of_last { slots.min(LAST_SLOTS) } else { slots } as u64,
            key_bytes: if has_last_values { KEY_BYTES } else { 0 },
            keys: 64,
            readers: config.readers,
        };
        let writer = Writer::open(&channel, &schema(of)?, &options)?;
        Ok(Self {
            writer: Some(writer),
            of: Arc::clone(of),
            topic: topic.to_owned(),
            has_last_values,
            bytes: Vec::new(),
        })
    }

    fn publish(&mut self, key: &[u8]) -> Result<(), Error> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if key.len() > KEY_BYTES {
            return Err(Error::KeyLength { topic: self.topic.clone(), len: key.len() });
        }
        let published = match self.has_last_values {
            true => {
                // A type without key has one instance.
                let key = writer.key(if key.is_empty() { b"\0" } else { key })?;
                writer.publish_keyed(key, &self.bytes)
            }
            false => writer.publish(&self.bytes),
        };
        match published {
            Ok(_) => Ok(()),
            Err(tickwire_shm::Error::SampleLength { len, max }) => Err(Error::SampleLength {
                topic: self.topic.clone(),
                len: len - sample::HEAD_BYTES,
                max: max - sample::HEAD_BYTES,
            }),
            Err(error) => Err(error.into()),
        }
    }
}

/// Removes the channels of this topic whose writers were killed.
fn remove_abandoned(participant: &ShmParticipant, prefix: &str) -> Result<(), Error> {
    let directory = &participant.config().directory;
    for (name, _) in name::list(directory, &[prefix.to_owned()])? {
        match Channel::in_directory(directory, &name)?.remove() {
            Ok(()) | Err(tickwire_shm::Error::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl RawWriter for ShmRawWriter {
    type Error = Error;

    fn write(&mut self, bytes: &[u8], source_timestamp_ns: Option<i64>) -> Result<(), Error> {
        sample::encode(&mut self.bytes, source_timestamp_ns, false, bytes);
        let of = Arc::clone(&self.of);
        let key = match self.has_last_values {
            true => of.key(bytes, of.encoding).map_err(Error::Key)?,
            false => &[],
        };
        self.publish(key)
    }

    fn dispose(&mut self, key: &[u8]) -> Result<(), Error> {
        sample::encode(&mut self.bytes, None, true, key);
        self.publish(key)
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, Error> {
        let begun = Instant::now();
        while self.matched()? < count {
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
        Ok(true)
    }

    fn matched(&self) -> Result<u32, Error> {
        self.writer.as_ref().map_or(Ok(0), |writer| Ok(writer.readers()?))
    }

    /// Nobody acknowledges: what is in the ring stays readable also when the writer has ended.
    fn wait_acknowledged(&self, _timeout: Duration) -> Result<(), Error> {
        Ok(())
    }
}

impl Drop for ShmRawWriter {
    fn drop(&mut self) {
        // Readers have been told of the end even where the files cannot be removed; the next writer removes them.
        let _ = self.writer.take().map(Writer::finish);
    }
}
