//! Functions for whole templates: the fields, and an optional sequence at the end.

use super::super::wide::WideCall;
use super::hand_over::{VectorCall, by_vectors};
use super::lane::{HEAD, LanesBefore, RecordEmitter};
use super::record::{self, EntryFrame, first_lowered, load, store};
use crate::dictionary::{DICTIONARY_PARTS, Home, LaneWords};
use crate::program::{LANES_MAX, LanePlan, LaneRun, Program, Quick, QuickSequence};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlags, Signature, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use std::mem::offset_of;
use std::sync::Arc;

const STOP: i64 = 0x80;
/// Most bytes of a sequence length.
const COUNT_BYTES_MAX: usize = 2;

/// Arguments of compiled code that are passed in memory.
#[derive(Debug)]
#[repr(C)]
pub(super) struct MessageCall {
    pub wide: WideCall,
    /// Last position at which an entry may begin.
    pub last: *const u8,
    /// Nonzero if the SIMD engine should decode entries.
    pub vectors: u64,
    /// Last position at which a message may end.
    pub end: *const u8,
    /// Words available from the start of the record.
    pub words: u64,
    /// Limit of the number of entries.
    pub entries_max: u64,
}

/// Result of compiled code.
#[derive(Debug)]
#[repr(C)]
pub(super) struct MessageEnd {
    /// Position after the last byte; null if the code bailed out.
    pub end: *const u8,
    /// Words in use.
    pub used: u64,
}

/// The arguments of the function, as values.
#[derive(Clone, Copy, Debug)]
struct MessageArguments {
    call: Value,
    position: Value,
    bits: Value,
    record: Value,
    homes: Value,
    dictionary: Value,
}

/// Locations of previous values: the slot of each lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneSlots([u8; LANES_MAX]);

impl LaneSlots {
    /// Returns the mapping in which every lane has its own slot.
    pub(super) fn in_order() -> Self {
        Self(std::array::from_fn(|lane| lane as u8))
    }

    fn of(run: &LaneRun) -> Self {
        let mut slots = Self::in_order();
        for lane in &run.entries {
            slots.0[usize::from(lane.lane)] = lane.slot;
        }
        slots
    }

    pub(super) fn at(&self, lane: usize) -> usize {
        usize::from(self.0[lane])
    }

    /// Returns the slots of a set of lanes.
    fn of_lanes(&self, lanes: u32) -> u32 {
        (0..LANES_MAX)
            .filter(|lane| lanes >> lane & 1 != 0)
            .fold(0, |set, lane| set | 1 << self.0[lane])
    }

    /// Splits lanes into sets with the same distance from lane to slot.
    fn groups(&self, lanes: u32) -> Vec<(u32, i64)> {
        let mut groups: Vec<(u32, i64)> = Vec::new();
        for lane in (0..LANES_MAX).filter(|lane| lanes >> lane & 1 != 0) {
            let higher = i64::from(self.0[lane]) - lane as i64;
            match groups.iter_mut().find(|(_, by)| *by == higher) {
                Some((set, _)) => *set |= 1 << lane,
                None => groups.push((1 << lane, higher)),
            }
        }
        groups
    }
}

/// A template that consists of runs only.
pub(super) struct MessageFrame<'p> {
    pub fields: Option<&'p LaneRun>,
    pub quick: &'p Quick,
    pub sequence: Option<(QuickSequence, EntryFrame<'p>)>,
    /// SIMD decoder of the entries, if the CPU supports it.
    pub vectors: Option<VectorCall>,
}

/// Lanes of undefined entries, by slot; compiled code contains their address.
pub(super) type FreshLanes = Box<LaneWords>;

impl<'p> MessageFrame<'p> {
    /// Returns the frame of a quick template, if it can be compiled.
    pub(super) fn of(program: &'p Program, quick: &'p Quick) -> Option<Self> {
        let run = |index: u32| program.runs.get(index as usize);
        let fields = match quick.run {
            Some(index) => Some(run(index).filter(|run| is_taken(run))?),
            None => None,
        };
        let sequence = match quick.sequence {
            Some(sequence) => {
                let segment = program.segments.get(sequence.segment as usize)?;
                let run = run(sequence.run).filter(|run| is_taken(run))?;
                // An entry reads the lanes of the previous entry, which are in lane order.
                if run.kept != 0 && !run.is_at_home {
                    return None;
                }
                Some((sequence, EntryFrame { run, segment }))
            }
            None => None,
        };
        Some(Self { fields, quick, sequence, vectors: None })
    }

    /// Returns the most bytes read from the first field on, or for one entry.
    pub(super) fn bytes_max(&self) -> usize {
        let fields = self.fields.map_or(0, record::bytes_max) + COUNT_BYTES_MAX;
        fields.max(self.sequence.as_ref().map_or(0, |(_, entries)| record::bytes_max(entries.run)))
    }

    /// Returns the number of lanes to compile.
    pub(super) fn lanes(&self) -> u32 {
        self.fields.map_or(0, |run| run.count)
            + self.sequence.as_ref().map_or(0, |(_, entries)| entries.run.count)
    }

    /// True if the code writes the lanes of the fields to their home. A message with a sequence
    /// leaves them to its caller, because the sequence may still bail out.
    pub(super) fn goes_home(&self) -> bool {
        self.sequence.is_none() && self.fields.is_some_and(|run| run.kept != 0)
    }

    /// True if the home's lanes stay in the message until they are needed.
    pub(super) fn leaves_lanes(&self) -> bool {
        let entries = self.sequence.as_ref().map(|(_, entries)| entries.run);
        let kept = |run: Option<&LaneRun>| run.is_some_and(|run| run.kept != 0);
        kept(entries) || kept(self.fields) && !self.goes_home()
    }

    /// Returns the SIMD plan of the entries.
    pub(super) fn plan(&self) -> Option<&Arc<LanePlan>> {
        self.sequence.as_ref().and_then(|(_, entries)| entries.run.plan.as_ref())
    }

    /// Returns the least number of words that a message needs, including those after it: runs are
    /// written and read as arrays of fixed length.
    pub(super) fn words_min(&self) -> usize {
        self.quick.record_words as usize + LANES_MAX
    }

    /// Builds a [`DecodeMessage`](super::DecodeMessage).
    pub(super) fn build(
        &self,
        function: &mut Function,
        context: &mut FunctionBuilderContext,
        fresh: &mut Vec<FreshLanes>,
    ) {
        let mut b = FunctionBuilder::new(function, context);
        let mut given = begin(&mut b);
        let MessageArguments { call, record, dictionary, .. } = given;
        let bail = b.create_block();
        b.set_cold_block(bail);
        let mut present = b.ins().iconst(types::I64, -1);
        if let Some(run) = self.fields {
            let slots = LaneSlots::of(run);
            let home = from_home(&mut b, run, &slots, &given, bail, fresh);
            let bits = first_lowered(&mut b, run, given.bits);
            let out = b.ins().iadd_imm(record, 8 * i64::from(run.first_slot));
            let before = LanesBefore { lanes: home.words, slots };
            let mut body = RecordEmitter::new(&mut b, run, bits, before, out, bail);
            body.record(given.position, home.carried);
            (given.position, present) = body.done();
            let assigned = b.ins().bor(home.assigned, present);
            if self.goes_home() {
                let end = load(&mut b, call, offset_of!(MessageCall, end));
                bail_if(&mut b, IntCC::UnsignedGreaterThan, given.position, end, bail);
                go_home(&mut b, run, &slots, &home, dictionary, out, [present, assigned]);
            } else {
                hand_on(&mut b, run, dictionary, DICTIONARY_PARTS.fields, [present, assigned]);
            }
        }
        b.ins().store(HEAD, present, record, 8 * self.quick.presence_at as i32);
        match &self.sequence {
            Some((sequence, entries)) => {
                self.entries(&mut b, &given, sequence, entries, bail, fresh)
            }
            None => {
                if self.leaves_lanes() {
                    let none = b.ins().iconst(types::I64, 0);
                    store_word(&mut b, dictionary, DICTIONARY_PARTS.entries, none);
                }
                let used = b.ins().iconst(types::I64, i64::from(self.quick.record_words));
                b.ins().return_(&[given.position, used]);
            }
        }
        b.switch_to_block(bail);
        let null = b.ins().iconst(types::I64, 0);
        b.ins().return_(&[null, null]);
        b.seal_all_blocks();
        b.finalize();
    }

    fn entries(
        &self,
        b: &mut FunctionBuilder<'_>,
        given: &MessageArguments,
        sequence: &QuickSequence,
        entries: &EntryFrame<'_>,
        bail: Block,
        fresh: &mut Vec<FreshLanes>,
    ) {
        let MessageArguments { call, record, dictionary, .. } = *given;
        let (count, position) = count(b, given.position, bail);
        let most = load(b, call, offset_of!(MessageCall, entries_max));
        bail_if(b, IntCC::UnsignedGreaterThan, count, most, bail);
        let step = i64::from(entries.segment.record_words);
        let words = i64::from(self.quick.record_words);
        let of_entries = b.ins().imul_imm(count, step);
        let used = b.ins().iadd_imm(of_entries, words);
        let needed = b.ins().iadd_imm(of_entries, self.words_min() as i64);
        let there = load(b, call, offset_of!(MessageCall, words));
        bail_if(b, IntCC::UnsignedGreaterThan, needed, there, bail);
        // Number and position of the entries, which follow the record.
        let place = b.ins().bor_imm(count, words << 32);
        b.ins().store(HEAD, place, record, 8 * sequence.slot as i32);
        if self.leaves_lanes() {
            store_word(b, dictionary, DICTIONARY_PARTS.entries, count);
        }
        let (some, none) = (b.create_block(), b.create_block());
        b.set_cold_block(none);
        b.ins().brif(count, some, &[], none, &[]);
        b.switch_to_block(none);
        b.ins().return_(&[position, used]);
        b.switch_to_block(some);
        let run = entries.run;
        let home = from_home(b, run, &LaneSlots::of(run), given, bail, fresh);
        let last = load(b, call, offset_of!(MessageCall, last));
        let out = b.ins().iadd_imm(record, 8 * (words + i64::from(run.first_slot)));
        let start = [position, home.carried, home.assigned, count, out, home.words];
        let done = b.create_block();
        let [end, carried, assigned] = [(); 3].map(|()| b.append_block_param(done, types::I64));
        if let Some(vectors) = &self.vectors {
            by_vectors(b, vectors, call, (start, home.there), done);
        }
        let by_code = entries.repeated(b, start, last, bail);
        b.ins().jump(done, &by_code.map(BlockArg::Value));
        b.switch_to_block(done);
        hand_on(b, run, dictionary, DICTIONARY_PARTS.last_entry, [carried, assigned]);
        b.ins().return_(&[end, used]);
    }
}

/// True if the run's lanes can be compiled.
fn is_taken(run: &LaneRun) -> bool {
    run.map_bits <= super::MAP_BITS_MAX && (run.kept == 0 || run.home.is_some())
}

/// Previous values of a record.
struct FromHome {
    /// Address of the home.
    at: Value,
    /// Address of its words, or of their substitute.
    words: Value,
    carried: Value,
    assigned: Value,
    /// Lanes that have a value in the home; all lanes of the home if it is not live.
    there: Value,
}

/// Emits [`DictionaryEntries::lanes`](crate::dictionary::DictionaryEntries::lanes) for its two common cases: a
/// live home with every lane, and a home not written since the last reset.
fn from_home(
    b: &mut FunctionBuilder<'_>,
    run: &LaneRun,
    slots: &LaneSlots,
    given: &MessageArguments,
    bail: Block,
    fresh: &mut Vec<FreshLanes>,
) -> FromHome {
    let zero = b.ins().iconst(types::I64, 0);
    let Some(at) = run.home.filter(|_| run.kept != 0) else {
        // No lane is read before it is written.
        return FromHome { at: zero, words: zero, carried: zero, assigned: zero, there: zero };
    };
    let home = b.ins().iadd_imm(given.homes, (at as usize * size_of::<Home>()) as i64);
    let stamp = load_word(b, home, offset_of!(Home, stamp));
    let epoch = load_word(b, given.dictionary, DICTIONARY_PARTS.epoch);
    let join = b.create_block();
    let [words, carried, assigned, there] =
        [(); 4].map(|()| b.append_block_param(join, types::I64));
    let is_live = b.ins().icmp(IntCC::Equal, stamp, epoch);
    let (live, other) = (b.create_block(), b.create_block());
    b.ins().brif(is_live, live, &[], other, &[]);

    b.switch_to_block(other);
    let left = b.ins().iadd_imm(epoch, 1);
    bail_if(b, IntCC::Equal, stamp, left, bail);
    let mut lanes: FreshLanes = Box::new([[0; 8]; LANES_MAX]);
    for lane in &run.entries {
        lanes[usize::from(lane.slot) % LANES_MAX] = run.fresh[usize::from(lane.lane)];
    }
    let address = b.ins().iconst(types::I64, lanes.as_ptr() as i64);
    fresh.push(lanes);
    let carried_first = b.ins().iconst(types::I64, i64::from(run.fresh_carried));
    let none = b.ins().iconst(types::I64, -1);
    b.ins().jump(join, &[address, carried_first, zero, none].map(BlockArg::Value));

    b.switch_to_block(live);
    let has_value = load_word(b, home, offset_of!(Home, assigned));
    let is_empty = load_word(b, home, offset_of!(Home, empty));
    let known = b.ins().bor(has_value, is_empty);
    let kept = i64::from(slots.of_lanes(run.kept));
    let known = b.ins().band_imm(known, kept);
    let all = b.ins().iconst(types::I64, kept);
    bail_if(b, IntCC::NotEqual, known, all, bail);
    if run.deltas & run.kept != 0 {
        let deltas = i64::from(slots.of_lanes(run.deltas & run.kept));
        let empty = b.ins().band_imm(is_empty, deltas);
        bail_if(b, IntCC::NotEqual, empty, zero, bail);
    }
    let mut set = zero;
    for (lanes, higher) in slots.groups(run.kept) {
        let moved = shifted(b, has_value, -higher);
        let some = b.ins().band_imm(moved, i64::from(lanes));
        set = b.ins().bor(set, some);
    }
    b.ins().jump(join, &[home, set, set, set].map(BlockArg::Value));
    b.switch_to_block(join);
    FromHome { at: home, words, carried, assigned, there }
}

/// Emits [`DictionaryEntries::set_lanes`](crate::dictionary::DictionaryEntries::set_lanes) for the fields of a
/// message, which are at `out`.
fn go_home(
    b: &mut FunctionBuilder<'_>,
    run: &LaneRun,
    slots: &LaneSlots,
    home: &FromHome,
    dictionary: Value,
    out: Value,
    [carried, assigned]: [Value; 2],
) {
    for lane in (0..LANES_MAX).filter(|lane| run.kept >> lane & 1 != 0) {
        let word = load(b, out, 8 * lane);
        store(b, home.at, offset_of!(Home, words) + 8 * slots.at(lane), word);
    }
    // An absent copy or increment empties its entry; an absent delta keeps it.
    let (kept, deltas) = (i64::from(run.kept), i64::from(run.kept & run.deltas));
    let others = kept & !deltas;
    let carried = b.ins().band_imm(carried, others);
    let assigned = b.ins().band_imm(assigned, deltas);
    let assigned = b.ins().bor(carried, assigned);
    // Common case: all lanes have values, as before, and no state changes.
    let is_as_before = b.ins().icmp(IntCC::Equal, assigned, home.there);
    let (changed, done) = (b.create_block(), b.create_block());
    b.set_cold_block(changed);
    b.ins().brif(is_as_before, done, &[], changed, &[]);
    b.switch_to_block(changed);
    let empty = b.ins().bxor_imm(carried, others);
    let epoch = load_word(b, dictionary, DICTIONARY_PARTS.epoch);
    let stamp = load_word(b, home.at, offset_of!(Home, stamp));
    let is_live = b.ins().icmp(IntCC::Equal, stamp, epoch);
    let zero = b.ins().iconst(types::I64, 0);
    let other_slots = !i64::from(slots.of_lanes(run.kept));
    for (at, set) in [(offset_of!(Home, assigned), assigned), (offset_of!(Home, empty), empty)] {
        let before = load_word(b, home.at, at);
        let before = b.ins().select(is_live, before, zero);
        let mut now = b.ins().band_imm(before, other_slots);
        for (lanes, higher) in slots.groups(run.kept) {
            let some = b.ins().band_imm(set, i64::from(lanes));
            let moved = shifted(b, some, higher);
            now = b.ins().bor(now, moved);
        }
        store_word(b, home.at, at, now);
    }
    store_word(b, home.at, offset_of!(Home, stamp), epoch);
    b.ins().jump(done, &[]);
    b.switch_to_block(done);
}

/// Shifts bits left; right if `up` is negative.
fn shifted(b: &mut FunctionBuilder<'_>, bits: Value, up: i64) -> Value {
    match up {
        0 => bits,
        1.. => b.ins().ishl_imm(bits, up),
        _ => b.ins().ushr_imm(bits, -up),
    }
}

/// Returns the state of the lanes that have a dictionary entry.
fn hand_on(
    b: &mut FunctionBuilder<'_>,
    run: &LaneRun,
    dictionary: Value,
    at: usize,
    [carried, assigned]: [Value; 2],
) {
    if run.kept == 0 {
        return;
    }
    let high = b.ins().ishl_imm(assigned, 32);
    let low = b.ins().band_imm(carried, i64::from(u32::MAX));
    let state = b.ins().bor(high, low);
    store(b, dictionary, at, state);
}

/// Reads the sequence length, of at most two bytes.
fn count(b: &mut FunctionBuilder<'_>, position: Value, bail: Block) -> (Value, Value) {
    let done = b.create_block();
    let results = [(); 2].map(|()| b.append_block_param(done, types::I64));
    let first = b.ins().uload8(types::I64, HEAD, position, 0);
    let value = b.ins().band_imm(first, STOP - 1);
    let is_last = b.ins().band_imm(first, STOP);
    let end = b.ins().iadd_imm(position, 1);
    let more = b.create_block();
    let one = [value, end].map(BlockArg::Value);
    b.ins().brif(is_last, done, &one, more, &[]);
    b.switch_to_block(more);
    let second = b.ins().uload8(types::I64, HEAD, position, 1);
    let low = b.ins().band_imm(second, STOP - 1);
    let high = b.ins().ishl_imm(value, 7);
    let both = b.ins().bor(high, low);
    let end = b.ins().iadd_imm(position, 2);
    // Bails out for more than two bytes and for overlong lengths.
    let is_last = b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, second, STOP);
    let is_needed = b.ins().icmp_imm(IntCC::NotEqual, value, 0);
    let is_plain = b.ins().band(is_last, is_needed);
    let two = [both, end].map(BlockArg::Value);
    b.ins().brif(is_plain, done, &two, bail, &[]);
    b.switch_to_block(done);
    (results[0], results[1])
}

/// Begins a [`DecodeMessage`](super::DecodeMessage).
fn begin(b: &mut FunctionBuilder<'_>) -> MessageArguments {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature.returns.extend([AbiParam::new(types::I64); 2]);
    b.func.signature = signature;
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let [call, position, bits, record, homes, dictionary] =
        std::array::from_fn(|index| b.block_params(entry)[index]);
    MessageArguments { call, position, bits, record, homes, dictionary }
}

fn bail_if(b: &mut FunctionBuilder<'_>, condition: IntCC, a: Value, other: Value, bail: Block) {
    let condition = b.ins().icmp(condition, a, other);
    let plain = b.create_block();
    b.ins().brif(condition, bail, &[], plain, &[]);
    b.switch_to_block(plain);
}

fn load_word(b: &mut FunctionBuilder<'_>, from: Value, at: usize) -> Value {
    b.ins().uload32(MemFlags::trusted(), from, at as i32)
}

fn store_word(b: &mut FunctionBuilder<'_>, to: Value, at: usize, value: Value) {
    b.ins().istore32(MemFlags::trusted(), value, to, at as i32);
}
