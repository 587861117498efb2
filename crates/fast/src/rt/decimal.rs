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
    /// Reads a decimal: exponent and mantissa. The inner `None` is NULL.
    #[inline(always)]
    pub fn decimal<const NULLABLE: bool>(
        &mut self,
        context: &mut CodingContext,
    ) -> Option<Option<Decimal>> {
        let value = match NULLABLE {
            true => self.signed_nullable::<64>(context)?,
            false => Some(self.signed::<64>(context)?),
        };
        let Some(value) = value else { return Some(None) };
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

    /// Returns the decimal of a copy: the previous value, or the initial value, which is then assigned.
    /// `None` is absent and empties the entry.
    #[inline(always)]
    pub fn copied_decimal(&mut self, slot: StateSlot, initial: Option<Decimal>) -> Option<Decimal> {
        let value = match self.entry_state(slot) {
            EntryState::Assigned => return Some(self.previous_decimal(slot)),
            EntryState::Undefined => initial,
            EntryState::Empty => None,
        };
        self.assign_decimal_or_empty(slot, value)
    }

    /// Reads and adds the delta of a decimal; the inner `None` is NULL.
    #[inline(always)]
    pub fn delta_decimal<const NULLABLE: bool, K: CpuKernel>(
        &mut self,
        slot: StateSlot,
        initial: Decimal,
        cursor: &mut InputCursor<'_, K>,
        context: &mut CodingContext,
    ) -> Option<Option<Decimal>> {
        let Some(exponent_delta) = cursor.delta::<NULLABLE>(context)? else { return Some(None) };
        let mantissa_delta = cursor.signed_word(context)?;
        let base = self.decimal_base(slot, initial)?;
        let sum = i64::from(base.exponent).checked_add(exponent_delta)?;
        let exponent = exponent(sum as u64)?;
        let mantissa = base.mantissa.checked_add(mantissa_delta)?;
        Some(Some(self.assign_decimal(slot, Decimal { mantissa, exponent })))
    }
}
