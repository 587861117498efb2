//! Waking readers that sleep: one flag that they raise, one system call for all, none while nobody sleeps.
//!
//! A reader raises the flag, looks at the head once more and sleeps until it changes. The writer advances the head,
//! looks at the flag and, if it is up, lowers it and wakes all. A full fence between the two steps on both sides lets
//! at least one see the other's store: either the writer finds the flag or the reader finds the new head. A flag, not
//! a count: a reader that is killed while it sleeps costs one needless call, not one for every sample.
//!
//! The flag is in a file of its own, the only one that readers write.

use crate::layout::header;
use crate::memory::{MemoryMut, Sleep};

/// Word of the flag in the waiters file.
pub const FLAG: usize = 8;

/// Wakes the sleepers. The writer has stored the new head.
pub fn ring(head: &impl Sleep, waiters: &impl MemoryMut) {
    waiters.full();
    if waiters.load(FLAG) != 0 {
        wake(head, waiters);
    }
}

#[cold]
fn wake(head: &impl Sleep, waiters: &impl MemoryMut) {
    waiters.store(FLAG, 0);
    head.wake_all(header::HEAD);
}

/// Sleeps until sample `next` is published, or something else wakes it. False once `timeout_ns` has passed.
pub fn sleep(memory: &impl Sleep, waiters: &impl MemoryMut, next: u64, timeout_ns: u64) -> bool {
    waiters.store(FLAG, 1);
    waiters.full();
    let head = memory.load(header::HEAD);
    // At `next`, or one before: the reader may know a sample for which the head is still to be advanced.
    match head <= next {
        true => memory.sleep(header::HEAD, head, timeout_ns),
        false => true,
    }
}
