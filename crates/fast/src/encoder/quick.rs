//! Encodes messages of templates that consist of runs.
//!
//! If any part of a message is not plain, nothing is kept: dictionaries are updated only after the
//! last field, and the operations encode the message from its start.

use super::lanes::{self, LastLanes, OutgoingEntries, OutgoingLanes, OutgoingRecord, RecordHead};
use crate::dictionary::{DictionaryEntries, LaneState, LaneWords, Word};
use crate::limits::Limits;
use crate::message::{MessageStore, pair_of};
use crate::program::{LaneRun, Program};
use crate::rt::{CpuKernel, EncodeSegment, OutputCursor};

/// A plain message to encode.
pub(super) struct PlainOutgoing<'q> {
    pub(super) program: &'q Program,
    pub(super) store: &'q MessageStore,
    pub(super) limits: &'q Limits,
    pub(super) obey_reset: bool,
    /// Index of its template.
    pub(super) index: u32,
    /// Most bytes that it may take.
    pub(super) room: usize,
}

/// If this fails, the dictionary has changed only by resets. The context is a buffer for the lanes
/// after the entries.
impl EncodeSegment for PlainOutgoing<'_> {
    type State = DictionaryEntries;
    type Context = LastLanes;

    #[inline(always)]
    fn encode<'o, K: CpuKernel>(
        &self,
        mut out: OutputCursor<'o, K>,
        _: &[u8],
        dictionary: &mut DictionaryEntries,
        last: &mut LastLanes,
    ) -> Option<OutputCursor<'o, K>> {
        let &Self { program, store, limits, index, .. } = self;
        let start = out.address();
        let quick = program.quick.get(index as usize)?.as_ref()?;
        let template = program.outgoing.templates.get(index as usize)?.as_ref()?;
        let head = match dictionary.last_template() == Some(index) {
            true => RecordHead::Known,
            false => RecordHead::Named(template.id),
        };
        let is_reset = program.templates.get(index as usize)?.reset && self.obey_reset;
        if is_reset {
            dictionary.reset_values();
        }
        let is_fresh = is_reset || dictionary.is_unused();
        let present = self.word(quick.presence_at as usize)?;
        if present & template.sequence != template.sequence {
            return None;
        }
        let mut fields = None;
        if let Some(index) = quick.run {
            let lanes = OutgoingLanes::of(program, index)?;
            let before = previous(dictionary, lanes.run, is_fresh)?;
            let words = store.words.get(lanes.run.first_slot as usize..)?;
            let state;
            (out, state) = OutgoingRecord { lanes, words, present, head, before }.encode(out)?;
            fields = Some((lanes.run, words, [before.0, state]));
        } else {
            lanes::begin(head, 0, &mut out)?;
        }
        let mut entries = None;
        if let Some(sequence) = &quick.sequence {
            let (count, first) = pair_of(*store.words.get(sequence.slot as usize)?);
            if count > limits.entries_max.min(limits.entries_total_max) {
                return None;
            }
            out.unsigned(u64::from(count))?;
            if count > 0 {
                let lanes = OutgoingLanes::of(program, sequence.run)?;
                let segment = program.segments.get(sequence.segment as usize)?;
                let of_sequence = OutgoingEntries {
                    words: store.words.get(first as usize..)?,
                    step: segment.record_words as usize,
                    presence_at: segment.presence_at as usize,
                    count: count as usize,
                };
                let before = previous(dictionary, lanes.run, is_fresh)?;
                out = lanes.entries(&of_sequence, before, last, out)?;
                entries = Some((lanes.run, before.0, of_sequence));
            }
        }
        if out.address() - start > self.room {
            return None;
        }
        let entries = match &entries {
            Some((run, before, entries)) => Some((*run, *before, last.lanes(run, entries)?)),
            None => None,
        };
        dictionary.set_last_of_plain(index, is_fresh && !quick.has_entries);
        if let Some((run, words, states)) = fields.filter(|(run, ..)| run.kept != 0) {
            self.settle_fields(dictionary, run, words, states);
        }
        if let Some((run, before, (state, lanes))) = entries.filter(|(run, ..)| run.kept != 0) {
            dictionary.set_lanes(None, run, lanes, before, state);
        }
        Some(out)
    }
}

impl PlainOutgoing<'_> {
    /// Stores the lanes of the message's own fields in the dictionary, given their states before and after it.
    #[inline(always)]
    fn settle_fields(
        &self,
        dictionary: &mut DictionaryEntries,
        run: &LaneRun,
        words: &[Word],
        [before, state]: [LaneState; 2],
    ) {
        if run.deltas & !state.carried() == 0 {
            return dictionary.set_lanes(None, run, words, before, state);
        }
        self.settle_with_absent(dictionary, run, words, state);
    }

    /// As [`settle_fields`](Self::settle_fields), for messages with absent deltas, which keep their
    /// previous value.
    #[inline(never)]
    fn settle_with_absent(
        &self,
        dictionary: &mut DictionaryEntries,
        run: &LaneRun,
        words: &[Word],
        state: LaneState,
    ) {
        let Some((before, words_before)) = dictionary.lanes::<false>(run) else { return };
        let mut lanes = *words_before;
        for (lane, (kept, word)) in lanes.iter_mut().zip(words).enumerate() {
            if (run.deltas & !state.carried()) >> lane & 1 == 0 {
                *kept = *word;
            }
        }
        dictionary.set_lanes(None, run, &lanes, before, state);
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u64> {
        self.store.words.get(at).map(|word| u64::from_le_bytes(*word))
    }
}

/// Returns the lanes of a run before a message; `is_fresh` if every entry is undefined.
#[inline(always)]
fn previous<'d>(
    dictionary: &'d mut DictionaryEntries,
    run: &'d LaneRun,
    is_fresh: bool,
) -> Option<(LaneState, &'d LaneWords)> {
    match is_fresh {
        true => Some(DictionaryEntries::undefined_lanes(run)),
        false => dictionary.lanes::<false>(run),
    }
}
