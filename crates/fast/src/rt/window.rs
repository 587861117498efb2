//! Unread bytes, with one bounds check per read.
//!
//! A read of a field accesses at most [`WINDOW`] bytes. One comparison with the fence ensures that
//! they are readable; the bytes are then read without further checks. This module uses `unsafe` for
//! that; without the feature `native`, `slices` replaces it.
#![allow(unsafe_code)]

pub(crate) mod space;

use std::marker::PhantomData;
use std::ptr::NonNull;

/// Most bytes that one read accesses: those of the longest integer.
pub(super) const WINDOW: usize = 10;

/// The bytes from a position to the end of a slice.
///
/// Invariant: the slice ends `WINDOW` bytes after `fence`; the bytes from `at` to that end belong
/// to one slice that is borrowed for `'b`, and `at` is not past it. The fields are private, and
/// every function preserves the invariant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead<'b> {
    at: NonNull<u8>,
    fence: *const u8,
    bytes: PhantomData<&'b [u8]>,
}

impl<'b> Ahead<'b> {
    /// Returns all bytes of a slice; `None` if it is shorter than a window.
    #[inline(always)]
    pub(super) fn of(bytes: &'b [u8]) -> Option<Self> {
        let fence = bytes.get(bytes.len().checked_sub(WINDOW)?..)?.as_ptr();
        Some(Self { at: NonNull::from(bytes).cast(), fence, bytes: PhantomData })
    }

    /// Returns the address of the next byte, to compare positions in one slice.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        self.at.as_ptr().addr()
    }

    /// Returns the bytes that one read may access; `None` if fewer are left.
    #[inline(always)]
    pub(super) fn window(self) -> Option<ByteWindow<'b>> {
        (self.at.as_ptr().cast_const() <= self.fence).then_some(ByteWindow(self))
    }

    /// Returns all bytes to the end.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'b [u8] {
        let len = self.fence.addr() + WINDOW - self.address();
        // SAFETY: the end is `WINDOW` bytes after `fence` and not before `at`; the bytes between
        // belong to the slice that is borrowed for `'b`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), len) }
    }

    /// Advances by `count` bytes; `None` if there are fewer.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        let rest = self.rest().get(count..)?;
        self.at = NonNull::from(rest).cast();
        Some(())
    }
}

/// The next `WINDOW` bytes: `at` is not past `fence`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteWindow<'b>(Ahead<'b>);

impl<'b> ByteWindow<'b> {
    /// Returns the bytes.
    #[inline(always)]
    pub(super) fn bytes(self) -> &'b [u8; WINDOW] {
        // SAFETY: `at` is not past `fence`, so `WINDOW` bytes of the slice borrowed for `'b` are
        // readable; an array of bytes needs no alignment.
        unsafe { self.0.at.cast().as_ref() }
    }

    /// Returns the first four bytes, the first at the top.
    #[inline(always)]
    pub(super) fn word(self) -> u32 {
        self.bytes().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
    }

    /// Returns the rest after the first `count` bytes.
    #[inline(always)]
    pub(super) fn behind(self, count: usize) -> Ahead<'b> {
        // SAFETY: the slice ends `WINDOW` bytes after `fence`, so `WINDOW` bytes after `at` is in
        // the slice or at its end.
        let at = unsafe { self.0.at.add(count.min(WINDOW)) };
        Ahead { at, ..self.0 }
    }
}
