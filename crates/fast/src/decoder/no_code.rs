//! Stands for the engine of machine code where it is not built.

use super::Terms;
use super::lanes::Progress;
use crate::dictionary::{Dictionary, Lanes, Word};
use crate::program::Run;

/// The code of a program: there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compiled {}

/// The code of a template: none either.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageFunction {
    pub(super) bytes_max: usize,
    pub(super) reset: bool,
    pub(super) leaves_lanes: bool,
    none: Compiled,
}

/// A message as it was decoded: never.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompiledMessage {
    pub end: usize,
    pub used: usize,
    pub is_declined: bool,
}

impl Compiled {
    #[inline(always)]
    pub(super) fn of_template(&self, _template: u32) -> Option<&MessageFunction> {
        match *self {}
    }

    #[allow(dead_code)] // Without vectors nobody asks.
    pub(super) fn single(
        &self,
        _run: &Run,
        _bytes: &[u8],
        _bits: u64,
        _lanes: &Lanes,
        _out: &mut [Word],
        _progress: &mut Progress,
    ) -> Option<()> {
        match *self {}
    }
}

impl MessageFunction {
    pub(super) fn takes(&self, _bits: u64) -> bool {
        match self.none {}
    }

    pub(super) fn message(
        &self,
        _bytes: &[u8],
        _len: usize,
        _start: (usize, u64),
        _dictionary: &mut Dictionary,
        _words: &mut [Word],
        _terms: Terms,
    ) -> Option<CompiledMessage> {
        match self.none {}
    }
}
