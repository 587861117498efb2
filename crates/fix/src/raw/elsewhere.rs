//! Placeholder for the engines on other architectures.

use super::{Column, Plan, Scan};
use crate::reader::{Filter, Index};

/// An engine that this architecture does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Avx2 {}
pub(crate) use Avx2 as Avx512;

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn scan(self, _: &[u8], _: &mut Index, _: usize, _: &Filter) -> Option<Scan> {
        match self {}
    }

    pub(crate) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        self,
        _: &Plan,
        _: (&'m [u8], &Index),
        _: usize,
        _: &mut Column<&'m [u8], T, TW>,
        _: &mut Column<(u64, u64), V, VW>,
    ) -> Option<u64> {
        match self {}
    }
}
