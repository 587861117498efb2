//! Encoder side of previous values: decides whether the decoder can derive a value, or it must be
//! sent.
//!
//! Each function also updates the entry as the decoder will.
//!
//! Spec: FAST 1.1 §6.3.

use super::integer::same;
use super::past::{Unknown, Warm};
use super::state::{ModuleState, StateSlot};
use super::text::{TextValue, short_bytes};
use crate::dictionary::EntryState;
use crate::template::Decimal;

impl<const WORDS: usize, const MASKS: usize, const TAGS: usize> ModuleState<WORDS, MASKS, TAGS> {
    /// True if a mandatory integer with copy or increment must be sent; `next` computes the value that the
    /// decoder derives from the previous one.
    #[inline(always)]
    pub fn sends(
        &mut self,
        slot: StateSlot,
        value: u64,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> bool {
        if self.is_assigned::<Unknown>(slot) {
            let differs = next(self.word(slot)) != value;
            self.assign::<Warm>(slot, value);
            return differs;
        }
        let follows = initial == Some(value) && self.entry_state(slot) == EntryState::Undefined;
        self.assign::<Unknown>(slot, value);
        !follows
    }

    /// As [`sends`](Self::sends), for an optional integer.
    #[inline(always)]
    pub fn sends_optional(
        &mut self,
        slot: StateSlot,
        value: Option<u64>,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> bool {
        let follows = self.follows(slot, value, initial, || next(self.word(slot)));
        self.assign_or_empty::<Unknown>(slot, value);
        !follows
    }

    /// True if the decoder derives `value` although nothing is sent; `previous` is the value of an
    /// assigned entry.
    #[inline(always)]
    fn follows<V: PartialEq>(
        &self,
        slot: StateSlot,
        value: Option<V>,
        initial: Option<V>,
        previous: impl FnOnce() -> V,
    ) -> bool {
        match self.entry_state(slot) {
            EntryState::Assigned => value == Some(previous()),
            EntryState::Undefined if initial.is_some() => value == initial,
            _ => value.is_none(),
        }
    }

    /// True if the entry holds a value of another type (D4); it has the given type afterwards.
    pub fn is_foreign(&mut self, slot: StateSlot, tag: u8) -> bool {
        self.check_type(slot, tag, false).is_none() && {
            self.check_type(slot, tag, true);
            true
        }
    }

    /// Assigns a string of the message to the entry.
    #[inline(always)]
    pub fn keep_encoded(&mut self, slot: StateSlot, value: Option<TextValue>, arena: &[u8]) {
        match value {
            Some(text) if text.is_short() => {
                self.assign::<Unknown>(slot, text.word());
            }
            Some(text) => self.assign_long(slot, text.bytes(arena)),
            None => self.set_empty(slot),
        }
    }

    /// As [`sends_copy_text`](Self::sends_copy_text), if the initial value fits a word or there is
    /// none.
    #[inline(always)]
    pub fn sends_copy_short(
        &mut self,
        slot: StateSlot,
        value: Option<TextValue>,
        initial: Option<TextValue>,
        arena: &[u8],
    ) -> bool {
        match value {
            Some(text) if text.is_short() => {
                self.sends(slot, text.word(), initial.map(TextValue::word), same)
            }
            _ => {
                let word = initial.map(|initial| initial.word().to_le_bytes());
                self.sends_copy_text(slot, value, word.as_ref().and_then(short_bytes), arena)
            }
        }
    }

    /// True if a copied string must be sent.
    #[inline(always)]
    pub fn sends_copy_text(
        &mut self,
        slot: StateSlot,
        value: Option<TextValue>,
        initial: Option<&[u8]>,
        arena: &[u8],
    ) -> bool {
        if let (true, Some(text)) = (self.is_assigned::<Unknown>(slot), value)
            && text.is_short()
        {
            let differs = self.word(slot) != text.word();
            self.assign::<Warm>(slot, text.word());
            return differs;
        }
        let sends = self.sends_tail(slot, value, initial, arena);
        self.keep_encoded(slot, value, arena);
        sends
    }

    /// True if a string with the tail operator must be sent. The entry then keeps its old value, as
    /// the base of the tail.
    #[inline(never)]
    pub fn sends_tail(
        &mut self,
        slot: StateSlot,
        value: Option<TextValue>,
        initial: Option<&[u8]>,
        arena: &[u8],
    ) -> bool {
        let bytes = value.as_ref().map(|text| text.bytes(arena));
        let follows = self.follows(slot, bytes, initial, || self.previous_bytes(slot));
        if follows {
            self.keep_encoded(slot, value, arena);
        }
        !follows
    }

    /// True if a copied decimal must be sent.
    pub fn sends_copy_decimal(
        &mut self,
        slot: StateSlot,
        value: Option<Decimal>,
        initial: Option<Decimal>,
    ) -> bool {
        let follows = self.follows(slot, value, initial, || self.previous_decimal(slot));
        self.assign_decimal_or_empty(slot, value);
        !follows
    }

    /// Returns the decimal to which a delta is added; `None` if the previous value is empty.
    pub fn decimal_base(&self, slot: StateSlot, initial: Decimal) -> Option<Decimal> {
        match self.entry_state(slot) {
            EntryState::Assigned => Some(self.previous_decimal(slot)),
            EntryState::Undefined => Some(initial),
            EntryState::Empty => None,
        }
    }

    /// Returns the string to which a delta is applied; `None` if the previous value is empty.
    pub fn text_base<'s>(&'s self, slot: StateSlot, initial: &'s [u8]) -> Option<&'s [u8]> {
        match self.entry_state(slot) {
            EntryState::Assigned => Some(self.previous_bytes(slot)),
            EntryState::Undefined => Some(initial),
            EntryState::Empty => None,
        }
    }

    /// Returns the string whose end a tail replaces.
    pub fn tail_base<'s>(&'s self, slot: StateSlot, initial: &'s [u8]) -> &'s [u8] {
        match self.entry_state(slot) {
            EntryState::Assigned => self.previous_bytes(slot),
            _ => initial,
        }
    }
}
