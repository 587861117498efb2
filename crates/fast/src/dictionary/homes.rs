//! Lanes of runs between records: a second form of some dictionary entries.
//!
//! The entries of a run are most often used by nothing else, record after record. Their home keeps
//! them as lanes, as the next record wants them. A home is *live* when it holds the truth and the
//! entries are stale, *left* when the entries hold it; if it is neither in this epoch, nothing was
//! written since the last reset and every entry is undefined. Whoever wants the entries themselves
//! calls [`Dictionary::leave_home`] first. While a journal is kept, all homes are left.

use super::{Dictionary, Entry, OUTSIDE, Word};
use crate::decoder::vectors::{self, Wide};
use crate::program::{HomeSlot, LANES_MAX, Program, Run};
#[cfg(machine_code)]
use std::mem::offset_of;

/// The previous values of a run as lanes.
pub(crate) type Lanes = [Word; LANES_MAX];

/// By slot: the words of assigned entries, and the states of all.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Home {
    /// First, so that they are aligned for vectors.
    pub(crate) words: Lanes,
    /// `epoch` when live, `epoch + 1` when left.
    pub(crate) stamp: u32,
    pub(crate) assigned: u32,
    pub(crate) empty: u32,
}

/// All homes of a dictionary.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    homes: Vec<Home>,
    /// Where lanes are put together that no home has side by side.
    lanes: Box<Lanes>,
    /// All homes are left.
    are_left: bool,
}

/// What is known of a run's lanes before a record: two sets in one word, because it travels through
/// memory and a load waits long for two narrower stores.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct LaneState(u64);

impl LaneState {
    #[inline(always)]
    pub(crate) fn new(carried: u32, assigned: u32) -> Self {
        Self(u64::from(carried) | u64::from(assigned) << 32)
    }

    /// Present if they are not in the stream, as far as copy and increment decide it.
    #[inline(always)]
    pub(crate) fn carried(self) -> u32 {
        self.0 as u32
    }

    /// Assigned, initial values apart.
    #[inline(always)]
    pub(crate) fn assigned(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// After a record with these lanes present.
    #[inline(always)]
    pub(crate) fn after(self, present: u32) -> Self {
        Self::new(present, self.assigned() | present)
    }
}

/// What is known of a message that was decoded whole: homes take the lanes of its fields and of its
/// last entry back before the next one, unless that resets. Most feeds do at each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    /// Void in any other epoch.
    epoch: u32,
    /// Index of the template.
    template: u32,
    /// Entries of its sequence.
    entries: u32,
    fields: LaneState,
    last_entry: LaneState,
}

/// Where machine code finds the parts of a [`Dictionary`] that it reads and writes itself, in bytes
/// from its start.
#[cfg(machine_code)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryParts {
    /// The epoch that stamps of homes are of.
    pub(crate) epoch: usize,
    /// What [`Dictionary::note_fields`] and [`Dictionary::note_entries`] set.
    pub(crate) fields: usize,
    pub(crate) entries: usize,
    pub(crate) last_entry: usize,
}

#[cfg(machine_code)]
pub(crate) const DICTIONARY_PARTS: DictionaryParts = {
    let waiting = offset_of!(Dictionary, waiting);
    DictionaryParts {
        epoch: offset_of!(Dictionary, epoch),
        fields: waiting + offset_of!(Waiting, fields),
        entries: waiting + offset_of!(Waiting, entries),
        last_entry: waiting + offset_of!(Waiting, last_entry),
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

    fn index(&self, run: &Run) -> Option<usize> {
        run.home.filter(|_| !self.are_left).map(|home| home as usize)
    }
}

impl Dictionary {
    /// The lanes of a run before its next record, or `None` if some entry is in a state that only
    /// the run's operations can handle.
    #[inline]
    pub(crate) fn lanes<'d, const JOURNAL: bool>(
        &'d mut self,
        program: &'d Program,
        run: &'d Run,
    ) -> Option<(LaneState, &'d Lanes)> {
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

    /// Takes the lanes of a run back after its last record.
    #[inline]
    pub(crate) fn set_lanes(
        &mut self,
        wide: Option<Wide>,
        run: &Run,
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

    /// All homes; machine code reads and writes them as they are.
    #[cfg(machine_code)]
    #[inline(always)]
    pub(crate) fn homes(&mut self) -> &mut [Home] {
        &mut self.homes.homes
    }

    /// Notes what is known of the fields of a message that is being decoded whole, and that it has no
    /// entries. Nothing may be waiting. One value after the other: put together first, they would be
    /// loaded as one, and that waits for the narrower stores.
    #[inline(always)]
    pub(crate) fn note_fields(&mut self, state: LaneState) {
        self.waiting.fields = state;
        self.waiting.entries = 0;
    }

    /// Notes how many entries it has, and what is known of the last one's lanes.
    #[inline(always)]
    pub(crate) fn note_entries(&mut self, count: u32, last: LaneState) {
        self.waiting.entries = count;
        self.waiting.last_entry = last;
    }

    /// The message is decoded: what was noted is to be taken back when it is wanted.
    #[inline(always)]
    pub(crate) fn await_lanes(&mut self, template: u32) {
        self.waiting.template = template;
        self.waiting.epoch = self.epoch;
    }

    /// Takes the lanes of the last message back from its words.
    #[inline]
    pub(crate) fn settle(&mut self, program: &Program, wide: Option<Wide>, words: &[Word]) {
        if self.waiting.epoch == self.epoch {
            self.settle_waiting(program, wide, words);
        }
    }

    fn settle_waiting(&mut self, program: &Program, wide: Option<Wide>, words: &[Word]) {
        self.waiting.epoch = 0;
        let Waiting { template, entries, fields, last_entry, .. } = self.waiting;
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

    /// Makes the entries of a run hold the truth.
    #[inline]
    pub(crate) fn leave_home(&mut self, program: &Program, run: &Run) {
        if let Some(at) = self.homes.index(run) {
            self.leave(&program.homes[at], at);
        }
    }

    pub(super) fn leave(&mut self, slots: &[HomeSlot], at: usize) {
        let home = &mut self.homes.homes[at];
        let is_live = home.stamp == self.epoch;
        home.stamp = self.epoch + 1;
        if !is_live {
            return;
        }
        for slot in slots {
            let index = usize::from(slot.at) % LANES_MAX;
            let entry = &mut self.entries[slot.entry as usize];
            if home.assigned >> index & 1 != 0 {
                *entry = Entry { word: home.words[index], exponent: 0, stamp: self.epoch };
            } else if home.empty >> index & 1 != 0 {
                entry.stamp = self.epoch + 1;
            }
        }
    }

    /// Makes all entries hold the truth, until [`return_home`](Self::return_home).
    pub(crate) fn leave_homes(&mut self, program: &Program) {
        if !self.homes.are_left {
            for (at, slots) in program.homes.iter().enumerate() {
                self.leave(slots, at);
            }
            self.homes.are_left = true;
        }
    }

    /// Lets homes be used again, after what a journal was kept for.
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

    /// Lanes from the slots of a home, which is live then.
    fn gather_slots(
        &mut self,
        program: &Program,
        run: &Run,
        at: usize,
    ) -> Option<(LaneState, &Lanes)> {
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

    /// Lanes from the entries themselves.
    fn gather_entries<const JOURNAL: bool>(&mut self, run: &Run) -> Option<(LaneState, &Lanes)> {
        let (mut carried, mut assigned) = (0, 0);
        for lane in &run.entries {
            if JOURNAL {
                self.record(lane.entry);
            }
            let entry = self.entries.get(lane.entry as usize)?;
            let (index, mask) = (usize::from(lane.lane) % LANES_MAX, 1 << lane.lane);
            if entry.stamp == self.epoch {
                let is_long = lane.text && entry.word[7] == OUTSIDE;
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

    fn scatter_entries(&mut self, run: &Run, lanes: &[Word], state: LaneState) {
        for lane in &run.entries {
            let (Some(entry), Some(&word)) =
                (self.entries.get_mut(lane.entry as usize), lanes.get(usize::from(lane.lane)))
            else {
                return;
            };
            let set = if lane.delta { state.assigned() } else { state.carried() };
            if set >> lane.lane & 1 != 0 {
                *entry = Entry { word, exponent: 0, stamp: self.epoch };
            } else if !lane.delta {
                entry.stamp = self.epoch + 1;
            }
        }
    }
}

impl Home {
    /// Takes lanes that lie in another order than the slots. A lane of neither set is left alone.
    fn scatter(&mut self, run: &Run, lanes: &[Word], assigned: u32, empty: u32) {
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
