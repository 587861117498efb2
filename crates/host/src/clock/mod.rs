//! The two clocks of the operating system, in nanoseconds.
//!
//! Engines take time as an argument; this module provides it. Intervals, deadlines and latencies
//! use [`monotonic_ns`], which is the same for all processes of a host and never goes back.
//! [`unix_ns`] is the time of day, which is in the kernel's packet stamps and in FIX messages.

mod kernel_times;

pub use kernel_times::{KernelTimes, StampWindow};

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Returns nanoseconds since the host started, on the clock that all its processes share.
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Returns [`monotonic_ns`] as of the last tick of the kernel's timer: a few milliseconds late, and read several times
/// faster.
pub fn coarse_monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC_COARSE)
}

/// Returns nanoseconds since 1970-01-01 UTC by the host's clock, which steps when it is set.
pub fn unix_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// Reads both clocks. Tests substitute simulated clocks for [`SystemClocks`].
pub trait Clocks {
    /// See [`monotonic_ns`].
    fn monotonic_ns(&self) -> u64;

    /// See [`unix_ns`].
    fn unix_ns(&self) -> u64;
}

/// The clocks of this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClocks;

impl Clocks for SystemClocks {
    fn monotonic_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn unix_ns(&self) -> u64 {
        unix_ns()
    }
}

/// Reads a clock. These clocks exist on every Linux; a failing one would read as 0.
fn read(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds.saturating_mul(SECOND_NS).saturating_add(nanoseconds)
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
    fn the_coarse_clock_is_at_most_a_tick_behind() {
        let coarse = coarse_monotonic_ns();
        let now = monotonic_ns();
        assert!(coarse > 0 && coarse <= now);
        // A tick takes at most 10 ms; this thread may have been descheduled between the readings.
        assert!(now - coarse < SECOND_NS, "{} ns", now - coarse);
    }

    #[test]
    fn the_time_of_day_is_that_of_the_standard_library() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let between = u128::from(unix_ns());
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(before <= between && between <= after);
    }
}
