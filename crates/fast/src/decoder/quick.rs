//! Decodes messages of templates that consist of runs, from the presence map to the end.
//!
//! If any part of a message is not plain, nothing is kept: dictionaries are updated only after the
//! last byte, and the engine decodes the message again from its start.

use super::lanes::{self, RecordPlace, RunProgress};
use super::vectors::{self, VectorEngine};
use crate::dictionary::{DictionaryEntries, LaneState};
use crate::limits::Limits;
use crate::message::{MessageStore, pair_word};
use crate::program::{Program, Quick, QuickSequence};
use crate::template::TemplateId;

/// Decoding of one plain message.
pub(super) struct PlainMessage<'q> {
    pub(super) program: &'q Program,
    pub(super) dictionary: &'q mut DictionaryEntries,
    pub(super) store: &'q mut MessageStore,
    pub(super) limits: &'q Limits,
    pub(super) obey_reset: bool,
    pub(super) vectors: &'q mut VectorEngine,
}

impl<'q> PlainMessage<'q> {
    /// Decodes the message at the start of `input`; returns its template's index and its length, or
    /// `None` if the engine must decode it.
    #[inline(always)]
    pub(super) fn decode(&mut self, input: &[u8]) -> Option<(u32, usize)> {
        let (bits, mut at) = lanes::presence_map(input, 0)?;
        let index = match bits >> 63 {
            0 => self.dictionary.last_template()?,
            _ => {
                let id = lanes::unsigned_at(input, &mut at)?;
                self.program.template_index(TemplateId(u32::try_from(id).ok()?))? as u32
            }
        };
        let quick = self.program.quick.get(index as usize)?.as_ref()?;
        let bits = bits << 1;
        if bits & (u64::MAX >> quick.map_bits) != 0 {
            return None;
        }
        // Repeating these has no further effect.
        let is_reset = quick.reset && self.obey_reset;
        self.dictionary.begin_plain(index, is_reset, quick.has_entries);
        self.dictionary.settle(self.program, self.vectors.wide, &self.store.words);
        self.runs(quick, input, (&mut at, bits))?;
        self.dictionary.await_lanes(index);
        Some((index, at))
    }

    #[inline(always)]
    fn runs(&mut self, quick: &Quick, bytes: &[u8], (at, bits): (&mut usize, u64)) -> Option<()> {
        let bytes_max = self.limits.message_bytes_max;
        let base = self.store.reserve(quick.record_words as usize, bytes_max).ok()?;
        let mut fields = LaneState::default();
        let mut present = u64::MAX;
        if let Some(run) = quick.run {
            let run = self.program.runs.get(run as usize)?;
            let (state, lanes) = self.dictionary.lanes::<false>(run)?;
            let mut progress = RunProgress { position: *at, state };
            let first = base + run.first_slot as usize;
            let out = self.store.words.get_mut(first..)?;
            lanes::single(run, bytes, bits, lanes, out, &mut progress)?;
            *at = progress.position;
            present = lanes::presence_word(run, progress.state.carried());
            fields = progress.state;
        }
        *self.store.words.get_mut(base + quick.presence_at as usize)? = present.to_le_bytes();
        self.dictionary.note_fields(fields);
        match &quick.sequence {
            Some(sequence) => self.sequence(bytes, at, sequence, base),
            None => Some(()),
        }
    }

    /// Decodes the sequence.
    #[inline]
    fn sequence(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        sequence: &QuickSequence,
        base: usize,
    ) -> Option<()> {
        let count = lanes::unsigned_at(bytes, at)?;
        // An entry has at least one byte.
        let most = self.limits.entries_max.min(self.limits.entries_total_max);
        if count > u64::from(most) || count > (bytes.len() - *at) as u64 {
            return None;
        }
        let count = count as u32;
        let segment = self.program.segments.get(sequence.segment as usize)?;
        let run = self.program.runs.get(sequence.run as usize)?;
        let step = segment.record_words as usize;
        let words = step.checked_mul(count as usize)?;
        let first = self.store.reserve(words, self.limits.message_bytes_max).ok()?;
        let place = self.store.words.get_mut(base + sequence.slot as usize)?;
        *place = pair_word(count, first as u32);
        if count == 0 {
            return Some(());
        }
        let (state, lanes) = self.dictionary.lanes::<false>(run)?;
        let mut progress = RunProgress { position: *at, state };
        let words = &mut self.store.words;
        let place = RecordPlace { words, base: first, step, presence_at: segment.presence_at };
        if vectors::entries(self.vectors, run, bytes, place, lanes, &mut progress, count, true)
            != count
        {
            return None;
        }
        *at = progress.position;
        self.dictionary.note_entries(count, progress.state);
        Some(())
    }
}
