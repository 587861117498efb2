//! Kernel time stamps (`CLOCK_REALTIME`) as times on the monotonic clock, whatever steps the time of day.

use super::{Clocks, SystemClocks};

/// Pairs of readings of which the closest one counts.
const MEASUREMENTS: usize = 5;

/// Offsets that differ by less are the same: two readings without an interruption are 25 to 100 ns apart.
const TOLERANCE_NS: u64 = 2_000;

/// Steps of the time of day whose earlier offset is remembered. Stamps of older ones are implausible.
const STEPS_KEPT: usize = 4;

/// Longest time from a packet's stamp until its socket shows it: softirq work that another core was
/// interrupted in.
const QUEUED_WITHIN_NS: u64 = 10_000_000;

/// Converts the kernel's stamps to times on the monotonic clock.
///
/// Both clocks are slewed alike, so their offset changes only when the time of day is stepped
/// (`settimeofday`, a leap second, a resumed machine). [`check`](Self::check) compares the clocks after
/// each batch of packets and notices a step of more than 2 us. Packets that lay in a socket
/// during the step may carry stamps of either offset; [`monotonic_ns`](Self::monotonic_ns) takes
/// the one that fits in the time in which the packet must have come. The result is never before the true
/// time by more than the tolerance, and late by at most as long as the packet lay in the socket: a step
/// neither times out a packet early nor puts it before one that came first.
#[derive(Clone, Debug)]
pub struct KernelTimes {
    /// Time of day minus monotonic time, wrapping.
    offset_ns: u64,
    /// Offsets before the latest steps, the latest first.
    earlier: [Option<EarlierOffset>; STEPS_KEPT],
    steps: u64,
}

#[derive(Clone, Copy, Debug)]
struct EarlierOffset {
    offset_ns: u64,
    /// When the step was noticed: later stamps do not have this offset.
    until_ns: u64,
}

/// When the packets of a batch can have come, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampWindow {
    /// When the socket was last found empty.
    pub empty_ns: u64,
    /// When the batch had been taken.
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

    /// The time of day at which the monotonic clock was 0: the offset in use.
    pub const fn epoch_ns(&self) -> u64 {
        self.offset_ns
    }

    /// Steps of the time of day noticed so far.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Compares the clocks and measures the offset again if the time of day was stepped. Returns the
    /// monotonic time. To be called after a batch was taken and before its stamps are converted.
    pub fn check(&mut self, clocks: &impl Clocks) -> u64 {
        // In this order: an interruption between the two makes `apart_ns` positive.
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

    /// Returns the monotonic time of a stamp, or `None` if it fits none of the known offsets: the time of
    /// day was stepped more than once between two checks.
    ///
    /// Of several offsets that fit, the one that gives the latest time is taken. A packet lies in a socket
    /// for microseconds, but a socket is often empty for longer than a hold time: too late a time is
    /// off by the former, too early a time by the latter.
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

/// The offset by the closest of several pairs of readings.
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
