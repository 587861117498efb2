//! Messages as values, independent of any codec.

use std::sync::Arc;

/// A message to be sent: values in the order of its template's fields, including constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDraft {
    /// Template name.
    pub template: &'static str,
    /// Values of the fields.
    pub fields: Vec<DraftValue>,
}

/// A field value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftValue {
    /// No value.
    Absent,
    /// Byte vector.
    Bytes(Arc<[u8]>),
    /// Scaled number: mantissa, then exponent.
    Decimal(i64, i32),
    /// Values of a group's fields.
    Group(Vec<DraftValue>),
    /// Signed integer.
    Int(i64),
    /// String created at run time.
    Name(Arc<str>),
    /// Entries, each with its values.
    Sequence(Vec<Vec<DraftValue>>),
    /// String.
    Text(&'static str),
    /// Unsigned integer.
    UInt(u64),
}

impl DraftValue {
    /// Returns this value if `is_present`, otherwise `Absent`.
    pub(crate) fn when(self, is_present: bool) -> Self {
        if is_present { self } else { Self::Absent }
    }
}
