//! Strings and byte vectors. Inline code reads ascii strings of up to 32 bytes, helper functions the
//! rest.

use super::TreeCall;
use super::emit::{HEAD, TreeEmitter};
use super::helper::{MIDDLE_BYTES, TextField, TreeTexts, assign_text, copy_text, read_text};
use super::segment::SegmentFields;
use crate::decoder::compiled::flow::CodeFlow;
use crate::decoder::compiled::numbers;
use crate::dictionary::{LENGTH_SHIFT, LONG_LENGTH_SHIFT, LONG_WORD, OUTSIDE};
use crate::program::{Op, WireType};
use crate::template::{SilentValue, StreamContent};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;

/// Bytes loaded to read a string.
pub(super) const TEXT_BYTES: usize = MIDDLE_BYTES;
/// Bytes of a vector register.
const VECTOR_BYTES: i32 = 16;
/// The stop bits of seven bytes.
const STOPS: i64 = 0x80_8080_8080_8080;
const TEXTS: usize = offset_of!(TreeCall<'_>, texts);

impl TreeEmitter<'_, '_> {
    /// Emits a string or byte vector by its rule.
    pub(super) fn text(&mut self, fields: &mut SegmentFields<'_>, op: &Op) {
        self.ensure(TEXT_BYTES);
        let (absent, done) = (self.block(), self.block());
        // Continues here if the record already has the string.
        let kept = self.block();
        if op.rule.has_map_bit() {
            let (stream, silent) = self.branch_on_bit(fields, None);
            self.b.switch_to_block(silent);
            match op.rule.silent {
                SilentValue::Never | SilentValue::Absent | SilentValue::Initial => {
                    self.initial_text(fields, op, absent, kept);
                }
                // Strings have no increment (S2).
                SilentValue::Previous | SilentValue::Next => {
                    self.previous_text(fields, op, absent, kept);
                }
            }
            self.b.switch_to_block(stream);
        }
        match op.rule.stream {
            StreamContent::Value if op.wire == WireType::Ascii => {
                self.ascii(fields, op, absent, kept);
            }
            _ => self.read_by_function(fields, op, absent, kept),
        }
        self.b.switch_to_block(kept);
        self.absent(fields, op, absent, done);
    }

    /// Reads an ascii string; ends the block.
    fn ascii(&mut self, fields: &SegmentFields<'_>, op: &Op, absent: Block, kept: Block) {
        let position = self.b.use_var(self.position);
        let (found, word) = self.join();
        let end = self.b.append_block_param(found, types::I64);
        let bytes = self.b.ins().load(types::I64, HEAD, position, 0);
        let first = self.b.ins().band_imm(bytes, 0x7f);
        let is_one = self.b.ins().band_imm(bytes, 0x80);
        let (one, more) = (self.block(), self.block());
        self.branch(is_one, one, more);

        self.b.switch_to_block(one);
        let after_one = self.b.ins().iadd_imm(position, 1);
        let (plain, zero) = (self.block(), self.block_aside());
        self.branch(first, plain, zero);
        self.b.switch_to_block(zero);
        if op.optional {
            self.b.def_var(self.position, after_one);
            if op.rule.derives_from_previous() {
                self.set_empty(op);
            }
            self.jump(absent);
        } else {
            let empty = self.constant(0);
            self.b.ins().jump(found, &[empty.into(), after_one.into()]);
        }
        self.b.switch_to_block(plain);
        let of_one = self.b.ins().bor_imm(first, 1 << LENGTH_SHIFT);
        self.b.ins().jump(found, &[of_one.into(), after_one.into()]);

        self.b.switch_to_block(more);
        // Leading zeros: only the operations decide whether they are an error.
        let is_zero = self.b.ins().icmp_imm(IntCC::Equal, first, 0);
        self.bail_if(is_zero);
        let stops = self.b.ins().band_imm(bytes, STOPS);
        let (short, long) = (self.block(), self.block_aside());
        self.branch(stops, short, long);
        self.b.switch_to_block(long);
        let was_aside = self.set_aside(true);
        self.middle(fields, op, kept);
        self.read_by_function(fields, op, absent, kept);
        self.set_aside(was_aside);

        self.b.switch_to_block(short);
        let [of_some, len] = numbers::short_text(self.b, bytes, stops);
        let after_some = self.b.ins().iadd(position, len);
        self.b.ins().jump(found, &[of_some.into(), after_some.into()]);

        self.b.switch_to_block(found);
        self.b.def_var(self.position, end);
        self.store(fields, op, 0, word);
        if op.rule.derives_from_previous() {
            self.assign(op, word);
        }
        self.jump(kept);
    }

    /// Reads an ascii string of eight to 32 bytes that does not begin with a zero byte: copies 32 bytes to
    /// the message's strings. Continues in `kept`, for other lengths and without room here.
    fn middle(&mut self, fields: &SegmentFields<'_>, op: &Op, kept: Block) {
        let position = self.b.use_var(self.position);
        let other = self.block_aside();
        let at = self.load_call(TEXTS + offset_of!(TreeTexts<'_>, at));
        let at_max = self.load_call(TEXTS + offset_of!(TreeTexts<'_>, at_max));
        let is_beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, at, at_max);
        let room = self.block();
        self.branch(is_beyond, other, room);

        self.b.switch_to_block(room);
        let [low, high] =
            [0, VECTOR_BYTES].map(|behind| self.b.ins().load(types::I8X16, HEAD, position, behind));
        let [low_stops, high_stops] =
            [low, high].map(|bytes| self.b.ins().vhigh_bits(types::I32, bytes));
        let high_stops = self.b.ins().ishl_imm(high_stops, i64::from(VECTOR_BYTES));
        let stops = self.b.ins().bor(low_stops, high_stops);
        let found = self.block();
        self.branch(stops, found, other);

        self.b.switch_to_block(found);
        self.b.ins().store(HEAD, low, at, 0);
        self.b.ins().store(HEAD, high, at, VECTOR_BYTES);
        let stop = self.b.ins().ctz(stops);
        let stop = self.b.ins().uextend(types::I64, stop);
        let len = self.b.ins().iadd_imm(stop, 1);
        let last_on_wire = self.b.ins().iadd(position, stop);
        let last = self.b.ins().uload8(types::I64, HEAD, last_on_wire, 0);
        let last = self.b.ins().band_imm(last, 0x7f);
        let last_at = self.b.ins().iadd(at, stop);
        self.b.ins().istore8(HEAD, last, last_at, 0);
        match op.discard {
            true => self.count_discarded(at_max, len),
            false => self.keep_middle(fields, op, at, len),
        }
        let after = self.b.ins().iadd(position, len);
        self.b.def_var(self.position, after);
        if op.rule.derives_from_previous() {
            let field = self.text_field(op);
            let function = assign_text as *const () as usize;
            self.call(function, &[self.given.call, field, at, len], 0);
        }
        self.jump(kept);
        self.b.switch_to_block(other);
    }

    /// Counts `len` bytes of a discarded field against the message's limit, as all engines do; the next string
    /// overwrites them.
    fn count_discarded(&mut self, at_max: Value, len: Value) {
        let at_max = self.b.ins().isub(at_max, len);
        self.store_call(TEXTS + offset_of!(TreeTexts<'_>, at_max), at_max);
        let left = self.load_call(TEXTS + offset_of!(TreeTexts<'_>, left));
        let left = self.b.ins().isub(left, len);
        self.store_call(TEXTS + offset_of!(TreeTexts<'_>, left), left);
    }

    /// Adds `len` bytes that were written at `at` to the message's strings, and stores their place in the
    /// record.
    fn keep_middle(&mut self, fields: &SegmentFields<'_>, op: &Op, at: Value, len: Value) {
        let end = self.b.ins().iadd(at, len);
        self.store_call(TEXTS + offset_of!(TreeTexts<'_>, at), end);
        let base = self.load_call(TEXTS + offset_of!(TreeTexts<'_>, base));
        let start = self.b.ins().isub(at, base);
        let length = self.b.ins().ishl_imm(len, i64::from(LONG_LENGTH_SHIFT));
        let place = self.b.ins().bor(start, length);
        let mark = self.constant(u64::from_le_bytes(LONG_WORD));
        let word = self.b.ins().bor(place, mark);
        self.store(fields, op, 0, word);
    }

    /// Emits the initial value, or absent without one; ends the block.
    fn initial_text(&mut self, fields: &SegmentFields<'_>, op: &Op, absent: Block, kept: Block) {
        let initial = &self.program.initials[op.initial as usize];
        match initial.short {
            Some(word) => {
                let word = self.constant(u64::from_le_bytes(word));
                self.store(fields, op, 0, word);
                self.jump(kept);
            }
            None if initial.given => {
                let bail = self.bail;
                self.jump(bail);
            }
            None => self.jump(absent),
        }
    }

    /// Emits the previous value; ends the block.
    fn previous_text(&mut self, fields: &SegmentFields<'_>, op: &Op, absent: Block, kept: Block) {
        let initial = &self.program.initials[op.initial as usize];
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        let take_initial = initial.given.then_some(|emitter: &mut Self| match initial.short {
            Some(word) => {
                let word = emitter.constant(u64::from_le_bytes(word));
                emitter.assign(op, word);
                emitter.store(fields, op, 0, word);
                emitter.jump(kept);
            }
            None => {
                let bail = emitter.bail;
                emitter.jump(bail);
            }
        });
        self.not_assigned(op, stamp, absent, take_initial);

        self.b.switch_to_block(assigned);
        let word = self.entry_word(op);
        let len = self.b.ins().ushr_imm(word, i64::from(LENGTH_SHIFT));
        let is_long = self.b.ins().icmp_imm(IntCC::Equal, len, i64::from(OUTSIDE));
        let (long, short) = (self.block_aside(), self.block());
        self.branch(is_long, long, short);
        self.b.switch_to_block(long);
        let out = self.out(fields, op);
        let field = self.text_field(op);
        let function = copy_text as *const () as usize;
        let is_copied = self.call(function, &[self.given.call, field, out], 1)[0];
        let copied = self.block_aside();
        let bail = self.bail;
        self.branch(is_copied, copied, bail);
        self.b.switch_to_block(copied);
        self.jump(kept);
        self.b.switch_to_block(short);
        self.store(fields, op, 0, word);
        self.jump(kept);
    }

    /// Emits the call that reads a string by its rule; ends the block.
    fn read_by_function(
        &mut self,
        fields: &SegmentFields<'_>,
        op: &Op,
        absent: Block,
        kept: Block,
    ) {
        let position = self.b.use_var(self.position);
        let out = self.out(fields, op);
        let field = self.text_field(op);
        let function = read_text as *const () as usize;
        let results = self.call(function, &[self.given.call, field, position, out], 2);
        let (end, is_present) = (results[0], results[1]);
        let read = self.block();
        let bail = self.bail;
        self.branch(end, read, bail);
        self.b.switch_to_block(read);
        self.b.def_var(self.position, end);
        self.check_position();
        self.branch(is_present, kept, absent);
    }

    /// The address of the field's slot.
    fn out(&mut self, fields: &SegmentFields<'_>, op: &Op) -> Value {
        self.b.ins().iadd_imm(fields.record, 8 * i64::from(op.slot))
    }

    /// Returns the address of a field's description for the helper functions.
    fn text_field(&mut self, op: &Op) -> Value {
        let index = self.texts.iter().position(|field| field.is_of(op)).unwrap_or_default();
        let fields = self.load_call(offset_of!(TreeCall, fields));
        self.b.ins().iadd_imm(fields, (index * size_of::<TextField>()) as i64)
    }

    fn call(&mut self, function: usize, arguments: &[Value], results: usize) -> Vec<Value> {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(vec![AbiParam::new(types::I64); arguments.len()]);
        signature.returns.extend(vec![AbiParam::new(types::I64); results]);
        let signature = self.b.import_signature(signature);
        let address = self.b.ins().iconst(types::I64, function as i64);
        let called = self.b.ins().call_indirect(signature, address, arguments);
        self.b.inst_results(called).to_vec()
    }
}
