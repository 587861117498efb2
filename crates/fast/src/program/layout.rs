//! Where the fields of a message stand in a flat record.
//!
//! A record is a run of 8-byte words: presence words first, then a word a field (two for a
//! decimal). Groups lie inside the record of their parent, with presence words of their own; the
//! entries of a sequence are records one behind the other.

use crate::template::{FieldType, Name, TemplateId, Value};
use std::ops::Range;

/// Names a field layout of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldRef(pub(crate) u32);

impl FieldRef {
    /// Index into the program's fields.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names a segment of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentRef(pub(crate) u32);

impl SegmentRef {
    /// Index into the program's segments.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A template as compiled.
#[derive(Clone, Debug)]
pub struct TemplateLayout {
    /// Template name.
    pub name: Name,
    /// Template id.
    pub id: Option<TemplateId>,
    /// Whether dictionaries are emptied before the template's own fields.
    pub reset: bool,
    /// The segment of its fields.
    pub segment: SegmentRef,
}

/// The body of a template, of a group, or of one entry of a sequence.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Operations in [`Program::code`](super::Program).
    pub(crate) ops: Range<u32>,
    /// Fields in template order.
    pub(crate) fields: Range<u32>,
    /// Most presence-map bits the segment uses, without the template id's.
    pub(crate) map_bits: u32,
    /// 1 if the segment takes at least a byte of the stream, else 0.
    pub(crate) entry_bytes_min: u32,
    /// First presence word in the record.
    pub(crate) presence_at: u32,
    /// Words of a whole record; 0 for a group, which lies in the record of its parent.
    pub(crate) record_words: u32,
    /// The group or sequence field this is the body of; `None` for a template.
    pub(crate) parent: Option<FieldRef>,
    /// Index of the template.
    pub(crate) template: u32,
    /// The run of plain fields the segment begins with, by its index.
    pub(crate) run: Option<u32>,
}

impl Segment {
    /// Whether the segment has a presence map of its own. A template always has one.
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
    /// Whether the field may be absent.
    pub optional: bool,
    /// Type of a scalar field; `None` for groups, sequences and dynamic references.
    pub field_type: Option<FieldType>,
    /// Where the value is.
    pub storage: Storage,
    /// The segment the field belongs to.
    pub segment: SegmentRef,
    /// Presence word (relative to the segment's first) and bit.
    pub(crate) presence: (u32, u8),
}

/// Where the value of a field is.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// In the template: a mandatory constant has no slot.
    Constant(Value),
    /// An optional constant: present or not by its presence bit.
    OptionalConstant(Value),
    /// In this slot of the record (decimals: exponent, then mantissa).
    Slot(u32),
    /// Inside this record, by the layout of the group's segment.
    Group(SegmentRef),
    /// The slot holds count and place of the entries.
    Sequence {
        /// Slot of count and place.
        slot: u32,
        /// Layout of an entry.
        segment: SegmentRef,
    },
    /// The slot holds template and place of the record referred to.
    Dynamic(u32),
    /// Not wanted by the projection.
    Discarded,
}
