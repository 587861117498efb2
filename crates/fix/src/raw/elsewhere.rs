//! Stands in for the engines on other architectures.

use super::Scan;
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
}
