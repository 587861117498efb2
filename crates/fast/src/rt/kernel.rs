//! What generated code is compiled for: any CPU, or one that extracts bits. A decoder chooses once.

use super::context::Context;
use super::cursor::Cursor;
use std::fmt::Debug;

/// A CPU that generated code is compiled for. What is decoded is the same for all.
pub trait Kernel: Copy + Debug + 'static + sealed::Sealed {
    /// Whether seven-bit groups are put together in one step.
    const EXTRACTS: bool;

    /// The low seven bits of each byte as one number.
    fn joined(self, bytes: u64) -> u64;

    /// As [`joined`](Self::joined), of four bytes.
    fn joined_short(self, bytes: u32) -> u32;

    /// Decodes a segment by code compiled for this CPU.
    fn decode<'b, S: Segment>(
        at: Cursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut Context,
    ) -> Option<Cursor<'b, Self>>;
}

/// A template, or a group or sequence entry, in a function of its own.
pub trait Segment {
    /// Previous values of the module.
    type State;
    /// Where its fields are stored.
    type Out;
    /// What is known of its presence map before.
    type Map<'b, K: Kernel>;

    /// Decodes it; `None` for the dynamic engine to decode the message.
    fn decode<'b, K: Kernel>(
        at: Cursor<'b, K>,
        map: Self::Map<'b, K>,
        state: &mut Self::State,
        out: &mut Self::Out,
        context: &mut Context,
    ) -> Option<Cursor<'b, K>>;
}

pub(super) mod sealed {
    /// Kernels are those of this crate.
    pub trait Sealed {}
}

/// Any CPU.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl sealed::Sealed for Portable {}

impl Kernel for Portable {
    const EXTRACTS: bool = false;

    #[inline(always)]
    fn joined(self, bytes: u64) -> u64 {
        let pairs = bytes & 0x007f_007f_007f_007f | (bytes & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
    }

    #[inline(always)]
    fn joined_short(self, bytes: u32) -> u32 {
        let pairs = bytes & 0x007f_007f | (bytes & 0x7f00_7f00) >> 1;
        pairs & 0x3fff | (pairs & 0x3fff_0000) >> 2
    }

    #[inline(never)]
    fn decode<'b, S: Segment>(
        at: Cursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut Context,
    ) -> Option<Cursor<'b, Self>> {
        S::decode(at, map, state, out, context)
    }
}
