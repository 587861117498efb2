//! The lanes of runs: previous values in the form that the next record needs.
//!
//! Mostly the entries of a run are consecutive and in the order of its lanes, so their words are the
//! lanes. For other runs lanes are copied from the entries one by one, and back.

use super::{ASSIGNED, DictionaryEntries, EMPTY, EPOCH_STEP, UNFIT, Word};
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
        let stamps: &LaneStamps = self.stamps.get(first as usize..)?.first_chunk()?;
        let epoch = self.epoch;
        let assigned = lanes_of_stamps(stamps, run, |stamp| stamp == epoch + ASSIGNED);
        let others = run.kept & !assigned;
        if others != 0 {
            if lanes_of_stamps(stamps, run, |stamp| stamp & !(EPOCH_STEP - 1) == epoch) == 0 {
                return Some(Self::undefined_lanes(run));
            }
            let empty = lanes_of_stamps(stamps, run, |stamp| stamp == epoch + EMPTY);
            if others & (run.deltas | !empty) != 0 {
                return self.gather::<JOURNAL>(run);
            }
        }
        let words = self.words.get(first as usize..)?.first_chunk()?;
        Some((LaneState::new(assigned, assigned), words))
    }

    /// Returns the lanes of a run whose entries are all undefined.
    #[inline]
    pub(crate) fn undefined_lanes(run: &LaneRun) -> (LaneState, &LaneWords) {
        (LaneState::new(run.fresh_carried, 0), &run.fresh)
    }

    /// Stores the lanes of a run after its last record; `before` is their state in the dictionary, or the
    /// default if that is not known.
    #[inline]
    pub(crate) fn set_lanes(
        &mut self,
        wide: Option<Wide>,
        run: &LaneRun,
        lanes: &[Word],
        before: LaneState,
        state: LaneState,
    ) {
        if run.kept == 0 {
            return;
        }
        let assigned = run.kept & (state.carried() & !run.deltas | state.assigned() & run.deltas);
        // An absent delta keeps its state.
        let empty = run.kept & !run.deltas & !assigned;
        let Some(first) = run.first_entry else {
            return self.scatter(run, lanes, [assigned, empty]);
        };
        let first = first as usize;
        let words = self.words.get_mut(first..).and_then(|words| words.first_chunk_mut());
        let stamps = self.stamps.get_mut(first..).and_then(|stamps| stamps.first_chunk_mut());
        let (Some(words), Some(stamps)) = (words, stamps) else { return };
        if assigned & before.assigned() != run.kept {
            match run.is_alone && assigned | empty == run.kept {
                true => set_all_stamps(stamps, run, empty, self.epoch),
                false => set_stamps(stamps, run, [assigned, empty], self.epoch),
            }
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
            self.set_lanes(wide, run, lanes, LaneState::default(), fields);
        }
        if let (Some(sequence), Some(before)) = (&quick.sequence, entries.checked_sub(1))
            && let Some(run) = program.runs.get(sequence.run as usize)
        {
            let entry = quick.record_words as usize + before as usize * sequence.step as usize;
            if let Some(lanes) = words.get(entry + run.first_slot as usize..) {
                self.set_lanes(wide, run, lanes, LaneState::default(), last_entry);
            }
        }
    }

    /// Gathers lanes from the entries themselves.
    #[inline(never)]
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

    /// Stores assigned and empty lanes to the entries one by one.
    fn scatter(&mut self, run: &LaneRun, lanes: &[Word], [assigned, empty]: [u32; 2]) {
        for lane in &run.entries {
            let (entry, lane) = (lane.entry as usize, lane.lane);
            let (Some(word), Some(stamp)) = (self.words.get_mut(entry), self.stamps.get_mut(entry))
            else {
                return;
            };
            if assigned >> lane & 1 != 0 {
                let Some(&value) = lanes.get(usize::from(lane)) else { return };
                (*word, *stamp) = (value, self.epoch + ASSIGNED);
            } else if empty >> lane & 1 != 0 {
                *stamp = self.epoch + EMPTY;
            }
        }
    }
}

/// Returns the lanes with an entry whose stamp is one of these.
#[inline(always)]
fn lanes_of_stamps(stamps: &LaneStamps, run: &LaneRun, is_one: impl Fn(u32) -> bool) -> u32 {
    let mut sets = [0; STAMPS];
    for (stamps, bits) in stamps.as_chunks::<STAMPS>().0.iter().zip(bits_of_entries(run)) {
        for ((set, stamp), bit) in sets.iter_mut().zip(stamps).zip(bits) {
            *set |= mask(is_one(*stamp)) & bit;
        }
    }
    sets.into_iter().fold(0, |all, some| all | some)
}

/// Sets all stamps of a range, which has no entries of other runs; these lanes are empty.
///
/// This function and the next are not inlined because they are compiled to vectors only by themselves.
#[inline(never)]
fn set_all_stamps(stamps: &mut LaneStamps, run: &LaneRun, empty: u32, epoch: u32) {
    for (stamps, bits) in stamps.as_chunks_mut::<STAMPS>().0.iter_mut().zip(bits_of_entries(run)) {
        for (stamp, bit) in stamps.iter_mut().zip(bits) {
            *stamp = epoch + (EMPTY & mask(empty & bit != 0));
        }
    }
}

/// Sets the stamps of assigned and empty lanes' entries.
#[inline(never)]
fn set_stamps(stamps: &mut LaneStamps, run: &LaneRun, [assigned, empty]: [u32; 2], epoch: u32) {
    for (stamps, bits) in stamps.as_chunks_mut::<STAMPS>().0.iter_mut().zip(bits_of_entries(run)) {
        for (stamp, bit) in stamps.iter_mut().zip(bits) {
            let is_set = mask((assigned | empty) & bit != 0);
            let new = epoch + (EMPTY & mask(empty & bit != 0));
            *stamp = *stamp & !is_set | new & is_set;
        }
    }
}

/// Returns for each lane its bit, if it has an entry, in groups; as many groups as have lanes.
#[inline(always)]
fn bits_of_entries(run: &LaneRun) -> impl Iterator<Item = &[u32; STAMPS]> {
    run.entry_bits.as_chunks().0.iter().take((run.count as usize).div_ceil(STAMPS))
}

/// Returns all bits if a condition is true: without branches, so that several stamps are compared at once.
#[inline(always)]
fn mask(is_true: bool) -> u32 {
    0u32.wrapping_sub(u32::from(is_true))
}
