//! Parquet files of record batches.

use crate::signals;
use arrow_array::RecordBatchReader;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use tickwire_arrow::{FileFormat, PartialFile};

/// Bytes held in memory until they are written as a row group.
const WAITING_BYTES: usize = 128 << 20;

/// Why writing stopped.
enum ParquetFailure {
    Read(ArrowError),
    Write(std::io::Error),
}

/// Writes all batches with the GIL released; the file gets its name only when it is complete.
pub fn write(
    py: Python<'_>,
    mut reader: impl RecordBatchReader + Send,
    path: PathBuf,
) -> PyResult<()> {
    let schema = reader.schema();
    let created = py.detach(|| PartialFile::create(path, FileFormat::Parquet, &schema));
    let mut file = created.map_err(failed)?;
    let written = signals::detached(py, || {
        while step(&mut reader, &mut file)? {}
        file.publish().map_err(ParquetFailure::Write)
    })?;
    written.map_err(|stop| match stop {
        ParquetFailure::Read(error) => PyValueError::new_err(error.to_string()),
        ParquetFailure::Write(error) => failed(error),
    })
}

/// Writes the next batch; returns false if there is none.
fn step(
    reader: &mut impl RecordBatchReader,
    file: &mut PartialFile,
) -> Result<bool, ParquetFailure> {
    let Some(batch) = reader.next() else { return Ok(false) };
    let batch = batch.map_err(ParquetFailure::Read)?;
    file.write(&batch).map_err(ParquetFailure::Write)?;
    if file.waiting_bytes() >= WAITING_BYTES {
        file.flush().map_err(ParquetFailure::Write)?;
    }
    Ok(true)
}

fn failed(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
