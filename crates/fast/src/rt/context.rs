//! What decoding a message carries along besides bytes and state.

use super::text::Text;
use crate::limits::Limits;
use crate::wire::{Conformance, Findings};

/// Longest string that a place in the arena can say.
const TEXT_MAX: usize = 1 << 24;

/// Reportable errors that do not leave a value in doubt, of the message being decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    pub(super) overlong_integer: u64,
    pub(super) overlong_presence_map: u64,
    pub(super) presence_map_bits: u64,
}

/// Limits, counters and buffers of a message on its way.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub(super) notes: Notes,
    pub(super) string_max: usize,
    entries_max: u32,
    entries_left: u32,
    text_left: usize,
    words_left: usize,
    nesting_left: u32,
    depth: u32,
    obey_reset: bool,
    has_reset: bool,
    is_canonical: bool,
    /// Strings of the message that do not fit a word.
    pub(super) arena: Vec<u8>,
    /// The string being put together.
    pub(super) scratch: Vec<u8>,
    /// By generated template: whether it is the one of the template set in use.
    enabled: Vec<bool>,
}

impl Context {
    pub(super) fn new(enabled: Vec<bool>, conformance: Conformance) -> Self {
        Self { enabled, is_canonical: conformance >= Conformance::Canonical, ..Self::default() }
    }

    /// Sets every counter to what the limits say.
    #[inline]
    pub(super) fn begin(&mut self, limits: &Limits, obey_reset: bool) {
        self.notes = Notes::default();
        self.string_max = limits.string_max as usize;
        self.entries_max = limits.entries_max;
        self.entries_left = limits.entries_total_max;
        self.text_left = limits.message_bytes_max;
        self.words_left = limits.message_bytes_max / 8;
        self.nesting_left = limits.nesting_max;
        self.depth = 0;
        self.obey_reset = obey_reset;
        self.has_reset = false;
    }

    /// Whether something was noted that the conformance level may raise.
    #[inline(always)]
    pub(super) fn is_noted(&self) -> bool {
        self.notes != Notes::default()
    }

    /// Adds the message's notes to the findings.
    #[cold]
    pub(super) fn settle(&self, findings: &mut Findings) {
        findings.overlong_integer += self.notes.overlong_integer;
        findings.overlong_presence_map += self.notes.overlong_presence_map;
        findings.presence_map_bits += self.notes.presence_map_bits;
    }

    /// The end of a message: `None` if the conformance level raises what was noted in it.
    #[inline(always)]
    pub fn end_message(&self) -> Option<()> {
        (!self.is_canonical || !self.is_noted()).then_some(())
    }

    /// Whether the message emptied the dictionaries.
    #[inline(always)]
    pub(super) fn has_reset(&self) -> bool {
        self.has_reset
    }

    /// Whether a generated template may run on this stream.
    #[inline(always)]
    pub fn is_enabled(&self, template: usize) -> bool {
        self.enabled.get(template).is_some_and(|enabled| *enabled)
    }

    /// Whether the reset attribute of a template counts, which is then taken to have been obeyed.
    #[inline(always)]
    pub fn obeys_reset(&mut self) -> bool {
        self.has_reset |= self.obey_reset;
        self.obey_reset
    }

    /// Begins a message of a template whose record takes `words` and that nests `depth` deep.
    #[inline(always)]
    pub fn begin_message(&mut self, words: usize, depth: u32) -> Option<()> {
        self.words_left = self.words_left.checked_sub(words)?;
        (self.depth + depth <= Limits::DEPTH_MAX).then_some(())
    }

    /// Goes into a dynamic reference that stands `depth` groups and sequences deep.
    pub fn begin_nested(&mut self, depth: u32) -> Option<()> {
        self.nesting_left = self.nesting_left.checked_sub(1)?;
        self.depth += depth + 1;
        Some(())
    }

    /// Comes back from it.
    pub fn end_nested(&mut self, depth: u32) {
        self.nesting_left += 1;
        self.depth -= depth + 1;
    }

    /// Counts the entries of a sequence against the limits. `room` is what the bytes can hold.
    #[inline(always)]
    pub fn begin_sequence(&mut self, count: u64, words: usize, room: usize) -> Option<usize> {
        if count > u64::from(self.entries_max) || count > room as u64 {
            return None;
        }
        self.entries_left = self.entries_left.checked_sub(count as u32)?;
        self.words_left = self.words_left.checked_sub(words.checked_mul(count as usize)?)?;
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
    fn note_map_bits(&mut self) {
        self.notes.presence_map_bits += 1;
    }

    /// Counts a string that does not fit a word against what the message may have.
    #[inline]
    pub(super) fn charge(&mut self, len: usize) -> Option<()> {
        self.text_left = self.text_left.checked_sub(len)?;
        (len < TEXT_MAX).then_some(())
    }

    /// Takes the arena of a message for the strings to come, and hands out the one in use.
    #[inline(always)]
    pub fn begin_arena(&mut self, arena: &mut Vec<u8>) {
        std::mem::swap(&mut self.arena, arena);
        self.arena.clear();
    }

    /// Gives it back.
    #[inline(always)]
    pub fn end_arena(&mut self, arena: &mut Vec<u8>) {
        std::mem::swap(&mut self.arena, arena);
    }

    /// A string of the message.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) -> Option<Text> {
        match Text::short(bytes) {
            Some(text) => Some(text),
            None => self.long_text(bytes),
        }
    }

    pub(super) fn long_text(&mut self, bytes: &[u8]) -> Option<Text> {
        self.charge(bytes.len())?;
        Text::push(&mut self.arena, bytes)
    }
}
