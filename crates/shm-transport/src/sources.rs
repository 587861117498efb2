//! The channels of a reader's topic: found, read in turn, left when they are done.

use crate::config::ShmConfig;
use crate::error::Error;
use crate::{name, sample};
use std::collections::{HashSet, VecDeque};
use std::io::ErrorKind;
use std::ops::Range;
use std::time::{Duration, Instant};
use tickwire_distribution::{InstanceState, ParticipantId, SampleInfo};
use tickwire_shm::{
    Channel, Error as ShmError, Event, LastValues, Reader, Sample, Schema, Start, check_directory,
};

/// Time between two looks into the directory.
const SCAN: Duration = Duration::from_millis(20);
/// Time between two looks whether writers live: each reads a few files of `/proc`.
const CHECK: Duration = Duration::from_millis(100);
/// Samples taken between two looks at the clock.
const TAKES_PER_CLOCK: u32 = 256;

/// A channel that is read.
#[derive(Debug)]
struct Source {
    reader: Reader,
    name: String,
    participant: ParticipantId,
    writer: u64,
    /// Samples that were published when the reader found the channel.
    history_end: u64,
    /// Last values that are still to be handed out, by sequence number.
    last_values: VecDeque<(u64, Vec<u8>)>,
    /// It was among the publishers when these were asked for.
    is_named: bool,
    /// Its writer has ended it; nothing follows.
    is_over: bool,
    /// Its writer has gone without a word, and what it wrote is read. One that cannot be seen from here may come back.
    is_gone: bool,
}

impl Source {
    /// Whether its writer is there, as far as is known.
    fn is_there(&self) -> bool {
        !self.is_over && !self.reader.is_writer_gone()
    }
}

/// All channels of a reader.
#[derive(Debug)]
pub struct Sources {
    config: ShmConfig,
    prefixes: Vec<String>,
    schema: Schema,
    has_last_values: bool,
    sources: Vec<Source>,
    /// Channels that are done with.
    left: HashSet<String>,
    scanned: Option<Instant>,
    checked: Instant,
    /// Samples taken since the clock was looked at.
    takes: u32,
    next: usize,
    writers: u64,
    lost: u64,
    /// The directory can no longer be trusted; told once.
    is_directory_refused: bool,
    /// Why channels are not read, not yet told.
    refusals: Vec<String>,
    /// The sample that was taken last, and what is known about it.
    bytes: Vec<u8>,
    info: SampleInfo,
}

impl Sources {
    pub fn new(
        config: ShmConfig,
        prefixes: Vec<String>,
        schema: Schema,
        has_last_values: bool,
    ) -> Result<Self, Error> {
        let mut sources = Self {
            config,
            prefixes,
            schema,
            has_last_values,
            sources: Vec::new(),
            left: HashSet::new(),
            scanned: None,
            checked: Instant::now(),
            takes: 0,
            next: 0,
            writers: 0,
            lost: 0,
            is_directory_refused: false,
            refusals: Vec::new(),
            bytes: Vec::new(),
            info: SampleInfo::default(),
        };
        sources.scan()?;
        Ok(sources)
    }

    /// Opens channels that are new.
    pub fn scan(&mut self) -> Result<(), Error> {
        // A channel that comes while the reader is there is read from its first sample.
        let is_first = self.scanned.is_none();
        self.scanned = Some(Instant::now());
        match check_directory(&self.config.directory, self.config.owner) {
            // Its first writer makes it.
            Err(ShmError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(());
            }
            Err(error) if !is_first => {
                if !std::mem::replace(&mut self.is_directory_refused, true) {
                    self.refusals.push(format!("no more channels are looked for: {error}"));
                }
                return Ok(());
            }
            checked => checked?,
        }
        let names = name::list(&self.config.directory, &self.prefixes)?;
        // The next writer of the topic removes the files of one that was killed.
        self.sources
            .retain(|source| !source.is_gone || names.iter().any(|(name, _)| *name == source.name));
        self.left.retain(|left| names.iter().any(|(name, _)| name == left));
        for (name, participant) in names {
            let is_known =
                self.left.contains(&name) || self.sources.iter().any(|source| source.name == name);
            if is_known {
                continue;
            }
            match self.open(&name, participant, is_first) {
                // A writer that was killed before the reader came left it behind: nothing of it is news.
                Ok(source) if is_first && source.reader.has_writer_ended() => {
                    self.left.insert(name);
                }
                Ok(source) => self.sources.push(source),
                // It has ended meanwhile.
                Err(Error::Shm(ShmError::NoChannel { .. })) => {}
                Err(error) => self.refuse(name, &error),
            }
        }
        Ok(())
    }

    fn open(
        &mut self,
        name: &str,
        participant: ParticipantId,
        is_first: bool,
    ) -> Result<Source, Error> {
        let channel = Channel::in_directory(&self.config.directory, name)?;
        let channel = channel.trusting(self.config.owner);
        let start = if is_first { Start::Now } else { Start::Oldest };
        let mut reader = Reader::open(&channel, &self.schema, start, self.config.wait)?;
        reader.check()?;
        let has_values = self.has_last_values && !reader.has_writer_ended();
        let (mut history_end, mut last_values) = (0, VecDeque::new());
        if is_first {
            history_end = reader.next_seq_num();
            if has_values {
                let values = reader.last_values()?;
                history_end = values.seq_num();
                last_values = values_of(values, 0..u64::MAX)?;
            }
        } else {
            // The reader was there first: what has left the ring before the channel was found is lost, but for the last
            // sample of each key.
            let missed = 0..reader.next_seq_num();
            if self.has_last_values && !missed.is_empty() {
                last_values = values_of(reader.peek_last_values()?, missed.clone())?;
            }
            self.lost += missed.end - last_values.len() as u64;
        }
        self.writers += 1;
        Ok(Source {
            reader,
            name: name.to_owned(),
            participant,
            writer: self.writers,
            history_end,
            last_values,
            is_named: false,
            is_over: false,
            is_gone: false,
        })
    }

    /// Leaves a channel out: it is of another type or release, damaged, or may not be read.
    fn refuse(&mut self, name: String, error: &Error) {
        self.refusals.push(format!("channel {name} is not read: {error}"));
        self.left.insert(name);
    }

    /// Leaves a channel that turned out to be damaged.
    fn abandon(&mut self, index: usize, error: &Error) {
        let source = self.sources.remove(index);
        self.refuse(source.name, error);
    }

    /// Why channels are not read, since this was asked last.
    pub fn take_refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refusals)
    }

    /// Whether something can be taken.
    pub fn has_event(&mut self) -> bool {
        let mut has_event = self.has_values();
        let mut index = 0;
        while let Some(source) = self.sources.get_mut(index) {
            match Reader::wait_any(&mut [&mut source.reader], Duration::ZERO) {
                Ok(is_ready) => {
                    has_event |= is_ready;
                    index += 1;
                }
                Err(error) => self.abandon(index, &error.into()),
            }
        }
        has_event
    }

    /// Looks which writers live, and which channels are damaged, and leaves these.
    pub fn check(&mut self) {
        self.checked = Instant::now();
        let mut index = 0;
        while let Some(source) = self.sources.get_mut(index) {
            match source.reader.check() {
                Ok(()) => index += 1,
                Err(error) => self.abandon(index, &error.into()),
            }
        }
    }

    /// Takes the next sample of any channel; false where none is there.
    pub fn take(&mut self) -> Result<bool, Error> {
        self.takes += 1;
        if self.takes >= TAKES_PER_CLOCK {
            // New channels are found also while others have samples all the time.
            self.scan_when_due()?;
        }
        for _ in 0..self.sources.len() {
            // One may have been left meanwhile.
            let Some(next) = (self.next + 1).checked_rem(self.sources.len()) else { break };
            self.next = next;
            match self.take_from(next) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => self.abandon(next, &error),
            }
        }
        self.scan_when_due()?;
        Ok(false)
    }

    /// Leaves channels that have ended, opens new ones and looks whether writers live, if that was not done a moment ago.
    pub fn scan_when_due(&mut self) -> Result<(), Error> {
        self.takes = 0;
        let now = Instant::now();
        if now - self.checked >= CHECK {
            self.check();
        }
        if self.scanned.is_none_or(|scanned| now - scanned >= SCAN) {
            self.leave();
            self.scan()?;
        }
        Ok(())
    }

    fn take_from(&mut self, index: usize) -> Result<bool, Error> {
        let Self { sources, bytes, info, lost, has_last_values, .. } = self;
        let source = &mut sources[index];
        let known = SampleInfo {
            writer: source.writer,
            history_end: source.history_end,
            participant: Some(source.participant),
            ..SampleInfo::default()
        };
        loop {
            while let Some((seq_num, value)) = source.last_values.pop_front() {
                // A late reader is not told of instances that have ended.
                if load(&value, seq_num, known, bytes, info)
                    && (info.has_data || !info.is_history())
                {
                    return Ok(true);
                }
            }
            match source.reader.poll()? {
                Some(Event::Sample(sample)) => {
                    source.is_gone = false;
                    if load(sample.bytes, sample.seq_num, known, bytes, info) {
                        return Ok(true);
                    }
                    *lost += 1;
                }
                Some(Event::Gap { from, to }) => {
                    // Keys whose last sample is lost are brought up to date.
                    if *has_last_values {
                        source.last_values =
                            values_of(source.reader.peek_last_values()?, from..to)?;
                    }
                    *lost += to - from - source.last_values.len() as u64;
                }
                Some(Event::Restarted { .. }) => {}
                Some(Event::WriterGone) => source.is_gone = true,
                Some(Event::Done { .. } | Event::Replaced) => source.is_over = true,
                None => return Ok(false),
            }
        }
    }

    /// Leaves the channels that have ended and are read to their end.
    fn leave(&mut self) {
        let Self { sources, left, .. } = self;
        sources.retain(|source| {
            if source.is_over {
                left.insert(source.name.clone());
            }
            !source.is_over
        });
    }

    /// The sample that was taken last.
    pub fn taken(&self) -> (&[u8], SampleInfo) {
        (&self.bytes, self.info)
    }

    /// Whether a last value is still to be handed out.
    pub fn has_values(&self) -> bool {
        self.sources.iter().any(|source| !source.last_values.is_empty())
    }

    pub fn readers(&mut self) -> impl Iterator<Item = &mut Reader> {
        self.sources.iter_mut().map(|source| &mut source.reader)
    }

    /// Channels whose writers are there, as far as is known.
    pub fn matched(&self) -> usize {
        self.sources.iter().filter(|source| source.is_there()).count()
    }

    /// Participants of the channels whose writers are there, as far as is known; each is named once at least, so that one that
    /// was killed before it was asked for is known to have been there.
    pub fn publishers(&mut self) -> Vec<ParticipantId> {
        let mut all = Vec::new();
        for source in &mut self.sources {
            if source.is_there() || !source.is_named {
                all.push(source.participant);
            }
            source.is_named = true;
        }
        all
    }

    /// Samples lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Last values of samples with these numbers, by number.
fn values_of(
    mut values: LastValues<'_>,
    wanted: Range<u64>,
) -> Result<VecDeque<(u64, Vec<u8>)>, Error> {
    let mut found = Vec::new();
    loop {
        match values.next() {
            Ok(Some(Sample { seq_num, bytes, .. })) if wanted.contains(&seq_num) => {
                found.push((seq_num, bytes.to_vec()));
            }
            Ok(Some(_)) => {}
            // With the channel's end its last values go; what is in the ring stays.
            Ok(None) | Err(ShmError::NoChannel { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    found.sort_unstable_by_key(|(seq_num, _)| *seq_num);
    Ok(found.into())
}

/// Keeps a sample; false for bytes that no writer writes.
fn load(
    sample: &[u8],
    seq_num: u64,
    known: SampleInfo,
    bytes: &mut Vec<u8>,
    info: &mut SampleInfo,
) -> bool {
    let Some((source_timestamp_ns, is_end, members)) = sample::decode(sample) else { return false };
    bytes.clear();
    bytes.extend_from_slice(members);
    *info = SampleInfo {
        has_data: !is_end,
        instance_state: if is_end { InstanceState::Disposed } else { InstanceState::Alive },
        source_timestamp_ns,
        writer_seq_num: seq_num + 1,
        ..known
    };
    true
}
