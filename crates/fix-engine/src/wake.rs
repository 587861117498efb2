//! When handles may queue requests, and when they must wake the engine.

use super::atomics::{AtomicBool, AtomicU64, Ordering, fence};

/// Flags that an engine shares with its handles.
pub(crate) struct Wake {
    /// True if the engine was woken and has not run yet: one wake-up is enough for all requests
    /// until then.
    is_woken: AtomicBool,
    /// Counts starts and ends: even while the engine accepts requests, odd after it has ended. A
    /// request belongs to the run in which it was queued and is not executed in a later one.
    run: AtomicU64,
}

impl Wake {
    pub(crate) fn new() -> Self {
        Self { is_woken: AtomicBool::new(false), run: AtomicU64::new(0) }
    }

    /// Returns the number of the engine's run; `None` if the engine has ended.
    pub(crate) fn run(&self) -> Option<u64> {
        let run = self.run.load(Ordering::Acquire);
        run.is_multiple_of(2).then_some(run)
    }

    /// True if the engine is still in `run`. Call it after a request is queued: either
    /// [`Self::end`] is then followed by a look at the queue that finds the request, or this call
    /// returns false. The fences here and in `end` order the two pairs of accesses.
    pub(crate) fn is_in(&self, run: u64) -> bool {
        fence(Ordering::SeqCst);
        self.run.load(Ordering::Relaxed) == run
    }

    /// Requests a wake-up after a request is queued. Returns true if the engine must be woken, and
    /// false if another thread has done so since the engine ran.
    pub(crate) fn set_woken(&self) -> bool {
        !self.is_woken.swap(true, Ordering::AcqRel)
    }

    /// Returns whether the engine was woken, and clears the flag. Call it before the queue is read: a
    /// request that is queued later wakes the engine again.
    pub(crate) fn take_woken(&self) -> bool {
        self.is_woken.swap(false, Ordering::AcqRel)
    }

    /// Accepts requests, also again after [`Self::end`]. Only the engine's thread calls it.
    pub(crate) fn begin(&self) {
        let run = self.run.load(Ordering::Relaxed);
        if !run.is_multiple_of(2) {
            self.run.store(run + 1, Ordering::Release);
        }
    }

    /// Accepts no more requests. Only the engine's thread calls it, and then empties the queue.
    pub(crate) fn end(&self) {
        let run = self.run.load(Ordering::Relaxed);
        if run.is_multiple_of(2) {
            self.run.store(run + 1, Ordering::Release);
        }
        fence(Ordering::SeqCst);
    }
}
