//! Decimals with one operator for exponent and mantissa together.

use super::engine::EncoderEngine;
use super::writer::{self, MapWriter};
use crate::decoder::integer::Signed;
use crate::dictionary::EntryState;
use crate::error::FastErrorKind;
use crate::program::Op;
use crate::template::{Decimal, SilentValue, StreamContent};

/// Checks an exponent (R1).
#[inline]
pub(super) fn check_exponent(exponent: i32) -> Result<(), FastErrorKind> {
    match exponent {
        -63..=63 => Ok(()),
        _ => Err(FastErrorKind::DecimalRange),
    }
}

impl EncoderEngine<'_> {
    /// Encodes a decimal by its rule. Exponent and mantissa are kept as given.
    ///
    /// Spec: FAST 1.1 §6.3, §10.6.4.
    pub(super) fn scaled(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<Decimal>,
    ) -> Result<(), FastErrorKind> {
        if let Some(value) = value {
            check_exponent(value.exponent)?;
        }
        match op.rule.silent {
            SilentValue::Never => self.scaled_in_stream(op, value),
            SilentValue::Absent | SilentValue::Initial => self.scaled_default(op, map, value),
            // Decimals have no increment (S2).
            SilentValue::Previous | SilentValue::Next => self.scaled_following(op, map, value),
        }
    }

    /// Writes a value to the stream. A delta assigns it, too.
    fn scaled_in_stream(&mut self, op: &Op, value: Option<Decimal>) -> Result<(), FastErrorKind> {
        match op.rule.stream {
            StreamContent::Constant => Ok(()),
            StreamContent::Value => self.scaled_on_wire(op, value),
            StreamContent::Delta | StreamContent::Tail => self.scaled_delta(op, value),
        }
    }

    fn scaled_default(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<Decimal>,
    ) -> Result<(), FastErrorKind> {
        let initial = self.scaled_initial(op);
        let follows = value == initial && (op.optional || initial.is_some());
        map.push(self.out, !follows);
        if follows {
            return Ok(());
        }
        self.scaled_in_stream(op, value)
    }

    fn scaled_on_wire(&mut self, op: &Op, value: Option<Decimal>) -> Result<(), FastErrorKind> {
        let Some(Decimal { mantissa, exponent }) = value else { return self.null(op) };
        writer::signed(self.out, i64::from(exponent), op.optional);
        writer::signed(self.out, mantissa, false);
        Ok(())
    }

    fn scaled_initial(&self, op: &Op) -> Option<Decimal> {
        let initial = self.initial(op);
        initial
            .given
            .then_some(Decimal { mantissa: initial.word as i64, exponent: initial.exponent })
    }

    fn previous_scaled(&self, op: &Op) -> Decimal {
        let (mantissa, exponent) = self.dictionary.decimal(op.entry);
        Decimal { mantissa, exponent }
    }

    fn set_scaled(&mut self, op: &Op, value: Option<Decimal>) {
        match value {
            Some(Decimal { mantissa, exponent }) => {
                self.dictionary.set_decimal::<true>(op.entry, mantissa, exponent);
            }
            None => self.dictionary.set_empty::<true>(op.entry),
        }
    }

    fn scaled_following(
        &mut self,
        op: &Op,
        map: &mut MapWriter,
        value: Option<Decimal>,
    ) -> Result<(), FastErrorKind> {
        let follows = !self.take_replace() && self.scaled_follows(op, value);
        map.push(self.out, !follows);
        if !follows {
            self.scaled_in_stream(op, value)?;
            if op.rule.has_base() {
                return Ok(());
            }
        }
        self.set_scaled(op, value);
        Ok(())
    }

    /// True if the decoder derives `value` without anything in the stream.
    fn scaled_follows(&self, op: &Op, value: Option<Decimal>) -> bool {
        let state = self.dictionary.state(op.entry);
        if state == EntryState::Assigned {
            return value == Some(self.previous_scaled(op));
        }
        let initial = self.scaled_initial(op).filter(|_| state == EntryState::Undefined);
        value == initial && (op.optional || initial.is_some())
    }

    fn scaled_delta(&mut self, op: &Op, value: Option<Decimal>) -> Result<(), FastErrorKind> {
        let Some(Decimal { mantissa, exponent }) = value else { return self.null(op) };
        let base = match self.dictionary.state(op.entry) {
            EntryState::Assigned => self.previous_scaled(op),
            EntryState::Undefined => {
                self.scaled_initial(op).unwrap_or(Decimal { mantissa: 0, exponent: 0 })
            }
            EntryState::Empty => return Err(FastErrorKind::EmptyPreviousValue),
        };
        let word = |value: i32| i64::from(value) as u64;
        self.difference::<Signed>(op.optional, word(exponent), word(base.exponent));
        self.difference::<Signed>(false, mantissa as u64, base.mantissa as u64);
        self.set_scaled(op, value);
        Ok(())
    }
}
