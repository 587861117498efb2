//! Integers: reading and operators.

use super::emit::{Emitter, HEAD};
use super::segment::Fields;
use crate::decoder::compiled::numbers::{self, STOP};
use crate::program::{Op, WireType};
use crate::template::{OperatorKind, Width};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

/// Lengths up to this many bytes are distinguished by branches; longer integers are read as a word.
const BRANCHES: u32 = 4;
/// Most bytes of an integer; the code bails out at ten bytes.
pub(super) const INTEGER_BYTES: usize = 9;

/// Range of an integer as encoded: values are valid if `value + bias` is at most `limit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    bias: u64,
    limit: u64,
}

impl Range {
    pub(super) const ALL: Self = Self { bias: 0, limit: u64::MAX };

    /// Returns the range of a type. Nullable types have one more value, for NULL.
    fn of(is_signed: bool, width: Width, is_nullable: bool) -> Self {
        let bits = width as u32;
        if bits == u64::BITS {
            return Self::ALL;
        }
        let limit = (1 << bits) - 1 + u64::from(is_nullable);
        Self { bias: if is_signed { 1 << (bits - 1) } else { 0 }, limit }
    }

    /// True if every integer of this many bytes is in the range.
    fn has_all(self, is_signed: bool, bytes: u32) -> bool {
        let magnitude = 1u64 << (7 * bytes - u32::from(is_signed));
        match is_signed {
            true => {
                self.limit == u64::MAX
                    || self.bias >= magnitude && self.limit - self.bias >= magnitude - 1
            }
            false => self.limit >= magnitude - 1,
        }
    }
}

impl Emitter<'_, '_> {
    /// Reads an integer in its shortest form, of at most nine bytes. NULL goes to `null`. The
    /// one-byte case falls through; longer ones are in cold blocks.
    pub(super) fn read_integer(
        &mut self,
        is_signed: bool,
        null: Option<Block>,
        range: Range,
    ) -> Value {
        let position = self.b.use_var(self.position);
        let (done, value) = self.join();
        let end = self.b.append_block_param(done, types::I64);
        let first = self.b.ins().uload8(types::I64, HEAD, position, 0);
        let is_last = self.b.ins().band_imm(first, STOP);
        let (one, more) = (self.block(), self.block_aside());
        self.branch(is_last, one, more);

        self.b.switch_to_block(one);
        let number = numbers::groups(self.b, None, first, is_signed);
        if let Some(null) = null {
            let (plain, is_null) = (self.block(), self.block());
            self.branch(number, plain, is_null);
            self.b.switch_to_block(is_null);
            self.advance(1);
            self.jump(null);
            self.b.switch_to_block(plain);
        }
        self.arm(number, is_signed, range, 1);
        self.finish(done, position, number, 1);

        self.b.switch_to_block(more);
        let was_aside = self.set_aside(true);
        self.longer(position, first, is_signed, range, done);
        self.set_aside(was_aside);

        self.b.switch_to_block(done);
        self.b.def_var(self.position, end);
        if null.is_none() {
            return value;
        }
        numbers::without_null(self.b, value, is_signed)
    }

    /// Emits integers of more than one byte.
    fn longer(
        &mut self,
        position: Value,
        first: Value,
        is_signed: bool,
        range: Range,
        done: Block,
    ) {
        // Only the last byte has a stop bit to remove.
        let mut so_far = if is_signed { numbers::groups(self.b, None, first, true) } else { first };
        if !is_signed {
            let is_overlong = self.b.ins().icmp_imm(IntCC::Equal, first, 0);
            self.bail_if(is_overlong);
        }
        for len in 2..=BRANCHES {
            let byte = self.b.ins().uload8(types::I64, HEAD, position, len as i32 - 1);
            if len == 2 && is_signed {
                // Bails out if two bytes encode a value that fits one.
                let both = numbers::groups(self.b, Some(so_far), byte, true);
                let biased = self.b.ins().iadd_imm(both, 64);
                let is_overlong = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, biased, 128);
                self.bail_if(is_overlong);
            }
            let is_last = self.b.ins().band_imm(byte, STOP);
            let (this, longer) = (self.block(), self.block());
            self.branch(is_last, this, longer);
            self.b.switch_to_block(this);
            let number = numbers::groups(self.b, Some(so_far), byte, is_signed);
            self.arm(number, is_signed, range, len);
            self.finish(done, position, number, i64::from(len));
            self.b.switch_to_block(longer);
            let high = self.b.ins().ishl_imm(so_far, 7);
            so_far = self.b.ins().bor(high, byte);
        }
        self.word(position, is_signed, range, done);
    }

    /// Ends the branch for one length; checks the range if this length can exceed it.
    fn arm(&mut self, number: Value, is_signed: bool, range: Range, bytes: u32) {
        if !range.has_all(is_signed, bytes) {
            self.check_range(number, range);
        }
    }

    fn finish(&mut self, done: Block, position: Value, number: Value, bytes: i64) {
        let end = self.b.ins().iadd_imm(position, bytes);
        self.b.ins().jump(done, &[number, end].map(BlockArg::Value));
    }

    /// Bails out unless the value is in the range.
    fn check_range(&mut self, value: Value, Range { bias, limit }: Range) {
        if let Some(is_beyond) = numbers::is_beyond(self.b, value, bias, limit) {
            self.bail_if(is_beyond);
        }
    }

    /// Emits integers of five to nine bytes.
    fn word(&mut self, position: Value, is_signed: bool, range: Range, done: Block) {
        let bytes = self.b.ins().load(types::I64, HEAD, position, 0);
        let stops = numbers::stops(self.b, bytes);
        if range.limit == u64::MAX {
            // Times mostly have eight bytes. The constant length makes the next field's position
            // available at once.
            let (eight, other) = (self.block(), self.block());
            let is_last_only = self.b.ins().icmp_imm(IntCC::Equal, stops, i64::MIN);
            self.branch(is_last_only, eight, other);
            self.b.switch_to_block(eight);
            let number = numbers::eight_bytes(self.b, bytes, is_signed);
            self.finish(done, position, number, 8);
            self.b.switch_to_block(other);
        }
        let (within, nine) = (self.block(), self.block());
        self.branch(stops, within, nine);

        self.b.switch_to_block(within);
        let [number, len] = numbers::within_word(self.b, bytes, stops, is_signed);
        self.check_range(number, range);
        let end = self.b.ins().iadd(position, len);
        self.b.ins().jump(done, &[number, end].map(BlockArg::Value));

        self.b.switch_to_block(nine);
        let last = self.b.ins().uload8(types::I64, HEAD, position, 8);
        let is_longer = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, last, STOP);
        self.bail_if(is_longer);
        let number = numbers::nine_bytes(self.b, bytes, last, is_signed);
        self.check_range(number, range);
        self.finish(done, position, number, 9);
    }

    /// Emits an integer with its operator. Continues with its value; goes to `absent` if it has
    /// none.
    ///
    /// Spec: FAST 1.1 §6.3.
    pub(super) fn integer(&mut self, op: &Op, fields: &mut Fields<'_>, absent: Block) -> Value {
        use OperatorKind as K;
        let is_signed = op.wire == WireType::Int;
        let range = Range::of(is_signed, op.width, op.optional);
        let initial = &self.program.initials[op.initial as usize];
        let null = op.optional.then_some(absent);
        match op.operator {
            K::None => self.read_integer(is_signed, null, range),
            K::Constant if !op.optional => self.constant(initial.word),
            K::Constant => {
                let (given, _) = self.branch_on_bit(fields, Some(absent));
                self.b.switch_to_block(given);
                self.constant(initial.word)
            }
            K::Delta | K::Tail => self.delta(op, is_signed, absent),
            K::Default => {
                let (done, value) = self.join();
                let (stream, silent) = self.branch_on_bit(fields, None);
                self.b.switch_to_block(silent);
                if initial.given {
                    let word = self.constant(initial.word);
                    self.jump_with(done, word);
                } else {
                    self.jump(absent);
                }
                self.b.switch_to_block(stream);
                let read = self.read_integer(is_signed, null, range);
                self.jump_with(done, read);
                self.b.switch_to_block(done);
                value
            }
            K::Copy | K::Increment => {
                let (done, value) = self.join();
                let (stream, silent) = self.branch_on_bit(fields, None);
                self.b.switch_to_block(silent);
                self.previous(op, absent, done);
                self.b.switch_to_block(stream);
                let is_null = op.optional.then(|| self.block());
                let read = self.read_integer(is_signed, is_null, range);
                self.assign(op, read);
                self.jump_with(done, read);
                if let Some(is_null) = is_null {
                    self.b.switch_to_block(is_null);
                    self.set_empty(op);
                    self.jump(absent);
                }
                self.b.switch_to_block(done);
                value
            }
        }
    }

    /// Emits copy and increment without a value in the stream: goes to `done` with the value.
    fn previous(&mut self, op: &Op, absent: Block, done: Block) {
        let initial = &self.program.initials[op.initial as usize];
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        let take_initial = initial.given.then_some(|emitter: &mut Self| {
            let word = emitter.constant(initial.word);
            emitter.assign(op, word);
            emitter.jump_with(done, word);
        });
        self.not_assigned(op, stamp, absent, take_initial);
        self.b.switch_to_block(assigned);
        let mut word = self.entry_word(op);
        if op.operator == OperatorKind::Increment {
            word = self.b.ins().iadd_imm(word, 1);
            let unused = 64 - i64::from(op.width as u32);
            word = match op.wire {
                _ if unused == 0 => word,
                WireType::Int => numbers::extended(self.b, word, unused),
                _ => self.b.ins().band_imm(word, (u64::MAX >> unused) as i64),
            };
            self.assign(op, word);
        }
        self.jump_with(done, word);
    }

    fn delta(&mut self, op: &Op, is_signed: bool, absent: Block) -> Value {
        let delta = self.read_integer(true, op.optional.then_some(absent), Range::ALL);
        let initial = self.program.initials[op.initial as usize].word;
        let (known, base) = self.join();
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        let is_empty = self.is_empty(stamp);
        self.bail_if(is_empty);
        let initial = self.constant(initial);
        self.jump_with(known, initial);
        self.b.switch_to_block(assigned);
        let word = self.entry_word(op);
        self.jump_with(known, word);
        self.b.switch_to_block(known);
        let sum = self.sum(base, delta, is_signed, op.width);
        self.assign(op, sum);
        sum
    }

    /// Emits a value plus a delta of at most 63 bits, and the range check of the sum. A delta
    /// outside its own range also makes the sum invalid.
    pub(super) fn sum(
        &mut self,
        base: Value,
        delta: Value,
        is_signed: bool,
        width: Width,
    ) -> Value {
        let sum = self.b.ins().iadd(base, delta);
        if width != Width::W64 {
            // Sums of narrower values cannot overflow 64 bits.
            self.check_range(sum, Range::of(is_signed, width, false));
            return sum;
        }
        let is_beyond = numbers::has_overflowed(self.b, (base, delta, sum), is_signed);
        self.bail_if(is_beyond);
        sum
    }
}
