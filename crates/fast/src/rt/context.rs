//! State of decoding one message, apart from its bytes and the previous values.

use super::cursor::{InputCursor, seldom};
use super::growth::Growth;
use super::kernel::CpuKernel;
use super::lanes::Sequences;
use super::room::{LongValues, TextArena, TextPiece};
use super::text::{Charset, TextValue};
use crate::EngineUnderTest;
use crate::decoder::vectors::Wide;
use crate::dictionary::LEN_MAX;
use crate::limits::Limits;
use crate::wire::{Conformance, Findings};

/// Most nesting levels of a message, including the outermost.
const DEPTHS: u32 = Limits::DEPTH_MAX + 1;

/// Reportable errors, in the message being decoded, that do not make a value doubtful.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) overlong_integer: u32,
    pub(super) overlong_presence_map: u32,
    pub(super) presence_map_bits: u32,
}

/// Remaining resources of a message, initially all that the limits allow.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    text: usize,
    /// Records besides the message's own: sequence entries and dynamic references.
    records: u32,
    nesting: u32,
    /// Nested groups and sequences.
    depth: u32,
    has_reset: bool,
}

/// Limits, counters and buffers for the message being decoded.
#[derive(Clone, Debug, Default)]
pub struct CodingContext {
    /// Empty between messages.
    notes: Notes,
    is_noted: bool,
    pub(super) string_max: usize,
    /// Address of the packet's end. Bytes after it may be readable, but are not part of the
    /// message.
    end: usize,
    entries_max: u32,
    left: Left,
    /// Resources of a message at its start.
    full: Left,
    obey_reset: bool,
    is_stream: bool,
    is_canonical: bool,
    /// Strings of the message that exceed a word.
    pub(super) arena: TextArena,
    /// Arenas of the enclosing messages, if dynamic references nest.
    outer_arenas: Vec<TextArena>,
    /// Bytes by which the storage of messages may still grow.
    pub growth: Growth,
    /// By generated template: true if it equals the template of the set in use.
    enabled: Vec<bool>,
    is_all_enabled: bool,
    /// SIMD decoder of sequence entries, if the CPU supports it and the options allow it.
    pub(super) wide: Option<Wide>,
    /// Sequences that SIMD can decode.
    pub(super) sequences: Sequences,
}

impl CodingContext {
    pub(super) fn new(
        enabled: Vec<bool>,
        conformance: Conformance,
        limits: &Limits,
        obey_reset: bool,
        record_words: usize,
    ) -> Self {
        // Every record counts as the largest of the dynamic engine, and dynamic references count as
        // entries. Messages near the limit of memory or entries are left to the dynamic engine.
        let records = limits.message_bytes_max / 8 / record_words.max(1);
        let full = Left {
            text: limits.message_bytes_max,
            records: limits
                .entries_total_max
                .min(u32::try_from(records).unwrap_or(u32::MAX).saturating_sub(1)),
            nesting: limits.nesting_max,
            // If not even one record fits, no message is accepted.
            depth: if records > 0 { DEPTHS } else { 0 },
            has_reset: false,
        };
        Self {
            string_max: limits.string_max as usize,
            entries_max: limits.entries_max,
            full,
            // Limits words and strings together; a message of the dynamic engine has both.
            growth: Growth::of(limits.message_bytes_max.saturating_mul(2)),
            obey_reset,
            is_all_enabled: enabled.iter().all(|enabled| *enabled),
            enabled,
            is_canonical: conformance >= Conformance::Canonical,
            ..Self::default()
        }
    }

    /// Enables SIMD for sequence entries, if the CPU supports it and the engine uses it.
    pub(super) fn use_vectors(&mut self, engine: EngineUnderTest) {
        if matches!(engine, EngineUnderTest::Automatic | EngineUnderTest::Vectors) {
            self.wide = Wide::detect();
        }
    }

    /// Begins a message of a packet that ends at this address. In a stream the message may be
    /// incomplete; then nothing changes.
    #[inline(always)]
    pub(super) fn begin_in(&mut self, end: usize, is_stream: bool) {
        self.end = end;
        self.is_stream = is_stream;
        self.begin();
    }

    /// Begins a message: resets the remaining resources.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.left = self.full;
    }

    /// True if a reportable error occurred that the conformance level may reject.
    #[inline(always)]
    pub(super) fn is_noted(&self) -> bool {
        self.is_noted
    }

    /// Records an overlong integer.
    #[cold]
    #[inline(never)]
    pub(super) fn note_integer(&mut self) {
        self.is_noted = true;
        self.notes.overlong_integer += 1;
    }

    /// Records an overlong presence map.
    #[cold]
    #[inline(never)]
    pub(super) fn note_map(&mut self) {
        self.is_noted = true;
        self.notes.overlong_presence_map += 1;
    }

    /// Abandons a message and discards what was recorded for it.
    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self) {
        _ = self.take_notes();
        let outer: usize = self.outer_arenas.drain(..).map(|arena| arena.capacity()).sum();
        self.growth.give_back(outer);
    }

    /// Frees the strings after the storage of all messages was freed; growth starts again.
    pub(super) fn release(&mut self) {
        self.arena = TextArena::default();
        self.growth.release();
    }

    /// Returns and clears the recorded reportable errors.
    #[cold]
    pub(super) fn take_notes(&mut self) -> Notes {
        self.is_noted = false;
        std::mem::take(&mut self.notes)
    }

    /// Adds the message's reportable errors to the findings.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, findings: &mut Findings) {
        let notes = self.take_notes();
        findings.overlong_integer += u64::from(notes.overlong_integer);
        findings.overlong_presence_map += u64::from(notes.overlong_presence_map);
        findings.presence_map_bits += u64::from(notes.presence_map_bits);
    }

    /// Ends the message: `None` if the conformance level rejects a recorded error.
    #[inline(always)]
    pub fn end_message(&self) -> Option<()> {
        if self.is_noted() && self.is_canonical {
            seldom();
            return None;
        }
        Some(())
    }

    /// True if the message reset the dictionaries.
    #[inline(always)]
    pub(super) fn has_reset(&self) -> bool {
        self.left.has_reset
    }

    /// True if generated code may decode this template on this stream.
    #[inline(always)]
    pub fn is_enabled(&self, template: usize) -> bool {
        self.is_all_enabled || self.is_among_enabled(template)
    }

    #[cold]
    #[inline(never)]
    fn is_among_enabled(&self, template: usize) -> bool {
        self.enabled.get(template).is_some_and(|enabled| *enabled)
    }

    /// Returns true if a template's reset attribute applies; the caller must then reset.
    #[inline(always)]
    pub fn obeys_reset(&mut self) -> bool {
        self.left.has_reset |= self.obey_reset;
        self.obey_reset
    }

    /// True if the message resets the dictionary, so no rollback copy is needed.
    #[inline(always)]
    pub fn forgets(&self) -> bool {
        self.obey_reset && !self.is_stream
    }

    /// Begins a message of a template with `depth` nested levels.
    #[inline(always)]
    pub fn begin_message(&mut self, depth: u32) -> Option<()> {
        (depth < self.left.depth).then_some(())
    }

    /// Enters a dynamic reference inside `depth` groups and sequences.
    pub fn begin_nested(&mut self, depth: u32) -> Option<()> {
        self.left.nesting = self.left.nesting.checked_sub(1)?;
        self.left.records = self.left.records.checked_sub(1)?;
        self.left.depth = self.left.depth.checked_sub(depth + 1)?;
        self.outer_arenas.push(std::mem::take(&mut self.arena));
        Some(())
    }

    /// True inside a dynamic reference.
    #[inline(always)]
    pub fn is_nested(&self) -> bool {
        !self.outer_arenas.is_empty()
    }

    /// Leaves the dynamic reference.
    pub fn end_nested(&mut self, depth: u32) {
        self.left.nesting += 1;
        self.left.depth += depth + 1;
        let outer = self.outer_arenas.pop().unwrap_or_default();
        let inner = std::mem::replace(&mut self.arena, outer);
        self.growth.give_back(inner.capacity());
    }

    /// Checks that the cursor has not passed the packet's end. Otherwise everything read since the
    /// last check is invalid.
    #[inline(always)]
    pub fn check_end<K: CpuKernel>(&self, cursor: &InputCursor<'_, K>) -> Option<()> {
        (cursor.address() <= self.end).then_some(())
    }

    /// As [`begin_sequence`](Self::begin_sequence), if each entry has at least one byte.
    #[inline(always)]
    pub fn begin_sequence_of_bytes<K: CpuKernel>(
        &mut self,
        count: u64,
        cursor: &InputCursor<'_, K>,
    ) -> Option<usize> {
        let count = self.begin_sequence(count)?;
        (cursor.address().checked_add(count)? <= self.end).then_some(count)
    }

    /// Returns the unread bytes of the packet; `None` if the cursor has passed its end.
    #[cfg(vectors)]
    #[inline(always)]
    pub(super) fn room<K: CpuKernel>(&self, cursor: &InputCursor<'_, K>) -> Option<usize> {
        self.end.checked_sub(cursor.address())
    }

    /// Counts the entries of a sequence against the limits.
    #[inline(always)]
    pub fn begin_sequence(&mut self, count: u64) -> Option<usize> {
        if count > u64::from(self.entries_max) {
            return None;
        }
        self.left.records = self.left.records.checked_sub(count as u32)?;
        Some(count as usize)
    }

    /// Records set bits that the template does not use (R8).
    #[inline(always)]
    pub fn unused_map_bits(&mut self, bits: u64) {
        if bits != 0 {
            self.note_map_bits();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_map_bits(&mut self) {
        self.is_noted = true;
        self.notes.presence_map_bits += 1;
    }

    /// Begins a message with strings.
    #[inline(always)]
    pub fn begin_arena(&mut self) {
        self.arena.clear();
    }

    /// Moves the long strings of a message to it.
    #[inline(always)]
    pub fn end_arena(&mut self, arena: &mut Vec<u8>) {
        if self.arena.end() > 0 {
            seldom();
            self.arena.move_to(arena);
        }
    }

    /// Checks, before encoding a string, that a decoder would accept it.
    pub(super) fn accepts(&self, value: &[u8], charset: Charset) -> Option<()> {
        let is_right = match charset {
            Charset::Ascii => value.is_ascii(),
            Charset::Unicode => std::str::from_utf8(value).is_ok(),
            Charset::Bytes => true,
        };
        (is_right && value.len() <= self.string_max).then_some(())
    }

    /// Returns a string of the message.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) -> Option<TextValue> {
        match TextValue::short(bytes) {
            Some(text) => Some(text),
            None => self.long_text(bytes, &[]),
        }
    }

    /// Returns a string of the message: the `len` bytes, more than seven, that `push` appends to the arena.
    /// `None`, without changes, if that fails because the arena must grow, or if a limit is exceeded.
    #[inline(always)]
    pub(super) fn pushed_text(
        &mut self,
        len: usize,
        push: impl FnOnce(&mut TextArena) -> Option<()>,
    ) -> Option<TextValue> {
        let (start, text) = (self.arena.end(), self.left.text.checked_sub(len)?);
        push(&mut self.arena)?;
        self.left.text = text;
        Some(TextValue::outside(start, len as u32))
    }

    /// As [`pushed_text`](Self::pushed_text), for a new previous value: see [`LongValues::splice`]. As a
    /// closure, which is not inlined, that took 2 % more instructions on string deltas.
    #[inline(always)]
    pub(super) fn spliced_text(
        &mut self,
        values: &mut LongValues,
        kept: usize,
        back: &TextPiece,
        len: usize,
        message: u64,
    ) -> Option<TextValue> {
        let (start, text) = (self.arena.end(), self.left.text.checked_sub(len)?);
        values.splice(kept, back, len, message, &mut self.arena)?;
        self.left.text = text;
        Some(TextValue::outside(start, len as u32))
    }

    /// Returns a string of more than seven bytes from two parts; the second may be empty.
    pub(super) fn long_text(&mut self, front: &[u8], back: &[u8]) -> Option<TextValue> {
        let (start, len) = (self.arena.end(), front.len() + back.len());
        self.left.text = self.left.text.checked_sub(len)?;
        if len >= LEN_MAX {
            return None;
        }
        self.arena.push(front, &mut self.growth)?;
        self.arena.push(back, &mut self.growth)?;
        Some(TextValue::outside(start, len as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_given_up_inside_references_leaves_nothing_behind() {
        let mut context =
            CodingContext::new(vec![true], Conformance::Strict, &Limits::default(), true, 1);
        context.begin();
        context.begin_nested(0).expect("within the limits");
        context.begin_nested(0).expect("within the limits");
        context.note_integer();
        context.give_up();
        assert!(context.outer_arenas.is_empty() && !context.is_noted());
        context.begin();
        assert!(context.begin_message(Limits::DEPTH_MAX).is_some());
    }
}
