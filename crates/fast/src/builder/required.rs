//! Mandatory fields, as masks of presence bits.

use crate::program::{FieldLayout, Program, SegmentRef, Storage};

/// For each segment, the presence bits of its mandatory fields.
#[derive(Clone, Debug, Default)]
pub(super) struct RequiredFields {
    /// First mask of each segment; the last element is the number of masks.
    starts: Vec<usize>,
    masks: Vec<u64>,
}

impl RequiredFields {
    pub(super) fn of(program: &Program) -> Self {
        let mut required = Self::default();
        for index in 0..program.segments.len() {
            let start = required.masks.len();
            required.starts.push(start);
            required.masks.push(0);
            for field in program.fields_of(SegmentRef(index as u32)) {
                let (word, bit) = field.presence;
                required.masks.resize(required.masks.len().max(start + word as usize + 1), 0);
                if is_required(field) {
                    required.masks[start + word as usize] |= 1 << bit;
                }
            }
        }
        required.starts.push(required.masks.len());
        required
    }

    /// Returns the masks of a segment, one per presence word.
    pub(super) fn masks(&self, segment: SegmentRef) -> &[u64] {
        &self.masks[self.starts[segment.index()]..self.starts[segment.index() + 1]]
    }
}

/// True if a message must have a value for this field.
pub(super) fn is_required(field: &FieldLayout) -> bool {
    !field.optional && !matches!(field.storage, Storage::Constant(_) | Storage::Discarded)
}
