//! Encodes messages of templates that are nothing but runs.
//!
//! Nothing is kept of a message that is not plain throughout: dictionaries take their lanes back
//! after the last field, and the operations encode the message from its start.

use super::lanes::{self, Expected, Head};
use crate::dictionary::Dictionary;
use crate::limits::Limits;
use crate::message::{Store, pair_of};
use crate::program::{OutgoingRun, Program, QuickSequence, Run};
use crate::rt::Output;

/// One run over one message.
pub(super) struct Message<'q> {
    pub(super) program: &'q Program,
    pub(super) dictionary: &'q mut Dictionary,
    pub(super) store: &'q Store,
    pub(super) limits: &'q Limits,
    pub(super) obey_reset: bool,
}

/// A run that was encoded and what the dictionary does not know of it yet.
struct Pending<'q> {
    run: &'q Run,
    expected: Expected,
}

impl<'q> Message<'q> {
    /// Encodes a message of the template `index`. The dictionary has then seen nothing but resets if
    /// this fails, or if the message is longer than `room`.
    #[inline]
    pub(super) fn encode(&mut self, index: u32, room: usize, out: &mut Output<'_>) -> Option<()> {
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
        let fields = match quick.run {
            Some(index) => {
                let (run, lanes) = self.run(index)?;
                let mut expected = Expected::of(run, self.dictionary.lanes::<false>(program, run)?);
                let words = self.store.words.get(run.first_slot as usize..)?;
                lanes::record(run, lanes, words, present, head, &mut expected, out)?;
                Some(Pending { run, expected })
            }
            None => {
                lanes::begin(head, 0, out)?;
                None
            }
        };
        let entries = match &quick.sequence {
            Some(sequence) => self.sequence(sequence, out)?,
            None => None,
        };
        if out.written().len() > room {
            return None;
        }
        self.dictionary.set_last_template(index);
        self.settle(fields);
        self.settle(entries);
        Some(())
    }

    fn run(&self, index: u32) -> Option<(&'q Run, &'q OutgoingRun)> {
        let program = self.program;
        let lanes = program.outgoing.runs.get(index as usize)?.as_ref()?;
        Some((program.runs.get(index as usize)?, lanes))
    }

    #[inline(always)]
    fn word(&self, at: usize) -> Option<u64> {
        self.store.words.get(at).map(|word| u64::from_le_bytes(*word))
    }

    /// Gives the dictionary the lanes it waits for.
    #[inline(always)]
    fn settle(&mut self, pending: Option<Pending<'q>>) {
        if let Some(Pending { run, expected }) = pending.filter(|pending| pending.run.kept != 0) {
            let (state, lanes) = expected.into_lanes(run);
            self.dictionary.set_lanes(None, run, &lanes, state);
        }
    }

    /// Encodes the sequence; returns what is pending of its entries, if it has any.
    #[inline]
    fn sequence(
        &mut self,
        sequence: &QuickSequence,
        out: &mut Output<'_>,
    ) -> Option<Option<Pending<'q>>> {
        let program = self.program;
        let (count, first) = pair_of(*self.store.words.get(sequence.slot as usize)?);
        if count > self.limits.entries_max.min(self.limits.entries_total_max) {
            return None;
        }
        out.unsigned(u64::from(count))?;
        if count == 0 {
            return Some(None);
        }
        let segment = program.segments.get(sequence.segment as usize)?;
        let (run, lanes) = self.run(sequence.run)?;
        let mut expected = Expected::of(run, self.dictionary.lanes::<false>(program, run)?);
        let mut base = first as usize;
        for _ in 0..count {
            let present = self.word(base + segment.presence_at as usize)?;
            let words = self.store.words.get(base + run.first_slot as usize..)?;
            lanes::record(run, lanes, words, present, Head::Entry, &mut expected, out)?;
            base += segment.record_words as usize;
        }
        Some(Some(Pending { run, expected }))
    }
}
