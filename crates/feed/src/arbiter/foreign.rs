//! When numbers that do not fit are the beginning of a new numbering.

use super::ForeignPolicy;

/// A run of foreign numbers that rise from one another.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    highest: u64,
    packets: u32,
}

/// Watches foreign numbers until they convince.
#[derive(Debug)]
pub(super) struct ForeignWatch {
    policy: ForeignPolicy,
    /// How far a number may be above the highest of the run and still belong to it.
    reach: u64,
    run: Option<Run>,
}

impl ForeignWatch {
    pub(super) fn new(policy: ForeignPolicy, reach: u64) -> Self {
        Self { policy, reach, run: None }
    }

    /// Takes a foreign number; returns where the new numbering begins if this one convinced.
    pub(super) fn observe(&mut self, seq_num: u64) -> Option<u64> {
        let ForeignPolicy::Follow { packets_min } = self.policy else { return None };
        let run = match self.run {
            Some(run) if run.first <= seq_num && seq_num <= run.highest => run,
            Some(run) if seq_num > run.highest && seq_num - run.highest <= self.reach => {
                Run { highest: seq_num, packets: run.packets.saturating_add(1), ..run }
            }
            _ => Run { first: seq_num, highest: seq_num, packets: 1 },
        };
        self.run = Some(run);
        if run.packets < packets_min {
            return None;
        }
        self.run = None;
        Some(run.first)
    }

    /// Forgets the run: the old numbering goes on.
    pub(super) fn forget(&mut self) {
        self.run = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(packets_min: u32) -> ForeignWatch {
        ForeignWatch::new(ForeignPolicy::Follow { packets_min }, 16)
    }

    #[test]
    fn a_rising_run_convinces_and_the_other_line_does_not_count_twice() {
        let mut watch = watch(3);
        assert_eq!(watch.observe(1), None);
        assert_eq!(watch.observe(1), None);
        assert_eq!(watch.observe(2), None);
        assert_eq!(watch.observe(1), None);
        assert_eq!(watch.observe(3), Some(1));
    }

    #[test]
    fn scattered_numbers_never_convince() {
        let mut watch = watch(2);
        for seq_num in [900, 100, 500, 50, 10_000] {
            assert_eq!(watch.observe(seq_num), None);
        }
    }

    #[test]
    fn a_number_of_the_old_numbering_begins_the_run_again() {
        let mut watch = watch(2);
        assert_eq!(watch.observe(1), None);
        watch.forget();
        assert_eq!(watch.observe(2), None);
        assert_eq!(watch.observe(3), Some(2));
    }
}
