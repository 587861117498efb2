//! Receives samples.

use super::over::{Over, SubscriptionRequest};
use super::place::{TransportChoice, TransportPlace};
use super::sample::{OwnedSample, PySample};
use super::topic_sets;
use super::waiting::wait_of;
use crate::errors;
use pyo3::exceptions::{PyRuntimeWarning, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::VecDeque;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tickwire_distribution::{
    DeliverySettings, FromPublisher, PublisherStatus, SubscriberOptions, TopicSet,
};
use tickwire_host::WaitPolicy;

/// Longest time between checks for Python's signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// State of a subscription.
struct SubscriptionState {
    /// `None` after `close`.
    over: Option<Over>,
    /// How to wait for samples.
    waiting: WaitPolicy,
    /// The transport that was selected last.
    transport: &'static str,
    /// Received samples that were not yet requested.
    taken: VecDeque<OwnedSample>,
    /// True to continue when a publisher's feed is done.
    stay: bool,
    /// Statistics of the publishers, after `close`.
    accounts: Vec<FromPublisher>,
}

/// Received samples, one after the other.
#[pyclass(name = "Samples", module = "tickwire", frozen)]
pub struct PySamples {
    sets: Arc<Vec<TopicSet>>,
    state: Mutex<SubscriptionState>,
}

/// Result of waiting for a sample.
enum NextSample {
    Sample(OwnedSample),
    End,
    Nothing,
}

#[pymethods]
impl PySamples {
    #[new]
    #[pyo3(signature = (
        topics, transport, *, domain = 0, directory = None, user = None, last_values = true, partitions = Vec::new(),
        max_rate = None, stay = false, spin = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn new(
        py: Python<'_>,
        topics: Vec<String>,
        transport: &str,
        domain: u32,
        directory: Option<PathBuf>,
        user: Option<u32>,
        last_values: bool,
        partitions: Vec<String>,
        max_rate: Option<f64>,
        stay: bool,
        spin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let sets = topic_sets(&topics)?;
        let waiting = WaitPolicy::new(wait_of(spin)?);
        let every = max_rate.map(|rate| {
            let every = Duration::try_from_secs_f64(1.0 / rate).ok();
            every.filter(|_| rate > 0.0).ok_or_else(|| {
                PyValueError::new_err(format!("max_rate {rate}: expected a number above 0"))
            })
        });
        let options =
            SubscriberOptions { some_topics: true, echo: false, every: every.transpose()? };
        let last_values = u32::from(last_values);
        let delivery = DeliverySettings { last_values, partitions, ..DeliverySettings::default() };
        let place = TransportPlace { domain, directory, user };
        let transport = TransportChoice::named(transport)?;
        let request = SubscriptionRequest { place, sets: sets.clone(), delivery, options };
        let opened = py.detach(|| Over::open(request, transport));
        let (over, warnings) = opened.map_err(|text| errors::usage(py, &text))?;
        warn(py, warnings)?;
        let state = SubscriptionState {
            transport: over.transport(),
            over: Some(over),
            waiting,
            taken: VecDeque::new(),
            stay,
            accounts: Vec::new(),
        };
        Ok(Self { sets: Arc::new(sets), state: Mutex::new(state) })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PySample>> {
        loop {
            match self.next(py, SIGNALS_EVERY)? {
                NextSample::Sample(taken) => return self.sample(py, taken).map(Some),
                NextSample::End => return Ok(None),
                NextSample::Nothing => py.check_signals()?,
            }
        }
    }

    /// The next sample; None if there is none within `seconds`. StopIteration at the end.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<PySample>> {
        let span = Duration::try_from_secs_f64(seconds).map_err(|_| {
            PyValueError::new_err(format!("seconds {seconds}: expected seconds from 0 to 1.8e19"))
        })?;
        let until = Instant::now().checked_add(span);
        loop {
            let left = until
                .map_or(SIGNALS_EVERY, |until| until.saturating_duration_since(Instant::now()));
            match self.next(py, left.min(SIGNALS_EVERY))? {
                NextSample::Sample(taken) => return self.sample(py, taken).map(Some),
                NextSample::End => return Err(PyStopIteration::new_err(())),
                NextSample::Nothing if left.is_zero() => return Ok(None),
                NextSample::Nothing => py.check_signals()?,
            }
        }
    }

    /// The selected transport: shm or dds. With auto, dds may become shm.
    #[getter]
    fn transport(&self, py: Python<'_>) -> &'static str {
        py.detach(|| self.lock().transport)
    }

    /// Statistics of each publisher, with known losses.
    fn publishers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let accounts = py.detach(|| self.accounts());
        let list = PyList::empty(py);
        for account in accounts {
            list.append(told(py, &account)?)?;
        }
        Ok(list)
    }

    /// Number of lost samples; None while unknown.
    #[getter]
    fn lost(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.accounts().iter().map(|account| account.lost).sum())
    }

    /// Number of samples missing between the received ones.
    #[getter]
    fn missing(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.accounts().iter().map(|account| account.holes).sum())
    }

    /// Stops the subscription. Iteration ends.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.lock();
            state.taken.clear();
            if let Some(over) = state.over.take() {
                state.accounts = over.ledger().publishers();
            }
        });
    }
}

impl PySamples {
    fn lock(&self) -> MutexGuard<'_, SubscriptionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accounts(&self) -> Vec<FromPublisher> {
        let state = self.lock();
        let now = state.over.as_ref().map(|over| over.ledger().publishers());
        now.unwrap_or_else(|| state.accounts.clone())
    }

    fn sample(&self, py: Python<'_>, taken: OwnedSample) -> PyResult<PySample> {
        let set = &self.sets[taken.set];
        PySample::new(py, &set.name, &set.of, taken)
    }

    /// Waits with the GIL released. Warns once about each publisher that cannot be read.
    fn next(&self, py: Python<'_>, wait: Duration) -> PyResult<NextSample> {
        let next = py.detach(|| {
            let mut state = self.lock();
            let next = state.next(wait)?;
            let refusals = match next {
                NextSample::Sample(_) => Vec::new(),
                NextSample::End | NextSample::Nothing => {
                    state.over.iter_mut().flat_map(Over::take_refusals).collect()
                }
            };
            Ok((next, refusals))
        });
        let (next, refusals) = next.map_err(|text: String| errors::usage(py, &text))?;
        warn(py, refusals)?;
        Ok(next)
    }
}

impl SubscriptionState {
    fn next(&mut self, timeout: Duration) -> Result<NextSample, String> {
        let Self { over, waiting, transport, taken, stay, .. } = self;
        if let Some(first) = taken.pop_front() {
            return Ok(NextSample::Sample(first));
        }
        let Some(over) = over else { return Ok(NextSample::End) };
        over.wait(waiting, timeout, |arrival| taken.push_back(OwnedSample::of(arrival)))?;
        if taken.is_empty() && over.move_when_due()? {
            *transport = over.transport();
        }
        Ok(match taken.pop_front() {
            Some(first) => NextSample::Sample(first),
            None if over.is_over() && !*stay => NextSample::End,
            None => NextSample::Nothing,
        })
    }
}

/// Raises these texts as warnings.
fn warn(py: Python<'_>, texts: Vec<String>) -> PyResult<()> {
    for text in texts {
        let text = CString::new(text.replace('\0', "")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(())
}

/// Returns a publisher's statistics as a dictionary.
fn told<'py>(py: Python<'py>, account: &FromPublisher) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("received", account.received())?;
    dict.set_item("last_values", account.last_values)?;
    dict.set_item("duplicates", account.duplicates)?;
    dict.set_item("missing", account.holes)?;
    dict.set_item("lost", account.lost)?;
    dict.set_item("written", account.written())?;
    let ended = match account.standing {
        PublisherStatus::Present => None,
        PublisherStatus::Done { .. } => Some("done"),
        PublisherStatus::Stopped { .. } => Some("stopped"),
        PublisherStatus::Gone => Some("gone"),
    };
    dict.set_item("ended", ended)?;
    Ok(dict)
}
