//! Captures: what `tickwire.open` returns.

use crate::batches::PyBatches;
use crate::errors;
use crate::explain::{self, PyExplanation};
use crate::fault::DecodeFault;
use crate::lost::PyDecodingErrors;
use crate::message::{OwnedMessage, PyMessage};
use crate::pull::{CaptureFile, CaptureJob, CapturePuller, Take};
use crate::signals;
use crate::templates::{TemplatesInput, compile};
use crate::warnings::Warnings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tickwire_arrow::{Decimals, RowUnit};
use tickwire_captures::Selection;
use tickwire_captures::plan::CaptureSplit;
use tickwire_fast::{TemplateId, TemplateSet};
use tickwire_feed::capture::CaptureFormat;
use tickwire_feed::framing::{Framing, FramingResetPolicy};
use tickwire_text::Header;

/// Handling of data that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Raise an exception after the messages before it.
    Raise,
    /// Record it in `errors` and continue decoding.
    Keep,
}

/// Most errors kept; further ones are only counted.
const ERRORS_MAX: usize = 10_000;

/// Errors of a capture.
#[derive(Default)]
pub struct CaptureFaults {
    faults: Vec<DecodeFault>,
    count: u64,
}

/// Shared by all readings of a capture.
#[derive(Clone)]
pub struct CaptureErrors {
    on_error: OnError,
    kept: Arc<Mutex<CaptureFaults>>,
}

impl CaptureErrors {
    /// Parses `on_error`: `raise` or `keep`.
    pub fn new(on_error: &str) -> PyResult<Self> {
        let on_error = match on_error {
            "raise" => OnError::Raise,
            "keep" => OnError::Keep,
            other => {
                let text = format!("on_error {other}: expected raise or keep");
                return Err(PyValueError::new_err(text));
            }
        };
        Ok(Self { on_error, kept: Arc::default() })
    }

    /// Returns the kept errors as exceptions.
    pub fn exceptions(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let faults = self.lock().faults.clone();
        faults.into_iter().map(|fault| fault.exception(py).into_value(py).into_any()).collect()
    }

    /// Returns the number of errors.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, CaptureFaults> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records faults. Returns the first one if it must be raised.
    pub fn note(&self, faults: Vec<DecodeFault>) -> Option<DecodeFault> {
        // Called for each packet. Most packets have no faults and must not take the lock.
        if faults.is_empty() {
            return None;
        }
        let raised = match self.on_error {
            OnError::Raise => faults.first().cloned(),
            OnError::Keep => None,
        };
        let mut kept = self.lock();
        kept.count += faults.len() as u64;
        let room = ERRORS_MAX.saturating_sub(kept.faults.len());
        kept.faults.extend(faults.into_iter().take(room));
        raised
    }
}

/// Opens a capture.
#[pyfunction]
#[pyo3(signature = (
    path, templates, framing = "none", reset = None, input_format = None, *, messages = None, fields = None,
    start = None, end = None, on_error = "raise", split = None, reset_at = Vec::new(),
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    templates: TemplatesInput,
    framing: &str,
    reset: Option<&str>,
    input_format: Option<&str>,
    messages: Option<Vec<String>>,
    fields: Option<Vec<String>>,
    start: Option<u64>,
    end: Option<u64>,
    on_error: &str,
    split: Option<Vec<u8>>,
    reset_at: Vec<u64>,
) -> PyResult<PyCapture> {
    let wrong = |text: String| PyValueError::new_err(text);
    let errors = CaptureErrors::new(on_error)?;
    let format = input_format.map(format_of).transpose()?;
    let split = split.map(|bytes| {
        let split = CaptureSplit::from_bytes(path.clone(), &bytes);
        split.map(Arc::new).ok_or_else(|| wrong("the split is not of this version".to_owned()))
    });
    let source = CaptureFile { path, format, split: split.transpose()? };
    let checks_values = framing == "auto";
    let (framing, set) = match framing {
        "auto" => {
            let found = find_framing(&source, &templates.0);
            let found = found.map_err(|text| errors::usage(py, &text))?;
            with_reset(found, reset, templates.0)?
        }
        name => framing_of(name, reset, templates.0)?,
    };
    let program = Arc::new(compile(py, set, fields)?);
    let selection = Selection::new(&program, &messages.unwrap_or_default())
        .map_err(|unknown| wrong(unknown.to_string()))?;
    // Reports an unreadable file immediately.
    source.open().map_err(|text| errors::usage(py, &text))?;
    let times = start.unwrap_or(0)..end.unwrap_or(u64::MAX);
    let job = CaptureJob {
        source,
        framing,
        reset_at,
        checks_values,
        program,
        selection,
        times,
        warnings: Warnings::default(),
    };
    Ok(PyCapture { job, errors })
}

/// Returns the file format with this name.
pub fn format_of(name: &str) -> PyResult<CaptureFormat> {
    let wrong = |error| PyValueError::new_err(format!("input_format {name}: {error}"));
    name.parse().map_err(wrong)
}

/// Returns the framing with this name, and the templates with the framing's changes to them.
pub fn framing_of(
    name: &str,
    reset: Option<&str>,
    set: TemplateSet,
) -> PyResult<(Framing, TemplateSet)> {
    with_reset(framing_named(name)?, reset, set)
}

/// Returns the framing with this name.
pub fn framing_named(name: &str) -> PyResult<Framing> {
    let wrong = |error| PyValueError::new_err(format!("framing {name}: {error}"));
    name.parse().map_err(wrong)
}

/// Returns the framing with the named reset policy, or unchanged.
pub fn reset_by(framing: Framing, reset: Option<&str>) -> PyResult<Framing> {
    let Some(name) = reset else { return Ok(framing) };
    let wrong = |error| PyValueError::new_err(format!("reset {name}: {error}"));
    Ok(framing.reset(name.parse::<FramingResetPolicy>().map_err(wrong)?))
}

/// Returns a framing with the named reset policy, or unchanged, and the templates with the framing's changes
/// to them.
fn with_reset(
    framing: Framing,
    reset: Option<&str>,
    set: TemplateSet,
) -> PyResult<(Framing, TemplateSet)> {
    let framing = reset_by(framing, reset)?;
    let set = match framing.reset_template_id() {
        Some(id) => set.with_reset_template(TemplateId(id)),
        None => set,
    };
    Ok((framing, set))
}

fn find_framing(source: &CaptureFile, set: &TemplateSet) -> Result<Framing, String> {
    let name = source.path.display();
    let sample = source.sample()?;
    let found = sample.detect(set).map_err(|error| format!("{name}: {error}"))?;
    Ok(found.detected.framing)
}

/// A capture: iterate over it for messages, or take columns of a template.
#[pyclass(name = "Capture", module = "tickwire", frozen)]
pub struct PyCapture {
    job: CaptureJob,
    errors: CaptureErrors,
}

#[pymethods]
impl PyCapture {
    fn __iter__(&self, py: Python<'_>) -> PyResult<PyMessages> {
        let pull = CapturePuller::new(&self.job, MessageQueue::default());
        let pull = pull.map_err(|text| errors::usage(py, &text))?;
        Ok(PyMessages {
            pull: Mutex::new(Pulled { pull, raised: None }),
            errors: self.errors.clone(),
        })
    }

    /// Framing of the packets, as given or as detected.
    #[getter]
    fn framing(&self) -> String {
        self.job.framing.to_string()
    }

    /// Names of the templates whose messages are read.
    #[getter]
    fn templates(&self) -> Vec<String> {
        let indexes = self.job.selection.templates(&self.job.program);
        let name = |index: usize| self.job.program.templates()[index].name.to_string();
        indexes.into_iter().map(name).collect()
    }

    /// Decoding errors, as exceptions: the first 10,000 of all readings of this capture so far.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.errors.exceptions(py)
    }

    /// Number of decoding errors.
    #[getter]
    fn error_count(&self) -> u64 {
        self.errors.count()
    }

    /// Remarks that are not errors: capture times that go back, streams whose start is missing, values that
    /// were not checked. The first 10,000 of all readings of this capture so far.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.job.warnings.kept()
    }

    /// Decodes the capture once and counts messages by template name.
    fn counts(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let counts = self.counted(py)?;
        let name = |index: usize| self.job.program.templates()[index].name.to_string();
        let seen = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        Ok(seen.map(|(index, count)| (name(index), count)).collect())
    }

    /// Explains a packet byte by byte.
    fn explain(&self, py: Python<'_>, packet: u64) -> PyResult<PyExplanation> {
        let explained = py.detach(|| explain::of_capture(&self.job, packet));
        explained.map_err(|text| errors::usage(py, &text))
    }

    /// Record batches of a template's messages, one row per entry; without `entries` one row per message. With
    /// `floats`, decimals are 64-bit floating-point numbers.
    #[pyo3(signature = (template = None, entries = true, floats = false))]
    fn batches(
        &self,
        py: Python<'_>,
        template: Option<&str>,
        entries: bool,
        floats: bool,
    ) -> PyResult<PyBatches> {
        let index = self.template(py, template)?;
        let job = self.job_of(py, index)?;
        let rows = if entries { RowUnit::Entries } else { RowUnit::Messages };
        let decimals = if floats { Decimals::Float64 } else { Decimals::Exact };
        Ok(PyBatches::new(job, index, rows, decimals, self.errors.clone()))
    }

    /// Record batches of decoding errors, including this template's messages that its table cannot hold.
    fn lost(&self, py: Python<'_>, template: Option<&str>) -> PyResult<PyDecodingErrors> {
        let template = self.template(py, template)?;
        Ok(PyDecodingErrors { job: self.job_of(py, template)?, template })
    }
}

impl PyCapture {
    /// Returns the job that reads only the messages of one template.
    fn job_of(&self, py: Python<'_>, index: usize) -> PyResult<CaptureJob> {
        let program = &self.job.program;
        let id = index.to_string();
        let template = &program.templates()[index];
        let name = template.id.map_or_else(|| template.name.to_string(), |id| id.to_string());
        let mut job = self.job.clone();
        job.selection = Selection::new(&job.program, std::slice::from_ref(&name))
            .map_err(|unknown| errors::usage(py, &format!("{unknown} ({id})")))?;
        Ok(job)
    }

    /// Returns the index of the named template; without a name, of the only one with messages in the capture.
    fn template(&self, py: Python<'_>, name: Option<&str>) -> PyResult<usize> {
        let program = &self.job.program;
        if let Some(name) = name {
            let selection = Selection::new(program, &[name.to_owned()])
                .map_err(|unknown| PyValueError::new_err(unknown.to_string()))?;
            return match selection.templates(program)[..] {
                [index] => Ok(index),
                _ => Err(PyValueError::new_err(format!(
                    "several templates are named {name}: give the id of one"
                ))),
            };
        }
        if let [index] = self.job.selection.templates(program)[..] {
            return Ok(index);
        }
        let counts = self.counted(py)?;
        let seen: Vec<usize> = (0..counts.len()).filter(|index| counts[*index] > 0).collect();
        match seen[..] {
            [index] => Ok(index),
            [] => Err(PyValueError::new_err("the capture has no message: name a template")),
            _ => {
                let names: Vec<String> = seen
                    .iter()
                    .map(|index| {
                        format!("{} ({})", program.templates()[*index].name, counts[*index])
                    })
                    .collect();
                Err(PyValueError::new_err(format!(
                    "the capture has messages of several templates: name one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Returns the number of messages of each template.
    fn counted(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let counts = vec![0; self.job.program.templates().len()];
        let mut pull = CapturePuller::new(&self.job, TemplateCounts(counts))
            .map_err(|text| errors::usage(py, &text))?;
        let raised = signals::detached(py, || {
            while !pull.is_ended() && !signals::is_interrupted() {
                pull.step();
                if let Some(fault) = self.errors.note(pull.take_faults()) {
                    return Some(fault);
                }
            }
            None
        })?;
        match raised {
            Some(fault) => Err(fault.exception(py)),
            None => Ok(std::mem::take(&mut pull.taken().0)),
        }
    }
}

struct TemplateCounts(Vec<u64>);

impl Take for TemplateCounts {
    fn take(
        &mut self,
        _: &Header<'_>,
        message: &tickwire_fast::Message,
    ) -> Result<(), Box<DecodeFault>> {
        self.0[message.template_index()] += 1;
        Ok(())
    }
}

/// Decoded messages that are not yet returned.
#[derive(Default)]
struct MessageQueue(VecDeque<OwnedMessage>);

impl Take for MessageQueue {
    fn take(
        &mut self,
        header: &Header<'_>,
        message: &tickwire_fast::Message,
    ) -> Result<(), Box<DecodeFault>> {
        self.0.push_back(OwnedMessage {
            message: Arc::new(message.clone()),
            packet: header.packet,
            time_ns: header.time_ns,
            offset: header.offset,
            len: header.len,
            seq_num: header.seq_num,
            line: None,
        });
        Ok(())
    }
}

struct Pulled {
    pull: CapturePuller<MessageQueue>,
    /// Error to raise after the messages before it.
    raised: Option<DecodeFault>,
}

/// The messages of a capture, in order.
#[pyclass(name = "Messages", module = "tickwire", frozen)]
pub struct PyMessages {
    pull: Mutex<Pulled>,
    errors: CaptureErrors,
}

#[pymethods]
impl PyMessages {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyMessage>> {
        match signals::advance(py, &self.pull, |pulled| pulled.next(&self.errors))? {
            Ok(message) => Ok(message.map(PyMessage::from)),
            Err(fault) => Err(fault.exception(py)),
        }
    }
}

impl Pulled {
    fn next(&mut self, errors: &CaptureErrors) -> Result<Option<OwnedMessage>, Box<DecodeFault>> {
        let Self { pull, raised } = self;
        loop {
            if let Some(message) = pull.taken().0.pop_front() {
                return Ok(Some(message));
            }
            if let Some(fault) = raised.take() {
                return Err(Box::new(fault));
            }
            if pull.is_ended() || signals::is_interrupted() {
                return Ok(None);
            }
            pull.step();
            *raised = errors.note(pull.take_faults());
        }
    }
}
