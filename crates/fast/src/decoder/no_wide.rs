//! Replaces the SIMD engine where it is not built.

use super::lanes::{Place, Progress};
use crate::dictionary::{Lanes, Word};
use crate::program::Run;

/// The SIMD engine: never exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {}

impl Wide {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(super) fn takes(self, _run: &Run) -> bool {
        match self {}
    }

    pub(super) fn entries(
        self,
        _run: &Run,
        _bytes: &[u8],
        _place: &mut Place<'_>,
        _lanes: &Lanes,
        _progress: &mut Progress,
        _count: u32,
    ) -> Option<()> {
        match self {}
    }

    pub(super) fn keep(self, _run: &Run, _home: &mut Lanes, _lanes: &[Word]) {
        match self {}
    }
}
