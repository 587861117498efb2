//! Replaces the SIMD engine where it is not built.

use super::lanes::{RecordPlace, RunProgress};
use crate::dictionary::{LaneWords, Word};
use crate::program::LaneRun;

/// The SIMD engine: never exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {}

impl Wide {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(super) fn takes(self, _run: &LaneRun) -> bool {
        match self {}
    }

    pub(super) fn entries(
        self,
        _run: &LaneRun,
        _bytes: &[u8],
        _place: &mut RecordPlace<'_>,
        _lanes: &LaneWords,
        _progress: &mut RunProgress,
        _count: u32,
    ) -> Option<()> {
        match self {}
    }

    pub(super) fn keep(self, _run: &LaneRun, _words: &mut LaneWords, _lanes: &[Word]) {
        match self {}
    }
}
