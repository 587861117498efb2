//! Replaces SIMD decoding of entries where it is not built.

use super::{LaneSegment, SequenceFacts};
use crate::EngineUnderTest;
use crate::program::Program;
use crate::rt::context::CodingContext;
use crate::rt::cursor::InputCursor;
use crate::rt::kernel::CpuKernel;

/// The sequences that SIMD decodes: none.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rt) struct Sequences;

impl Sequences {
    pub(in crate::rt) fn of(
        _facts: &[SequenceFacts],
        _program: &Program,
        _engine: EngineUnderTest,
        _template: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        Self
    }
}

#[inline(always)]
pub(super) fn decode<'b, S: LaneSegment, K: CpuKernel>(
    _at: &InputCursor<'b, K>,
    _entries: &mut [S::Out],
    _state: &mut S::State,
    _context: &mut CodingContext,
) -> Option<InputCursor<'b, K>> {
    None
}
