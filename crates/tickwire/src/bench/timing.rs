//! Times of small operations: short passes, turn by turn, the least of each.
//!
//! A machine has better and worse moments, and they last for seconds. Passes of all cases are therefore
//! interleaved, and what counts is the least time, which disturbances can only lengthen. Each pass
//! follows a run that is not timed, so that caches and predictors are those of a case at work, not of
//! the one before: as in a program that does nothing else, and as peers measure themselves.

use std::time::{Duration, Instant};

/// Shortest pass: far above the cost of looking at the clock.
const PASS_MIN: Duration = Duration::from_micros(200);
/// Passes of each case, however short the time given.
const ROUNDS_MIN: u32 = 5;

/// One operation to be timed.
pub struct Case<'c> {
    /// Runs the operation that many times.
    pass: Box<dyn FnMut(u64) + 'c>,
    /// How many items one run of the operation handles.
    items: u64,
}

impl<'c> Case<'c> {
    /// A case whose operation handles one item. The operation must use `std::hint::black_box` on what it
    /// takes and makes.
    pub fn new(operation: impl FnMut() + 'c) -> Self {
        Self::of_many(1, operation)
    }

    /// A case whose operation handles `items` items: a whole data set, say.
    pub fn of_many(items: u64, mut operation: impl FnMut() + 'c) -> Self {
        let pass = Box::new(move |runs| {
            for _ in 0..runs {
                operation();
            }
        });
        Self { pass, items: items.max(1) }
    }

    fn time(&mut self, runs: u64) -> Duration {
        (self.pass)(1);
        let start = Instant::now();
        (self.pass)(runs);
        start.elapsed()
    }

    /// Returns how often to run the operation for a pass of at least the shortest length.
    fn runs(&mut self) -> u64 {
        let mut runs = 1;
        while self.time(runs) < PASS_MIN && runs < 1 << 40 {
            runs *= 2;
        }
        runs
    }
}

/// Returns the least nanoseconds an item of each case, in their order; `total` is for all together.
pub fn minima(cases: &mut [Case<'_>], total: Duration) -> Vec<f64> {
    let runs: Vec<u64> = cases.iter_mut().map(Case::runs).collect();
    let mut least = vec![f64::INFINITY; cases.len()];
    let start = Instant::now();
    let mut round = 0;
    while round < ROUNDS_MIN || start.elapsed() < total {
        for ((case, runs), least) in cases.iter_mut().zip(&runs).zip(&mut least) {
            let nanos = case.time(*runs).as_nanos() as f64;
            *least = least.min(nanos / (*runs * case.items) as f64);
        }
        round += 1;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_pass_follows_a_run_that_is_not_timed() {
        let mut count = 0;
        let mut case = Case::new(|| count += 1);
        case.time(10);
        drop(case);
        assert_eq!(count, 11);
    }

    #[test]
    fn more_work_takes_longer_and_items_share_it() {
        let work = |count: u64| {
            move || {
                let mut sum = 0_u64;
                for at in 0..black_box(count) {
                    sum = black_box(sum.wrapping_mul(31).wrapping_add(at));
                }
            }
        };
        let mut cases =
            [Case::new(work(100)), Case::new(work(10_000)), Case::of_many(1000, work(10_000))];
        let found = minima(&mut cases, Duration::from_millis(20));
        assert!(found[1] > 10.0 * found[0], "{found:?}");
        assert!(found[2] < found[1] / 100.0, "{found:?}");
    }
}
