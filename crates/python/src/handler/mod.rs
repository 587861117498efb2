//! The feed handler: line arbitration, gaps, books and trades.

mod channel;
mod collect;
mod event;
mod run;

pub use event::{PyBook, PyFeedEvent, PyGap, PyTrade, levels};

use crate::errors;
use channel::ConfiguredChannel;
use collect::{EventKind, EventSelection};
use pyo3::exceptions::{PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use run::{HandlerRun, NextEvent};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time between checks for Python's signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// A channel of a feed file, from captures or sockets.
#[pyclass(name = "Handler", module = "tickwire", frozen)]
pub struct PyHandler {
    channel: Arc<ConfiguredChannel>,
}

#[pymethods]
impl PyHandler {
    /// Loads a channel of a feed file; the name may be omitted if the file has only one.
    #[new]
    #[pyo3(signature = (feed, channel = None, captures = Vec::new()))]
    fn new(
        py: Python<'_>,
        feed: PathBuf,
        channel: Option<&str>,
        captures: Vec<PathBuf>,
    ) -> PyResult<Self> {
        Ok(Self { channel: Arc::new(ConfiguredChannel::load(py, &feed, channel, captures)?) })
    }

    /// Name of the channel.
    #[getter]
    fn channel(&self) -> &str {
        &self.channel.settings.name
    }

    /// True if it reads captures instead of sockets.
    #[getter]
    fn is_captured(&self) -> bool {
        self.channel.is_captured()
    }

    /// Starts: reads the captures from their start, or opens the sockets.
    #[pyo3(signature = (kinds, depth = None, idle = None))]
    fn events(
        &self,
        py: Python<'_>,
        kinds: Vec<String>,
        depth: Option<usize>,
        idle: Option<f64>,
    ) -> PyResult<Events> {
        let mut wanted =
            EventSelection { depth: depth.unwrap_or(usize::MAX), ..EventSelection::default() };
        for name in &kinds {
            wanted.kinds.push(EventKind::named(name).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "kind {name}: expected message, book, trade, gap or event"
                ))
            })?);
        }
        let idle = idle.map(|idle| span(idle, "idle")).transpose()?;
        let channel = self.channel.clone();
        let run = py.detach(|| HandlerRun::begin(&channel, wanted, idle));
        let run = run.map_err(|text| errors::usage(py, &text))?;
        Ok(Events { run: Mutex::new(Some(run)) })
    }
}

/// Events of a handler, one after the other.
#[pyclass(module = "tickwire", frozen)]
pub struct Events {
    /// `None` after `close`.
    run: Mutex<Option<HandlerRun>>,
}

#[pymethods]
impl Events {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            match self.next(py, SIGNALS_EVERY)? {
                NextEvent::Event(event) => return event.into_python(py).map(Some),
                NextEvent::End => return Ok(None),
                NextEvent::Nothing => py.check_signals()?,
            }
        }
    }

    /// The next event; None if there is none within `seconds`. StopIteration at the end.
    fn poll<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let span = span(seconds, "seconds")?;
        let until = Instant::now().checked_add(span);
        loop {
            let left = until
                .map_or(SIGNALS_EVERY, |until| until.saturating_duration_since(Instant::now()));
            match self.next(py, left.min(SIGNALS_EVERY))? {
                NextEvent::Event(event) => return event.into_python(py).map(Some),
                NextEvent::End => return Err(PyStopIteration::new_err(())),
                NextEvent::Nothing if left.is_zero() => return Ok(None),
                NextEvent::Nothing => py.check_signals()?,
            }
        }
    }

    /// Counters so far.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = py.detach(|| self.lock().as_ref().map(HandlerRun::counts)).unwrap_or_default();
        let dict = PyDict::new(py);
        for (name, count) in counts.named() {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// Stops: closes the files or the sockets. Iteration ends.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl Events {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<HandlerRun>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits with the GIL and the lock released, so that another thread can close it or read the counters.
    fn next(&self, py: Python<'_>, wait: Duration) -> PyResult<NextEvent> {
        let next = py.detach(|| {
            let queue = self.lock().as_ref().and_then(HandlerRun::queue);
            if let Some(queue) = queue {
                queue.wait(wait);
            }
            self.lock().as_mut().map_or(Ok(NextEvent::End), HandlerRun::next)
        });
        next.map_err(|text| errors::usage(py, &text))
    }
}

/// Converts an argument in seconds to a duration; `name` is for errors.
fn span(seconds: f64, name: &str) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("{name} {seconds}: expected seconds from 0 to 1.8e19"))
    })
}
