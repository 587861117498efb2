//! Mandatory fields, as masks of presence bits.

use crate::program::{FieldLayout, Program, SegmentRef, Storage};

/// For each segment, the presence bits of its mandatory fields, one mask per presence word.
#[derive(Clone, Debug)]
pub(super) struct RequiredFields(Vec<Vec<u64>>);

impl RequiredFields {
    pub(super) fn of(program: &Program) -> Self {
        let masks = |index: usize| {
            let mut masks = vec![0];
            for field in program.fields_of(SegmentRef(index as u32)) {
                let (word, bit) = (field.presence.0 as usize, field.presence.1);
                masks.resize(masks.len().max(word + 1), 0);
                masks[word] |= u64::from(is_required(field)) << bit;
            }
            masks
        };
        Self((0..program.segments.len()).map(masks).collect())
    }

    /// Returns the masks of a segment, one per presence word.
    pub(super) fn masks(&self, segment: SegmentRef) -> &[u64] {
        &self.0[segment.index()]
    }
}

/// True if a message must have a value for this field.
pub(super) fn is_required(field: &FieldLayout) -> bool {
    !field.optional && !matches!(field.storage, Storage::Constant(_) | Storage::Discarded)
}
