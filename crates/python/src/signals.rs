//! Signals, such as Ctrl-C, during work with the GIL released.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time between checks for Python's signals. A check takes the GIL, which another thread may hold for
/// 5 ms.
const LOOK: Duration = Duration::from_millis(50);
/// Calls between two readings of the clock.
const CALLS: u32 = 256;

/// State of interruptible work.
struct Watch {
    calls: u32,
    looked: Instant,
    raised: Option<PyErr>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    /// Addresses of the iterators that this thread is advancing: several, if a signal handler advances
    /// another one.
    static ADVANCED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Runs work with the GIL released. Long work must call [`is_interrupted`] and stop when it returns true; the
/// signal's exception is then the error.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let watch = Watch { calls: 0, looked: Instant::now(), raised: None };
    // A signal handler may call this function while it runs.
    let outer = WATCH.replace(Some(watch));
    let done = py.detach(work);
    match WATCH.replace(outer).and_then(|watch| watch.raised) {
        Some(raised) => Err(raised),
        None => Ok(done),
    }
}

/// True if a signal has interrupted this thread's work; false outside of [`detached`].
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
    // Not borrowed during the check, because signal handlers run.
    let raised = if is_due { Python::attach(|py| py.check_signals()).err() } else { None };
    WATCH.with_borrow_mut(|watch| {
        let Some(watch) = watch else { return false };
        watch.raised = raised.or(watch.raised.take());
        watch.raised.is_some()
    })
}

/// Advances an iterator with [`detached`] work. Other threads wait until it is done.
///
/// # Errors
/// The exception of a signal; RuntimeError if a signal handler advances the iterator that it interrupted:
/// this thread holds its lock, so it would deadlock.
pub fn advance<S: Send, R: Send>(
    py: Python<'_>,
    iterator: &Mutex<S>,
    work: impl FnOnce(&mut S) -> R + Send,
) -> PyResult<R> {
    let _advance = Advance::begin(std::ptr::from_ref(iterator).addr())?;
    detached(py, || work(&mut iterator.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Guard: while it exists, the thread advances the iterator it entered last.
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
