//! A compiled template set: a flat array of operations and the layout of records.
//!
//! [`Program::compile`] expands the checked model and lowers it once. Decoder and encoder run the
//! same operations; [`Message`](crate::message::Message) reads the same layouts. Decoding is
//! separate from storage: an operation has a slot and a presence bit, and the engine's sink decides
//! how to store them.
//!
//! Invariants: every `entry` is below [`Program::entry_count`], every slot below the record size of
//! its segment, every jump inside its segment. Segments form a tree, so execution terminates.

mod codes;
mod compile;
mod entries;
mod expanded;
mod layout;
mod op;
mod order;
mod outgoing;
#[cfg(vectors)]
mod plan;
mod projection;
mod quick;
mod runs;
mod view;

pub use compile::{CompileError, CompileOptions};
pub use entries::ValueKind;
pub use expanded::{Body, ExpandedField, ExpandedSet, ExpandedTemplate, FieldKind, Operation};
pub use layout::{FieldLayout, FieldRef, SegmentLayout, SegmentRef, Storage, TemplateLayout};
pub(crate) use op::{Initial, Op, OpCode, WireType};
pub(crate) use outgoing::OutgoingRun;
#[cfg(vectors)]
pub(crate) use plan::{BLOCK, LaneBytes, LanePlan, Narrow, VectorBytes, VectorPlan};
pub use projection::Projection;
pub(crate) use quick::{Quick, QuickSequence};
pub use runs::LaneKind;
pub(crate) use runs::{LANES_MAX, LaneCode, LaneRun, is_valid_exponent, lanes_of};
pub(crate) use view::{FieldView, ViewKind};

#[cfg(machine_code)]
use crate::decoder::Compiled;
use crate::template::{TemplateId, TemplateSet};
use std::collections::HashMap;

/// A compiled template set. Cheap to share: put it in an `Arc`.
#[derive(Debug)]
pub struct Program {
    pub(crate) code: Vec<Op>,
    pub(crate) initials: Vec<Initial>,
    pub(crate) segments: Vec<SegmentLayout>,
    pub(crate) runs: Vec<LaneRun>,
    pub(crate) quick: Vec<Option<Quick>>,
    pub(crate) outgoing: outgoing::OutgoingRuns,
    pub(crate) fields: Vec<FieldLayout>,
    /// How each field is read.
    views: Vec<FieldView>,
    pub(crate) templates: Vec<TemplateLayout>,
    /// For each dictionary entry, the index of its text buffer, or `u32::MAX`.
    pub(crate) text_of_entry: Vec<u32>,
    pub(crate) complete: bool,
    /// Compiled code, created by the first decoder that wants it.
    #[cfg(machine_code)]
    pub(crate) machine_code: std::sync::OnceLock<Option<Compiled>>,
    /// True if visitors and traces show mandatory constants.
    pub(crate) shows_constants: bool,
    dense_ids: Vec<u32>,
    sparse_ids: HashMap<u32, u32>,
    set: TemplateSet,
}

/// Ids below this limit are looked up in an array.
const DENSE_IDS: u32 = 4096;
const NO_TEMPLATE: u32 = u32::MAX;

impl Program {
    /// Compiles every template of `set` with default options: all fields stored.
    ///
    /// # Errors
    /// [`CompileError`] if the expanded set is larger than the limits of [`CompileOptions`].
    pub fn compile(set: TemplateSet) -> Result<Self, CompileError> {
        Self::compile_with(set, &CompileOptions::default())
    }

    /// Compiles with options: with a projection, or with constants for visitors.
    ///
    /// # Errors
    /// As [`compile`](Self::compile), and if the projection names a field that no template has.
    pub fn compile_with(set: TemplateSet, options: &CompileOptions) -> Result<Self, CompileError> {
        compile::compile(set, options)
    }

    /// Returns the template set from which this was compiled.
    pub fn set(&self) -> &TemplateSet {
        &self.set
    }

    /// Returns the layouts of all templates, in the order of the set.
    #[inline]
    pub fn templates(&self) -> &[TemplateLayout] {
        &self.templates
    }

    /// Returns the index of the template with this id.
    #[inline]
    pub fn template_index(&self, id: TemplateId) -> Option<usize> {
        let index = if id.0 < DENSE_IDS {
            *self.dense_ids.get(id.0 as usize)?
        } else {
            *self.sparse_ids.get(&id.0)?
        };
        (index != NO_TEMPLATE).then_some(index as usize)
    }

    /// As [`template_index`](Self::template_index), for small ids. Returns `u32::MAX` for
    /// unknown ids; callers bounds-check the result.
    #[cfg(machine_code)]
    #[inline(always)]
    pub(crate) fn index_of_small(&self, id: u64) -> Option<u32> {
        self.dense_ids.get(usize::try_from(id).ok()?).copied()
    }

    /// Returns the number of dictionary entries of a decoder or encoder of this program. Some may be
    /// unused: ranges of the entries of runs end at multiples of eight.
    pub fn entry_count(&self) -> usize {
        self.text_of_entry.len()
    }

    /// Returns the layout of a field.
    pub fn field(&self, field: FieldRef) -> &FieldLayout {
        &self.fields[field.index()]
    }

    /// Returns the layout of a segment.
    #[inline]
    pub fn segment(&self, segment: SegmentRef) -> &SegmentLayout {
        &self.segments[segment.index()]
    }

    /// Returns the fields of a segment in template order.
    #[inline]
    pub fn fields_of(&self, segment: SegmentRef) -> &[FieldLayout] {
        let fields = &self.segment(segment).fields;
        &self.fields[fields.start as usize..fields.end as usize]
    }

    /// Returns the views of a segment's fields, in template order.
    #[inline]
    pub(crate) fn views_of(&self, segment: SegmentRef) -> &[FieldView] {
        let fields = &self.segment(segment).fields;
        &self.views[fields.start as usize..fields.end as usize]
    }

    /// Passes the operations of a segment and of its groups and sequences to `each`, in template
    /// order.
    pub(crate) fn for_each_op(&self, segment: SegmentRef, each: &mut dyn FnMut(&Op)) {
        let ops = &self.segment(segment).ops;
        for op in &self.code[ops.start as usize..ops.end as usize] {
            each(op);
            if let OpCode::Group | OpCode::GroupOptional | OpCode::Sequence = op.code {
                self.for_each_op(SegmentRef(op.aux), each);
            }
        }
    }

    /// Returns the kinds of the lanes of a segment's fields (decimals have two, mandatory constants
    /// none), if SIMD supports all fields and their number.
    #[doc(hidden)]
    pub fn lane_kinds(&self, segment: SegmentRef) -> Option<Vec<LaneKind>> {
        let run = &self.runs[self.segment(segment).run? as usize];
        (run.whole && run.fits_vectors()).then(|| run.kinds().collect())
    }

    /// Returns the path of a field from its template, such as `MDEntries/MDEntryPx`.
    pub fn path(&self, field: FieldRef) -> String {
        let mut names = vec![self.field(field).name.local.as_ref()];
        let mut segment = self.field(field).segment;
        while let Some(parent) = self.segment(segment).parent {
            names.push(self.field(parent).name.local.as_ref());
            segment = self.field(parent).segment;
        }
        names.reverse();
        names.join("/")
    }

    /// Returns the index of the template that a field belongs to.
    pub fn template_of(&self, field: FieldRef) -> usize {
        self.segment(self.field(field).segment).template as usize
    }

    fn index_ids(&mut self) {
        self.dense_ids = vec![NO_TEMPLATE; DENSE_IDS as usize];
        for (index, template) in self.templates.iter().enumerate() {
            let Some(TemplateId(id)) = template.id else { continue };
            if id < DENSE_IDS {
                self.dense_ids[id as usize] = index as u32;
            } else {
                self.sparse_ids.insert(id, index as u32);
            }
        }
    }
}
