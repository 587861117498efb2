//! Fields that mostly are one byte, or not in the stream at all: whichever it is, nothing branches on it.
//!
//! Every function here gives `None`, and has done nothing, where it is something else.

use super::cursor::{Cursor, STOP};
use super::kernel::Kernel;
use super::state::{Slot, State};
use super::text::Text;
use std::hint::select_unpredictable;

/// What a string of one character has besides it.
const ONE_CHARACTER: u64 = 1 << 56;

impl<K: Kernel> Cursor<'_, K> {
    /// An unsigned integer with operator copy or increment; `sent` is its bit, of which `next` makes the next value. With
    /// `NULLABLE` it is an optional field's, with
    /// `WARM` the caller has seen that the entry is assigned.
    #[inline(always)]
    pub fn quick_unsigned<
        const NULLABLE: bool,
        const WARM: bool,
        const WORDS: usize,
        const ENTRIES: usize,
        const TAGS: usize,
    >(
        &mut self,
        sent: u8,
        state: &mut State<WORDS, ENTRIES, TAGS>,
        slot: Slot,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let window = self.ahead.window()?;
        let first = window.bytes()[0];
        let before = state.before::<WARM>(slot, initial, next);
        // As numbers: a compiler makes branches of conditions.
        let least = sent << 7 | if NULLABLE { sent } else { 0 };
        if !WARM && !before.is_there(sent) || first < least {
            return None;
        }
        self.ahead = window.behind(usize::from(sent));
        let value = u64::from(first & !STOP).wrapping_sub(u64::from(NULLABLE));
        let value = select_unpredictable(sent != 0, value, before.value);
        Some(state.assign::<WARM>(slot, value))
    }

    /// An ascii string with operator copy, of a mandatory field. `WARM` as in
    /// [`quick_unsigned`](Self::quick_unsigned).
    #[inline(always)]
    pub fn quick_ascii<
        const WARM: bool,
        const WORDS: usize,
        const ENTRIES: usize,
        const TAGS: usize,
    >(
        &mut self,
        sent: u8,
        state: &mut State<WORDS, ENTRIES, TAGS>,
        slot: Slot,
        initial: Option<Text>,
    ) -> Option<Text> {
        let window = self.ahead.window()?;
        let first = window.bytes()[0];
        let before = state.before::<WARM>(slot, initial.map(Text::word), |word| word);
        let text = u64::from(first & !STOP) | ONE_CHARACTER;
        let text = Text::from_word(select_unpredictable(sent != 0, text, before.value));
        let is_other = first < (sent << 7 | sent) || !text.is_short();
        if !WARM && !before.is_there(sent) || is_other {
            return None;
        }
        self.ahead = window.behind(usize::from(sent));
        state.assign::<WARM>(slot, text.word());
        Some(text)
    }
}
