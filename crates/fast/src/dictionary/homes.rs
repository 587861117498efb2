//! Homes cache the previous values of runs as lanes: a second form of some dictionary entries.
//!
//! Mostly only one run uses its entries, record after record. Their home stores them as lanes, in
//! the form that the next record needs. A home is *live* if its lanes are current and the entries
//! are stale, *left* if the entries are current. If it is neither in this epoch, nothing was
//! written since the last reset and every entry is undefined. Code that reads or writes the entries
//! calls [`DictionaryEntries::leave_home`] first. During a journal, all homes are left.

use super::{DictionaryEntries, DictionaryEntry, Word, is_long};
use crate::decoder::vectors::{self, Wide};
use crate::program::{HomeSlot, LANES_MAX, LaneRun, Program};
#[cfg(machine_code)]
use std::mem::offset_of;

/// The previous values of a run as lanes.
pub(crate) type LaneWords = [Word; LANES_MAX];

/// Words of assigned entries and states of all entries, by slot.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Home {
    /// First field, to be aligned for SIMD.
    pub(crate) words: LaneWords,
    /// `epoch` if live, `epoch + 1` if left.
    pub(crate) stamp: u32,
    pub(crate) assigned: u32,
    pub(crate) empty: u32,
}

/// All homes of a dictionary.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    pub(super) homes: Vec<Home>,
    /// Buffer for lanes that are not adjacent in a home.
    lanes: Box<LaneWords>,
    /// True if all homes are left.
    are_left: bool,
}

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

/// A message that was decoded as a whole: its last lanes are copied to their homes before the next
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
    /// The epoch that the homes' stamps refer to.
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

impl Homes {
    pub(super) fn new(program: &Program) -> Self {
        let home = Home { stamp: 0, assigned: 0, empty: 0, words: [[0; 8]; LANES_MAX] };
        Self {
            homes: vec![home; program.homes.len()],
            lanes: Box::new([[0; 8]; LANES_MAX]),
            are_left: false,
        }
    }

    pub(super) fn start_epochs_again(&mut self) {
        self.homes.iter_mut().for_each(|home| home.stamp = 0);
    }

    fn index(&self, run: &LaneRun) -> Option<usize> {
        run.home.filter(|_| !self.are_left).map(|home| home as usize)
    }
}

impl DictionaryEntries {
    /// Returns the lanes of a run before its next record, or `None` if an entry is in a state that
    /// only the run's operations can handle.
    #[inline]
    pub(crate) fn lanes<'d, const JOURNAL: bool>(
        &'d mut self,
        program: &'d Program,
        run: &'d LaneRun,
    ) -> Option<(LaneState, &'d LaneWords)> {
        if run.kept == 0 {
            return Some((LaneState::default(), &run.fresh));
        }
        let Some(at) = self.homes.index(run) else { return self.gather_entries::<JOURNAL>(run) };
        let home = &self.homes.homes[at];
        if home.stamp == self.epoch {
            let known = home.assigned | home.empty;
            if run.is_at_home && run.kept & !known == 0 && run.deltas & home.empty == 0 {
                let assigned = home.assigned & run.kept;
                let state = LaneState::new(assigned, assigned);
                return Some((state, &self.homes.homes[at].words));
            }
        } else if home.stamp != self.epoch + 1 {
            return Some((LaneState::new(run.fresh_carried, 0), &run.fresh));
        }
        self.gather_slots(program, run, at)
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
        let Some(at) = self.homes.index(run) else {
            return self.scatter_entries(run, lanes, state);
        };
        let home = &mut self.homes.homes[at];
        if home.stamp != self.epoch {
            (home.assigned, home.empty) = (0, 0);
            home.stamp = self.epoch;
        }
        let assigned = state.carried() & !run.deltas | state.assigned() & run.deltas;
        let empty = run.kept & !run.deltas & !assigned;
        if !run.is_at_home {
            return home.scatter(run, lanes, assigned, empty);
        }
        home.assigned = home.assigned & !run.kept | assigned & run.kept;
        home.empty = home.empty & !run.kept | empty;
        vectors::keep(wide, run, &mut home.words, lanes);
    }

    /// Returns all homes; machine code accesses them directly.
    #[cfg(machine_code)]
    #[inline(always)]
    pub(crate) fn homes(&mut self) -> &mut [Home] {
        &mut self.homes.homes
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

    /// Copies the lanes of the last message from its words to their homes.
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

    /// Writes a run's lanes back to its entries.
    #[inline]
    pub(crate) fn leave_home(&mut self, program: &Program, run: &LaneRun) {
        if let Some(at) = self.homes.index(run) {
            self.leave(&program.homes[at], at);
        }
    }

    fn leave(&mut self, slots: &[HomeSlot], at: usize) {
        let left = self.epoch + 1;
        if std::mem::replace(&mut self.homes.homes[at].stamp, left) == self.epoch {
            self.write_back(slots, at);
        }
    }

    /// As [`leave_home`](Self::leave_home), for these homes.
    #[cfg(machine_code)]
    pub(crate) fn leave_some(&mut self, program: &Program, homes: &[u32]) {
        for &at in homes {
            self.leave(&program.homes[at as usize], at as usize);
        }
    }

    /// Writes the lanes of a home that was live back to its entries.
    fn write_back(&mut self, slots: &[HomeSlot], at: usize) {
        let home = &self.homes.homes[at];
        for slot in slots {
            let index = usize::from(slot.at) % LANES_MAX;
            let entry = &mut self.entries[slot.entry as usize];
            if home.assigned >> index & 1 != 0 {
                *entry =
                    DictionaryEntry { word: home.words[index], exponent: 0, stamp: self.epoch };
            } else if home.empty >> index & 1 != 0 {
                entry.stamp = self.epoch + 1;
            }
        }
    }

    /// Writes all lanes back to the entries, until [`return_home`](Self::return_home).
    pub(crate) fn leave_homes(&mut self, program: &Program) {
        if !self.homes.are_left {
            for (at, slots) in program.homes.iter().enumerate() {
                self.leave(slots, at);
            }
            self.homes.are_left = true;
        }
    }

    /// Enables homes again after a journal.
    #[inline]
    pub(crate) fn return_home(&mut self) {
        if self.homes.are_left {
            self.enter_homes();
        }
    }

    #[cold]
    fn enter_homes(&mut self) {
        self.homes.are_left = false;
        let stamp = self.epoch + 1;
        self.homes.homes.iter_mut().for_each(|home| home.stamp = stamp);
    }

    /// Gathers lanes from the slots of a home, which is live then.
    fn gather_slots(
        &mut self,
        program: &Program,
        run: &LaneRun,
        at: usize,
    ) -> Option<(LaneState, &LaneWords)> {
        if self.homes.homes[at].stamp == self.epoch + 1 {
            self.enter(&program.homes[at], at)?;
        }
        let home = &self.homes.homes[at];
        let (mut carried, mut assigned) = (0, 0);
        for lane in &run.entries {
            let (index, mask) = (usize::from(lane.lane) % LANES_MAX, 1 << lane.lane);
            if home.assigned >> lane.slot & 1 != 0 {
                self.homes.lanes[index] = home.words[usize::from(lane.slot) % LANES_MAX];
                carried |= mask;
                assigned |= mask;
            } else if home.empty >> lane.slot & 1 != 0 {
                if lane.delta {
                    return None;
                }
            } else {
                self.homes.lanes[index] = run.fresh[index];
                carried |= run.fresh_carried & mask;
            }
        }
        Some((LaneState::new(carried, assigned), &self.homes.lanes))
    }

    /// Makes a home live that was left.
    fn enter(&mut self, slots: &[HomeSlot], at: usize) -> Option<()> {
        let home = &mut self.homes.homes[at];
        (home.assigned, home.empty) = (0, 0);
        for slot in slots {
            let index = usize::from(slot.at) % LANES_MAX;
            let entry = self.entries.get(slot.entry as usize)?;
            if entry.stamp == self.epoch {
                if !slot.takes(entry.word) {
                    return None;
                }
                home.words[index] = entry.word;
                home.assigned |= 1 << index;
            } else if entry.stamp == self.epoch + 1 {
                home.empty |= 1 << index;
            }
        }
        home.stamp = self.epoch;
        Some(())
    }

    /// Gathers lanes from the entries themselves.
    fn gather_entries<const JOURNAL: bool>(
        &mut self,
        run: &LaneRun,
    ) -> Option<(LaneState, &LaneWords)> {
        let (mut carried, mut assigned) = (0, 0);
        for lane in &run.entries {
            if JOURNAL {
                self.record(lane.entry);
            }
            let entry = self.entries.get(lane.entry as usize)?;
            let (index, mask) = (usize::from(lane.lane) % LANES_MAX, 1 << lane.lane);
            if entry.stamp == self.epoch {
                let is_long = lane.text && is_long(entry.word);
                if is_long || lane.checked && !run.takes(index, u64::from_le_bytes(entry.word)) {
                    return None;
                }
                self.homes.lanes[index] = entry.word;
                carried |= mask;
                assigned |= mask;
            } else if entry.stamp == self.epoch + 1 {
                if lane.delta {
                    return None;
                }
            } else {
                self.homes.lanes[index] = run.fresh[index];
                carried |= run.fresh_carried & mask;
            }
        }
        Some((LaneState::new(carried, assigned), &self.homes.lanes))
    }

    fn scatter_entries(&mut self, run: &LaneRun, lanes: &[Word], state: LaneState) {
        for lane in &run.entries {
            let (Some(entry), Some(&word)) =
                (self.entries.get_mut(lane.entry as usize), lanes.get(usize::from(lane.lane)))
            else {
                return;
            };
            let set = if lane.delta { state.assigned() } else { state.carried() };
            if set >> lane.lane & 1 != 0 {
                *entry = DictionaryEntry { word, exponent: 0, stamp: self.epoch };
            } else if !lane.delta {
                entry.stamp = self.epoch + 1;
            }
        }
    }
}

impl Home {
    /// Stores lanes whose order differs from that of the slots. Lanes in neither set are unchanged.
    fn scatter(&mut self, run: &LaneRun, lanes: &[Word], assigned: u32, empty: u32) {
        for lane in &run.entries {
            let (index, mask) = (usize::from(lane.lane), 1 << lane.slot);
            if assigned >> index & 1 != 0 {
                let Some(&word) = lanes.get(index) else { return };
                self.words[usize::from(lane.slot) % LANES_MAX] = word;
                self.assigned |= mask;
                self.empty &= !mask;
            } else if empty >> index & 1 != 0 {
                self.assigned &= !mask;
                self.empty |= mask;
            }
        }
    }
}
