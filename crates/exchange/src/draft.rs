//! Messages as the exchange makes them up, apart from any codec.

use std::sync::Arc;

/// A message to be sent: values in the order of its template's fields, constants too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Template name.
    pub template: &'static str,
    /// Values of the fields.
    pub fields: Vec<Value>,
}

/// A value made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Absent,
    /// Byte vector.
    Bytes(Arc<[u8]>),
    /// Scaled number: mantissa, then exponent.
    Decimal(i64, i32),
    /// Values of a group's fields.
    Group(Vec<Value>),
    /// Signed integer.
    Int(i64),
    /// String made at run time.
    Name(Arc<str>),
    /// Entries, each with its values.
    Sequence(Vec<Vec<Value>>),
    /// String.
    Text(&'static str),
    /// Unsigned integer.
    UInt(u64),
}

impl Value {
    /// This value, or none.
    pub(crate) fn when(self, is_present: bool) -> Self {
        if is_present { self } else { Self::Absent }
    }
}
