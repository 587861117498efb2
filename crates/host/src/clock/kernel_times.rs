//! Converts kernel time stamps (`CLOCK_REALTIME`) to the monotonic clock, despite steps of the time
//! of day.

use super::{Clocks, SystemClocks};

/// Number of clock comparisons per measurement; the one with the closest readings is used.
const MEASUREMENTS: usize = 5;

/// Tolerance for equal offsets: without an interruption, two readings are 25 to 100 ns apart.
const TOLERANCE_NS: u64 = 2_000;

/// Number of earlier offsets that are kept. Stamps with older offsets are implausible.
const STEPS_KEPT: usize = 4;

/// Longest time from a packet's time stamp until the packet can be read from its socket. The
/// softirq work between the two may be interrupted on another core.
const QUEUED_WITHIN_NS: u64 = 10_000_000;

/// Converts the kernel's stamps to times on the monotonic clock.
///
/// Both clocks are slewed alike, so their offset changes only when the time of day is stepped
/// (`settimeofday`, a leap second, a resumed machine). [`check`](Self::check) compares the clocks
/// after each batch of packets and detects steps of more than 2 us.
///
/// Packets in a socket during a step may have stamps of either offset.
/// [`monotonic_ns`](Self::monotonic_ns) selects the offset that fits the time in which the packet
/// must have arrived. The result is earlier than the true time by at most the tolerance, and later
/// by at most the packet's time in the socket. A step therefore neither times out a packet early
/// nor moves it before one that arrived first.
#[derive(Clone, Debug)]
pub struct KernelTimes {
    /// Time of day minus monotonic time, wrapping.
    offset_ns: u64,
    /// Offsets before the latest steps, latest first.
    earlier: [Option<EarlierOffset>; STEPS_KEPT],
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct EarlierOffset {
    offset_ns: u64,
    /// Time at which the step was detected; later stamps do not have this offset.
    until_ns: u64,
}

/// The time in which the packets of a batch can have arrived, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampWindow {
    /// The last time at which the socket was found empty.
    pub empty_ns: u64,
    /// The time just after the batch was read.
    pub taken_ns: u64,
}

impl KernelTimes {
    /// Measures the offset of this host's clocks.
    pub fn new() -> Self {
        Self::with_clocks(&SystemClocks)
    }

    /// Measures the offset of `clocks`.
    pub fn with_clocks(clocks: &impl Clocks) -> Self {
        Self { offset_ns: measure(clocks), earlier: [None; STEPS_KEPT], steps: 0 }
    }

    /// Returns the current offset: the time of day at which the monotonic clock was 0.
    pub const fn epoch_ns(&self) -> u64 {
        self.offset_ns
    }

    /// Returns the number of detected steps of the time of day.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Compares the clocks and measures the offset again if the time of day was stepped. Returns
    /// the monotonic time. Call it after a batch was taken and before its stamps are converted.
    pub fn check(&mut self, clocks: &impl Clocks) -> u64 {
        // In this order, an interruption between the two readings makes `apart_ns` positive.
        let unix_ns = clocks.unix_ns();
        let now_ns = clocks.monotonic_ns();
        let apart_ns = now_ns.wrapping_sub(unix_ns.wrapping_sub(self.offset_ns)).cast_signed();
        if apart_ns.unsigned_abs() <= TOLERANCE_NS {
            return now_ns;
        }
        self.set_offset(measure(clocks), now_ns);
        clocks.monotonic_ns()
    }

    fn set_offset(&mut self, offset_ns: u64, now_ns: u64) {
        let by_ns = offset_ns.wrapping_sub(self.offset_ns).cast_signed();
        if by_ns.unsigned_abs() <= TOLERANCE_NS {
            return;
        }
        self.earlier.rotate_right(1);
        self.earlier[0] = Some(EarlierOffset { offset_ns: self.offset_ns, until_ns: now_ns });
        self.offset_ns = offset_ns;
        self.steps += 1;
    }

    /// Returns the monotonic time of a stamp, or `None` if it fits no known offset: the time of day
    /// was stepped more than once between two checks.
    ///
    /// If several offsets fit, the one with the latest time is used. A packet stays in a socket for
    /// microseconds, but a socket is often empty for longer than a hold time. So a time that is too
    /// late has an error of microseconds, and one that is too early could exceed a hold time.
    pub fn monotonic_ns(&self, stamp_unix_ns: u64, window: StampWindow) -> Option<u64> {
        let StampWindow { empty_ns, taken_ns } = window;
        let earliest_ns = empty_ns.saturating_sub(QUEUED_WITHIN_NS);
        let under = |offset_ns: u64, until_ns: u64| {
            let ns = stamp_unix_ns.wrapping_sub(offset_ns);
            let is_within = ns >= earliest_ns && ns <= until_ns.saturating_add(TOLERANCE_NS);
            is_within.then_some(ns.min(taken_ns))
        };
        let now = under(self.offset_ns, taken_ns);
        let is_possible = |earlier: &&EarlierOffset| earlier.until_ns >= earliest_ns;
        let earlier = self.earlier.iter().flatten().filter(is_possible);
        let earlier = earlier.filter_map(|earlier| under(earlier.offset_ns, earlier.until_ns));
        now.into_iter().chain(earlier).max()
    }
}

impl Default for KernelTimes {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the offset from the closest of several clock comparisons.
fn measure(clocks: &impl Clocks) -> u64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..MEASUREMENTS {
        let before_ns = clocks.monotonic_ns();
        let unix_ns = clocks.unix_ns();
        let width_ns = clocks.monotonic_ns().saturating_sub(before_ns);
        if width_ns < best.0 {
            best = (width_ns, unix_ns.wrapping_sub(before_ns.saturating_add(width_ns / 2)));
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
