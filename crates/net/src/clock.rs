//! The two clocks of the operating system, in nanoseconds.
//!
//! Engines take time as an argument; this is where it comes from. Intervals, deadlines and latencies
//! use [`monotonic_ns`], which is the same for all processes of a host and never goes back. The time
//! of day, which the kernel stamps packets with and FIX sends, is [`unix_ns`].

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since the host started, on the clock that all its processes share.
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970-01-01 UTC, as the host believes. May jump when the host is told better.
pub fn unix_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// Both clocks exist on every Linux; a clock that cannot be read stands still at 0.
fn read(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds.saturating_mul(SECOND_NS).saturating_add(nanoseconds)
}

/// Turns the kernel's times of day into times on the monotonic clock.
///
/// The two clocks run alike and differ by an offset that changes only when the time of day is set, so
/// it is measured now and then, closely, and not for each packet.
#[derive(Clone, Copy, Debug)]
pub struct KernelTimes {
    /// Time of day less monotonic time, wrapping.
    offset_ns: u64,
    measured_ns: u64,
}

/// Tries to read both clocks without being interrupted between.
const MEASUREMENTS: usize = 5;

impl KernelTimes {
    /// Measures the offset of the clocks.
    pub fn new() -> Self {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..MEASUREMENTS {
            let before_ns = monotonic_ns();
            let unix_ns = unix_ns();
            let after_ns = monotonic_ns();
            let width_ns = after_ns.saturating_sub(before_ns);
            let middle_ns = before_ns.saturating_add(width_ns / 2);
            if width_ns < best.0 {
                best = (width_ns, unix_ns.wrapping_sub(middle_ns), after_ns);
            }
        }
        Self { offset_ns: best.1, measured_ns: best.2 }
    }

    /// Measures again if the last time was more than a second before `now_ns`.
    pub fn refresh(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.measured_ns) > SECOND_NS {
            *self = Self::new();
        }
    }

    /// The monotonic time of a time of day.
    pub const fn monotonic_ns(&self, unix_ns: u64) -> u64 {
        unix_ns.wrapping_sub(self.offset_ns)
    }
}

impl Default for KernelTimes {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let first = monotonic_ns();
        assert!(first > 0);
        assert!(monotonic_ns() >= first);
    }

    #[test]
    fn times_of_day_become_monotonic_times() {
        let times = KernelTimes::new();
        let (before_ns, unix_ns, after_ns) = (monotonic_ns(), unix_ns(), monotonic_ns());
        let between_ns = times.monotonic_ns(unix_ns);
        assert!(between_ns + 100_000 > before_ns && between_ns < after_ns + 100_000);
    }

    #[test]
    fn the_time_of_day_is_that_of_the_standard_library() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let between = u128::from(unix_ns());
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(before <= between && between <= after);
    }
}
