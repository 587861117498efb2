//! Times of small operations: short interleaved passes, and the minimum for each operation.
//!
//! The speed of a machine varies over seconds. Passes of all cases are therefore interleaved, and the minimum
//! counts, because disturbances can only lengthen a pass. An untimed run precedes each pass, so that caches
//! and branch predictors are warm for this case and not for the previous one. This corresponds to a program
//! that does nothing else, and peers measure themselves in the same way.

use std::time::{Duration, Instant};

/// Shortest pass: far longer than reading the clock takes.
const PASS_MIN: Duration = Duration::from_micros(200);
/// Minimum number of passes of each case, even if the given time is shorter.
const ROUNDS_MIN: u32 = 5;

/// One operation to be timed.
pub struct TimedOperation<'c> {
    /// Runs the operation that many times.
    pass: Box<dyn FnMut(u64) + 'c>,
    /// Number of items per run of the operation.
    items: u64,
}

impl<'c> TimedOperation<'c> {
    /// A case whose operation handles one item. The operation must apply `std::hint::black_box` to its input
    /// and its result.
    pub fn new(operation: impl FnMut() + 'c) -> Self {
        Self::of_many(1, operation)
    }

    /// A case whose operation handles `items` items, for example a whole data set.
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

/// Returns the minimum nanoseconds per item of each case, in their order; `total` is the time for all cases
/// together.
pub fn minima(cases: &mut [TimedOperation<'_>], total: Duration) -> Vec<f64> {
    let runs: Vec<u64> = cases.iter_mut().map(TimedOperation::runs).collect();
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
        let mut case = TimedOperation::new(|| count += 1);
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
        let mut cases = [
            TimedOperation::new(work(100)),
            TimedOperation::new(work(10_000)),
            TimedOperation::of_many(1000, work(10_000)),
        ];
        let found = minima(&mut cases, Duration::from_millis(20));
        assert!(found[1] > 10.0 * found[0], "{found:?}");
        assert!(found[2] < found[1] / 100.0, "{found:?}");
    }
}
