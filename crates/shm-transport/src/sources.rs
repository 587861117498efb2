//! The channels of a reader's topic: discovers them, reads them in turn, and drops them when they have ended.

use crate::config::ShmConfig;
use crate::directory::{ChannelDirectory, ChannelListing};
use crate::error::ShmTransportError;
use crate::{name, sample};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use tickwire_distribution::{InstanceState, ParticipantId, SampleInfo};
use tickwire_host::clock::coarse_monotonic_ns;
use tickwire_shm::{
    LastValues, Schema, ShmChannel, ShmError, ShmEvent, ShmReader, ShmSample, Start,
};

/// Time between two scans of the directory, in nanoseconds. All times here are of the coarse clock: a reader that polls
/// reads it for every idle topic.
pub const SCAN_NS: u64 = 20_000_000;
/// Time between two checks whether writers live, in nanoseconds; each check reads a few files of `/proc`.
const CHECK_NS: u64 = 100_000_000;
/// Samples taken between two readings of the clock.
const TAKES_PER_CLOCK: u32 = 256;

/// Last values with their sequence numbers.
type NumberedValues = VecDeque<(u64, Vec<u8>)>;

/// A channel that is being read.
#[derive(Debug)]
struct ShmSource {
    reader: ShmReader,
    name: String,
    participant: ParticipantId,
    writer: u64,
    /// Number of samples that were published before the reader found the channel.
    history_end: u64,
    /// Last values not yet returned.
    last_values: NumberedValues,
    /// True once [`Sources::publishers`] has returned its participant.
    is_named: bool,
    /// Its writer has ended the channel; nothing follows.
    is_over: bool,
    /// Its writer has gone without ending the channel, and all that it wrote has been read. A writer that cannot be
    /// seen from here may come back.
    is_gone: bool,
}

impl ShmSource {
    /// Returns true if its writer is alive, as far as is known.
    fn is_there(&self) -> bool {
        !self.is_over && !self.reader.is_writer_gone()
    }
}

/// All channels of a reader.
#[derive(Debug)]
pub struct Sources {
    config: ShmConfig,
    directory: Arc<ChannelDirectory>,
    /// Number of the listing whose channels are known.
    listing: u64,
    prefixes: Vec<String>,
    schema: Schema,
    has_last_values: bool,
    /// True if a writer that keeps all samples waits for this reader.
    is_awaited: bool,
    sources: Vec<ShmSource>,
    /// Channels that are not read any more.
    left: HashSet<String>,
    /// Time of the last scan.
    scanned_ns: Option<u64>,
    /// Time of the last check.
    checked_ns: u64,
    /// Samples taken since the clock was last read.
    takes: u32,
    next: usize,
    writers: u64,
    lost: u64,
    /// True once samples were lost whose keys' last values could not be read.
    has_stale_keys: bool,
    /// True once it was reported that the directory can no longer be trusted.
    is_directory_refused: bool,
    /// Messages, not yet returned, that say why channels are not read.
    refusals: Vec<String>,
    /// The sample that was taken last; `info` describes it.
    bytes: Vec<u8>,
    info: SampleInfo,
}

impl Sources {
    pub fn new(
        config: ShmConfig,
        directory: Arc<ChannelDirectory>,
        prefixes: Vec<String>,
        schema: Schema,
        has_last_values: bool,
        is_awaited: bool,
    ) -> Result<Self, ShmTransportError> {
        let mut sources = Self {
            config,
            directory,
            listing: 0,
            prefixes,
            schema,
            has_last_values,
            is_awaited,
            sources: Vec::new(),
            left: HashSet::new(),
            scanned_ns: None,
            checked_ns: coarse_monotonic_ns(),
            takes: 0,
            next: 0,
            writers: 0,
            lost: 0,
            has_stale_keys: false,
            is_directory_refused: false,
            refusals: Vec::new(),
            bytes: Vec::new(),
            info: SampleInfo::default(),
        };
        sources.scan(0)?;
        Ok(sources)
    }

    /// Opens new channels. Lists the directory if the last listing is older than `age_ns`.
    pub fn scan(&mut self, age_ns: u64) -> Result<(), ShmTransportError> {
        // A channel that appears after the first scan is read from its first sample.
        let is_first = self.scanned_ns.is_none();
        self.scanned_ns = Some(coarse_monotonic_ns());
        let ChannelListing { number, names } = match self.directory.look(age_ns) {
            Err(error) if !is_first => {
                if !std::mem::replace(&mut self.is_directory_refused, true) {
                    self.refusals.push(format!("no more channels are looked for: {error}"));
                }
                return Ok(());
            }
            looked => looked?,
        };
        let has = |name: &String| names.binary_search(name).is_ok();
        // Drop channels whose files are gone: the next participant with a writer removes those of
        // killed ones.
        self.sources.retain(|source| !source.is_gone || has(&source.name));
        if self.listing == number {
            return Ok(());
        }
        self.left.retain(has);
        let mut are_all_known = true;
        for name in names.iter() {
            let with = |prefix: &String| name::participant(name, prefix);
            let Some(participant) = self.prefixes.iter().find_map(with) else { continue };
            let is_known =
                self.left.contains(name) || self.sources.iter().any(|source| source.name == *name);
            if is_known {
                continue;
            }
            let name = name.clone();
            match self.open(&name, participant, is_first) {
                // The writer of the channel was killed before this reader started, so it has no new
                // samples.
                Ok(source) if is_first && source.reader.has_writer_ended() => {
                    self.left.insert(name);
                }
                Ok(source) => self.sources.push(source),
                // The channel was ended meanwhile; another may get its name.
                Err(ShmTransportError::Shm(ShmError::NoChannel { .. })) => are_all_known = false,
                // Left behind by a killed writer of another release.
                Err(ShmTransportError::Shm(ShmError::Version { .. }))
                    if self.is_abandoned(&name)? =>
                {
                    self.left.insert(name);
                }
                Err(error) => self.refuse(name, &error),
            }
        }
        if are_all_known {
            self.listing = number;
        }
        Ok(())
    }

    fn is_abandoned(&self, name: &str) -> Result<bool, ShmTransportError> {
        Ok(ShmChannel::in_directory(&self.config.directory, name)?.is_abandoned())
    }

    fn open(
        &mut self,
        name: &str,
        participant: ParticipantId,
        is_first: bool,
    ) -> Result<ShmSource, ShmTransportError> {
        let channel = ShmChannel::in_directory(&self.config.directory, name)?;
        let channel = channel.trusting(self.config.owner);
        let start = if is_first { Start::Now } else { Start::Oldest };
        let mut reader = ShmReader::open(&channel, &self.schema, start, self.config.wait)?;
        if self.is_awaited {
            // A reader that is not counted can be lapped, which its sequence numbers show.
            reader.state_position()?;
        }
        reader.check()?;
        if self.has_last_values {
            reader.map_last_values()?;
        }
        let has_values = self.has_last_values && !reader.has_writer_ended();
        let (mut history_end, mut last_values) = (0, VecDeque::new());
        if is_first {
            history_end = reader.next_seq_num();
            if has_values {
                let values = reader.last_values()?;
                history_end = values.seq_num();
                last_values = values_of(values, 0..u64::MAX)?.0;
            }
        } else {
            // This reader started before the channel was found. Samples that have already left the ring are lost,
            // except for the last one of each key.
            let missed = 0..reader.next_seq_num();
            if self.has_last_values && !missed.is_empty() {
                let (values, are_all) = values_of(reader.peek_last_values()?, missed.clone())?;
                self.has_stale_keys |= !are_all;
                last_values = values;
            }
            self.lost += missed.end - last_values.len() as u64;
        }
        self.writers += 1;
        Ok(ShmSource {
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

    /// Skips a channel from now on: its type or version differs, it is damaged, or it may not be read.
    fn refuse(&mut self, name: String, error: &ShmTransportError) {
        self.refusals.push(format!("channel {name} is not read: {error}"));
        self.left.insert(name);
    }

    /// Stops reading a channel that turned out to be damaged.
    fn abandon(&mut self, index: usize, error: &ShmTransportError) {
        let source = self.sources.remove(index);
        self.refuse(source.name, error);
    }

    /// Returns the messages, new since the last call, that say why channels are not read.
    pub fn take_refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refusals)
    }

    /// Returns true if a sample can be taken.
    pub fn has_event(&self) -> bool {
        self.has_values() || self.sources.iter().any(|source| source.reader.is_ready())
    }

    /// Checks which writers live, and stops reading channels that are damaged. Maps the files of new last values, which
    /// go when their writer ends the channel.
    pub fn check(&mut self) {
        self.checked_ns = coarse_monotonic_ns();
        let mut index = 0;
        while let Some(ShmSource { reader, .. }) = self.sources.get_mut(index) {
            let checked = reader.check().and_then(|()| match self.has_last_values {
                true => reader.map_last_values(),
                false => Ok(()),
            });
            match checked {
                Ok(()) => index += 1,
                Err(error) => self.abandon(index, &error.into()),
            }
        }
    }

    /// Takes the next sample of any channel; false if there is none.
    pub fn take(&mut self) -> Result<bool, ShmTransportError> {
        self.takes += 1;
        if self.takes >= TAKES_PER_CLOCK {
            // Look for new channels even if the known ones always have samples.
            self.scan_when_due()?;
        }
        for _ in 0..self.sources.len() {
            // A channel may have been removed meanwhile.
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

    /// Drops channels that have ended, opens new ones, and checks whether writers live; each only when it is due.
    pub fn scan_when_due(&mut self) -> Result<(), ShmTransportError> {
        self.takes = 0;
        let now_ns = coarse_monotonic_ns();
        if now_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
            self.check();
        }
        if self.scanned_ns.is_none_or(|scanned_ns| now_ns.saturating_sub(scanned_ns) >= SCAN_NS) {
            self.leave();
            self.scan(SCAN_NS)?;
        }
        Ok(())
    }

    fn take_from(&mut self, index: usize) -> Result<bool, ShmTransportError> {
        let Self { sources, bytes, info, lost, has_last_values, has_stale_keys, .. } = self;
        let source = &mut sources[index];
        let known = SampleInfo {
            writer: source.writer,
            history_end: source.history_end,
            participant: Some(source.participant),
            ..SampleInfo::default()
        };
        loop {
            while let Some((seq_num, value)) = source.last_values.pop_front() {
                // Ended instances are not reported to a late joiner.
                if load(&value, seq_num, known, bytes, info)
                    && (info.has_data || !info.is_history())
                {
                    return Ok(true);
                }
            }
            match source.reader.poll()? {
                Some(ShmEvent::Sample(sample)) => {
                    source.is_gone = false;
                    if load(sample.bytes, sample.seq_num, known, bytes, info) {
                        return Ok(true);
                    }
                    *lost += 1;
                }
                Some(ShmEvent::Gap { from, to }) => {
                    // For keys whose last sample is lost, return their last values instead.
                    if *has_last_values {
                        let values = source.reader.peek_last_values()?;
                        let (values, are_all) = values_of(values, from..to)?;
                        *has_stale_keys |= !are_all;
                        source.last_values = values;
                    }
                    *lost += to - from - source.last_values.len() as u64;
                }
                Some(ShmEvent::Restarted { .. }) => {}
                Some(ShmEvent::WriterGone) => source.is_gone = true,
                Some(ShmEvent::Done { .. } | ShmEvent::Replaced) => source.is_over = true,
                None => return Ok(false),
            }
        }
    }

    /// Drops the channels that have ended and have been read completely.
    fn leave(&mut self) {
        let Self { sources, left, .. } = self;
        sources.retain(|source| {
            if source.is_over {
                left.insert(source.name.clone());
            }
            !source.is_over
        });
    }

    /// Returns the sample that was taken last.
    pub fn taken(&self) -> (&[u8], SampleInfo) {
        (&self.bytes, self.info)
    }

    /// Returns true if last values are still to be returned.
    pub fn has_values(&self) -> bool {
        self.sources.iter().any(|source| !source.last_values.is_empty())
    }

    pub fn readers(&mut self) -> impl Iterator<Item = &mut ShmReader> {
        self.sources.iter_mut().map(|source| &mut source.reader)
    }

    /// Returns the number of channels whose writers are alive, as far as is known.
    pub fn matched(&self) -> usize {
        self.sources.iter().filter(|source| source.is_there()).count()
    }

    /// Returns the participants of channels whose writers are alive, as far as is known. Each participant is returned
    /// at least once, so that the caller learns of one that was killed before this call.
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

    /// Returns true once samples were lost whose keys' last values could not be read.
    pub fn has_stale_keys(&self) -> bool {
        self.has_stale_keys
    }

    /// Returns the number of samples lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Returns the last values whose sequence numbers are in `wanted`, sorted by sequence number; false if there may be more,
/// because the channel was ended before the reader had mapped all of them.
fn values_of(
    mut values: LastValues<'_>,
    wanted: Range<u64>,
) -> Result<(NumberedValues, bool), ShmTransportError> {
    let mut found = Vec::new();
    let are_all = loop {
        match values.next() {
            Ok(Some(ShmSample { seq_num, bytes, .. })) if wanted.contains(&seq_num) => {
                found.push((seq_num, bytes.to_vec()));
            }
            Ok(Some(_)) => {}
            Ok(None) => break true,
            // The files are gone; samples in the ring stay readable.
            Err(ShmError::NoChannel { .. }) => break false,
            Err(error) => return Err(error.into()),
        }
    };
    found.sort_unstable_by_key(|(seq_num, _)| *seq_num);
    Ok((found.into(), are_all))
}

/// Decodes a sample and stores it with its information; false if no writer writes such bytes.
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
