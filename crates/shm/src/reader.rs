//! A reader of a channel.

mod last_values;

pub use last_values::LastValues;

use crate::cell::{self, Buffer};
use crate::channel::{self, Channel};
use crate::error::{Attempt, Damage, Error};
use crate::identity::{Identity, Presence};
use crate::layout::{self, Geometry, NO_KEY, header, state};
use crate::mapping::{Fence, ReadMap, WriteMap};
use crate::memory::Memory;
use crate::ring::{self, Cursor, Step};
use crate::schema::Schema;
use crate::wait::ReaderWait;
use crate::writer::{READERS_COUNTED_MAX, WAITERS_WORDS};
use crate::{bell, system, writer};
use std::fs::File;
use std::time::{Duration, Instant};

/// Longest sleep in one piece: after it the reader looks whether the writer lives.
const SLICE: Duration = Duration::from_millis(100);

/// A writer that cannot be seen is taken for gone after this time without a sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Polls in a spinning wait between two looks at the clock.
const POLLS_PER_CLOCK: u32 = 64;

/// Where a reader begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the next sample.
    #[default]
    Now,
    /// With the oldest sample that is safely in the ring: at most half a ring back.
    Oldest,
}

/// A sample in the reader's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Its sequence number in the channel, without holes over all writers.
    pub seq_num: u64,
    /// Its key's number; [`Reader::key`] has the bytes.
    pub key: Option<u32>,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// What a reader finds in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next sample.
    Sample(Sample<'a>),
    /// The writer was a ring ahead: samples `from` to before `to` are lost to this reader, exactly these. Where there
    /// are keys, [`Reader::last_values`] brings their state.
    Gap {
        /// First sample that is lost.
        from: u64,
        /// The sample that comes next.
        to: u64,
    },
    /// A writer took the channel over from one that was killed, which may have had more to publish.
    Restarted {
        /// The writer's epoch.
        epoch: u64,
        /// Sequence number from which on the channel is the new writer's, or before which it was the old one's.
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
    /// The writer's process has ended without ending the channel, or has given no sign of life for three seconds. What it
    /// had still to publish is unknown. Said once; samples or [`Event::Restarted`] may follow.
    WriterGone,
}

/// What is known of the writer's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    No,
    /// Still to be said.
    Found,
    Said,
}

/// What a look at the control words found.
enum Control {
    Event(Event<'static>),
    /// A sample or a gap came meanwhile.
    Again,
    Nothing,
}

/// Reads a channel without the writer's knowing: its memory is mapped read-only.
#[derive(Debug)]
pub struct Reader {
    channel: Channel,
    ring: ReadMap,
    geometry: Geometry,
    waiters: Option<WriteMap>,
    /// Keeps the place by which the writer counts readers.
    _place: Option<File>,
    wait: ReaderWait,
    buffer: Buffer,
    cursor: Cursor,
    epoch: u64,
    segments: Vec<ReadMap>,
    is_over: bool,
    gone: Gone,
    /// The last look found that the writer's process has ended.
    has_process_ended: bool,
    /// Next sample, and since when it has been waited for without a look at the writer.
    quiet: (u64, Instant),
    /// What the last look at the writer found: head, heartbeat, and since when they are the same.
    seen: (u64, u64, Instant),
}

impl Reader {
    /// Opens a channel.
    ///
    /// # Errors
    /// [`Error::Directory`] where others than the writer's user may have made the file. [`Error::NoChannel`] before its writer has made it and after it was ended, [`Error::Schema`] where the writer's
    /// samples are of another type, [`Error::Version`], [`Error::Damaged`], and what the operating system refuses.
    pub fn open(
        channel: &Channel,
        schema: &Schema,
        start: Start,
        wait: ReaderWait,
    ) -> Result<Self, Error> {
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
            return Err(Error::Schema { written, wanted: schema.clone() });
        }
        if ring.load(header::STATE) != state::OPEN {
            return Err(Error::NoChannel { path });
        }
        let (waiters, place) = match wait {
            ReaderWait::Spin => (None, take_place(channel).ok().flatten()),
            _ => (Some(open_waiters(channel, &ring)?), take_place(channel)?),
        };
        // The epoch first: a writer that takes over behind it is a restart that is told.
        let epoch = ring.load(header::EPOCH);
        ring.acquire();
        let head = ring::head(&ring)?;
        let next = match start {
            Start::Now => head,
            Start::Oldest => head.saturating_sub(geometry.slots / 2),
        };
        Ok(Self {
            channel: channel.clone(),
            buffer: Buffer::new(geometry.sample_bytes),
            cursor: Cursor { next },
            quiet: (next, Instant::now()),
            seen: (head, 0, Instant::now()),
            ring,
            geometry,
            waiters,
            _place: place,
            wait,
            epoch,
            segments: Vec::new(),
            is_over: false,
            gone: Gone::No,
            has_process_ended: false,
        })
    }

    /// The next event, if there is one; never waits.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file holds what no writer writes.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Event<'_>>, Error> {
        // The second time for a sample that came while the control words were read.
        for _ in 0..2 {
            let step = self.cursor.read(&self.ring, &self.geometry, &mut self.buffer)?;
            match step {
                Step::Sample(label) if label.epoch == self.epoch as u32 => {
                    let seq_num = self.cursor.next;
                    self.cursor.advance(step);
                    let key = (label.key != NO_KEY).then_some(label.key as u32);
                    let bytes = self.buffer.bytes();
                    return Ok(Some(Event::Sample(Sample { seq_num, key, bytes })));
                }
                Step::Gap(from, to) => {
                    self.cursor.advance(step);
                    return Ok(Some(Event::Gap { from, to }));
                }
                Step::Nothing if !self.is_control_new() => return Ok(None),
                Step::Sample(_) | Step::Nothing => match self.look_at_control()? {
                    Control::Event(event) => return Ok(Some(event)),
                    Control::Again => {}
                    Control::Nothing => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// The next event, waiting for it as the reader was told to when it was opened; `None` if none comes within `timeout`.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<Event<'_>>, Error> {
        Self::wait_any(&mut [&mut *self], timeout)?;
        self.poll()
    }

    /// Looks at the file and the writer now, as a reader that waits does from time to time.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn check(&mut self) -> Result<(), Error> {
        self.look_at_writer()
    }

    /// Whether the last look at the writer ([`Reader::check`], or a wait) found that its process has ended. False for a
    /// process that cannot be seen from here, however long it is silent. Samples may still wait to be read.
    pub fn has_writer_ended(&self) -> bool {
        self.has_process_ended
    }

    /// Whether the last look at the writer found that it has gone: its process has ended, or it cannot be seen from here and
    /// has given no sign of life for three seconds. One that was only silent is there again with its next sign.
    pub fn is_writer_gone(&self) -> bool {
        self.gone != Gone::No
    }

    /// Sequence number of the next sample.
    pub fn next_seq_num(&self) -> u64 {
        self.cursor.next
    }

    /// Samples that are published and not yet read.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn behind(&self) -> Result<u64, Error> {
        Ok(ring::head(&self.ring)?.saturating_sub(self.cursor.next))
    }

    /// Whether [`Reader::poll`] has something to say, by two words that stay in the CPU's cache while nothing happens.
    #[inline]
    fn is_ready(&self) -> bool {
        let lock = self.ring.load(self.geometry.slot(self.cursor.next));
        lock >= cell::written(self.cursor.next) || self.is_control_new()
    }

    #[inline]
    fn is_control_new(&self) -> bool {
        (self.ring.load(header::STATE) != state::OPEN && !self.is_over)
            || self.ring.load(header::EPOCH) != self.epoch
            || self.gone == Gone::Found
    }

    /// Waits until one of these readers has an event for [`Reader::poll`], as the first of them was told to wait; false if
    /// none comes within `timeout`.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn wait_any(readers: &mut [&mut Self], timeout: Duration) -> Result<bool, Error> {
        let Some(first) = readers.first() else {
            std::thread::sleep(timeout);
            return Ok(false);
        };
        let begun = Instant::now();
        let spin = match first.wait {
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

    /// Looks at the writer once for every slice of time without a sample.
    fn look_at_writer_when_quiet(&mut self, now: Instant) -> Result<(), Error> {
        if self.quiet.0 != self.cursor.next {
            self.quiet = (self.cursor.next, now);
        }
        if now - self.quiet.1 >= SLICE {
            self.quiet.1 = now;
            self.look_at_writer()?;
        }
        Ok(())
    }

    /// Tells what the control words say, once everything that was published before is read.
    #[cold]
    fn look_at_control(&mut self) -> Result<Control, Error> {
        if self.ring.is_cut() {
            return Err(Damage::Truncated.into());
        }
        if self.is_over {
            return Ok(Control::Nothing);
        }
        let epoch = self.ring.load(header::EPOCH);
        let state = self.ring.load(header::STATE);
        self.ring.acquire();
        let at = self.cursor.next;
        match self.cursor.read(&self.ring, &self.geometry, &mut self.buffer)? {
            Step::Sample(label) if label.epoch == self.epoch as u32 => return Ok(Control::Again),
            Step::Gap(..) => return Ok(Control::Again),
            // A writer's life between this reader's and the last one.
            Step::Sample(label) => return self.restart(u64::from(label.epoch), at),
            Step::Nothing => {}
        }
        if epoch != self.epoch {
            return self.restart(epoch, at);
        }
        match state {
            state::OPEN if self.gone == Gone::Found => {
                self.gone = Gone::Said;
                Ok(Control::Event(Event::WriterGone))
            }
            state::OPEN => Ok(Control::Nothing),
            state::DONE => {
                let (head, first) = (ring::head(&self.ring)?, self.ring.load(header::FIRST));
                if head != at || first > head {
                    return Err(Damage::Head.into());
                }
                self.is_over = true;
                Ok(Control::Event(Event::Done { samples: head - first, seq_num: head }))
            }
            state::REPLACED => {
                self.is_over = true;
                Ok(Control::Event(Event::Replaced))
            }
            _ => Err(Damage::Head.into()),
        }
    }

    fn restart(&mut self, epoch: u64, at: u64) -> Result<Control, Error> {
        // Epochs rise; a file whose epochs go round would be said to restart for ever.
        if epoch <= self.epoch {
            return Err(Damage::Head.into());
        }
        self.epoch = epoch;
        let fence = fence(&self.ring);
        self.waiters = self.waiters.take().map(|waiters| waiters.with_fence(fence));
        self.gone = Gone::No;
        self.has_process_ended = false;
        self.seen.2 = Instant::now();
        Ok(Control::Event(Event::Restarted { epoch, at }))
    }

    /// Looks whether the writer lives.
    fn look_at_writer(&mut self) -> Result<(), Error> {
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
            // One that was only silent is there again.
            self.gone = Gone::No;
        }
        let identity = Identity::read(&self.ring);
        self.ring.acquire();
        let is_gone = match identity.presence() {
            Presence::Alive => false,
            // Unless the identity is that of a writer that is about to take over.
            Presence::Gone => {
                self.has_process_ended = self.ring.load(header::EPOCH) == self.epoch;
                self.has_process_ended
            }
            Presence::Unknown => self.seen.2.elapsed() > SILENCE_MAX,
        };
        if is_gone && self.gone == Gone::No {
            self.gone = Gone::Found;
        }
        Ok(())
    }
}

/// Polls for a while without looking at the clock.
fn spin_on(readers: &[&mut Reader]) {
    for _ in 0..POLLS_PER_CLOCK {
        if readers.iter().any(|reader| reader.is_ready()) {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Sleeps until one of the channels' heads moves. A reader that was opened to spin has no flag to raise.
fn sleep_on(readers: &[&mut Reader], timeout_ns: u64) {
    if let [reader] = readers
        && let Some(waiters) = &reader.waiters
    {
        bell::sleep(&reader.ring, waiters, reader.cursor.next, timeout_ns);
        return;
    }
    let mut words = Vec::new();
    for reader in readers {
        if let Some(waiters) = &reader.waiters {
            match bell::prepare_sleep(&reader.ring, waiters, reader.cursor.next) {
                Some(head) => words.push((&reader.ring, header::HEAD, head)),
                None => return,
            }
        }
    }
    ReadMap::sleep_any(&words, timeout_ns);
}

fn open_waiters(channel: &Channel, ring: &ReadMap) -> Result<WriteMap, Error> {
    let path = channel.waiters_path();
    let map = WriteMap::new(&channel::open(&path, true)?, &path, WAITERS_WORDS)?;
    layout::check_kind(&map, layout::WAITERS_MAGIC)?;
    Ok(map.with_fence(fence(ring)))
}

/// Who pays for the fence between raising the flag and looking at the head: the writer says.
fn fence(ring: &ReadMap) -> Fence {
    match ring.load(header::BARRIER) {
        0 => Fence::Both,
        _ => Fence::Rare,
    }
}

/// Takes one of the places by which the writer counts readers; `None` if all are taken. The kernel gives it back when
/// the reader ends, however it ends.
fn take_place(channel: &Channel) -> Result<Option<File>, Error> {
    let path = channel.waiters_path();
    let file = channel::open(&path, true)?;
    for place in 0..READERS_COUNTED_MAX {
        let is_taken = system::lock_byte(&file, place);
        let failure = |source| Error::Io { attempt: Attempt::Lock, path: path.clone(), source };
        if is_taken.map_err(failure)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}
