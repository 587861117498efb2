//! Arrow record batches of a template's messages.

use crate::capture::Errors;
use crate::errors;
use crate::fault::Fault;
use crate::pull::{Job, Pull, Take};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_arrow::{Rows, Table, TableBuilder, TableOptions};
use tickwire_text::Header;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// Record batches of the messages of one template, by the Arrow C stream interface: pyarrow, polars, pandas and
/// DuckDB take them without copies. Each taker reads the capture from its start.
#[pyclass(module = "tickwire", frozen)]
pub struct Batches {
    job: Job,
    template: usize,
    rows: Rows,
    errors: Errors,
    /// What ended the reading that was ended by an error last.
    raised: Raised,
}

type Raised = Arc<Mutex<Option<Fault>>>;

impl Batches {
    pub fn new(job: Job, template: usize, rows: Rows, errors: Errors) -> Self {
        Self { job, template, rows, errors, raised: Raised::default() }
    }
}

#[pymethods]
impl Batches {
    /// The stream, in a capsule. A schema that is wished for is not followed, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = Reader::open(self).map_err(|text| errors::usage(py, &text))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The error that ended the last reading which was ended by one: the taker raises an exception of its own.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).clone();
        raised.map(|fault| fault.exception(py).into_value(py).into_any())
    }
}

/// Reads batches from a capture.
struct Reader {
    pull: Pull<Taken>,
    schema: SchemaRef,
    errors: Errors,
    /// An error that comes behind the rows before it.
    fault: Option<Fault>,
    raised: Raised,
    is_ended: bool,
}

impl Reader {
    fn open(of: &Batches) -> Result<Self, String> {
        let Batches { job, template, rows, errors, raised } = of;
        let options = TableOptions {
            rows: *rows,
            metadata: vec![
                ("tickwire.framing".to_owned(), job.framing.to_string()),
                ("tickwire.signature_of_set".to_owned(), job.program.set().signature().to_string()),
            ],
            ..TableOptions::default()
        };
        let table = Table::of(&job.program, *template, &options);
        let schema = table.schema().clone();
        let taken = Taken { builder: TableBuilder::new(table), full: VecDeque::new() };
        let (pull, errors, raised) = (Pull::new(job, taken)?, errors.clone(), raised.clone());
        Ok(Self { pull, schema, errors, fault: None, raised, is_ended: false })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batch) = self.pull.taken().full.pop_front() {
                return batch.map(Some);
            }
            let rows = self.pull.taken().builder.rows();
            let is_last = self.pull.is_ended() || self.fault.is_some();
            if rows >= BATCH_ROWS || is_last && rows > 0 {
                return self.pull.taken().builder.take_batch().map(Some);
            }
            if let Some(fault) = self.fault.take() {
                let text = fault.text.clone();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                return Err(ArrowError::ExternalError(text.into()));
            }
            if self.pull.is_ended() {
                return Ok(None);
            }
            self.pull.step();
            self.fault = self.errors.note(self.pull.take_faults());
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let read = self.read().transpose();
        self.is_ended = !matches!(read, Some(Ok(_)));
        read
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Rows of a batch in the making.
struct Taken {
    builder: TableBuilder,
    /// Batches that had no room for another message.
    full: VecDeque<Result<RecordBatch, ArrowError>>,
}

impl Take for Taken {
    fn take(
        &mut self,
        header: &Header<'_>,
        message: &tickwire_fast::Message,
    ) -> Result<(), Box<Fault>> {
        let mut pushed = self.builder.push(header, message);
        if pushed.as_ref().is_err_and(|unfit| unfit.is_full()) && self.builder.rows() > 0 {
            self.full.push_back(self.builder.take_batch());
            pushed = self.builder.push(header, message);
        }
        pushed.map(drop).map_err(|unfit| {
            Box::new(Fault {
                text: format!(
                    "packet {}, the message {} at offset {}: {unfit}",
                    header.packet.unwrap_or_default(),
                    message.template_name(),
                    header.offset.unwrap_or_default()
                ),
                template: Some(message.template_name().to_owned()),
                field: Some(unfit.column.clone()),
                offset: header.offset,
                packet: header.packet,
                ..Fault::default()
            })
        })
    }
}
