//! Strings and byte vectors. Inline code reads ascii strings that fit a word, helper functions the
//! rest.

use super::TreeCall;
use super::emit::{HEAD, TreeEmitter};
use super::helper::{TextField, copy_text, read_text};
use super::segment::SegmentFields;
use crate::decoder::compiled::flow::CodeFlow;
use crate::decoder::compiled::numbers;
use crate::dictionary::OUTSIDE;
use crate::program::{Op, WireType};
use crate::template::OperatorKind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;

/// Bytes loaded to read a string that fits a word.
pub(super) const WORD_BYTES: usize = 8;
/// The stop bits of seven bytes.
const STOPS: i64 = 0x80_8080_8080_8080;
/// The length of a string is in the highest byte of its word.
const LENGTH_SHIFT: i64 = 56;

impl TreeEmitter<'_, '_> {
    /// Emits a string or byte vector with its operator.
    pub(super) fn text(&mut self, fields: &mut SegmentFields<'_>, op: &Op) {
        use OperatorKind as K;
        self.ensure(WORD_BYTES);
        let (absent, done) = (self.block(), self.block());
        // Continues here if the record already has the string.
        let kept = self.block();
        if !matches!(op.operator, K::None | K::Delta) {
            let (stream, silent) = self.branch_on_bit(fields, None);
            self.b.switch_to_block(silent);
            match op.operator {
                K::Default => self.initial_text(fields, op, absent, kept),
                _ => self.previous_text(fields, op, absent, kept),
            }
            self.b.switch_to_block(stream);
        }
        let is_ascii = op.wire == WireType::Ascii;
        match op.operator {
            K::None | K::Default | K::Copy if is_ascii => self.ascii(fields, op, absent, kept),
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
            if op.operator == OperatorKind::Copy {
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
        self.read_by_function(fields, op, absent, kept);
        self.set_aside(was_aside);

        self.b.switch_to_block(short);
        let [of_some, len] = numbers::short_text(self.b, bytes, stops);
        let after_some = self.b.ins().iadd(position, len);
        self.b.ins().jump(found, &[of_some.into(), after_some.into()]);

        self.b.switch_to_block(found);
        self.b.def_var(self.position, end);
        self.store(fields, op, 0, word);
        if op.operator == OperatorKind::Copy {
            self.assign(op, word);
        }
        self.jump(kept);
    }

    /// Emits default without a value in the stream; ends the block.
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

    /// Emits copy and tail without a value in the stream; ends the block.
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
        let len = self.b.ins().ushr_imm(word, LENGTH_SHIFT);
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

    /// Emits the call that reads a string with any operator; ends the block.
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
