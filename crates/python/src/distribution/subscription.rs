//! Receives samples.

use super::place::{Place, Transport};
use super::sample::{Sample, Taken};
use super::topic_sets;
use crate::errors;
use pyo3::exceptions::{PyRuntimeWarning, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
#[cfg(feature = "dds")]
use tickwire_dds::CycloneParticipant;
use tickwire_distribution::{
    Arrival, Delivery, FromPublisher, Ledger, Participant, Standing, Subscriber, SubscriberOptions,
    TopicSet,
};
use tickwire_shm_transport::ShmParticipant;

/// Longest time between checks for Python's signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// A subscriber over the selected transport.
enum Over {
    Shm(Subscriber<ShmParticipant>),
    #[cfg(feature = "dds")]
    Dds(Subscriber<CycloneParticipant>),
}

impl Over {
    fn receive(&mut self, wait: Duration, take: impl FnMut(&Arrival<'_>)) -> Result<(), String> {
        let received = match self {
            Self::Shm(subscriber) => {
                subscriber.receive(wait, take).map_err(|error| error.to_string())
            }
            #[cfg(feature = "dds")]
            Self::Dds(subscriber) => {
                subscriber.receive(wait, take).map_err(|error| error.to_string())
            }
        };
        received.map(drop)
    }

    fn ledger(&self) -> &Ledger {
        match self {
            Self::Shm(subscriber) => subscriber.ledger(),
            #[cfg(feature = "dds")]
            Self::Dds(subscriber) => subscriber.ledger(),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Shm(subscriber) => subscriber.is_over(),
            #[cfg(feature = "dds")]
            Self::Dds(subscriber) => subscriber.is_over(),
        }
    }

    fn take_refusals(&mut self) -> Vec<String> {
        match self {
            Self::Shm(subscriber) => subscriber.take_refusals(),
            #[cfg(feature = "dds")]
            Self::Dds(subscriber) => subscriber.take_refusals(),
        }
    }
}

/// State of a subscription.
struct State {
    /// `None` after `close`.
    over: Option<Over>,
    /// Received samples that were not yet requested.
    waiting: VecDeque<Taken>,
    /// Last sequence number, by topic and writer.
    last: HashMap<(usize, u64), u64>,
    /// True to continue when a publisher's feed is done.
    stay: bool,
    /// Statistics of the publishers, after `close`.
    accounts: Vec<FromPublisher>,
}

/// Received samples, one after the other.
#[pyclass(module = "tickwire", frozen)]
pub struct Samples {
    sets: Arc<Vec<TopicSet>>,
    transport: &'static str,
    state: Mutex<State>,
}

/// Result of waiting for a sample.
enum Next {
    Sample(Taken),
    End,
    Nothing,
}

#[pymethods]
impl Samples {
    #[new]
    #[pyo3(signature = (
        topics, transport, *, domain = 0, directory = None, user = None, last_values = true, partitions = Vec::new(),
        max_rate = None, stay = false, spin = false,
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
        spin: bool,
    ) -> PyResult<Self> {
        let sets = topic_sets(&topics)?;
        let every = max_rate.map(|rate| {
            let every = Duration::try_from_secs_f64(1.0 / rate).ok();
            every.filter(|_| rate > 0.0).ok_or_else(|| {
                PyValueError::new_err(format!("max_rate {rate}: expected a number above 0"))
            })
        });
        let options =
            SubscriberOptions { some_topics: true, echo: false, every: every.transpose()? };
        let last_values = u32::from(last_values);
        let delivery = Delivery { last_values, partitions, ..Delivery::default() };
        let place = Place { domain, directory, user, spin };
        let wanted = Transport::named(transport)?;
        let opened = py.detach(|| open(&place, wanted, &sets, &delivery, &options));
        let (over, transport) = opened.map_err(|text| errors::usage(py, &text))?;
        let state = State {
            over: Some(over),
            waiting: VecDeque::new(),
            last: HashMap::new(),
            stay,
            accounts: Vec::new(),
        };
        Ok(Self { sets: Arc::new(sets), transport, state: Mutex::new(state) })
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Sample>> {
        loop {
            match self.next(py, SIGNALS_EVERY)? {
                Next::Sample(taken) => return self.sample(py, taken).map(Some),
                Next::End => return Ok(None),
                Next::Nothing => py.check_signals()?,
            }
        }
    }

    /// The next sample; None if there is none within `seconds`. StopIteration at the end.
    fn poll(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Sample>> {
        let span = Duration::try_from_secs_f64(seconds).map_err(|_| {
            PyValueError::new_err(format!("seconds {seconds}: expected seconds from 0 to 1.8e19"))
        })?;
        let until = Instant::now().checked_add(span);
        loop {
            let left = until
                .map_or(SIGNALS_EVERY, |until| until.saturating_duration_since(Instant::now()));
            match self.next(py, left.min(SIGNALS_EVERY))? {
                Next::Sample(taken) => return self.sample(py, taken).map(Some),
                Next::End => return Err(PyStopIteration::new_err(())),
                Next::Nothing if left.is_zero() => return Ok(None),
                Next::Nothing => py.check_signals()?,
            }
        }
    }

    /// The selected transport: shm or dds.
    #[getter]
    fn transport(&self) -> &'static str {
        self.transport
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
            state.waiting.clear();
            if let Some(over) = state.over.take() {
                state.accounts = over.ledger().publishers();
            }
        });
    }
}

impl Samples {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accounts(&self) -> Vec<FromPublisher> {
        let state = self.lock();
        let now = state.over.as_ref().map(|over| over.ledger().publishers());
        now.unwrap_or_else(|| state.accounts.clone())
    }

    fn sample(&self, py: Python<'_>, taken: Taken) -> PyResult<Sample> {
        let set = &self.sets[taken.set];
        Sample::new(py, &set.name, &set.of, taken)
    }

    /// Waits with the GIL released. Warns once about each publisher that cannot be read.
    fn next(&self, py: Python<'_>, wait: Duration) -> PyResult<Next> {
        let next = py.detach(|| {
            let mut state = self.lock();
            let next = state.next(wait)?;
            let refusals = match next {
                Next::Sample(_) => Vec::new(),
                Next::End | Next::Nothing => {
                    state.over.iter_mut().flat_map(Over::take_refusals).collect()
                }
            };
            Ok((next, refusals))
        });
        let (next, refusals) = next.map_err(|text: String| errors::usage(py, &text))?;
        for text in refusals {
            let text = CString::new(text.replace('\0', "")).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
        }
        Ok(next)
    }
}

impl State {
    fn next(&mut self, wait: Duration) -> Result<Next, String> {
        let Self { over, waiting, last, stay, .. } = self;
        if let Some(taken) = waiting.pop_front() {
            return Ok(Next::Sample(taken));
        }
        let Some(over) = over else { return Ok(Next::End) };
        over.receive(wait, |arrival| {
            let info = &arrival.raw.info;
            let before = last.insert((arrival.topic, info.writer), info.writer_seq_num);
            let before = before.unwrap_or(info.history_end).max(info.history_end);
            let missed = info.writer_seq_num.saturating_sub(before.saturating_add(1));
            waiting.push_back(Taken::of(arrival, missed));
        })?;
        Ok(match waiting.pop_front() {
            Some(taken) => Next::Sample(taken),
            None if over.is_over() && !*stay => Next::End,
            None => Next::Nothing,
        })
    }
}

/// Subscribes over the requested transport, and returns which one it is.
fn open(
    place: &Place,
    wanted: Transport,
    sets: &[TopicSet],
    delivery: &Delivery,
    options: &SubscriberOptions,
) -> Result<(Over, &'static str), String> {
    let shm = place.join_shm();
    let takes_shm = match wanted {
        Transport::Shm => true,
        Transport::Dds => false,
        Transport::Auto if cfg!(not(feature = "dds")) => true,
        Transport::Auto => has_writer(&shm, sets, delivery)?,
    };
    if takes_shm {
        return Ok((Over::Shm(subscriber(&shm, sets, delivery, options)?), "shm"));
    }
    #[cfg(feature = "dds")]
    {
        let dds = place.join_dds().map_err(|error| error.to_string())?;
        return Ok((Over::Dds(subscriber(&dds, sets, delivery, options)?), "dds"));
    }
    #[cfg(not(feature = "dds"))]
    Err("this build of tickwire has no DDS: build it with the feature dds, or take transport=\"shm\""
        .to_owned())
}

fn has_writer(
    shm: &ShmParticipant,
    sets: &[TopicSet],
    delivery: &Delivery,
) -> Result<bool, String> {
    for set in sets {
        let qos = delivery.reader_qos(set.of.has_key(), false);
        let found = shm.has_writer(&set.of, &set.name, &qos);
        if found.map_err(|error| error.to_string())? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn subscriber<P: Participant>(
    participant: &P,
    sets: &[TopicSet],
    delivery: &Delivery,
    options: &SubscriberOptions,
) -> Result<Subscriber<P>, String> {
    Subscriber::new(participant, sets, delivery, options).map_err(|error| error.to_string())
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
        Standing::Present => None,
        Standing::Done { .. } => Some("done"),
        Standing::Stopped { .. } => Some("stopped"),
        Standing::Gone => Some("gone"),
    };
    dict.set_item("ended", ended)?;
    Ok(dict)
}
