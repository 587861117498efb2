//! Last values by key. Each key has an entry, in segments that are added while the channel runs.
//!
//! Keys are numbered in the order in which they first appear, and an entry's position follows from its key's number.
//! Nothing ever moves: a reader maps a segment once, and no table is rehashed. Each process looks up the numbers of
//! keys in a hash map in its own memory.
//!
//! The writer writes sample n into the ring, then into its key's entry, and then advances the head to n + 1. A reader
//! that joins loads the head, S, and then walks the entries:
//! - An entry whose lock is that of a sample below S has that key's last value at S: all samples below S are in their
//!   entries.
//! - An entry whose lock is that of a later sample is left out, because the reader gets that sample from the ring, from
//!   S on.
//!
//! The walk never waits: if an entry is being written, its sample is already in the ring.

use crate::cell::{self, CellContent, CellLabel, SampleBuffer};
use crate::error::Damage;
use crate::layout::{Geometry, header};
use crate::memory::{Memory, MemoryMut};

/// Writes sample `seq_num` as the last value of the entry at `at`.
#[inline]
pub fn write(segment: &impl MemoryMut, at: usize, seq_num: u64, label: CellLabel, bytes: &[u8]) {
    cell::write(segment, at, seq_num, label, bytes);
}

/// Writes the entry of a new key, without a value. Readers see it once [`publish_key`] has counted it.
pub fn write_key(segment: &impl MemoryMut, geometry: &Geometry, at: usize, key: &[u8]) {
    segment.store(at, cell::EMPTY);
    segment.store(at + geometry.key_offset(), key.len() as u64);
    segment.store_bytes(at + geometry.key_offset() + 1, key);
}

/// Publishes the first `keys` entries to readers.
pub fn publish_key(ring: &impl MemoryMut, keys: u64) {
    ring.release();
    ring.store(header::KEYS, keys);
}

/// Returns the number of keys that have an entry. Each of these entries has its key.
pub fn count(ring: &impl Memory) -> u64 {
    let keys = ring.load(header::KEYS);
    ring.acquire();
    keys
}

/// Reads an entry's key.
pub fn read_key(segment: &impl Memory, geometry: &Geometry, at: usize) -> Result<Vec<u8>, Damage> {
    let len = segment.load(at + geometry.key_offset());
    if len == 0 || len > geometry.key_bytes as u64 {
        return Err(Damage::Length);
    }
    let mut key = vec![0; len as usize];
    segment.load_bytes(at + geometry.key_offset() + 1, &mut key);
    Ok(key)
}

/// Copies an entry's value as of `head` into the buffer, and returns its sequence number and label. `None` if the entry
/// has no value yet, or if its sample is in the ring at `head` or later.
pub fn read(
    segment: &impl Memory,
    at: usize,
    head: u64,
    buffer: &mut SampleBuffer,
) -> Result<Option<(u64, CellLabel)>, Damage> {
    let lock = segment.load(at);
    if lock == cell::EMPTY || lock > 2 * head {
        return Ok(left_out(segment));
    }
    // The lock is at most 2 * head, so it is of a sample below the head, and those are no longer being written.
    if !lock.is_multiple_of(2) {
        return Err(Damage::Entry);
    }
    let seq_num = lock / 2 - 1;
    match cell::read(segment, at, seq_num, buffer) {
        CellContent::Sample(label) => Ok(Some((seq_num, label))),
        CellContent::Lock(later) if later > 2 * head => Ok(left_out(segment)),
        CellContent::Lock(_) => Err(Damage::Entry),
        CellContent::Length(_) => Err(Damage::Length),
    }
}

/// Leaves an entry out. The fence ensures that the caller then finds the entry's sample in the ring.
fn left_out<T>(segment: &impl Memory) -> Option<T> {
    segment.acquire();
    None
}
