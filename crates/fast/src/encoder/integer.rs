//! Integer fields: every operator, signed and unsigned.

use super::engine::EncoderEngine;
use super::writer::{self, MapWriter};
use crate::decoder::integer::{Signed, Unsigned, WireInteger};
use crate::dictionary::EntryState;
use crate::error::FastErrorKind;
use crate::program::Op;
use crate::template::OperatorKind;

/// Writing and differences of an integer type. Values are two's complement in a `u64`.
pub(super) trait EncodedInteger: WireInteger {
    fn write(out: &mut Vec<u8>, value: u64);
    fn write_nullable(out: &mut Vec<u8>, value: Option<u64>);
    /// Returns `value` minus `base`, if that fits.
    fn difference(value: u64, base: u64) -> Option<i64>;
    fn to_wide(value: u64) -> i128;
}

impl EncodedInteger for Unsigned {
    #[inline(always)]
    fn write(out: &mut Vec<u8>, value: u64) {
        writer::unsigned(out, value);
    }

    #[inline(always)]
    fn write_nullable(out: &mut Vec<u8>, value: Option<u64>) {
        writer::unsigned_nullable(out, value);
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
    fn write(out: &mut Vec<u8>, value: u64) {
        writer::signed(out, value as i64);
    }

    #[inline(always)]
    fn write_nullable(out: &mut Vec<u8>, value: Option<u64>) {
        writer::signed_nullable(out, value.map(|value| value as i64));
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
        match (op.optional, value) {
            (true, value) => T::write_nullable(self.out, value),
            (false, Some(value)) => T::write(self.out, value),
            (false, None) => return Err(FastErrorKind::MissingValue),
        }
        Ok(())
    }

    /// Spec: FAST 1.1 §6.3.4.
    #[inline(always)]
    pub(super) fn default<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        let initial = self.initial(op);
        if value == initial.given.then_some(initial.word) && (op.optional || initial.given) {
            map.push(self.out, false);
            return Ok(());
        }
        map.push(self.out, true);
        self.none::<T>(op, value)
    }

    /// Spec: FAST 1.1 §6.3.5.
    #[inline(always)]
    pub(super) fn copy<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        if !self.take_replace() {
            match self.dictionary.state(op.entry) {
                EntryState::Assigned if value == Some(self.dictionary.integer(op.entry)) => {
                    map.push(self.out, false);
                    return Ok(());
                }
                EntryState::Assigned => {}
                state if self.follows_not_assigned(op, state, value) => {
                    map.push(self.out, false);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.replace::<T>(op, map, value)
    }

    /// Spec: FAST 1.1 §6.3.6.
    #[inline(always)]
    pub(super) fn increment<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        if !self.take_replace() {
            match self.dictionary.state(op.entry) {
                EntryState::Assigned => {
                    let next = T::increment(self.dictionary.integer(op.entry), op.width);
                    if value == Some(next) {
                        self.dictionary.set_integer::<true>(op.entry, next);
                        map.push(self.out, false);
                        return Ok(());
                    }
                }
                state if self.follows_not_assigned(op, state, value) => {
                    map.push(self.out, false);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.replace::<T>(op, map, value)
    }

    /// Encodes copy and increment with a value in the stream, and assigns it to the entry.
    #[inline]
    fn replace<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        map.push(self.out, true);
        self.none::<T>(op, value)?;
        match value {
            Some(value) => self.dictionary.set_integer::<true>(op.entry, value),
            None => self.dictionary.set_empty::<true>(op.entry),
        }
        Ok(())
    }

    /// True if a decoder without a previous value derives `value`; the entry is then set as the
    /// decoder sets it.
    #[inline]
    fn follows_not_assigned(&mut self, op: &Op, state: EntryState, value: Option<u64>) -> bool {
        let initial = self.initial(op);
        if state == EntryState::Undefined && initial.given {
            let same = value == Some(initial.word);
            if same {
                self.dictionary.set_integer::<true>(op.entry, initial.word);
            }
            return same;
        }
        let absent = op.optional && value.is_none();
        if absent {
            self.dictionary.set_empty::<true>(op.entry);
        }
        absent
    }

    /// Spec: FAST 1.1 §6.3.7.1.
    #[inline(always)]
    pub(super) fn delta<T: EncodedInteger>(
        &mut self,
        op: &Op,
        value: Option<u64>,
    ) -> Result<(), FastErrorKind> {
        let Some(value) = value else { return self.absent_delta(op) };
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
            Some(delta) if nullable => writer::signed_nullable(self.out, Some(delta)),
            Some(delta) => writer::signed(self.out, delta),
            None => {
                let delta = T::to_wide(value) - T::to_wide(base);
                writer::wide_delta(self.out, delta, nullable);
            }
        }
    }

    /// Encodes a delta without a value: NULL; the previous value stays.
    #[inline]
    pub(super) fn absent_delta(&mut self, op: &Op) -> Result<(), FastErrorKind> {
        if !op.optional {
            return Err(FastErrorKind::MissingValue);
        }
        writer::null(self.out);
        Ok(())
    }

    /// Encodes an integer with any operator and presence. `mismatch` is the error for a value that
    /// differs from the constant.
    pub(super) fn any<T: EncodedInteger>(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<u64>,
        mismatch: FastErrorKind,
    ) -> Result<(), FastErrorKind> {
        match op.operator {
            OperatorKind::None => self.none::<T>(op, value),
            OperatorKind::Default => self.default::<T>(op, map, value),
            OperatorKind::Copy => self.copy::<T>(op, map, value),
            OperatorKind::Increment => self.increment::<T>(op, map, value),
            OperatorKind::Delta | OperatorKind::Tail => self.delta::<T>(op, value),
            OperatorKind::Constant => {
                if value.is_some_and(|value| value != self.initial(op).word) {
                    return Err(mismatch);
                }
                self.constant(op, map, value.is_some())
            }
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
