//! Sequence entries whose fields all fit SIMD lanes: a whole entry is decoded at once.
//!
//! Which fields an entry has, and how long they are, is often unpredictable for branch predictors.
//! On CPUs with AVX-512, the SIMD kernel decodes entries after a reset and passes each entry's
//! lanes to generated code. If an entry does not fit, the kernel rejects the sequence without
//! changes, and the entries are decoded field by field.

#[cfg(vectors)]
mod shapes;
#[cfg_attr(not(vectors), path = "no_vector.rs")]
mod vector;
pub(super) use vector::Sequences;

use super::context::CodingContext;
use super::cursor::InputCursor;
use super::kernel::CpuKernel;
use crate::program::{LANES_MAX, LaneKind};

/// Most lanes of an entry.
pub const LANES: usize = LANES_MAX;

/// A sequence of a generated module that SIMD can decode.
#[derive(Clone, Copy, Debug)]
pub struct SequenceFacts {
    /// Its template's number in [`Templates::TEMPLATES`](super::Templates::TEMPLATES).
    pub template: usize,
    /// Its index among the template's fields.
    pub field: usize,
    /// Kinds of an entry's lanes.
    pub lanes: &'static [LaneKind],
}

/// The lanes of an entry: the low 32 bits of an integer, or a string of up to three characters with
/// its length in the last byte.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct LaneValues(pub [u32; LANES]);

/// An entry that SIMD can decode.
pub trait LaneSegment {
    /// Previous values of the module.
    type State;
    /// The entry.
    type Out;

    /// Number of the sequence in [`Templates::SEQUENCES`](super::Templates::SEQUENCES).
    const SEQUENCE: usize;
    /// Number of lanes.
    const COUNT: usize;
    /// Lanes that have a presence bit in the entry.
    const OPTIONAL: u32;
    /// Lanes with copy or increment. If the last entry lacks one of them, the entries are decoded
    /// field by field, because an absent value empties the previous one.
    const CARRIED: u32;

    /// Stores an entry's values, and the presence bits of [`OPTIONAL`](Self::OPTIONAL) lanes.
    fn fill(lanes: &LaneValues, present: u64, out: &mut Self::Out);

    /// Assigns the values of the last entry to the dictionary; `assigned` are the lanes that have a
    /// value.
    fn keep(lanes: &LaneValues, assigned: u32, state: &mut Self::State);
}

impl<'b, K: CpuKernel> InputCursor<'b, K> {
    /// Decodes the entries of a sequence at once, if the dictionary entries of their fields are
    /// undefined; `None`, without changes, if they must be decoded field by field.
    #[inline(always)]
    pub fn decode_entries<S: LaneSegment>(
        &self,
        entries: &mut [S::Out],
        state: &mut S::State,
        context: &mut CodingContext,
    ) -> Option<Self> {
        vector::decode::<S, K>(self, entries, state, context)
    }
}

/// Returns the word of a string in a lane.
#[inline(always)]
pub fn text_word(lane: u32) -> u64 {
    let lane = u64::from(lane);
    lane & 0x00ff_ffff | lane >> 24 << 56
}
