//! Arrow record batches of decoding errors.

use crate::batches::{BATCH_ROWS, BatchRows, is_ending};
use crate::collected::PyCollectedBatches;
use crate::errors;
use crate::fault::DecodeFault;
use crate::pull::{CaptureJob, CapturePuller};
use crate::signals;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tickwire_arrow::{ErrorsBuilder, LostData, TableOptions, TemplateTable};

/// Record batches of decoding errors, for the Arrow C stream interface, with the columns of the table
/// `errors` of `tickwire export`.
#[pyclass(name = "Lost", module = "tickwire", frozen)]
pub struct PyDecodingErrors {
    pub job: CaptureJob,
    pub template: usize,
}

#[pymethods]
impl PyDecodingErrors {
    /// Returns the stream in a capsule. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(Box::new(self.reader(py)?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Reads all batches with the GIL released. Ctrl-C ends it.
    fn collect(&self, py: Python<'_>) -> PyResult<PyCollectedBatches> {
        PyCollectedBatches::read(py, self.reader(py)?, false)
    }
}

impl PyDecodingErrors {
    fn reader(&self, py: Python<'_>) -> PyResult<ErrorBatchReader> {
        let table = TemplateTable::of(&self.job.program, self.template, &TableOptions::default());
        let pull = CapturePuller::new(&self.job, BatchRows::new(table));
        let pull = pull.map_err(|text| errors::usage(py, &text))?;
        Ok(ErrorBatchReader { pull, builder: ErrorsBuilder::new(), is_ended: false })
    }
}

struct ErrorBatchReader {
    pull: CapturePuller<BatchRows>,
    builder: ErrorsBuilder,
    is_ended: bool,
}

impl Iterator for ErrorBatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let is_ending = is_ending();
        while self.builder.rows() < BATCH_ROWS && !self.pull.is_ended() && !*is_ending {
            if signals::is_interrupted() {
                self.is_ended = true;
                return Some(Err(ArrowError::ExternalError("interrupted".into())));
            }
            self.pull.step();
            self.pull.taken().drop_rows();
            for fault in self.pull.take_faults() {
                let DecodeFault { text: error, packet, file_offset, time_ns, destination, .. } =
                    fault;
                self.builder.push(&LostData { packet, file_offset, time_ns, destination, error });
            }
        }
        (self.builder.rows() > 0).then(|| self.builder.take_batch())
    }
}

impl RecordBatchReader for ErrorBatchReader {
    fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }
}
