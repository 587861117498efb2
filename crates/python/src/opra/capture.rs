//! OPRA captures: what `tickwire.opra.open` returns.

use super::batches::PyOpraBatches;
use super::message::PyOpraMessage;
use super::pull::OpraPuller;
use crate::capture::{CaptureErrors, format_of};
use crate::errors;
use crate::fault::DecodeFault;
use crate::pull::CaptureFile;
use crate::signals;
use crate::warnings::Warnings;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tickwire_arrow::Decimals;
use tickwire_arrow::opra::{CATEGORIES, columns_of};
use tickwire_opra::generate::OpraGenerator;
use tickwire_opra::{Category, Decode, OpraVersion, bottom_up};

/// Opens a capture.
#[pyfunction]
#[pyo3(signature = (path, input_format = None, on_error = "raise"))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    input_format: Option<&str>,
    on_error: &str,
) -> PyResult<PyOpraCapture> {
    let errors = CaptureErrors::new(on_error)?;
    let format = input_format.map(format_of).transpose()?;
    let source = CaptureFile { path, format, split: None };
    // Reports an unreadable file immediately.
    source.open().map_err(|text| errors::usage(py, &text))?;
    Ok(PyOpraCapture { source, errors, warnings: Warnings::default() })
}

/// Writes a synthetic trace as length-prefixed packets.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    path: PathBuf,
    messages: u64,
    seed: u64,
    version: &str,
) -> PyResult<()> {
    let version = match version {
        "2.0" => OpraVersion::V2,
        "1.03" => OpraVersion::V1,
        other => {
            let text = format!("version {other}: expected 2.0 or 1.03");
            return Err(PyValueError::new_err(text));
        }
    };
    let written = py.detach(|| write_trace(&path, OpraGenerator::new(version, seed), messages));
    written.map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

fn write_trace(path: &Path, mut generator: OpraGenerator, messages: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut decoder = Box::new(bottom_up::BottomUpDecoder::new());
    let mut written = 0;
    while written < messages {
        let packet = generator.packet().map_err(io::Error::other)?;
        let summary = decoder.decode_packet(packet, |_| {}).map_err(io::Error::other)?;
        written += u64::from(summary.messages);
        // Fits: a packet is at most one datagram.
        file.write_all(&(packet.len() as u32).to_be_bytes())?;
        file.write_all(packet)?;
    }
    file.into_inner()?.sync_all()
}

/// An OPRA capture: iterate over it for messages, or take columns of a category.
#[pyclass(name = "Capture", module = "tickwire.opra", frozen)]
pub struct PyOpraCapture {
    source: CaptureFile,
    errors: CaptureErrors,
    warnings: Warnings,
}

#[pymethods]
impl PyOpraCapture {
    fn __iter__(&self, py: Python<'_>) -> PyResult<PyOpraMessages> {
        let pull = self.pull(py)?;
        let reading = OpraReading { pull, queue: VecDeque::new(), raised: None };
        Ok(PyOpraMessages { reading: Mutex::new(reading), errors: self.errors.clone() })
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

    /// Remarks that are not errors: headers that disagree with their messages, capture times that go back.
    /// The first 10,000 of all readings of this capture so far.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.kept()
    }

    /// Reads the capture once and counts messages by category.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.counted(py)?;
        let dict = PyDict::new(py);
        for ((_, name), count) in CATEGORIES.iter().zip(counts).filter(|(_, count)| *count > 0) {
            dict.set_item(name, count)?;
        }
        Ok(dict)
    }

    /// Record batches of a category's messages; one row per message, or per entry of its group.
    #[pyo3(signature = (category = None, fields = None, floats = false))]
    fn batches(
        &self,
        py: Python<'_>,
        category: Option<&str>,
        fields: Option<Vec<String>>,
        floats: bool,
    ) -> PyResult<PyOpraBatches> {
        let category = self.category(py, category)?;
        let known = columns_of(category);
        let unknown = |name: &&String| !known.contains(&name.as_str());
        if let Some(unknown) = fields.iter().flatten().find(unknown) {
            return Err(PyValueError::new_err(format!(
                "fields {unknown}: the category has no such column; it has {}",
                known.join(", ")
            )));
        }
        let decimals = if floats { Decimals::Float64 } else { Decimals::Exact };
        let (source, errors) = (self.source.clone(), self.errors.clone());
        Ok(PyOpraBatches::new(source, category, fields, decimals, errors, self.warnings.clone()))
    }
}

impl PyOpraCapture {
    fn pull(&self, py: Python<'_>) -> PyResult<OpraPuller> {
        OpraPuller::new(&self.source, self.warnings.clone())
            .map_err(|text| errors::usage(py, &text))
    }

    /// Returns the number of messages of each category, in the order of the tables.
    fn counted(&self, py: Python<'_>) -> PyResult<[u64; CATEGORIES.len()]> {
        let mut pull = self.pull(py)?;
        let counted = signals::detached(py, || {
            let mut counts = [0; CATEGORIES.len()];
            while !pull.is_ended() && !signals::is_interrupted() {
                pull.step(|_, message| {
                    let category = message.category();
                    let at = CATEGORIES.iter().position(|(known, _)| *known == category);
                    // Every category has a table.
                    counts[at.unwrap_or(CATEGORIES.len() - 1)] += 1;
                    Ok(())
                });
                if let Some(fault) = self.errors.note(pull.take_faults()) {
                    return Err(Box::new(fault));
                }
            }
            Ok(counts)
        })?;
        counted.map_err(|fault| fault.exception(py))
    }

    /// Returns the category with this table name or code; without a name, the only one with messages in the
    /// capture.
    fn category(&self, py: Python<'_>, wanted: Option<&str>) -> PyResult<Category> {
        if let Some(wanted) = wanted {
            let is = |category: Category, name: &str| {
                name == wanted || char::from(category.code()).to_string() == wanted
            };
            let found = CATEGORIES.iter().find(|(category, name)| is(*category, name));
            return found.map(|(category, _)| *category).ok_or_else(|| {
                let names = CATEGORIES.map(|(_, name)| name).join(", ");
                PyValueError::new_err(format!("no category {wanted}; there are {names}"))
            });
        }
        let counts = self.counted(py)?;
        let seen: Vec<_> = CATEGORIES.iter().zip(counts).filter(|(_, count)| *count > 0).collect();
        match &seen[..] {
            [((category, _), _)] => Ok(*category),
            [] => Err(PyValueError::new_err("the capture has no message: name a category")),
            several => {
                let names = several.iter().map(|((_, name), count)| format!("{name} ({count})"));
                Err(PyValueError::new_err(format!(
                    "the capture has messages of several categories: name one of {}",
                    names.collect::<Vec<_>>().join(", ")
                )))
            }
        }
    }
}

struct OpraReading {
    pull: OpraPuller,
    queue: VecDeque<PyOpraMessage>,
    /// Error to raise after the messages before it.
    raised: Option<DecodeFault>,
}

/// The messages of a capture, in order.
#[pyclass(name = "Messages", module = "tickwire.opra", frozen)]
pub struct PyOpraMessages {
    reading: Mutex<OpraReading>,
    errors: CaptureErrors,
}

#[pymethods]
impl PyOpraMessages {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyOpraMessage>> {
        let next = signals::advance(py, &self.reading, |reading| reading.next(&self.errors))?;
        next.map_err(|fault| fault.exception(py))
    }
}

impl OpraReading {
    fn next(&mut self, errors: &CaptureErrors) -> Result<Option<PyOpraMessage>, Box<DecodeFault>> {
        let Self { pull, queue, raised } = self;
        loop {
            if let Some(message) = queue.pop_front() {
                return Ok(Some(message));
            }
            if let Some(fault) = raised.take() {
                return Err(Box::new(fault));
            }
            if pull.is_ended() || signals::is_interrupted() {
                return Ok(None);
            }
            pull.step(|header, message| {
                queue.push_back(PyOpraMessage::new(header, message));
                Ok(())
            });
            *raised = errors.note(pull.take_faults());
        }
    }
}
