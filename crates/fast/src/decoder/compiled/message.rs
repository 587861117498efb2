//! Functions for whole templates: the fields, and an optional sequence at the end.

use super::super::wide::WideCall;
use super::ENTRIES_MAX;
use super::hand_over::{VectorCall, by_vectors};
use super::lane::{HEAD, RecordEmitter};
use super::previous::{FreshLanes, StoredLanes, previous, store_lanes};
use super::record::{self, EntryFrame, first_lowered, load, store};
use crate::dictionary::DICTIONARY_PARTS;
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
    /// Stamps of the dictionary's entries.
    pub stamps: *mut u32,
    /// Nonzero if every entry is undefined.
    pub is_fresh: u64,
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
pub(super) struct MessageArguments {
    pub call: Value,
    position: Value,
    bits: Value,
    record: Value,
    pub words: Value,
    pub dictionary: Value,
}

/// A template that consists of runs only.
pub(super) struct MessageFrame<'p> {
    pub fields: Option<&'p LaneRun>,
    pub quick: &'p Quick,
    pub sequence: Option<(QuickSequence, EntryFrame<'p>)>,
    /// SIMD decoder of the entries, if the CPU supports it.
    pub vectors: Option<VectorCall>,
}

impl<'p> MessageFrame<'p> {
    /// Returns the frame of a quick template, if it can be compiled.
    pub(super) fn of(program: &'p Program, quick: &'p Quick) -> Option<Self> {
        if program.entry_count() > ENTRIES_MAX {
            return None;
        }
        let run = |index: u32| program.runs.get(index as usize);
        let fields = match quick.run {
            Some(index) => Some(run(index).filter(|run| is_taken(run))?),
            None => None,
        };
        let sequence = match quick.sequence {
            Some(sequence) => {
                let segment = program.segments.get(sequence.segment as usize)?;
                let run = run(sequence.run).filter(|run| is_taken(run))?;
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

    /// True if the code writes the lanes of the fields to their entries. A message with a sequence
    /// leaves them to its caller, because the sequence may still bail out.
    pub(super) fn stores_lanes(&self) -> bool {
        self.sequence.is_none() && self.fields.is_some_and(|run| run.kept != 0)
    }

    /// True if lanes stay in the message until their entries are needed.
    pub(super) fn leaves_lanes(&self) -> bool {
        let entries = self.sequence.as_ref().map(|(_, entries)| entries.run);
        let kept = |run: Option<&LaneRun>| run.is_some_and(|run| run.kept != 0);
        kept(entries) || kept(self.fields) && !self.stores_lanes()
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
            let previous = previous(&mut b, run, &given, bail, fresh);
            let bits = first_lowered(&mut b, run, given.bits);
            let out = b.ins().iadd_imm(record, 8 * i64::from(run.first_slot));
            let mut body = RecordEmitter::new(&mut b, run, bits, previous.words, out, bail);
            body.record(given.position, previous.carried);
            (given.position, present) = body.done();
            let assigned = b.ins().bor(previous.assigned, present);
            if self.stores_lanes() {
                let end = load(&mut b, call, offset_of!(MessageCall, end));
                bail_if(&mut b, IntCC::UnsignedGreaterThan, given.position, end, bail);
                store_lanes(&mut b, run, &previous, &given, out, [present, assigned]);
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
        let previous = previous(b, run, given, bail, fresh);
        let last = load(b, call, offset_of!(MessageCall, last));
        let out = b.ins().iadd_imm(record, 8 * (words + i64::from(run.first_slot)));
        let StoredLanes { words, carried, assigned, there } = previous;
        let start = [position, carried, assigned, count, out, words];
        let done = b.create_block();
        let [end, carried, assigned] = [(); 3].map(|()| b.append_block_param(done, types::I64));
        if let Some(vectors) = &self.vectors {
            by_vectors(b, vectors, call, (start, there), done);
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
    run.map_bits <= super::MAP_BITS_MAX && (run.kept == 0 || run.first_entry.is_some())
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
    let [call, position, bits, record, words, dictionary] =
        std::array::from_fn(|index| b.block_params(entry)[index]);
    MessageArguments { call, position, bits, record, words, dictionary }
}

pub(super) fn bail_if(
    b: &mut FunctionBuilder<'_>,
    condition: IntCC,
    a: Value,
    other: Value,
    bail: Block,
) {
    let condition = b.ins().icmp(condition, a, other);
    let plain = b.create_block();
    b.ins().brif(condition, bail, &[], plain, &[]);
    b.switch_to_block(plain);
}

fn store_word(b: &mut FunctionBuilder<'_>, to: Value, at: usize, value: Value) {
    b.ins().istore32(MemFlags::trusted(), value, to, at as i32);
}
