//! Decimals with one operator for exponent and mantissa together.

use super::context::CodingContext;
use super::cursor::InputCursor;
use super::kernel::CpuKernel;
use super::state::{ModuleState, StateSlot};
use crate::dictionary::EntryState;
use crate::template::Decimal;

/// Reads an exponent that is valid at every conformance level; the dynamic engine handles others
/// (R1).
#[inline(always)]
pub fn exponent(value: u64) -> Option<i32> {
    let value = value as i64;
    (-63..=63).contains(&value).then_some(value as i32)
}

impl<K: CpuKernel> InputCursor<'_, K> {
    /// A decimal: exponent and mantissa.
    #[inline(always)]
    pub fn decimal(&mut self, context: &mut CodingContext) -> Option<Decimal> {
        let exponent = exponent(self.signed::<64>(context)?)?;
        let mantissa = self.signed_word(context)?;
        Some(Decimal { mantissa, exponent })
    }

    /// A nullable decimal; the inner `None` is NULL.
    #[inline(always)]
    pub fn decimal_nullable(&mut self, context: &mut CodingContext) -> Option<Option<Decimal>> {
        let Some(value) = self.signed_nullable::<64>(context)? else { return Some(None) };
        let exponent = exponent(value)?;
        let mantissa = self.signed_word(context)?;
        Some(Some(Decimal { mantissa, exponent }))
    }
}

impl<const WORDS: usize, const MASKS: usize, const TAGS: usize> ModuleState<WORDS, MASKS, TAGS> {
    /// Assigns a decimal to the entry; returns it.
    #[inline(always)]
    pub fn assign_decimal(&mut self, slot: StateSlot, value: Decimal) -> Decimal {
        self.assign_scaled(slot, value.mantissa, value.exponent);
        value
    }

    #[inline(always)]
    pub(super) fn previous_decimal(&self, slot: StateSlot) -> Decimal {
        let (mantissa, exponent) = self.scaled(slot);
        Decimal { mantissa, exponent }
    }

    /// As [`assign_decimal`](Self::assign_decimal); NULL empties the entry.
    #[inline(always)]
    pub fn assign_decimal_or_empty(
        &mut self,
        slot: StateSlot,
        value: Option<Decimal>,
    ) -> Option<Decimal> {
        match value {
            Some(value) => Some(self.assign_decimal(slot, value)),
            None => {
                self.set_empty(slot);
                None
            }
        }
    }

    /// Returns the decimal of a copy: the previous value, or the initial value, which is then
    /// assigned.
    #[inline(always)]
    pub fn copied_decimal(&mut self, slot: StateSlot, initial: Option<Decimal>) -> Option<Decimal> {
        match self.entry_state(slot) {
            EntryState::Assigned => Some(self.previous_decimal(slot)),
            EntryState::Undefined => initial.map(|initial| self.assign_decimal(slot, initial)),
            EntryState::Empty => None,
        }
    }

    /// As [`copied_decimal`](Self::copied_decimal), for an optional field: `None` is absent.
    #[inline(always)]
    pub fn copied_decimal_optional(
        &mut self,
        slot: StateSlot,
        initial: Option<Decimal>,
    ) -> Option<Decimal> {
        let value = self.copied_decimal(slot, initial);
        if value.is_none() {
            self.set_empty(slot);
        }
        value
    }

    /// Reads the delta of a mandatory decimal.
    #[inline(always)]
    pub fn delta_decimal<K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        initial: Decimal,
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Decimal> {
        let exponent = cursor.signed_word(context)?;
        self.add_decimal(exponent, slot, initial, cursor, context)
    }

    /// Reads the delta of an optional decimal; the inner `None` is NULL.
    #[inline(always)]
    pub fn delta_decimal_optional<K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        initial: Decimal,
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Option<Decimal>> {
        match cursor.delta_nullable(context)? {
            Some(exponent) => self.add_decimal(exponent, slot, initial, cursor, context).map(Some),
            None => Some(None),
        }
    }

    #[inline(always)]
    fn add_decimal<K: CpuKernel>(
        &mut self,
        exponent_delta: i64,
        slot: StateSlot,
        initial: Decimal,
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Decimal> {
        let mantissa_delta = cursor.signed_word(context)?;
        let base = self.decimal_base(slot, initial)?;
        let sum = i64::from(base.exponent).checked_add(exponent_delta)?;
        let exponent = exponent(sum as u64)?;
        let mantissa = base.mantissa.checked_add(mantissa_delta)?;
        Some(self.assign_decimal(slot, Decimal { mantissa, exponent }))
    }
}
