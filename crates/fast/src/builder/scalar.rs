//! Conversion of scalar values to the form that messages store.

use crate::error::FastErrorKind;
use crate::message::MessageStore;
use crate::template::{Decimal, FieldType, Value};

/// A value in the form that messages store.
#[derive(Clone, Copy)]
pub(super) enum ScalarValue<'v> {
    /// Two's complement.
    Integer(u64),
    Decimal(Decimal),
    Bytes(&'v [u8]),
}

impl ScalarValue<'_> {
    /// Writes the value to its place in a message.
    pub(super) fn store(
        self,
        store: &mut MessageStore,
        at: usize,
        bytes_max: usize,
    ) -> Result<(), FastErrorKind> {
        match self {
            Self::Integer(value) => store.words[at] = value.to_le_bytes(),
            Self::Decimal(value) => {
                store.words[at] = i64::from(value.exponent).to_le_bytes();
                store.words[at + 1] = value.mantissa.to_le_bytes();
            }
            Self::Bytes(bytes) => store.set_bytes(at, bytes, bytes_max)?,
        }
        Ok(())
    }

    /// Checks that a constant is set to its own value.
    pub(super) fn check_constant(&self, constant: &Value) -> Result<(), FastErrorKind> {
        let same = match (self, constant) {
            (Self::Integer(value), Value::UInt(constant)) => value == constant,
            (Self::Integer(value), Value::Int(constant)) => *value as i64 == *constant,
            (Self::Decimal(value), Value::Decimal(constant)) => value == constant,
            (Self::Bytes(value), Value::Bytes(constant)) => **value == **constant,
            _ => false,
        };
        if same { Ok(()) } else { Err(FastErrorKind::ApplicationType) }
    }
}

/// Returns an integer as a word for a field of this type, if it is in range.
pub(super) fn integer_of(field_type: &FieldType, value: i128) -> Result<u64, FastErrorKind> {
    let (is_signed, width) = field_type.integer().ok_or(FastErrorKind::ApplicationType)?;
    let end = 1i128 << (width as u32);
    let range = if is_signed { -end / 2..end / 2 } else { 0..end };
    if range.contains(&value) { Ok(value as u64) } else { Err(FastErrorKind::IntegerRange) }
}
