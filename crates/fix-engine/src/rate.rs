//! Rate limits.

/// A rate limit. Bursts may have as many events as a second allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Events per second; 0 for no limit.
    pub per_second: u32,
}

impl Rate {
    /// No limit.
    pub const UNLIMITED: Self = Self { per_second: 0 };
}

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    /// Tokens in the bucket, in billionths.
    filled: u64,
    at_ns: u64,
}

/// One token, in billionths.
const ONE: u64 = 1_000_000_000;

impl Bucket {
    pub const fn new(rate: Rate, now_ns: u64) -> Self {
        Self { rate, filled: rate.per_second as u64 * ONE, at_ns: now_ns }
    }

    /// Takes a token. Returns false if there is none.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let per_second = u64::from(self.rate.per_second);
        if per_second == 0 {
            return true;
        }
        let passed_ns = now_ns.saturating_sub(self.at_ns).min(ONE);
        self.at_ns = now_ns;
        self.filled = (self.filled + passed_ns * per_second).min(per_second * ONE);
        let granted = self.filled >= ONE;
        self.filled -= if granted { ONE } else { 0 };
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_come_back_with_time() {
        let mut bucket = Bucket::new(Rate { per_second: 2 }, 0);
        assert_eq!([0, 0, 0].map(|at| bucket.take(at)), [true, true, false]);
        assert!(!bucket.take(ONE / 4));
        assert!(bucket.take(ONE / 2));
        assert!(Bucket::new(Rate::UNLIMITED, 0).take(0));
    }
}
