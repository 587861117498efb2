//! Waking readers that sleep: one flag that they raise, one system call for all, none while nobody sleeps.
//!
//! A reader raises the flag, looks at the head once more and sleeps until it changes. The writer advances the head,
//! looks at the flag and, if it is up, lowers it and wakes all. A full fence between the two steps on both sides lets
//! at least one see the other's store: either the writer finds the flag or the reader finds the new head.
//!
//! A fence in every publish would wait until the stores to the slot, whose cache lines readers hold, are done: 160 ns in
//! place of 20. So the reader pays: it has the kernel run a barrier on the CPUs where writers run (membarrier), which puts one
//! somewhere into the writer's steps. Before the head's store: the writer finds the flag. Behind the flag's load: the reader finds
//! the head. Between them: both. Where the kernel cannot do this, both sides have a fence of their own.
//!
//! A flag, not
//! a count: a reader that is killed while it sleeps costs one needless call, not one for every sample.
//!
//! The flag is in a file of its own, the only one that readers write.

use crate::layout::header;
use crate::memory::{Memory, MemoryMut, Sleep};

/// Word of the flag in the waiters file.
pub const FLAG: usize = 8;

/// Wakes the sleepers. The writer has stored the new head.
pub fn ring(head: &impl Sleep, waiters: &impl MemoryMut) {
    waiters.light_fence();
    if waiters.load(FLAG) != 0 {
        wake(head, waiters);
    }
}

#[cold]
fn wake(head: &impl Sleep, waiters: &impl MemoryMut) {
    waiters.store(FLAG, 0);
    head.wake_all(header::HEAD);
}

/// Raises the flag and returns the head on which to sleep for sample `next`; `None` if that sample is published.
pub fn prepare_sleep(memory: &impl Memory, waiters: &impl MemoryMut, next: u64) -> Option<u64> {
    waiters.store(FLAG, 1);
    waiters.heavy_fence();
    let head = memory.load(header::HEAD);
    // At `next`, or one before: the reader may know a sample for which the head is still to be advanced.
    (head <= next).then_some(head)
}

/// Sleeps until sample `next` is published, or something else wakes it. False once `timeout_ns` has passed.
pub fn sleep(memory: &impl Sleep, waiters: &impl MemoryMut, next: u64, timeout_ns: u64) -> bool {
    match prepare_sleep(memory, waiters, next) {
        Some(head) => memory.sleep(header::HEAD, head, timeout_ns),
        None => true,
    }
}
