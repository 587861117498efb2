//! Which fields a message must have.

use crate::program::{FieldLayout, Program, SegmentRef, Storage};

/// The presence bits that the mandatory fields of each segment must have.
#[derive(Clone, Debug, Default)]
pub(super) struct Required {
    /// First mask of each segment, and the end of the last.
    starts: Vec<usize>,
    masks: Vec<u64>,
}

impl Required {
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

    /// A mask a presence word.
    pub(super) fn masks(&self, segment: SegmentRef) -> &[u64] {
        &self.masks[self.starts[segment.index()]..self.starts[segment.index() + 1]]
    }
}

/// Whether a message must have a value for this field.
pub(super) fn is_required(field: &FieldLayout) -> bool {
    !field.optional && !matches!(field.storage, Storage::Constant(_) | Storage::Discarded)
}
