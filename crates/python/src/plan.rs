//! Splits of captures that can be decoded independently.

use crate::capture::{format_of, framing_named, reset_by};
use crate::errors;
use pyo3::prelude::*;
use std::path::PathBuf;
use tickwire_captures::plan::{self, PlanError, PlanOptions};

/// A split: its serialized form for `open`, start and end offset in the file, index of its first packet,
/// number of packets.
type SplitTuple = (Vec<u8>, u64, u64, u64, Option<u64>);

fn usage(py: Python<'_>, error: &PlanError) -> PyErr {
    errors::usage(py, &error.to_string())
}

/// Returns the captures of a directory, or the file itself.
#[pyfunction]
pub fn captures_of(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| plan::captures_of(&path)).map_err(|error| usage(py, &error))
}

/// Returns the splits of a capture, and why its index could not be saved. `progress` is called with the bytes
/// read and the size of the file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn plan_capture(
    py: Python<'_>,
    path: PathBuf,
    framing: &str,
    reset: Option<&str>,
    input_format: Option<&str>,
    split_bytes: u64,
    index_directory: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<SplitTuple>, Option<String>)> {
    let framing = reset_by(framing_named(framing)?, reset)?;
    let format = input_format.map(format_of).transpose()?;
    let cuts = plan::stands_alone(&framing);
    let options = PlanOptions { format, cuts, split_bytes, index_directory };
    let mut raised = None;
    let mut watch = |read: u64, of: u64| {
        let told = Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map(|progress| progress.call1(py, (read, of))).transpose()
        });
        raised = told.err();
        raised.is_none()
    };
    let planned = py.detach(|| plan::plan(&path, &options, &mut watch));
    if let Some(raised) = raised {
        return Err(raised);
    }
    let planned = planned.map_err(|error| usage(py, &error))?;
    let splits = planned.splits.iter().map(|split| {
        let bytes = split.bytes();
        (split.to_bytes(), bytes.start, bytes.end, split.first_packet(), split.packets())
    });
    Ok((splits.collect(), planned.not_kept.map(|error| error.to_string())))
}
