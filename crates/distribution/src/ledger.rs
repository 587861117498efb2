//! What a subscriber received, by publisher, and what it knows to be lost.

use std::collections::HashMap;

use crate::stations::Arrival;
use crate::transport::ParticipantId;

/// Publishers told apart; of more, the rest are one of which nobody knows what was lost.
const PUBLISHERS_MAX: usize = 64;
/// Writers and rows of samples followed; more are not followed.
const ROWS_MAX: usize = 1 << 17;

/// How a publisher stands to the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It is there, or its lease is not over.
    #[default]
    Present,
    /// It said that its feed is done, after writing so many samples.
    Done {
        /// Samples.
        written: u64,
    },
    /// It said that it was stopped, after writing so many samples.
    Stopped {
        /// Samples.
        written: u64,
    },
    /// It went without a word.
    Gone,
}

/// What came from one publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromPublisher {
    /// Samples, by topic set, repeated ones too.
    pub samples: Vec<u64>,
    /// Samples that it had written before we met: the last values that a late subscriber gets.
    pub last_values: u64,
    /// Samples whose number was not above that of the one before of the same writer and key.
    pub duplicates: u64,
    /// Sequence numbers of the feed in its samples, lowest and highest, last values apart.
    pub seq_nums: Option<(u64, u64)>,
    /// How it stands.
    pub standing: Standing,
    /// Samples that are missing between those that came.
    pub holes: u64,
    /// Samples up to the last that came of each writer: those before we met, those that came, and holes.
    accounted: u64,
    /// Whether some of its writers had written before we met.
    is_met_late: bool,
    /// Whether it has writers that are not followed, or is several publishers.
    is_partly_followed: bool,
}

impl FromPublisher {
    /// All samples that came.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.samples.iter().sum()
    }

    /// Samples that it says it wrote, once it has ended.
    pub fn written(&self) -> Option<u64> {
        match self.standing {
            Standing::Done { written } | Standing::Stopped { written } => Some(written),
            Standing::Present | Standing::Gone => None,
        }
    }
}

/// Samples of one writer.
#[derive(Clone, Copy, Debug)]
struct WriterRow {
    publisher: usize,
    /// Number of its last sample before we met.
    history_end: u64,
    /// Highest number that came.
    last: u64,
    /// Samples that came and were written after we met.
    live: u64,
}

/// Counts samples by publisher.
#[derive(Debug)]
pub struct Ledger {
    publishers: Vec<(Option<ParticipantId>, FromPublisher)>,
    /// By topic set and writer.
    writers: HashMap<(usize, u64), WriterRow>,
    /// By writer and key, the last sequence number.
    last: HashMap<(u64, u64), u64>,
    known: Known,
    sets: usize,
}

/// What a subscriber knows of samples from before it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It gets last values of every writer that wrote, and with them how many there were.
    LastValues,
    /// It gets none, so of a writer that is silent it does not know whether it ever wrote.
    None,
    /// It reads some of the topics only. Publishers say how much they wrote to all, so it does not learn of samples
    /// that are lost behind the last that came.
    SomeTopics,
    /// It skips samples: whether one that did not come was skipped or lost is unknown, and not counted as lost.
    Conflated,
    /// Delivery is not reliable: what came before the first that came may be lost or from before.
    BestEffort,
}

impl Ledger {
    /// An empty ledger of a subscriber of so many topic sets.
    #[must_use]
    pub fn new(known: Known, sets: usize) -> Self {
        let (writers, last) = (HashMap::new(), HashMap::new());
        Self { publishers: Vec::new(), writers, last, known, sets }
    }

    /// Counts a sample.
    pub fn count(&mut self, arrival: &Arrival<'_>) {
        let publisher = self.follow(arrival);
        let is_repeated = self.is_repeated(arrival);
        let received = &mut self.publishers[publisher].1;
        received.samples[arrival.set] += 1;
        received.duplicates += u64::from(is_repeated);
        if arrival.raw.info.is_history() {
            received.last_values += 1;
        } else if let Some(seq_num) = arrival.seq_num {
            let (first, last) = received.seq_nums.unwrap_or((seq_num, seq_num));
            received.seq_nums = Some((first.min(seq_num), last.max(seq_num)));
        }
    }

    /// Enters the sample in its writer's row; returns the index of its publisher.
    fn follow(&mut self, arrival: &Arrival<'_>) -> usize {
        let info = &arrival.raw.info;
        let key = (arrival.set, info.writer);
        let number = info.writer_seq_num;
        if let Some(row) = self.writers.get_mut(&key) {
            row.last = row.last.max(number);
            row.live += u64::from(number > row.history_end);
            return row.publisher;
        }
        let publisher = self.index_of(arrival.publisher());
        if self.writers.len() >= ROWS_MAX {
            self.publishers[publisher].1.is_partly_followed = true;
            return publisher;
        }
        let history_end = match self.known {
            Known::BestEffort => number.saturating_sub(1),
            Known::Conflated | Known::LastValues | Known::None | Known::SomeTopics => {
                info.history_end
            }
        };
        let live = u64::from(number > history_end);
        self.writers.insert(key, WriterRow { publisher, history_end, last: number, live });
        publisher
    }

    fn is_repeated(&mut self, arrival: &Arrival<'_>) -> bool {
        let Some(seq_num) = arrival.seq_num else { return false };
        let row = (arrival.raw.info.writer, arrival.key);
        let room = self.last.len() < ROWS_MAX;
        match self.last.get_mut(&row) {
            Some(last) if seq_num < *last => return true,
            Some(last) if seq_num == *last => return !arrival.is_of_packet,
            Some(last) => *last = seq_num,
            None if room => {
                self.last.insert(row, seq_num);
            }
            None => {}
        }
        false
    }

    /// Notes how a publisher ended. Of several that are one, a feed that is done stays done.
    pub fn end(&mut self, owner: Option<ParticipantId>, standing: Standing) {
        let index = self.index_of(owner);
        let received = &mut self.publishers[index].1;
        if !(received.is_partly_followed && matches!(received.standing, Standing::Done { .. })) {
            received.standing = standing;
        }
    }

    /// Notes which publishers are there; returns those that have gone without a word since the last time.
    pub fn note_present(&mut self, present: &[ParticipantId]) -> Vec<ParticipantId> {
        for id in present {
            self.index_of(Some(*id));
        }
        let mut gone = Vec::new();
        for (id, received) in &mut self.publishers {
            if let (Some(id), Standing::Present) = (*id, received.standing)
                && !present.contains(&id)
            {
                received.standing = Standing::Gone;
                gone.push(id);
            }
        }
        gone
    }

    /// What came, by publisher, in the order in which they were first heard.
    #[must_use]
    pub fn publishers(&self) -> Vec<FromPublisher> {
        let mut all: Vec<_> =
            self.publishers.iter().map(|(_, received)| received.clone()).collect();
        for row in self.writers.values() {
            let received = &mut all[row.publisher];
            let beyond = row.last.saturating_sub(row.history_end);
            received.holes += beyond.saturating_sub(row.live);
            received.accounted += row.last.max(row.history_end);
            received.is_met_late |= row.history_end > 0;
        }
        all
    }

    /// Samples that a publisher wrote after we met and that did not come; `None` where that is not known. One
    /// that has not said that it ended may have written more, also while its lease lasts.
    #[must_use]
    pub fn lost(&self, received: &FromPublisher) -> Option<u64> {
        match self.known {
            Known::Conflated => return received.written().map(|_| 0),
            Known::SomeTopics => return received.written().map(|_| received.holes),
            Known::BestEffort | Known::LastValues | Known::None => {}
        }
        let tail = received.written()?.saturating_sub(received.accounted);
        let is_certain = match self.known {
            Known::LastValues => true,
            // The tail may be of writers that were silent since we met.
            Known::None => tail == 0 || !received.is_met_late,
            // So may it be here, and the head may be lost.
            Known::BestEffort | Known::Conflated | Known::SomeTopics => !received.is_met_late,
        };
        (is_certain && !received.is_partly_followed).then_some(received.holes + tail)
    }

    /// Whether samples are skipped on purpose.
    #[must_use]
    pub fn skips(&self) -> bool {
        self.known == Known::Conflated
    }

    /// Whether some topics only are read, so that losses behind the last sample of a topic are not learnt of.
    #[must_use]
    pub fn is_of_some_topics(&self) -> bool {
        self.known == Known::SomeTopics
    }

    /// Whether some publisher's feed is done, and everything has come that those wrote who have ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        if matches!(self.known, Known::Conflated | Known::SomeTopics) {
            // Samples of those that have ended may still wait to be taken.
            return false;
        }
        let has_ended = |received: &FromPublisher| received.written().is_some();
        self.has_end()
            && self
                .publishers()
                .iter()
                .filter(|received| has_ended(received))
                .all(|received| self.lost(received) == Some(0))
    }

    /// Whether some publisher's feed is done.
    pub fn has_end(&self) -> bool {
        let is_done = |received: &FromPublisher| matches!(received.standing, Standing::Done { .. });
        self.publishers.iter().any(|(_, received)| is_done(received))
    }

    /// The publisher's index; publishers of this process are one.
    fn index_of(&mut self, owner: Option<ParticipantId>) -> usize {
        let known = self.publishers.iter().position(|(publisher, _)| *publisher == owner);
        known.unwrap_or_else(|| {
            if self.publishers.len() >= PUBLISHERS_MAX {
                self.publishers[PUBLISHERS_MAX - 1].1.is_partly_followed = true;
                return PUBLISHERS_MAX - 1;
            }
            let samples = vec![0; self.sets];
            self.publishers.push((owner, FromPublisher { samples, ..Default::default() }));
            self.publishers.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::cdr::Encoding;
    use crate::transport::{RawSample, SampleInfo};
    use crate::{Fields, Quote};

    fn arrival(seq_num: u64, key: u64, writer: u64) -> Arrival<'static> {
        let info = SampleInfo {
            has_data: true,
            writer,
            writer_seq_num: seq_num,
            participant: publisher(1),
            ..SampleInfo::default()
        };
        Arrival {
            set: 0,
            of: Quote::struct_type(),
            raw: RawSample { bytes: &[], encoding: Encoding::Xcdr1, info },
            seq_num: Some(seq_num),
            is_of_packet: false,
            key,
            taken_ns: 0,
        }
    }

    fn of_publisher(number: u8, mut arrival: Arrival<'static>) -> Arrival<'static> {
        arrival.raw.info.participant = publisher(number);
        arrival
    }

    fn publisher(number: u8) -> Option<ParticipantId> {
        Some(ParticipantId([number; 16]))
    }

    fn ledger() -> Ledger {
        Ledger::new(Known::LastValues, 1)
    }

    /// A ledger in which samples with these numbers of one writer have come, met after `history_end`.
    fn heard(known: Known, history_end: u64, numbers: &[u64]) -> Ledger {
        let mut ledger = Ledger::new(known, 1);
        for &number in numbers {
            let mut arrival = arrival(number, 0, 10);
            arrival.raw.info.history_end = history_end;
            ledger.count(&arrival);
        }
        ledger
    }

    fn lost(ledger: &Ledger) -> Option<u64> {
        ledger.lost(&ledger.publishers()[0])
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
        ledger.end(publisher(1), Standing::Done { written: 5 });
        assert_eq!(lost(&ledger), Some(2));
        assert!(!ledger.is_complete());
    }

    #[test]
    fn what_was_written_before_a_late_subscriber_came_is_not_lost() {
        let mut ledger = heard(Known::LastValues, 100, &[40, 97, 101, 102]);
        ledger.end(publisher(1), Standing::Done { written: 102 });
        assert_eq!(lost(&ledger), Some(0));
        assert!(ledger.is_complete());
        let received = &ledger.publishers()[0];
        assert_eq!((received.last_values, received.seq_nums), (2, Some((101, 102))));
    }

    #[test]
    fn with_best_effort_the_loss_of_a_head_is_unknown() {
        let mut headless = heard(Known::BestEffort, 0, &[101, 103]);
        headless.end(publisher(1), Standing::Done { written: 103 });
        assert_eq!(headless.publishers()[0].holes, 1);
        assert_eq!(lost(&headless), None, "the first hundred may be lost, or from before we met");
        let mut whole = heard(Known::BestEffort, 0, &[1, 3]);
        whole.end(publisher(1), Standing::Done { written: 4 });
        assert_eq!(lost(&whole), Some(2));
    }

    #[test]
    fn the_loss_of_publishers_that_are_not_told_apart_is_unknown() {
        let mut ledger = ledger();
        let count = PUBLISHERS_MAX as u8 + 1;
        for number in 1..=count {
            ledger.count(&of_publisher(number, arrival(1, 0, u64::from(number))));
            ledger.end(publisher(number), Standing::Done { written: 1 });
        }
        let all = ledger.publishers();
        assert_eq!(all.len(), PUBLISHERS_MAX);
        let known = all.iter().filter(|received| ledger.lost(received) == Some(0)).count();
        assert_eq!(known, PUBLISHERS_MAX - 1);
        assert_eq!(ledger.lost(&all[PUBLISHERS_MAX - 1]), None);
        ledger.end(publisher(count), Standing::Stopped { written: 1 });
        let standing = ledger.publishers()[PUBLISHERS_MAX - 1].standing;
        assert_eq!(standing, Standing::Done { written: 1 }, "another of them was done");
    }

    #[test]
    fn the_loss_of_one_that_went_without_a_word_is_unknown() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        assert!(ledger.note_present(&[ParticipantId([1; 16])]).is_empty());
        assert_eq!(lost(&ledger), None, "killed, it is still there until its lease is over");
        assert_eq!(ledger.note_present(&[]), [ParticipantId([1; 16])]);
        assert_eq!(ledger.publishers()[0].standing, Standing::Gone);
        assert_eq!(lost(&ledger), None);
        assert!(ledger.note_present(&[]).is_empty(), "told once");
    }

    #[test]
    fn a_publisher_that_was_stopped_ends_nothing_and_its_loss_is_known() {
        let mut ledger = heard(Known::LastValues, 0, &[1, 2]);
        ledger.end(publisher(1), Standing::Stopped { written: 3 });
        assert!(!ledger.has_end() && !ledger.is_complete());
        assert_eq!(lost(&ledger), Some(1));
        assert!(ledger.note_present(&[]).is_empty(), "it said that it goes");
    }

    #[test]
    fn without_last_values_the_share_of_silent_writers_is_unknown() {
        let mut late = heard(Known::None, 100, &[101, 102]);
        late.end(publisher(1), Standing::Done { written: 110 });
        assert_eq!(lost(&late), None);
        let mut early = heard(Known::None, 0, &[1, 2]);
        early.end(publisher(1), Standing::Done { written: 3 });
        assert_eq!(lost(&early), Some(1));
    }

    #[test]
    fn samples_of_one_packet_are_no_duplicates() {
        let mut ledger = ledger();
        for seq_num in [7, 7, 8, 6] {
            ledger.count(&Arrival { is_of_packet: true, ..arrival(seq_num, 1, 10) });
        }
        assert_eq!(ledger.publishers()[0].duplicates, 1, "the one out of order");
    }

    #[test]
    fn a_subscriber_of_some_topics_knows_of_holes_alone() {
        let mut ledger = heard(Known::SomeTopics, 0, &[1, 3]);
        ledger.end(publisher(1), Standing::Done { written: 50 });
        assert_eq!(lost(&ledger), Some(1));
    }

    #[test]
    fn what_a_conflating_subscriber_skips_is_not_lost() {
        let mut ledger = heard(Known::Conflated, 0, &[1, 9]);
        assert_eq!(lost(&ledger), None, "it may have written more");
        ledger.end(publisher(1), Standing::Done { written: 20 });
        assert_eq!(lost(&ledger), Some(0));
        assert_eq!(ledger.publishers()[0].holes, 7);
        assert!(ledger.has_end() && !ledger.is_complete(), "last values may still wait");
    }
}
