//! Stands for the code of CPUs that extract bits where it is not built.

use super::context::Context;
use super::cursor::Cursor;
use super::encode::Output;
use super::kernel::{Change, Kernel, Outgoing, Segment, sealed::Sealed};

/// Proof that this CPU extracts bits: there is none.
#[derive(Clone, Copy, Debug)]
pub enum Extracting {}

impl Extracting {
    pub(crate) fn detect() -> Option<Self> {
        None
    }
}

impl Sealed for Extracting {}

impl Kernel for Extracting {
    const EXTRACTS: bool = false;

    fn joined(self, _bytes: u64) -> u64 {
        match self {}
    }

    fn joined_short(self, _bytes: u32) -> u32 {
        match self {}
    }

    fn spread(self, _value: u64) -> u64 {
        match self {}
    }

    fn differing<const N: usize>(
        self,
        _words: &[[u8; 8]; N],
        _before: &[[u8; 8]; N],
        _change: Change<'_, N>,
    ) -> u32 {
        match self {}
    }

    fn decode<'b, S: Segment>(
        at: Cursor<'b, Self>,
        _map: S::Map<'b, Self>,
        _state: &mut S::State,
        _out: &mut S::Out,
        _context: &mut Context,
    ) -> Option<Cursor<'b, Self>> {
        match at.kernel {}
    }

    fn encode<'o, S: Outgoing + ?Sized>(
        out: Output<'o, Self>,
        _segment: &S,
        _arena: &[u8],
        _state: &mut S::State,
        _context: &mut S::Context,
    ) -> Option<Output<'o, Self>> {
        match out.kernel {}
    }
}
