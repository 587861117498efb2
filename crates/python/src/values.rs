//! Converts field values to Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyType};
use tickwire_fast::template::FieldType;
use tickwire_fast::{Decimal, FieldLayout, FieldValue, Record};
use tickwire_text::element_name;

/// Returns a record in the JSON form of `tickwire decode`. Fields that are not stored are omitted; of two
/// fields with the same name, the last one is kept.
pub fn json_dict<'py>(py: Python<'py>, record: Record<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (field, value) in record.fields() {
        if !matches!(value, FieldValue::Discarded) {
            dict.set_item(name(py, field), json(py, field, value)?)?;
        }
    }
    Ok(dict)
}

/// Returns the name of a field, as one string object shared by all messages.
fn name<'py>(py: Python<'py>, field: &FieldLayout) -> Bound<'py, PyString> {
    PyString::intern(py, &field.name.local)
}

fn json<'py>(
    py: Python<'py>,
    field: &FieldLayout,
    value: FieldValue<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        FieldValue::Decimal(Decimal { mantissa, exponent }) => {
            let dict = PyDict::new(py);
            dict.set_item(pyo3::intern!(py, "m"), mantissa)?;
            dict.set_item(pyo3::intern!(py, "e"), exponent)?;
            Ok(dict.into_any())
        }
        FieldValue::Bytes(bytes) => hex(py, bytes),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(PyString::new(py, text).into_any()),
            Err(_) => hex(py, bytes),
        },
        FieldValue::Group(record) | FieldValue::Dynamic(_, record) => {
            Ok(json_dict(py, record)?.into_any())
        }
        FieldValue::Sequence(entries) => {
            let list = PyList::empty(py);
            for entry in entries.iter() {
                list.append(json_dict(py, entry)?)?;
            }
            Ok(list.into_any())
        }
        _ => plain(py, field, value),
    }
}

fn hex<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    dict.set_item(pyo3::intern!(py, "hex"), text)?;
    Ok(dict.into_any())
}

/// Converts a scalar value: None if it is absent, decimals to `decimal.Decimal`, vectors to `bytes`.
pub fn native<'py>(
    py: Python<'py>,
    field: &FieldLayout,
    value: FieldValue<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        FieldValue::Decimal(Decimal { mantissa, exponent }) => decimal(py, mantissa, exponent),
        FieldValue::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        FieldValue::Ascii(bytes) | FieldValue::Unicode(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(PyString::new(py, text).into_any()),
            Err(_) => Ok(PyBytes::new(py, bytes).into_any()),
        },
        _ => plain(py, field, value),
    }
}

/// Creates a `decimal.Decimal` with this exponent.
pub fn decimal(py: Python<'_>, mantissa: i64, exponent: i32) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "decimal", "Decimal")?.call1((format!("{mantissa}E{exponent}"),))
}

/// Converts integers, booleans and enumerations.
fn plain<'py>(
    py: Python<'py>,
    field: &FieldLayout,
    value: FieldValue<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (value, &field.field_type) {
        (FieldValue::UInt(value @ 0..=1), Some(FieldType::Boolean)) => {
            (value == 1).into_pyobject(py)?.to_owned().into_any()
        }
        (FieldValue::UInt(value), Some(FieldType::Enum(enumeration))) => {
            match element_name(enumeration, value) {
                Some(name) => PyString::intern(py, name).into_any(),
                None => value.into_pyobject(py)?.into_any(),
            }
        }
        (FieldValue::UInt(value), _) => value.into_pyobject(py)?.into_any(),
        (FieldValue::Int(value), _) => value.into_pyobject(py)?.into_any(),
        _ => py.None().into_bound(py),
    })
}
