//! Arrow record batches of a message type.

use crate::collected::PyCollectedBatches;
use crate::errors;
use crate::fix::fault::MessageFault;
use crate::fix::log::{LogErrors, LogJob};
use crate::fix::survey::SelectedColumns;
use crate::parquet;
use crate::signals;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_arrow::Decimals;
use tickwire_arrow::fix::{FixBatchBuilder, LogPlace, MessageTable};
use tickwire_fix::{Reader as MessageReader, Tag};
use tickwire_fix_text::{FindingPlace, FoundAt, FoundMessage, LogReader, examined};

/// Limits of a batch: rows, and bytes of their messages.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 64 << 20;

/// Record batches of the messages of one type, for the Arrow C stream interface: pyarrow, polars, pandas and
/// DuckDB read them without copies. Each consumer reads the log from its start.
///
/// >>> import pyarrow, pyarrow.parquet
/// >>> import pathlib, tempfile
/// >>> from tickwire import fix
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "orders.log"
/// >>> _ = path.write_text("12:30:01 8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=098|")
/// >>> log = fix.open(path)
/// >>> batches = log.batches("D", ["Symbol"])
/// >>> pyarrow.table(batches).column_names
/// ['line', 'off', 'pkt', 'time', 'source', 'destination', 'Symbol', 'other']
/// >>> pyarrow.table(batches.collect()).num_rows, batches.error
/// (1, None)
/// >>> batches.write_parquet(path.with_suffix(".parquet"))
/// >>> pyarrow.parquet.read_table(path.with_suffix(".parquet"))["Symbol"].to_pylist()
/// ['MSFT']
#[pyclass(name = "Batches", module = "tickwire.fix", frozen)]
pub struct PyFixBatches {
    job: LogJob,
    chosen: SelectedColumns,
    floats: bool,
    errors: LogErrors,
    raised: LastMessageFault,
}

/// The error that ended the last failed reading.
type LastMessageFault = Arc<Mutex<Option<MessageFault>>>;

impl PyFixBatches {
    pub fn new(job: LogJob, chosen: SelectedColumns, floats: bool, errors: LogErrors) -> Self {
        Self { job, chosen, floats, errors, raised: LastMessageFault::default() }
    }
}

#[pymethods]
impl PyFixBatches {
    /// Returns the stream in a capsule. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = LogBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Reads all batches with the GIL released; with `views`, strings are 16-byte views, as in polars.
    #[pyo3(signature = (views = false))]
    fn collect(&self, py: Python<'_>, views: bool) -> PyResult<PyCollectedBatches> {
        let reader = LogBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        PyCollectedBatches::read(py, reader, views)
    }

    /// Writes all rows to a Parquet file, which gets its name only when it is complete.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let reader = LogBatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        parquet::write(py, reader, path)
    }

    /// The error that ended the last failed reading; the consumer raises its own exception.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).clone();
        raised.map(|fault| fault.exception(py).into_value(py).into_any())
    }
}

/// Reads batches from a log.
struct LogBatchReader {
    pull: LogReader,
    rows: FixBatchRows,
    raised: LastMessageFault,
    is_last: bool,
    is_ended: bool,
}

/// Rows of a batch under construction.
struct FixBatchRows {
    job: LogJob,
    msg_type: Vec<u8>,
    reader: MessageReader,
    builder: FixBatchBuilder,
    errors: LogErrors,
    /// An error to be returned after the rows before it.
    fault: Option<MessageFault>,
}

impl LogBatchReader {
    fn open(of: &PyFixBatches) -> Result<Self, String> {
        let PyFixBatches { job, chosen, floats, errors, raised } = of;
        let names = chosen.names(&job.versions);
        let wanted = |tag: Tag| chosen.tags.as_ref().is_none_or(|tags| tags.contains(&tag.0));
        let table = MessageTable {
            session: names.session,
            application: names.application,
            msg_type: &chosen.msg_type,
            decimals: if *floats { Decimals::Float64 } else { Decimals::Exact },
            wanted: &wanted,
        };
        let builder = FixBatchBuilder::new(&table).map_err(|unknown| unknown.to_string())?;
        let rows = FixBatchRows {
            job: job.clone(),
            msg_type: chosen.msg_type.clone(),
            reader: MessageReader::new(),
            builder,
            errors: errors.clone(),
            fault: None,
        };
        let (pull, raised) = (job.source.open()?, raised.clone());
        Ok(Self { pull, rows, raised, is_last: false, is_ended: false })
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            let builder = &mut self.rows.builder;
            let is_full = builder.rows() >= BATCH_ROWS || builder.bytes() >= BATCH_BYTES;
            let is_last = self.is_last || self.rows.fault.is_some();
            if is_full || is_last && builder.rows() > 0 {
                return builder.take_batch().map(Some);
            }
            if let Some(fault) = self.rows.fault.take() {
                let text = fault.text.clone();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                return Err(ArrowError::ExternalError(text.into()));
            }
            if self.is_last {
                return Ok(None);
            }
            if signals::is_interrupted() {
                return Err(ArrowError::ExternalError("interrupted".into()));
            }
            let rows = &mut self.rows;
            self.is_last = !self.pull.step(&mut |place, found| rows.push(&place, found));
        }
    }
}

impl FixBatchRows {
    fn push(&mut self, place: &FindingPlace<'_>, found: FoundMessage<'_>) {
        // Rows after an error are discarded.
        if self.fault.is_some() {
            return;
        }
        // A message without notes is valid: no second check.
        if let FoundMessage::Message { bytes, notes: [], is_completed: false } = found
            && let Ok(message) = self.reader.decode(bytes)
        {
            if message.msg_type() == self.msg_type {
                self.builder.push(&message_place(&place.at), &message);
            }
            return;
        }
        let wrong = match examined(&mut self.reader, found) {
            Ok((message, wrong)) if wrong.is_empty() || !self.job.checks => {
                if message.msg_type() == self.msg_type {
                    self.builder.push(&message_place(&place.at), &message);
                }
                return;
            }
            Ok((_, wrong)) => wrong.join("; "),
            Err(text) => text,
        };
        let fault = self.job.placed(place, MessageFault::of_text(wrong));
        self.fault = self.errors.note(fault);
    }
}

const fn message_place(at: &FoundAt) -> LogPlace {
    let FoundAt { line, offset, packet, time_ns, source, destination } = *at;
    LogPlace { line, offset, packet, time_ns, source, destination }
}

impl Iterator for LogBatchReader {
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

impl RecordBatchReader for LogBatchReader {
    fn schema(&self) -> SchemaRef {
        self.rows.builder.schema().clone()
    }
}
