//! Record batches that were read already.

use crate::signals;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// All batches of a reading, by the Arrow C stream interface: for takers that hold the GIL while they read, as polars.
#[pyclass(module = "tickwire", frozen)]
pub struct Collected {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Collected {
    /// Reads all, with the GIL released.
    pub fn read(py: Python<'_>, reader: impl RecordBatchReader + Send) -> PyResult<Self> {
        let schema = reader.schema();
        let batches = signals::detached(py, || reader.collect::<Result<_, ArrowError>>())?;
        let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { schema, batches })
    }
}

#[pymethods]
impl Collected {
    /// The stream, in a capsule. A schema that is wished for is not followed, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
