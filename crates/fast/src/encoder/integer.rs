//! Integer fields: every operator, signed and unsigned.

use super::engine::EncoderEngine;
use super::writer::{self, MapWriter};
use crate::decoder::integer::{Signed, Unsigned, WireInteger};
use crate::dictionary::EntryState;
use crate::error::FastErrorKind;
use crate::program::Op;
use crate::template::{SilentValue, StreamContent};

/// Writing and differences of an integer type. Values are two's complement in a `u64`.
pub(super) trait EncodedInteger: WireInteger {
    fn write(out: &mut Vec<u8>, value: u64, nullable: bool);
    /// Returns `value` minus `base`, if that fits.
    fn difference(value: u64, base: u64) -> Option<i64>;
    fn to_wide(value: u64) -> i128;
}

impl EncodedInteger for Unsigned {
    #[inline(always)]
    fn write(out: &mut Vec<u8>, value: u64, nullable: bool) {
        writer::unsigned(out, value, nullable);
    }

    #[inline(always)]
    fn difference(value: u64, base: u64) -> Option<i64> {
        let difference = value.wrapping_sub(base) as i64;
        ((difference >= 0) == (value >= base)).then_some(difference)
    }

    fn to_wide(value: u64) -> i128 {
        i128::from(value)
    }
}

impl EncodedInteger for Signed {
    #[inline(always)]
    fn write(out: &mut Vec<u8>, value: u64, nullable: bool) {
        writer::signed(out, value as i64, nullable);
    }

    #[inline(always)]
    fn difference(value: u64, base: u64) -> Option<i64> {
        (value as i64).checked_sub(base as i64)
    }

    fn to_wide(value: u64) -> i128 {
        i128::from(value as i64)
    }
}

impl EncoderEngine<'_> {
    /// Spec: FAST 1.1 §6.3.2.
    #[inline(always)]
    pub(super) fn none<T: EncodedInteger>(
        &mut self,
        op: &Op,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        let Some(value) = value else { return self.null(op) };
        T::write(self.out, value, op.optional);
        Ok(())
    }

    /// `stream` is that of the operation's rule: operations with a code of their own pass it as a constant.
    ///
    /// Spec: FAST 1.1 §6.3.4.
    #[inline(always)]
    pub(super) fn default<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
        stream: StreamContent,
    ) -> Result<(), FastErrorKind> {
        let initial = self.initial(op);
        if value == initial.given.then_some(initial.word) && (op.optional || initial.given) {
            map.push(self.out, false);
            return Ok(());
        }
        map.push(self.out, true);
        self.in_stream::<T>(op, value, stream)
    }

    /// Encodes a field whose silent value is the previous one or the next: nothing is sent if the decoder
    /// derives the value. `stream` as for [`default`](Self::default).
    ///
    /// Spec: FAST 1.1 §6.3.5, §6.3.6.
    #[inline(always)]
    pub(super) fn following<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
        stream: StreamContent,
    ) -> Result<(), FastErrorKind> {
        let state = self.dictionary.state(op.entry);
        let is_copy = match op.rule.silent {
            SilentValue::Never
            | SilentValue::Absent
            | SilentValue::Initial
            | SilentValue::Previous => true,
            SilentValue::Next => false,
        };
        let follows = !self.take_replace() && self.follows::<T>(op, state, is_copy, value);
        map.push(self.out, !follows);
        if follows && is_copy && state == EntryState::Assigned {
            return Ok(());
        }
        if !follows {
            self.in_stream::<T>(op, value, stream)?;
            if stream.has_base() {
                return Ok(());
            }
        }
        match value {
            Some(value) => self.dictionary.set_integer::<true>(op.entry, value),
            None => self.dictionary.set_empty::<true>(op.entry),
        }
        Ok(())
    }

    /// True if the decoder derives the value without anything in the stream.
    #[inline(always)]
    fn follows<T: EncodedInteger>(
        &self,
        op: &Op,
        state: EntryState,
        is_copy: bool,
        value: Option<u64>,
    ) -> bool {
        if state == EntryState::Assigned {
            let previous = self.dictionary.integer(op.entry);
            return value
                == Some(if is_copy { previous } else { T::increment(previous, op.width) });
        }
        let initial = self.initial(op);
        if state == EntryState::Undefined && initial.given {
            return value == Some(initial.word);
        }
        op.optional && value.is_none()
    }

    /// Spec: FAST 1.1 §6.3.7.1.
    #[inline(always)]
    pub(super) fn delta<T: EncodedInteger>(
        &mut self,
        op: &Op,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        let Some(value) = value else { return self.null(op) };
        let base = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.integer(op.entry),
            EntryState::Undefined => self.initial(op).word,
            EntryState::Empty => return Err(FastErrorKind::EmptyPreviousValue),
        };
        self.difference::<T>(op.optional, value, base);
        self.dictionary.set_integer::<true>(op.entry, value);
        Ok(())
    }

    /// Writes the difference from `base` to the value.
    #[inline(always)]
    pub(super) fn difference<T: EncodedInteger>(&mut self, nullable: bool, value: u64, base: u64) {
        match T::difference(value, base) {
            Some(delta) => writer::signed(self.out, delta, nullable),
            None => {
                let delta = T::to_wide(value) - T::to_wide(base);
                writer::wide_delta(self.out, delta, nullable);
            }
        }
    }

    /// Writes NULL for a value that is absent.
    #[inline]
    pub(super) fn null(&mut self, op: &Op) -> Result<(), FastErrorKind> {
        if !op.optional {
            return Err(FastErrorKind::MissingValue);
        }
        writer::null(self.out);
        Ok(())
    }

    /// Encodes an integer by its rule. `mismatch` is the error for a value that differs from the constant.
    pub(super) fn any<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
        mismatch: FastErrorKind,
    ) -> Result<(), FastErrorKind> {
        if op.rule.is_constant() {
            if value.is_some_and(|value| value != self.initial(op).word) {
                return Err(mismatch);
            }
            return self.constant(op, map, value.is_some());
        }
        let stream = op.rule.stream;
        match op.rule.silent {
            SilentValue::Never => self.in_stream::<T>(op, value, stream),
            SilentValue::Absent | SilentValue::Initial => self.default::<T>(op, map, value, stream),
            SilentValue::Previous | SilentValue::Next => {
                self.following::<T>(op, map, value, stream)
            }
        }
    }

    /// Writes a value to the stream. A delta assigns it, too.
    #[inline(always)]
    fn in_stream<T: EncodedInteger>(
        &mut self,
        op: &Op,
        value: Option<u64>,
        stream: StreamContent,
    ) -> Result<(), FastErrorKind> {
        match stream {
            StreamContent::Constant => Ok(()),
            StreamContent::Value => self.none::<T>(op, value),
            StreamContent::Delta | StreamContent::Tail => self.delta::<T>(op, value),
        }
    }

    /// Encodes a constant: only its presence is transmitted.
    pub(super) fn constant(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        present: bool,
    ) -> Result<(), FastErrorKind> {
        match (op.optional, present) {
            (true, present) => map.push(self.out, present),
            (false, true) => {}
            (false, false) => return Err(FastErrorKind::MissingValue),
        }
        Ok(())
    }
}
