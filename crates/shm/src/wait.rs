//! How a reader waits.

use std::time::Duration;

/// How to wait for what comes next: the trade between latency and a busy CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReaderWait {
    /// Sleep in the kernel. The CPU is free; a wake-up costs microseconds.
    #[default]
    Block,
    /// Ask again and again. Lowest latency, one CPU busy.
    Spin,
    /// Spin for this long, then sleep.
    SpinThenBlock(Duration),
}
