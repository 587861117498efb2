//! CPU time of the whole machine, interrupts included.

use std::fs;
use std::time::Duration;

/// A tick of `/proc/stat`: USER_HZ is 100 on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// CPU time since the machine started, of all CPUs together, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Everything except idle time and waiting for disks.
    busy: u64,
    /// The part of `busy` in software interrupts: the network stack.
    softirq: u64,
}

impl CpuTimes {
    /// Reads the counters; zeros if the system has none.
    pub fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks = line.unwrap_or_default().split_whitespace();
        let ticks: Vec<u64> = ticks.map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal, then the time of guests, which `user` already
        // contains.
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Self { busy: [0, 1, 2, 5, 6, 7].map(at).iter().sum(), softirq: at(6) }
    }

    /// Returns the busy time since `earlier`, and the part of it in software interrupts.
    pub fn since(self, earlier: Self) -> (Duration, Duration) {
        let of = |now: u64, then: u64| {
            TICK * u32::try_from(now.saturating_sub(then)).unwrap_or(u32::MAX)
        };
        (of(self.busy, earlier.busy), of(self.softirq, earlier.softirq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_left_out_and_interrupts_count() {
        let of = |text| CpuTimes::parse(text);
        let before = of("cpu  10 1 20 1000 50 2 30 4 7 0\ncpu0 1 1 1 1\n");
        assert_eq!(before, CpuTimes { busy: 67, softirq: 30 });
        let after = of("cpu  15 1 20 2000 60 2 40 4 9 0\n");
        assert_eq!(after.since(before), (TICK * 15, TICK * 10));
        assert_eq!(of("nothing"), CpuTimes::default());
        assert!(CpuTimes::read().busy > 0);
    }
}
