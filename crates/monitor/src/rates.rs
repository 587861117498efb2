//! Rates per second of counts that are sampled a few times per second.

use std::collections::VecDeque;

/// Period over which a rate is taken, in nanoseconds.
const RATE_NS: u64 = 1_000_000_000;

/// The counts of the last second.
#[derive(Debug, Default)]
pub struct Rates {
    /// Times in nanoseconds with counts, the newest at the back.
    marks: VecDeque<(u64, Vec<u64>)>,
}

impl Rates {
    /// Adds the counts sampled at `now_ns`.
    pub fn note(&mut self, now_ns: u64, counts: Vec<u64>) {
        let is_old = |(at_ns, _): &(u64, Vec<u64>)| now_ns.saturating_sub(*at_ns) > RATE_NS;
        while self.marks.len() > 1 && self.marks.get(1).is_some_and(is_old) {
            self.marks.pop_front();
        }
        self.marks.push_back((now_ns, counts));
    }

    /// Returns the rate per second of the count at `index`, rounded to one decimal place; 0 before the second sample.
    pub fn of(&self, index: usize) -> f64 {
        let (Some((first_ns, first)), Some((last_ns, last))) =
            (self.marks.front(), self.marks.back())
        else {
            return 0.0;
        };
        let ns = last_ns.saturating_sub(*first_ns);
        if ns == 0 {
            return 0.0;
        }
        let count = |counts: &[u64]| counts.get(index).copied().unwrap_or(0);
        let grown = count(last).saturating_sub(count(first));
        (grown as f64 * 1e9 / ns as f64 * 10.0).round() / 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_second() {
        let mut rates = Rates::default();
        assert_eq!(rates.of(0), 0.0);
        for tenth in 0..=50 {
            // A thousand a second, and from the third second on ten thousand.
            let count = tenth * 100 + (tenth.max(30) - 30) * 900;
            rates.note(tenth * 100_000_000, vec![7, count]);
        }
        assert_eq!((rates.of(0), rates.of(1), rates.of(2)), (0.0, 10_000.0, 0.0));
        assert!(rates.marks.len() <= 12, "{}", rates.marks.len());
    }
}
