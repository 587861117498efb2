//! Captures: what `tickwire.open` returns.

use crate::batches::Batches;
use crate::errors;
use crate::explain::{self, Explanation};
use crate::fault::Fault;
use crate::lost::Lost;
use crate::message::{Message, Owned};
use crate::pull::{Job, Pull, Source, Take};
use crate::signals;
use crate::templates::{Templates, compile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tickwire_arrow::Rows;
use tickwire_captures::Selection;
use tickwire_captures::plan::Split;
use tickwire_fast::{TemplateId, TemplateSet};
use tickwire_feed::capture::Format;
use tickwire_feed::framing::detect::detect;
use tickwire_feed::framing::{Framing, ResetPolicy};
use tickwire_text::Header;

/// What is done where data cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// An exception, after the messages before.
    Raise,
    /// It is noted in `errors`, and decoding goes on.
    Keep,
}

/// Errors kept; further ones are only counted.
const ERRORS_MAX: usize = 10_000;

/// What was not decoded.
#[derive(Default)]
pub struct Kept {
    faults: Vec<Fault>,
    count: u64,
}

/// The errors of all that reads a capture.
#[derive(Clone)]
pub struct Errors {
    on_error: OnError,
    kept: Arc<Mutex<Kept>>,
}

impl Errors {
    /// What `on_error` says: `raise` or `keep`.
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

    /// Those that are kept, as exceptions.
    pub fn exceptions(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let faults = self.lock().faults.clone();
        faults.into_iter().map(|fault| fault.exception(py).into_value(py).into_any()).collect()
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes faults. Returns the first if it is to be raised.
    pub fn note(&self, faults: Vec<Fault>) -> Option<Fault> {
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
    start = None, end = None, on_error = "raise", split = None,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    templates: Templates,
    framing: &str,
    reset: Option<&str>,
    input_format: Option<&str>,
    messages: Option<Vec<String>>,
    fields: Option<Vec<String>>,
    start: Option<u64>,
    end: Option<u64>,
    on_error: &str,
    split: Option<Vec<u8>>,
) -> PyResult<Capture> {
    let wrong = |text: String| PyValueError::new_err(text);
    let errors = Errors::new(on_error)?;
    let format = input_format.map(format_of).transpose()?;
    let split = split.map(|bytes| {
        let split = Split::from_bytes(path.clone(), &bytes);
        split.map(Arc::new).ok_or_else(|| wrong("the split is not of this version".to_owned()))
    });
    let source = Source { path, format, split: split.transpose()? };
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
    // What is wrong with the file is told at once.
    source.open().map_err(|text| errors::usage(py, &text))?;
    let times = start.unwrap_or(0)..end.unwrap_or(u64::MAX);
    let job = Job { source, framing, program, selection, times };
    Ok(Capture { job, errors })
}

/// The format of that name.
pub fn format_of(name: &str) -> PyResult<Format> {
    let wrong = |error| PyValueError::new_err(format!("input_format {name}: {error}"));
    name.parse().map_err(wrong)
}

/// The framing of that name, and the templates with what it says of them.
pub fn framing_of(
    name: &str,
    reset: Option<&str>,
    set: TemplateSet,
) -> PyResult<(Framing, TemplateSet)> {
    with_reset(framing_named(name)?, reset, set)
}

/// The framing of that name.
pub fn framing_named(name: &str) -> PyResult<Framing> {
    let wrong = |error| PyValueError::new_err(format!("framing {name}: {error}"));
    name.parse().map_err(wrong)
}

/// The framing with another reset policy, where one is named.
pub fn reset_by(framing: Framing, reset: Option<&str>) -> PyResult<Framing> {
    let Some(name) = reset else { return Ok(framing) };
    let wrong = |error| PyValueError::new_err(format!("reset {name}: {error}"));
    Ok(framing.reset(name.parse::<ResetPolicy>().map_err(wrong)?))
}

/// A framing with another reset policy, where one is named, and the templates with what it says of them.
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

fn find_framing(source: &Source, set: &TemplateSet) -> Result<Framing, String> {
    let name = source.path.display();
    let found = detect(&source.sample()?, set).map_err(|error| format!("{name}: {error}"))?;
    Ok(found.framing)
}

/// A capture: iterate over it for messages, or take columns of a template.
#[pyclass(module = "tickwire", frozen)]
pub struct Capture {
    job: Job,
    errors: Errors,
}

#[pymethods]
impl Capture {
    fn __iter__(&self, py: Python<'_>) -> PyResult<Messages> {
        let pull = Pull::new(&self.job, Queue::default());
        let pull = pull.map_err(|text| errors::usage(py, &text))?;
        Ok(Messages {
            pull: Mutex::new(Pulled { pull, raised: None }),
            errors: self.errors.clone(),
        })
    }

    /// How packets are framed: as given, or as it was found.
    #[getter]
    fn framing(&self) -> String {
        self.job.framing.to_string()
    }

    /// Names of the templates whose messages are wanted.
    #[getter]
    fn templates(&self) -> Vec<String> {
        let indexes = self.job.selection.templates(&self.job.program);
        let name = |index: usize| self.job.program.templates()[index].name.to_string();
        indexes.into_iter().map(name).collect()
    }

    /// What could not be decoded, as exceptions: the first 10,000 of all that read this capture so far.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.errors.exceptions(py)
    }

    /// How much could not be decoded.
    #[getter]
    fn error_count(&self) -> u64 {
        self.errors.count()
    }

    /// Decodes the capture once and counts messages by name of the template.
    fn counts(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let counts = self.counted(py)?;
        let name = |index: usize| self.job.program.templates()[index].name.to_string();
        let seen = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        Ok(seen.map(|(index, count)| (name(index), count)).collect())
    }

    /// A packet explained byte by byte.
    fn explain(&self, py: Python<'_>, packet: u64) -> PyResult<Explanation> {
        let explained = py.detach(|| explain::of_capture(&self.job, packet));
        explained.map_err(|text| errors::usage(py, &text))
    }

    /// Record batches of a template's messages, a row an entry; without `entries` a row a message.
    #[pyo3(signature = (template = None, entries = true))]
    fn batches(&self, py: Python<'_>, template: Option<&str>, entries: bool) -> PyResult<Batches> {
        let index = self.template(py, template)?;
        let job = self.job_of(py, index)?;
        let rows = if entries { Rows::Entries } else { Rows::Messages };
        Ok(Batches::new(job, index, rows, self.errors.clone()))
    }

    /// Record batches of what is not decoded, and of this template's messages that have no place in its table.
    fn lost(&self, py: Python<'_>, template: Option<&str>) -> PyResult<Lost> {
        let template = self.template(py, template)?;
        Ok(Lost { job: self.job_of(py, template)?, template })
    }
}

impl Capture {
    /// Reading the messages of one template alone.
    fn job_of(&self, py: Python<'_>, index: usize) -> PyResult<Job> {
        let program = &self.job.program;
        let id = index.to_string();
        let template = &program.templates()[index];
        let name = template.id.map_or_else(|| template.name.to_string(), |id| id.to_string());
        let mut job = self.job.clone();
        job.selection = Selection::new(&job.program, std::slice::from_ref(&name))
            .map_err(|unknown| errors::usage(py, &format!("{unknown} ({id})")))?;
        Ok(job)
    }

    /// Index of the template that is named, or of the only one that the capture has messages of.
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

    /// Messages by template.
    fn counted(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let counts = vec![0; self.job.program.templates().len()];
        let mut pull =
            Pull::new(&self.job, Counts(counts)).map_err(|text| errors::usage(py, &text))?;
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

struct Counts(Vec<u64>);

impl Take for Counts {
    fn take(&mut self, _: &Header<'_>, message: &tickwire_fast::Message) -> Result<(), Box<Fault>> {
        self.0[message.template_index()] += 1;
        Ok(())
    }
}

/// Messages that wait to be handed out.
#[derive(Default)]
struct Queue(VecDeque<Owned>);

impl Take for Queue {
    fn take(
        &mut self,
        header: &Header<'_>,
        message: &tickwire_fast::Message,
    ) -> Result<(), Box<Fault>> {
        self.0.push_back(Owned {
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
    pull: Pull<Queue>,
    /// To be raised when the messages before it were handed out.
    raised: Option<Fault>,
}

/// The messages of a capture, in order.
#[pyclass(module = "tickwire", frozen)]
pub struct Messages {
    pull: Mutex<Pulled>,
    errors: Errors,
}

#[pymethods]
impl Messages {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        match signals::advance(py, &self.pull, |pulled| pulled.next(&self.errors))? {
            Ok(message) => Ok(message.map(Message::from)),
            Err(fault) => Err(fault.exception(py)),
        }
    }
}

impl Pulled {
    fn next(&mut self, errors: &Errors) -> Result<Option<Owned>, Box<Fault>> {
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
