//! Kernels: the CPUs for which generated code is compiled, portable or with bit extraction. A
//! decoder selects one when it is created.

use super::context::CodingContext;
use super::cursor::InputCursor;
use super::encode::OutputCursor;
use std::fmt::Debug;

/// A CPU for which generated code is compiled. All kernels decode the same values.
pub trait CpuKernel: Copy + Debug + 'static + sealed::Sealed {
    /// True if segments are also compiled in variants by the known state of their entries
    /// ([`Past`](super::Past)). That more than doubles the code, so only one kernel has them: if
    /// there are two, that of current CPUs.
    const HAS_FORMS: bool;

    /// Joins the low seven bits of each byte to one number.
    fn joined(self, bytes: u64) -> u64;

    /// As [`joined`](Self::joined), for four bytes.
    fn joined_short(self, bytes: u32) -> u32;

    /// Spreads the low 56 bits to bytes, seven bits each.
    fn spread(self, value: u64) -> u64;

    /// Compares words with those that `change` predicts from `before`. Returns a bit per differing
    /// word, for the first 32.
    fn differing<const N: usize>(
        self,
        words: &[[u8; 8]; N],
        before: &[[u8; 8]; N],
        change: LanePrediction<'_, N>,
    ) -> u32;

    /// Decodes a segment with code compiled for this CPU.
    fn decode<'b, S: DecodeSegment>(
        at: InputCursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut CodingContext,
    ) -> Option<InputCursor<'b, Self>>;

    /// Encodes a segment with code compiled for this CPU.
    fn encode<'o, S: EncodeSegment + ?Sized>(
        out: OutputCursor<'o, Self>,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<OutputCursor<'o, Self>>;
}

/// Predicts words from previous ones: `before & keep + add`.
#[derive(Clone, Copy, Debug)]
pub struct LanePrediction<'c, const N: usize> {
    /// Mask of the kept bits.
    pub keep: &'c [u64; N],
    /// Value to add.
    pub add: &'c [u64; N],
}

/// A unit that is encoded in a separate function: a template, or a group or sequence entry.
pub trait EncodeSegment {
    /// Previous values.
    type State: ?Sized;
    /// Other state of encoding a message.
    type Context: ?Sized;

    /// Encodes it; `None` if the dynamic engine must encode the message. Long strings are in the
    /// arena.
    fn encode<'o, K: CpuKernel>(
        &self,
        out: OutputCursor<'o, K>,
        arena: &[u8],
        state: &mut Self::State,
        context: &mut Self::Context,
    ) -> Option<OutputCursor<'o, K>>;
}

/// A unit that is decoded in a separate function: a template, or a group or sequence entry.
pub trait DecodeSegment {
    /// Previous values of the module.
    type State;
    /// Destination of its fields.
    type Out;
    /// Presence map that the caller has already read, if any.
    type Map<'b, K: CpuKernel>;

    /// Decodes it; `None` if the dynamic engine must decode the message.
    fn decode<'b, K: CpuKernel>(
        at: InputCursor<'b, K>,
        map: Self::Map<'b, K>,
        state: &mut Self::State,
        out: &mut Self::Out,
        context: &mut CodingContext,
    ) -> Option<InputCursor<'b, K>>;
}

pub(super) mod sealed {
    /// Sealed: only this crate implements kernels.
    pub trait Sealed {}
}

/// The portable kernel, for any CPU.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

#[cfg(not(vectors))]
impl Portable {
    /// Returns `None`: there is no other kernel.
    pub(crate) fn detect() -> Option<Self> {
        None
    }
}

impl sealed::Sealed for Portable {}

impl CpuKernel for Portable {
    const HAS_FORMS: bool = cfg!(not(vectors));

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

    #[inline(always)]
    fn spread(self, value: u64) -> u64 {
        let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
        let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
        quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1
    }

    #[inline(always)]
    fn differing<const N: usize>(
        self,
        words: &[[u8; 8]; N],
        before: &[[u8; 8]; N],
        change: LanePrediction<'_, N>,
    ) -> u32 {
        let mut differing = 0;
        for (lane, (word, before)) in words.iter().zip(before).enumerate().take(32) {
            let before = u64::from_le_bytes(*before);
            let expected = (before & change.keep[lane]).wrapping_add(change.add[lane]);
            differing |= u32::from(u64::from_le_bytes(*word) != expected) << lane;
        }
        differing
    }

    #[inline(never)]
    fn encode<'o, S: EncodeSegment + ?Sized>(
        out: OutputCursor<'o, Self>,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<OutputCursor<'o, Self>> {
        segment.encode(out, arena, state, context)
    }

    #[inline(never)]
    fn decode<'b, S: DecodeSegment>(
        at: InputCursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut CodingContext,
    ) -> Option<InputCursor<'b, Self>> {
        S::decode(at, map, state, out, context)
    }
}
