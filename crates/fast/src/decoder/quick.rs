//! Decodes messages of templates that are nothing but runs, from the presence map to the end.
//!
//! Nothing is kept of a message that is not plain throughout: dictionaries take their lanes back
//! after the last byte, and the engine decodes the message again from its first.

use super::lanes::{self, Place, Progress};
use super::vectors::{self, Vectors};
use crate::dictionary::{Dictionary, LaneState};
use crate::limits::Limits;
use crate::message::{Store, pair_word};
use crate::program::{Program, QuickSequence, Run};
use crate::template::TemplateId;

/// One run over one message.
pub(super) struct Message<'q> {
    pub(super) program: &'q Program,
    pub(super) dictionary: &'q mut Dictionary,
    pub(super) store: &'q mut Store,
    pub(super) limits: &'q Limits,
    pub(super) obey_reset: bool,
    pub(super) vectors: &'q mut Vectors,
}

/// A run that was decoded and what the dictionary does not know of it yet.
struct Pending<'q> {
    run: &'q Run,
    /// First lane of its last record.
    at: usize,
    state: LaneState,
}

impl<'q> Message<'q> {
    /// Decodes the message at the start of `bytes`; returns its template's index and its length, or
    /// `None` if the engine has to do it.
    #[inline]
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Option<(u32, usize)> {
        let (bits, mut at) = lanes::presence_map(bytes, 0)?;
        let index = match bits >> 63 {
            0 => self.dictionary.last_template()?,
            _ => {
                let id = lanes::unsigned_at(bytes, &mut at)?;
                self.program.template_index(TemplateId(u32::try_from(id).ok()?))? as u32
            }
        };
        let quick = self.program.quick.get(index as usize)?.as_ref()?;
        let bits = bits << 1;
        if bits & (u64::MAX >> quick.map_bits) != 0 {
            return None;
        }
        // Doing these again changes nothing.
        self.dictionary.set_last_template(index);
        if self.program.templates[index as usize].reset && self.obey_reset {
            self.dictionary.reset_values();
        }
        let bytes_max = self.limits.message_bytes_max;
        let base = self.store.reserve(quick.record_words as usize, bytes_max).ok()?;
        let mut fields = None;
        let mut present = u64::MAX;
        if let Some(run) = quick.run {
            let run = self.program.runs.get(run as usize)?;
            let (state, lanes) = self.dictionary.lanes::<false>(self.program, run)?;
            let mut progress = Progress { position: at, state };
            let first = base + run.first_slot as usize;
            let out = self.store.words.get_mut(first..)?;
            lanes::single(run, bytes, bits, lanes, out, &mut progress)?;
            at = progress.position;
            present = lanes::presence_word(run, progress.state.carried());
            fields = Some(Pending { run, at: first, state: progress.state });
        }
        *self.store.words.get_mut(base + quick.presence_at as usize)? = present.to_le_bytes();
        let entries = match &quick.sequence {
            Some(sequence) => self.sequence(bytes, &mut at, sequence, base)?,
            None => None,
        };
        self.settle(fields);
        self.settle(entries);
        Some((index, at))
    }

    /// Gives the dictionary the lanes it waits for.
    #[inline(always)]
    fn settle(&mut self, pending: Option<Pending<'q>>) {
        if let Some(Pending { run, at, state }) = pending.filter(|pending| pending.run.kept != 0) {
            let lanes = self.store.words.get(at..).unwrap_or_default();
            self.dictionary.set_lanes(self.vectors.wide, run, lanes, state);
        }
    }

    /// Decodes the sequence; returns what is pending of its entries, if it has any.
    #[inline]
    fn sequence(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        sequence: &QuickSequence,
        base: usize,
    ) -> Option<Option<Pending<'q>>> {
        let count = lanes::unsigned_at(bytes, at)?;
        // An entry has a byte at least.
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
            return Some(None);
        }
        let (state, lanes) = self.dictionary.lanes::<false>(self.program, run)?;
        let mut progress = Progress { position: *at, state };
        let words = &mut self.store.words;
        let place = Place { words, base: first, step, presence_at: segment.presence_at };
        if vectors::entries(self.vectors, run, bytes, place, lanes, &mut progress, count) != count {
            return None;
        }
        *at = progress.position;
        let last = first + (count as usize - 1) * step + run.first_slot as usize;
        Some(Some(Pending { run, at: last, state: progress.state }))
    }
}
