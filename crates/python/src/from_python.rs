//! Converts Python values to JSON, from which messages are built.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};
use tickwire_text::json::Json;

/// Most nested dictionaries and lists.
const DEPTH_MAX: usize = 64;

/// Converts a value in JSON form, or in the form of attributes: `decimal.Decimal`, `bytes`.
pub fn json(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    at_depth(value, 0)
}

fn at_depth(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Json> {
    if depth > DEPTH_MAX {
        return Err(PyTypeError::new_err(format!("fields are nested deeper than {DEPTH_MAX}")));
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Json::Bool(value.is_true()));
    }
    if let Ok(value) = value.cast::<PyInt>() {
        return Ok(Json::Integer(value.extract::<i128>()?));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Json::Text(value.to_string()));
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        let digits = value.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        return Ok(Json::Object(vec![("hex".to_owned(), Json::Text(digits))]));
    }
    if let Ok(value) = value.cast::<PyDict>() {
        let member = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((name.extract::<String>()?, at_depth(&value, depth + 1)?))
        };
        return Ok(Json::Object(value.iter().map(member).collect::<PyResult<_>>()?));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let entries = value.try_iter()?.map(|entry| at_depth(&entry?, depth + 1));
        return Ok(Json::List(entries.collect::<PyResult<_>>()?));
    }
    decimal(value)
}

/// Converts a `decimal.Decimal`. Floats are rejected, because the intended decimal is unknown.
fn decimal(value: &Bound<'_, PyAny>) -> PyResult<Json> {
    let kind = value.get_type().name()?.to_string();
    let wrong = || {
        PyTypeError::new_err(format!(
            "a value of type {kind}: expected int, str, bytes, bool, None, decimal.Decimal, a dict or a list"
        ))
    };
    if kind != "Decimal" {
        return Err(wrong());
    }
    let parts = value.call_method0("as_tuple")?;
    let (sign, digits, exponent): (u8, Vec<u8>, i32) = parts.extract().map_err(|_| wrong())?;
    let mantissa = digits.iter().try_fold(0_i128, |mantissa, digit| {
        mantissa.checked_mul(10)?.checked_add(i128::from(*digit))
    });
    let mantissa = mantissa.ok_or_else(|| PyTypeError::new_err("a decimal of too many digits"))?;
    let mantissa = if sign == 0 { mantissa } else { -mantissa };
    Ok(Json::Object(vec![
        ("m".to_owned(), Json::Integer(mantissa)),
        ("e".to_owned(), Json::Integer(exponent.into())),
    ]))
}
