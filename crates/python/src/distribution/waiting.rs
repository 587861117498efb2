//! Waiting of a subscription for samples.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::time::Duration;
use tickwire_host::Wait;

/// Returns the waiting strategy of the argument `spin`: False or None blocks, True spins, and a number is the seconds to
/// spin before blocking.
pub fn wait_of(spin: Option<&Bound<'_, PyAny>>) -> PyResult<Wait> {
    let Some(spin) = spin else { return Ok(Wait::Block) };
    if let Ok(always) = spin.cast::<PyBool>() {
        return Ok(if always.is_true() { Wait::Spin } else { Wait::Block });
    }
    let expected = "expected True, False or seconds to spin before blocking";
    let seconds: f64 =
        spin.extract().map_err(|_| PyTypeError::new_err(format!("spin {spin}: {expected}")))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Ok(Wait::Block),
        Ok(span) => Ok(Wait::SpinThenBlock(span)),
        Err(_) => Err(PyValueError::new_err(format!("spin {seconds}: {expected}"))),
    }
}
