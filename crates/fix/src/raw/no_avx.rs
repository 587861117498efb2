//! Placeholder for the engines on other architectures.

use super::{MessageScan, SlotColumn, TagPlan};
use crate::reader::{Index, TagFilter};

/// An engine that this architecture does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Avx2 {}
pub(crate) use Avx2 as Avx512;

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn scan(
        self,
        _: &[u8],
        _: &mut Index,
        _: usize,
        _: &TagFilter,
    ) -> Option<MessageScan> {
        match self {}
    }

    pub(crate) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        self,
        _: &TagPlan,
        _: (&'m [u8], &Index),
        _: usize,
        _: &mut SlotColumn<&'m [u8], T, TW>,
        _: &mut SlotColumn<(u64, u64), V, VW>,
    ) -> Option<u64> {
        match self {}
    }
}
