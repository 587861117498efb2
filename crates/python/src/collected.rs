//! Record batches in memory.

use crate::signals;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_array::{RecordBatchOptions, StringViewArray};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// All batches of a reading, for the Arrow C stream interface: for consumers that hold the GIL while they
/// read, such as polars.
#[pyclass(name = "Collected", module = "tickwire", frozen)]
pub struct PyCollectedBatches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl PyCollectedBatches {
    /// Reads all batches with the GIL released; converts strings to views if requested.
    pub fn read(
        py: Python<'_>,
        reader: impl RecordBatchReader + Send,
        views: bool,
    ) -> PyResult<Self> {
        let schema = if views { with_views(&reader.schema()) } else { reader.schema() };
        let batches = signals::detached(py, || {
            let mut missing = None;
            let batches = reader.map(|batch| match views {
                true => batch.and_then(|batch| viewed(&batch, &schema, &mut missing)),
                false => batch,
            });
            batches.collect::<Result<_, ArrowError>>()
        })?;
        let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { schema, batches })
    }
}

#[pymethods]
impl PyCollectedBatches {
    /// Returns the stream in a capsule. A requested schema is ignored, as the interface allows.
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

/// Returns the schema with string views instead of strings. Strings inside lists are unchanged.
fn with_views(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => field.clone(),
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns the batch with string views. Columns of nulls are slices of one array, `missing`.
fn viewed(
    batch: &RecordBatch,
    schema: &SchemaRef,
    missing: &mut Option<StringViewArray>,
) -> Result<RecordBatch, ArrowError> {
    let column = |column: &ArrayRef| -> ArrayRef {
        match column.as_string_opt::<i32>() {
            Some(strings) if strings.null_count() == strings.len() => {
                let rows = strings.len();
                let made = missing.take().filter(|made| made.len() >= rows);
                let made = missing.insert(made.unwrap_or_else(|| StringViewArray::new_null(rows)));
                Arc::new(made.slice(0, rows))
            }
            Some(strings) => Arc::new(StringViewArray::from(strings)),
            None => column.clone(),
        }
    };
    let columns = batch.columns().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}
