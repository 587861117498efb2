//! The bytes ahead, behind a fence: what one read may look at is known to be there.
//!
//! A read of a field looks at no more than [`WINDOW`] bytes. One comparison with the fence says that
//! so many can be read, and then each byte is taken without a further check. This module may use
//! `unsafe` for that; without the feature `native`, `slices` stands in its place.
#![allow(unsafe_code)]

pub(crate) mod space;

use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes that one read may look at: those of the longest integer.
pub(super) const WINDOW: usize = 10;

/// The bytes from a position to the end of a slice.
///
/// From `at` up to `WINDOW` bytes behind `fence`, which is the end of the slice, all bytes are those
/// of one slice that is borrowed for `'b`, and `at` is not behind that end. The fields are private
/// and every function leaves it so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'b> {
    at: NonNull<u8>,
    fence: *const u8,
    bytes: PhantomData<&'b [u8]>,
}

impl<'b> Ahead<'b> {
    /// All bytes of a slice; `None` if it is shorter than a window.
    #[inline(always)]
    pub(super) fn of(bytes: &'b [u8]) -> Option<Self> {
        let fence = bytes.get(bytes.len().checked_sub(WINDOW)?..)?.as_ptr();
        Some(Self { at: NonNull::from(bytes).cast(), fence, bytes: PhantomData })
    }

    /// The address of the next byte, to compare positions in one slice.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        self.at.as_ptr().addr()
    }

    /// What one read may look at; `None` if less than that is left.
    #[inline(always)]
    pub(super) fn window(self) -> Option<Window<'b>> {
        (self.at.as_ptr().cast_const() <= self.fence).then_some(Window(self))
    }

    /// All bytes to the end.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'b [u8] {
        let len = self.fence.addr() + WINDOW - self.address();
        // SAFETY: the end is `WINDOW` bytes behind `fence`, and not in front of `at`; all between is
        // of the slice that is borrowed for `'b`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), len) }
    }

    /// Goes on by so many bytes; `None` if they are not there.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        let rest = self.rest().get(count..)?;
        self.at = NonNull::from(rest).cast();
        Some(())
    }
}

/// The next bytes: `at` is not behind `fence`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'b>(Ahead<'b>);

impl<'b> Window<'b> {
    /// The bytes.
    #[inline(always)]
    pub(super) fn bytes(self) -> &'b [u8; WINDOW] {
        // SAFETY: from `fence`, and so from `at`, `WINDOW` bytes of the slice that is borrowed for `'b`
        // can be read; an array of bytes has no alignment.
        unsafe { self.0.at.cast().as_ref() }
    }

    /// The first four bytes, the first at the top.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.bytes().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// What is ahead when the first `count` of them are read.
    #[inline(always)]
    pub(super) fn behind(self, count: usize) -> Ahead<'b> {
        // SAFETY: `WINDOW` bytes behind `fence` is the end of the slice, so as many behind `at` is in it
        // or its end.
        let at = unsafe { self.0.at.add(count.min(WINDOW)) };
        Ahead { at, ..self.0 }
    }
}
