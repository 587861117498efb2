//! Publishes samples over shared memory.

use super::place::TransportPlace;
use super::{encode, topic_sets};
use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tickwire_distribution::cdr::SampleEncoder;
use tickwire_distribution::{DeliverySettings, Publisher as SamplePublisher, TopicSet};
use tickwire_shm_transport::ShmParticipant;

/// Longest time between checks for Python's signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Publishes samples over shared memory, for tests and tools.
///
/// >>> import tempfile, tickwire
/// >>> directory = tempfile.mkdtemp(dir="/dev/shm")
/// >>> publisher = tickwire.Publisher(["Quote"], directory=directory)
/// >>> quotes = tickwire.subscribe("Quote", directory=directory)
/// >>> publisher.wait_subscribers(1, seconds=5)
/// True
/// >>> publisher.publish("Quote", OrderId=7, Price=101, ExchangeId="N")
/// >>> publisher.finish()
/// >>> [(quote.OrderId, quote.Price, quote.ExchangeId) for quote in quotes]
/// [(7, 101, 'N')]
/// >>> quotes.lost
/// 0
#[pyclass(name = "Publisher", module = "tickwire", frozen)]
pub struct PyPublisher {
    sets: Vec<TopicSet>,
    /// `None` after `finish`.
    state: Mutex<Option<PublishingState>>,
}

struct PublishingState {
    publisher: SamplePublisher<ShmParticipant>,
    bytes: Vec<u8>,
}

#[pymethods]
impl PyPublisher {
    /// Opens a channel for each topic.
    #[new]
    #[pyo3(signature = (topics, *, domain = 0, directory = None))]
    fn new(
        py: Python<'_>,
        topics: Vec<String>,
        domain: u32,
        directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let sets = topic_sets(&topics)?;
        let place = TransportPlace { domain, directory, user: None };
        let made = py.detach(|| {
            let delivery = DeliverySettings::default();
            SamplePublisher::new(&place.join_shm(), &sets, &delivery, Duration::ZERO, || false)
        });
        let publisher = made.map_err(|error| errors::usage(py, &error.to_string()))?;
        Ok(Self { sets, state: Mutex::new(Some(PublishingState { publisher, bytes: Vec::new() })) })
    }

    /// Publishes a sample; omitted members are 0, empty or false.
    #[pyo3(signature = (topic, /, **members))]
    fn publish(
        &self,
        py: Python<'_>,
        topic: &str,
        members: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let index = self.sets.iter().position(|set| set.name == topic).ok_or_else(|| {
            let names: Vec<&str> = self.sets.iter().map(|set| set.name.as_str()).collect();
            PyValueError::new_err(format!("topic {topic}: expected one of {}", names.join(", ")))
        })?;
        let mut state = self.lock();
        let PublishingState { publisher, bytes } = state.as_mut().ok_or_else(|| is_finished(py))?;
        let of = &self.sets[index].of;
        let none = PyDict::new(py);
        let values = members.unwrap_or(&none);
        encode::members(of, values, &mut SampleEncoder::new(bytes, of.encoding))?;
        let written = publisher.publish_bytes(index, bytes);
        written.map_err(|error| errors::usage(py, &error.to_string()))
    }

    /// Waits for this number of subscribers; False if they have not joined within `seconds`.
    #[pyo3(signature = (count = 1, seconds = 10.0))]
    fn wait_subscribers(&self, py: Python<'_>, count: u32, seconds: f64) -> PyResult<bool> {
        let begun = Instant::now();
        loop {
            let there = py.detach(|| {
                let state = self.lock();
                let one = state.as_ref().map(|state| {
                    state.publisher.wait_subscribers(count, Duration::from_millis(20))
                });
                one.transpose()
            });
            let there = there.map_err(|error| errors::usage(py, &error.to_string()))?;
            if there.ok_or_else(|| is_finished(py))? {
                return Ok(true);
            }
            if begun.elapsed().as_secs_f64() >= seconds {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }

    /// Tells subscribers the number of samples, and that the feed is complete (`whole`) or was stopped early.
    #[pyo3(signature = (whole = true))]
    fn finish(&self, py: Python<'_>, whole: bool) -> PyResult<()> {
        let taken = self.lock().take();
        let Some(PublishingState { mut publisher, .. }) = taken else {
            return Err(is_finished(py));
        };
        let finished = py.detach(|| publisher.finish(whole, SIGNALS_EVERY));
        finished.map(drop).map_err(|error| errors::usage(py, &error.to_string()))
    }
}

impl PyPublisher {
    fn lock(&self) -> MutexGuard<'_, Option<PublishingState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_finished(py: Python<'_>) -> PyErr {
    errors::usage(py, "the publisher has finished: make another")
}
