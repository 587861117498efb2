//! A writer, which owns one channel.

use crate::beats::{Beats, Heart};
use crate::config::RingSize;
use crate::error::ShmTransportError;
use crate::left::remove_left;
use crate::participant::{ShmParticipant, schema};
use crate::sample::SampleShape;
use crate::{name, sample};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_distribution::types::StructType;
use tickwire_distribution::{
    Done, Durability, History, Qos, RawWriter, Reliability, Sample, Total, is_echo_topic,
};
use tickwire_shm::{ShmWriter, WriterOptions, check_directory, effective_user};

/// Sleep between two checks for readers.
const TICK: Duration = Duration::from_millis(1);
/// Sleep between two checks for room. A ring takes longer to read.
const ROOM_TICK: Duration = Duration::from_micros(100);

/// Longest key in bytes: as long as a channel allows.
pub const KEY_BYTES: usize = 256;
/// Slots of the ring for totals and end messages of a publisher, whatever the settings. A reader
/// that falls behind gets the last sample of each key.
const LAST_SLOTS: usize = 1 << 10;
/// Minimum size in bytes of a sample in such a ring: room for the longest name of a topic, and a number.
const LAST_SAMPLE_BYTES: usize = 256;
/// An echo's ring is this part of a plain sample's: every subscriber has one for each topic.
const ECHO_PART: usize = 4;
/// Bytes of a slot of echoes.
const ECHO_SLOT_BYTES: usize = 64;
/// Length of a slot's header in bytes.
const SLOT_HEAD_BYTES: usize = 24;

/// Writes encoded samples of one type to one topic. Dropping it ends its channel; readers still get the remaining
/// samples.
#[derive(Debug)]
pub struct ShmRawWriter {
    /// `None` only while this value is being dropped.
    writer: Option<ShmWriter>,
    heart: Arc<Heart>,
    /// Sends the writer's heartbeats.
    _beats: Beats,
    directory: Box<Path>,
    /// True if a write is an error once the files are gone. Ends and echoes are still useful to
    /// readers that have the files open.
    needs_files: bool,
    of: Arc<StructType>,
    topic: Arc<str>,
    has_last_values: bool,
    /// Longest wait of a write for readers that are a ring behind; `None` if the writer does not keep all samples.
    blocking_max: Option<Duration>,
    bytes: Vec<u8>,
}

impl ShmRawWriter {
    pub(crate) fn new(
        participant: &ShmParticipant,
        of: &Arc<StructType>,
        topic: &str,
        qos: &Qos,
    ) -> Result<Self, ShmTransportError> {
        let config = participant.config();
        let [partition] = name::partitions(qos)?[..] else {
            return Err(ShmTransportError::Partitions);
        };
        let prefix = name::prefix(topic, partition)?;
        if config.directory.exists() {
            check_directory(&config.directory, effective_user())?;
        }
        let number = participant.writer_number();
        if number == 0 {
            // Without this, what the writers of other topics left would stay until those topics have writers again.
            remove_left(&config.directory)?;
        }
        let channel = name::channel(&config.directory, &prefix, participant.id(), number)?;
        // No reader of these channels would trust a directory of this user if their owner is another one.
        let channel = channel.trusting(config.owner);
        let has_last_values = matches!(qos.durability, Durability::TransientLocal { .. });
        let mut room = config.room(of);
        let is_of_last = has_last_values && qos.history == History::KeepLast(1);
        if is_of_last && SampleShape::of(of) == SampleShape::Text {
            room.sample_bytes = room.sample_bytes.max(LAST_SAMPLE_BYTES);
        }
        let slots = match (is_of_last, is_echo_topic(topic)) {
            (true, _) => LAST_SLOTS,
            (false, true) => slots(room.ring_bytes / ECHO_PART, slot_bytes(room)).max(2),
            (false, false) => sample_slots(room, config.plain),
        };
        if slots < 2 {
            let (bytes, slot) = (room.ring_bytes, slot_bytes(room));
            return Err(ShmTransportError::RingBytes { topic: topic.to_owned(), bytes, slot });
        }
        let options = WriterOptions {
            sample_bytes: sample::HEAD_BYTES + room.sample_bytes,
            slots: slots as u64,
            key_bytes: if has_last_values { KEY_BYTES } else { 0 },
            keys: 64,
            readers: config.readers,
        };
        let mut writer = ShmWriter::open(&channel, &schema(of)?, &options)?;
        if is_of_last {
            // The end of a feed must have room also if last values of samples have filled the file system.
            writer.reserve_keys()?;
        }
        let (heart, beats) = (Arc::new(Heart::new(writer.pulse()?)), participant.beats()?);
        beats.add(&heart);
        Ok(Self {
            writer: Some(writer),
            heart,
            _beats: beats,
            directory: config.directory.as_path().into(),
            needs_files: !is_end_topic(topic) && !is_echo_topic(topic),
            of: Arc::clone(of),
            topic: topic.into(),
            has_last_values,
            blocking_max: blocking_max(qos),
            bytes: Vec::new(),
        })
    }
}

impl ShmRawWriter {
    /// Refuses to write to files that nobody can open any more.
    #[inline]
    fn check_files(&self) -> Result<(), ShmTransportError> {
        match self.needs_files && self.heart.is_removed() {
            false => Ok(()),
            true => Err(ShmTransportError::Removed(self.directory.to_path_buf())),
        }
    }
}

fn is_end_topic(topic: &str) -> bool {
    [Done::TOPIC, Done::STOPPED_TOPIC, Total::TOPIC].contains(&topic)
}

/// Returns the longest wait of a write for room; `None` if writes do not wait.
fn blocking_max(qos: &Qos) -> Option<Duration> {
    match (qos.history, qos.reliability) {
        (History::KeepAll, Reliability::Reliable { max_blocking }) => Some(max_blocking),
        _ => None,
    }
}

/// Waits until no reader is a whole ring behind, if the writer keeps all samples.
#[inline]
fn make_room(
    writer: &mut ShmWriter,
    topic: &Arc<str>,
    blocking_max: Option<Duration>,
) -> Result<(), ShmTransportError> {
    match blocking_max {
        Some(blocking_max) if !writer.has_room()? => wait_for_room(writer, topic, blocking_max),
        _ => Ok(()),
    }
}

#[cold]
fn wait_for_room(
    writer: &mut ShmWriter,
    topic: &Arc<str>,
    blocking_max: Duration,
) -> Result<(), ShmTransportError> {
    let begun = Instant::now();
    while !writer.has_room()? {
        if begun.elapsed() >= blocking_max {
            return Err(ShmTransportError::Full { topic: Arc::clone(topic) });
        }
        std::thread::sleep(ROOM_TICK);
    }
    Ok(())
}

/// Publishes a sample with its header, under its key if the writer keeps last values.
#[inline]
fn publish(
    writer: &mut ShmWriter,
    topic: &str,
    key: Option<&[u8]>,
    bytes: &[u8],
) -> Result<(), ShmTransportError> {
    let published = match key {
        Some(key) if key.len() > KEY_BYTES => {
            return Err(ShmTransportError::KeyLength { topic: topic.to_owned(), len: key.len() });
        }
        Some(key) => {
            // A type without key members has one instance.
            let key = writer.key(if key.is_empty() { b"\0" } else { key })?;
            writer.publish_keyed(key, bytes)
        }
        None => writer.publish(bytes),
    };
    match published {
        Ok(_) => Ok(()),
        Err(tickwire_shm::ShmError::SampleLength { len, max }) => {
            Err(ShmTransportError::SampleLength {
                topic: topic.to_owned(),
                len: len - sample::HEAD_BYTES,
                max: max - sample::HEAD_BYTES,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the length of a slot in bytes, with its sample.
fn slot_bytes(room: RingSize) -> usize {
    (SLOT_HEAD_BYTES + sample::HEAD_BYTES + room.sample_bytes).next_multiple_of(64)
}

/// Returns the number of slots of a ring: the largest power of two that fits into its bytes.
fn slots(ring_bytes: usize, slot_bytes: usize) -> usize {
    let fitting = ring_bytes / slot_bytes;
    fitting.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

/// Returns the number of slots of a ring of samples: no more than a ring of echoes has, so that the echoes of a whole ring
/// fit, but two if there is room. Echoes are plain samples.
fn sample_slots(room: RingSize, plain: RingSize) -> usize {
    let echoes = slots(plain.ring_bytes / ECHO_PART, ECHO_SLOT_BYTES);
    slots(room.ring_bytes, slot_bytes(room)).min(echoes.max(2))
}

impl RawWriter for ShmRawWriter {
    type Error = ShmTransportError;

    fn write(
        &mut self,
        bytes: &[u8],
        source_timestamp_ns: Option<i64>,
    ) -> Result<(), ShmTransportError> {
        self.check_files()?;
        let Self { writer, of, topic, has_last_values, blocking_max, bytes: sample, .. } = self;
        let Some(writer) = writer else { return Ok(()) };
        make_room(writer, topic, *blocking_max)?;
        sample::encode(sample, source_timestamp_ns, false, bytes);
        let key = match has_last_values {
            true => Some(of.key(bytes, of.encoding).map_err(ShmTransportError::Key)?),
            false => None,
        };
        publish(writer, topic, key, sample)
    }

    fn dispose(&mut self, key: &[u8]) -> Result<(), ShmTransportError> {
        self.check_files()?;
        let Self { writer, topic, has_last_values, blocking_max, bytes: sample, .. } = self;
        let Some(writer) = writer else { return Ok(()) };
        make_room(writer, topic, *blocking_max)?;
        sample::encode(sample, None, true, key);
        publish(writer, topic, has_last_values.then_some(key), sample)
    }

    fn pass_over_slow_readers(&mut self) -> bool {
        if let Some(writer) = &mut self.writer {
            writer.pass_over_slow_readers();
        }
        true
    }

    fn flush(&mut self) -> Result<(), ShmTransportError> {
        Ok(())
    }

    fn wait_matched(&self, count: u32, timeout: Duration) -> Result<bool, ShmTransportError> {
        let begun = Instant::now();
        while self.matched()? < count {
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
            std::thread::sleep(TICK);
        }
        Ok(true)
    }

    fn matched(&self) -> Result<u32, ShmTransportError> {
        self.writer.as_ref().map_or(Ok(0), |writer| Ok(writer.readers()?))
    }

    /// Readers do not acknowledge samples: what is in the ring stays readable even after the writer has ended.
    fn wait_acknowledged(&self, _timeout: Duration) -> Result<(), ShmTransportError> {
        Ok(())
    }

    /// Returns how many samples the slowest reader has still to read, up to an eighth of the ring too many.
    fn backlog(&self) -> Result<Option<u64>, ShmTransportError> {
        self.writer.as_ref().map_or(Ok(None), |writer| Ok(writer.backlog()?))
    }
}

impl Drop for ShmRawWriter {
    fn drop(&mut self) {
        // Readers have been told of the end even if files cannot be removed; the directory's next participant removes those.
        let _ = self.writer.take().map(ShmWriter::finish);
    }
}

#[cfg(test)]
mod tests {
    use super::{ECHO_PART, ECHO_SLOT_BYTES, RingSize, sample_slots, slot_bytes, slots};
    use crate::sample::SampleShape;
    use tickwire_distribution::{EchoMark, SampleFields};

    #[test]
    fn a_ring_has_no_more_bytes_than_its_room() {
        // A slot has a header of 24 bytes, the sample's header of 8 and a sample of 176, rounded up to 256 bytes.
        let slot_bytes = slot_bytes(RingSize { ring_bytes: 0, sample_bytes: 176 });
        let of = |ring_bytes| slots(ring_bytes, slot_bytes);
        assert_eq!([16 << 20, (16 << 20) + 256, 1023, 100].map(of), [1 << 16, 1 << 16, 2, 0]);
    }

    #[test]
    fn the_echoes_of_a_whole_ring_fit_into_their_ring() {
        let SampleShape::Fixed(sample_bytes) = SampleShape::of(EchoMark::struct_type()) else {
            panic!("a mark has no text")
        };
        assert_eq!(slot_bytes(RingSize { ring_bytes: 0, sample_bytes }), ECHO_SLOT_BYTES);
        let plain = RingSize { ring_bytes: 16 << 20, sample_bytes: 8 };
        let echoes = slots(plain.ring_bytes / ECHO_PART, ECHO_SLOT_BYTES);
        let sequences = RingSize { ring_bytes: 64 << 20, sample_bytes: 128 };
        assert_eq!([plain, sequences].map(|room| sample_slots(room, plain)), [echoes; 2]);
        let small = RingSize { ring_bytes: 128, sample_bytes: 8 };
        assert_eq!(sample_slots(small, small), 2);
    }
}
