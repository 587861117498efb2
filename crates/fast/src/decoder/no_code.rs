//! Replaces the JIT engine where it is not built.

use super::vectors::Wide;
use super::{Decoder, DecoderOptions};
use crate::program::Program;

/// The JIT engine: compiles nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct JitEngine;

impl JitEngine {
    pub(super) fn new(_options: DecoderOptions, _program: &Program, _wide: Option<Wide>) -> Self {
        Self
    }

    #[inline(always)]
    pub(super) fn is_there(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn decoded(&mut self, _program: &Program, _template: u32) {}
}

impl Decoder {
    /// Decodes a message with its template's code: never does.
    #[inline(always)]
    pub(super) fn decode_by_code<const STREAM: bool>(
        &mut self,
        _buffer: &[u8],
        _bytes: &[u8],
    ) -> Option<usize> {
        None
    }
}
