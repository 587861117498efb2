//! The lanes of runs: previous values in the form that the next record needs.
//!
//! Mostly the entries of a run are consecutive and in the order of its lanes, so their words are the
//! lanes. For other runs lanes are copied from the entries one by one, and back.

use super::{ASSIGNED, DictionaryEntries, EMPTY, UNFIT, Word};
use crate::decoder::vectors::{self, Wide};
use crate::program::{LANES_MAX, LaneRun, Program};
#[cfg(machine_code)]
use std::mem::offset_of;

/// The previous values of a run as lanes.
pub(crate) type LaneWords = [Word; LANES_MAX];
/// The stamps of a run's entries.
type LaneStamps = [u32; LANES_MAX];
/// Stamps that are compared or stored together.
const STAMPS: usize = 8;

/// State of a run's lanes before a record: two sets in one word, because it passes through memory
/// and a load that spans two narrower stores stalls.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct LaneState(u64);

impl LaneState {
    #[inline(always)]
    pub(crate) fn new(carried: u32, assigned: u32) -> Self {
        Self(u64::from(carried) | u64::from(assigned) << 32)
    }

    /// Returns the lanes of copy and increment that have a value if the stream has none for them.
    #[inline(always)]
    pub(crate) fn carried(self) -> u32 {
        self.0 as u32
    }

    /// Returns the assigned lanes, without initial values.
    #[inline(always)]
    pub(crate) fn assigned(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the state after a record with these lanes present.
    #[inline(always)]
    pub(crate) fn after(self, present: u32) -> Self {
        Self::new(present, self.assigned() | present)
    }
}

/// A message that was decoded as a whole: its last lanes are copied to their entries before the next
/// message, unless that resets, as in most feeds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WaitingMessage {
    /// Valid only in this epoch.
    epoch: u32,
    /// Index of the template.
    template: u32,
    /// Number of entries of its sequence.
    entries: u32,
    fields: LaneState,
    last_entry: LaneState,
}

/// Offsets in bytes of the parts of a [`DictionaryEntries`] that machine code accesses.
#[cfg(machine_code)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryParts {
    pub(crate) epoch: usize,
    /// The data of [`DictionaryEntries::note_fields`] and [`DictionaryEntries::note_entries`].
    pub(crate) fields: usize,
    pub(crate) entries: usize,
    pub(crate) last_entry: usize,
}

#[cfg(machine_code)]
pub(crate) const DICTIONARY_PARTS: DictionaryParts = {
    let waiting = offset_of!(DictionaryEntries, waiting);
    DictionaryParts {
        epoch: offset_of!(DictionaryEntries, epoch),
        fields: waiting + offset_of!(WaitingMessage, fields),
        entries: waiting + offset_of!(WaitingMessage, entries),
        last_entry: waiting + offset_of!(WaitingMessage, last_entry),
    }
};

impl DictionaryEntries {
    /// Returns the lanes of a run before its next record, or `None` if an entry is in a state that
    /// only the run's operations can handle.
    #[inline]
    pub(crate) fn lanes<'d, const JOURNAL: bool>(
        &'d mut self,
        run: &'d LaneRun,
    ) -> Option<(LaneState, &'d LaneWords)> {
        if run.kept == 0 {
            return Some((LaneState::default(), &run.fresh));
        }
        let Some(first) = run.first_entry.filter(|_| !JOURNAL) else {
            return self.gather::<JOURNAL>(run);
        };
        let first = first as usize;
        let stamps: &LaneStamps = self.stamps.get(first..)?.first_chunk()?;
        let (stamps, kept) = (stamps.as_chunks().0, run.kept_masks.as_chunks().0);
        let groups = || stamps.iter().zip(kept).take(run.words as usize / STAMPS);
        let differences = groups().map(|(stamps, kept)| differences(stamps, kept, self.epoch));
        if differences.fold(0, |all, some| all | some) == 0 {
            let words = self.words.get(first..)?.first_chunk()?;
            return Some((LaneState::new(run.kept, run.kept), words));
        }
        if groups().all(|(stamps, kept)| are_undefined(stamps, kept, self.epoch)) {
            return Some((LaneState::new(run.fresh_carried, 0), &run.fresh));
        }
        self.gather::<JOURNAL>(run)
    }

    /// Stores the lanes of a run after its last record.
    #[inline]
    pub(crate) fn set_lanes(
        &mut self,
        wide: Option<Wide>,
        run: &LaneRun,
        lanes: &[Word],
        state: LaneState,
    ) {
        if run.kept == 0 {
            return;
        }
        let Some(first) = run.first_entry else {
            return self.scatter(run, lanes, state);
        };
        let assigned = state.carried() & !run.deltas | state.assigned() & run.deltas;
        if assigned & run.kept != run.kept {
            return self.scatter(run, lanes, state);
        }
        let first = first as usize;
        let words = self.words.get_mut(first..).and_then(|words| words.first_chunk_mut());
        let stamps: Option<&mut LaneStamps> =
            self.stamps.get_mut(first..).and_then(|stamps| stamps.first_chunk_mut());
        let (Some(words), Some(stamps)) = (words, stamps) else { return };
        let (stamps, kept) = (stamps.as_chunks_mut().0, run.kept_masks.as_chunks().0);
        for (stamps, kept) in stamps.iter_mut().zip(kept).take(run.words as usize / STAMPS) {
            assign(stamps, kept, self.epoch);
        }
        vectors::keep(wide, run, words, lanes);
    }

    /// Records the state of the fields of a message that is being decoded as a whole, without
    /// entries so far. No other message may be waiting. The values are written one by one: a
    /// combined value would be loaded as one word, which stalls on the narrower stores.
    #[inline(always)]
    pub(crate) fn note_fields(&mut self, state: LaneState) {
        self.waiting.fields = state;
        self.waiting.entries = 0;
    }

    /// Records the number of entries and the state of the last one's lanes.
    #[inline(always)]
    pub(crate) fn note_entries(&mut self, count: u32, last: LaneState) {
        self.waiting.entries = count;
        self.waiting.last_entry = last;
    }

    /// Marks the message as decoded: its lanes are copied on demand.
    #[inline(always)]
    pub(crate) fn await_lanes(&mut self, template: u32) {
        self.waiting.template = template;
        self.waiting.epoch = self.epoch;
    }

    /// Copies the lanes of the last message from its words to their entries.
    #[inline]
    pub(crate) fn settle(&mut self, program: &Program, wide: Option<Wide>, words: &[Word]) {
        if self.waiting.epoch == self.epoch {
            self.settle_waiting(program, wide, words);
        }
    }

    fn settle_waiting(&mut self, program: &Program, wide: Option<Wide>, words: &[Word]) {
        self.waiting.epoch = 0;
        let WaitingMessage { template, entries, fields, last_entry, .. } = self.waiting;
        let Some(Some(quick)) = program.quick.get(template as usize) else { return };
        if let Some(run) = quick.run.and_then(|run| program.runs.get(run as usize))
            && let Some(lanes) = words.get(run.first_slot as usize..)
        {
            self.set_lanes(wide, run, lanes, fields);
        }
        if let (Some(sequence), Some(before)) = (&quick.sequence, entries.checked_sub(1))
            && let Some(run) = program.runs.get(sequence.run as usize)
        {
            let entry = quick.record_words as usize + before as usize * sequence.step as usize;
            if let Some(lanes) = words.get(entry + run.first_slot as usize..) {
                self.set_lanes(wide, run, lanes, last_entry);
            }
        }
    }

    /// Gathers lanes from the entries themselves.
    fn gather<const JOURNAL: bool>(&mut self, run: &LaneRun) -> Option<(LaneState, &LaneWords)> {
        let (mut carried, mut assigned) = (0, 0);
        for lane in &run.entries {
            if JOURNAL {
                self.record(lane.entry);
            }
            let entry = lane.entry as usize;
            let (&word, &stamp) = (self.words.get(entry)?, self.stamps.get(entry)?);
            let (index, mask) = (usize::from(lane.lane) % LANES_MAX, 1 << lane.lane);
            match stamp.wrapping_sub(self.epoch) {
                ASSIGNED if !lane.checked || run.takes(index, u64::from_le_bytes(word)) => {
                    self.lanes[index] = word;
                    carried |= mask;
                    assigned |= mask;
                }
                EMPTY if !lane.delta => {}
                ASSIGNED | EMPTY | UNFIT => return None,
                _ => {
                    self.lanes[index] = run.fresh[index];
                    carried |= run.fresh_carried & mask;
                }
            }
        }
        Some((LaneState::new(carried, assigned), &self.lanes))
    }

    fn scatter(&mut self, run: &LaneRun, lanes: &[Word], state: LaneState) {
        for lane in &run.entries {
            let Some(&word) = lanes.get(usize::from(lane.lane)) else { return };
            let set = if lane.delta { state.assigned() } else { state.carried() };
            if set >> lane.lane & 1 != 0 {
                self.set_integer::<false>(lane.entry, u64::from_le_bytes(word));
            } else if !lane.delta {
                self.set_empty::<false>(lane.entry);
            }
        }
    }
}

/// Returns a value that is not 0 if any kept stamp is not the epoch.
#[inline(always)]
fn differences(stamps: &[u32; STAMPS], kept: &[u32; STAMPS], epoch: u32) -> u32 {
    stamps.iter().zip(kept).fold(0, |all, (stamp, kept)| all | (stamp ^ epoch) & kept)
}

/// True if every kept entry is undefined.
#[inline(always)]
fn are_undefined(stamps: &[u32; STAMPS], kept: &[u32; STAMPS], epoch: u32) -> bool {
    stamps.iter().zip(kept).fold(true, |all, (stamp, kept)| all & (stamp & kept < epoch))
}

/// Sets the kept stamps to the epoch.
#[inline(always)]
fn assign(stamps: &mut [u32; STAMPS], kept: &[u32; STAMPS], epoch: u32) {
    for (stamp, kept) in stamps.iter_mut().zip(kept) {
        *stamp = *stamp & !kept | epoch & kept;
    }
}
