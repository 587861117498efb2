//! Layout of the files: the index of each word, and the checks of the sizes that a file states.
//!
//! Everything is in 64-bit little-endian words. `docs/shared-memory.md` has the same as tables.

use crate::error::{Damage, ShmError};
use crate::memory::Memory;

/// First word of a ring file: `TWRING` and two zeros.
pub const RING_MAGIC: u64 = u64::from_le_bytes(*b"TWRING\0\0");
/// First word of a segment of last values.
pub const SEGMENT_MAGIC: u64 = u64::from_le_bytes(*b"TWVALUE\0");
/// First word of a waiters file.
pub const WAITERS_MAGIC: u64 = u64::from_le_bytes(*b"TWWAIT\0\0");
/// Version of all layouts.
pub const VERSION: u64 = 4;

/// Words of the ring file's header.
pub mod header {
    /// [`super::RING_MAGIC`].
    pub const MAGIC: usize = 0;
    /// [`super::VERSION`].
    pub const VERSION: usize = 1;
    /// Longest sample in bytes.
    pub const SAMPLE_BYTES: usize = 2;
    /// Slots of the ring.
    pub const SLOTS: usize = 3;
    /// Longest key in bytes; 0 without last values.
    pub const KEY_BYTES: usize = 4;
    /// Keys of the first segment of last values.
    pub const FIRST_KEYS: usize = 5;
    /// Digest of the schema.
    pub const DIGEST: usize = 6;
    /// Bytes of the schema's name.
    pub const NAME_LEN: usize = 7;
    /// The schema's name, [`super::NAME_BYTES_MAX`] bytes.
    pub const NAME: usize = 8;
    /// Distinguishes this file from earlier files of the same name; segments state it too.
    pub const ID: usize = 24;
    /// Epoch of the writer, from 1; each writer that takes the file over increments it.
    pub const EPOCH: usize = 32;
    /// One of [`super::state`].
    pub const STATE: usize = 33;
    /// First sequence number of the epoch.
    pub const FIRST: usize = 34;
    /// Keys that have an entry.
    pub const KEYS: usize = 35;
    /// The writer's process.
    pub const PID: usize = 36;
    /// When that process started, in clock ticks since boot.
    pub const PID_START: usize = 37;
    /// Inode of its process namespace.
    pub const PID_NAMESPACE: usize = 38;
    /// The boot's identifier, 16 bytes.
    pub const BOOT: usize = 40;
    /// 1 if sleepers must run a barrier on the writer's CPU; 0 if the writer executes a fence in each publish.
    pub const BARRIER: usize = 42;
    /// Next sequence number to be published. It has cache lines of its own, because every publish writes it.
    pub const HEAD: usize = 64;
    /// Time of the writer's last sign of life, in ns of the monotonic clock.
    pub const HEARTBEAT: usize = 80;
}

/// Words of a segment's header, after magic number and version.
pub mod segment {
    /// The ring file's [`super::header::ID`].
    pub const ID: usize = 2;
    /// The segment's number.
    pub const NUMBER: usize = 3;
}

/// States of a channel.
pub mod state {
    /// A writer has the channel open, or died without ending it.
    pub const OPEN: u64 = 1;
    /// Its writer has ended it; nothing follows.
    pub const DONE: u64 = 2;
    /// Another file, with other sizes or another schema, has taken its name.
    pub const REPLACED: u64 = 3;
}

/// Longest schema name in bytes.
pub const NAME_BYTES_MAX: usize = 128;
/// Words before the first slot and before the first entry: one page.
pub const HEADER_WORDS: usize = 512;
/// Index of the first position in a waiters file, after its header; each reader that the writer counts has a word.
pub const POSITIONS: usize = HEADER_WORDS;
/// Index in a waiters file of the word whose bit b is set once a reader with one of the places 16b to 16b + 15 has stated a
/// position.
pub const POSITIONS_USED: usize = 16;
/// Words of a slot or an entry before its bytes: lock, length and epoch, key.
pub const CELL_HEADER_WORDS: usize = 3;
/// Largest sample in bytes.
pub const SAMPLE_BYTES_MAX: u64 = 1 << 20;
/// Largest key in bytes.
pub const KEY_BYTES_MAX: u64 = 256;
/// Most slots of a ring.
pub const SLOTS_MAX: u64 = 1 << 26;
/// Most keys of a channel.
pub const KEYS_MAX: u64 = 1 << 24;
/// Sequence numbers stay below this, so that locks (twice the number) cannot overflow.
pub const SEQ_NUM_LIMIT: u64 = 1 << 60;
/// Size of the largest file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 40;
/// Key of a slot whose sample has none.
pub const NO_KEY: u64 = u64::MAX;

/// Sizes of a channel, checked: every index computed from them is inside a file of [`Geometry::ring_words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Longest sample in bytes; a multiple of 8.
    pub sample_bytes: usize,
    /// Slots of the ring; a power of two, at least 2.
    pub slots: u64,
    /// Longest key in bytes; a multiple of 8, or 0 without last values.
    pub key_bytes: usize,
    /// Keys of the first segment; a power of two.
    pub first_keys: u64,
}

impl Geometry {
    /// Checks the sizes that a file states; `None` if they are out of range.
    pub fn new(sample_bytes: u64, slots: u64, key_bytes: u64, first_keys: u64) -> Option<Self> {
        let is_valid = (8..=SAMPLE_BYTES_MAX).contains(&sample_bytes)
            && sample_bytes.is_multiple_of(8)
            && (2..=SLOTS_MAX).contains(&slots)
            && slots.is_power_of_two()
            && key_bytes <= KEY_BYTES_MAX
            && key_bytes.is_multiple_of(8)
            && (1..=KEYS_MAX).contains(&first_keys)
            && first_keys.is_power_of_two();
        let geometry = Self {
            sample_bytes: sample_bytes as usize,
            slots,
            key_bytes: key_bytes as usize,
            first_keys,
        };
        // No product overflows: 2^26 slots of at most 2^17 + 11 words.
        let fits = is_valid && geometry.ring_words() as u64 * 8 <= FILE_BYTES_MAX;
        fits.then_some(geometry)
    }

    /// Reads the sizes in a header and checks them against the file's length.
    pub fn read(ring: &impl Memory, len_words: usize) -> Result<Self, Damage> {
        let [sample_bytes, slots, key_bytes, first_keys] =
            [header::SAMPLE_BYTES, header::SLOTS, header::KEY_BYTES, header::FIRST_KEYS]
                .map(|index| ring.load(index));
        let geometry =
            Self::new(sample_bytes, slots, key_bytes, first_keys).ok_or(Damage::Sizes)?;
        match geometry.ring_words() <= len_words {
            true => Ok(geometry),
            false => Err(Damage::Short),
        }
    }

    /// Returns the number of words of a slot, rounded up to whole cache lines.
    fn slot_words(&self) -> usize {
        (CELL_HEADER_WORDS + self.sample_bytes / 8).next_multiple_of(8)
    }

    /// Returns the number of words of an entry of last values: a cell, then the key's length and bytes, rounded up to
    /// cache lines.
    pub fn entry_words(&self) -> usize {
        (CELL_HEADER_WORDS + self.sample_bytes / 8 + 1 + self.key_bytes / 8).next_multiple_of(8)
    }

    /// Returns the number of words of the ring file.
    pub fn ring_words(&self) -> usize {
        HEADER_WORDS + self.slots as usize * self.slot_words()
    }

    /// Returns the index of the first word of the slot of a sequence number.
    pub fn slot(&self, seq_num: u64) -> usize {
        HEADER_WORDS + (seq_num & (self.slots - 1)) as usize * self.slot_words()
    }

    /// Returns the number of words that a sample of `len` bytes takes in a slot.
    pub fn words_of(len: usize) -> usize {
        CELL_HEADER_WORDS + len.div_ceil(8)
    }

    /// Returns a key's segment and the index of its entry's first word there. Segments have c, c, 2c, 4c, .. entries,
    /// where c is the size of the first one, so entries never move.
    pub fn entry(&self, key: u64) -> (usize, usize) {
        let segment = match key / self.first_keys {
            0 => 0,
            multiple => multiple.ilog2() as usize + 1,
        };
        let index = (key - self.first_key(segment)) as usize;
        (segment, HEADER_WORDS + index * self.entry_words())
    }

    /// Returns the first key of a segment.
    fn first_key(&self, segment: usize) -> u64 {
        match segment {
            0 => 0,
            _ => self.first_keys << (segment - 1),
        }
    }

    /// Returns the number of keys of a segment.
    pub fn segment_keys(&self, segment: usize) -> u64 {
        match segment {
            0 => self.first_keys,
            _ => self.first_key(segment),
        }
    }

    /// Returns the number of segments that a writer has made once it has this many keys. The last of them is still empty
    /// when the one before it begins to fill, so a reader can map it long before it is used.
    pub fn segments(&self, keys: u64) -> usize {
        match self.key_bytes {
            0 => 0,
            _ => self.entry((2 * keys).min(KEYS_MAX - 1)).0 + 1,
        }
    }

    /// Returns the number of words of a segment's file.
    pub fn segment_words(&self, segment: usize) -> usize {
        HEADER_WORDS + self.segment_keys(segment) as usize * self.entry_words()
    }

    /// Returns the offset of the key (its length, then its bytes) from the first word of an entry.
    pub fn key_offset(&self) -> usize {
        CELL_HEADER_WORDS + self.sample_bytes / 8
    }
}

/// Checks the magic number and the version of a file.
pub fn check_kind(memory: &impl Memory, magic: u64) -> Result<(), ShmError> {
    if memory.load(header::MAGIC) != magic {
        return Err(ShmError::Damaged(Damage::Magic));
    }
    match memory.load(header::VERSION) {
        VERSION => Ok(()),
        found => Err(ShmError::Version { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Geometry, KEYS_MAX};

    #[test]
    fn entries_of_all_keys_are_inside_their_segments_and_apart() {
        let geometry = Geometry::new(32, 8, 16, 4).unwrap();
        let mut last = None;
        for key in 0..200 {
            let (segment, word) = geometry.entry(key);
            let end = word + geometry.entry_words();
            assert!(end <= geometry.segment_words(segment), "key {key}");
            if let Some((segment_before, end_before)) = last {
                let begins = segment == segment_before && word == end_before;
                assert!(begins || (segment == segment_before + 1 && word == super::HEADER_WORDS));
            }
            last = Some((segment, end));
        }
        assert_eq!(last.unwrap().0, 6, "4, 4, 8, 16, 32, 64, 128 keys");
        assert_eq!(
            [0, 1, 2, 3, 4, 7, 8].map(|keys| geometry.segments(keys)),
            [1, 1, 2, 2, 3, 3, 4]
        );
        let largest = geometry.entry(KEYS_MAX - 1).0;
        assert_eq!(geometry.segments(KEYS_MAX), largest + 1);
    }

    #[test]
    fn sizes_that_would_overflow_or_do_not_fit_are_refused() {
        assert!(Geometry::new(1 << 20, 1 << 26, 0, 1).is_none(), "2^46 bytes");
        assert!(Geometry::new(0, 8, 0, 1).is_none());
        assert!(Geometry::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX).is_none());
        assert!(Geometry::new(200, 3, 0, 1).is_none());
        assert!(Geometry::new(200, 1, 0, 1).is_none());
        assert!(Geometry::new(200, 1 << 16, 32, 1024).is_some());
    }
}
