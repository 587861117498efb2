//! Basic emitters for tree code: blocks, checks, the position, dictionary entries.

use super::TreeCall;
use super::helper::TextField;
use crate::decoder::compiled::flow::CodeFlow;
pub(super) use crate::decoder::compiled::lane::HEAD;
use crate::dictionary::{ENTRY_BYTES, ENTRY_PARTS, Home};
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
    pub words: Value,
    /// First entry of the dictionary.
    pub entries: Value,
    /// Stamps of an assigned and of an empty entry, 32 bits.
    pub assigned: Value,
    pub empty: Value,
    /// Last position that a check accepts.
    pub last: Value,
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
    /// Bails out because a home is live.
    pub live: Block,
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
    /// Marks these homes as left; bails out if one of them is live.
    pub(super) fn leave(&mut self, homes: &[u32]) {
        if homes.is_empty() {
            return;
        }
        let first = self.load_call(offset_of!(TreeCall<'_>, homes));
        for &home in homes {
            let stamp_at = home as usize * size_of::<Home>() + offset_of!(Home, stamp);
            let stamp = self.b.ins().load(types::I32, HEAD, first, stamp_at as i32);
            let is_live = self.b.ins().icmp(IntCC::Equal, stamp, self.given.assigned);
            let (left, live) = (self.block(), self.live);
            self.branch(is_live, live, left);
            self.b.switch_to_block(left);
            self.b.ins().store(HEAD, self.given.empty, first, stamp_at as i32);
        }
    }

    /// Saves these entries, unless they need not be restored. The vector accesses are unaligned: entries
    /// have an alignment of four bytes.
    pub(super) fn save(&mut self, entries: &[u32]) {
        let saved = self.load_call(offset_of!(TreeCall<'_>, saved));
        let (save, decode) = (self.block(), self.block());
        self.branch(saved, save, decode);
        self.b.switch_to_block(save);
        for (index, entry) in (0..).zip(entries) {
            let at = *entry as i32 * ENTRY_BYTES as i32;
            let before = self.b.ins().load(types::I8X16, HEAD, self.given.entries, at);
            self.b.ins().store(HEAD, before, saved, index * ENTRY_BYTES as i32);
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
        let is_near = self.b.ins().icmp(IntCC::UnsignedGreaterThan, position, self.given.last);
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
        let at = entry_at(op) + ENTRY_PARTS.word as i32;
        self.b.ins().load(types::I64, HEAD, self.given.entries, at)
    }

    /// Loads the exponent of an entry.
    pub(super) fn entry_exponent(&mut self, op: &Op) -> Value {
        let at = entry_at(op) + ENTRY_PARTS.exponent as i32;
        self.b.ins().sload32(HEAD, self.given.entries, at)
    }

    fn stamp(&mut self, op: &Op) -> Value {
        let at = entry_at(op) + ENTRY_PARTS.stamp as i32;
        self.b.ins().load(types::I32, HEAD, self.given.entries, at)
    }

    /// Assigns a word to an entry.
    pub(super) fn assign(&mut self, op: &Op, word: Value) {
        let at = entry_at(op);
        let TreeArguments { entries, assigned, .. } = self.given;
        self.b.ins().store(HEAD, word, entries, at + ENTRY_PARTS.word as i32);
        self.b.ins().store(HEAD, assigned, entries, at + ENTRY_PARTS.stamp as i32);
    }

    /// As [`assign`](Self::assign), for a decimal.
    pub(super) fn assign_decimal(&mut self, op: &Op, mantissa: Value, exponent: Value) {
        self.assign(op, mantissa);
        let at = entry_at(op) + ENTRY_PARTS.exponent as i32;
        self.b.ins().istore32(HEAD, exponent, self.given.entries, at);
    }

    /// Makes an entry empty.
    pub(super) fn set_empty(&mut self, op: &Op) {
        let at = entry_at(op) + ENTRY_PARTS.stamp as i32;
        let TreeArguments { entries, empty, .. } = self.given;
        self.b.ins().store(HEAD, empty, entries, at);
    }

    /// Branches on the state of an entry: continues in the first block returned if it is assigned;
    /// the second is for other states. The value is the stamp.
    pub(super) fn branch_if_assigned(&mut self, op: &Op) -> (Block, Block, Value) {
        let stamp = self.stamp(op);
        let is_assigned = self.b.ins().icmp(IntCC::Equal, stamp, self.given.assigned);
        let (assigned, other) = (self.block(), self.block());
        self.branch(is_assigned, assigned, other);
        (assigned, other, stamp)
    }

    /// Tests whether a stamp is that of an empty entry.
    pub(super) fn is_empty(&mut self, stamp: Value) -> Value {
        self.b.ins().icmp(IntCC::Equal, stamp, self.given.empty)
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
        match initial {
            Some(initial) => {
                let is_empty = self.is_empty(stamp);
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

fn entry_at(op: &Op) -> i32 {
    op.entry as i32 * ENTRY_BYTES as i32
}
