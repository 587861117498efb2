//! When books became stale.

use std::collections::BTreeMap;

use tickwire_feed::recovery::StaleReason;

/// The reason of a book whose transaction has begun: it is stale only until the rest of the transaction has arrived.
const UNFINISHED: &str = "unfinished";

/// Books that became stale and were not logged yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewlyStale {
    /// Time at which the first one was found stale.
    pub(crate) at_ns: u64,
    /// Index of its instrument.
    first: usize,
    /// Numbers of books by reason.
    reasons: BTreeMap<&'static str, u64>,
}

impl NewlyStale {
    /// Returns the event as a sentence; `name` returns the name of an instrument.
    pub(crate) fn text(&self, name: impl Fn(usize) -> String) -> String {
        let all: u64 = self.reasons.values().sum();
        let reason = |(reason, count): (&&str, &u64)| match *count == all {
            true => reason.replace('_', " "),
            false => format!("{} {count}", reason.replace('_', " ")),
        };
        let reasons = self.reasons.iter().map(reason).collect::<Vec<_>>().join(", ");
        match all {
            1 => format!("the book of {} became stale: {reasons}", name(self.first)),
            _ => format!("{all} books became stale: {reasons}"),
        }
    }
}

/// The times since which books are stale.
#[derive(Debug, Default)]
pub(crate) struct Staleness {
    /// By index of the instrument; 0 while the book is fresh.
    since_ns: Vec<u64>,
    fallen: Option<NewlyStale>,
}

impl Staleness {
    /// Compares the states of the books at `now_ns` with those before. A book that is stale from
    /// the start does not count as newly stale.
    pub(crate) fn take(&mut self, states: &[u8], now_ns: u64) {
        let known = self.since_ns.len();
        self.since_ns.resize(states.len(), 0);
        for (index, (since_ns, state)) in self.since_ns.iter_mut().zip(states).enumerate() {
            let reason = StaleReason::LABELS.get(usize::from(*state).wrapping_sub(1));
            let Some(reason) = reason.filter(|reason| **reason != UNFINISHED) else {
                *since_ns = 0;
                continue;
            };
            if *since_ns != 0 {
                continue;
            }
            *since_ns = now_ns;
            if index < known {
                let fallen = self.fallen.get_or_insert_with(|| NewlyStale {
                    at_ns: now_ns,
                    first: index,
                    reasons: BTreeMap::new(),
                });
                *fallen.reasons.entry(*reason).or_insert(0) += 1;
            }
        }
    }

    /// Returns the time since which a book is stale, as of the last counts.
    pub(crate) fn since_ns(&self, index: usize) -> Option<u64> {
        self.since_ns.get(index).copied().filter(|since_ns| *since_ns != 0)
    }

    /// Returns the books that became stale since the last call, if there are any.
    pub(crate) fn newly_stale(&mut self) -> Option<NewlyStale> {
        self.fallen.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(label: &str) -> u8 {
        let index = StaleReason::LABELS.iter().position(|known| *known == label).unwrap();
        index as u8 + 1
    }

    #[test]
    fn books_that_fall_together_are_one_event() {
        let (gap, fault) = (code("gap"), code("fault"));
        let mut books = Staleness::default();
        books.take(&[code("no_snapshot"), 0, 0, 0], 1);
        assert_eq!(
            (books.since_ns(0), books.newly_stale()),
            (Some(1), None),
            "stale from the start"
        );
        books.take(&[0, gap, fault, code(UNFINISHED)], 2);
        books.take(&[gap, fault, fault, 0], 3);
        let since = [0, 1, 2, 3, 4].map(|index| books.since_ns(index));
        assert_eq!(since, [Some(3), Some(2), Some(2), None, None]);
        let fallen = books.newly_stale().unwrap();
        assert_eq!(fallen.at_ns, 2);
        let name = |index| format!("#{index}");
        assert_eq!(fallen.text(name), "3 books became stale: fault 1, gap 2");
        books.take(&[0, 0, 0, code("rpt_seq_gap")], 4);
        let fallen = books.newly_stale().unwrap();
        assert_eq!(fallen.text(name), "the book of #3 became stale: rpt seq gap");
        assert_eq!(books.newly_stale(), None);
        books.take(&[], 5);
        assert_eq!(books.since_ns(3), None);
    }
}
