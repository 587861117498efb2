//! What a subscriber received, by publisher.

use crate::distribution::{Arrival, ByKind, Kind};
use std::collections::HashMap;
use tickwire_dds::ParticipantId;

/// Publishers told apart; of more, the rest are one.
const PUBLISHERS_MAX: usize = 64;
/// Rows of samples followed for repetitions; more are not followed.
const ROWS_MAX: usize = 1 << 17;

/// What came from one publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Samples, by kind, repeated ones too.
    pub samples: ByKind,
    /// Samples whose number was not above that of the one before of the same writer and security.
    pub duplicates: u64,
    /// Samples that it says it wrote, once it has ended.
    pub written: Option<u64>,
}

impl Received {
    /// Samples that it wrote and that did not come; `None` until it has said how many it wrote.
    pub fn lost(&self) -> Option<u64> {
        let unique = self.samples.sum().saturating_sub(self.duplicates);
        self.written.map(|written| written.saturating_sub(unique))
    }

    /// Whether everything that it wrote has come.
    pub fn is_whole(&self) -> bool {
        self.lost() == Some(0)
    }
}

/// Counts samples by publisher.
#[derive(Debug, Default)]
pub struct Ledger {
    publishers: Vec<(Option<ParticipantId>, Received)>,
    /// By writer, the index of its publisher.
    of_writer: HashMap<(Kind, u64), usize>,
    /// By writer and security, the last sequence number.
    last: HashMap<(u64, Option<u32>), u32>,
}

impl Ledger {
    /// Counts a sample; `owner` tells whose it is.
    pub fn count(&mut self, arrival: &Arrival, owner: &dyn Fn() -> Option<ParticipantId>) {
        let writer = (arrival.kind, arrival.writer);
        let index = match self.of_writer.get(&writer) {
            Some(&index) => index,
            None => {
                let index = self.index_of(owner());
                if self.of_writer.len() < ROWS_MAX {
                    self.of_writer.insert(writer, index);
                }
                index
            }
        };
        let received = &mut self.publishers[index].1;
        received.samples.add(arrival.kind);
        let row = (arrival.writer, arrival.security);
        let room = self.last.len() < ROWS_MAX;
        match self.last.get_mut(&row) {
            Some(last) if arrival.seq_num <= *last => received.duplicates += 1,
            Some(last) => *last = arrival.seq_num,
            None if room => {
                self.last.insert(row, arrival.seq_num);
            }
            None => {}
        }
    }

    /// Notes that a publisher has ended after writing so many samples.
    pub fn end(&mut self, owner: Option<ParticipantId>, written: u64) {
        let index = self.index_of(owner);
        self.publishers[index].1.written = Some(written);
    }

    /// What came, by publisher, in the order in which they were first heard.
    pub fn publishers(&self) -> impl Iterator<Item = &Received> {
        self.publishers.iter().map(|(_, received)| received)
    }

    /// Whether some publisher has ended, and everything has come that those wrote who have.
    pub fn is_complete(&self) -> bool {
        let mut ended = self.publishers().filter(|received| received.written.is_some()).peekable();
        ended.peek().is_some() && ended.all(Received::is_whole)
    }

    /// Whether some publisher has ended.
    pub fn has_end(&self) -> bool {
        self.publishers().any(|received| received.written.is_some())
    }

    /// The publisher's index. One that cannot be told any more, because it is gone by now, is taken for
    /// the one heard last that has not ended.
    fn index_of(&mut self, owner: Option<ParticipantId>) -> usize {
        let known = match owner {
            Some(_) => self.publishers.iter().position(|(publisher, _)| *publisher == owner),
            None => self.publishers.iter().rposition(|(_, received)| received.written.is_none()),
        };
        known.unwrap_or_else(|| {
            if self.publishers.len() >= PUBLISHERS_MAX {
                return PUBLISHERS_MAX - 1;
            }
            self.publishers.push((owner, Received::default()));
            self.publishers.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(kind: Kind, seq_num: u32, security: Option<u32>, writer: u64) -> Arrival {
        Arrival { kind, seq_num, security, written_ns: 0, taken_ns: 0, writer }
    }

    fn publisher(number: u8) -> Option<ParticipantId> {
        Some(ParticipantId([number; 16]))
    }

    #[test]
    fn a_number_again_is_a_duplicate_and_another_writer_counts_anew() {
        let mut ledger = Ledger::default();
        for (seq_num, writer) in [(1, 10), (5, 10), (5, 10), (2, 10), (1, 11)] {
            let owner = publisher((writer - 9) as u8);
            ledger.count(&arrival(Kind::Quote, seq_num, None, writer), &|| owner);
        }
        let counts: Vec<_> =
            ledger.publishers().map(|one| (one.samples.sum(), one.duplicates)).collect();
        assert_eq!(counts, [(4, 2), (1, 0)]);
    }

    #[test]
    fn securities_of_one_message_share_its_number() {
        let mut ledger = Ledger::default();
        for security in [1, 2, 3] {
            let sample = arrival(Kind::MarketData, 7, Some(security), 10);
            ledger.count(&sample, &|| publisher(1));
        }
        assert_eq!(ledger.publishers().map(|one| one.duplicates).sum::<u64>(), 0);
    }

    #[test]
    fn the_end_of_a_publisher_that_is_gone_is_that_of_the_one_heard_last() {
        let mut ledger = Ledger::default();
        for (seq_num, writer) in [(1, 10), (2, 10), (1, 11)] {
            let owner = publisher((writer - 9) as u8);
            ledger.count(&arrival(Kind::Quote, seq_num, None, writer), &|| owner);
        }
        ledger.end(None, 1);
        let written: Vec<_> = ledger.publishers().map(|one| one.written).collect();
        assert_eq!(written, [None, Some(1)]);
        assert!(ledger.is_complete());
    }

    #[test]
    fn what_is_lost_is_known_when_the_publisher_has_ended() {
        let mut ledger = Ledger::default();
        for seq_num in [1, 2, 2, 4] {
            ledger.count(&arrival(Kind::New, seq_num, None, 3), &|| publisher(1));
        }
        assert_eq!(ledger.publishers().next().unwrap().lost(), None);
        assert!(!ledger.has_end());
        ledger.end(publisher(1), 4);
        assert_eq!(ledger.publishers().next().unwrap().lost(), Some(1));
        assert!(!ledger.is_complete());
        ledger.count(&arrival(Kind::New, 5, None, 3), &|| publisher(1));
        assert!(ledger.is_complete());
    }
}
