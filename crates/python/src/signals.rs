//! Signals, such as that of Ctrl-C, while work goes on without the GIL.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long Python's signals may wait. To look for them takes the GIL, which another thread may hold for 5 ms.
const LOOK: Duration = Duration::from_millis(50);
/// Calls between two looks at the clock.
const CALLS: u32 = 256;

/// Work that may be interrupted.
struct Watch {
    calls: u32,
    looked: Instant,
    raised: Option<PyErr>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Does work with the GIL released. Work that takes long asks [`is_interrupted`] and ends where it is; the exception of
/// the signal is the error then.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let watch = Watch { calls: 0, looked: Instant::now(), raised: None };
    // A handler of a signal may do such work itself.
    let outer = WATCH.replace(Some(watch));
    let done = py.detach(work);
    match WATCH.replace(outer).and_then(|watch| watch.raised) {
        Some(raised) => Err(raised),
        None => Ok(done),
    }
}

/// Whether a signal ends the work of this thread; false outside of [`detached`].
pub fn is_interrupted() -> bool {
    let is_due = WATCH.with_borrow_mut(|watch| {
        let Some(watch) = watch else { return false };
        watch.calls = watch.calls.wrapping_add(1);
        let is_due = watch.calls.is_multiple_of(CALLS) && watch.looked.elapsed() >= LOOK;
        if is_due {
            watch.looked = Instant::now();
        }
        is_due
    });
    // Not borrowed meanwhile: handlers run.
    let raised = if is_due { Python::attach(|py| py.check_signals()).err() } else { None };
    WATCH.with_borrow_mut(|watch| {
        let Some(watch) = watch else { return false };
        watch.raised = raised.or(watch.raised.take());
        watch.raised.is_some()
    })
}
