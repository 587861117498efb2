//! Integer fields: every operator, signed and unsigned.

use super::engine::DecoderEngine;
use super::sink::RecordSink;
use crate::dictionary::EntryState;
use crate::error::FastErrorKind;
use crate::program::Op;
use crate::template::{SilentValue, StreamContent, Width};
use crate::wire::{Map, WireReader};

/// Reading, range checks and arithmetic of an integer type. Values are two's complement in a `u64`.
pub(crate) trait WireInteger {
    fn read(reader: &mut WireReader<'_>) -> Result<u64, FastErrorKind>;
    fn read_nullable(reader: &mut WireReader<'_>) -> Result<Option<u64>, FastErrorKind>;
    fn fits(value: u64, width: Width) -> bool;
    fn increment(value: u64, width: Width) -> u64;
    /// Returns the sum if it fits the type.
    fn add(value: u64, delta: i64, width: Width) -> Option<u64>;
    /// As [`add`](Self::add), for a delta of up to 65 bits.
    fn add_wide(value: u64, delta: i128, width: Width) -> Option<u64>;
}

pub(crate) struct Unsigned;
pub(crate) struct Signed;

impl WireInteger for Unsigned {
    #[inline(always)]
    fn read(reader: &mut WireReader<'_>) -> Result<u64, FastErrorKind> {
        reader.unsigned()
    }

    #[inline(always)]
    fn read_nullable(reader: &mut WireReader<'_>) -> Result<Option<u64>, FastErrorKind> {
        reader.unsigned_nullable()
    }

    #[inline(always)]
    fn fits(value: u64, width: Width) -> bool {
        value <= u64::MAX >> (64 - width as u32)
    }

    #[inline(always)]
    fn increment(value: u64, width: Width) -> u64 {
        value.wrapping_add(1) & u64::MAX >> (64 - width as u32)
    }

    #[inline(always)]
    fn add(value: u64, delta: i64, width: Width) -> Option<u64> {
        value.checked_add_signed(delta).filter(|&sum| Self::fits(sum, width))
    }

    fn add_wide(value: u64, delta: i128, width: Width) -> Option<u64> {
        let sum = u64::try_from(i128::from(value) + delta).ok()?;
        Self::fits(sum, width).then_some(sum)
    }
}

impl WireInteger for Signed {
    #[inline(always)]
    fn read(reader: &mut WireReader<'_>) -> Result<u64, FastErrorKind> {
        reader.signed().map(|value| value as u64)
    }

    #[inline(always)]
    fn read_nullable(reader: &mut WireReader<'_>) -> Result<Option<u64>, FastErrorKind> {
        Ok(reader.signed_nullable()?.map(|value| value as u64))
    }

    #[inline(always)]
    fn fits(value: u64, width: Width) -> bool {
        let shift = 64 - width as u32;
        ((value << shift) as i64) >> shift == value as i64
    }

    #[inline(always)]
    fn increment(value: u64, width: Width) -> u64 {
        let shift = 64 - width as u32;
        ((value.wrapping_add(1) << shift) as i64 >> shift) as u64
    }

    #[inline(always)]
    fn add(value: u64, delta: i64, width: Width) -> Option<u64> {
        let sum = (value as i64).checked_add(delta)? as u64;
        Self::fits(sum, width).then_some(sum)
    }

    fn add_wide(value: u64, delta: i128, width: Width) -> Option<u64> {
        let sum = i64::try_from(i128::from(value as i64) + delta).ok()? as u64;
        Self::fits(sum, width).then_some(sum)
    }
}

/// Reads a delta, which may be one bit wider than its field; wider is D2.
#[inline(always)]
fn delta_fits(delta: i64, width: Width) -> bool {
    let bits = (width as u32).min(63);
    delta >> bits == 0 || delta >> bits == -1
}

impl<'e, S: RecordSink, const JOURNAL: bool> DecoderEngine<'e, S, JOURNAL> {
    /// Spec: FAST 1.1 §6.3.2.
    #[inline(always)]
    pub(super) fn none<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
    ) -> Result<Option<u64>, FastErrorKind> {
        let value = match OPTIONAL {
            true => T::read_nullable(&mut self.reader)?,
            false => Some(T::read(&mut self.reader)?),
        };
        match value {
            Some(value) if !T::fits(value, op.width) => Err(FastErrorKind::IntegerRange),
            value => Ok(value),
        }
    }

    /// Spec: FAST 1.1 §6.3.4.
    #[inline(always)]
    pub(super) fn default<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
    ) -> Result<Option<u64>, FastErrorKind> {
        match map.take() {
            true => self.none::<T, OPTIONAL>(op),
            false => Ok(self.silent_initial(op)),
        }
    }

    #[inline(always)]
    fn silent_initial(&self, op: &Op) -> Option<u64> {
        let initial = self.initial(op);
        initial.given.then_some(initial.word)
    }

    /// Spec: FAST 1.1 §6.3.5.
    #[inline(always)]
    pub(super) fn copy<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
    ) -> Result<Option<u64>, FastErrorKind> {
        match map.take() {
            true => self.received::<T, OPTIONAL>(op),
            false => self.silent_previous(op),
        }
    }

    #[inline(always)]
    fn silent_previous(&mut self, op: &Op) -> Result<Option<u64>, FastErrorKind> {
        match self.dictionary.state(op.entry) {
            EntryState::Assigned => Ok(Some(self.dictionary.integer(op.entry))),
            state => self.not_assigned(op, state),
        }
    }

    /// Spec: FAST 1.1 §6.3.6.
    #[inline(always)]
    pub(super) fn increment<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
    ) -> Result<Option<u64>, FastErrorKind> {
        match map.take() {
            true => self.received::<T, OPTIONAL>(op),
            false => self.silent_next::<T>(op),
        }
    }

    #[inline(always)]
    fn silent_next<T: WireInteger>(&mut self, op: &Op) -> Result<Option<u64>, FastErrorKind> {
        match self.dictionary.state(op.entry) {
            EntryState::Assigned => {
                let value = T::increment(self.dictionary.integer(op.entry), op.width);
                self.dictionary.set_integer::<JOURNAL>(op.entry, value);
                Ok(Some(value))
            }
            state => self.not_assigned(op, state),
        }
    }

    /// Decodes a value in the stream and assigns it to the entry.
    #[inline(always)]
    fn received<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
    ) -> Result<Option<u64>, FastErrorKind> {
        let value = self.none::<T, OPTIONAL>(op)?;
        match value {
            Some(value) => self.dictionary.set_integer::<JOURNAL>(op.entry, value),
            None => self.dictionary.set_empty::<JOURNAL>(op.entry),
        }
        Ok(value)
    }

    /// Decodes copy and increment without a previous value.
    #[inline]
    fn not_assigned(&mut self, op: &Op, state: EntryState) -> Result<Option<u64>, FastErrorKind> {
        let initial = self.initial(op);
        if state == EntryState::Undefined && initial.given {
            self.dictionary.set_integer::<JOURNAL>(op.entry, initial.word);
            return Ok(Some(initial.word));
        }
        self.without_value(op, state)?;
        Ok(None)
    }

    /// Spec: FAST 1.1 §6.3.7.1.
    #[inline(always)]
    pub(super) fn delta<T: WireInteger, const OPTIONAL: bool>(
        &mut self,
        op: &Op,
    ) -> Result<Option<u64>, FastErrorKind> {
        let start = self.reader.position();
        let delta = match self.reader.signed() {
            Ok(0) if OPTIONAL => return Ok(None),
            Ok(delta) => delta - i64::from(OPTIONAL && delta > 0),
            Err(FastErrorKind::IntegerRange) => return self.wide_delta::<T>(op, start),
            Err(kind) => return Err(kind),
        };
        if !delta_fits(delta, op.width) {
            return Err(FastErrorKind::IntegerRange);
        }
        let base = self.delta_base(op)?;
        let value = T::add(base, delta, op.width).ok_or(FastErrorKind::IntegerConversion)?;
        self.dictionary.set_integer::<JOURNAL>(op.entry, value);
        Ok(Some(value))
    }

    #[inline(always)]
    fn delta_base(&self, op: &Op) -> Result<u64, FastErrorKind> {
        match self.dictionary.state(op.entry) {
            EntryState::Assigned => Ok(self.dictionary.integer(op.entry)),
            EntryState::Undefined => Ok(self.initial(op).word),
            EntryState::Empty => Err(FastErrorKind::EmptyPreviousValue),
        }
    }

    /// Decodes a delta of 65 bits: only 64-bit fields may have one.
    #[cold]
    fn wide_delta<T: WireInteger>(
        &mut self,
        op: &Op,
        start: usize,
    ) -> Result<Option<u64>, FastErrorKind> {
        let delta = self.reader.wide_from(start)?;
        let delta = delta - i128::from(op.optional && delta > 0);
        if op.width != Width::W64 || !(delta >> 64 == 0 || delta >> 64 == -1) {
            return Err(FastErrorKind::IntegerRange);
        }
        let base = self.delta_base(op)?;
        let value = T::add_wide(base, delta, op.width).ok_or(FastErrorKind::IntegerConversion)?;
        self.dictionary.set_integer::<JOURNAL>(op.entry, value);
        Ok(Some(value))
    }

    /// Decodes an integer by its rule.
    pub(super) fn any<T: WireInteger>(
        &mut self,
        op: &Op,
        map: &mut impl Map,
    ) -> Result<Option<u64>, FastErrorKind> {
        if op.rule.has_map_bit() && !map.take() {
            return match op.rule.silent {
                SilentValue::Never | SilentValue::Absent => Ok(None),
                SilentValue::Initial => Ok(self.silent_initial(op)),
                SilentValue::Previous => self.silent_previous(op),
                SilentValue::Next => self.silent_next::<T>(op),
            };
        }
        match (op.rule.stream, op.optional) {
            (StreamContent::Constant, _) => Ok(Some(self.initial(op).word)),
            (StreamContent::Value, false) if op.rule.derives_from_previous() => {
                self.received::<T, false>(op)
            }
            (StreamContent::Value, true) if op.rule.derives_from_previous() => {
                self.received::<T, true>(op)
            }
            (StreamContent::Value, false) => self.none::<T, false>(op),
            (StreamContent::Value, true) => self.none::<T, true>(op),
            (StreamContent::Delta | StreamContent::Tail, false) => self.delta::<T, false>(op),
            (StreamContent::Delta | StreamContent::Tail, true) => self.delta::<T, true>(op),
        }
    }
}
