//! FIX logs and captures: what `fix.open` returns.

use crate::errors;
use crate::fix::batches::PyFixBatches;
use crate::fix::dictionary::{PyFixDictionary, versions};
use crate::fix::fault::MessageFault;
use crate::fix::inner::ParsedMessage;
use crate::fix::message::PyFixMessage;
use crate::fix::parse::{BytesOrText, inner};
use crate::fix::survey::MessageTypeSurvey;
use crate::signals;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tickwire_fix_text::{FindingPlace, FoundMessage, LogFile, LogReader, Versions};

/// Most errors kept; further ones are only counted.
const ERRORS_MAX: usize = 10_000;

/// Errors of the messages in a log.
#[derive(Default)]
struct LogFaults {
    faults: Vec<MessageFault>,
    count: u64,
}

/// Shared by all readings of a log.
#[derive(Clone)]
pub struct LogErrors {
    is_raised: bool,
    kept: Arc<Mutex<LogFaults>>,
}

impl LogErrors {
    fn lock(&self) -> MutexGuard<'_, LogFaults> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a fault. Returns it if it must be raised.
    pub fn note(&self, fault: MessageFault) -> Option<MessageFault> {
        let mut kept = self.lock();
        kept.count += 1;
        if kept.faults.len() < ERRORS_MAX {
            kept.faults.push(fault.clone());
        }
        Some(fault).filter(|_| self.is_raised)
    }
}

/// Options for reading a log.
#[derive(Clone)]
pub struct LogJob {
    pub source: LogFile,
    pub versions: Arc<Versions>,
    /// True if an invalid frame is an error.
    pub checks: bool,
}

impl LogJob {
    /// Converts what was found to a message, or returns its error.
    pub fn message(
        &self,
        place: &FindingPlace<'_>,
        found: FoundMessage<'_>,
    ) -> Result<ParsedMessage, MessageFault> {
        let read = inner(found, self.versions.clone());
        let checked = read.and_then(|read| match MessageFault::together(&read.faults) {
            Some(fault) if self.checks => Err(fault),
            _ => Ok(read.with_place(place.at)),
        });
        checked.map_err(|fault| self.placed(place, fault))
    }

    /// Adds the position in the file to a fault.
    pub fn placed(&self, place: &FindingPlace<'_>, fault: MessageFault) -> MessageFault {
        let text = format!("{}: {place}: {}", self.source.path.display(), fault.text);
        MessageFault { text, line: place.at.line, ..fault }
    }
}

/// Opens a log or capture.
#[pyfunction]
#[pyo3(signature = (path, dictionary = None, separator = None, checks = true, on_error = "raise"))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    dictionary: Option<&PyFixDictionary>,
    separator: Option<BytesOrText>,
    checks: bool,
    on_error: &str,
) -> PyResult<Log> {
    let is_raised = match on_error {
        "raise" => true,
        "keep" => false,
        other => {
            let text = format!("on_error {other}: expected raise or keep");
            return Err(PyValueError::new_err(text));
        }
    };
    let separator = separator.map(|separator| separator.bytes().to_vec());
    if separator.as_ref().is_some_and(Vec::is_empty) {
        return Err(PyValueError::new_err("a separator has at least one byte"));
    }
    let source = LogFile { path, separator };
    // Reports an unreadable file immediately.
    py.detach(|| source.open()).map_err(|text| errors::usage(py, &text))?;
    let job = LogJob { source, versions: versions(dictionary), checks };
    let errors = LogErrors { is_raised, kept: Arc::default() };
    Ok(Log { job, errors, survey: OnceLock::new() })
}

/// A log: iterate over it for messages, or take columns of a message type.
#[pyclass(module = "tickwire.fix", frozen)]
pub struct Log {
    job: LogJob,
    errors: LogErrors,
    survey: OnceLock<MessageTypeSurvey>,
}

#[pymethods]
impl Log {
    fn __iter__(&self, py: Python<'_>) -> PyResult<PyFixMessages> {
        let opened = py.detach(|| self.job.source.open());
        let pull = opened.map_err(|text| errors::usage(py, &text))?;
        let (job, errors) = (self.job.clone(), self.errors.clone());
        Ok(PyFixMessages {
            reading: Mutex::new(LogReading { pull, queue: VecDeque::new() }),
            job,
            errors,
        })
    }

    /// Errors as exceptions: the first 10,000 of all readings of this log so far.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let faults = self.errors.lock().faults.clone();
        faults.into_iter().map(|fault| fault.exception(py).into_value(py).into_any()).collect()
    }

    /// Number of errors.
    #[getter]
    fn error_count(&self) -> u64 {
        self.errors.lock().count
    }

    /// Reads the log once and counts messages by MsgType.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (msg_type, seen) in &self.survey(py)?.types {
            counts.set_item(String::from_utf8_lossy(msg_type), seen.count)?;
        }
        Ok(counts)
    }

    /// Record batches of a type's messages, one row per message.
    #[pyo3(signature = (msg_type = None, fields = None, all = false, floats = false))]
    fn batches(
        &self,
        py: Python<'_>,
        msg_type: Option<&str>,
        fields: Option<Vec<String>>,
        all: bool,
        floats: bool,
    ) -> PyResult<PyFixBatches> {
        let chosen = self.survey(py)?.choose(&self.job.versions, msg_type, fields, all);
        let chosen = chosen.map_err(PyValueError::new_err)?;
        Ok(PyFixBatches::new(self.job.clone(), chosen, floats, self.errors.clone()))
    }
}

impl Log {
    /// Returns the survey of the log; reads the log once for it.
    fn survey(&self, py: Python<'_>) -> PyResult<&MessageTypeSurvey> {
        if let Some(survey) = self.survey.get() {
            return Ok(survey);
        }
        let survey = signals::detached(py, || MessageTypeSurvey::of(&self.job))?;
        let survey = survey.map_err(|text| errors::usage(py, &text))?;
        Ok(self.survey.get_or_init(|| survey))
    }
}

/// The messages of a log, one by one.
#[pyclass(name = "Messages", module = "tickwire.fix", frozen)]
pub struct PyFixMessages {
    reading: Mutex<LogReading>,
    job: LogJob,
    errors: LogErrors,
}

struct LogReading {
    pull: LogReader,
    queue: VecDeque<Result<ParsedMessage, MessageFault>>,
}

#[pymethods]
impl PyFixMessages {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyFixMessage>> {
        let next = signals::advance(py, &self.reading, |reading| self.next(reading))?;
        next.map(|inner| inner.map(PyFixMessage::new)).map_err(|fault| fault.exception(py))
    }
}

impl PyFixMessages {
    fn next(&self, reading: &mut LogReading) -> Result<Option<ParsedMessage>, Box<MessageFault>> {
        let LogReading { pull, queue } = reading;
        while !signals::is_interrupted() {
            match queue.pop_front() {
                Some(Ok(inner)) => return Ok(Some(inner)),
                Some(Err(fault)) => {
                    if let Some(raised) = self.errors.note(fault) {
                        return Err(Box::new(raised));
                    }
                }
                None => {
                    let is_on = pull.step(&mut |place, found| {
                        queue.push_back(self.job.message(&place, found));
                    });
                    if !is_on {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(None)
    }
}
