//! Decimals: with one operator, and with separate operators for exponent and mantissa.

use super::emit::TreeEmitter;
use super::segment::SegmentFields;
use crate::decoder::compiled::flow::CodeFlow;
use crate::decoder::compiled::integer::{INTEGER_BYTES, Range};
use crate::program::{Initial, Op, OpCode};
use crate::template::{SilentValue, StreamContent};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

/// Bias of exponents, which range from -63 to 63.
const EXPONENT_BIAS: i64 = 63;
const EXPONENT_LIMIT: i64 = 126;

/// Exponent and mantissa.
type ScaledValues = [Value; 2];

impl TreeEmitter<'_, '_> {
    /// Emits an exponent and the operations that follow it for the mantissa.
    pub(super) fn decimal_of_parts(&mut self, fields: &mut SegmentFields<'_>, ops: &[Op]) {
        let op = &ops[0];
        self.ensure(2 * INTEGER_BYTES);
        let (absent, done) = (self.block(), self.block());
        let exponent = self.integer(op, fields, absent);
        self.check_exponent(exponent);
        let first_bit = fields.bits_taken();
        for part in &ops[1..] {
            if part.code == OpCode::CheckEntryType {
                self.check_entry_type(fields, part);
                continue;
            }
            // Mandatory: the block is unreachable, and removed by the compiler.
            let never = self.block_aside();
            let mantissa = self.integer(part, fields, never);
            self.store(fields, part, 0, exponent);
            self.store(fields, part, 1, mantissa);
            let here = self.block();
            self.jump(here);
            self.b.switch_to_block(never);
            let bail = self.bail;
            self.jump(bail);
            self.b.switch_to_block(here);
        }
        let skipped = fields.bits_taken() - first_bit;
        let without = self.block();
        self.jump(done);
        self.b.switch_to_block(absent);
        for _ in 0..skipped {
            self.skip_bit(fields);
        }
        self.jump(without);
        self.b.switch_to_block(done);
        let all = self.block();
        self.absent(fields, op, without, all);
    }

    fn check_exponent(&mut self, exponent: Value) {
        let biased = self.b.ins().iadd_imm(exponent, EXPONENT_BIAS);
        let is_beyond = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, biased, EXPONENT_LIMIT);
        self.bail_if(is_beyond);
    }

    /// Emits a decimal with one operator, by its rule.
    ///
    /// Spec: FAST 1.1 §6.3, §10.6.4.
    pub(super) fn decimal(&mut self, fields: &mut SegmentFields<'_>, op: &Op) {
        self.ensure(2 * INTEGER_BYTES);
        let (absent, done, found) = (self.block(), self.block(), self.block());
        let scaled = [(); 2].map(|()| self.b.append_block_param(found, types::I64));
        let initial = &self.program.initials[op.initial as usize];
        if op.rule.has_map_bit() {
            let no_value = (op.rule.silent == SilentValue::Absent).then_some(absent);
            let (stream, silent) = self.branch_on_bit(fields, no_value);
            match op.rule.silent {
                SilentValue::Never | SilentValue::Absent => {}
                SilentValue::Initial => {
                    self.b.switch_to_block(silent);
                    let scaled = self.scaled_initial(initial);
                    self.found(found, scaled);
                }
                // Decimals have no increment (S2).
                SilentValue::Previous | SilentValue::Next => {
                    self.b.switch_to_block(silent);
                    self.scaled_previous(op, initial, absent, found);
                }
            }
            self.b.switch_to_block(stream);
        }
        let value = match op.rule.stream {
            StreamContent::Constant => self.scaled_initial(initial),
            StreamContent::Value if op.rule.derives_from_previous() => {
                self.scaled_received(op, absent)
            }
            StreamContent::Value => self.scaled(op, absent),
            StreamContent::Delta | StreamContent::Tail => self.scaled_delta(op, initial, absent),
        };
        self.found(found, value);
        self.b.switch_to_block(found);
        self.store(fields, op, 0, scaled[0]);
        self.store(fields, op, 1, scaled[1]);
        self.absent(fields, op, absent, done);
    }

    /// Reads exponent and mantissa, and assigns them to the entry.
    fn scaled_received(&mut self, op: &Op, absent: Block) -> ScaledValues {
        let is_null = self.block();
        let read = self.scaled(op, is_null);
        self.assign_decimal(op, read[1], read[0]);
        self.empty_if_null(op, is_null, absent);
        read
    }

    fn found(&mut self, found: Block, scaled: ScaledValues) {
        self.b.ins().jump(found, &scaled.map(BlockArg::Value));
    }

    fn scaled_initial(&mut self, initial: &Initial) -> ScaledValues {
        let exponent = self.constant(i64::from(initial.exponent) as u64);
        [exponent, self.constant(initial.word)]
    }

    /// Reads exponent and mantissa.
    fn scaled(&mut self, op: &Op, null: Block) -> ScaledValues {
        let exponent = self.read_integer(true, op.optional.then_some(null), Range::ALL);
        self.check_exponent(exponent);
        [exponent, self.read_integer(true, None, Range::ALL)]
    }

    /// Emits the previous value; if there is none, the initial value, or absent.
    fn scaled_previous(&mut self, op: &Op, initial: &Initial, absent: Block, found: Block) {
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        let take_initial = initial.given.then_some(|emitter: &mut Self| {
            let scaled = emitter.scaled_initial(initial);
            emitter.assign_decimal(op, scaled[1], scaled[0]);
            emitter.found(found, scaled);
        });
        self.not_assigned(op, stamp, absent, take_initial);
        self.b.switch_to_block(assigned);
        let scaled = [self.entry_exponent(op), self.entry_word(op)];
        self.found(found, scaled);
    }

    fn scaled_delta(&mut self, op: &Op, initial: &Initial, absent: Block) -> ScaledValues {
        let exponent_delta = self.read_integer(true, op.optional.then_some(absent), Range::ALL);
        let mantissa_delta = self.read_integer(true, None, Range::ALL);
        let known = self.block();
        let [exponent, mantissa] = [(); 2].map(|()| self.b.append_block_param(known, types::I64));
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        self.bail_unless_undefined(stamp);
        let base = self.scaled_initial(initial);
        self.found(known, base);
        self.b.switch_to_block(assigned);
        let base = [self.entry_exponent(op), self.entry_word(op)];
        self.found(known, base);
        self.b.switch_to_block(known);
        // An exponent plus a delta of 63 bits cannot overflow 64 bits.
        let exponent = self.b.ins().iadd(exponent, exponent_delta);
        self.check_exponent(exponent);
        let mantissa = Range::ALL.sum(self, (mantissa, mantissa_delta), true);
        self.assign_decimal(op, mantissa, exponent);
        [exponent, mantissa]
    }
}
