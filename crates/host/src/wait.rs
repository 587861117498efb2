//! Waiting strategies of loops: block, spin, or spin for some time and then block.
//!
//! Sockets, shared memory and middleware share this option. The kernel wakes a blocked thread,
//! which takes as long as the idle CPU needs to leave its sleep state; a spinning thread keeps its
//! CPU busy instead. [`WaitPolicy`] makes the decision each time that a poll finds nothing.

use std::fmt;
use std::hint;
use std::time::Duration;

/// Number of polls between two readings of the clock: reading it takes as long as polling shared
/// memory.
const LOOKS_A_CLOCK: u32 = 16;

/// The waiting strategy of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Sleeps in the kernel until input arrives.
    #[default]
    Block,
    /// Polls continuously: lowest latency, but one CPU is busy.
    Spin,
    /// Polls continuously for this time after the last arrival, then sleeps.
    SpinThenBlock(Duration),
}

impl Wait {
    /// True if the loop ever sleeps in the kernel.
    pub const fn blocks(self) -> bool {
        !matches!(self, Self::Spin)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::Spin => f.write_str("spin"),
            Self::SpinThenBlock(time) => write!(f, "spin {time:?}, then block"),
        }
    }
}

/// The next step of a loop whose poll found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// Poll again immediately.
    Look,
    /// Sleep until input arrives.
    Sleep,
}

/// Decides between polling and sleeping. Pure: time is an argument.
#[derive(Clone, Debug)]
pub struct WaitPolicy {
    wait: Wait,
    /// Start of the spinning; `None` right after an arrival.
    since_ns: Option<u64>,
    /// Polls until the next reading of the clock.
    looks_left: u32,
}

impl WaitPolicy {
    /// Creates the state of a loop whose last poll found something.
    pub const fn new(wait: Wait) -> Self {
        Self { wait, since_ns: None, looks_left: 0 }
    }

    /// Returns the waiting strategy.
    pub const fn wait(&self) -> Wait {
        self.wait
    }

    /// Records an arrival, which restarts the spinning time.
    pub const fn arrived(&mut self) {
        self.since_ns = None;
        self.looks_left = 0;
    }

    /// Returns the next step after a poll that found nothing. `now_ns` reads a monotonic clock, in
    /// nanoseconds; it is called once every several polls, and only if the spinning time is
    /// limited.
    pub fn next(&mut self, now_ns: impl FnOnce() -> u64) -> WaitStep {
        let limit = match self.wait {
            Wait::Block => return WaitStep::Sleep,
            Wait::Spin => return look(),
            Wait::SpinThenBlock(limit) => limit,
        };
        if let Some(left) = self.looks_left.checked_sub(1) {
            self.looks_left = left;
            return look();
        }
        let now_ns = now_ns();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if u128::from(now_ns.saturating_sub(since_ns)) >= limit.as_nanos() {
            return WaitStep::Sleep;
        }
        self.looks_left = LOOKS_A_CLOCK - 1;
        look()
    }
}

/// Hints to the CPU that this is a spin loop.
fn look() -> WaitStep {
    hint::spin_loop();
    WaitStep::Look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_and_spinning_read_no_clock() {
        let no_clock = || panic!("the clock was read");
        assert_eq!(WaitPolicy::new(Wait::Block).next(no_clock), WaitStep::Sleep);
        assert_eq!(WaitPolicy::new(Wait::Spin).next(no_clock), WaitStep::Look);
        assert!(Wait::Block.blocks() && !Wait::Spin.blocks());
    }

    #[test]
    fn a_loop_spins_for_its_time_after_the_last_arrival_and_then_sleeps() {
        let mut waiting = WaitPolicy::new(Wait::SpinThenBlock(Duration::from_nanos(1000)));
        // The clock advances by 10 ns per poll.
        let looks = |waiting: &mut WaitPolicy| {
            let mut now_ns = 500;
            let mut looks = 0;
            while waiting.next(|| now_ns) == WaitStep::Look {
                looks += 1;
                now_ns += 10;
                assert!(looks < 1000, "it never sleeps");
            }
            looks
        };
        let first = looks(&mut waiting);
        assert!((100..100 + LOOKS_A_CLOCK).contains(&first), "{first} looks");
        assert_eq!(waiting.next(|| 5_000), WaitStep::Sleep, "it goes on sleeping");
        waiting.arrived();
        assert_eq!(looks(&mut waiting), first);
    }
}
