//! Stands for the engine of machine code where it is not built.

use super::lanes::Progress;
use crate::dictionary::{LaneState, Lanes, Word};
use crate::program::Run;

/// The code of a program: there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compiled {}

/// A message as it was decoded: never.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
pub(super) struct CompiledMessage {
    pub end: usize,
    pub entries: u32,
    pub used: usize,
    pub state: LaneState,
}

impl Compiled {
    pub(super) fn message(
        &self,
        _template: u32,
        _bytes: &[u8],
        _start: (usize, u64),
        _before: (LaneState, &Lanes),
        _words: &mut [Word],
        _entries_max: u32,
    ) -> Option<CompiledMessage> {
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
