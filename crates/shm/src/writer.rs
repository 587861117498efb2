//! The writer of a channel.

pub(crate) mod takeover;

use crate::bell;
use crate::cell::CellLabel;
use crate::channel::{self, Readers, ShmChannel, WriterLock};
use crate::error::{Damage, ShmError, ShmOperation};
use crate::identity::ProcessIdentity;
use crate::layout::{self, Geometry, KEYS_MAX, NO_KEY, header, segment, state};
use crate::mapping::{FenceStrategy, WriteMap};
use crate::memory::{Memory, MemoryMut};
use crate::schema::Schema;
use crate::{position, ring, system, values};
use std::collections::HashMap;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Most readers that [`ShmWriter::readers`] can count.
pub const READERS_COUNTED_MAX: u32 = 1024;

/// Words of a waiters file: a page of header, and a position for each reader that is counted.
pub(crate) const WAITERS_WORDS: usize = layout::POSITIONS + READERS_COUNTED_MAX as usize;

/// A heartbeat is sent once per this many publishes.
const PUBLISHES_PER_BEAT: u64 = 1024;

/// Sizes and permissions of a channel.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Longest sample in bytes, 1 to 1 MiB.
    pub sample_bytes: usize,
    /// Slots of the ring; rounded up to a power of two. A reader that falls this far behind has a gap.
    pub slots: u64,
    /// Longest key in bytes, at most 256; 0 for no last values.
    pub key_bytes: usize,
    /// Expected number of keys; rounded up to a power of two. There may be more: a file is added whenever their number
    /// doubles.
    pub keys: u64,
    /// Who may read.
    pub readers: Readers,
}

impl Default for WriterOptions {
    /// Samples of 256 bytes, 65,536 slots (18 MiB), keys of 32 bytes, 1024 of them, readable by the group.
    fn default() -> Self {
        Self {
            sample_bytes: 256,
            slots: 1 << 16,
            key_bytes: 32,
            keys: 1 << 10,
            readers: Readers::Group(None),
        }
    }
}

impl WriterOptions {
    fn geometry(&self) -> Result<Geometry, ShmError> {
        let sample_bytes = (self.sample_bytes as u64).checked_next_multiple_of(8);
        let slots = self.slots.max(2).checked_next_power_of_two();
        let keys = self.keys.max(1).checked_next_power_of_two();
        let key_bytes = (self.key_bytes as u64).checked_next_multiple_of(8);
        let sizes = (sample_bytes, slots, key_bytes, keys);
        let (Some(sample_bytes), Some(slots), Some(key_bytes), Some(keys)) = sizes else {
            return Err(ShmError::Sizes);
        };
        Geometry::new(sample_bytes, slots, key_bytes, keys).ok_or(ShmError::Sizes)
    }
}

/// A key of the channel, for [`ShmWriter::publish_keyed`]. It is valid only for the writer that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleKey(u32);

/// Publishes samples. A channel has one writer. To readers, dropping it without [`ShmWriter::finish`] looks like a crash.
#[derive(Debug)]
pub struct ShmWriter(WriterState);

impl ShmWriter {
    /// Opens a channel: creates it, or takes it over from a writer that did not end it if sizes and schema are the
    /// same. If they differ, a new channel takes its name, and readers of the old one get
    /// [`ShmEvent::Replaced`](crate::ShmEvent::Replaced).
    ///
    /// # Errors
    /// [`ShmError::Busy`] while another writer has the channel, [`ShmError::Directory`], [`ShmError::Sizes`],
    /// [`ShmError::Damaged`], and errors of the operating system.
    pub fn open(
        channel: &ShmChannel,
        schema: &Schema,
        options: &WriterOptions,
    ) -> Result<Self, ShmError> {
        WriterState::open(channel, schema, options).map(Self)
    }

    /// Publishes a sample without a key and returns its sequence number.
    ///
    /// # Errors
    /// [`ShmError::SampleLength`]; then nothing is published. [`ShmError::Damaged`] if the ring was truncated: readers get no
    /// more samples. If it has its old length again, this is found only at every 1024th sample.
    #[inline]
    pub fn publish(&mut self, bytes: &[u8]) -> Result<u64, ShmError> {
        self.0.publish(None, bytes)
    }

    /// Publishes a sample, which becomes the last value of its key, and returns its sequence number.
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish), also if the file of the key's last value was truncated; [`ShmError::Key`] for a
    /// key of another writer.
    #[inline]
    pub fn publish_keyed(&mut self, key: SampleKey, bytes: &[u8]) -> Result<u64, ShmError> {
        self.0.publish(Some(key), bytes)
    }

    /// Returns the key with these bytes. A new key gets an entry. Memory for entries is reserved 64 KiB at a time, and a
    /// file is added whenever the number of keys doubles; each takes up to some tenths of a millisecond.
    ///
    /// # Errors
    /// [`ShmError::Key`]; errors of the operating system when memory is reserved or a file is added.
    pub fn key(&mut self, key: &[u8]) -> Result<SampleKey, ShmError> {
        self.0.key(key)
    }

    /// Reserves memory for the first keys now ([`WriterOptions::keys`]), so that these keys can be added even if the file
    /// system fills up later.
    ///
    /// # Errors
    /// [`ShmError::Key`] if the channel has no last values; errors of the operating system.
    pub fn reserve_keys(&mut self) -> Result<(), ShmError> {
        self.0.reserve_keys()
    }

    /// Sends a heartbeat. While nothing is published, call it at least once a second, or let another thread do so
    /// ([`ShmWriter::pulse`]). Readers that cannot see the process have no other sign that the writer lives.
    pub fn beat(&self) {
        self.0.beat();
    }

    /// Returns a handle with which another thread can send heartbeats.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn pulse(&self) -> Result<Pulse, ShmError> {
        let path = self.0.channel.ring_path();
        let file = channel::open(&path, true)?;
        let ring = WriteMap::new(&file, &path, layout::HEADER_WORDS)?;
        let metadata = file.metadata().map_err(|source| ShmError::Io {
            attempt: ShmOperation::Open,
            path: path.clone(),
            source,
        })?;
        Ok(Pulse { ring, path, inode: (metadata.dev(), metadata.ino()) })
    }

    /// Returns the sequence number of the next sample. It continues where a killed writer stopped.
    pub fn next_seq_num(&self) -> u64 {
        self.0.next
    }

    /// Returns the sequence number of this writer's first sample.
    pub fn first_seq_num(&self) -> u64 {
        self.0.first
    }

    /// Returns the number of readers attached now, up to [`READERS_COUNTED_MAX`].
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn readers(&self) -> Result<u32, ShmError> {
        self.0.locked(0..READERS_COUNTED_MAX)
    }

    /// Returns true if the next sample overwrites no sample that a reader has not read yet. Only living readers that state
    /// their position ([`ShmReader::state_position`](crate::ShmReader::state_position)) count. Publishing never waits, whatever
    /// this returns.
    ///
    /// # Errors
    /// Errors of the operating system.
    #[inline]
    pub fn has_room(&mut self) -> Result<bool, ShmError> {
        self.0.has_room()
    }

    /// Returns how many samples the slowest reader has still to read, at most a ring; `None` if no living reader states
    /// its position ([`ShmReader::state_position`](crate::ShmReader::state_position)). A reader does so after each eighth of
    /// the ring and whenever it checks the writer ([`ShmReader::check`](crate::ShmReader::check), or every 100 ms while it
    /// waits), so the number may be up to an eighth of the ring too large until then.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn backlog(&self) -> Result<Option<u64>, ShmError> {
        self.0.backlog()
    }

    /// Stops waiting for the readers that are a whole ring behind: [`has_room`](Self::has_room) ignores each of them
    /// until it states another position.
    pub fn pass_over_slow_readers(&mut self) {
        self.0.pass_over_slow_readers();
    }

    /// Ends the channel: readers get the remaining samples, then [`ShmEvent::Done`](crate::ShmEvent::Done) with the number of
    /// samples; the files are removed.
    ///
    /// # Errors
    /// Errors of the operating system when files are removed; readers have been notified by then.
    pub fn finish(self) -> Result<(), ShmError> {
        self.0.finish()
    }
}

/// Sends heartbeats for a writer, from any thread. Drop it before the writer: readers that cannot see the process take
/// the writer for alive as long as heartbeats arrive.
#[derive(Debug)]
pub struct Pulse {
    ring: WriteMap,
    path: PathBuf,
    /// Device and inode of the ring's file.
    inode: (u64, u64),
}

impl Pulse {
    /// As [`ShmWriter::beat`].
    pub fn beat(&self) {
        beat(&self.ring);
    }

    /// Returns true if the ring's file was removed or replaced. Its readers can still read it, but no reader can open it any
    /// more. systemd-logind removes a user's files in `/dev/shm` when the user logs out (`RemoveIPC`).
    #[must_use]
    pub fn is_removed(&self) -> bool {
        match self.path.symlink_metadata() {
            Ok(metadata) => (metadata.dev(), metadata.ino()) != self.inode,
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }
}

fn beat(ring: &impl MemoryMut) {
    ring.store(header::HEARTBEAT, system::monotonic_ns());
}

/// Number of bytes reserved at a time for entries of last values. Allocating and mapping a page takes about 3 us on a busy
/// machine.
const ENTRIES_RESERVED_BYTES: usize = 64 << 10;
/// Words of a page.
const PAGE_WORDS: usize = 512;

/// A file of last values. Each file has as many entries as all earlier files together, so reserving a whole file at once
/// would stop the writer for longer and longer. Memory is therefore reserved in steps.
#[derive(Debug)]
pub(crate) struct ValuesFile {
    pub map: WriteMap,
    file: File,
    path: PathBuf,
    words: usize,
    /// Words that have memory.
    reserved: usize,
}

impl ValuesFile {
    /// Reserves memory for the words below `until`, and for some more.
    fn reserve(&mut self, until: usize) -> Result<(), ShmError> {
        if until <= self.reserved {
            return Ok(());
        }
        let end = until.max(self.reserved + ENTRIES_RESERVED_BYTES / 8);
        let end = end.next_multiple_of(PAGE_WORDS).min(self.words);
        let reserved = system::reserve(&self.file, self.reserved as u64 * 8..end as u64 * 8);
        reserved.map_err(|source| {
            let (attempt, path) = (ShmOperation::Reserve, self.path.clone());
            ShmError::Io { attempt, path, source }
        })?;
        self.map.populate(self.reserved..end);
        self.reserved = end;
        Ok(())
    }
}

/// State of a writer.
#[derive(Debug)]
pub(crate) struct WriterState {
    channel: ShmChannel,
    lock: WriterLock,
    geometry: Geometry,
    readers: Readers,
    /// Identifier of the ring and of its segments.
    id: u64,
    ring: WriteMap,
    waiters: WriteMap,
    waiters_file: File,
    fence: FenceStrategy,
    segments: Vec<ValuesFile>,
    numbers: HashMap<Box<[u8]>, u32>,
    epoch: u64,
    first: u64,
    /// Sequence number of the next sample.
    pub next: u64,
    /// Samples with numbers below this overwrite no sample that a reader with a position has not read yet.
    room_until: u64,
    /// Place and position of each abandoned reader, for which the writer does not wait.
    passed_over: Vec<(u32, u64)>,
}

impl WriterState {
    pub fn open(
        channel: &ShmChannel,
        schema: &Schema,
        options: &WriterOptions,
    ) -> Result<Self, ShmError> {
        let geometry = options.geometry()?;
        channel.prepare_directory()?;
        let lock = channel.lock_to_write().map_err(|error| match error {
            ShmError::Busy { .. } => ShmError::Busy { pid: takeover::pid(channel) },
            error => error,
        })?;
        let readers = options.readers;
        let identity = ProcessIdentity::own()?;
        let ring = match takeover::existing(channel, &geometry, schema, readers)? {
            Some(ring) => ring,
            // The error is the one that matters; if files stay, the next writer removes them.
            None => create_files(channel, &geometry, schema, readers, &identity)
                .inspect_err(|_| drop(channel.remove_files(&lock)))?,
        };
        let (waiters_file, waiters) = match open_waiters(channel, readers) {
            Ok(opened) => opened,
            Err(_) => {
                create_waiters(channel, readers)?;
                open_waiters(channel, readers)?
            }
        };
        let id = ring.load(header::ID);
        let fence =
            if system::register_barrier() { FenceStrategy::Rare } else { FenceStrategy::Both };
        let mut engine = Self {
            channel: channel.clone(),
            lock,
            geometry,
            readers,
            id,
            ring,
            waiters: waiters.with_fence(fence),
            waiters_file,
            fence,
            segments: Vec::new(),
            numbers: HashMap::new(),
            epoch: 0,
            first: 0,
            next: 0,
            room_until: 0,
            passed_over: Vec::new(),
        };
        engine.take_over(&identity)?;
        Ok(engine)
    }

    #[inline]
    pub fn publish(&mut self, key: Option<SampleKey>, bytes: &[u8]) -> Result<u64, ShmError> {
        let geometry = &self.geometry;
        if bytes.len() > geometry.sample_bytes {
            return Err(ShmError::SampleLength { len: bytes.len(), max: geometry.sample_bytes });
        }
        let key = key.map(|SampleKey(key)| u64::from(key));
        if key.is_some_and(|key| key >= self.numbers.len() as u64) {
            return Err(ShmError::Key);
        }
        let seq_num = self.next;
        ring::prepare(&self.ring, geometry, seq_num, bytes.len());
        bell::prepare(&self.waiters);
        let label = CellLabel {
            len: bytes.len() as u32,
            epoch: self.epoch as u32,
            key: key.unwrap_or(NO_KEY),
        };
        ring::write(&self.ring, geometry, seq_num, label, bytes);
        if let Some(key) = key {
            let (segment, at) = geometry.entry(key);
            values::write(&self.segments[segment].map, at, seq_num, label, bytes);
        }
        ring::advance(&self.ring, seq_num + 1);
        self.next = seq_num + 1;
        bell::ring(&self.waiters);
        // Readers can truncate the waiters file, but not the ring and the segments, and may not stop the writer.
        let is_segment_cut =
            || key.is_some_and(|key| self.segments[geometry.entry(key).0].map.is_cut());
        if self.ring.is_cut() || is_segment_cut() {
            return Err(Damage::Truncated.into());
        }
        if seq_num.is_multiple_of(PUBLISHES_PER_BEAT) {
            self.beat();
            self.check_ids()?;
        }
        Ok(seq_num)
    }

    /// Checks that ring and segments still have their identifier. A file that was truncated and made longer again at
    /// once raises no SIGBUS, but is all zeros.
    fn check_ids(&self) -> Result<(), ShmError> {
        let are_there = self.ring.load(header::ID) == self.id
            && self.segments.iter().all(|segment| segment.map.load(segment::ID) == self.id);
        match are_there {
            true => Ok(()),
            false => Err(Damage::Truncated.into()),
        }
    }

    #[inline]
    pub fn has_room(&mut self) -> Result<bool, ShmError> {
        if self.next >= self.room_until {
            let slowest = self.slowest()?;
            self.room_until = position::limit(&self.geometry, slowest, self.next);
        }
        Ok(self.next < self.room_until)
    }

    /// Returns the smallest position that a living reader states, at most that of the next sample.
    fn slowest(&self) -> Result<u64, ShmError> {
        let mut slowest = self.next;
        for place in position::used_places(&self.waiters) {
            match position::stated(&self.waiters, place) {
                Some(at) if at >= slowest || self.passed_over.contains(&(place, at)) => {}
                Some(at) if self.locked(place..place + 1)? > 0 => slowest = at,
                _ => {}
            }
        }
        Ok(slowest)
    }

    pub fn backlog(&self) -> Result<Option<u64>, ShmError> {
        let mut most = None;
        for place in position::used_places(&self.waiters) {
            let Some(at) = position::stated(&self.waiters, place) else { continue };
            // Samples that are no longer in the ring cannot be read.
            let behind = Some(self.next.saturating_sub(at).min(self.geometry.slots));
            if behind > most && self.locked(place..place + 1)? > 0 {
                most = behind;
            }
        }
        Ok(most)
    }

    pub fn pass_over_slow_readers(&mut self) {
        let full = self.next.saturating_sub(self.geometry.slots);
        let places = position::used_places(&self.waiters)
            .map(|place| (place, position::stated(&self.waiters, place)));
        let slow = places.filter_map(|(place, at)| Some((place, at.filter(|at| *at <= full)?)));
        self.passed_over = slow.collect();
    }

    /// Returns the number of bytes in this range of the waiters file that readers have locked.
    fn locked(&self, places: Range<u32>) -> Result<u32, ShmError> {
        system::locked_bytes(&self.waiters_file, places).map_err(|source| ShmError::Io {
            attempt: ShmOperation::Lock,
            path: self.channel.waiters_path(),
            source,
        })
    }

    pub fn key(&mut self, key: &[u8]) -> Result<SampleKey, ShmError> {
        if let Some(number) = self.numbers.get(key) {
            return Ok(SampleKey(*number));
        }
        let number = self.numbers.len() as u64;
        if key.is_empty() || key.len() > self.geometry.key_bytes || number >= KEYS_MAX {
            return Err(ShmError::Key);
        }
        let (segment, at) = self.geometry.entry(number);
        self.add_segments(segment + 1)?;
        let entry = &mut self.segments[segment];
        entry.reserve(at + self.geometry.entry_words())?;
        values::write_key(&entry.map, &self.geometry, at, key);
        // The file of later keys is not needed yet. If there is no room for it now, the first key that needs it tries again.
        let _ = self.add_segments(self.geometry.segments(number + 1));
        values::publish_key(&self.ring, number + 1);
        self.numbers.insert(key.into(), number as u32);
        Ok(SampleKey(number as u32))
    }

    pub fn reserve_keys(&mut self) -> Result<(), ShmError> {
        match self.segments.first_mut() {
            Some(first) => first.reserve(first.words),
            None => Err(ShmError::Key),
        }
    }

    /// Adds files of last values until there are `count`.
    fn add_segments(&mut self, count: usize) -> Result<(), ShmError> {
        while self.segments.len() < count {
            let number = self.segments.len();
            // A killed writer may have made the file before it had a key. Readers may already have mapped it.
            let segment = match self.open_segment(number) {
                Err(ShmError::NoChannel { .. }) => self.create_segment(number),
                opened => opened,
            }?;
            self.segments.push(segment);
        }
        Ok(())
    }

    fn create_segment(&self, number: usize) -> Result<ValuesFile, ShmError> {
        let Self { channel, readers, .. } = self;
        let (path, words) = (channel.segment_path(number), self.geometry.segment_words(number));
        let sizes = (words, layout::HEADER_WORDS);
        let (map, file) = channel.create(&path, sizes, *readers, false, |file, path| {
            let map = WriteMap::sparse(file, path, words)?;
            map.store(header::MAGIC, layout::SEGMENT_MAGIC);
            map.store(header::VERSION, layout::VERSION);
            map.store(segment::ID, self.id);
            map.store(segment::NUMBER, number as u64);
            let failure = |source| ShmError::Io {
                attempt: ShmOperation::Open,
                path: path.to_owned(),
                source,
            };
            Ok((map, file.try_clone().map_err(failure)?))
        })?;
        Ok(ValuesFile { map, file, path, words, reserved: layout::HEADER_WORDS })
    }

    /// Maps an existing segment and sets its permissions for the current `readers`.
    fn open_segment(&self, number: usize) -> Result<ValuesFile, ShmError> {
        let (path, words) =
            (self.channel.segment_path(number), self.geometry.segment_words(number));
        let file = channel::open(&path, true)?;
        channel::permit(&file, &path, self.readers, false)?;
        let map = WriteMap::sparse(&file, &path, words)?;
        check_segment(&map, self.id, number)?;
        // The reserved length is not known; reserving it again changes nothing.
        Ok(ValuesFile { map, file, path, words, reserved: layout::HEADER_WORDS })
    }

    pub fn beat(&self) {
        beat(&self.ring);
    }

    pub fn finish(self) -> Result<(), ShmError> {
        self.ring.release();
        self.ring.store(header::STATE, state::DONE);
        // A reader that raises its flag only now misses this, and checks again after at most the reader's `SLICE`.
        bell::wake(&self.waiters);
        self.channel.remove_files(&self.lock)
    }
}

/// Creates waiters file and ring and returns the ring.
fn create_files(
    channel: &ShmChannel,
    geometry: &Geometry,
    schema: &Schema,
    readers: Readers,
    identity: &ProcessIdentity,
) -> Result<WriteMap, ShmError> {
    channel.remove_segments()?;
    create_waiters(channel, readers)?;
    create_ring(channel, geometry, schema, readers, identity)
}

fn create_waiters(channel: &ShmChannel, readers: Readers) -> Result<(), ShmError> {
    let sizes = (WAITERS_WORDS, WAITERS_WORDS);
    channel.create(&channel.waiters_path(), sizes, readers, true, |file, path| {
        let map = WriteMap::new(file, path, WAITERS_WORDS)?;
        map.store(header::MAGIC, layout::WAITERS_MAGIC);
        map.store(header::VERSION, layout::VERSION);
        Ok(())
    })
}

fn open_waiters(channel: &ShmChannel, readers: Readers) -> Result<(File, WriteMap), ShmError> {
    let path = channel.waiters_path();
    let file = channel::open(&path, true)?;
    channel::permit(&file, &path, readers, true)?;
    let map = WriteMap::new(&file, &path, WAITERS_WORDS)?;
    layout::check_kind(&map, layout::WAITERS_MAGIC)?;
    Ok((file, map))
}

fn create_ring(
    channel: &ShmChannel,
    geometry: &Geometry,
    schema: &Schema,
    readers: Readers,
    identity: &ProcessIdentity,
) -> Result<WriteMap, ShmError> {
    let words = geometry.ring_words();
    channel.create(&channel.ring_path(), (words, words), readers, false, |file, path| {
        let map = WriteMap::new(file, path, words)?;
        map.store(header::MAGIC, layout::RING_MAGIC);
        map.store(header::VERSION, layout::VERSION);
        map.store(header::SAMPLE_BYTES, geometry.sample_bytes as u64);
        map.store(header::SLOTS, geometry.slots);
        map.store(header::KEY_BYTES, geometry.key_bytes as u64);
        map.store(header::FIRST_KEYS, geometry.first_keys);
        map.store(header::DIGEST, schema.digest());
        map.store(header::NAME_LEN, schema.name().len() as u64);
        map.store_bytes(header::NAME, schema.name().as_bytes());
        map.store(header::ID, system::monotonic_ns());
        map.store(header::STATE, state::OPEN);
        // Without an identity, a reader that finds the ring now would take its writer for a killed one.
        identity.write(&map);
        Ok(map)
    })
}

/// Checks that a file is this channel's segment `number`.
pub(crate) fn check_segment(map: &impl Memory, id: u64, number: usize) -> Result<(), ShmError> {
    layout::check_kind(map, layout::SEGMENT_MAGIC)?;
    match map.load(segment::ID) == id && map.load(segment::NUMBER) == number as u64 {
        true => Ok(()),
        false => Err(Damage::Entry.into()),
    }
}
