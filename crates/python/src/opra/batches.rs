//! Arrow record batches of a category's messages.

use super::pull::OpraPuller;
use crate::batches::{BATCH_ROWS, is_ending};
use crate::capture::CaptureErrors;
use crate::collected::PyCollectedBatches;
use crate::errors;
use crate::fault::DecodeFault;
use crate::parquet;
use crate::pull::CaptureFile;
use crate::signals;
use crate::warnings::Warnings;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_arrow::Decimals;
use tickwire_arrow::opra::CategoryBuilder;
use tickwire_opra::Category;

/// The error that ended the last failed reading.
type LastOpraFault = Arc<Mutex<Option<DecodeFault>>>;

/// Record batches of the messages of one category, for the Arrow C stream interface. Each consumer reads the
/// capture from its start.
///
/// >>> import pyarrow, pyarrow.parquet
/// >>> import pathlib, tempfile
/// >>> from tickwire import opra
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
/// >>> opra.simulate(path, messages=500, seed=7)
/// >>> capture = opra.open(path)
/// >>> batches = capture.batches("quote", ["symbol", "bid"])
/// >>> rows = pyarrow.table(batches).num_rows
/// >>> rows == capture.counts()["quote"]
/// True
/// >>> pyarrow.table(batches.collect()).num_rows == rows, batches.error
/// (True, None)
/// >>> batches.write_parquet(path.with_suffix(".parquet"))
/// >>> pyarrow.parquet.read_metadata(path.with_suffix(".parquet")).num_rows == rows
/// True
#[pyclass(name = "Batches", module = "tickwire.opra", frozen)]
pub struct PyOpraBatches {
    source: CaptureFile,
    category: Category,
    fields: Option<Vec<String>>,
    decimals: Decimals,
    errors: CaptureErrors,
    warnings: Warnings,
    raised: LastOpraFault,
}

impl PyOpraBatches {
    pub fn new(
        source: CaptureFile,
        category: Category,
        fields: Option<Vec<String>>,
        decimals: Decimals,
        errors: CaptureErrors,
        warnings: Warnings,
    ) -> Self {
        Self {
            source,
            category,
            fields,
            decimals,
            errors,
            warnings,
            raised: LastOpraFault::default(),
        }
    }
}

#[pymethods]
impl PyOpraBatches {
    /// Returns the stream in a capsule. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = OpraBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Reads all batches with the GIL released; with `views`, strings are 16-byte views, as in polars.
    #[pyo3(signature = (views = false))]
    fn collect(&self, py: Python<'_>, views: bool) -> PyResult<PyCollectedBatches> {
        let reader = OpraBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        PyCollectedBatches::read(py, reader, views)
    }

    /// Writes all rows to a Parquet file, which gets its name only when it is complete.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let reader = OpraBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        parquet::write(py, reader, path)
    }

    /// The error that ended the last failed reading; the consumer raises its own exception.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).clone();
        raised.map(|fault| fault.exception(py).into_value(py).into_any())
    }
}

/// Reads batches from a capture.
struct OpraBatchReader {
    pull: OpraPuller,
    builder: CategoryBuilder,
    category: Category,
    errors: CaptureErrors,
    /// An error to be returned after the rows before it.
    fault: Option<DecodeFault>,
    raised: LastOpraFault,
    is_ended: bool,
}

impl OpraBatchReader {
    fn open(of: &PyOpraBatches) -> Result<Self, String> {
        let is_wanted = |name: &str| {
            of.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
        };
        Ok(Self {
            pull: OpraPuller::new(&of.source, of.warnings.clone())?,
            builder: CategoryBuilder::new(of.category, of.decimals, is_wanted, []),
            category: of.category,
            errors: of.errors.clone(),
            fault: None,
            raised: of.raised.clone(),
            is_ended: false,
        })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            let rows = self.builder.rows();
            let is_last = self.pull.is_ended() || self.fault.is_some();
            if rows >= BATCH_ROWS || is_last && rows > 0 {
                return self.builder.take_batch().map(Some);
            }
            if let Some(fault) = self.fault.take() {
                let text = fault.text.clone();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                return Err(ArrowError::ExternalError(text.into()));
            }
            if self.pull.is_ended() {
                return Ok(None);
            }
            if signals::is_interrupted() {
                return Err(ArrowError::ExternalError("interrupted".into()));
            }
            let (builder, category) = (&mut self.builder, self.category);
            self.pull.step(|header, message| {
                if message.category() != category {
                    return Ok(());
                }
                let pushed = builder.push(header, message);
                pushed.map(drop).map_err(|unfit| {
                    Box::new(DecodeFault {
                        text: format!(
                            "packet {}, message {}: {unfit}",
                            header.packet.unwrap_or_default(),
                            message.index()
                        ),
                        field: Some(unfit.column.clone()),
                        offset: header.offset,
                        packet: header.packet,
                        time_ns: header.time_ns,
                        destination: header.destination,
                        ..DecodeFault::default()
                    })
                })
            });
            self.fault = self.errors.note(self.pull.take_faults());
        }
    }
}

impl Iterator for OpraBatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let is_ending = is_ending();
        if *is_ending {
            self.is_ended = true;
            return Some(Err(ArrowError::ExternalError("Python ends".into())));
        }
        let read = self.read().transpose();
        self.is_ended = !matches!(read, Some(Ok(_)));
        read
    }
}

impl RecordBatchReader for OpraBatchReader {
    fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }
}
