//! Converts FIX values to Python.

use crate::fix::fault::MessageFault;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyString, PyTime, PyType, PyTzInfo};
use tickwire_fix::dictionary::{FieldDef, FixFieldType};
use tickwire_fix::value::{LocalMktDate, UtcOffset, UtcTime};
use tickwire_fix::{Field, FixError};

const PICOS_PER_MICRO: u64 = 1_000_000;

/// Converts a value by the type of its field; without a type to text. Times are truncated to microseconds,
/// the resolution of Python.
pub fn native<'py>(
    py: Python<'py>,
    field: &Field<'_>,
    definition: Option<&FieldDef>,
) -> PyResult<Bound<'py, PyAny>> {
    use FixFieldType as T;
    let wrong = |error: FixError| unfit(py, field, &error);
    let Some(definition) = definition else { return text(py, field) };
    Ok(match definition.field_type() {
        T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
            let value = field.decimal().map_err(wrong)?;
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(py, "decimal", "Decimal")?.call1((value.to_string(),))?
        }
        T::Boolean => field.boolean().map_err(wrong)?.into_pyobject(py)?.to_owned().into_any(),
        T::DayOfMonth | T::Int | T::Length | T::NumInGroup | T::SeqNum | T::TagNum => {
            field.int().map_err(wrong)?.into_pyobject(py)?.into_any()
        }
        T::Data | T::XmlData => PyBytes::new(py, field.value).into_any(),
        T::UtcTimestamp => {
            let value = field.utc_timestamp().map_err(wrong)?;
            moment(py, field, value.date, value.time, Some(&PyTzInfo::utc(py)?.to_owned()))?
        }
        T::TzTimestamp => {
            let value = field.tz_timestamp().map_err(wrong)?;
            let zone = value.offset.map(|offset| zone(py, offset)).transpose()?;
            moment(py, field, value.date, value.time, zone.as_ref())?
        }
        T::UtcTimeOnly => {
            let value = field.utc_time().map_err(wrong)?;
            time(py, field, value, Some(&PyTzInfo::utc(py)?.to_owned()))?
        }
        T::TzTimeOnly => {
            let value = field.tz_time().map_err(wrong)?;
            let zone = value.offset.map(|offset| zone(py, offset)).transpose()?;
            time(py, field, value.time, zone.as_ref())?
        }
        T::LocalMktDate | T::UtcDateOnly => {
            let day = field.date().map_err(wrong)?;
            PyDate::new(py, day.year().into(), day.month(), day.day())
                .map_err(|error| no_such(py, field, &error))?
                .into_any()
        }
        _ => text(py, field)?,
    })
}

/// Returns text, or bytes if the value is not valid text.
fn text<'py>(py: Python<'py>, field: &Field<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match std::str::from_utf8(field.value) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, field.value).into_any(),
    })
}

fn zone(py: Python<'_>, offset: UtcOffset) -> PyResult<Bound<'_, PyTzInfo>> {
    let delta = PyDelta::new(py, 0, i32::from(offset.minutes()) * 60, 0, true)?;
    PyTzInfo::fixed_offset(py, delta)
}

fn moment<'py>(
    py: Python<'py>,
    field: &Field<'_>,
    date: LocalMktDate,
    time: UtcTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let made = PyDateTime::new(
        py,
        date.year().into(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second(),
        micros(time),
        zone,
    );
    made.map(Bound::into_any).map_err(|error| no_such(py, field, &error))
}

fn time<'py>(
    py: Python<'py>,
    field: &Field<'_>,
    time: UtcTime,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let made = PyTime::new(py, time.hour(), time.minute(), time.second(), micros(time), zone);
    made.map(Bound::into_any).map_err(|error| no_such(py, field, &error))
}

fn micros(time: UtcTime) -> u32 {
    u32::try_from(time.picos() / PICOS_PER_MICRO).unwrap_or_default()
}

/// Returns the error for a value that is invalid for its type.
fn unfit(py: Python<'_>, field: &Field<'_>, error: &FixError) -> PyErr {
    let reason = error.session_reject_reason().map(|reason| reason.code());
    let text = format!("{error}; found '{}'", field.value.escape_ascii());
    let (tag, offset) = (Some(field.tag.0), Some(error.offset));
    MessageFault { text, tag, offset, reason, line: None }.exception(py)
}

/// Returns the error for a valid FIX value without a Python equivalent: a leap second, the year 0.
fn no_such(py: Python<'_>, field: &Field<'_>, error: &PyErr) -> PyErr {
    let error = format!("Python has no such time ({}): take it by raw()", error.value(py));
    let mut fault =
        MessageFault::of_text(format!("{error}; found '{}'", field.value.escape_ascii()));
    fault.tag = Some(field.tag.0);
    fault.exception(py)
}
