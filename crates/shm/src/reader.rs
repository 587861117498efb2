//! A reader of a channel.

mod last_values;

pub use last_values::LastValues;

use crate::cell::{self, SampleBuffer};
use crate::channel::{self, ShmChannel};
use crate::error::{Damage, ShmError, ShmOperation};
use crate::identity::{ProcessIdentity, ProcessPresence};
use crate::layout::{self, Geometry, NO_KEY, header, state};
use crate::mapping::{FenceStrategy, ReadMap, WriteMap};
use crate::memory::Memory;
use crate::position::{self, Position, WORD_BYTES};
use crate::ring::{self, RingCursor, RingStep};
use crate::schema::Schema;
use crate::wait::ReaderWait;
use crate::writer::{READERS_COUNTED_MAX, WAITERS_WORDS};
use crate::{bell, system, writer};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

/// Longest single sleep; after each one the reader checks whether the writer lives.
const SLICE: Duration = Duration::from_millis(100);

/// A writer whose process cannot be seen is declared gone after this time without a sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Polls between two readings of the clock in a spinning wait.
const POLLS_PER_CLOCK: u32 = 64;
/// Most words of a sample, with its header, that a waiting reader fetches at once: 8 cache lines. More would fill the CPU's
/// cache at each poll, and take the lines of a long sample from the writer that is storing it.
const PREFETCHED_WORDS_MAX: usize = 64;

/// The sample at which a reader starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the next sample.
    #[default]
    Now,
    /// The oldest sample that is safely in the ring: at most half a ring back.
    Oldest,
}

/// A sample in the reader's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShmSample<'a> {
    /// Sequence number in the channel; continuous across writers.
    pub seq_num: u64,
    /// Number of the key; [`ShmReader::key`] returns its bytes.
    pub key: Option<u32>,
    /// The sample's bytes.
    pub bytes: &'a [u8],
}

/// An event that a reader finds in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmEvent<'a> {
    /// The next sample.
    Sample(ShmSample<'a>),
    /// The writer lapped the reader: exactly the samples `from..to` are lost to this reader. If the channel has keys,
    /// [`ShmReader::last_values`] returns their current values.
    Gap {
        /// Sequence number of the first lost sample.
        from: u64,
        /// Sequence number of the next sample that the reader gets.
        to: u64,
    },
    /// Another writer took the channel over from a killed one. Samples that the killed writer had
    /// not published yet are missing.
    Restarted {
        /// The writer's epoch.
        epoch: u64,
        /// Sequence number of the reader's next sample. All samples that it has read so far are of earlier writers.
        at: u64,
    },
    /// The writer has ended the channel; nothing follows.
    Done {
        /// Samples of this writer.
        samples: u64,
        /// Samples of the channel: one more than the last sequence number.
        seq_num: u64,
    },
    /// A channel with other sizes or another schema has taken the name; open it again.
    Replaced,
    /// The writer's process has ended without ending the channel, or has given no sign of life for three seconds.
    /// It may have had more to publish. Reported once; samples or [`ShmEvent::Restarted`] may follow.
    WriterGone,
}

/// Result of the checks of the writer's process, and whether it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    No,
    /// Not reported yet.
    Found,
    Said,
}

/// Result of checking the control words.
enum ControlCheck {
    Event(ShmEvent<'static>),
    /// A sample or a gap arrived meanwhile; read again.
    Again,
    Nothing,
}

/// Reads a channel. The ring is mapped read-only.
#[derive(Debug)]
pub struct ShmReader {
    channel: ShmChannel,
    ring: ReadMap,
    geometry: Geometry,
    /// The waiters file, unless this reader only spins or the file is damaged.
    waiters: Option<WriteMap>,
    /// The position that a writer may wait for, if it is stated.
    stated: Option<Stated>,
    /// The lock by which the writer counts this reader.
    counted: Option<CountedLock>,
    wait: ReaderWait,
    buffer: SampleBuffer,
    cursor: RingCursor,
    epoch: u64,
    segments: Vec<ReadMap>,
    is_over: bool,
    gone: Gone,
    /// True if the last check found that the writer's process has ended.
    has_process_ended: bool,
    /// Next sample, and the time since which the reader has waited for it without checking the writer.
    quiet: (u64, Instant),
    /// Head and heartbeat at the last check of the writer, and the time since which both are unchanged.
    seen: (u64, u64, Instant),
}

/// The lock on a byte of the waiters file by which the writer counts a reader.
#[derive(Debug)]
struct CountedLock {
    /// The waiters file; it holds the lock.
    file: File,
    byte: u32,
}

/// A position, which is withdrawn when this value is dropped.
#[derive(Debug)]
struct Stated {
    position: Position,
    waiters: WriteMap,
}

impl Drop for Stated {
    fn drop(&mut self) {
        self.position.withdraw(&self.waiters);
    }
}

impl ShmReader {
    /// Opens a channel.
    ///
    /// # Errors
    /// [`ShmError::Directory`] if someone other than the writer's user may have created the file, [`ShmError::NoChannel`] if
    /// no writer has created the channel yet or it was ended, [`ShmError::Schema`] if the writer's samples have another
    /// type, [`ShmError::Version`], [`ShmError::Damaged`], and errors of the operating system.
    pub fn open(
        channel: &ShmChannel,
        schema: &Schema,
        start: Start,
        wait: ReaderWait,
    ) -> Result<Self, ShmError> {
        let path = channel.ring_path();
        let file = channel::open(&path, false)?;
        channel.check_ring(&file)?;
        let words = channel::words(&file, &path)?;
        if words < layout::HEADER_WORDS {
            return Err(Damage::Short.into());
        }
        let ring = ReadMap::new(&file, &path, words)?;
        layout::check_kind(&ring, layout::RING_MAGIC)?;
        let geometry = Geometry::read(&ring, words)?;
        let written = writer::takeover::schema(&ring)?;
        if written != *schema {
            return Err(ShmError::Schema { written, wanted: schema.clone() });
        }
        if ring.load(header::STATE) != state::OPEN {
            return Err(ShmError::NoChannel { path });
        }
        let (waiters, counted) = attach(channel, &ring, wait)?;
        // Load the epoch first: if a writer takes over after this, the reader reports a restart.
        let epoch = ring.load(header::EPOCH);
        ring.acquire();
        let head = ring::head(&ring)?;
        let next = match start {
            Start::Now => head,
            Start::Oldest => head.saturating_sub(geometry.slots / 2),
        };
        Ok(Self {
            channel: channel.clone(),
            buffer: SampleBuffer::new(geometry.sample_bytes),
            cursor: RingCursor { next },
            quiet: (next, Instant::now()),
            seen: (head, 0, Instant::now()),
            ring,
            geometry,
            waiters,
            stated: None,
            counted,
            wait,
            epoch,
            segments: Vec::new(),
            is_over: false,
            gone: Gone::No,
            has_process_ended: false,
        })
    }

    /// States this reader's position from now on, so that a writer that waits for room does not lap it
    /// ([`ShmWriter::has_room`](crate::ShmWriter::has_room)). Returns false if the writer cannot see the position, because too
    /// many other readers are attached or the file for it was truncated; such a reader can be lapped.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn state_position(&mut self) -> Result<bool, ShmError> {
        let Some(CountedLock { file, byte }) = &self.counted else { return Ok(false) };
        // The channel may have been ended meanwhile, so the file may no longer have a name.
        let waiters = match WriteMap::new(file, &self.channel.waiters_path(), WAITERS_WORDS) {
            Ok(waiters) => waiters,
            Err(ShmError::Damaged(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        position::mark_used(&waiters, *byte);
        let position = Position::new(&waiters, &self.geometry, *byte, self.cursor.next);
        self.stated = Some(Stated { position, waiters });
        Ok(true)
    }

    /// Returns the next event, if there is one; never waits.
    ///
    /// # Errors
    /// [`ShmError::Damaged`] if the file holds values that no writer writes.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<ShmEvent<'_>>, ShmError> {
        // Twice, because a sample may arrive while the control words are read.
        for _ in 0..2 {
            let step = self.cursor.read(&self.ring, &self.geometry, &mut self.buffer)?;
            match step {
                RingStep::Sample(label) if label.epoch == self.epoch as u32 => {
                    let seq_num = self.cursor.next;
                    self.advance(step);
                    let key = (label.key != NO_KEY).then_some(label.key as u32);
                    let bytes = self.buffer.bytes();
                    return Ok(Some(ShmEvent::Sample(ShmSample { seq_num, key, bytes })));
                }
                RingStep::Gap(from, to) => {
                    self.advance(step);
                    return Ok(Some(ShmEvent::Gap { from, to }));
                }
                RingStep::Nothing if !self.is_control_new() => {
                    self.prefetch();
                    return Ok(None);
                }
                RingStep::Sample(_) | RingStep::Nothing => match self.look_at_control()? {
                    ControlCheck::Event(event) => return Ok(Some(event)),
                    ControlCheck::Again => {}
                    ControlCheck::Nothing => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Moves past what was read.
    #[inline]
    fn advance(&mut self, step: RingStep) {
        self.cursor.advance(step);
        self.state_when_due();
    }

    /// States the position if enough samples were read or skipped since the last time.
    #[inline]
    fn state_when_due(&mut self) {
        if let Some(Stated { position, waiters }) = &mut self.stated {
            position.state_when_due(waiters, self.cursor.next);
        }
    }

    /// Returns the next event. Waits as chosen in [`ShmReader::open`]; `None` if none arrives within `timeout`.
    ///
    /// # Errors
    /// As [`ShmReader::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<ShmEvent<'_>>, ShmError> {
        Self::wait_any(&mut [&mut *self], timeout)?;
        self.poll()
    }

    /// Checks the file and the writer now and states the exact position, as a waiting reader does from time to time.
    ///
    /// # Errors
    /// [`ShmError::Damaged`].
    pub fn check(&mut self) -> Result<(), ShmError> {
        self.look_at_writer()
    }

    /// Returns true if the last check of the writer ([`ShmReader::check`], or a wait) found that its process has ended;
    /// always false for a process that cannot be seen from here, however long it is silent. There may still be samples
    /// to read.
    pub fn has_writer_ended(&self) -> bool {
        self.has_process_ended
    }

    /// Returns true if the last check of the writer found that it has gone: its process has ended, or its process
    /// cannot be seen from here and has given no sign of life for three seconds. In the second case it may come back:
    /// its next sign of life makes this false again.
    pub fn is_writer_gone(&self) -> bool {
        self.gone != Gone::No
    }

    /// Returns the sequence number of the next sample.
    pub fn next_seq_num(&self) -> u64 {
        self.cursor.next
    }

    /// Returns the number of samples that are published but not read yet.
    ///
    /// # Errors
    /// [`ShmError::Damaged`].
    pub fn behind(&self) -> Result<u64, ShmError> {
        Ok(ring::head(&self.ring)?.saturating_sub(self.cursor.next))
    }

    /// Returns true if [`ShmReader::poll`] may have an event. Reads only a few words, which stay in the CPU's cache while
    /// nothing happens.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.is_published() || self.is_control_new()
    }

    /// Returns true if the next sample, or one that has overwritten it, is in its slot.
    #[inline]
    fn is_published(&self) -> bool {
        let lock = self.ring.load(self.geometry.slot(self.cursor.next));
        lock >= cell::written(self.cursor.next)
    }

    /// Fetches the first cache lines of the next sample, all at once; without it, they would be fetched only once the lock
    /// has arrived.
    fn prefetch(&self) {
        let words = Geometry::words_of(self.buffer.bytes().len()).min(PREFETCHED_WORDS_MAX);
        self.ring.prefetch(self.geometry.slot(self.cursor.next), words);
    }

    #[inline]
    fn is_control_new(&self) -> bool {
        (self.ring.load(header::STATE) != state::OPEN && !self.is_over)
            || self.ring.load(header::EPOCH) != self.epoch
            || self.gone == Gone::Found
    }

    /// Waits until one of these readers has an event for [`ShmReader::poll`]; the first reader's [`ReaderWait`] applies to
    /// all. Returns false if none arrives within `timeout`.
    ///
    /// # Errors
    /// As [`ShmReader::poll`].
    pub fn wait_any(readers: &mut [&mut Self], timeout: Duration) -> Result<bool, ShmError> {
        let Some(first) = readers.first() else {
            std::thread::sleep(timeout);
            return Ok(false);
        };
        let wait = first.wait;
        // Before the clock is read, which takes as long as reading a sample.
        if readers.iter().any(|reader| reader.is_ready()) {
            return Ok(true);
        }
        let begun = Instant::now();
        let spin = match wait {
            ReaderWait::Block => Duration::ZERO,
            ReaderWait::Spin => timeout,
            ReaderWait::SpinThenBlock(spin) => spin.min(timeout),
        };
        while !readers.iter().any(|reader| reader.is_ready()) {
            let now = Instant::now();
            let left = timeout.saturating_sub(now - begun);
            if left.is_zero() {
                return Ok(false);
            }
            for reader in readers.iter_mut() {
                reader.look_at_writer_when_quiet(now)?;
            }
            match now - begun < spin {
                true => spin_on(readers),
                false => sleep_on(readers, left.min(SLICE).as_nanos() as u64),
            }
        }
        Ok(true)
    }

    /// Checks the writer and states the position once per [`SLICE`] without a sample.
    fn look_at_writer_when_quiet(&mut self, now: Instant) -> Result<(), ShmError> {
        if self.quiet.0 != self.cursor.next {
            self.quiet = (self.cursor.next, now);
        }
        if now - self.quiet.1 >= SLICE {
            self.quiet.1 = now;
            self.look_at_writer()?;
        }
        Ok(())
    }

    /// Returns the event that the control words report, but only after everything that was
    /// published earlier has been read.
    #[cold]
    fn look_at_control(&mut self) -> Result<ControlCheck, ShmError> {
        if self.ring.is_cut() {
            return Err(Damage::Truncated.into());
        }
        if self.is_over {
            return Ok(ControlCheck::Nothing);
        }
        let epoch = self.ring.load(header::EPOCH);
        let state = self.ring.load(header::STATE);
        self.ring.acquire();
        let at = self.cursor.next;
        match self.cursor.read(&self.ring, &self.geometry, &mut self.buffer)? {
            RingStep::Sample(label) if label.epoch == self.epoch as u32 => {
                return Ok(ControlCheck::Again);
            }
            RingStep::Gap(..) => return Ok(ControlCheck::Again),
            // The sample is of a writer between the one that this reader follows and the latest one.
            RingStep::Sample(label) => return self.restart(u64::from(label.epoch), at),
            RingStep::Nothing => {}
        }
        if epoch != self.epoch {
            return self.restart(epoch, at);
        }
        match state {
            state::OPEN if self.gone == Gone::Found => {
                self.gone = Gone::Said;
                Ok(ControlCheck::Event(ShmEvent::WriterGone))
            }
            state::OPEN => Ok(ControlCheck::Nothing),
            state::DONE => {
                let (head, first) = (ring::head(&self.ring)?, self.ring.load(header::FIRST));
                if head != at || first > head {
                    return Err(Damage::Head.into());
                }
                self.is_over = true;
                Ok(ControlCheck::Event(ShmEvent::Done { samples: head - first, seq_num: head }))
            }
            state::REPLACED => {
                self.is_over = true;
                Ok(ControlCheck::Event(ShmEvent::Replaced))
            }
            _ => Err(Damage::Head.into()),
        }
    }

    /// Returns the waiters file if there is one, unless it was truncated meanwhile.
    fn usable_waiters(&self) -> Option<&WriteMap> {
        self.waiters.as_ref().filter(|waiters| !waiters.is_cut())
    }

    fn restart(&mut self, epoch: u64, at: u64) -> Result<ControlCheck, ShmError> {
        // Epochs only rise. Without this check, a damaged file whose epochs repeat would report restarts for ever.
        if epoch <= self.epoch {
            return Err(Damage::Head.into());
        }
        self.follow_waiters()?;
        let was_first = self.epoch == 0;
        self.epoch = epoch;
        let fence = fence(&self.ring);
        self.waiters = self.waiters.take().map(|waiters| waiters.with_fence(fence));
        self.gone = Gone::No;
        self.has_process_ended = false;
        self.seen.2 = Instant::now();
        match was_first {
            // The reader came before the channel's first writer had stored its epoch.
            true => Ok(ControlCheck::Again),
            false => Ok(ControlCheck::Event(ShmEvent::Restarted { epoch, at })),
        }
    }

    /// Goes over to another waiters file if the new writer found the old one damaged and replaced it.
    fn follow_waiters(&mut self) -> Result<(), ShmError> {
        let path = self.channel.waiters_path();
        let inode = |file: &File| file.metadata().map(|metadata| metadata.ino()).ok();
        let attached = self.counted.as_ref().and_then(|counted| inode(&counted.file));
        match channel::open(&path, true) {
            Ok(named) if attached.is_some() && inode(&named) == attached => return Ok(()),
            Ok(_) => {}
            // The channel was ended meanwhile, so no writer uses the file.
            Err(ShmError::NoChannel { .. }) => return Ok(()),
            // A reader that spins works without the file, as when it was opened.
            Err(_) if self.wait == ReaderWait::Spin => return Ok(()),
            Err(error) => return Err(error),
        }
        let was_stated = self.stated.take().is_some();
        (self.waiters, self.counted) = attach(&self.channel, &self.ring, self.wait)?;
        if was_stated {
            self.state_position()?;
        }
        Ok(())
    }

    /// Checks whether the writer lives, and states the position.
    fn look_at_writer(&mut self) -> Result<(), ShmError> {
        if let Some(Stated { position, waiters }) = &mut self.stated {
            position.state_if_changed(waiters, self.cursor.next);
        }
        if self.ring.is_cut() {
            return Err(Damage::Truncated.into());
        }
        self.cursor.check_idle(&self.ring, &self.geometry)?;
        if self.is_over || self.has_process_ended {
            return Ok(());
        }
        let (head, beat) = (ring::head(&self.ring)?, self.ring.load(header::HEARTBEAT));
        if (head, beat) != (self.seen.0, self.seen.1) {
            self.seen = (head, beat, Instant::now());
            // The writer was only silent and is back.
            self.gone = Gone::No;
        }
        let identity = ProcessIdentity::read(&self.ring);
        self.ring.acquire();
        let is_gone = match identity.presence() {
            ProcessPresence::Alive => false,
            // The identity may already be that of a writer that has taken over but not stored its epoch yet.
            ProcessPresence::Gone => {
                self.has_process_ended = self.ring.load(header::EPOCH) == self.epoch;
                self.has_process_ended
            }
            ProcessPresence::Unknown => self.seen.2.elapsed() > SILENCE_MAX,
        };
        if is_gone && self.gone == Gone::No {
            self.gone = Gone::Found;
        }
        Ok(())
    }
}

/// Polls [`POLLS_PER_CLOCK`] times without reading the clock.
///
/// Each poll fetches the first cache lines of the next sample. When the writer takes them, the next poll asks for all of
/// them at once; otherwise it would ask for the lock's line first, and for the others only when the lock has arrived. Where a line
/// takes 150 ns from one CPU to the other, a sample of 200 bytes arrives after 350 instead of 430 ns.
fn spin_on(readers: &[&mut ShmReader]) {
    for _ in 0..POLLS_PER_CLOCK {
        readers.iter().for_each(|reader| reader.prefetch());
        if readers.iter().any(|reader| reader.is_ready()) {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Sleeps until a sample of one of the channels is published. If a reader may not be woken, sleeps for at most
/// [`bell::UNSURE_NS`]: it was opened to spin, so it has no flag to raise; its waiters file is damaged or truncated; or
/// there are too many channels.
fn sleep_on(readers: &[&mut ShmReader], timeout_ns: u64) {
    if let [reader] = readers
        && let Some(waiters) = reader.usable_waiters()
    {
        bell::sleep(waiters, || reader.is_published(), timeout_ns);
        reader.prefetch();
        return;
    }
    let all = || readers.iter().filter_map(|reader| reader.usable_waiters());
    let raised: Vec<_> = all().map(|waiters| (waiters, bell::raise(waiters))).collect();
    // One fence for all channels: the kernel's barrier interrupts the writers' CPUs.
    let fenced = all().find(|waiters| waiters.has_barrier()).or_else(|| all().next());
    let is_fenced = fenced.is_some_and(|waiters| waiters.heavy_fence());
    if readers.iter().any(|reader| reader.is_published()) {
        return;
    }
    let is_sure = is_fenced && raised.len() == readers.len() && raised.len() <= system::FUTEXES_MAX;
    let timeout_ns = if is_sure { timeout_ns } else { timeout_ns.min(bell::UNSURE_NS) };
    match raised.is_empty() {
        true => std::thread::sleep(Duration::from_nanos(timeout_ns)),
        false => WriteMap::sleep_any(&raised, bell::FLAG, timeout_ns),
    }
}

/// Opens the waiters file, unless the reader only spins, and takes the lock by which the writer counts the reader.
fn attach(
    channel: &ShmChannel,
    ring: &ReadMap,
    wait: ReaderWait,
) -> Result<(Option<WriteMap>, Option<CountedLock>), ShmError> {
    match wait {
        ReaderWait::Spin => Ok((None, take_place(channel).ok().flatten())),
        _ => Ok((open_waiters(channel, ring)?, take_place(channel)?)),
    }
}

/// Opens the waiters file; `None` if it is damaged. Every reader may write to that file, so damage must not keep others
/// from reading: they are only woken late.
fn open_waiters(channel: &ShmChannel, ring: &ReadMap) -> Result<Option<WriteMap>, ShmError> {
    let path = channel.waiters_path();
    let map = WriteMap::new(&channel::open(&path, true)?, &path, WAITERS_WORDS);
    let checked = map.and_then(|map| {
        layout::check_kind(&map, layout::WAITERS_MAGIC)?;
        Ok(map.with_fence(fence(ring)))
    });
    match checked {
        Ok(map) => Ok(Some(map)),
        Err(ShmError::Damaged(_) | ShmError::Version { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns which side pays for the fence between raising the flag and checking the head; the writer states it in the
/// ring.
fn fence(ring: &ReadMap) -> FenceStrategy {
    match ring.load(header::BARRIER) {
        0 => FenceStrategy::Both,
        _ => FenceStrategy::Rare,
    }
}

/// Takes one of the locks by which the writer counts readers; `None` if all are taken. The kernel releases it when the
/// reader's process ends, even by SIGKILL. A position that a killed reader has left there is withdrawn.
fn take_place(channel: &ShmChannel) -> Result<Option<CountedLock>, ShmError> {
    let path = channel.waiters_path();
    let file = channel::open(&path, true)?;
    for byte in 0..READERS_COUNTED_MAX {
        let is_taken = system::lock_byte(&file, byte);
        let failure =
            |source| ShmError::Io { attempt: ShmOperation::Lock, path: path.clone(), source };
        if is_taken.map_err(failure)? {
            let withdrawn = file.write_all_at(&[0; WORD_BYTES], position::offset(byte));
            withdrawn.map_err(failure)?;
            return Ok(Some(CountedLock { file, byte }));
        }
    }
    Ok(None)
}
