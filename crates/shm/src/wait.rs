//! Waiting of readers for the next event.

use std::time::Duration;

/// How a reader waits for the next event: lower latency costs CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReaderWait {
    /// Sleep in the kernel. The CPU is free; a wake-up costs microseconds.
    #[default]
    Block,
    /// Poll continuously. Lowest latency; one CPU is always busy.
    Spin,
    /// Spin for this long, then sleep.
    SpinThenBlock(Duration),
}
