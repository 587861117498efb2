//! Segments: the fields of a template, group or entry, with presence maps and loops.

use super::TreeCall;
use super::emit::{HEAD, REACH, TreeEmitter};
use super::text::TEXT_BYTES;
use crate::decoder::compiled::flow::CodeFlow;
use crate::decoder::compiled::integer::INTEGER_BYTES;
use crate::program::{LANES_MAX, Op, OpCode, Program, SegmentLayout, WireType};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use std::mem::offset_of;

const STOP: i64 = 0x80;
/// Bits of a presence-map byte.
const MAP_BYTE_BITS: u32 = 7;
/// Most bits of a presence map that can be compiled.
const MAP_BITS_MAX: u32 = 56;
/// Most nested groups and sequences that can be compiled.
const DEPTH_MAX: u32 = 16;

/// The segment that is being emitted.
pub(super) struct SegmentFields<'p> {
    segment: &'p SegmentLayout,
    /// First word of its record.
    pub record: Value,
    /// The presence map: `width` bits, the first is the highest.
    bits: Variable,
    width: u32,
    /// Number of the next bit.
    next_bit: u32,
    /// The presence word under construction, and its place in the record.
    present: Variable,
    presence_at: u32,
}

impl SegmentFields<'_> {
    /// Returns the number of presence-map bits that operations so far have used.
    pub(super) fn bits_taken(&self) -> u32 {
        self.next_bit
    }
}

/// Returns the number of operations of a segment, nested segments included, if all can be compiled.
pub(super) fn count(program: &Program, segment: &SegmentLayout, depth: u32) -> Option<u32> {
    let ops = ops_of(program, segment);
    if depth > DEPTH_MAX || segment.map_bits + skipping(ops) > MAP_BITS_MAX {
        return None;
    }
    let mut count = 0;
    for op in ops {
        count += match op.code {
            OpCode::DynamicRef => return None,
            OpCode::Group | OpCode::GroupOptional | OpCode::Sequence => {
                1 + self::count(program, program.segments.get(op.aux as usize)?, depth + 1)?
            }
            _ => 1,
        };
    }
    Some(count)
}

pub(super) fn ops_of<'p>(program: &'p Program, segment: &SegmentLayout) -> &'p [Op] {
    program.code.get(segment.ops.start as usize..segment.ops.end as usize).unwrap_or_default()
}

/// Returns the number of decimals whose mantissa has a bit. If the exponent is absent, that bit is
/// missing, and all later bits move up by one.
fn skipping(ops: &[Op]) -> u32 {
    let skips = |(index, op): (usize, &Op)| {
        let has_bit = |mantissa: &Op| mantissa.rule.has_map_bit();
        is_exponent(op) && ops.get(index + op.aux as usize).is_some_and(has_bit)
    };
    ops.iter().enumerate().filter(|&op| skips(op)).count() as u32
}

fn is_exponent(op: &Op) -> bool {
    matches!(op.code, OpCode::Exponent | OpCode::ExponentDefault | OpCode::ExponentDefaultOptional)
}

impl TreeEmitter<'_, '_> {
    /// Emits a template. `map` is its presence map; the first bit after the template id's is at the
    /// top.
    pub(super) fn template(&mut self, segment: &SegmentLayout, map: Value) {
        let record = self.given.record;
        // The caller has checked the other bits.
        let width = segment.map_bits + skipping(ops_of(self.program, segment));
        let bits = match width {
            0 => map,
            width => self.b.ins().ushr_imm(map, i64::from(64 - width)),
        };
        self.fields(segment, record, bits, width);
    }

    /// Emits a group or an entry: its presence map, if it has one, and its fields.
    fn segment(&mut self, segment: &SegmentLayout, record: Value) {
        if !segment.has_map() {
            let none = self.constant(0);
            return self.fields(segment, record, none, 0);
        }
        let (bits, width) = self.presence_map(segment);
        self.fields(segment, record, bits, width);
    }

    /// Reads a presence map of at most as many bytes as the segment needs.
    fn presence_map(&mut self, segment: &SegmentLayout) -> (Value, u32) {
        let bytes = segment.map_bits.div_ceil(MAP_BYTE_BITS);
        let width = bytes * MAP_BYTE_BITS;
        self.ensure(bytes as usize);
        let position = self.b.use_var(self.position);
        let (done, bits) = self.join();
        let end = self.b.append_block_param(done, types::I64);
        let mut so_far = None;
        for index in 0..bytes {
            let byte = self.b.ins().uload8(types::I64, HEAD, position, index as i32);
            if index > 0 {
                // Overlong: only the operations decide whether it is an error.
                let is_overlong = self.b.ins().icmp_imm(IntCC::Equal, byte, STOP);
                self.bail_if(is_overlong);
            }
            let seven = self.b.ins().band_imm(byte, STOP - 1);
            let shift = i64::from(width - MAP_BYTE_BITS * (index + 1));
            let placed = self.b.ins().ishl_imm(seven, shift);
            let bits = match so_far {
                Some(bits) => self.b.ins().bor(bits, placed),
                None => placed,
            };
            so_far = Some(bits);
            let is_last = self.b.ins().band_imm(byte, STOP);
            let end = self.b.ins().iadd_imm(position, i64::from(index) + 1);
            let arguments = [bits, end].map(BlockArg::Value);
            let more = if index + 1 == bytes { self.bail } else { self.block() };
            self.b.ins().brif(is_last, done, &arguments, more, &[]);
            if index + 1 < bytes {
                self.b.switch_to_block(more);
            }
        }
        self.b.switch_to_block(done);
        self.b.def_var(self.position, end);
        let skipping = skipping(ops_of(self.program, segment));
        let bits = match skipping {
            0 => bits,
            places => self.b.ins().ishl_imm(bits, i64::from(places)),
        };
        (bits, width + skipping)
    }

    fn fields(&mut self, segment: &SegmentLayout, record: Value, map: Value, width: u32) {
        let (bits, present) = (self.b.declare_var(types::I64), self.b.declare_var(types::I64));
        self.b.def_var(bits, map);
        let all = self.constant(u64::MAX);
        self.b.def_var(present, all);
        let presence_at = segment.presence_at;
        let mut fields =
            SegmentFields { segment, record, bits, width, next_bit: 0, present, presence_at };
        let mut ops = ops_of(self.program, segment);
        while !ops.is_empty() {
            let taken = self.operation(&mut fields, ops);
            ops = &ops[taken..];
        }
        self.store_presence(&fields);
        self.check_unused(&fields);
    }

    /// Emits the first operation and those that belong to it; returns their number.
    fn operation(&mut self, fields: &mut SegmentFields<'_>, ops: &[Op]) -> usize {
        let op = &ops[0];
        match op.code {
            OpCode::Constant => {}
            OpCode::ConstantOptional => {
                let done = self.block();
                let (_, silent) = self.branch_on_bit(fields, None);
                // If the bit is set, nothing remains to be done.
                self.absent(fields, op, silent, done);
            }
            OpCode::NextPresenceWord => {
                self.store_presence(fields);
                fields.presence_at += 1;
                let all = self.constant(u64::MAX);
                self.b.def_var(fields.present, all);
            }
            OpCode::CheckEntryType => self.check_entry_type(fields, op),
            OpCode::Exponent | OpCode::ExponentDefault | OpCode::ExponentDefaultOptional => {
                let len = 1 + op.aux as usize;
                self.decimal_of_parts(fields, &ops[..len]);
                return len;
            }
            // Emitted together with its exponent.
            OpCode::Mantissa | OpCode::MantissaDelta => {}
            OpCode::Decimal => self.decimal(fields, op),
            OpCode::Text
            | OpCode::AsciiNone
            | OpCode::AsciiNoneOptional
            | OpCode::AsciiDefault
            | OpCode::AsciiDefaultOptional
            | OpCode::AsciiCopy
            | OpCode::AsciiCopyOptional => self.text(fields, op),
            OpCode::Length | OpCode::LengthNone => {
                self.sequence(fields, op, &ops[1]);
                return 2;
            }
            // Emitted together with its length.
            OpCode::Sequence => {}
            OpCode::Group => self.group(fields, op),
            OpCode::GroupOptional => {
                let before = self.room;
                let done = self.block();
                let (there, silent) = self.branch_on_bit(fields, None);
                self.b.switch_to_block(there);
                self.group(fields, op);
                self.absent(fields, op, silent, done);
                self.room = self.room.min(before);
            }
            // Rejected by `count`.
            OpCode::DynamicRef => {
                let bail = self.bail;
                self.jump(bail);
                let unreachable = self.block();
                self.b.switch_to_block(unreachable);
            }
            _ => {
                self.ensure(INTEGER_BYTES);
                let (absent, done) = (self.block(), self.block());
                let value = self.integer(op, fields, absent);
                self.store(fields, op, 0, value);
                self.absent(fields, op, absent, done);
            }
        }
        1
    }

    /// Ends the current block and emits the block of an absent field; both continue in `done`.
    pub(super) fn absent(
        &mut self,
        fields: &SegmentFields<'_>,
        op: &Op,
        absent: Block,
        done: Block,
    ) {
        self.jump(done);
        self.b.switch_to_block(absent);
        let present = self.b.use_var(fields.present);
        let present = self.b.ins().band_imm(present, !(1i64 << op.bit));
        self.b.def_var(fields.present, present);
        self.jump(done);
        self.b.switch_to_block(done);
    }

    /// Stores a value in a slot of the record.
    pub(super) fn store(&mut self, fields: &SegmentFields<'_>, op: &Op, slot: u32, value: Value) {
        self.b.ins().store(HEAD, value, fields.record, 8 * (op.slot + slot) as i32);
    }

    fn store_presence(&mut self, fields: &SegmentFields<'_>) {
        let present = self.b.use_var(fields.present);
        self.b.ins().store(HEAD, present, fields.record, 8 * fields.presence_at as i32);
    }

    /// Branches on the next bit of the presence map. Returns the block for a set bit, where
    /// emission continues, and the block for a clear bit, which is `silent` if given.
    pub(super) fn branch_on_bit(
        &mut self,
        fields: &mut SegmentFields<'_>,
        silent: Option<Block>,
    ) -> (Block, Block) {
        let is_set = self.peek(fields);
        fields.next_bit += 1;
        let stream = self.block();
        let silent = silent.unwrap_or_else(|| self.block());
        self.branch(is_set, stream, silent);
        self.b.switch_to_block(stream);
        (stream, silent)
    }

    /// Returns the next bit of the presence map as a value that is zero or nonzero.
    fn peek(&mut self, fields: &SegmentFields<'_>) -> Value {
        let bits = self.b.use_var(fields.bits);
        let mask = 1i64 << (fields.width - 1 - fields.next_bit);
        self.b.ins().band_imm(bits, mask)
    }

    /// Accounts for a bit that is missing in the presence map, so that later bits are found.
    pub(super) fn skip_bit(&mut self, fields: &SegmentFields<'_>) {
        let bits = self.b.use_var(fields.bits);
        let bits = self.b.ins().ushr_imm(bits, 1);
        self.b.def_var(fields.bits, bits);
    }

    /// Bails out if unused bits are set: the operations report them.
    fn check_unused(&mut self, fields: &SegmentFields<'_>) {
        let unused = fields.width - fields.segment.map_bits;
        if unused > 0 {
            let bits = self.b.use_var(fields.bits);
            let is_more = self.b.ins().band_imm(bits, (1 << unused) - 1);
            self.bail_if(is_more);
        }
    }

    /// Checks the type of the entry's value (D4) for the next field.
    pub(super) fn check_entry_type(&mut self, fields: &mut SegmentFields<'_>, op: &Op) {
        let tags = self.load_call(offset_of!(TreeCall, tags));
        let set = self.block();
        if op.rule.replaces_previous_value() {
            // A value in the stream replaces the previous value.
            let is_set = self.peek(fields);
            let check = self.block();
            self.branch(is_set, set, check);
            self.b.switch_to_block(check);
        }
        let is_used = self.is_used(op);
        let used = self.block();
        self.branch(is_used, used, set);
        self.b.switch_to_block(used);
        let tag = self.b.ins().uload8(types::I64, HEAD, tags, op.entry as i32);
        let is_other = self.b.ins().icmp_imm(IntCC::NotEqual, tag, i64::from(op.aux as u8));
        self.bail_if(is_other);
        self.jump(set);
        self.b.switch_to_block(set);
        let tag = self.constant(u64::from(op.aux as u8));
        self.b.ins().istore8(HEAD, tag, tags, op.entry as i32);
    }

    fn group(&mut self, fields: &SegmentFields<'_>, op: &Op) {
        let program = self.program;
        self.segment(&program.segments[op.aux as usize], fields.record);
    }

    fn sequence(&mut self, fields: &mut SegmentFields<'_>, length: &Op, op: &Op) {
        let program = self.program;
        let segment = &program.segments[op.aux as usize];
        self.ensure(INTEGER_BYTES);
        let (absent, done) = (self.block(), self.block());
        let count = self.integer(length, fields, absent);
        let most = self.load_call(offset_of!(TreeCall, entries_max));
        self.bail_if_above(count, most);
        let left = self.load_call(offset_of!(TreeCall, entries_left));
        self.bail_if_above(count, left);
        let left = self.b.ins().isub(left, count);
        self.store_call(offset_of!(TreeCall, entries_left), left);
        // Unwanted entries are decoded over each other, after the words that are kept.
        let first = self.b.use_var(self.used);
        let step = if op.discard { 0 } else { i64::from(segment.record_words) };
        let words = match op.discard {
            true => self.constant(u64::from(segment.record_words)),
            false => self.b.ins().imul_imm(count, step),
        };
        let end = self.b.ins().iadd(first, words);
        let words_max = self.load_call(offset_of!(TreeCall, words_max));
        self.bail_if_above(end, words_max);
        if !op.discard {
            self.b.def_var(self.used, end);
            let place = self.b.ins().ishl_imm(first, 32);
            let place = self.b.ins().bor(place, count);
            self.store(fields, op, 0, place);
        }
        let offset = self.b.ins().ishl_imm(first, 3);
        let record = self.b.ins().iadd(self.given.record, offset);
        let after = self.block();
        let (head, record_now) = self.join();
        let left = self.b.append_block_param(head, types::I64);
        let start = [record, count].map(BlockArg::Value);
        self.b.ins().brif(count, head, &start, after, &[]);

        self.b.switch_to_block(head);
        self.room = 0;
        self.segment(segment, record_now);
        let left = self.b.ins().iadd_imm(left, -1);
        let next = self.b.ins().iadd_imm(record_now, 8 * step);
        let onward = [next, left].map(BlockArg::Value);
        self.b.ins().brif(left, head, &onward, after, &[]);

        self.b.switch_to_block(after);
        self.room = 0;
        self.absent(fields, op, absent, done);
    }

    fn bail_if_above(&mut self, value: Value, most: Value) {
        let is_more = self.b.ins().icmp(IntCC::UnsignedGreaterThan, value, most);
        self.bail_if(is_more);
    }
}

/// Words that must follow those of a message: runs are written as arrays of fixed length, over
/// words not yet used.
pub(super) const WORDS_BEHIND: usize = LANES_MAX;

/// No operation reads more bytes than one check covers.
const _: () = assert!(2 * INTEGER_BYTES <= REACH && TEXT_BYTES <= REACH);

/// True if an operation is a string or byte vector that helper functions read.
pub(super) fn is_text(op: &Op) -> bool {
    matches!(op.wire, WireType::Ascii | WireType::Unicode | WireType::ByteVector)
}
