//! Orders dictionary entries so that the entries of a run are consecutive and in the order of its lanes:
//! the dictionary's words are then the lanes of the run's previous record.
//!
//! Runs that share entries share a range of entries, in the lane order of the longest of them. Runs whose
//! fields have another order cannot use it. Runs whose entries are also used by other operations have
//! no range; nor do runs that share an entry between an exponent and an integer.

use super::layout::SegmentLayout;
use super::op::{Op, OpCode};
use super::runs::{LANES_MAX, LaneRun};
use std::collections::HashMap;

/// Ranges begin and end at multiples of this number and are as long as the lanes of each of their runs: all
/// lanes are stored, eight at a time.
const RANGE_STEP: usize = 8;
/// No entry.
const UNUSED: u32 = u32::MAX;

/// Numbers the dictionary entries anew. `text_of_entry` has an element for each entry; afterwards for each
/// number, some of which have no entry. The number after a decimal's is that of its exponent.
pub(super) fn order(
    code: &mut [Op],
    segments: &[SegmentLayout],
    runs: &mut [LaneRun],
    text_of_entry: &mut Vec<u32>,
) {
    let mut numbers = vec![UNUSED; text_of_entry.len()];
    let mut texts = Vec::with_capacity(text_of_entry.len());
    for members in groups(code, segments, runs) {
        let Some(slots) = slots_of(runs, &members) else { continue };
        let first = texts.len() as u32;
        for (number, &entry) in (first..).zip(&slots) {
            let used = numbers.get_mut(entry as usize);
            texts.push(used.map_or(UNUSED, |used| {
                *used = number;
                text_of_entry[entry as usize]
            }));
        }
        let is_alone = members.len() == 1;
        for index in members {
            place(&mut runs[index], &slots, first, is_alone);
        }
    }
    let mut is_scaled = vec![false; numbers.len()];
    for op in code.iter().filter(|op| op.code == OpCode::Decimal && op.rule.uses_dictionary()) {
        is_scaled[op.entry as usize] = true;
    }
    for ((number, text), is_scaled) in numbers.iter_mut().zip(&*text_of_entry).zip(is_scaled) {
        if *number == UNUSED {
            *number = texts.len() as u32;
            texts.push(*text);
            texts.extend(is_scaled.then_some(UNUSED));
        }
    }
    *text_of_entry = texts;
    let renumber = |entry: &mut u32| *entry = numbers[*entry as usize];
    let with_entry = code.iter_mut().filter(|op| op.rule.uses_dictionary());
    with_entry.for_each(|op| renumber(&mut op.entry));
    runs.iter_mut().flat_map(|run| &mut run.entries).for_each(|lane| renumber(&mut lane.entry));
}

/// Returns the groups of runs that share entries, the longest run first, without those that have no range.
fn groups(code: &[Op], segments: &[SegmentLayout], runs: &[LaneRun]) -> Vec<Vec<usize>> {
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
    // An integer may assign a value that is no valid exponent; values in ranges are not checked.
    mixed.iter().for_each(|&run| is_shared[root(&groups, run)] = true);
    for op in outside_runs(code, segments, runs).filter(|op| op.rule.uses_dictionary()) {
        if let Some(&(run, _)) = first_lanes.get(&op.entry) {
            is_shared[root(&groups, run)] = true;
        }
    }
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
    for index in (0..runs.len()).filter(|&index| runs[index].kept != 0) {
        members[root(&groups, index)].push(index);
    }
    let has_range = |(group, members): (usize, Vec<usize>)| {
        (!members.is_empty() && !is_shared[group]).then_some(members)
    };
    let mut members: Vec<_> = members.into_iter().enumerate().filter_map(has_range).collect();
    for members in &mut members {
        members.sort_by_key(|&index| std::cmp::Reverse(runs[index].entries.len()));
    }
    members
}

/// Returns the entries of a range in order, for runs that share entries; `None` if they are too many.
fn slots_of(runs: &[LaneRun], members: &[usize]) -> Option<Vec<u32>> {
    let mut slots = vec![UNUSED; LANES_MAX];
    for lane in members.iter().flat_map(|&index| &runs[index].entries) {
        if slots.contains(&lane.entry) {
            continue;
        }
        let wanted = usize::from(lane.lane);
        let is_free = slots[wanted] == UNUSED;
        let at = if is_free { wanted } else { slots.iter().position(|&slot| slot == UNUSED)? };
        slots[at] = lane.entry;
    }
    let used = slots.iter().rposition(|&slot| slot != UNUSED).map_or(0, |last| last + 1);
    let longest = members.iter().map(|&index| runs[index].words as usize).max().unwrap_or(0);
    slots.truncate(used.next_multiple_of(RANGE_STEP).max(longest));
    Some(slots)
}

/// Records where the entries of a run are, if they are in the order of its lanes.
fn place(run: &mut LaneRun, slots: &[u32], first: u32, is_alone: bool) {
    let is_in_order = run.entries.iter().all(|lane| slots[usize::from(lane.lane)] == lane.entry);
    // No run has an entry twice.
    debug_assert!(is_in_order || !is_alone);
    run.first_entry = is_in_order.then_some(first);
    run.is_alone = is_alone;
    run.entry_bits = std::array::from_fn(|lane| run.kept & 1 << lane);
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
