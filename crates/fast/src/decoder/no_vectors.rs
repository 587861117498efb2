//! Stands for the vector engine where it is not built.

use super::lanes::{self, Place, Progress};
use crate::dictionary::{Lanes, Word};
use crate::program::{Program, Run};

/// The vector engine: never there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {}

impl Wide {
    pub(super) fn detect() -> Option<Self> {
        None
    }
}

#[derive(Clone, Debug)]
pub(super) struct Vectors {
    pub(super) wide: Option<Wide>,
}

impl Vectors {
    pub(super) fn new(wide: Option<Wide>, _program: &Program) -> Self {
        Self { wide }
    }
}

#[inline(always)]
pub(super) fn entries(
    _vectors: &mut Vectors,
    run: &Run,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
) -> u32 {
    lanes::entries(run, bytes, place, lanes, progress, count)
}

#[inline(always)]
pub(crate) fn keep(_wide: Option<Wide>, run: &Run, home: &mut Lanes, lanes: &[Word]) {
    lanes::keep(run, home, lanes);
}
