//! Views: compact read instructions of the fields in records, separate from the layouts, which are
//! far larger and contain names.

use super::layout::{FieldLayout, SegmentLayout, SegmentRef, Storage};
use crate::template::FieldType;

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

/// Read instruction of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldView {
    /// `[present, absent]`: how to read the field if its presence bit is set, and if not.
    pub kinds: [ViewKind; 2],
    /// The presence bit in its byte; mandatory fields have one too.
    pub mask: u8,
    /// Byte of the record that has the presence bit.
    pub presence: u32,
    /// First word of the value in the record; for a constant, the index of the field's layout.
    pub slot: u32,
    /// Segment of the group or of the sequence's entries.
    pub segment: SegmentRef,
}

/// Returns the views of all fields, in order.
pub(super) fn make(fields: &[FieldLayout], segments: &[SegmentLayout]) -> Vec<FieldView> {
    (0..).zip(fields).map(|(index, field)| FieldView::of(index, field, segments)).collect()
}

impl FieldView {
    fn of(index: u32, field: &FieldLayout, segments: &[SegmentLayout]) -> Self {
        let (word, bit) = field.presence;
        let own = segments.get(field.segment.index());
        let presence = own.map_or(0, |segment| segment.presence_at) + word;
        let (kind, slot, segment) = match &field.storage {
            Storage::Constant(_) | Storage::OptionalConstant(_) => {
                (ViewKind::Constant, index, field.segment)
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
