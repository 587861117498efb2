//! Arrow record batches of a template's messages.

use crate::capture::CaptureErrors;
use crate::collected::PyCollectedBatches;
use crate::errors;
use crate::fault::DecodeFault;
use crate::parquet;
use crate::pull::{CaptureJob, CapturePuller, Take};
use crate::signals;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use tickwire_arrow::{Decimals, RowUnit, TableBuilder, TableOptions, TemplateTable};
use tickwire_fast::{Program, SegmentRef, Storage};
use tickwire_text::Header;

/// Rows of a batch.
pub const BATCH_ROWS: usize = 8192;
/// Name of the column of capture times.
const TIME: &str = "time";

/// Record batches of the messages of one template, for the Arrow C stream interface: pyarrow, polars, pandas
/// and DuckDB read them without copies. Each consumer reads the capture from its start.
///
/// >>> import pyarrow
/// >>> import tempfile, tickwire, tickwire.simulate
/// >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
/// >>> capture = tickwire.open(day.capture, day.templates, day.framing)
/// >>> batches = capture.batches(capture.templates[0])
/// >>> rows = pyarrow.table(batches).num_rows
/// >>> pyarrow.table(batches.select(["pkt", "time"], time_unit="us")).schema.names
/// ['pkt', 'time']
/// >>> pyarrow.table(batches.collect()).num_rows == rows
/// True
/// >>> batches.fields, batches.packets > 0, batches.packets_skipped, batches.error
/// (13, True, 0, None)
/// >>> path = tempfile.mktemp(suffix=".parquet")
/// >>> batches.write_parquet(path)
/// >>> import pyarrow.parquet
/// >>> pyarrow.parquet.read_metadata(path).num_rows == rows
/// True
#[pyclass(name = "Batches", module = "tickwire", frozen)]
pub struct PyBatches {
    job: CaptureJob,
    template: usize,
    rows: RowUnit,
    decimals: Decimals,
    errors: CaptureErrors,
    /// The error that ended the last failed reading.
    raised: LastFault,
    progress: Arc<BatchProgress>,
    shape: ColumnSelection,
}

/// Selection of columns and time unit.
#[derive(Clone, Default)]
struct ColumnSelection {
    /// Names of the columns; all by default.
    columns: Option<Vec<String>>,
    /// True if capture times are in microseconds instead of nanoseconds.
    is_micros: bool,
}

/// True when Python exits. Consumers' threads read ahead: a batch must not outlive the interpreter objects
/// that it references.
static IS_ENDING: RwLock<bool> = RwLock::new(false);

/// Waits for the batches under construction and ends all streams; called when Python exits.
#[pyfunction]
pub fn end_streams(py: Python<'_>) {
    py.detach(|| *IS_ENDING.write().unwrap_or_else(PoisonError::into_inner) = true);
}

/// Returns whether Python is exiting; while the guard is held, Python waits.
pub fn is_ending() -> RwLockReadGuard<'static, bool> {
    IS_ENDING.read().unwrap_or_else(PoisonError::into_inner)
}

type LastFault = Arc<Mutex<Option<DecodeFault>>>;

/// Counters over all consumers.
#[derive(Default)]
struct BatchProgress {
    packets: AtomicU64,
    packets_skipped: AtomicU64,
}

impl PyBatches {
    pub fn new(
        job: CaptureJob,
        template: usize,
        rows: RowUnit,
        decimals: Decimals,
        errors: CaptureErrors,
    ) -> Self {
        let progress = Arc::default();
        let (raised, shape) = (LastFault::default(), ColumnSelection::default());
        Self { job, template, rows, decimals, errors, raised, progress, shape }
    }
}

#[pymethods]
impl PyBatches {
    /// Returns the stream in a capsule. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = BatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Reads all batches with the GIL released; with `views`, strings are 16-byte views, as in polars.
    #[pyo3(signature = (views = false))]
    fn collect(&self, py: Python<'_>, views: bool) -> PyResult<PyCollectedBatches> {
        let reader = BatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        PyCollectedBatches::read(py, reader, views)
    }

    /// Writes all rows to a Parquet file, which gets its name only when it is complete.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let reader = BatchReader::open(self).map_err(|text| errors::usage(py, &text))?;
        parquet::write(py, reader, path)
    }

    /// The error that ended the last failed reading; the consumer raises its own exception.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).clone();
        raised.map(|fault| fault.exception(py).into_value(py).into_any())
    }

    /// The same batches with only these columns, and with capture times in this unit, `ns` or `us`.
    #[pyo3(signature = (columns, time_unit = "ns"))]
    fn select(&self, columns: Option<Vec<String>>, time_unit: &str) -> PyResult<Self> {
        let is_micros = match time_unit {
            "ns" => false,
            "us" => true,
            other => {
                let text = format!("time_unit {other}: expected ns or us");
                return Err(PyValueError::new_err(text));
            }
        };
        let Self { job, template, rows, decimals, errors, .. } = self;
        let mut selected = Self::new(job.clone(), *template, *rows, *decimals, errors.clone());
        selected.shape = ColumnSelection { columns, is_micros };
        Ok(selected)
    }

    /// Number of fields of the template that are stored.
    #[getter]
    fn fields(&self) -> usize {
        let program = &self.job.program;
        stored_fields(program, program.templates()[self.template].segment)
    }

    /// Packets read so far, by all consumers together.
    #[getter]
    fn packets(&self) -> u64 {
        self.progress.packets.load(Ordering::Relaxed)
    }

    /// Packets that were not decoded, because they are outside the time range.
    #[getter]
    fn packets_skipped(&self) -> u64 {
        self.progress.packets_skipped.load(Ordering::Relaxed)
    }
}

impl ColumnSelection {
    fn schema(&self, whole: &SchemaRef) -> Result<SchemaRef, ArrowError> {
        let mut fields: Vec<FieldRef> = match &self.columns {
            Some(columns) => {
                let field = |name: &String| Ok(whole.fields()[whole.index_of(name)?].clone());
                columns.iter().map(field).collect::<Result<_, ArrowError>>()?
            }
            None => whole.fields().to_vec(),
        };
        if self.is_micros {
            for field in fields.iter_mut().filter(|field| field.name() == TIME) {
                let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                *field = Arc::new(field.as_ref().clone().with_data_type(micros));
            }
        }
        Ok(Arc::new(Schema::new_with_metadata(fields, whole.metadata().clone())))
    }

    fn of(&self, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let column = |field: &FieldRef| {
            let column = batch.column(batch.schema_ref().index_of(field.name())?);
            Ok(match column.as_primitive_opt::<TimestampNanosecondType>() {
                Some(times) if self.is_micros && field.name() == TIME => {
                    let micros =
                        times.unary::<_, TimestampMicrosecondType>(|time| time.div_euclid(1000));
                    Arc::new(micros.with_timezone("UTC"))
                }
                _ => column.clone(),
            })
        };
        let columns = schema.fields().iter().map(column).collect::<Result<_, ArrowError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
    }
}

fn stored_fields(program: &Program, segment: SegmentRef) -> usize {
    let stored = program.fields_of(segment).iter().map(|field| match &field.storage {
        Storage::Discarded => 0,
        Storage::Group(inner) => stored_fields(program, *inner),
        Storage::Sequence { segment: inner, .. } => stored_fields(program, *inner),
        _ => 1,
    });
    stored.sum()
}

/// Reads batches from a capture.
struct BatchReader {
    pull: CapturePuller<BatchRows>,
    schema: SchemaRef,
    errors: CaptureErrors,
    /// An error to be returned after the rows before it.
    fault: Option<DecodeFault>,
    raised: LastFault,
    progress: Arc<BatchProgress>,
    shape: ColumnSelection,
    is_ended: bool,
}

impl BatchReader {
    fn open(of: &PyBatches) -> Result<Self, String> {
        let PyBatches { job, template, rows, decimals, errors, raised, progress, shape } = of;
        let options = TableOptions {
            rows: *rows,
            decimals: *decimals,
            metadata: vec![
                ("tickwire.framing".to_owned(), job.framing.to_string()),
                ("tickwire.signature_of_set".to_owned(), job.program.set().signature().to_string()),
            ],
        };
        let table = TemplateTable::of(&job.program, *template, &options);
        let schema = table.schema().clone();
        let taken = BatchRows::new(table);
        let (pull, errors, raised) =
            (CapturePuller::new(job, taken)?, errors.clone(), raised.clone());
        let progress = progress.clone();
        let shape = shape.clone();
        let schema = shape.schema(&schema).map_err(|error| error.to_string())?;
        Ok(Self { pull, schema, errors, fault: None, raised, progress, shape, is_ended: false })
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
            if signals::is_interrupted() {
                return Err(ArrowError::ExternalError("interrupted".into()));
            }
            self.pull.step();
            self.fault = self.errors.note(self.pull.take_faults());
        }
    }

    /// Reads a batch, and counts its packets.
    fn read_counted(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let (packets, skipped) = (self.pull.packets, self.pull.packets_skipped);
        let read = self.read();
        let BatchProgress { packets: all, packets_skipped: all_skipped } = &*self.progress;
        all.fetch_add(self.pull.packets - packets, Ordering::Relaxed);
        all_skipped.fetch_add(self.pull.packets_skipped - skipped, Ordering::Relaxed);
        read
    }
}

impl Iterator for BatchReader {
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
        let read = self.read_counted().transpose();
        let read = read.map(|read| self.shape.of(&read?, &self.schema));
        self.is_ended = !matches!(read, Some(Ok(_)));
        read
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Rows of a batch under construction.
pub struct BatchRows {
    builder: TableBuilder,
    /// Complete batches, without room for another message.
    full: VecDeque<Result<RecordBatch, ArrowError>>,
}

impl BatchRows {
    pub fn new(table: TemplateTable) -> Self {
        Self { builder: TableBuilder::new(table), full: VecDeque::new() }
    }

    /// Discards the rows so far.
    pub fn drop_rows(&mut self) {
        self.full.clear();
        if self.builder.rows() >= BATCH_ROWS {
            self.builder.take_batch().ok();
        }
    }
}

impl Take for BatchRows {
    fn take(
        &mut self,
        header: &Header<'_>,
        message: &tickwire_fast::Message,
    ) -> Result<(), Box<DecodeFault>> {
        let mut pushed = self.builder.push(header, message);
        if pushed.as_ref().is_err_and(|unfit| unfit.is_full()) && self.builder.rows() > 0 {
            self.full.push_back(self.builder.take_batch());
            pushed = self.builder.push(header, message);
        }
        pushed.map(drop).map_err(|unfit| {
            Box::new(DecodeFault {
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
                time_ns: header.time_ns,
                destination: header.destination,
                ..DecodeFault::default()
            })
        })
    }
}
