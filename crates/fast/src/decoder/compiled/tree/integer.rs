//! Integers: reading and operators.

use super::emit::TreeEmitter;
use super::segment::SegmentFields;
use crate::decoder::compiled::flow::CodeFlow;
use crate::decoder::compiled::integer::{Range, StreamInteger, WireLength};
use crate::decoder::compiled::numbers;
use crate::program::{Op, WireType};
use crate::template::{SilentValue, StreamContent};
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

impl TreeEmitter<'_, '_> {
    /// Reads an integer; NULL goes to `null`.
    pub(super) fn read_integer(
        &mut self,
        is_signed: bool,
        null: Option<Block>,
        range: Range,
    ) -> Value {
        let position = self.b.use_var(self.position);
        let (done, value) = self.join();
        let end = self.b.append_block_param(done, types::I64);
        let is_null = null.map(|_| self.block());
        let is_often_eight = range.limit == u64::MAX;
        let integer = StreamInteger { position, is_signed, null: is_null, is_often_eight };
        integer.read(self, &mut |emitter: &mut Self, number, bytes, len| {
            if !range.has_all(is_signed, bytes) {
                range.check(emitter, number);
            }
            let end = match len {
                WireLength::Known(len) => emitter.b.ins().iadd_imm(position, len),
                WireLength::Counted(len) => emitter.b.ins().iadd(position, len),
            };
            emitter.b.ins().jump(done, &[number, end].map(BlockArg::Value));
        });
        if let (Some(is_null), Some(null)) = (is_null, null) {
            self.b.switch_to_block(is_null);
            self.advance(1);
            self.jump(null);
        }
        self.b.switch_to_block(done);
        self.b.def_var(self.position, end);
        match null {
            Some(_) => numbers::without_null(self.b, value, is_signed),
            None => value,
        }
    }

    /// Emits an integer by its rule. Continues with its value; goes to `absent` if it has none.
    ///
    /// Spec: FAST 1.1 §6.3.
    pub(super) fn integer(
        &mut self,
        op: &Op,
        fields: &mut SegmentFields<'_>,
        absent: Block,
    ) -> Value {
        let rule = op.rule;
        if !rule.has_map_bit() {
            return self.integer_in_stream(op, absent);
        }
        let (done, value) = self.join();
        let initial = self.program.initials[op.initial as usize].word;
        let no_value = (rule.silent == SilentValue::Absent).then_some(absent);
        let (stream, silent) = self.branch_on_bit(fields, no_value);
        match rule.silent {
            SilentValue::Never | SilentValue::Absent => {}
            SilentValue::Initial => {
                self.b.switch_to_block(silent);
                let word = self.constant(initial);
                self.jump_with(done, word);
            }
            SilentValue::Previous | SilentValue::Next => {
                self.b.switch_to_block(silent);
                self.previous(op, absent, done);
            }
        }
        self.b.switch_to_block(stream);
        let read = self.integer_in_stream(op, absent);
        self.jump_with(done, read);
        self.b.switch_to_block(done);
        value
    }

    /// Emits an integer that is in the stream, or a constant that is present.
    fn integer_in_stream(&mut self, op: &Op, absent: Block) -> Value {
        let is_signed = op.wire == WireType::Int;
        let range = Range::of(is_signed, op.width, op.optional);
        match op.rule.stream {
            StreamContent::Constant => {
                self.constant(self.program.initials[op.initial as usize].word)
            }
            StreamContent::Delta | StreamContent::Tail => self.delta(op, is_signed, absent),
            StreamContent::Value if op.rule.derives_from_previous() => {
                let is_null = op.optional.then(|| self.block());
                let read = self.read_integer(is_signed, is_null, range);
                self.assign(op, read);
                if let Some(is_null) = is_null {
                    self.empty_if_null(op, is_null, absent);
                }
                read
            }
            StreamContent::Value => {
                self.read_integer(is_signed, op.optional.then_some(absent), range)
            }
        }
    }

    /// Emits the previous value, or the next after it: goes to `done` with the value.
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
        let word = self.entry_word(op);
        let derived = match op.rule.silent {
            SilentValue::Never
            | SilentValue::Absent
            | SilentValue::Initial
            | SilentValue::Previous => word,
            SilentValue::Next => self.next(op, word),
        };
        self.jump_with(done, derived);
    }

    /// Emits the value after `word`, in the width of the field, and assigns it.
    fn next(&mut self, op: &Op, word: Value) -> Value {
        let next = self.b.ins().iadd_imm(word, 1);
        let unused = 64 - i64::from(op.width as u32);
        let next = match op.wire {
            _ if unused == 0 => next,
            WireType::Int => numbers::extended(self.b, next, unused),
            _ => self.b.ins().band_imm(next, (u64::MAX >> unused) as i64),
        };
        self.assign(op, next);
        next
    }

    fn delta(&mut self, op: &Op, is_signed: bool, absent: Block) -> Value {
        let delta = self.read_integer(true, op.optional.then_some(absent), Range::ALL);
        let initial = self.program.initials[op.initial as usize].word;
        let (known, base) = self.join();
        let (assigned, other, stamp) = self.branch_if_assigned(op);
        self.b.switch_to_block(other);
        self.bail_unless_undefined(stamp);
        let initial = self.constant(initial);
        self.jump_with(known, initial);
        self.b.switch_to_block(assigned);
        let word = self.entry_word(op);
        self.jump_with(known, word);
        self.b.switch_to_block(known);
        let range = Range::of(is_signed, op.width, false);
        let sum = range.sum(self, (base, delta), is_signed);
        self.assign(op, sum);
        sum
    }
}
