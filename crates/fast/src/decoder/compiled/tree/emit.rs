//! Basic emitters for tree code: blocks, checks, the position, dictionary entries.

use super::TreeCall;
use super::helper::TextField;
use super::segment::is_text;
use crate::decoder::compiled::flow::CodeFlow;
pub(super) use crate::decoder::compiled::lane::HEAD;
use crate::dictionary::{EMPTY, EntryBackup, UNFIT, Word};
use crate::program::{Op, Program};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use std::mem::offset_of;

/// Bytes that are readable from a checked position on.
pub(in crate::decoder) const REACH: usize = 256;

/// The arguments of the function, as values.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeArguments {
    pub call: Value,
    /// First word of the message.
    pub record: Value,
    /// Words and stamps of the dictionary's entries.
    pub words: Value,
    pub stamps: Value,
    /// Stamp of an assigned entry, 32 bits.
    pub assigned: Value,
}

/// Emits the code of one template.
pub(super) struct TreeEmitter<'a, 'f> {
    pub b: &'a mut FunctionBuilder<'f>,
    pub program: &'a Program,
    pub given: TreeArguments,
    /// Fields that are read by helper functions.
    pub texts: &'a [TextField],
    /// The next byte.
    pub position: Variable,
    /// Words of the message in use.
    pub used: Variable,
    /// Bails out of the message.
    pub bail: Block,
    /// Bails out because too few bytes are readable.
    pub near_end: Block,
    /// True while emitting cold blocks, which are placed after all others.
    pub is_aside: bool,
    /// Bytes that can be read from the position on without another check.
    pub room: usize,
}

impl<'f> CodeFlow<'f> for TreeEmitter<'_, 'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f> {
        self.b
    }

    fn bail_block(&self) -> Block {
        self.bail
    }

    fn aside(&mut self) -> &mut bool {
        &mut self.is_aside
    }
}

impl TreeEmitter<'_, '_> {
    /// Saves these entries, unless they need not be restored. The vector accesses are unaligned.
    pub(super) fn save(&mut self, entries: &EntryBackup) {
        let TreeArguments { words, stamps, .. } = self.given;
        let saved = self.load_call(offset_of!(TreeCall<'_>, saved));
        let (save, decode) = (self.block(), self.block());
        self.branch(saved, save, decode);
        self.b.switch_to_block(save);
        let bytes = types::I8X16.bytes() as i32;
        let words = entries.words.iter().map(|group| (words, group));
        let stamps = entries.stamps.iter().map(|group| (stamps, group));
        for (at, (from, group)) in (0..).zip(words.chain(stamps)) {
            let before = self.b.ins().load(types::I8X16, HEAD, from, *group as i32 * bytes);
            self.b.ins().store(HEAD, before, saved, at * bytes);
        }
        self.jump(decode);
        self.b.switch_to_block(decode);
    }

    /// Creates a block with one parameter.
    pub(super) fn join(&mut self) -> (Block, Value) {
        let block = self.block();
        (block, self.b.append_block_param(block, types::I64))
    }

    pub(super) fn jump(&mut self, to: Block) {
        self.b.ins().jump(to, &[]);
    }

    pub(super) fn jump_with(&mut self, to: Block, value: Value) {
        self.b.ins().jump(to, &[BlockArg::Value(value)]);
    }

    pub(super) fn constant(&mut self, value: u64) -> Value {
        self.b.ins().iconst(types::I64, value as i64)
    }

    /// Ensures that `bytes` can be read from the position on, on every path, and counts them as
    /// read.
    pub(super) fn ensure(&mut self, bytes: usize) {
        if self.room < bytes {
            self.check_position();
            self.room = REACH;
        }
        self.room -= bytes;
    }

    /// Bails out unless [`REACH`] bytes are readable.
    pub(super) fn check_position(&mut self) {
        let position = self.b.use_var(self.position);
        let last = self.load_call(offset_of!(TreeCall<'_>, last));
        let is_near = self.b.ins().icmp(IntCC::UnsignedGreaterThan, position, last);
        let plain = self.block();
        let near_end = self.near_end;
        self.branch(is_near, near_end, plain);
        self.b.switch_to_block(plain);
    }

    pub(super) fn advance(&mut self, bytes: i64) {
        let position = self.b.use_var(self.position);
        let position = self.b.ins().iadd_imm(position, bytes);
        self.b.def_var(self.position, position);
    }

    pub(super) fn load_call(&mut self, at: usize) -> Value {
        debug_assert!(at < size_of::<TreeCall<'_>>());
        self.b.ins().load(types::I64, HEAD, self.given.call, at as i32)
    }

    pub(super) fn store_call(&mut self, at: usize, value: Value) {
        debug_assert!(at < size_of::<TreeCall<'_>>());
        self.b.ins().store(HEAD, value, self.given.call, at as i32);
    }

    /// Loads the word of an entry.
    pub(super) fn entry_word(&mut self, op: &Op) -> Value {
        self.b.ins().load(types::I64, HEAD, self.given.words, word_at(op))
    }

    /// Loads the exponent of an entry.
    pub(super) fn entry_exponent(&mut self, op: &Op) -> Value {
        self.b.ins().load(types::I64, HEAD, self.given.words, exponent_at(op))
    }

    /// Assigns a word to an entry.
    pub(super) fn assign(&mut self, op: &Op, word: Value) {
        let TreeArguments { words, stamps, assigned, .. } = self.given;
        self.b.ins().store(HEAD, word, words, word_at(op));
        self.b.ins().store(HEAD, assigned, stamps, stamp_at(op));
    }

    /// As [`assign`](Self::assign), for a decimal.
    pub(super) fn assign_decimal(&mut self, op: &Op, mantissa: Value, exponent: Value) {
        self.assign(op, mantissa);
        self.b.ins().store(HEAD, exponent, self.given.words, exponent_at(op));
    }

    /// Makes an entry empty.
    pub(super) fn set_empty(&mut self, op: &Op) {
        let empty = self.empty();
        self.b.ins().store(HEAD, empty, self.given.stamps, stamp_at(op));
    }

    /// Emits `is_null`, the block of a NULL that empties the entry: goes to `absent`. Emission continues after the
    /// current block.
    pub(super) fn empty_if_null(&mut self, op: &Op, is_null: Block, absent: Block) {
        let there = self.block();
        self.jump(there);
        self.b.switch_to_block(is_null);
        self.set_empty(op);
        self.jump(absent);
        self.b.switch_to_block(there);
    }

    /// The stamp of an empty entry.
    fn empty(&mut self) -> Value {
        self.b.ins().iadd_imm(self.given.assigned, i64::from(EMPTY))
    }

    /// Tests whether an entry is not undefined.
    pub(super) fn is_used(&mut self, op: &Op) -> Value {
        let stamp = self.stamp(op);
        let assigned = self.given.assigned;
        self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, stamp, assigned)
    }

    fn stamp(&mut self, op: &Op) -> Value {
        self.b.ins().load(types::I32, HEAD, self.given.stamps, stamp_at(op))
    }

    /// Branches on the state of an entry: continues in the first block returned if it is assigned;
    /// the second is for other states. The value is the stamp. An unfit string counts as assigned, an unfit
    /// exponent as another state.
    pub(super) fn branch_if_assigned(&mut self, op: &Op) -> (Block, Block, Value) {
        let stamp = self.stamp(op);
        let state = match is_text(op) {
            true => self.b.ins().band_imm(stamp, !i64::from(UNFIT)),
            false => stamp,
        };
        let is_assigned = self.b.ins().icmp(IntCC::Equal, state, self.given.assigned);
        let (assigned, other) = (self.block(), self.block());
        self.branch(is_assigned, assigned, other);
        (assigned, other, stamp)
    }

    /// Bails out if a stamp that is not that of an assigned entry is not that of an undefined one either.
    pub(super) fn bail_unless_undefined(&mut self, stamp: Value) {
        let empty = self.empty();
        let is_used = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, stamp, empty);
        self.bail_if(is_used);
    }

    /// Emits a copy or tail without a value in the stream and without a previous value. `initial`
    /// emits the code for the initial value and ends its block.
    pub(super) fn not_assigned(
        &mut self,
        op: &Op,
        stamp: Value,
        absent: Block,
        initial: Option<impl FnOnce(&mut Self)>,
    ) {
        if !is_text(op) {
            let empty = self.empty();
            let is_unfit = self.b.ins().icmp(IntCC::UnsignedGreaterThan, stamp, empty);
            self.bail_if(is_unfit);
        }
        match initial {
            Some(initial) => {
                let empty = self.empty();
                let is_empty = self.b.ins().icmp(IntCC::Equal, stamp, empty);
                let undefined = self.block();
                let when_empty = if op.optional { absent } else { self.bail };
                self.branch(is_empty, when_empty, undefined);
                self.b.switch_to_block(undefined);
                initial(self);
            }
            None if op.optional => {
                self.set_empty(op);
                self.jump(absent);
            }
            None => {
                let bail = self.bail;
                self.jump(bail);
            }
        }
    }
}

fn word_at(op: &Op) -> i32 {
    op.entry as i32 * size_of::<Word>() as i32
}

fn exponent_at(op: &Op) -> i32 {
    word_at(op) + size_of::<Word>() as i32
}

fn stamp_at(op: &Op) -> i32 {
    op.entry as i32 * size_of::<u32>() as i32
}
