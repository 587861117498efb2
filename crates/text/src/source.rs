//! Source of the field values of a writer.

use tickwire_fast::template::FieldType;
use tickwire_fast::{FieldHandle, Int, Program, Scaled, Slot, Text, UInt};

/// A field whose text follows from its value alone has a slot; all others are requested by their index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// An unsigned number that has no name.
    UInt(Slot<UInt>),
    /// A signed number.
    Int(Slot<Int>),
    /// A decimal.
    Decimal(Slot<Scaled>),
    /// A string; what is not plain is read by the index.
    Text(Slot<Text>, usize),
    /// The field at this index of its record.
    Other(usize),
}

impl Source {
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

/// Appends a plain string. `is_special` tells which ASCII bytes are not.
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
