//! Previous values of a template's own runs: where code finds them in the dictionary, and how it stores the
//! message's.

use super::lane::HEAD;
use super::message::{MessageArguments, MessageCall, bail_if};
use super::record::{load, store};
use crate::dictionary::{DICTIONARY_PARTS, EMPTY, EPOCH_STEP, LaneWords};
use crate::program::{LANES_MAX, LaneRun};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlags, Value, types};
use cranelift_frontend::FunctionBuilder;
use std::mem::offset_of;

/// Lanes of undefined entries; compiled code contains their address.
pub(super) type FreshLanes = Box<LaneWords>;

/// Previous values of a record.
pub(super) struct StoredLanes {
    /// Address of the first lane.
    pub words: Value,
    pub carried: Value,
    pub assigned: Value,
    /// Lanes that are assigned in the dictionary; all bits if every entry is undefined.
    pub there: Value,
}

/// Emits [`DictionaryEntries::lanes`](crate::dictionary::DictionaryEntries::lanes) for its common cases: all
/// entries are assigned, or undefined, or all are assigned or empty.
pub(super) fn previous(
    b: &mut FunctionBuilder<'_>,
    run: &LaneRun,
    given: &MessageArguments,
    bail: Block,
    fresh: &mut Vec<FreshLanes>,
) -> StoredLanes {
    let zero = b.ins().iconst(types::I64, 0);
    let Some(first) = run.first_entry.filter(|_| run.kept != 0) else {
        // No lane is read before it is written.
        return StoredLanes { words: zero, carried: zero, assigned: zero, there: zero };
    };
    let [undefined, used, join] = [(); 3].map(|()| b.create_block());
    let [words, carried, assigned, there] =
        [(); 4].map(|()| b.append_block_param(join, types::I64));
    let is_fresh = load(b, given.call, offset_of!(MessageCall, is_fresh));
    b.ins().brif(is_fresh, undefined, &[], used, &[]);

    b.switch_to_block(undefined);
    let lanes: FreshLanes = Box::new(run.fresh);
    let address = b.ins().iconst(types::I64, lanes.as_ptr() as i64);
    fresh.push(lanes);
    let carried_first = b.ins().iconst(types::I64, i64::from(run.fresh_carried));
    let none = b.ins().iconst(types::I64, -1);
    b.ins().jump(join, &[address, carried_first, zero, none].map(BlockArg::Value));

    b.switch_to_block(used);
    let here = b.ins().iadd_imm(given.words, 8 * i64::from(first));
    let states = LaneStates::load(b, given, first, run.kept);
    let differs = states.any_bits(b, u32::MAX);
    let [all, some] = [(); 2].map(|()| b.create_block());
    b.set_cold_block(some);
    b.ins().brif(differs, some, &[], all, &[]);
    b.switch_to_block(all);
    let set = b.ins().iconst(types::I64, i64::from(run.kept));
    b.ins().jump(join, &[here, set, set, set].map(BlockArg::Value));

    b.switch_to_block(some);
    let is_other = states.any_bits(b, !EMPTY);
    let [all_known, others] = [(); 2].map(|()| b.create_block());
    b.ins().brif(is_other, others, &[], all_known, &[]);
    b.switch_to_block(others);
    let is_used = states.any_used(b);
    b.ins().brif(is_used, bail, &[], undefined, &[]);
    b.switch_to_block(all_known);
    let has_value = states.assigned(b);
    if run.deltas & run.kept != 0 {
        let deltas = i64::from(run.deltas & run.kept);
        let known = b.ins().band_imm(has_value, deltas);
        let deltas = b.ins().iconst(types::I64, deltas);
        bail_if(b, IntCC::NotEqual, known, deltas, bail);
    }
    let set = b.ins().band_imm(has_value, i64::from(run.kept));
    b.ins().jump(join, &[here, set, set, set].map(BlockArg::Value));
    b.switch_to_block(join);
    StoredLanes { words, carried, assigned, there }
}

/// Lanes compared at once.
const GROUP: usize = 4;
/// All of them.
const EVERY: u32 = (1 << GROUP) - 1;

/// States of the entries of a run.
struct LaneStates {
    /// For each group of lanes of which some are kept: its first lane, the kept ones, and the difference of
    /// each stamp from the epoch.
    groups: Vec<(usize, u32, Value)>,
}

impl LaneStates {
    fn load(b: &mut FunctionBuilder<'_>, given: &MessageArguments, first: u32, kept: u32) -> Self {
        let stamps = load(b, given.call, offset_of!(MessageCall, stamps));
        let epoch = load_epoch(b, given);
        let epoch = b.ins().splat(types::I32X4, epoch);
        let mut groups = Vec::new();
        for lane in (0..LANES_MAX).step_by(GROUP) {
            let some = kept >> lane & EVERY;
            if some != 0 {
                let at = size_of::<u32>() * (first as usize + lane);
                let of_group = b.ins().load(types::I32X4, HEAD, stamps, at as i32);
                groups.push((lane, some, b.ins().isub(of_group, epoch)));
            }
        }
        Self { groups }
    }

    /// Returns a value that is not 0 if any kept entry has bits of `bits` in its state.
    fn any_bits(&self, b: &mut FunctionBuilder<'_>, bits: u32) -> Value {
        self.any(b, |b, kept, states| masked(b, kept, bits, states))
    }

    /// Returns a value that is not 0 if any kept entry is not undefined: states are below 4 then.
    fn any_used(&self, b: &mut FunctionBuilder<'_>) -> Value {
        let zero = b.ins().iconst(types::I32, 0);
        let zero = b.ins().splat(types::I32X4, zero);
        self.any(b, |b, kept, states| {
            let beyond = masked(b, EVERY, !(EPOCH_STEP - 1), states);
            let is_used = b.ins().icmp(IntCC::Equal, beyond, zero);
            masked(b, kept, u32::MAX, is_used)
        })
    }

    fn any(
        &self,
        b: &mut FunctionBuilder<'_>,
        mut of_group: impl FnMut(&mut FunctionBuilder<'_>, u32, Value) -> Value,
    ) -> Value {
        let mut any = None;
        for &(_, kept, states) in &self.groups {
            let some = of_group(b, kept, states);
            any = Some(any.map_or(some, |any| b.ins().bor(any, some)));
        }
        match any {
            Some(any) => b.ins().vany_true(any),
            None => b.ins().iconst(types::I8, 0),
        }
    }

    /// Returns the set of lanes that are assigned; others than the kept ones may be in it.
    fn assigned(&self, b: &mut FunctionBuilder<'_>) -> Value {
        let zero = b.ins().iconst(types::I32, 0);
        let zero = b.ins().splat(types::I32X4, zero);
        let mut set = b.ins().iconst(types::I64, 0);
        for &(first, _, states) in &self.groups {
            let is_assigned = b.ins().icmp(IntCC::Equal, states, zero);
            let some = b.ins().vhigh_bits(types::I64, is_assigned);
            let some = b.ins().ishl_imm(some, first as i64);
            set = b.ins().bor(set, some);
        }
        set
    }
}

fn load_epoch(b: &mut FunctionBuilder<'_>, given: &MessageArguments) -> Value {
    let at = DICTIONARY_PARTS.epoch as i32;
    b.ins().load(types::I32, MemFlags::trusted(), given.dictionary, at)
}

/// Clears all but these bits of a group's elements, and all of the elements that are not in this set.
fn masked(b: &mut FunctionBuilder<'_>, kept: u32, bits: u32, group: Value) -> Value {
    if kept == EVERY && bits == u32::MAX {
        return group;
    }
    let element = |index: usize| if kept >> index & 1 != 0 { bits } else { 0 };
    let masks = group_of(b, element);
    b.ins().band(group, masks)
}

/// Returns a constant group.
fn group_of(b: &mut FunctionBuilder<'_>, element: impl Fn(usize) -> u32) -> Value {
    let bytes = std::array::from_fn::<_, GROUP, _>(|index| element(index).to_le_bytes());
    let constant = b.func.dfg.constants.insert(bytes.concat().into());
    b.ins().vconst(types::I32X4, constant)
}

/// Emits [`DictionaryEntries::set_lanes`](crate::dictionary::DictionaryEntries::set_lanes) for the fields of a
/// message, which are at `out`.
pub(super) fn store_lanes(
    b: &mut FunctionBuilder<'_>,
    run: &LaneRun,
    previous: &StoredLanes,
    given: &MessageArguments,
    out: Value,
    [carried, assigned]: [Value; 2],
) {
    let Some(first) = run.first_entry else { return };
    let kept = || (0..LANES_MAX).filter(|lane| run.kept >> lane & 1 != 0);
    for lane in kept() {
        let word = load(b, out, 8 * lane);
        store(b, given.words, 8 * (first as usize + lane), word);
    }
    // An absent copy or increment empties its entry; an absent delta keeps it.
    let deltas = i64::from(run.kept & run.deltas);
    let others = i64::from(run.kept & !run.deltas);
    let carried = b.ins().band_imm(carried, others);
    let assigned = b.ins().band_imm(assigned, deltas);
    let assigned = b.ins().bor(carried, assigned);
    // Common case: all lanes have values, as before, and no state changes.
    let is_as_before = b.ins().icmp(IntCC::Equal, assigned, previous.there);
    let [changed, all, some, done] = [(); 4].map(|()| b.create_block());
    b.ins().brif(is_as_before, done, &[], changed, &[]);
    b.switch_to_block(changed);
    let stamps = load(b, given.call, offset_of!(MessageCall, stamps));
    let epoch = load_epoch(b, given);
    let are_all = b.ins().icmp_imm(IntCC::Equal, assigned, i64::from(run.kept));
    b.ins().brif(are_all, all, &[], some, &[]);
    b.switch_to_block(all);
    let store = StampStore { run, first, stamps, epoch };
    store.all(b);
    b.ins().jump(done, &[]);
    b.switch_to_block(some);
    store.some(b, assigned);
    b.ins().jump(done, &[]);
    b.switch_to_block(done);
}

/// Emits stores of the stamps of a run's entries.
struct StampStore<'r> {
    run: &'r LaneRun,
    /// Entry of the first lane.
    first: u32,
    stamps: Value,
    epoch: Value,
}

impl StampStore<'_> {
    /// Returns the first lanes of groups that can be stored as a whole, because no other run has entries in
    /// the range, which is in the order of the lanes then; deltas keep their state, so they are not among them.
    fn groups(&self) -> Vec<usize> {
        let LaneRun { kept, deltas, is_alone, .. } = *self.run;
        let of_group = |set: u32, first: usize| set >> first & EVERY;
        (0..LANES_MAX)
            .step_by(GROUP)
            .filter(|&first| of_group(kept, first) != 0 && of_group(kept & deltas, first) == 0)
            .filter(|_| is_alone)
            .collect()
    }

    /// Returns the kept lanes outside of these groups.
    fn others(&self, groups: &[usize]) -> impl Iterator<Item = usize> {
        let stored = groups.iter().fold(0u32, |set, first| set | EVERY << first);
        let others = self.run.kept & !stored;
        (0..LANES_MAX).filter(move |lane| others >> lane & 1 != 0)
    }

    /// Returns the offset of a lane's stamp.
    fn at(&self, lane: usize) -> i32 {
        (size_of::<u32>() * (self.first as usize + lane)) as i32
    }

    /// Marks all entries as assigned.
    fn all(&self, b: &mut FunctionBuilder<'_>) {
        let groups = self.groups();
        let assigned = b.ins().splat(types::I32X4, self.epoch);
        for &first in &groups {
            b.ins().store(HEAD, assigned, self.stamps, self.at(first));
        }
        for lane in self.others(&groups) {
            b.ins().store(HEAD, self.epoch, self.stamps, self.at(lane));
        }
    }

    /// Marks these lanes' entries as assigned, others as empty; those of deltas keep their state.
    fn some(&self, b: &mut FunctionBuilder<'_>, assigned: Value) {
        let empty = b.ins().iadd_imm(self.epoch, i64::from(EMPTY));
        let groups = self.groups();
        let [epochs, empties] = [self.epoch, empty].map(|stamp| b.ins().splat(types::I32X4, stamp));
        let bits = b.ins().ireduce(types::I32, assigned);
        let bits = b.ins().splat(types::I32X4, bits);
        for &first in &groups {
            let masks = group_of(b, |lane| 1 << (first + lane));
            let set = b.ins().band(bits, masks);
            let is_set = b.ins().icmp(IntCC::Equal, set, masks);
            let stamps = b.ins().bitselect(is_set, epochs, empties);
            b.ins().store(HEAD, stamps, self.stamps, self.at(first));
        }
        for lane in self.others(&groups) {
            let without = match self.run.deltas >> lane & 1 {
                0 => empty,
                _ => b.ins().load(types::I32, HEAD, self.stamps, self.at(lane)),
            };
            let has_value = b.ins().band_imm(assigned, 1 << lane);
            let stamp = b.ins().select(has_value, self.epoch, without);
            b.ins().store(HEAD, stamp, self.stamps, self.at(lane));
        }
    }
}
