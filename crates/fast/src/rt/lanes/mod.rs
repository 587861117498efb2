//! Entries of sequences whose fields all have a lane: the CPU's vectors read a whole entry at once.
//!
//! Which fields an entry has, and how long they are, is often what no branch predictor learns. Where
//! the CPU has vectors of 512 bits, entries after a reset are read by the dynamic engine's kernel,
//! which hands each one's lanes to generated code. What does not fit is declined, nothing has happened
//! then, and the entries are read field by field.

#[cfg(vectors)]
mod shapes;
#[cfg_attr(not(vectors), path = "no_vector.rs")]
mod vector;
pub(super) use vector::Sequences;

use super::context::Context;
use super::cursor::Cursor;
use super::kernel::Kernel;
use crate::program::{LANES_MAX, LaneKind};

/// Most lanes of an entry.
pub const LANES: usize = LANES_MAX;

/// A sequence of a generated module whose entries have lanes.
#[derive(Clone, Copy, Debug)]
pub struct SequenceFacts {
    /// Its template's number in [`Templates::TEMPLATES`](super::Templates::TEMPLATES).
    pub template: usize,
    /// Its index among the template's fields.
    pub field: usize,
    /// What the lanes of an entry are.
    pub lanes: &'static [LaneKind],
}

/// The lanes of an entry: the low half of an integer, or at most three characters and their number in
/// the last byte.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct LaneValues(pub [u32; LANES]);

/// An entry that has lanes.
pub trait LaneSegment {
    /// Previous values of the module.
    type State;
    /// The entry.
    type Out;

    /// Number of the sequence in [`Templates::SEQUENCES`](super::Templates::SEQUENCES).
    const SEQUENCE: usize;
    /// Number of lanes.
    const COUNT: usize;
    /// Lanes whose presence the entry has a bit for.
    const OPTIONAL: u32;
    /// Lanes whose values are copied or count on. Entries of which the last has not all of them are read
    /// field by field: an absent one leaves no previous value.
    const CARRIED: u32;

    /// Stores an entry's values, and the presence bits of [`OPTIONAL`](Self::OPTIONAL) lanes.
    fn fill(lanes: &LaneValues, present: u64, out: &mut Self::Out);

    /// Makes the values of the last entry previous ones; `assigned` are the lanes that had one.
    fn keep(lanes: &LaneValues, assigned: u32, state: &mut Self::State);
}

impl<'b, K: Kernel> Cursor<'b, K> {
    /// Decodes the entries of a sequence at once, where nothing was assigned to what their fields
    /// use; `None`, with no previous value changed, where they are to be read field by field.
    #[inline(always)]
    pub fn decode_entries<S: LaneSegment>(
        &self,
        entries: &mut [S::Out],
        state: &mut S::State,
        context: &mut Context,
    ) -> Option<Self> {
        vector::decode::<S, K>(self, entries, state, context)
    }
}

/// The word of a string in a lane.
#[inline(always)]
pub fn text_word(lane: u32) -> u64 {
    let lane = u64::from(lane);
    lane & 0x00ff_ffff | lane >> 24 << 56
}
