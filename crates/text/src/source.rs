//! The sources of a writer's field values.

use tickwire_fast::template::FieldType;
use tickwire_fast::{FieldHandle, Int, Program, Scaled, Slot, Text, UInt};

/// A field value: read from its slot if its text depends on the value alone, otherwise by field
/// index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldAccess {
    /// An unsigned number without a name.
    UInt(Slot<UInt>),
    /// A signed number.
    Int(Slot<Int>),
    /// A decimal.
    Decimal(Slot<Scaled>),
    /// A string; read by index if it is not plain.
    Text(Slot<Text>, usize),
    /// The field at this index of its record.
    Other(usize),
}

impl FieldAccess {
    pub(crate) fn of(program: &Program, handle: FieldHandle) -> Self {
        let other = Self::Other(handle.index);
        let field = &program.fields_of(handle.segment)[handle.index];
        match &field.field_type {
            Some(FieldType::UInt(_)) => program.slot(handle).map_or(other, Self::UInt),
            Some(FieldType::Int(_) | FieldType::Timestamp(_)) => {
                program.slot(handle).map_or(other, Self::Int)
            }
            Some(FieldType::Decimal) => program.slot(handle).map_or(other, Self::Decimal),
            Some(FieldType::Ascii | FieldType::Unicode) => {
                program.slot(handle).map_or(other, |slot| Self::Text(slot, handle.index))
            }
            _ => other,
        }
    }
}

/// Appends a string if it is plain. `is_special` returns true for ASCII bytes that are not plain.
/// Returns false, and appends nothing, otherwise.
#[inline]
pub(crate) fn push_plain(out: &mut Vec<u8>, bytes: &[u8], is_special: impl Fn(u8) -> bool) -> bool {
    let is_plain = bytes.iter().all(|&byte| byte.is_ascii() && !is_special(byte));
    if is_plain {
        match bytes {
            [byte] => out.push(*byte),
            _ => out.extend_from_slice(bytes),
        }
    }
    is_plain
}
