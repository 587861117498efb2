//! Views: compact read instructions of the fields in records, separate from the layouts, which are
//! far larger and contain names.

use super::layout::{FieldLayout, SegmentLayout, SegmentRef, Storage};
use crate::message::FieldValue;
use crate::template::{Decimal, FieldType, Value};

/// Source and type of a field's value. It is one flat enum, and the most frequent kinds are first, so that
/// two comparisons decide them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ViewKind {
    UInt,
    Int,
    Ascii,
    /// No value.
    Absent,
    Decimal,
    Unicode,
    Bytes,
    Constant,
    Group,
    Sequence,
    Dynamic,
    Discarded,
}

/// The value of a constant field, in the form in which it is read: a layout's `Value` would take
/// two more branches and one more cache line.
#[derive(Clone, Debug)]
pub(crate) enum ConstantValue {
    UInt(u64),
    Int(i64),
    Decimal(Decimal),
    Ascii(Box<[u8]>),
    Unicode(Box<[u8]>),
    Bytes(Box<[u8]>),
}

impl ConstantValue {
    fn of(field: &FieldLayout, value: &Value) -> Self {
        match value {
            Value::UInt(value) => Self::UInt(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Decimal(value) => Self::Decimal(*value),
            Value::Bytes(bytes) => match field.field_type {
                Some(FieldType::Ascii) => Self::Ascii(bytes.clone()),
                Some(FieldType::Unicode) => Self::Unicode(bytes.clone()),
                _ => Self::Bytes(bytes.clone()),
            },
        }
    }

    /// Returns the value of the field.
    #[inline(always)]
    pub(crate) fn value(&self) -> FieldValue<'_> {
        match self {
            Self::UInt(value) => FieldValue::UInt(*value),
            Self::Int(value) => FieldValue::Int(*value),
            Self::Decimal(value) => FieldValue::Decimal(*value),
            Self::Ascii(bytes) => FieldValue::Ascii(bytes),
            Self::Unicode(bytes) => FieldValue::Unicode(bytes),
            Self::Bytes(bytes) => FieldValue::Bytes(bytes),
        }
    }
}

/// Read instruction of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldView {
    /// Content if the presence bit is set, and if it is not: absent, or what needs no bit.
    pub kinds: [ViewKind; 2],
    /// The presence bit in its byte; mandatory fields have one too.
    pub mask: u8,
    /// Byte of the record that has the presence bit.
    pub presence: u32,
    /// First word of the value in the record; for a constant, its index among the program's.
    pub slot: u32,
    /// Segment of the group or of the sequence's entries.
    pub segment: SegmentRef,
}

/// Returns the views of all fields, in order, and the constants.
pub(super) fn make(
    fields: &[FieldLayout],
    segments: &[SegmentLayout],
) -> (Vec<FieldView>, Vec<ConstantValue>) {
    let mut constants = Vec::new();
    let views = fields.iter().map(|field| FieldView::of(field, segments, &mut constants)).collect();
    (views, constants)
}

impl FieldView {
    fn of(
        field: &FieldLayout,
        segments: &[SegmentLayout],
        constants: &mut Vec<ConstantValue>,
    ) -> Self {
        let (word, bit) = field.presence;
        let own = segments.get(field.segment.index());
        let presence = own.map_or(0, |segment| segment.presence_at) + word;
        let (kind, slot, segment) = match &field.storage {
            Storage::Constant(value) | Storage::OptionalConstant(value) => {
                constants.push(ConstantValue::of(field, value));
                (ViewKind::Constant, constants.len() as u32 - 1, field.segment)
            }
            Storage::Slot(slot) => (scalar_kind(field), *slot, field.segment),
            Storage::Group(segment) => (ViewKind::Group, 0, *segment),
            Storage::Sequence { slot, segment } => (ViewKind::Sequence, *slot, *segment),
            Storage::Dynamic(slot) => (ViewKind::Dynamic, *slot, field.segment),
            Storage::Discarded => (ViewKind::Discarded, 0, field.segment),
        };
        let otherwise = match &field.storage {
            Storage::Constant(_) | Storage::Discarded => kind,
            _ => ViewKind::Absent,
        };
        let presence = 8 * presence + u32::from(bit) / 8;
        Self { kinds: [kind, otherwise], mask: 1 << (bit % 8), presence, slot, segment }
    }
}

fn scalar_kind(field: &FieldLayout) -> ViewKind {
    match field.field_type {
        Some(FieldType::Int(_) | FieldType::Timestamp(_)) => ViewKind::Int,
        Some(FieldType::Ascii) => ViewKind::Ascii,
        Some(FieldType::Unicode) => ViewKind::Unicode,
        Some(FieldType::ByteVector) => ViewKind::Bytes,
        Some(FieldType::Decimal) => ViewKind::Decimal,
        _ => ViewKind::UInt,
    }
}
