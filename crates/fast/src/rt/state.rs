//! Previous values of generated code, for all dictionaries of a template set, in one array.

use super::facts::ValueKind;
use super::past::{Past, Unknown, Warm};
use super::room::{LongValue, LongValues, ValuePiece};
use super::text::{LONG, TextValue, short_bytes};
use crate::dictionary::{EntryState, Word};
use std::hint::select_unpredictable;

/// Location of a dictionary entry. Generated code has locations as constants, so the compiler
/// removes bounds checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSlot {
    entry: usize,
    word: usize,
    /// Index of the text buffer and of the tag, for entries that have one.
    text: usize,
    tag: usize,
}

impl StateSlot {
    /// Returns the location of entry number `entry`, whose value is at `word`.
    pub const fn new(entry: usize, word: usize) -> Self {
        Self { entry, word, text: usize::MAX, tag: usize::MAX }
    }

    /// Adds a buffer for long strings.
    #[must_use]
    pub const fn with_text(self, text: usize) -> Self {
        Self { text, ..self }
    }

    /// Adds a type tag: fields of several types share the entry.
    #[must_use]
    pub const fn with_tag(self, tag: usize) -> Self {
        Self { tag, ..self }
    }
}

/// States of entries. The top bit is set if there is a previous value; the bit below it if there is
/// one or the initial value applies.
mod is {
    pub(super) const ASSIGNED: u8 = 0xe0;
    pub(super) const UNDEFINED: u8 = 0x60;
    pub(super) const EMPTY: u8 = 0;
}

/// Value of a field that is not in the stream.
pub(super) struct StateBefore {
    /// The value.
    pub(super) value: u64,
    /// Top bit set if there is a value.
    flag: u8,
}

impl StateBefore {
    /// True if there is a value, in the stream or from before.
    #[inline(always)]
    pub(super) fn is_there(&self, sent: u8) -> bool {
        (self.flag | sent << 7) & 0x80 != 0
    }
}

/// Previous values: `WORDS` words, and a state for each of `ENTRIES` entries.
///
/// States are bytes, not bits: writing one needs no read, and reading back a byte just written uses
/// store forwarding, which fails for a word of which one byte was written.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct ModuleState<const WORDS: usize, const ENTRIES: usize, const TAGS: usize> {
    words: [Word; WORDS],
    states: [u8; ENTRIES],
    tags: [u8; TAGS],
    /// True if nothing was assigned since the last reset.
    is_fresh: bool,
    buffers: Vec<LongValues>,
    message: u64,
    /// The last template, as [`LastTemplate::word`].
    last_template: u64,
    saved: SavedEntries<WORDS, ENTRIES, TAGS>,
    /// A bit for each [`BLOCK`](Self::BLOCK) of entries that a message used since the last reset: in all others the
    /// entries are undefined. Only with more than [`RESET_WHOLE_MAX`] entries.
    used: u64,
}

/// Last template: the template id is a copy field of the global dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastTemplate {
    /// No template since the reset.
    #[default]
    Undefined,
    /// A generated template, by its number.
    Known(u32),
    /// A template that only the dynamic engine knows, by its index in the set.
    Foreign(u32),
}

const KNOWN: u64 = 1 << 32;
const FOREIGN: u64 = 2 << 32;

impl LastTemplate {
    /// Returns the value as one word, written and read with one access.
    fn word(self) -> u64 {
        match self {
            Self::Undefined => 0,
            Self::Known(template) => KNOWN | u64::from(template),
            Self::Foreign(template) => FOREIGN | u64::from(template),
        }
    }

    fn of_word(word: u64) -> Self {
        match word & !u64::from(u32::MAX) {
            KNOWN => Self::Known(word as u32),
            FOREIGN => Self::Foreign(word as u32),
            _ => Self::Undefined,
        }
    }
}

/// Most entries that a reset clears without asking which were used: eight stores.
const RESET_WHOLE_MAX: usize = 128;

/// A copy of the entries before the message.
#[derive(Clone, Debug)]
struct SavedEntries<const WORDS: usize, const ENTRIES: usize, const TAGS: usize> {
    words: [Word; WORDS],
    states: [u8; ENTRIES],
    tags: [u8; TAGS],
}

/// Copies `FROM..FROM + LEN` to the same place.
#[inline(always)]
fn copy_range<T: Copy, const FROM: usize, const LEN: usize>(from: &[T], to: &mut [T]) {
    if let (Some(from), Some(to)) = (from.get(FROM..FROM + LEN), to.get_mut(FROM..FROM + LEN)) {
        to.copy_from_slice(from);
    }
}

impl<const WORDS: usize, const ENTRIES: usize, const TAGS: usize>
    ModuleState<WORDS, ENTRIES, TAGS>
{
    /// Creates a state with all entries undefined and this many buffers for long strings.
    pub fn new(buffers: usize) -> Self {
        Self {
            words: [[0; 8]; WORDS],
            states: [is::UNDEFINED; ENTRIES],
            tags: [0; TAGS],
            is_fresh: true,
            buffers: vec![LongValues::default(); buffers],
            message: 1,
            last_template: LastTemplate::Undefined.word(),
            saved: SavedEntries {
                words: [[0; 8]; WORDS],
                states: [is::UNDEFINED; ENTRIES],
                tags: [0; TAGS],
            },
            used: 0,
        }
    }

    /// Entries of a block, so many that there are at most 64 blocks. If the last one is not whole, it begins in
    /// the one before, so all have this length.
    const BLOCK: usize = match ENTRIES.div_ceil(u64::BITS as usize) {
        0..64 => 64,
        len => len,
    };

    /// Returns the bits of the blocks that `count` entries are in, from number `first` on.
    const fn blocks(first: usize, count: usize) -> u64 {
        let last = (first + count - 1) / Self::BLOCK;
        u64::MAX << (first / Self::BLOCK) & u64::MAX >> (u64::BITS as usize - 1 - last)
    }

    /// Resets every dictionary but keeps the template id: the effect of a template's reset
    /// attribute. The message, and those around it, go on to use their entries.
    #[inline(always)]
    pub fn reset_values(&mut self) {
        if ENTRIES <= RESET_WHOLE_MAX {
            self.states = [is::UNDEFINED; ENTRIES];
            return;
        }
        let mut used = self.used;
        while used != 0 {
            let block = used.trailing_zeros() as usize * Self::BLOCK;
            let from = block.min(ENTRIES - Self::BLOCK);
            if let Some(states) = self.states.get_mut(from..from + Self::BLOCK) {
                states.fill(is::UNDEFINED);
            }
            used &= used - 1;
        }
    }

    /// Notes that a message uses the entries `FROM..FROM + LEN`, before it changes any.
    #[inline(always)]
    pub fn use_entries<const FROM: usize, const LEN: usize>(&mut self) {
        if ENTRIES > RESET_WHOLE_MAX {
            self.used |= const { Self::blocks(FROM, LEN) };
        }
    }

    /// Returns the last template, if it is a generated one.
    #[inline(always)]
    pub fn last_template(&self) -> Option<usize> {
        match LastTemplate::of_word(self.last_template) {
            LastTemplate::Known(template) => Some(template as usize),
            _ => None,
        }
    }

    /// Sets the last template.
    #[inline(always)]
    pub fn set_last_template(&mut self, template: usize) {
        self.last_template = LastTemplate::Known(template as u32).word();
    }

    /// Saves the data that a message may change: the words `WORD..WORD + LEN`, the states of the entries
    /// `ENTRY..ENTRY + COUNT`, and all tags.
    #[inline(always)]
    pub fn save<const WORD: usize, const LEN: usize, const ENTRY: usize, const COUNT: usize>(
        &mut self,
    ) {
        copy_range::<_, WORD, LEN>(&self.words, &mut self.saved.words);
        copy_range::<_, ENTRY, COUNT>(&self.states, &mut self.saved.states);
        self.saved.tags = self.tags;
    }

    /// Returns true if nothing was assigned since the last reset, and clears this: a message is
    /// about to be decoded.
    #[inline(always)]
    pub fn take_fresh(&mut self) -> bool {
        std::mem::replace(&mut self.is_fresh, false)
    }

    /// Marks `LEN` undefined entries, from number `FROM` on, as assigned, for fields that only mark
    /// missing values ([`Fresh`](super::Fresh)).
    #[inline(always)]
    pub fn mark_assigned<const FROM: usize, const LEN: usize>(&mut self) {
        if let Some(states) = self.states.get_mut(FROM..FROM + LEN) {
            states.fill(is::ASSIGNED);
        }
    }

    /// Restores what [`save`](Self::save) saved; if nothing was, resets every dictionary. Nothing is saved
    /// if nothing was assigned, if the message resets, or for a message inside a dynamic reference: then
    /// the outermost message, which fails as well, does this afterwards, for all entries.
    #[cold]
    #[inline(never)]
    pub fn put_back<const WORD: usize, const LEN: usize, const ENTRY: usize, const COUNT: usize>(
        &mut self,
        is_saved: bool,
    ) {
        if is_saved {
            copy_range::<_, WORD, LEN>(&self.saved.words, &mut self.words);
            copy_range::<_, ENTRY, COUNT>(&self.saved.states, &mut self.states);
            self.tags = self.saved.tags;
        } else {
            self.reset_values();
        }
        self.restore_texts();
    }

    fn restore_texts(&mut self) {
        for buffer in &mut self.buffers {
            buffer.restore(self.message);
        }
    }

    /// True if `LEN` entries, from number `FROM` on, are all assigned.
    #[inline(always)]
    pub fn is_warm<const FROM: usize, const LEN: usize>(&self) -> bool {
        let states = self.states.get(FROM..FROM + LEN).and_then(|states| states.first_chunk());
        states == Some(&[is::ASSIGNED; LEN])
    }

    /// True if an entry is assigned.
    #[inline(always)]
    pub fn is_assigned<P: Past>(&self, slot: StateSlot) -> bool {
        P::IS_WARM || !P::IS_FRESH && self.states[slot.entry] == is::ASSIGNED
    }

    /// Marks an entry as unchanged by its field.
    #[inline(always)]
    pub fn leave<P: Past>(&mut self, slot: StateSlot) {
        if P::IS_FRESH {
            self.states[slot.entry] = is::UNDEFINED;
        }
    }

    #[inline(always)]
    pub(super) fn entry_state(&self, slot: StateSlot) -> EntryState {
        match self.states[slot.entry] {
            is::ASSIGNED => EntryState::Assigned,
            is::EMPTY => EntryState::Empty,
            _ => EntryState::Undefined,
        }
    }

    /// Returns the value after the previous one; for an undefined entry the initial value, if any.
    #[inline(always)]
    pub(super) fn before<P: Past>(
        &self,
        slot: StateSlot,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> StateBefore {
        if P::IS_FRESH {
            let flag = if initial.is_some() { is::ASSIGNED } else { is::EMPTY };
            return StateBefore { value: initial.unwrap_or_default(), flag };
        }
        let value = next(self.word(slot));
        if P::IS_WARM {
            return StateBefore { value, flag: is::ASSIGNED };
        }
        let state = self.states[slot.entry];
        match initial {
            None => StateBefore { value, flag: state },
            Some(initial) => StateBefore {
                value: select_unpredictable(state == is::UNDEFINED, initial, value),
                flag: state << 1,
            },
        }
    }

    #[inline(always)]
    pub(super) fn word(&self, slot: StateSlot) -> u64 {
        u64::from_le_bytes(self.words[slot.word])
    }

    /// Assigns `value` to the entry; returns it.
    #[inline(always)]
    pub fn assign<P: Past>(&mut self, slot: StateSlot, value: u64) -> u64 {
        self.words[slot.word] = value.to_le_bytes();
        if !P::IS_MARKED {
            self.states[slot.entry] = is::ASSIGNED;
        }
        value
    }

    /// As [`assign`](Self::assign); NULL empties the entry.
    #[inline(always)]
    pub fn assign_or_empty<P: Past>(&mut self, slot: StateSlot, value: Option<u64>) -> Option<u64> {
        match value {
            Some(value) => Some(self.assign::<P>(slot, value)),
            None => {
                self.set_empty(slot);
                None
            }
        }
    }

    /// Empties the entry.
    #[inline(always)]
    pub fn set_empty(&mut self, slot: StateSlot) {
        self.states[slot.entry] = is::EMPTY;
    }

    /// Assigns a string of more than seven bytes to the entry.
    pub(super) fn assign_long(&mut self, slot: StateSlot, bytes: &[u8]) {
        if let Some(buffer) = self.buffers.get_mut(slot.text) {
            buffer.set(bytes, self.message);
        }
        self.assign::<Unknown>(slot, LONG);
    }

    /// As [`assign_long`](Self::assign_long), for the first `len` of these bytes.
    #[inline(always)]
    pub(super) fn assign_value(&mut self, slot: StateSlot, value: &ValuePiece, len: usize) {
        if let Some(buffer) = self.buffers.get_mut(slot.text) {
            buffer.set_piece(value, len, self.message);
        }
        self.assign::<Unknown>(slot, LONG);
    }

    /// Returns the long values of an entry, and the number of the message.
    #[inline(always)]
    pub(super) fn long_values(&mut self, slot: StateSlot) -> Option<(&mut LongValues, u64)> {
        Some((self.buffers.get_mut(slot.text)?, self.message))
    }

    /// Returns the previous value of more than seven bytes.
    #[inline(always)]
    pub(super) fn long(&self, slot: StateSlot) -> Option<&LongValue> {
        Some(self.buffers.get(slot.text)?.now())
    }

    /// Returns the previous string, short or long.
    pub(super) fn previous_bytes(&self, slot: StateSlot) -> &[u8] {
        let word = &self.words[slot.word];
        short_bytes(word).unwrap_or_else(|| self.long(slot).map_or(&[], LongValue::bytes))
    }

    /// Returns the integer of a copy or increment that is not in the stream: computed by `next` from the
    /// previous value, or the initial value, which is then assigned. `None` is absent and empties the
    /// entry.
    #[inline(always)]
    pub fn derived<P: Past>(
        &mut self,
        slot: StateSlot,
        initial: Option<u64>,
        next: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        if self.is_assigned::<P>(slot) {
            let value = next(self.word(slot));
            return Some(self.assign::<Warm>(slot, value));
        }
        match initial {
            Some(initial) if P::IS_FRESH || self.states[slot.entry] != is::EMPTY => {
                Some(self.assign::<P>(slot, initial))
            }
            _ => {
                self.set_empty(slot);
                None
            }
        }
    }

    /// Returns the base of a delta.
    #[inline(always)]
    pub fn base<P: Past>(&self, slot: StateSlot, initial: u64) -> Option<u64> {
        if self.is_assigned::<P>(slot) {
            return Some(self.word(slot));
        }
        (P::IS_FRESH || self.states[slot.entry] != is::EMPTY).then_some(initial)
    }

    /// Adds a delta to the previous value, or to `initial`; assigns and returns the sum.
    #[inline(always)]
    pub fn added<P: Past>(
        &mut self,
        slot: StateSlot,
        initial: u64,
        delta: i64,
        add: impl Fn(u64, i64) -> Option<u64>,
    ) -> Option<u64> {
        if self.is_assigned::<P>(slot) {
            let sum = add(self.word(slot), delta)?;
            return Some(self.assign::<Warm>(slot, sum));
        }
        let sum = add(self.base::<P>(slot, initial)?, delta)?;
        Some(self.assign::<P>(slot, sum))
    }

    /// Checks the type of the entry's value (D4): `None` if it has another type and the field does
    /// not replace it.
    pub fn check_type(&mut self, slot: StateSlot, tag: u8, replaces: bool) -> Option<()> {
        if !replaces
            && self.entry_state(slot) != EntryState::Undefined
            && self.tags[slot.tag] != tag
        {
            return None;
        }
        self.tags[slot.tag] = tag;
        Some(())
    }

    /// Returns the previous decimal: mantissa and exponent.
    #[inline(always)]
    pub(super) fn scaled(&self, slot: StateSlot) -> (i64, i32) {
        let exponent = u64::from_le_bytes(self.words[slot.word + 1]);
        (self.word(slot) as i64, exponent as i32)
    }

    #[inline(always)]
    pub(super) fn assign_scaled(&mut self, slot: StateSlot, mantissa: i64, exponent: i32) {
        self.words[slot.word + 1] = i64::from(exponent).to_le_bytes();
        self.assign::<Unknown>(slot, mantissa as u64);
    }
}

/// A previous value in transfer to or from the dynamic engine.
pub(super) enum Previous<'v> {
    Undefined,
    Empty,
    Word(u64),
    Scaled(i64, i32),
    Bytes(&'v [u8]),
}

/// Functions of [`ModuleState`] for the dispatcher, independent of its size.
pub trait PreviousValues: Clone + std::fmt::Debug + sealed::Handover {}

impl<const WORDS: usize, const ENTRIES: usize, const TAGS: usize> PreviousValues
    for ModuleState<WORDS, ENTRIES, TAGS>
{
}

pub(super) mod sealed {
    use super::{LastTemplate, Previous, StateSlot};
    use crate::rt::facts::ValueKind;

    /// Transfer of previous values, entry by entry.
    pub trait Handover {
        /// Resets every dictionary and the template id.
        fn reset(&mut self);
        fn begin(&mut self);
        fn last(&self) -> LastTemplate;
        /// Returns the last template as a word, to be restored.
        fn last_word(&self) -> u64;
        fn set_last_word(&mut self, last: u64);
        fn set_last(&mut self, last: LastTemplate);
        #[allow(private_interfaces)]
        fn previous(&self, slot: StateSlot, kind: ValueKind) -> Previous<'_>;
        #[allow(private_interfaces)]
        fn set_previous(&mut self, slot: StateSlot, value: Previous<'_>);
        fn tag(&self, slot: StateSlot) -> u8;
        fn set_tag(&mut self, slot: StateSlot, tag: u8);
    }
}

impl<const WORDS: usize, const ENTRIES: usize, const TAGS: usize> sealed::Handover
    for ModuleState<WORDS, ENTRIES, TAGS>
{
    #[inline]
    fn reset(&mut self) {
        self.reset_values();
        if ENTRIES > RESET_WHOLE_MAX {
            self.used = 0;
        }
        self.is_fresh = true;
        self.last_template = LastTemplate::Undefined.word();
    }

    #[inline]
    fn begin(&mut self) {
        self.message += 1;
    }

    fn last(&self) -> LastTemplate {
        LastTemplate::of_word(self.last_template)
    }

    #[inline]
    fn last_word(&self) -> u64 {
        self.last_template
    }

    #[inline]
    fn set_last_word(&mut self, last: u64) {
        self.last_template = last;
    }

    fn set_last(&mut self, last: LastTemplate) {
        self.last_template = last.word();
    }

    #[allow(private_interfaces)]
    fn previous(&self, slot: StateSlot, kind: ValueKind) -> Previous<'_> {
        match (self.entry_state(slot), kind) {
            (EntryState::Undefined, _) => Previous::Undefined,
            (EntryState::Empty, _) => Previous::Empty,
            (_, ValueKind::Integer) => Previous::Word(self.word(slot)),
            (_, ValueKind::Text) => Previous::Bytes(self.previous_bytes(slot)),
            (_, ValueKind::Scaled) => {
                let (mantissa, exponent) = self.scaled(slot);
                Previous::Scaled(mantissa, exponent)
            }
        }
    }

    #[allow(private_interfaces)]
    fn set_previous(&mut self, slot: StateSlot, value: Previous<'_>) {
        self.is_fresh = false;
        self.used |= Self::blocks(slot.entry, 1);
        match value {
            Previous::Undefined => self.states[slot.entry] = is::UNDEFINED,
            Previous::Empty => self.set_empty(slot),
            Previous::Word(value) => {
                self.assign::<Unknown>(slot, value);
            }
            Previous::Scaled(mantissa, exponent) => self.assign_scaled(slot, mantissa, exponent),
            Previous::Bytes(bytes) => match TextValue::short(bytes) {
                Some(text) => {
                    self.assign::<Unknown>(slot, text.word());
                }
                None => self.assign_long(slot, bytes),
            },
        }
    }

    fn tag(&self, slot: StateSlot) -> u8 {
        self.tags.get(slot.tag).copied().unwrap_or_default()
    }

    fn set_tag(&mut self, slot: StateSlot, tag: u8) {
        if let Some(of_slot) = self.tags.get_mut(slot.tag) {
            *of_slot = tag;
        }
    }
}
