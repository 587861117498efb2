//! The channels of a reader's topic: found, read in turn, left when they are done.

use crate::config::ShmConfig;
use crate::error::Error;
use crate::{name, sample};
use std::collections::{HashSet, VecDeque};
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use tickwire_distribution::{InstanceState, ParticipantId, SampleInfo};
use tickwire_shm::{
    Channel, Error as ShmError, Event, Reader, Sample, Schema, Start, check_directory,
};

/// Time between two looks into the directory.
const SCAN: Duration = Duration::from_millis(20);

/// Time between two looks at the writers' processes. A wait set looks too, but only at the readers it waits for.
const CHECK: Duration = Duration::from_millis(250);

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
    /// Its writer has ended it; nothing follows.
    is_over: bool,
    /// Its writer has gone without a word, or cannot be seen from here and is silent: samples may still follow.
    is_gone: bool,
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
    next: usize,
    writers: u64,
    lost: u64,
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
            next: 0,
            writers: 0,
            lost: 0,
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
        let start = if is_first { Start::Now } else { Start::Oldest };
        let mut reader = Reader::open(&channel, &self.schema, start, self.config.wait)?;
        let mut history_end = if is_first { reader.next_seq_num() } else { 0 };
        let mut last_values = Vec::new();
        if self.has_last_values && (is_first || reader.next_seq_num() > 0) {
            let mut values = reader.last_values()?;
            history_end = values.seq_num();
            loop {
                match values.next() {
                    Ok(Some(Sample { seq_num, bytes, .. })) => {
                        last_values.push((seq_num, bytes.to_vec()));
                    }
                    // With the channel's end its last values go; what is in the ring stays.
                    Ok(None) | Err(ShmError::NoChannel { .. }) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            last_values.sort_unstable_by_key(|(seq_num, _)| *seq_num);
        }
        self.writers += 1;
        Ok(Source {
            reader,
            name: name.to_owned(),
            participant,
            writer: self.writers,
            history_end,
            last_values: last_values.into(),
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

    /// Looks which writers are gone, which the next take tells, and which channels are damaged, and leaves those.
    pub fn check(&mut self) {
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

    /// Leaves channels that have ended, opens new ones, and looks whether writers live, if that was not done a moment
    /// ago.
    pub fn scan_when_due(&mut self) -> Result<(), Error> {
        if self.scanned.is_none_or(|scanned| scanned.elapsed() >= SCAN) {
            self.leave();
            self.scan()?;
        }
        if self.checked.elapsed() >= CHECK {
            self.checked = Instant::now();
            self.check();
        }
        Ok(())
    }

    fn take_from(&mut self, index: usize) -> Result<bool, Error> {
        let Self { sources, bytes, info, lost, .. } = self;
        let source = &mut sources[index];
        let known = SampleInfo {
            writer: source.writer,
            history_end: source.history_end,
            participant: Some(source.participant),
            ..SampleInfo::default()
        };
        while let Some((seq_num, value)) = source.last_values.pop_front() {
            // A late reader is not told of instances that have ended.
            if load(&value, seq_num, known, bytes, info) && info.has_data {
                return Ok(true);
            }
        }
        loop {
            match source.reader.poll()? {
                Some(Event::Sample(sample)) => {
                    source.is_gone = false;
                    if load(sample.bytes, sample.seq_num, known, bytes, info) {
                        return Ok(true);
                    }
                    *lost += 1;
                }
                Some(Event::Gap { from, to }) => *lost += to - from,
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

    /// Participants of the channels whose writers are there.
    pub fn publishers(&self) -> Vec<ParticipantId> {
        let open = self.sources.iter().filter(|source| !source.is_over && !source.is_gone);
        open.map(|source| source.participant).collect()
    }

    /// Samples lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
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
