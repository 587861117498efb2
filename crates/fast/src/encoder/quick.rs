//! Encodes messages of templates that are nothing but runs.
//!
//! Nothing is kept of a message that is not plain throughout: dictionaries take their lanes back
//! after the last field, and the operations encode the message from its start.

use super::lanes::{self, Entries, Expected, Head, Lanes};
use crate::dictionary::{Dictionary, LaneState, Word};
use crate::limits::Limits;
use crate::message::{Store, pair_of};
use crate::program::{Program, Run};
use crate::rt::Output;

/// One run over one message.
pub(super) struct Message<'q> {
    pub(super) program: &'q Program,
    pub(super) dictionary: &'q mut Dictionary,
    pub(super) store: &'q Store,
    pub(super) limits: &'q Limits,
    pub(super) obey_reset: bool,
    /// Room for what is expected of entries.
    pub(super) expected: &'q mut Expected,
}

impl<'q> Message<'q> {
    /// Encodes a message of the template `index` into `bytes` and returns its length. The dictionary
    /// has seen nothing but resets if this fails, or if the message is longer than `room`.
    #[inline]
    pub(super) fn encode(&mut self, index: u32, room: usize, bytes: &mut [u8]) -> Option<usize> {
        let program = self.program;
        let quick = program.quick.get(index as usize)?.as_ref()?;
        let template = program.outgoing.templates.get(index as usize)?.as_ref()?;
        let head = match self.dictionary.last_template() == Some(index) {
            true => Head::Known,
            false => Head::Named(template.id),
        };
        if program.templates.get(index as usize)?.reset && self.obey_reset {
            self.dictionary.reset_values();
        }
        let present = self.word(quick.presence_at as usize)?;
        if present & template.sequence != template.sequence {
            return None;
        }
        let mut out = Output::new(bytes, 0);
        let mut fields = None;
        if let Some(index) = quick.run {
            let lanes = Lanes::of(program, index)?;
            let before = self.dictionary.lanes::<false>(program, lanes.run)?;
            let words = self.store.words.get(lanes.run.first_slot as usize..)?;
            let (pos, state) = lanes.record(words, present, head, before, out)?;
            out = Output::new(bytes, pos);
            fields = Some((lanes.run, words, state));
        } else {
            lanes::begin(head, 0, &mut out)?;
        }
        let mut entries = None;
        if let Some(sequence) = &quick.sequence {
            let (count, first) = pair_of(*self.store.words.get(sequence.slot as usize)?);
            if count > self.limits.entries_max.min(self.limits.entries_total_max) {
                return None;
            }
            out.unsigned(u64::from(count))?;
            if count > 0 {
                let lanes = Lanes::of(program, sequence.run)?;
                self.expected.begin(lanes.run, self.dictionary.lanes::<false>(program, lanes.run)?);
                let segment = program.segments.get(sequence.segment as usize)?;
                let of_sequence = Entries {
                    words: self.store.words.get(first as usize..)?,
                    step: segment.record_words as usize,
                    presence_at: segment.presence_at as usize,
                    count: count as usize,
                };
                out.append(|bytes, pos| {
                    lanes.entries(of_sequence, self.expected, Output::new(bytes, pos))
                })?;
                entries = Some(lanes.run);
            }
        }
        let len = out.position();
        if len > room {
            return None;
        }
        self.dictionary.set_last_template(index);
        if let Some((run, words, state)) = fields.filter(|(run, ..)| run.kept != 0) {
            self.settle_fields(run, words, state);
        }
        if let Some(run) = entries.filter(|run| run.kept != 0) {
            let (state, lanes) = self.expected.end(run);
            self.dictionary.set_lanes(None, run, lanes, state);
        }
        Some(len)
    }

    /// Gives the dictionary the lanes of the message's own fields.
    #[inline(always)]
    fn settle_fields(&mut self, run: &Run, words: &[Word], state: LaneState) {
        if run.deltas & !state.carried() == 0 {
            return self.dictionary.set_lanes(None, run, words, state);
        }
        self.settle_with_absent(run, words, state);
    }

    /// As [`settle_fields`](Self::settle_fields); deltas that are absent keep their previous value.
    fn settle_with_absent(&mut self, run: &Run, words: &[Word], state: LaneState) {
        let Some((_, before)) = self.dictionary.lanes::<false>(self.program, run) else { return };
        let mut lanes = *before;
        for (lane, (kept, word)) in lanes.iter_mut().zip(words).enumerate() {
            if (run.deltas & !state.carried()) >> lane & 1 == 0 {
                *kept = *word;
            }
        }
        self.dictionary.set_lanes(None, run, &lanes, state);
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u64> {
        self.store.words.get(at).map(|word| u64::from_le_bytes(*word))
    }
}
