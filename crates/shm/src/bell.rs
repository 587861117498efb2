//! Wakes sleeping readers. One flag says that readers sleep, one system call wakes all of them, and none is made while
//! nobody sleeps.
//!
//! The flag is the lowest bit of a word; the other bits count how often it was lowered. A reader raises the flag, checks
//! once more whether its next sample is published and sleeps while the word keeps the value that it then had. The writer
//! publishes, checks the flag and, if it is up, lowers it and wakes all sleepers. With a full fence between the two steps
//! on both sides, at least one side sees the other's store: either the writer finds the flag or the reader finds the
//! sample. The reader looks at the lock of the sample's slot, which it reads next anyway, and not at the head: then no
//! reader takes the head's cache line from the writer.
//!
//! Readers sleep on the flag's word because a sleeper must never outlast its flag:
//! - A reader that sleeps on the head can read sample n from its slot, raise the flag before the head is n + 1, have it
//!   lowered for that head, and then sleep on the new head without a flag.
//! - With a flag of 0 and 1, the writer can lower it and another reader raise it before the first reader sleeps.
//!
//! A fence in every publish would wait for the stores to the slot, whose cache lines readers hold: a publish would take
//! 160 ns instead of 20 ns. The reader therefore pays. It has the kernel run a barrier on the CPUs where writers run
//! (membarrier), and that barrier falls somewhere among the writer's steps:
//! - before the store of the lock: the writer finds the flag;
//! - after the load of the flag: the reader finds the lock;
//! - between the two: both.
//!
//! If the kernel has no such call, both sides execute a fence of their own.
//!
//! The flag is not a counter of sleepers: a reader that is killed while it sleeps then costs one needless system call,
//! not one for every sample.
//!
//! The flag is in a file of its own, the only one that readers write.

use crate::memory::Sleep;

/// Index of the flag's word in the waiters file.
pub const FLAG: usize = 8;

/// The bit of that word that is set while readers may sleep.
const RAISED: u64 = 1;

/// Longest sleep of a reader that may not be woken, in nanoseconds.
pub const UNSURE_NS: u64 = 1_000_000;

/// Fetches the flag's cache line, which sleepers have written, while the sample is being written. Without it, [`ring`]
/// would first wait for that line.
#[inline]
pub fn prepare(waiters: &impl Sleep) {
    waiters.prepare(FLAG, 1);
}

/// Wakes the sleepers, if there are any. Call it after publishing.
#[inline]
pub fn ring(waiters: &impl Sleep) {
    waiters.light_fence();
    if waiters.load(FLAG) & RAISED != 0 {
        wake(waiters);
    }
}

/// Lowers the flag and wakes the sleepers.
#[cold]
pub fn wake(waiters: &impl Sleep) {
    waiters.set_bits(FLAG, RAISED);
    // The carry clears the flag and counts.
    waiters.add(FLAG, RAISED);
    waiters.wake_all(FLAG);
}

/// Raises the flag and returns the value of its word to sleep on. Before it sleeps, the reader must execute the heavy
/// fence and then check once more whether its next sample is published. A reader of several channels raises all of their
/// flags and executes one fence.
pub fn raise(waiters: &impl Sleep) -> u64 {
    waiters.set_bits(FLAG, RAISED) | RAISED
}

/// Sleeps until a sample is published, until a spurious wake-up, or until `timeout_ns` has passed; does not sleep if
/// `is_published` returns true. If the kernel refuses the fence, sleeps for at most [`UNSURE_NS`].
pub fn sleep(waiters: &impl Sleep, is_published: impl Fn() -> bool, timeout_ns: u64) {
    let raised = raise(waiters);
    let is_sure = waiters.heavy_fence();
    if !is_published() {
        let timeout_ns = if is_sure { timeout_ns } else { timeout_ns.min(UNSURE_NS) };
        waiters.sleep(FLAG, raised, timeout_ns);
    }
}
