//! Checks with the model checker loom that no request of a handle is lost: every interleaving of a
//! handle and an engine that the memory model allows. Without the fences, with relaxed swaps of
//! the flag, or if a later run had the number of an earlier one, these checks fail.

#[allow(dead_code)]
#[path = "../src/wake.rs"]
mod wake;

mod atomics {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use wake::Wake;

/// Flags and a queue of one request: the run of the request and one, or 0 if it is empty. A
/// receiver looks before it takes, and may see an old value, as that of the standard library may.
struct Shared {
    wake: Wake,
    queue: AtomicU64,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { wake: Wake::new(), queue: AtomicU64::new(0) })
    }

    fn queue(&self, run: u64) {
        self.queue.store(run + 1, Ordering::Release);
    }

    fn take(&self) -> Option<u64> {
        match self.queue.load(Ordering::Acquire) {
            0 => None,
            _ => self.queue.swap(0, Ordering::AcqRel).checked_sub(1),
        }
    }
}

#[test]
fn an_accepted_request_is_executed_or_dropped_by_the_shutdown() {
    loom::model(|| {
        let shared = Shared::new();
        let handle = shared.clone();
        let handle = loom::thread::spawn(move || {
            let run = handle.wake.run()?;
            handle.queue(run);
            handle.wake.is_in(run).then_some(())
        });
        shared.wake.end();
        let dropped = shared.take();
        let accepted = handle.join().expect("no panic");
        // Otherwise the handle would wait for an answer that never comes.
        assert!(accepted.is_none() || dropped.is_some());
    });
}

#[test]
fn a_refused_request_is_not_executed_in_the_next_run() {
    loom::model(|| {
        let shared = Shared::new();
        let handle = shared.clone();
        let handle = loom::thread::spawn(move || {
            let run = handle.wake.run()?;
            handle.queue(run);
            handle.wake.is_in(run).then_some(())
        });
        shared.wake.end();
        shared.take();
        shared.wake.begin();
        let accepted = handle.join().expect("no panic");
        let executed = shared.take().is_some_and(|run| shared.wake.run() == Some(run));
        assert!(accepted.is_some() || !executed);
    });
}

#[test]
fn a_queued_request_wakes_the_engine_or_is_found() {
    loom::model(|| {
        let shared = Shared::new();
        let handle = shared.clone();
        let handle = loom::thread::spawn(move || {
            handle.queue(0);
            handle.wake.set_woken()
        });
        // A turn of the engine, which may have been woken for another reason.
        let mut found = shared.wake.take_woken() && shared.take().is_some();
        let wakes = handle.join().expect("no panic");
        // The next turn, which takes place at once if the handle wakes the engine.
        if wakes {
            found |= shared.wake.take_woken() && shared.take().is_some();
        }
        assert!(found);
    });
}

/// Two handles, of which only one may wake the engine.
#[test]
fn a_request_that_finds_the_flag_set_is_executed_with_the_other() {
    loom::model(|| {
        let shared = Shared::new();
        let other = shared.clone();
        let other = loom::thread::spawn(move || other.wake.set_woken());
        let handle = shared.clone();
        let handle = loom::thread::spawn(move || {
            handle.queue(0);
            handle.wake.set_woken()
        });
        let mut found = shared.wake.take_woken() && shared.take().is_some();
        let wakes = other.join().expect("no panic") | handle.join().expect("no panic");
        assert!(wakes, "one of them finds the flag clear");
        found |= shared.wake.take_woken() && shared.take().is_some();
        assert!(found);
    });
}
