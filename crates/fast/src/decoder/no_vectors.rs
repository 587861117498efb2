//! Replaces the SIMD engine where it is not built.

pub(super) use super::compiled::Compiled;
use super::lanes::{self, Place, Progress};
use super::{DecoderOptions, EngineUnderTest};
use crate::dictionary::{Lanes, Word};
use crate::program::{Program, Run};

/// The SIMD engine: never exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {}

impl Wide {
    pub(crate) fn detect() -> Option<Self> {
        None
    }
}

#[derive(Clone, Debug)]
pub(super) struct Vectors {
    pub(super) wide: Option<Wide>,
}

impl Vectors {
    pub(super) fn new(_options: DecoderOptions, _program: &Program) -> Self {
        Self { wide: None }
    }

    /// Returns the best available engine.
    pub(super) fn engine(&self) -> EngineUnderTest {
        EngineUnderTest::Portable
    }

    /// Returns the compiled code: there is none.
    pub(super) fn compiled(&self) -> Option<&Compiled> {
        None
    }

    /// True if some templates' messages may be decoded as a whole: never.
    pub(super) fn take_whole_messages(&self) -> bool {
        false
    }

    /// True if compiled code may use SIMD: never.
    pub(super) fn may_serve(&self, _template: u32) -> bool {
        false
    }

    /// Records the SIMD engine's success: no effect.
    pub(super) fn served(&self, _template: u32, _is_declined: bool) {}

    /// Returns the most bytes that a record is read ahead.
    pub(super) fn reach(&self) -> usize {
        0
    }
}

/// Counts a decoded message of a template: no effect.
#[inline(always)]
pub(super) fn decoded(_vectors: &mut Vectors, _program: &Program, _template: u32) {}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "those of the engines that stand elsewhere")]
pub(super) fn entries(
    _vectors: &mut Vectors,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
    _may_vectors: bool,
) -> u32 {
    lanes::entries(run, bytes, place, lanes, progress, count)
}

#[inline(always)]
pub(crate) fn keep(_wide: Option<Wide>, run: &Run, home: &mut Lanes, lanes: &[Word]) {
    lanes::keep(run, home, lanes);
}

#[inline(always)]
pub(super) fn single(
    _vectors: &mut Vectors,
    run: &Run,
    bytes: &[u8],
    bits: u64,
    lanes: &Lanes,
    out: &mut [Word],
    progress: &mut Progress,
) -> Option<()> {
    lanes::single(run, bytes, bits, lanes, out, progress)
}
