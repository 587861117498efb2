//! Decodes messages of templates that are nothing but runs, from the presence map to the end.
//!
//! Nothing is kept of a message that is not plain throughout: dictionaries are told of its lanes
//! after the last byte, and the engine decodes the message again from its first.

use super::lanes::{self, Place, Progress};
use super::vectors::{self, Vectors};
use crate::dictionary::{Dictionary, LaneState, WaitingLanes};
use crate::limits::Limits;
use crate::message::{Store, pair_word};
use crate::program::{Program, Quick, QuickSequence, Run};
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

impl<'q> Message<'q> {
    /// Decodes the message at the start of `bytes`, of which `len` are the input's; returns its
    /// template's index and its length, or `None` if the engine has to do it.
    #[inline]
    pub(super) fn decode(&mut self, bytes: &[u8], len: usize) -> Option<(u32, usize)> {
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
        self.dictionary.settle(self.program, self.vectors.wide, &self.store.words);
        if let Some(message) = self.compiled(index, quick, bytes, (at, bits), len) {
            return Some((index, message));
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
            vectors::single(self.vectors, run, bytes, bits, lanes, out, &mut progress)?;
            at = progress.position;
            present = lanes::presence_word(run, progress.state.carried());
            fields = waiting(run, first, progress.state);
        }
        *self.store.words.get_mut(base + quick.presence_at as usize)? = present.to_le_bytes();
        let entries = match &quick.sequence {
            Some(sequence) => self.sequence(bytes, &mut at, sequence, base)?,
            None => None,
        };
        if at > len {
            return None;
        }
        self.dictionary.await_lanes([fields, entries]);
        Some((index, at))
    }

    /// Decodes fields and sequence at once, where there is code for it; returns the end.
    #[inline(always)]
    fn compiled(
        &mut self,
        index: u32,
        quick: &Quick,
        bytes: &[u8],
        (at, bits): (usize, u64),
        len: usize,
    ) -> Option<usize> {
        let compiled = self.vectors.compiled()?;
        let sequence = quick.sequence.as_ref()?;
        let run = self.program.runs.get(sequence.run as usize)?;
        let before = self.dictionary.lanes::<false>(self.program, run)?;
        let most = self.limits.entries_max.min(self.limits.entries_total_max);
        let words = &mut self.store.words;
        let message = compiled.message(index, bytes, (at, bits), before, words, most)?;
        if message.end > len {
            return None;
        }
        self.store.used = message.used;
        let step = self.program.segments.get(sequence.segment as usize)?.record_words as usize;
        let last = (message.used - step.min(message.used)) + run.first_slot as usize;
        let entries = waiting(run, last, message.state).filter(|_| message.entries > 0);
        self.dictionary.await_lanes([None, entries]);
        Some(message.end)
    }

    /// Decodes the sequence; returns the lanes of its last entry, if it has one.
    #[inline]
    fn sequence(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        sequence: &QuickSequence,
        base: usize,
    ) -> Option<Option<WaitingLanes>> {
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
        Some(waiting(run, last, progress.state))
    }
}

/// The lanes of a record that was decoded, unless nobody wants them.
#[inline(always)]
fn waiting(run: &Run, at: usize, state: LaneState) -> Option<WaitingLanes> {
    // Places in a message are 32 bits wide.
    (run.kept != 0).then_some(WaitingLanes { run: run.index, at: at as u32, state })
}

/// Room for input that is shorter than what compiled code reads ahead.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    reach: usize,
}

impl Tail {
    pub(super) fn new(reach: usize) -> Self {
        Self { bytes: vec![0; 2 * reach], reach }
    }

    /// The same bytes with enough readable ones behind them, or `input` if it is long.
    #[inline]
    pub(super) fn lengthened<'t>(&'t mut self, input: &'t [u8]) -> &'t [u8] {
        match self.bytes.get_mut(..input.len()) {
            Some(bytes) if input.len() < self.reach => {
                bytes.copy_from_slice(input);
                &self.bytes[..input.len() + self.reach]
            }
            _ => input,
        }
    }
}
