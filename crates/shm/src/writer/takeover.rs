//! Takes a channel over from a writer that ended without ending the channel. That writer may have been killed at any
//! store.
//!
//! Let n be the head that it left. Its last complete sample was n - 1, and it may have been writing n:
//! - **Slot n holds n, complete.** Readers may already have it, so it counts as published: the head advances to n + 1,
//!   and the entry of its key, which may be half written, is written again from the slot.
//! - **Slot n is locked for n.** Nobody has read it. The new writer's first sample is n again. The odd lock already
//!   says that n is being written, which is what readers take it for; they do not spin on it.
//! - **Slot n holds n - slots, or nothing.** The old writer was not writing a sample.
//!
//! A key is counted after its entry is written, and a segment gets its name after its header is written. Keys not
//! counted and segments not named are created again. A named segment without keys is kept, because readers may have mapped
//! it.

use super::{WAITERS_WORDS, WriterState};
use crate::bell;
use crate::cell::{self, CellContent, SampleBuffer};
use crate::channel::{self, Readers, ShmChannel};
use crate::error::{Damage, ShmError};
use crate::identity::ProcessIdentity;
use crate::layout::{self, Geometry, KEYS_MAX, NAME_BYTES_MAX, NO_KEY, header, state};
use crate::mapping::{FenceStrategy, WriteMap};
use crate::memory::{Memory, MemoryMut};
use crate::schema::Schema;
use crate::{ring, values};

/// Returns the process number of the channel's writer; 0 if its file does not state it.
pub fn pid(channel: &ShmChannel) -> u64 {
    let path = channel.ring_path();
    let map = channel::open(&path, true)
        .and_then(|file| WriteMap::new(&file, &path, layout::HEADER_WORDS));
    map.map_or(0, |map| ProcessIdentity::read(&map).pid)
}

/// Returns the schema that a header states.
pub fn schema(ring: &impl Memory) -> Result<Schema, Damage> {
    let len = ring.load(header::NAME_LEN);
    if len > NAME_BYTES_MAX as u64 {
        return Err(Damage::SchemaName);
    }
    let mut name = vec![0; len as usize];
    ring.load_bytes(header::NAME, &mut name);
    Ok(Schema::stated(&name, ring.load(header::DIGEST)))
}

/// Returns the ring that a writer left open, if its sizes and schema are these. Any other open ring is marked as
/// replaced, and its readers are woken.
pub fn existing(
    channel: &ShmChannel,
    geometry: &Geometry,
    wanted: &Schema,
    readers: Readers,
) -> Result<Option<WriteMap>, ShmError> {
    let path = channel.ring_path();
    let file = match channel::open(&path, true) {
        Ok(file) => file,
        Err(ShmError::NoChannel { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let words = channel::words(&file, &path)?;
    if words < layout::HEADER_WORDS {
        return Err(Damage::Short.into());
    }
    let map = WriteMap::new(&file, &path, words)?;
    match layout::check_kind(&map, layout::RING_MAGIC) {
        Err(ShmError::Version { .. }) => return Ok(None),
        checked => checked?,
    }
    let is_same = Geometry::read(&map, words)? == *geometry && schema(&map)? == *wanted;
    match map.load(header::STATE) {
        state::OPEN if is_same => {
            channel::permit(&file, &path, readers, false)?;
            Ok(Some(map))
        }
        state::OPEN => {
            map.store(header::STATE, state::REPLACED);
            wake_readers(channel);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Wakes the readers of a replaced ring, as far as its waiters file can be used; without it, they sleep for at most the
/// reader's `SLICE`.
fn wake_readers(channel: &ShmChannel) {
    let path = channel.waiters_path();
    let waiters =
        channel::open(&path, true).and_then(|file| WriteMap::new(&file, &path, WAITERS_WORDS));
    if let Ok(waiters) = waiters {
        bell::wake(&waiters);
    }
}

impl WriterState {
    /// Repairs the channel and makes this process its writer.
    pub(super) fn take_over(&mut self, identity: &ProcessIdentity) -> Result<(), ShmError> {
        self.map_keys()?;
        let head = ring::head(&self.ring)?;
        self.next = self.complete(head)?;
        self.first = self.next;
        // Store the epoch last: a reader that sees it also sees the identity of its writer.
        self.ring.store(header::FIRST, self.first);
        identity.write(&self.ring);
        self.ring.store(header::BARRIER, u64::from(self.fence == FenceStrategy::Rare));
        self.beat();
        self.epoch = self.ring.load(header::EPOCH).wrapping_add(1).max(1);
        self.ring.release();
        self.ring.store(header::EPOCH, self.epoch);
        bell::wake(&self.waiters);
        Ok(())
    }

    /// Completes or drops the sample at the head, and returns the next sequence number.
    fn complete(&mut self, head: u64) -> Result<u64, ShmError> {
        let at = self.geometry.slot(head);
        let lock = self.ring.load(at);
        let previous = head.checked_sub(self.geometry.slots).map_or(cell::EMPTY, cell::written);
        if lock == previous || lock == cell::writing(head) {
            return Ok(head);
        }
        let mut buffer = SampleBuffer::new(self.geometry.sample_bytes);
        match cell::read(&self.ring, at, head, &mut buffer) {
            CellContent::Sample(label) if label.key == NO_KEY => {}
            CellContent::Sample(label) if label.key < self.numbers.len() as u64 => {
                let (segment, at) = self.geometry.entry(label.key);
                values::write(&self.segments[segment].map, at, head, label, buffer.bytes());
            }
            CellContent::Sample(_) => return Err(Damage::Entry.into()),
            CellContent::Lock(_) => return Err(Damage::Head.into()),
            CellContent::Length(_) => return Err(Damage::Length.into()),
        }
        ring::advance(&self.ring, head + 1);
        Ok(head + 1)
    }

    /// Maps the segments, loads the numbers of their keys, and adds the segment of the next keys.
    fn map_keys(&mut self) -> Result<(), ShmError> {
        let keys = values::count(&self.ring);
        if keys > KEYS_MAX || (keys > 0 && self.geometry.key_bytes == 0) {
            return Err(Damage::Entry.into());
        }
        for number in 0..keys {
            let (segment, at) = self.geometry.entry(number);
            if segment == self.segments.len() {
                self.segments.push(self.open_segment(segment)?);
            }
            let key = values::read_key(&self.segments[segment].map, &self.geometry, at)?;
            self.segments[segment].reserve(at + self.geometry.entry_words())?;
            if self.numbers.insert(key.into(), number as u32).is_some() {
                return Err(Damage::Entry.into());
            }
        }
        self.add_segments(self.geometry.segments(keys))
    }
}
