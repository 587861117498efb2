//! Signals, such as that of Ctrl-C, while work goes on without the GIL.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
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
    /// Addresses of the iterators that this thread advances: several, as a signal handler may take from another one.
    static ADVANCED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
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

/// Advances an iterator by [`detached`] work. Other threads wait for it.
///
/// # Errors
/// The exception of a signal; RuntimeError if a signal handler asks the iterator that it interrupted: this thread holds
/// its lock, and would wait for itself.
pub fn advance<S: Send, R: Send>(
    py: Python<'_>,
    iterator: &Mutex<S>,
    work: impl FnOnce(&mut S) -> R + Send,
) -> PyResult<R> {
    let _advance = Advance::begin(std::ptr::from_ref(iterator).addr())?;
    detached(py, || work(&mut iterator.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// The time in which a thread advances the iterator it entered last.
struct Advance;

impl Advance {
    fn begin(iterator: usize) -> PyResult<Self> {
        ADVANCED.with_borrow_mut(|advanced| {
            if advanced.contains(&iterator) {
                return Err(PyRuntimeError::new_err(
                    "reentrant call: a signal handler took from the iterator that it interrupted; have it set a flag, \
                     or raise an exception",
                ));
            }
            advanced.push(iterator);
            Ok(Self)
        })
    }
}

impl Drop for Advance {
    fn drop(&mut self) {
        ADVANCED.with_borrow_mut(Vec::pop);
    }
}
