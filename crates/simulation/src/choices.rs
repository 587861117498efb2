//! The source of a scenario's random choices.

use fastrand::Rng;

/// Numbers from a seed, or from the bytes of a fuzzer.
pub(crate) enum ScenarioChoices<'b> {
    Seeded(Rng),
    /// The remaining bytes; 0 after the last.
    Bytes(&'b [u8]),
}

impl ScenarioChoices<'_> {
    /// Returns a number from 0 to `count` - 1; 0 if `count` is 0.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        match self {
            Self::Seeded(random) if count > 0 => random.u64(0..count),
            Self::Seeded(_) => 0,
            Self::Bytes(bytes) => {
                // Two bytes for small counts, eight for large ones.
                let len = if count <= 1 << 16 { 2 } else { 8 };
                let mut number = 0;
                for _ in 0..len {
                    number = number << 8 | u64::from(bytes.split_off_first().copied().unwrap_or(0));
                }
                number % count.max(1)
            }
        }
    }

    /// True with a probability of 1 in `count`.
    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == count.saturating_sub(1)
    }

    /// Returns one of the elements.
    pub(crate) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}
