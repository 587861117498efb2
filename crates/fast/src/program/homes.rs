//! Assigns homes to runs. A home is where the dictionary caches the lanes of a run between records.
//!
//! Runs that share entries share a home. Its slots follow the lane order of the longest run, and of
//! the others as far as their fields have the same order. Runs whose entries are also used by other
//! operations have no home; nor do runs that share an entry between an exponent and an integer.

use super::layout::SegmentLayout;
use super::op::Op;
use super::runs::{LANES_MAX, LaneRun};
use crate::dictionary::is_long;
use std::collections::HashMap;

/// One entry of a home.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeSlot {
    /// Index of the slot; indexes may have gaps.
    pub at: u8,
    pub entry: u32,
    text: bool,
    bias: u64,
    limit: u64,
}

impl HomeSlot {
    const UNUSED: Self = Self { at: 0, entry: 0, text: false, bias: 0, limit: u64::MAX };

    /// True if every run that uses the entry can continue from this value.
    pub(crate) fn takes(&self, word: [u8; 8]) -> bool {
        let is_outside = self.text && is_long(word);
        !is_outside && u64::from_le_bytes(word).wrapping_add(self.bias) <= self.limit
    }
}

/// Assigns a home to every run whose entries only runs use. Returns the slots of all homes.
pub(super) fn assign(
    code: &[Op],
    segments: &[SegmentLayout],
    runs: &mut [LaneRun],
) -> Vec<Vec<HomeSlot>> {
    let mut groups: Vec<usize> = (0..runs.len()).collect();
    let mut first_lanes: HashMap<u32, (usize, bool)> = HashMap::new();
    let mut mixed = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for lane in &run.entries {
            let (other, checked) = *first_lanes.entry(lane.entry).or_insert((index, lane.checked));
            join(&mut groups, index, other);
            if checked != lane.checked {
                mixed.push(index);
            }
        }
    }
    let mut is_shared = vec![false; runs.len()];
    // An integer may leave a value in the home that is no valid exponent, and values from homes are not
    // checked; values from entries are.
    mixed.iter().for_each(|&run| is_shared[root(&groups, run)] = true);
    for op in outside_runs(code, segments, runs).filter(|op| op.operator.uses_dictionary()) {
        if let Some(&(run, _)) = first_lanes.get(&op.entry) {
            is_shared[root(&groups, run)] = true;
        }
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
    for index in (0..runs.len()).filter(|&index| runs[index].kept != 0) {
        members[root(&groups, index)].push(index);
    }
    let mut homes = Vec::new();
    for (group, mut members) in members.into_iter().enumerate() {
        if members.is_empty() || is_shared[group] {
            continue;
        }
        members.sort_by_key(|&index| std::cmp::Reverse(runs[index].entries.len()));
        if let Some(slots) = slots_of(runs, &members) {
            settle(runs, &members, &slots, homes.len() as u32);
            homes.push(slots);
        }
    }
    homes
}

/// Returns the slots of runs that share entries, unless there are too many.
fn slots_of(runs: &[LaneRun], members: &[usize]) -> Option<Vec<HomeSlot>> {
    let mut slots: Vec<Option<HomeSlot>> = vec![None; LANES_MAX];
    for &index in members {
        let run = &runs[index];
        for lane in &run.entries {
            let known = slots.iter().position(|s| s.is_some_and(|s| s.entry == lane.entry));
            let wanted = usize::from(lane.lane);
            let at = match known {
                Some(at) => at,
                None if slots[wanted].is_none() => wanted,
                None => slots.iter().position(Option::is_none)?,
            };
            let slot = slots[at].get_or_insert(HomeSlot { entry: lane.entry, ..HomeSlot::UNUSED });
            slot.text |= lane.text;
            if lane.checked {
                (slot.bias, slot.limit) = (run.bias[wanted], run.limit[wanted]);
            }
        }
    }
    let at =
        |(at, slot): (usize, Option<HomeSlot>)| slot.map(|slot| HomeSlot { at: at as u8, ..slot });
    Some(slots.into_iter().enumerate().filter_map(at).collect())
}

/// Writes the slots of each run's lanes to the run.
fn settle(runs: &mut [LaneRun], members: &[usize], slots: &[HomeSlot], home: u32) {
    for &index in members {
        let run = &mut runs[index];
        run.home = Some(home);
        run.is_alone = members.len() == 1;
        run.is_at_home = true;
        for lane in &mut run.entries {
            let slot = slots.iter().find(|slot| slot.entry == lane.entry);
            lane.slot = slot.map_or(lane.lane, |slot| slot.at);
            run.is_at_home &= lane.slot == lane.lane;
        }
    }
}

/// Returns the operations that are not part of a run.
fn outside_runs<'p>(
    code: &'p [Op],
    segments: &'p [SegmentLayout],
    runs: &'p [LaneRun],
) -> impl Iterator<Item = &'p Op> {
    segments.iter().flat_map(move |segment| {
        let in_run = segment.run.map_or(0, |run| runs[run as usize].ops);
        &code[(segment.ops.start + in_run) as usize..segment.ops.end as usize]
    })
}

fn root(groups: &[usize], mut index: usize) -> usize {
    while groups[index] != index {
        index = groups[index];
    }
    index
}

fn join(groups: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(groups, a), root(groups, b));
    groups[a.max(b)] = a.min(b);
}
