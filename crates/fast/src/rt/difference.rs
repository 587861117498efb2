//! Encodes deltas and tails of strings.
//!
//! Spec: FAST 1.1 §6.3.7.3, §6.3.7.4, §6.3.8.

use super::context::CodingContext;
use super::encode::OutputCursor;
use super::kernel::CpuKernel;
use super::text::Charset;
use crate::encoder::text_delta::{TextDelta, shortest_tail};

impl<K: CpuKernel> OutputCursor<'_, K> {
    fn part(
        &mut self,
        value: &[u8],
        charset: Charset,
        nullable: bool,
        context: &CodingContext,
    ) -> Option<()> {
        match charset {
            Charset::Ascii => self.any_ascii(value, nullable, context),
            _ => self.vector(value, Charset::Bytes, nullable, context),
        }
    }

    /// Writes a delta that turns `base` into `value`.
    pub fn text_delta(
        &mut self,
        value: &[u8],
        base: &[u8],
        charset: Charset,
        nullable: bool,
        context: &CodingContext,
    ) -> Option<()> {
        context.accepts(value, charset)?;
        let delta = TextDelta::shortest(charset == Charset::Ascii, nullable, base, value)?;
        self.difference(delta.subtraction as u64, nullable)?;
        self.part(delta.added, charset, false, context)
    }

    /// Writes the shortest tail that turns `base` into `value`. A tail never shortens its base; a
    /// tail longer than the base replaces it.
    pub fn text_tail(
        &mut self,
        value: &[u8],
        base: &[u8],
        charset: Charset,
        nullable: bool,
        context: &CodingContext,
    ) -> Option<()> {
        context.accepts(value, charset)?;
        let tail = shortest_tail(charset == Charset::Ascii, base, value)?;
        self.part(tail, charset, nullable, context)
    }
}
