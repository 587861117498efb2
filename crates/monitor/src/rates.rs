//! Rates per second, computed from counts that are sampled a few times per second.

use std::collections::VecDeque;

/// Period over which a rate is taken, in nanoseconds.
const RATE_NS: u64 = 1_000_000_000;

/// The samples of the last second. `C` is the type of the counts in one sample.
#[derive(Debug, Default)]
pub struct Rates<C = Vec<u64>> {
    /// Times in nanoseconds and counts, the newest sample last.
    samples: VecDeque<(u64, C)>,
}

impl<C> Rates<C> {
    /// Adds the counts sampled at `now_ns`.
    pub fn note(&mut self, now_ns: u64, counts: C) {
        let is_old = |(at_ns, _): &(u64, C)| now_ns.saturating_sub(*at_ns) > RATE_NS;
        while self.samples.len() > 1 && self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
        self.samples.push_back((now_ns, counts));
    }

    /// Returns the newest counts.
    pub fn last(&self) -> Option<&C> {
        self.samples.back().map(|(_, counts)| counts)
    }

    /// Returns the rate per second of a count, rounded to one decimal place; 0 before the second sample.
    pub fn per_second(&self, count: impl Fn(&C) -> u64) -> f64 {
        let (Some((first_ns, first)), Some((last_ns, last))) =
            (self.samples.front(), self.samples.back())
        else {
            return 0.0;
        };
        let ns = last_ns.saturating_sub(*first_ns);
        if ns == 0 {
            return 0.0;
        }
        let grown = count(last).saturating_sub(count(first));
        (grown as f64 * 1e9 / ns as f64 * 10.0).round() / 10.0
    }
}

impl Rates {
    /// Returns the rate per second of the count at `index`; 0 if there is no such count.
    pub fn of(&self, index: usize) -> f64 {
        self.per_second(|counts| counts.get(index).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_second() {
        let mut rates: Rates = Rates::default();
        assert_eq!(rates.of(0), 0.0);
        for tenth in 0..=50 {
            // 1,000 per second; 10,000 per second from the third second on.
            let count = tenth * 100 + (tenth.max(30) - 30) * 900;
            rates.note(tenth * 100_000_000, vec![7, count]);
        }
        assert_eq!((rates.of(0), rates.of(1), rates.of(2)), (0.0, 10_000.0, 0.0));
        assert!(rates.samples.len() <= 12, "{}", rates.samples.len());
    }
}
