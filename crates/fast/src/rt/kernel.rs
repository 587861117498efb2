//! What generated code is compiled for: any CPU, or one that extracts bits. A decoder chooses once.

use super::context::Context;
use super::cursor::Cursor;
use super::encode::Output;
use std::fmt::Debug;

/// A CPU that generated code is compiled for. What is decoded is the same for all.
pub trait Kernel: Copy + Debug + 'static + sealed::Sealed {
    /// Whether segments are also compiled for what is known of their entries ([`Past`](super::Past)). That more than doubles
    /// their code, so it is done for one kernel: the one of current CPUs, where there are two.
    const HAS_FORMS: bool;

    /// The low seven bits of each byte as one number.
    fn joined(self, bytes: u64) -> u64;

    /// As [`joined`](Self::joined), of four bytes.
    fn joined_short(self, bytes: u32) -> u32;

    /// The low 56 bits, seven to a byte.
    fn spread(self, value: u64) -> u64;

    /// Which words differ from those that follow from `before` by `change`. A bit each, of the first 32.
    fn differing<const N: usize>(
        self,
        words: &[[u8; 8]; N],
        before: &[[u8; 8]; N],
        change: Change<'_, N>,
    ) -> u32;

    /// Decodes a segment by code compiled for this CPU.
    fn decode<'b, S: Segment>(
        at: Cursor<'b, Self>,
        map: S::Map<'b, Self>,
        state: &mut S::State,
        out: &mut S::Out,
        context: &mut Context,
    ) -> Option<Cursor<'b, Self>>;

    /// Encodes a segment by code compiled for this CPU.
    fn encode<'o, S: Outgoing + ?Sized>(
        out: Output<'o, Self>,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<Output<'o, Self>>;
}

/// What makes the words expected of those before: `before & keep + add`.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c, const N: usize> {
    /// What of a word stays.
    pub keep: &'c [u64; N],
    /// What is added to it.
    pub add: &'c [u64; N],
}

/// What is encoded in a function of its own: a template, or a group or sequence entry.
pub trait Outgoing {
    /// Previous values.
    type State: ?Sized;
    /// What encoding a message carries along besides.
    type Context: ?Sized;

    /// Encodes it; `None` for the dynamic engine to encode the message. Long strings are in the arena.
    fn encode<'o, K: Kernel>(
        &self,
        out: Output<'o, K>,
        arena: &[u8],
        state: &mut Self::State,
        context: &mut Self::Context,
    ) -> Option<Output<'o, K>>;
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

#[cfg(not(vectors))]
impl Portable {
    /// There is no other kernel.
    pub(crate) fn detect() -> Option<Self> {
        None
    }
}

impl sealed::Sealed for Portable {}

impl Kernel for Portable {
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
        change: Change<'_, N>,
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
    fn encode<'o, S: Outgoing + ?Sized>(
        out: Output<'o, Self>,
        segment: &S,
        arena: &[u8],
        state: &mut S::State,
        context: &mut S::Context,
    ) -> Option<Output<'o, Self>> {
        segment.encode(out, arena, state, context)
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
