//! How loops wait for what comes next: block, spin, or spin for some time and then block.
//!
//! One option for sockets, shared memory and middleware alike. A blocked thread is woken by the kernel, which
//! takes as long as the idle CPU needs to leave its sleep state; a spinning one keeps its CPU busy instead.
//! [`Waiting`] makes the decision each time that nothing has come.

use std::fmt;
use std::hint;
use std::time::Duration;

/// Looks between two readings of the clock: reading it takes as long as a look at shared memory.
const LOOKS_A_CLOCK: u32 = 16;

/// How a loop waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Sleeps in the kernel until something comes.
    #[default]
    Block,
    /// Looks again and again: lowest latency, one CPU busy.
    Spin,
    /// Looks again and again for this long after the last arrival, then sleeps.
    SpinThenBlock(Duration),
}

impl Wait {
    /// Whether the loop ever sleeps in the kernel.
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

/// What a loop that found nothing does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Looks again at once.
    Look,
    /// Sleeps until something comes.
    Sleep,
}

/// Decides between looking again and sleeping. Pure: time is an argument.
#[derive(Clone, Debug)]
pub struct Waiting {
    wait: Wait,
    /// When the spinning began; `None` right after an arrival.
    since_ns: Option<u64>,
    /// Looks until the clock is read.
    looks_left: u32,
}

impl Waiting {
    /// A loop that has just found something.
    pub const fn new(wait: Wait) -> Self {
        Self { wait, since_ns: None, looks_left: 0 }
    }

    /// How the loop waits.
    pub const fn wait(&self) -> Wait {
        self.wait
    }

    /// Something came: spinning begins anew.
    pub const fn arrived(&mut self) {
        self.since_ns = None;
        self.looks_left = 0;
    }

    /// Nothing came. `now_ns` reads a monotonic clock, in nanoseconds; it is called once in some looks, and
    /// only where the spinning has an end.
    pub fn next(&mut self, now_ns: impl FnOnce() -> u64) -> Step {
        let limit = match self.wait {
            Wait::Block => return Step::Sleep,
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
            return Step::Sleep;
        }
        self.looks_left = LOOKS_A_CLOCK - 1;
        look()
    }
}

/// Tells the CPU that this is a spinning loop.
fn look() -> Step {
    hint::spin_loop();
    Step::Look
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_and_spinning_read_no_clock() {
        let no_clock = || panic!("the clock was read");
        assert_eq!(Waiting::new(Wait::Block).next(no_clock), Step::Sleep);
        assert_eq!(Waiting::new(Wait::Spin).next(no_clock), Step::Look);
        assert!(Wait::Block.blocks() && !Wait::Spin.blocks());
    }

    #[test]
    fn a_loop_spins_for_its_time_after_the_last_arrival_and_then_sleeps() {
        let mut waiting = Waiting::new(Wait::SpinThenBlock(Duration::from_nanos(1000)));
        // The clock moves by 10 ns a look.
        let looks = |waiting: &mut Waiting| {
            let mut now_ns = 500;
            let mut looks = 0;
            while waiting.next(|| now_ns) == Step::Look {
                looks += 1;
                now_ns += 10;
                assert!(looks < 1000, "it never sleeps");
            }
            looks
        };
        let first = looks(&mut waiting);
        assert!((100..100 + LOOKS_A_CLOCK).contains(&first), "{first} looks");
        assert_eq!(waiting.next(|| 5_000), Step::Sleep, "it goes on sleeping");
        waiting.arrived();
        assert_eq!(looks(&mut waiting), first);
    }
}
