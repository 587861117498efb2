//! Replaces SIMD decoding of entries where it is not built.

use super::{LaneSegment, SequenceFacts};
use crate::EngineUnderTest;
use crate::program::Program;
use crate::rt::context::Context;
use crate::rt::cursor::Cursor;
use crate::rt::kernel::Kernel;

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
pub(super) fn decode<'b, S: LaneSegment, K: Kernel>(
    _at: &Cursor<'b, K>,
    _entries: &mut [S::Out],
    _state: &mut S::State,
    _context: &mut Context,
) -> Option<Cursor<'b, K>> {
    None
}
