//! Wakes sleeping readers. One flag says that readers sleep, one system call wakes all of them, and none is made while
//! nobody sleeps.
//!
//! A reader raises the flag, checks the head once more and sleeps until it changes. The writer advances the head,
//! checks the flag and, if it is up, lowers it and wakes all sleepers. With a full fence between the two steps on both
//! sides, at least one side sees the other's store: either the writer finds the flag or the reader finds the new head.
//!
//! A fence in every publish would wait for the stores to the slot, whose cache lines readers hold: a publish would take
//! 160 ns instead of 20 ns. The reader therefore pays. It has the kernel run a barrier on the CPUs where writers run
//! (membarrier), and that barrier falls somewhere among the writer's steps:
//! - before the store of the head: the writer finds the flag;
//! - after the load of the flag: the reader finds the head;
//! - between the two: both.
//!
//! Where the kernel has no such call, both sides execute a fence of their own.
//!
//! The flag is not a counter of sleepers: a reader that is killed while it sleeps then costs one needless system call,
//! not one for every sample.
//!
//! The flag is in a file of its own, the only one that readers write.

use crate::layout::header;
use crate::memory::{Memory, MemoryMut, Sleep};

/// Index of the flag's word in the waiters file.
pub const FLAG: usize = 8;

/// Wakes the sleepers. Call it after storing the new head.
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

/// Raises the flag. Before it sleeps, the reader must execute the heavy fence and then look at the head once more
/// ([`head_to_sleep_on`]). A reader of several channels raises all of their flags and executes one fence.
pub fn raise(waiters: &impl MemoryMut) {
    waiters.store(FLAG, 1);
}

/// Returns the value of the head to sleep on until sample `next`; `None` if that sample is already published.
pub fn head_to_sleep_on(memory: &impl Memory, next: u64) -> Option<u64> {
    let head = memory.load(header::HEAD);
    // The head is `next`, or one less: the reader may have read a sample whose slot is written while the head is not
    // yet advanced.
    (head <= next).then_some(head)
}

/// Sleeps until sample `next` is published, or until a spurious wake-up. Returns false once `timeout_ns` has passed.
pub fn sleep(memory: &impl Sleep, waiters: &impl MemoryMut, next: u64, timeout_ns: u64) -> bool {
    raise(waiters);
    waiters.heavy_fence();
    match head_to_sleep_on(memory, next) {
        Some(head) => memory.sleep(header::HEAD, head, timeout_ns),
        None => true,
    }
}
