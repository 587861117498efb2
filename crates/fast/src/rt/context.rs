//! What decoding a message carries along besides bytes and state.

use super::cursor::{Cursor, seldom};
use super::growth::Growth;
use super::kernel::Kernel;
use super::lanes::Sequences;
use super::text::{Charset, Text};
use crate::EngineUnderTest;
use crate::decoder::vectors::Wide;
use crate::limits::Limits;
use crate::wire::{Conformance, Findings};

/// Levels that a message may have, with the outermost.
const DEPTHS: u32 = Limits::DEPTH_MAX + 1;

/// Longest string that a place in the arena can say.
const TEXT_MAX: usize = 1 << 24;

/// Reportable errors that do not leave a value in doubt, of the message being decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) overlong_integer: u32,
    pub(super) overlong_presence_map: u32,
    pub(super) presence_map_bits: u32,
}

/// What a message uses up. A message begins with all that the limits allow.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    text: usize,
    /// Records besides the message's own: of entries, and of messages inside.
    records: u32,
    nesting: u32,
    /// Levels of groups and sequences.
    depth: u32,
    has_reset: bool,
}

/// Limits, counters and buffers of a message on its way.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Empty between messages.
    notes: Notes,
    is_noted: bool,
    pub(super) string_max: usize,
    /// The address where the packet ends. Bytes behind it may be readable, but are not the message's.
    end: usize,
    entries_max: u32,
    left: Left,
    /// What a message begins with.
    full: Left,
    obey_reset: bool,
    is_stream: bool,
    is_canonical: bool,
    /// Strings of the message that do not fit a word.
    pub(super) arena: Vec<u8>,
    /// Those of the messages around, where references nest.
    outer_arenas: Vec<Vec<u8>>,
    /// What the storage of messages may still grow by.
    pub growth: Growth,
    /// By generated template: whether it is the one of the template set in use.
    enabled: Vec<bool>,
    is_all_enabled: bool,
    /// What reads entries that have lanes, if this CPU has it and the options let it.
    pub(super) wide: Option<Wide>,
    /// The sequences whose entries have lanes.
    pub(super) sequences: Sequences,
}

impl Context {
    pub(super) fn new(
        enabled: Vec<bool>,
        conformance: Conformance,
        limits: &Limits,
        obey_reset: bool,
        record_words: usize,
    ) -> Self {
        // Every record is counted as the largest of the dynamic engine, and messages inside messages as
        // entries: what is near the limit on memory or on entries is the dynamic engine's to judge.
        let records = limits.message_bytes_max / 8 / record_words.max(1);
        let full = Left {
            text: limits.message_bytes_max,
            records: limits
                .entries_total_max
                .min(u32::try_from(records).unwrap_or(u32::MAX).saturating_sub(1)),
            nesting: limits.nesting_max,
            // Where not even one record fits, no message is begun.
            depth: if records > 0 { DEPTHS } else { 0 },
            has_reset: false,
        };
        Self {
            string_max: limits.string_max as usize,
            entries_max: limits.entries_max,
            full,
            // Words and strings, as a message of the dynamic engine.
            growth: Growth::of(limits.message_bytes_max.saturating_mul(2)),
            obey_reset,
            is_all_enabled: enabled.iter().all(|enabled| *enabled),
            enabled,
            is_canonical: conformance >= Conformance::Canonical,
            ..Self::default()
        }
    }

    /// Has entries that have lanes read by vectors where the CPU has them, and the engine is one of those.
    pub(super) fn use_vectors(&mut self, engine: EngineUnderTest) {
        if matches!(engine, EngineUnderTest::Automatic | EngineUnderTest::Vectors) {
            self.wide = Wide::detect();
        }
    }

    /// Begins a message of a packet that ends at this address. In a stream the message may be cut, and
    /// then nothing has changed.
    #[inline(always)]
    pub(super) fn begin_in(&mut self, end: usize, is_stream: bool) {
        self.end = end;
        self.is_stream = is_stream;
        self.begin();
    }

    /// Begins a message: nothing is used up.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        self.left = self.full;
    }

    /// Whether something was noted that the conformance level may raise.
    #[inline(always)]
    pub(super) fn is_noted(&self) -> bool {
        self.is_noted
    }

    /// Notes an integer longer than needed.
    #[cold]
    #[inline(never)]
    pub(super) fn note_integer(&mut self) {
        self.is_noted = true;
        self.notes.overlong_integer += 1;
    }

    /// Notes a presence map longer than needed.
    #[cold]
    #[inline(never)]
    pub(super) fn note_map(&mut self) {
        self.is_noted = true;
        self.notes.overlong_presence_map += 1;
    }

    /// Gives a message up: nothing of it is left.
    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self) {
        _ = self.take_notes();
        let outer: usize = self.outer_arenas.drain(..).map(|arena| arena.capacity()).sum();
        self.growth.give_back(outer);
    }

    /// Frees the strings, where the storage of all messages was freed: it grows again from nothing.
    pub(super) fn release(&mut self) {
        self.arena = Vec::new();
        self.growth.release();
    }

    /// Takes out what was noted.
    #[cold]
    pub(super) fn take_notes(&mut self) -> Notes {
        self.is_noted = false;
        std::mem::take(&mut self.notes)
    }

    /// Adds the message's notes to the findings.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, findings: &mut Findings) {
        let notes = self.take_notes();
        findings.overlong_integer += u64::from(notes.overlong_integer);
        findings.overlong_presence_map += u64::from(notes.overlong_presence_map);
        findings.presence_map_bits += u64::from(notes.presence_map_bits);
    }

    /// The end of a message: `None` if the conformance level raises what was noted in it.
    #[inline(always)]
    pub fn end_message(&self) -> Option<()> {
        if self.is_noted() && self.is_canonical {
            seldom();
            return None;
        }
        Some(())
    }

    /// Whether the message emptied the dictionaries.
    #[inline(always)]
    pub(super) fn has_reset(&self) -> bool {
        self.left.has_reset
    }

    /// Whether a generated template may run on this stream.
    #[inline(always)]
    pub fn is_enabled(&self, template: usize) -> bool {
        self.is_all_enabled || self.is_among_enabled(template)
    }

    #[cold]
    #[inline(never)]
    fn is_among_enabled(&self, template: usize) -> bool {
        self.enabled.get(template).is_some_and(|enabled| *enabled)
    }

    /// Whether the reset attribute of a template counts, which is then taken to have been obeyed.
    #[inline(always)]
    pub fn obeys_reset(&mut self) -> bool {
        self.left.has_reset |= self.obey_reset;
        self.obey_reset
    }

    /// Whether the reset attribute of a template makes that nobody asks for what was before.
    #[inline(always)]
    pub fn forgets(&self) -> bool {
        self.obey_reset && !self.is_stream
    }

    /// Begins a message of a template that nests `depth` deep.
    #[inline(always)]
    pub fn begin_message(&mut self, depth: u32) -> Option<()> {
        (depth < self.left.depth).then_some(())
    }

    /// Goes into a dynamic reference that stands `depth` groups and sequences deep.
    pub fn begin_nested(&mut self, depth: u32) -> Option<()> {
        self.left.nesting = self.left.nesting.checked_sub(1)?;
        self.left.records = self.left.records.checked_sub(1)?;
        self.left.depth = self.left.depth.checked_sub(depth + 1)?;
        self.outer_arenas.push(std::mem::take(&mut self.arena));
        Some(())
    }

    /// Comes back from it.
    pub fn end_nested(&mut self, depth: u32) {
        self.left.nesting += 1;
        self.left.depth += depth + 1;
        let outer = self.outer_arenas.pop().unwrap_or_default();
        let inner = std::mem::replace(&mut self.arena, outer);
        self.growth.give_back(inner.capacity());
    }

    /// Whether the cursor is still within the packet. What was read since it was last asked counts for
    /// nothing if not.
    #[inline(always)]
    pub fn check_end<K: Kernel>(&self, cursor: &Cursor<'_, K>) -> Option<()> {
        (cursor.address() <= self.end).then_some(())
    }

    /// As [`begin_sequence`](Self::begin_sequence), where each entry takes a byte at least.
    #[inline(always)]
    pub fn begin_sequence_of_bytes<K: Kernel>(
        &mut self,
        count: u64,
        cursor: &Cursor<'_, K>,
    ) -> Option<usize> {
        let count = self.begin_sequence(count)?;
        (cursor.address().checked_add(count)? <= self.end).then_some(count)
    }

    /// Bytes of the packet that are not read yet; `None` if more than the packet has been read.
    #[cfg(vectors)]
    #[inline(always)]
    pub(super) fn room<K: Kernel>(&self, cursor: &Cursor<'_, K>) -> Option<usize> {
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

    /// Counts set bits that the template does not use (R8).
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

    /// Counts a string that does not fit a word against what the message may have.
    #[inline]
    pub(super) fn charge(&mut self, len: usize) -> Option<()> {
        self.left.text = self.left.text.checked_sub(len)?;
        (len < TEXT_MAX).then_some(())
    }

    /// Begins a message with strings.
    #[inline(always)]
    pub fn begin_arena(&mut self) {
        self.arena.clear();
    }

    /// Hands the long strings of a message over to it.
    #[inline(always)]
    pub fn end_arena(&mut self, arena: &mut Vec<u8>) {
        if self.arena.is_empty() {
            arena.clear();
        } else {
            seldom();
            std::mem::swap(&mut self.arena, arena);
        }
    }

    /// Whether a decoder takes a string to be written.
    pub(super) fn accepts(&self, value: &[u8], charset: Charset) -> Option<()> {
        let is_right = match charset {
            Charset::Ascii => value.is_ascii(),
            Charset::Unicode => std::str::from_utf8(value).is_ok(),
            Charset::Bytes => true,
        };
        (is_right && value.len() <= self.string_max).then_some(())
    }

    /// A string of the message.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) -> Option<Text> {
        match Text::short(bytes) {
            Some(text) => Some(text),
            None => self.long_text(bytes, &[]),
        }
    }

    /// A string of the message that is the first `len` of these bytes, more than seven. All are copied, which takes no
    /// call, and the rest is cut off.
    #[inline(always)]
    pub(super) fn front_of(&mut self, bytes: &[u8; 32], len: usize) -> Option<Text> {
        let start = self.arena.len();
        self.charge(len)?;
        if self.arena.capacity() - start < bytes.len() {
            self.growth.reserve(&mut self.arena, bytes.len())?;
        }
        self.arena.extend_from_slice(bytes);
        self.arena.truncate(start + len);
        Some(Text::outside(u32::try_from(start).ok()?, len as u32))
    }

    /// A string of the message that has more than seven bytes: two parts, the second of which may be empty.
    pub(super) fn long_text(&mut self, front: &[u8], back: &[u8]) -> Option<Text> {
        let (start, len) = (self.arena.len(), front.len() + back.len());
        self.charge(len)?;
        if self.arena.capacity() - start < len {
            self.growth.reserve(&mut self.arena, len)?;
        }
        self.arena.extend_from_slice(front);
        self.arena.extend_from_slice(back);
        Some(Text::outside(u32::try_from(start).ok()?, u32::try_from(len).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_given_up_inside_references_leaves_nothing_behind() {
        let mut context =
            Context::new(vec![true], Conformance::Strict, &Limits::default(), true, 1);
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
