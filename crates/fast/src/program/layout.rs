//! Positions of a message's fields in a flat record.
//!
//! A record is an array of 8-byte words: presence words first, then one word per field (two for a
//! decimal). Groups are part of their parent's record, with their own presence words; the entries
//! of a sequence are contiguous records.

use crate::template::{FieldType, Name, TemplateId, Value};
use std::ops::Range;

/// Identifies a field layout of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldRef(pub(crate) u32);

impl FieldRef {
    /// Returns the index among the program's fields.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Identifies a segment of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentRef(pub(crate) u32);

impl SegmentRef {
    /// Returns the index among the program's segments.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A compiled template.
#[derive(Clone, Debug)]
pub struct TemplateLayout {
    /// Template name.
    pub name: Name,
    /// Template id.
    pub id: Option<TemplateId>,
    /// True if the template resets the dictionaries before its own fields.
    pub reset: bool,
    /// The segment of its fields.
    pub segment: SegmentRef,
}

/// The body of a template, of a group, or of one entry of a sequence.
#[derive(Clone, Debug)]
pub struct SegmentLayout {
    /// Index range of operations in [`Program::code`](super::Program).
    pub(crate) ops: Range<u32>,
    /// Fields in template order.
    pub(crate) fields: Range<u32>,
    /// Most presence-map bits that the segment uses, without the template id's.
    pub(crate) map_bits: u32,
    /// 1 if the segment takes at least one byte of the stream, else 0.
    pub(crate) entry_bytes_min: u32,
    /// First presence word in the record.
    pub(crate) presence_at: u32,
    /// Words of a whole record; 0 for a group, which is part of its parent's record.
    pub(crate) record_words: u32,
    /// The group or sequence field whose body this is; `None` for a template.
    pub(crate) parent: Option<FieldRef>,
    /// Index of the template.
    pub(crate) template: u32,
    /// Index of the run of plain fields at the start of the segment.
    pub(crate) run: Option<u32>,
}

impl SegmentLayout {
    /// True if the segment has a presence map of its own. A template always has one.
    pub(crate) fn has_map(&self) -> bool {
        self.map_bits > 0 || self.parent.is_none()
    }
}

/// One field of a segment.
#[derive(Clone, Debug)]
pub struct FieldLayout {
    /// Field name.
    pub name: Name,
    /// Field id.
    pub id: Option<u32>,
    /// True if the field may be absent.
    pub optional: bool,
    /// Type of a scalar field; `None` for groups, sequences and dynamic references.
    pub field_type: Option<FieldType>,
    /// Location of the value.
    pub storage: Storage,
    /// The segment the field belongs to.
    pub segment: SegmentRef,
    /// Presence word (relative to the segment's first) and bit in it.
    pub(crate) presence: (u32, u8),
}

/// Location of a field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// In the template: mandatory constants have no slot.
    Constant(Value),
    /// In the template; the presence bit says whether the constant is present.
    OptionalConstant(Value),
    /// In this slot of the record (decimals: exponent, then mantissa).
    Slot(u32),
    /// Inside this record, with the layout of the group's segment.
    Group(SegmentRef),
    /// The slot holds number and position of the entries.
    Sequence {
        /// Slot of number and position.
        slot: u32,
        /// Layout of an entry.
        segment: SegmentRef,
    },
    /// The slot holds template and position of the referenced record.
    Dynamic(u32),
    /// Nowhere: excluded by the projection.
    Discarded,
}
