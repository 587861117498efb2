//! Counters of received and lost samples, by publisher.
//!
//! Losses are found in two ways. Each writer numbers its samples, so a lost sample leaves a gap in its sequence. And
//! when a publisher ends, it writes [totals](crate::Total) by topic, which reveal samples lost after the last received
//! one.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::stations::SampleArrival;
use crate::transport::{InstanceState, ParticipantId, SampleInfo};

/// Maximum number of publishers that are told apart. Those that have ended make room for others, and are summed up. If none
/// has, further ones share one entry, whose losses are unknown.
const PUBLISHERS_MAX: usize = 64;
/// Time from a publisher's first sample until it must have been discovered; it may still be creating its writers. After
/// that it counts as gone.
const MAKING: Duration = Duration::from_secs(2);
/// Maximum number of writers that are tracked, and of last sequence numbers.
const ROWS_MAX: usize = 1 << 17;

/// State of a publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublisherStatus {
    /// It was discovered, or its lease has not expired yet.
    #[default]
    Present,
    /// It announced that its feed is done, after writing this many samples.
    Done {
        /// Number of samples.
        written: u64,
    },
    /// It announced that it was stopped, after writing this many samples.
    Stopped {
        /// Number of samples.
        written: u64,
    },
    /// It disappeared without announcing its end.
    Gone,
}

/// Counters of one publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromPublisher {
    /// Number of publishers for which this entry stands: 1, or more in the sum of earlier ones. If further publishers share
    /// an entry, they are not counted.
    pub publishers: u64,
    /// Samples received by topic set, including repeated ones.
    pub samples: Vec<u64>,
    /// Samples that were written before this subscriber matched: the last values that a late subscriber gets.
    pub last_values: u64,
    /// Samples that were received again, or after a later one of the same writer and key.
    pub duplicates: u64,
    /// Lowest and highest sequence number of the feed in the received samples, without last values.
    pub seq_nums: Option<(u64, u64)>,
    /// State of the publisher.
    pub standing: PublisherStatus,
    /// Samples missing between received ones.
    pub holes: u64,
    /// Lost samples: written after this subscriber matched, to topics that it reads, and not received. `None` if
    /// unknown. A publisher that has not announced its end may have written more, even while its lease lasts.
    pub lost: Option<u64>,
    /// True if the totals of all its topics were received.
    pub has_totals: bool,
    /// True if some of its writers are not tracked, or this entry stands for several publishers.
    is_partly_followed: bool,
}

impl FromPublisher {
    /// Adds the counters of another publisher that has ended.
    fn add(&mut self, other: &Self) {
        self.publishers += other.publishers;
        self.samples.iter_mut().zip(&other.samples).for_each(|(sum, one)| *sum += one);
        self.last_values += other.last_values;
        self.duplicates += other.duplicates;
        self.seq_nums = match (self.seq_nums, other.seq_nums) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (one, other) => one.or(other),
        };
        self.standing = match (self.standing, other.standing) {
            (PublisherStatus::Done { written }, PublisherStatus::Done { written: other }) => {
                PublisherStatus::Done { written: written.saturating_add(other) }
            }
            _ => match (self.written(), other.written()) {
                (Some(written), Some(other)) => {
                    PublisherStatus::Stopped { written: written.saturating_add(other) }
                }
                _ => PublisherStatus::Gone,
            },
        };
        self.holes += other.holes;
        self.lost = self.lost.zip(other.lost).map(|(lost, other)| lost.saturating_add(other));
        self.has_totals &= other.has_totals;
    }

    /// Returns the number of samples received over all topic sets.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.samples.iter().sum()
    }

    /// Returns the number of samples that the publisher reported to have written to all its topics;
    /// `None` until it has ended.
    pub fn written(&self) -> Option<u64> {
        match self.standing {
            PublisherStatus::Done { written } | PublisherStatus::Stopped { written } => {
                Some(written)
            }
            PublisherStatus::Present | PublisherStatus::Gone => None,
        }
    }
}

/// State of one writer, which writes to one topic.
#[derive(Clone, Copy, Debug)]
struct WriterRow {
    publisher: usize,
    /// Sequence number of the last sample that it wrote before this subscriber matched.
    history_end: u64,
    /// Highest sequence number received.
    last: u64,
    /// Number of samples received, and of instances ended, that it wrote after this subscriber matched.
    live: u64,
    /// Number of samples received without a sequence number.
    unnumbered: u64,
}

impl WriterRow {
    /// Returns the number of samples missing between received ones.
    fn holes(&self) -> u64 {
        self.last.saturating_sub(self.history_end).saturating_sub(self.live)
    }
}

/// Counts of one publisher's samples, of one topic or of all topics.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Sum of the writers' highest received sequence numbers: samples from before the match, received ones and gaps.
    numbered: u64,
    unnumbered: u64,
    holes: u64,
    /// True if a writer had written samples before this subscriber matched.
    is_met_late: bool,
}

impl Account {
    fn add(&mut self, row: &WriterRow) {
        self.numbered += row.last.max(row.history_end);
        self.unnumbered += row.unnumbered;
        self.holes += row.holes();
        self.is_met_late |= row.history_end > 0;
    }
}

/// A publisher, and what was received from it.
#[derive(Debug)]
struct PublisherAccount {
    id: Option<ParticipantId>,
    received: FromPublisher,
    /// Totals by topic and by the writer that sent them.
    totals: HashMap<(String, u64), WrittenTotal>,
    /// Number of samples by the writer that announced the end. Several publishers of one participant announce their
    /// ends separately.
    done: HashMap<u64, u64>,
    /// Time at which its first sample, total or end was received.
    heard: Instant,
    /// True if it was found among the present participants, and if it was found there the last time.
    was_present: bool,
    is_present: bool,
    /// True if its end is irrelevant to this subscriber and has been reported.
    is_told: bool,
}

/// Number of samples that a publisher wrote to one topic.
#[derive(Clone, Copy, Debug)]
struct WrittenTotal {
    /// Index of the topic; `None` if this subscriber does not read it.
    topic: Option<usize>,
    samples: u64,
    /// True if the total was written before this subscriber matched its writer, as were all samples
    /// that the total counts.
    is_old: bool,
}

impl PublisherAccount {
    /// Returns true if the totals of all its topics were received.
    fn has_totals(&self) -> bool {
        let told =
            self.totals.values().fold(0, |sum: u64, total| sum.saturating_add(total.samples));
        !self.totals.is_empty() && Some(told) == self.received.written()
    }

    /// Returns true if it is done and writes to topics that this subscriber reads.
    fn ends_our_feed(&self) -> bool {
        matches!(self.received.standing, PublisherStatus::Done { .. }) && self.concerns_us()
    }

    /// Returns false if it is known to write to none of the topics that this subscriber reads.
    fn concerns_us(&self) -> bool {
        let is_read = self.totals.values().any(|total| total.topic.is_some());
        !self.has_totals() || is_read || self.received.received() > 0
    }
}

/// Counts samples by publisher.
#[derive(Debug)]
pub struct SampleLedger {
    publishers: Vec<PublisherAccount>,
    /// Sum of the publishers that have ended and made room for others.
    ended: Option<FromPublisher>,
    /// True if one of them was done and wrote to topics that are read.
    has_ended_done: bool,
    /// Retired publishers that announced no end. They come back if only their leases had lapsed.
    retired: HashSet<ParticipantId>,
    /// State by topic and writer.
    writers: HashMap<(usize, u64), WriterRow>,
    /// Last sequence number by topic, writer and hash of the key.
    last: HashMap<(usize, u64, u64), u64>,
    known: Known,
    sets: usize,
    /// True if a conflating subscriber has lost samples whose keys get no last value.
    has_stale_keys: bool,
}

/// Knowledge of a subscriber about samples that were written before it matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It receives the last values of every writer that has written, and with them the number of samples written
    /// before.
    LastValues,
    /// It receives no last values, so it does not know whether a silent writer ever wrote.
    None,
    /// It reads only some of the topics. If a publisher sends only the total of all topics, samples lost
    /// after the last received one are not detected.
    SomeTopics {
        /// True if it receives last values.
        last_values: bool,
    },
    /// It skips samples. A missing sample may have been skipped or lost, so none counts as lost.
    Conflated,
    /// Delivery is not reliable: samples before the first received one may have been lost, or written before the match.
    BestEffort,
}

impl SampleLedger {
    /// Creates an empty ledger for a subscriber with this many topic sets.
    #[must_use]
    pub fn new(known: Known, sets: usize) -> Self {
        let (writers, last) = (HashMap::new(), HashMap::new());
        let publishers = Vec::new();
        let retired = HashSet::new();
        Self {
            publishers,
            ended: None,
            has_ended_done: false,
            retired,
            writers,
            last,
            known,
            sets,
            has_stale_keys: false,
        }
    }

    /// Counts a sample, and returns how many samples of its writer are missing directly before it.
    pub fn count(&mut self, arrival: &SampleArrival<'_>) -> u64 {
        let is_same = self.is_same(arrival);
        let (publisher, missed) = self.follow(arrival.topic, &arrival.raw.info, is_same);
        let is_repeated = self.is_repeated(arrival);
        let received = &mut self.publishers[publisher].received;
        received.samples[arrival.set] += 1;
        received.duplicates += u64::from(is_repeated);
        if arrival.raw.info.is_history() {
            received.last_values += 1;
        } else if let Some(seq_num) = arrival.seq_num {
            let (first, last) = received.seq_nums.unwrap_or((seq_num, seq_num));
            received.seq_nums = Some((first.min(seq_num), last.max(seq_num)));
        }
        missed
    }

    /// Records the end of an instance, to which its writer gave a sequence number as to a sample.
    pub fn note_end_of_instance(&mut self, topic: usize, info: &SampleInfo) {
        if info.instance_state == InstanceState::Disposed && info.writer_seq_num != 0 {
            self.follow(topic, info, false);
        }
    }

    /// Records the sequence number in its writer's row; a repeated sample (`is_again`) is not counted as received.
    /// Returns the index of its publisher, and the number of samples missing directly before it.
    fn follow(&mut self, topic: usize, info: &SampleInfo, is_again: bool) -> (usize, u64) {
        let key = (topic, info.writer);
        let number = info.writer_seq_num;
        if let Some(row) = self.writers.get_mut(&key) {
            let holes = row.holes();
            row.last = row.last.max(number);
            row.live += u64::from(number > row.history_end && !is_again);
            row.unnumbered += u64::from(number == 0);
            return (row.publisher, row.holes().saturating_sub(holes));
        }
        let publisher = self.index_of(info.participant);
        if self.writers.len() >= ROWS_MAX {
            self.publishers[publisher].received.is_partly_followed = true;
            return (publisher, 0);
        }
        let is_back = info.participant.is_some_and(|id| self.retired.contains(&id));
        let history_end = match self.known {
            // The sum already has its earlier samples.
            _ if is_back => info.history_end.max(number.saturating_sub(1)),
            Known::BestEffort => number.saturating_sub(1),
            Known::Conflated | Known::LastValues | Known::None | Known::SomeTopics { .. } => {
                info.history_end
            }
        };
        let (live, unnumbered) = (u64::from(number > history_end), u64::from(number == 0));
        let row = WriterRow { publisher, history_end, last: number, live, unnumbered };
        self.writers.insert(key, row);
        (publisher, row.holes())
    }

    /// Returns true if the last sample of the same writer and key has the same sequence number.
    /// This sample then fills no gap.
    fn is_same(&self, arrival: &SampleArrival<'_>) -> bool {
        let SampleInfo { writer, writer_seq_num, .. } = arrival.raw.info;
        let last = self.last.get(&(arrival.topic, writer, arrival.key));
        writer_seq_num != 0 && last == Some(&writer_seq_num)
    }

    /// Returns true if a sample was received again, or after a later one of its writer and key. The feed's own sequence
    /// numbers are used only if those of the writer are unknown, because a feed may number several channels, and
    /// samples of one message share a number.
    fn is_repeated(&mut self, arrival: &SampleArrival<'_>) -> bool {
        let (number, is_numbered) = match arrival.raw.info.writer_seq_num {
            0 => (arrival.seq_num.unwrap_or(0), false),
            number => (number, true),
        };
        let row = (arrival.topic, arrival.raw.info.writer, arrival.key);
        let room = self.last.len() < ROWS_MAX;
        match self.last.get_mut(&row) {
            Some(last) if number < *last || (is_numbered && number == *last) => return true,
            Some(last) => *last = number,
            None if room => {
                self.last.insert(row, number);
            }
            None => {}
        }
        false
    }

    /// Records how a publisher ended; `teller` is the writer that announced it. If several publishers share a
    /// participant, the entry has the sum of their samples. If one entry stands for several participants, it stays done
    /// once one of them is done.
    pub fn end(&mut self, owner: Option<ParticipantId>, teller: u64, standing: PublisherStatus) {
        let index = self.index_of(owner);
        let PublisherAccount { received, done, .. } = &mut self.publishers[index];
        let standing = match standing {
            PublisherStatus::Done { written } if done.len() < PUBLISHERS_MAX => {
                done.insert(teller, written);
                let written = done.values().fold(0, |sum: u64, one| sum.saturating_add(*one));
                PublisherStatus::Done { written }
            }
            other => other,
        };
        if !(received.is_partly_followed
            && matches!(received.standing, PublisherStatus::Done { .. }))
        {
            received.standing = standing;
        }
    }

    /// Records the total that a publisher sends: the number of samples it wrote to one of its topics. `topic` is the
    /// index of that topic, or `None` if it is not read; `told` is the information about the sample with the total. A
    /// repeated total counts once.
    pub fn note_total(
        &mut self,
        (name, topic): (&str, Option<usize>),
        told: &SampleInfo,
        samples: u64,
    ) {
        let index = self.index_of(told.participant);
        let totals = &mut self.publishers[index].totals;
        let row = (name.to_owned(), told.writer);
        let total = WrittenTotal { topic, samples, is_old: told.is_history() };
        // A total that is not stored makes the publisher's losses unknown.
        if totals.len() < ROWS_MAX || totals.contains_key(&row) {
            totals.insert(row, total);
        }
    }

    /// Records that a conflating subscriber has lost samples whose keys get no last value.
    pub fn note_stale_keys(&mut self) {
        self.has_stale_keys = true;
    }

    /// Records which publishers are present. Returns those that have disappeared since the last call without announcing
    /// their end. A publisher that has sent samples and was not discovered yet counts as gone only after two seconds.
    pub fn note_present(&mut self, present: &[ParticipantId]) -> Vec<ParticipantId> {
        for id in present {
            self.index_of(Some(*id));
        }
        let mut gone = Vec::new();
        for publisher in &mut self.publishers {
            let Some(id) = publisher.id else { continue };
            let is_present = present.contains(&id);
            publisher.is_present = is_present;
            let PublisherAccount { received, heard, was_present, .. } = publisher;
            match received.standing {
                PublisherStatus::Present
                    if !is_present && (*was_present || heard.elapsed() >= MAKING) =>
                {
                    received.standing = PublisherStatus::Gone;
                    gone.push(id);
                }
                PublisherStatus::Gone if is_present => received.standing = PublisherStatus::Present,
                _ => {}
            }
            *was_present |= is_present;
        }
        gone
    }

    /// Returns publishers that are done and wrote to none of the topics that are read, with the topics that they wrote
    /// to. Returns each publisher once.
    pub fn take_others(&mut self) -> Vec<(Option<ParticipantId>, Vec<String>)> {
        let is_other = |publisher: &&mut PublisherAccount| {
            let is_done = matches!(publisher.received.standing, PublisherStatus::Done { .. });
            is_done && !publisher.is_told && !publisher.concerns_us()
        };
        let take = |publisher: &mut PublisherAccount| {
            publisher.is_told = true;
            let written = publisher.totals.iter().filter(|(_, total)| total.samples > 0);
            let mut names: Vec<String> = written.map(|((name, _), _)| name.clone()).collect();
            names.sort_unstable();
            (publisher.id, names)
        };
        self.publishers.iter_mut().filter(is_other).map(take).collect()
    }

    /// Returns the counters by publisher, in the order in which the publishers were first heard. After more than 64
    /// publishers, the first entry is the sum of earlier ones that have ended.
    #[must_use]
    pub fn publishers(&self) -> Vec<FromPublisher> {
        self.ended.iter().cloned().chain(self.told_apart()).collect()
    }

    /// Returns the counters of the publishers that are told apart.
    fn told_apart(&self) -> Vec<FromPublisher> {
        let mut accounts: HashMap<(usize, usize), Account> = HashMap::new();
        for ((topic, _), row) in &self.writers {
            accounts.entry((row.publisher, *topic)).or_default().add(row);
        }
        let finished = |(index, publisher): (usize, &PublisherAccount)| {
            let mut received = publisher.received.clone();
            let own = accounts.iter().filter(|((of, _), _)| *of == index);
            received.holes = own.map(|(_, account)| account.holes).sum();
            received.has_totals = publisher.has_totals();
            received.lost = self.lost(index, publisher, &received, &accounts);
            received
        };
        self.publishers.iter().enumerate().map(finished).collect()
    }

    fn lost(
        &self,
        index: usize,
        publisher: &PublisherAccount,
        received: &FromPublisher,
        accounts: &HashMap<(usize, usize), Account>,
    ) -> Option<u64> {
        let written = received.written()?;
        if self.known == Known::Conflated {
            return (!self.has_stale_keys).then_some(0);
        }
        if received.is_partly_followed {
            return None;
        }
        let own = accounts.iter().filter(|((of, _), _)| *of == index);
        if !received.has_totals {
            let mut whole = Account::default();
            for (_, account) in own {
                whole.numbered += account.numbered;
                whole.unnumbered += account.unnumbered;
                whole.holes += account.holes;
                whole.is_met_late |= account.is_met_late;
            }
            return self.lost_of_all(&whole, written);
        }
        let mut totals: HashMap<usize, u64> = HashMap::new();
        for WrittenTotal { topic, samples, is_old } in publisher.totals.values() {
            let Some(topic) = topic else { continue };
            // If all samples of the total were written before the match and none was received, none of them is lost.
            let is_before = *is_old && !accounts.contains_key(&(index, *topic));
            *totals.entry(*topic).or_default() += if is_before { 0 } else { *samples };
        }
        let unaccounted = own.filter(|((_, topic), _)| !totals.contains_key(topic)).count();
        if unaccounted > 0 {
            return None;
        }
        let lost = |(topic, total): (&usize, &u64)| {
            self.lost_of_topic(accounts.get(&(index, *topic)), *total)
        };
        totals.iter().map(lost).sum()
    }

    /// Returns the number of lost samples of a topic to which a publisher wrote `total` samples; `None` if unknown.
    fn lost_of_topic(&self, account: Option<&Account>, total: u64) -> Option<u64> {
        let Some(account) = account else {
            // A writer that was never heard may have written all of them before it matched.
            let is_certain = total == 0 || self.gets_last_values();
            return is_certain.then_some(total);
        };
        if account.unnumbered > 0 {
            return (account.unnumbered >= total).then_some(0);
        }
        let is_head_unknown = self.known == Known::BestEffort && account.is_met_late;
        let tail = total.saturating_sub(account.numbered);
        (!is_head_unknown).then_some(account.holes + tail)
    }

    /// Returns the number of lost samples of a publisher that sent only the total of all its topics; `None` if unknown.
    fn lost_of_all(&self, account: &Account, written: u64) -> Option<u64> {
        if account.unnumbered > 0 {
            return (account.unnumbered >= written).then_some(0);
        }
        let tail = written.saturating_sub(account.numbered);
        let is_certain = match self.known {
            // The remaining samples may belong to topics that are not read.
            Known::SomeTopics { .. } => false,
            Known::LastValues => true,
            // The missing samples may be from before the match, of writers that have written nothing since.
            Known::None => tail == 0,
            // Besides the above, samples before the first received one may be lost.
            Known::BestEffort | Known::Conflated => tail == 0 && !account.is_met_late,
        };
        is_certain.then_some(account.holes + tail)
    }

    fn gets_last_values(&self) -> bool {
        matches!(self.known, Known::LastValues | Known::SomeTopics { last_values: true })
    }

    /// Returns true if the subscriber skips samples on purpose.
    #[must_use]
    pub fn skips(&self) -> bool {
        self.known == Known::Conflated
    }

    /// Returns true if losses after the last sample of a topic cannot be detected: the subscriber reads only some
    /// topics, and a publisher sent only the total of all topics.
    #[must_use]
    pub fn has_unknown_tails(&self) -> bool {
        let has_ended = |publisher: &&PublisherAccount| publisher.received.written().is_some();
        let mut ended = self.publishers.iter().filter(has_ended);
        matches!(self.known, Known::SomeTopics { .. })
            && ended.any(|publisher| !publisher.has_totals())
    }

    /// Returns true if the feed of some publisher is done, and all samples of the publishers that have ended were
    /// received.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        if self.known == Known::Conflated || self.has_unknown_tails() || !self.has_end() {
            // If the subscriber conflates, samples of ended publishers may still wait for the next turn.
            return false;
        }
        let is_accounted = |received: &FromPublisher| match received.written() {
            // Totals may still be on their way.
            Some(written) => received.lost == Some(0) && (received.has_totals || written > 0),
            None => true,
        };
        self.publishers().iter().all(is_accounted)
    }

    /// Returns true if a publisher of topics that are read announced that its feed is done.
    pub fn has_end(&self) -> bool {
        self.has_ended_done || self.publishers.iter().any(PublisherAccount::ends_our_feed)
    }

    /// Makes room for a publisher: adds the counters of one that has ended to the sum, and removes
    /// it. Takes the first publisher that announced its end, is gone and is complete; later samples
    /// of it would be taken for those of another publisher. If there is none, takes one without an
    /// announced end, although it may send again (its lease may have lapsed). Does nothing once
    /// publishers share an entry, because it is unknown which of them the entry counts.
    fn make_room(&mut self) {
        if self.publishers.iter().any(|publisher| publisher.received.is_partly_followed) {
            return;
        }
        let counted = self.told_apart();
        let is_complete = |(publisher, counted): (&PublisherAccount, &FromPublisher)| {
            let is_over = matches!(
                counted.standing,
                PublisherStatus::Done { .. } | PublisherStatus::Stopped { .. }
            );
            is_over && !publisher.is_present && counted.has_totals && counted.lost == Some(0)
        };
        let is_gone = |counted: &FromPublisher| counted.standing == PublisherStatus::Gone;
        let complete = self.publishers.iter().zip(&counted).position(is_complete);
        let Some(index) = complete.or_else(|| counted.iter().position(is_gone)) else { return };
        let ended = self.publishers.remove(index);
        self.has_ended_done |= ended.ends_our_feed();
        if counted[index].standing == PublisherStatus::Gone && self.retired.len() < ROWS_MAX {
            self.retired.extend(ended.id);
        }
        match &mut self.ended {
            Some(sum) => sum.add(&counted[index]),
            none => *none = Some(counted[index].clone()),
        }
        let Self { writers, last, .. } = self;
        writers.retain(|_, row| row.publisher != index);
        for row in writers.values_mut().filter(|row| row.publisher > index) {
            row.publisher -= 1;
        }
        last.retain(|(topic, writer, _), _| writers.contains_key(&(*topic, *writer)));
    }

    /// Returns the index of a publisher, which is added if it is new; all publishers of this process share one entry.
    fn index_of(&mut self, owner: Option<ParticipantId>) -> usize {
        let known = self.publishers.iter().position(|publisher| publisher.id == owner);
        known.unwrap_or_else(|| {
            if self.publishers.len() >= PUBLISHERS_MAX {
                self.make_room();
            }
            if self.publishers.len() >= PUBLISHERS_MAX {
                self.publishers[PUBLISHERS_MAX - 1].received.is_partly_followed = true;
                return PUBLISHERS_MAX - 1;
            }
            let samples = vec![0; self.sets];
            let received = FromPublisher { publishers: 1, samples, ..Default::default() };
            let (totals, done) = (HashMap::new(), HashMap::new());
            self.publishers.push(PublisherAccount {
                id: owner,
                received,
                totals,
                done,
                heard: Instant::now(),
                was_present: false,
                is_present: false,
                is_told: false,
            });
            self.publishers.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::cdr::CdrEncoding;
    use crate::transport::{RawSample, SampleInfo};
    use crate::{Quote, SampleFields};

    const SOME: Known = Known::SomeTopics { last_values: true };

    fn arrival(seq_num: u64, key: u64, writer: u64) -> SampleArrival<'static> {
        let info = SampleInfo {
            has_data: true,
            writer,
            writer_seq_num: seq_num,
            participant: publisher(1),
            ..SampleInfo::default()
        };
        SampleArrival {
            set: 0,
            topic: 0,
            of: Quote::struct_type(),
            raw: RawSample { bytes: &[], encoding: CdrEncoding::Xcdr1, info },
            seq_num: Some(seq_num),
            key,
            taken_ns: 0,
            missed: 0,
        }
    }

    fn of_publisher(number: u8, mut arrival: SampleArrival<'static>) -> SampleArrival<'static> {
        arrival.raw.info.participant = publisher(number);
        arrival
    }

    fn publisher(number: u8) -> Option<ParticipantId> {
        Some(ParticipantId([number; 16]))
    }

    /// Returns the information about a total that a writer wrote after the match.
    fn told(publisher_number: u8, writer: u64) -> SampleInfo {
        SampleInfo {
            has_data: true,
            participant: publisher(publisher_number),
            writer,
            writer_seq_num: 1,
            ..SampleInfo::default()
        }
    }

    fn ledger() -> SampleLedger {
        SampleLedger::new(Known::LastValues, 1)
    }

    /// Returns a ledger that has received samples with these numbers from one writer; the samples up to `history_end`
    /// were written before the match.
    fn heard(known: Known, history_end: u64, numbers: &[u64]) -> SampleLedger {
        let mut ledger = SampleLedger::new(known, 1);
        for &number in numbers {
            let mut arrival = arrival(number, 0, 10);
            arrival.raw.info.history_end = history_end;
            ledger.count(&arrival);
        }
        ledger
    }

    fn lost(ledger: &SampleLedger) -> Option<u64> {
        ledger.publishers()[0].lost
    }

    #[test]
    fn a_number_again_is_a_duplicate_and_another_writer_counts_anew() {
        let mut ledger = ledger();
        for (seq_num, writer) in [(1, 10), (5, 10), (5, 10), (2, 10), (1, 11)] {
            ledger.count(&of_publisher((writer - 9) as u8, arrival(seq_num, 0, writer)));
        }
        let counts: Vec<_> =
            ledger.publishers().iter().map(|one| (one.received(), one.duplicates)).collect();
        assert_eq!(counts, [(4, 2), (1, 0)]);
    }

    #[test]
    fn securities_of_one_message_share_its_number() {
        let mut ledger = ledger();
        for security in [1, 2, 3] {
            ledger.count(&arrival(7, security, 10));
        }
        assert_eq!(ledger.publishers()[0].duplicates, 0);
    }

    #[test]
    fn holes_are_lost_and_so_is_what_was_written_after_the_last_that_came() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2, 4]);
        assert_eq!(ledger.publishers()[0].holes, 1, "known before it ends");
        assert_eq!(lost(&ledger), None, "it may have written more");
        assert!(!ledger.has_end());
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 5 });
        assert_eq!(lost(&ledger), Some(2));
        assert!(!ledger.is_complete());
    }

    #[test]
    fn what_was_written_before_a_late_subscriber_came_is_not_lost() {
        let mut ledger = heard(Known::LastValues, 100, &[40, 97, 101, 102]);
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 102 });
        assert_eq!(lost(&ledger), Some(0));
        assert!(ledger.is_complete());
        let received = &ledger.publishers()[0];
        assert_eq!((received.last_values, received.seq_nums), (2, Some((101, 102))));
    }

    #[test]
    fn with_best_effort_the_loss_of_a_head_is_unknown() {
        let mut headless = heard(Known::BestEffort, 0, &[101, 103]);
        headless.end(publisher(1), 9, PublisherStatus::Done { written: 103 });
        assert_eq!(headless.publishers()[0].holes, 1);
        assert_eq!(lost(&headless), None, "the first hundred may be lost, or from before we met");
        let mut whole = heard(Known::BestEffort, 0, &[1, 3]);
        whole.end(publisher(1), 9, PublisherStatus::Done { written: 3 });
        assert_eq!(lost(&whole), Some(1));
        whole.end(publisher(1), 9, PublisherStatus::Done { written: 4 });
        assert_eq!(lost(&whole), None, "another writer may have written one before we met");
        whole.note_total(("T0", Some(0)), &told(1, 99), 4);
        assert_eq!(lost(&whole), Some(2));
    }

    #[test]
    fn the_loss_of_publishers_that_are_not_told_apart_is_unknown() {
        let mut ledger = ledger();
        let count = PUBLISHERS_MAX as u8 + 1;
        for number in 1..=count {
            ledger.count(&of_publisher(number, arrival(1, 0, u64::from(number))));
        }
        for number in 1..=count {
            ledger.end(publisher(number), 9, PublisherStatus::Done { written: 1 });
        }
        let all = ledger.publishers();
        assert_eq!(all.len(), PUBLISHERS_MAX);
        let known = all.iter().filter(|received| received.lost == Some(0)).count();
        assert_eq!(known, PUBLISHERS_MAX - 1);
        assert_eq!(all[PUBLISHERS_MAX - 1].lost, None);
        ledger.end(publisher(count), 9, PublisherStatus::Stopped { written: 1 });
        let standing = ledger.publishers()[PUBLISHERS_MAX - 1].standing;
        assert_eq!(standing, PublisherStatus::Done { written: 1 }, "another of them was done");
    }

    /// A subscriber that stays while its publisher is restarted, say by systemd.
    #[test]
    fn publishers_that_have_ended_make_room_for_others() {
        let ends = |number: u8| match number {
            100 => None,
            number if number % 2 == 0 => Some(PublisherStatus::Stopped { written: 2 }),
            _ => Some(PublisherStatus::Done { written: 2 }),
        };
        let mut ledger = ledger();
        for number in 1..=200 {
            let id = ParticipantId([number; 16]);
            for seq_num in [1, 2] {
                ledger.count(&of_publisher(number, arrival(seq_num, 0, u64::from(number))));
            }
            assert!(ledger.note_present(&[id]).is_empty());
            if let Some(standing) = ends(number) {
                ledger.note_total(("T0", Some(0)), &told(number, 9), 2);
                ledger.end(publisher(number), 9, standing);
            }
            assert_eq!(ledger.note_present(&[]).len(), usize::from(ends(number).is_none()));
            let (all, lost) = (ledger.publishers(), lost_of_all(&ledger));
            assert_eq!(all.iter().map(FromPublisher::received).sum::<u64>(), 2 * u64::from(number));
            assert_eq!(all.iter().map(|one| one.duplicates + one.holes).sum::<u64>(), 0);
            assert_eq!(all.len(), usize::from(number).min(PUBLISHERS_MAX + 1));
            assert_eq!(all.iter().map(|one| one.publishers).sum::<u64>(), u64::from(number));
            assert_eq!(
                lost,
                (number < 100).then_some(0),
                "of the one that was killed it is unknown"
            );
        }
        let all = ledger.publishers();
        assert!(matches!(all[0].standing, PublisherStatus::Stopped { .. }), "{:?}", all[0]);
        assert_eq!(
            (all[0].lost, all[1].standing),
            (Some(0), PublisherStatus::Gone),
            "it may come back"
        );
        assert!(all[2..].iter().all(|one| one.lost == Some(0)), "{all:#?}");
        assert!(ledger.has_end());
        assert!(ledger.writers.len() <= PUBLISHERS_MAX && ledger.last.len() <= PUBLISHERS_MAX);
    }

    #[test]
    fn publishers_of_other_topics_that_made_room_end_nobody() {
        let mut ledger = ledger();
        for number in 1..=100 {
            ledger.note_total(("Other", None), &told(number, 5), 1000);
            ledger.end(publisher(number), 9, PublisherStatus::Done { written: 1000 });
        }
        assert_eq!(ledger.publishers().len(), PUBLISHERS_MAX + 1);
        assert!(!ledger.has_end() && !ledger.is_complete());
    }

    #[test]
    fn one_that_went_and_made_room_comes_back_without_missing_samples() {
        let mut ledger = ledger();
        for number in 1..=PUBLISHERS_MAX as u8 {
            ledger.count(&of_publisher(number, arrival(1, 0, u64::from(number))));
            ledger.note_present(&[ParticipantId([number; 16])]);
        }
        ledger.note_present(&[]);
        ledger.count(&of_publisher(100, arrival(1, 0, 100)));
        assert_eq!(ledger.publishers[0].id, publisher(2), "the first one made room");
        assert_eq!(ledger.count(&of_publisher(1, arrival(7, 0, 1))), 0);
        assert_eq!(ledger.count(&of_publisher(1, arrival(9, 0, 1))), 1);
        assert_eq!(ledger.publishers().iter().map(|one| one.holes).sum::<u64>(), 1);
    }

    #[test]
    fn a_publisher_that_is_there_or_incomplete_makes_no_room() {
        let mut ledger = ledger();
        let ids: Vec<ParticipantId> =
            (1..=PUBLISHERS_MAX as u8).map(|number| ParticipantId([number; 16])).collect();
        for number in 1..=PUBLISHERS_MAX as u8 {
            ledger.count(&of_publisher(number, arrival(1, 0, u64::from(number))));
            // The first one has lost a sample.
            let written = if number == 1 { 2 } else { 1 };
            ledger.note_total(("T0", Some(0)), &told(number, 9), written);
            ledger.end(publisher(number), 9, PublisherStatus::Done { written });
        }
        ledger.note_present(&ids);
        ledger.make_room();
        assert_eq!(ledger.publishers.len(), PUBLISHERS_MAX, "they are there");
        ledger.note_present(&[]);
        ledger.make_room();
        assert_eq!(ledger.publishers[0].id, publisher(1), "more of it may come");
        assert_eq!((ledger.publishers.len(), lost_of_all(&ledger)), (PUBLISHERS_MAX - 1, Some(1)));
    }

    fn lost_of_all(ledger: &SampleLedger) -> Option<u64> {
        ledger.publishers().iter().map(|one| one.lost).sum()
    }

    #[test]
    fn the_loss_of_one_that_went_without_a_word_is_unknown() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        assert!(ledger.note_present(&[ParticipantId([1; 16])]).is_empty());
        assert_eq!(lost(&ledger), None, "killed, it is still there until its lease is over");
        assert_eq!(ledger.note_present(&[]), [ParticipantId([1; 16])]);
        assert_eq!(ledger.publishers()[0].standing, PublisherStatus::Gone);
        assert_eq!(lost(&ledger), None);
        assert!(ledger.note_present(&[]).is_empty(), "told once");
    }

    #[test]
    fn one_that_was_not_seen_yet_has_not_gone_and_one_that_is_seen_again_is_there() {
        let id = ParticipantId([1; 16]);
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        assert!(ledger.note_present(&[]).is_empty(), "its samples came before it was seen");
        assert_eq!(ledger.publishers()[0].standing, PublisherStatus::Present);
        ledger.note_present(&[id]);
        assert_eq!(ledger.note_present(&[]), [id]);
        ledger.note_present(&[id]);
        assert_eq!(ledger.publishers()[0].standing, PublisherStatus::Present);
    }

    #[test]
    fn a_sample_that_comes_twice_fills_no_hole() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 3, 3]);
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 3 });
        assert_eq!((lost(&ledger), ledger.publishers()[0].duplicates), (Some(1), 1));
    }

    #[test]
    fn totals_that_come_again_count_once_and_those_of_two_publishers_that_are_one_are_added() {
        let mut again = heard(Known::LastValues, 0, &[1, 2, 3]);
        for _ in 0..2 {
            again.note_total(("Other", None), &told(1, 99), 4);
            again.note_total(("T0", Some(0)), &told(1, 99), 3);
            again.end(publisher(1), 9, PublisherStatus::Done { written: 7 });
        }
        assert!(again.publishers()[0].has_totals);
        assert_eq!(lost(&again), Some(0));
        let mut two = ledger();
        for (number, writer) in [(1, 10), (2, 10), (1, 11)] {
            two.count(&arrival(number, 0, writer));
        }
        for (teller, samples) in [(9, 2), (8, 3)] {
            two.note_total(("T0", Some(0)), &told(1, teller), samples);
            two.end(publisher(1), teller, PublisherStatus::Done { written: samples });
        }
        assert_eq!(two.publishers()[0].written(), Some(5));
        assert_eq!(lost(&two), Some(2), "the second and third of the second writer");
    }

    #[test]
    fn a_publisher_of_other_topics_alone_is_told_once() {
        let mut ledger = heard(Known::LastValues, 0, &[1]);
        for number in [1, 2] {
            ledger.note_total(("T0", (number == 1).then_some(0)), &told(number, 5), 1);
            assert!(ledger.take_others().is_empty(), "it has not ended");
            ledger.end(publisher(number), 9, PublisherStatus::Done { written: 1 });
        }
        assert_eq!(ledger.take_others(), [(publisher(2), vec!["T0".to_owned()])]);
        assert!(ledger.take_others().is_empty(), "told once");
    }

    #[test]
    fn a_publisher_that_was_stopped_ends_nothing_and_its_loss_is_known() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        ledger.end(publisher(1), 9, PublisherStatus::Stopped { written: 3 });
        assert!(!ledger.has_end() && !ledger.is_complete());
        assert_eq!(lost(&ledger), Some(1));
        assert!(ledger.note_present(&[]).is_empty(), "it said that it goes");
    }

    #[test]
    fn without_last_values_the_share_of_silent_writers_is_unknown() {
        let mut late = heard(Known::None, 100, &[101, 102]);
        late.end(publisher(1), 9, PublisherStatus::Done { written: 110 });
        assert_eq!(lost(&late), None);
        let mut early = heard(Known::None, 0, &[1, 2]);
        early.end(publisher(1), 9, PublisherStatus::Done { written: 3 });
        assert_eq!(lost(&early), None, "the third may be of a writer that was silent since we met");
        early.note_total(("T0", Some(0)), &told(1, 99), 3);
        assert_eq!(lost(&early), Some(1), "the writer's own");
        early.end(publisher(1), 9, PublisherStatus::Done { written: 10 });
        early.note_total(("T1", Some(1)), &told(1, 99), 7);
        assert_eq!(lost(&early), None, "another writer's seven, of which none came");
    }

    #[test]
    fn numbers_of_the_feed_that_repeat_or_go_back_are_no_duplicates() {
        let mut ledger = ledger();
        for (number, seq_num) in [(1, 7), (2, 7), (3, 8), (4, 6), (3, 8)] {
            let mut arrival = arrival(seq_num, 1, 10);
            arrival.raw.info.writer_seq_num = number;
            ledger.count(&arrival);
        }
        assert_eq!(ledger.publishers()[0].duplicates, 1, "the one that came again");
    }

    #[test]
    fn a_publisher_of_other_topics_loses_nothing_and_ends_nobody() {
        for known in [Known::LastValues, Known::None, SOME, Known::BestEffort] {
            let mut ledger = SampleLedger::new(known, 1);
            ledger.note_total(("Other", None), &told(2, 5), 1000);
            ledger.end(publisher(2), 9, PublisherStatus::Done { written: 1000 });
            assert!(!ledger.has_end() && !ledger.is_complete(), "{known:?}");
            assert_eq!(lost(&ledger), Some(0), "{known:?}");
            assert!(!ledger.has_unknown_tails());
        }
    }

    #[test]
    fn totals_by_topic_tell_a_subscriber_of_some_topics_what_it_lost() {
        let mut ledger = heard(SOME, 0, &[1, 2]);
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 50 });
        assert!(ledger.has_unknown_tails() && !ledger.is_complete());
        ledger.note_total(("Other", None), &told(1, 5), 48);
        ledger.note_total(("T0", Some(0)), &told(1, 5), 2);
        assert!(ledger.is_complete() && !ledger.has_unknown_tails());
        let mut short = heard(SOME, 0, &[1, 2]);
        short.end(publisher(1), 9, PublisherStatus::Done { written: 3 });
        short.note_total(("T0", Some(0)), &told(1, 5), 3);
        assert_eq!((lost(&short), short.is_complete()), (Some(1), false));
    }

    #[test]
    fn a_total_that_was_told_before_we_met_counts_nothing_that_is_lost() {
        for known in [Known::LastValues, Known::None, SOME, Known::BestEffort] {
            let mut ledger = heard(known, 0, &[]);
            ledger.note_total(("T0", Some(0)), &SampleInfo { history_end: 1, ..told(1, 5) }, 500);
            ledger.end(publisher(1), 9, PublisherStatus::Done { written: 500 });
            assert_eq!(lost(&ledger), Some(0), "{known:?}: no last value came either");
        }
        let mut met = heard(SOME, 2, &[2]);
        met.note_total(("T0", Some(0)), &SampleInfo { history_end: 1, ..told(1, 5) }, 4);
        met.end(publisher(1), 9, PublisherStatus::Done { written: 4 });
        assert_eq!(lost(&met), Some(2), "two were written between the meetings");
    }

    #[test]
    fn writers_of_two_topics_with_the_same_name_are_told_apart() {
        let mut ledger = ledger();
        for (topic, number) in [(0, 1), (0, 2), (1, 1), (1, 2), (0, 3)] {
            ledger.count(&SampleArrival { topic, ..arrival(number, 0, 10) });
        }
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 5 });
        let received = &ledger.publishers()[0];
        assert_eq!((received.duplicates, received.lost), (0, Some(0)));
    }

    #[test]
    fn the_end_of_an_instance_is_no_hole() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        let mut info = arrival(3, 0, 10).raw.info;
        (info.has_data, info.instance_state) = (false, InstanceState::Disposed);
        ledger.note_end_of_instance(0, &info);
        assert_eq!(ledger.count(&arrival(4, 0, 10)), 0);
        let received = &ledger.publishers()[0];
        assert_eq!((received.holes, received.received()), (0, 3));
    }

    #[test]
    fn a_sample_has_the_number_of_those_missing_before_it() {
        let mut ledger = ledger();
        let missed = [3, 4, 4, 9, 2].map(|number| ledger.count(&arrival(number, 0, 10)));
        assert_eq!(missed, [2, 0, 0, 4, 0]);
        assert_eq!(ledger.publishers()[0].holes, 5, "the second one came late");
    }

    #[test]
    fn samples_of_this_process_have_no_number_and_are_not_lost() {
        let mut ledger = ledger();
        for _ in 0..3 {
            let mut arrival = arrival(0, 0, 10);
            (arrival.raw.info.participant, arrival.seq_num) = (None, None);
            ledger.count(&arrival);
        }
        ledger.end(None, 9, PublisherStatus::Done { written: 3 });
        assert_eq!((lost(&ledger), ledger.publishers()[0].duplicates), (Some(0), 0));
        ledger.end(None, 9, PublisherStatus::Done { written: 4 });
        assert_eq!(lost(&ledger), None, "it may be from before we met");
    }

    #[test]
    fn what_a_subscriber_of_some_topics_lost_of_one_that_tells_no_totals_is_unknown() {
        let mut ledger = heard(SOME, 0, &[1, 3]);
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 50 });
        assert_eq!((lost(&ledger), ledger.publishers()[0].holes), (None, 1));
    }

    #[test]
    fn what_a_conflating_subscriber_skips_is_not_lost() {
        let mut ledger = heard(Known::Conflated, 0, &[1, 9]);
        assert_eq!(lost(&ledger), None, "it may have written more");
        ledger.end(publisher(1), 9, PublisherStatus::Done { written: 20 });
        assert_eq!(lost(&ledger), Some(0));
        assert_eq!(ledger.publishers()[0].holes, 7);
        assert!(ledger.has_end() && !ledger.is_complete(), "last values may still wait");
        ledger.note_stale_keys();
        assert_eq!(lost(&ledger), None);
    }
}
