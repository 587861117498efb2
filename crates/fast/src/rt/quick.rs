//! Branch-free readers for fields that are mostly one byte or not in the stream.
//!
//! Every function returns `None`, without changes, in all other cases.

use super::cursor::{InputCursor, STOP, seldom};
use super::kernel::CpuKernel;
use super::past::Past;
use super::state::{ModuleState, StateSlot};
use super::text::TextValue;
use std::hint::select_unpredictable;

/// The length byte in the word of a one-character string.
const ONE_CHARACTER: u64 = 1 << 56;

impl<K: CpuKernel> InputCursor<'_, K> {
    /// Reads an unsigned integer with copy or increment. `sent` is its presence bit; `next`
    /// computes the value from the previous one. `NULLABLE` is for optional fields.
    #[inline(always)]
    pub fn quick_unsigned<
        const NULLABLE: bool,
        P: Past,
        const WORDS: usize,
        const ENTRIES: usize,
        const TAGS: usize,
    >(
        &mut self,
        sent: u8,
        state: &mut ModuleState<WORDS, ENTRIES, TAGS>,
        slot: StateSlot,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let Some(window) = self.ahead.window() else {
            seldom();
            return None;
        };
        let first = window.bytes()[0];
        let before = state.before::<P>(slot, initial, next);
        // Arithmetic, because the compiler turns conditions into branches.
        let least = sent << 7 | if NULLABLE { sent } else { 0 };
        if !P::IS_WARM && !before.is_there(sent) || first < least {
            seldom();
            return None;
        }
        self.ahead = window.behind(usize::from(sent));
        let value = u64::from(first & !STOP).wrapping_sub(u64::from(NULLABLE));
        let value = select_unpredictable(sent != 0, value, before.value);
        Some(state.assign::<P>(slot, value))
    }

    /// Reads a mandatory ascii string with copy.
    #[inline(always)]
    pub fn quick_ascii<P: Past, const WORDS: usize, const ENTRIES: usize, const TAGS: usize>(
        &mut self,
        sent: u8,
        state: &mut ModuleState<WORDS, ENTRIES, TAGS>,
        slot: StateSlot,
        initial: Option<TextValue>,
    ) -> Option<TextValue> {
        let Some(window) = self.ahead.window() else {
            seldom();
            return None;
        };
        let first = window.bytes()[0];
        let before = state.before::<P>(slot, initial.map(TextValue::word), |word| word);
        let text = u64::from(first & !STOP) | ONE_CHARACTER;
        let text = TextValue::from_word(select_unpredictable(sent != 0, text, before.value));
        let is_short = match P::IS_FRESH {
            true => initial.is_none_or(TextValue::is_short),
            false => text.is_short(),
        };
        let is_other = first < (sent << 7 | sent) || !is_short;
        if !P::IS_WARM && !before.is_there(sent) || is_other {
            seldom();
            return None;
        }
        self.ahead = window.behind(usize::from(sent));
        state.assign::<P>(slot, text.word());
        Some(text)
    }
}
