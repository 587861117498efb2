//! Views: compact read instructions of the fields in records, separate from the layouts, which are
//! far larger and contain names.

use super::layout::{FieldLayout, Segment, SegmentRef, Storage};
use crate::template::FieldType;

/// Content of a field's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewKind {
    UInt,
    Int,
    Decimal,
    Ascii,
    Unicode,
    Bytes,
    Constant,
    OptionalConstant,
    Group,
    Sequence,
    Dynamic,
    Discarded,
}

/// Read instruction of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldView {
    pub kind: ViewKind,
    /// Bit in the presence word; mandatory fields have one too.
    pub bit: u8,
    /// Index of the presence word in the record.
    pub presence: u32,
    /// First word of the value in the record.
    pub slot: u32,
    /// Segment of the group or of the sequence's entries.
    pub segment: SegmentRef,
}

/// Returns the views of all fields, in order.
pub(super) fn make(fields: &[FieldLayout], segments: &[Segment]) -> Vec<FieldView> {
    fields.iter().map(|field| FieldView::of(field, segments)).collect()
}

impl FieldView {
    fn of(field: &FieldLayout, segments: &[Segment]) -> Self {
        let (word, bit) = field.presence;
        let own = segments.get(field.segment.index());
        let presence = own.map_or(0, |segment| segment.presence_at) + word;
        let (kind, slot, segment) = match &field.storage {
            Storage::Constant(_) => (ViewKind::Constant, 0, field.segment),
            Storage::OptionalConstant(_) => (ViewKind::OptionalConstant, 0, field.segment),
            Storage::Slot(slot) => (scalar_kind(field), *slot, field.segment),
            Storage::Group(segment) => (ViewKind::Group, 0, *segment),
            Storage::Sequence { slot, segment } => (ViewKind::Sequence, *slot, *segment),
            Storage::Dynamic(slot) => (ViewKind::Dynamic, *slot, field.segment),
            Storage::Discarded => (ViewKind::Discarded, 0, field.segment),
        };
        Self { kind, bit, presence, slot, segment }
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
