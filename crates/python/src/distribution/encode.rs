//! Encodes samples from Python values.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tickwire_distribution::cdr::{SampleEncodeError, SampleEncoder};
use tickwire_distribution::types::{MemberType, StructType};

/// Name of the structure that is a number in Python.
pub const DECIMAL: &str = "tickwire::Decimal";

/// Appends the members of a structure; members missing in `values` are 0, empty or false.
pub fn members(
    of: &StructType,
    values: &Bound<'_, PyDict>,
    encoder: &mut SampleEncoder<'_>,
) -> PyResult<()> {
    for name in values.keys() {
        let name: String = name.extract()?;
        if of.index_of(&name).is_none() {
            return Err(PyTypeError::new_err(format!("{} has no member {name}", of.name)));
        }
    }
    for member in &of.members {
        if member.is_optional {
            let text = format!("{}.{}: optional members are not written", of.name, member.name);
            return Err(PyValueError::new_err(text));
        }
        let value = values.get_item(&member.name)?;
        put(&member.of, value.as_ref(), encoder).map_err(|error| {
            let py = values.py();
            let text = format!("{}.{}: {}", of.name, member.name, error.value(py));
            error.get_type(py).call1((text,)).map_or_else(|error| error, PyErr::from_value)
        })?;
    }
    Ok(())
}

fn put(
    of: &MemberType,
    value: Option<&Bound<'_, PyAny>>,
    encoder: &mut SampleEncoder<'_>,
) -> PyResult<()> {
    match of {
        MemberType::Bool => encoder.put_bool(or_default(value)?),
        MemberType::Bytes => encoder.put_bytes(&or_default::<Vec<u8>>(value)?).map_err(unfit)?,
        MemberType::Char => encoder.put_u8(character(value)?),
        MemberType::F64 => encoder.put_f64(or_default(value)?),
        MemberType::I32 => encoder.put_i32(or_default(value)?),
        MemberType::I64 => encoder.put_i64(or_default(value)?),
        MemberType::Str => encoder.put_str(&or_default::<String>(value)?).map_err(unfit)?,
        MemberType::U8 => encoder.put_u8(or_default(value)?),
        MemberType::U16 => encoder.put_u16(or_default(value)?),
        MemberType::U32 => encoder.put_u32(or_default(value)?),
        MemberType::U64 => encoder.put_u64(or_default(value)?),
        MemberType::Struct(of) if of.name == DECIMAL => {
            let (mantissa, exponent) = decimal(value)?;
            encoder.put_i64(mantissa);
            encoder.put_i32(exponent);
        }
        MemberType::Struct(of) => match value {
            Some(value) => members(of, value.cast::<PyDict>()?, encoder)?,
            None => {
                for member in &of.members {
                    put(&member.of, None, encoder)?;
                }
            }
        },
        MemberType::Sequence(of) => {
            let elements: Vec<Bound<'_, PyAny>> = match value {
                Some(value) => value.try_iter()?.collect::<PyResult<_>>()?,
                None => Vec::new(),
            };
            let mut failed = None;
            let put_all = |encoder: &mut SampleEncoder<'_>| {
                let each = |element| put(of, Some(element), encoder);
                failed = elements.iter().try_for_each(each).err();
                Ok::<(), SampleEncodeError>(())
            };
            encoder.put_sequence(elements.len(), put_all).map_err(unfit)?;
            return failed.map_or(Ok(()), Err);
        }
    }
    Ok(())
}

fn unfit(error: SampleEncodeError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns the value, or the default of its type.
fn or_default<'py, T>(value: Option<&Bound<'py, PyAny>>) -> PyResult<T>
where
    T: Default + for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    value.map_or_else(|| Ok(T::default()), |value| value.extract())
}

/// Returns an eight-bit character, from text of one character or a number.
fn character(value: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
    let Some(value) = value else { return Ok(0) };
    let Ok(text) = value.extract::<String>() else { return value.extract() };
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(PyValueError::new_err(format!("{text:?} is not one ASCII character"))),
    }
}

/// Returns mantissa and exponent of a `decimal.Decimal`, or of a number that is exactly a decimal.
fn decimal(value: Option<&Bound<'_, PyAny>>) -> PyResult<(i64, i32)> {
    let Some(value) = value else { return Ok((0, 0)) };
    if let Ok(mantissa) = value.extract::<i64>() {
        return Ok((mantissa, 0));
    }
    let wrong = || PyValueError::new_err(format!("{value} is no decimal.Decimal of 64 bits"));
    let parts = value.call_method0("as_tuple").map_err(|_| wrong())?;
    let (sign, digits, exponent): (u8, Vec<u8>, i32) = parts.extract().map_err(|_| wrong())?;
    let mantissa = digits.iter().try_fold(0_i64, |mantissa, digit| {
        mantissa.checked_mul(10)?.checked_add(i64::from(*digit))
    });
    let mantissa = mantissa.ok_or_else(wrong)?;
    Ok((if sign == 0 { mantissa } else { -mantissa }, exponent))
}
