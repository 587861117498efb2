//! Decimals with one operator for exponent and mantissa together.

use super::engine::DecoderEngine;
use super::sink::RecordSink;
use crate::dictionary::EntryState;
use crate::error::FastErrorKind;
use crate::program::{Op, is_valid_exponent};
use crate::template::{SilentValue, StreamContent};
use crate::wire::Map;

/// Mantissa and exponent.
type MantissaAndExponent = (i64, i32);

impl<'e, S: RecordSink, const JOURNAL: bool> DecoderEngine<'e, S, JOURNAL> {
    /// Decodes a decimal by its rule.
    ///
    /// Spec: FAST 1.1 §6.3, §10.6.4.
    pub(super) fn scaled(
        &mut self,
        op: &Op,
        map: &mut impl Map,
    ) -> Result<Option<MantissaAndExponent>, FastErrorKind> {
        if op.rule.has_map_bit() && !map.take() {
            return match op.rule.silent {
                SilentValue::Never | SilentValue::Absent | SilentValue::Initial => {
                    Ok(self.scaled_initial(op))
                }
                // Decimals have no increment (S2).
                SilentValue::Previous | SilentValue::Next => self.scaled_previous(op),
            };
        }
        match op.rule.stream {
            StreamContent::Constant => Ok(self.scaled_initial(op)),
            StreamContent::Value => self.scaled_received(op),
            // Decimals have no tail (S2).
            StreamContent::Delta | StreamContent::Tail => self.scaled_delta(op),
        }
    }

    /// Checks an exponent (R1).
    #[inline]
    pub(super) fn check_exponent(&mut self, exponent: i64) -> Result<i32, FastErrorKind> {
        if !is_valid_exponent(exponent) {
            self.reader.report(FastErrorKind::DecimalRange)?;
        }
        i32::try_from(exponent).map_err(|_| FastErrorKind::IntegerRange)
    }

    fn scaled_on_wire(&mut self, op: &Op) -> Result<Option<MantissaAndExponent>, FastErrorKind> {
        let Some(exponent) = self.reader.signed_or_null(op.optional)? else { return Ok(None) };
        let exponent = self.check_exponent(exponent)?;
        let mantissa = self.reader.signed().map_err(mantissa_range)?;
        Ok(Some((mantissa, exponent)))
    }

    /// Decodes a value in the stream; assigns it to the entry, if the field has one.
    fn scaled_received(&mut self, op: &Op) -> Result<Option<MantissaAndExponent>, FastErrorKind> {
        let value = self.scaled_on_wire(op)?;
        match value {
            _ if !op.rule.derives_from_previous() => {}
            Some((m, e)) => self.dictionary.set_decimal::<JOURNAL>(op.entry, m, e),
            None => self.dictionary.set_empty::<JOURNAL>(op.entry),
        }
        Ok(value)
    }

    fn scaled_initial(&self, op: &Op) -> Option<MantissaAndExponent> {
        let initial = self.initial(op);
        initial.given.then_some((initial.word as i64, initial.exponent))
    }

    fn scaled_previous(&mut self, op: &Op) -> Result<Option<MantissaAndExponent>, FastErrorKind> {
        let state = self.dictionary.state(op.entry);
        if state == EntryState::Assigned {
            return Ok(Some(self.dictionary.decimal(op.entry)));
        }
        let initial = self.scaled_initial(op).filter(|_| state == EntryState::Undefined);
        match initial {
            Some((m, e)) => self.dictionary.set_decimal::<JOURNAL>(op.entry, m, e),
            None => self.without_value(op, state)?,
        }
        Ok(initial)
    }

    fn scaled_delta(&mut self, op: &Op) -> Result<Option<MantissaAndExponent>, FastErrorKind> {
        let Some(exponent_delta) = self.reader.signed_or_null(op.optional)? else {
            return Ok(None);
        };
        let mantissa_delta = self.mantissa_delta()?;
        let (mantissa, exponent) = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.dictionary.decimal(op.entry),
            EntryState::Undefined => self.scaled_initial(op).unwrap_or((0, 0)),
            EntryState::Empty => return Err(FastErrorKind::EmptyPreviousValue),
        };
        let exponent =
            i64::from(exponent).checked_add(exponent_delta).ok_or(FastErrorKind::DecimalRange)?;
        let exponent = self.check_exponent(exponent)?;
        let mantissa = i64::try_from(i128::from(mantissa) + mantissa_delta)
            .map_err(|_| FastErrorKind::DecimalRange)?;
        self.dictionary.set_decimal::<JOURNAL>(op.entry, mantissa, exponent);
        Ok(Some((mantissa, exponent)))
    }

    /// Reads the delta of a mantissa: like that of an int64, up to 65 bits.
    fn mantissa_delta(&mut self) -> Result<i128, FastErrorKind> {
        let start = self.reader.position();
        match self.reader.signed() {
            Ok(delta) => Ok(i128::from(delta)),
            Err(FastErrorKind::IntegerRange) => {
                self.reader.wide_from(start).map_err(mantissa_range)
            }
            Err(kind) => Err(kind),
        }
    }
}

/// Maps D2 to R1: a mantissa outside int64 is an error of the decimal.
fn mantissa_range(kind: FastErrorKind) -> FastErrorKind {
    match kind {
        FastErrorKind::IntegerRange => FastErrorKind::DecimalRange,
        kind => kind,
    }
}
