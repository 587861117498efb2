//! Code for integers in the stream: one branch per length for short integers, then all bytes of a
//! word at once.

use super::lane::{Body, HEAD};
use super::numbers::{self, STOP};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

/// Lengths up to this many bytes are distinguished by branches; longer integers are read as a word.
const BRANCHES: u32 = 4;

/// Type properties that select how an integer is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub signed: bool,
    pub nullable: bool,
    pub delta: bool,
}

/// Length of a field, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    Known(i64),
    Counted(Value),
}

impl Body<'_, '_> {
    /// Emits an integer in its shortest form, of at most nine bytes. NULL goes to `absent` before
    /// its byte is consumed. The one-byte case falls through; longer ones are in cold blocks.
    pub(super) fn integer(&mut self, lane: usize, kind: Kind, after: Block, absent: Block) {
        let position = self.b.use_var(self.position);
        let first = self.byte(position, 0);
        let is_last = self.b.ins().band_imm(first, STOP);
        let one = self.create_block();
        let was_aside = self.set_aside(true);
        let more = self.create_block();
        self.set_aside(was_aside);
        self.b.ins().brif(is_last, one, &[], more, &[]);
        self.b.switch_to_block(one);
        let value = numbers::groups(self.b, None, first, kind.signed);
        if kind.nullable {
            let plain = self.create_block();
            self.b.ins().brif(value, plain, &[], absent, &[]);
            self.b.switch_to_block(plain);
        }
        self.value(lane, kind, value, 1, Length::Known(1), after);

        self.set_aside(true);
        self.b.switch_to_block(more);
        // Only the last byte has a stop bit to remove.
        let mut so_far = match kind.signed {
            true => numbers::groups(self.b, None, first, true),
            false => first,
        };
        if !kind.signed {
            let is_overlong = self.b.ins().icmp_imm(IntCC::Equal, first, 0);
            self.bail_if(is_overlong);
        }
        for len in 2..=BRANCHES {
            let byte = self.byte(position, len as i32 - 1);
            if len == 2 && kind.signed {
                // Bails out if two bytes encode a value that fits one.
                let both = numbers::groups(self.b, Some(so_far), byte, true);
                let biased = self.b.ins().iadd_imm(both, 64);
                let is_overlong = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, biased, 128);
                self.bail_if(is_overlong);
            }
            let (this, longer) = self.branch_on_stop(byte);
            self.b.switch_to_block(this);
            let value = numbers::groups(self.b, Some(so_far), byte, kind.signed);
            self.value(lane, kind, value, len, Length::Known(i64::from(len)), after);
            self.b.switch_to_block(longer);
            let high = self.b.ins().ishl_imm(so_far, 7);
            so_far = self.b.ins().bor(high, byte);
        }
        self.long(lane, kind, position, after);
        self.set_aside(was_aside);
    }

    fn byte(&mut self, position: Value, at: i32) -> Value {
        self.b.ins().uload8(types::I64, HEAD, position, at)
    }

    fn branch_on_stop(&mut self, byte: Value) -> (Block, Block) {
        let is_last = self.b.ins().band_imm(byte, STOP);
        let (last, more) = (self.create_block(), self.create_block());
        self.b.ins().brif(is_last, last, &[], more, &[]);
        (last, more)
    }

    /// Emits integers of five to nine bytes.
    fn long(&mut self, lane: usize, kind: Kind, position: Value, after: Block) {
        let bytes = self.b.ins().load(types::I64, HEAD, position, 0);
        let stops = numbers::stops(self.b, bytes);
        let (within, nine) = (self.create_block(), self.create_block());
        if self.run.limit[lane] == u64::MAX {
            self.eight(lane, kind, (bytes, stops), after);
        }
        let join = self.create_block();
        let value = self.b.append_block_param(join, types::I64);
        let len = self.b.append_block_param(join, types::I64);
        self.b.ins().brif(stops, within, &[], nine, &[]);

        self.b.switch_to_block(within);
        let read = numbers::within_word(self.b, bytes, stops, kind.signed);
        self.b.ins().jump(join, &read.map(BlockArg::Value));

        self.b.switch_to_block(nine);
        let last = self.byte(position, 8);
        let is_last = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, last, STOP);
        self.bail_if(is_last);
        let number = numbers::nine_bytes(self.b, bytes, last, kind.signed);
        let nine_bytes = self.b.ins().iconst(types::I64, 9);
        let arguments = [number, nine_bytes].map(BlockArg::Value);
        self.b.ins().jump(join, &arguments);

        self.b.switch_to_block(join);
        self.value(lane, kind, value, 9, Length::Counted(len), after);
    }

    /// Emits integers of eight bytes, the usual length of times. The constant length makes the next
    /// field's position available at once.
    fn eight(&mut self, lane: usize, kind: Kind, (bytes, stops): (Value, Value), after: Block) {
        let (eight, other) = (self.create_block(), self.create_block());
        let is_last_only = self.b.ins().icmp_imm(IntCC::Equal, stops, i64::MIN);
        self.b.ins().brif(is_last_only, eight, &[], other, &[]);
        self.b.switch_to_block(eight);
        let number = numbers::eight_bytes(self.b, bytes, kind.signed);
        self.value(lane, kind, number, 8, Length::Known(8), after);
        self.b.switch_to_block(other);
    }

    /// Converts the number that was read, of at most `len_max` bytes, to the lane's value.
    fn value(
        &mut self,
        lane: usize,
        kind: Kind,
        read: Value,
        len_max: u32,
        len: Length,
        after: Block,
    ) {
        let mut value = read;
        if kind.nullable {
            value = numbers::without_null(self.b, read, kind.signed);
        }
        if kind.delta {
            value = self.sum(lane, value);
            self.check_range(lane, value);
        } else if !self.always_fits(lane, kind, len_max) {
            self.check_range(lane, value);
        }
        self.received(lane, value, len, after);
    }

    /// True if every integer of this length is in the lane's range.
    fn always_fits(&self, lane: usize, kind: Kind, len_max: u32) -> bool {
        let (bias, limit) = (self.run.bias[lane], self.run.limit[lane]);
        let magnitude = 1u64 << (7 * len_max - u32::from(kind.signed));
        match kind.signed {
            true => bias >= magnitude && limit - bias >= magnitude - 1,
            false => limit >= magnitude - 1,
        }
    }

    /// Adds a delta of at most 63 bits to the previous value.
    fn sum(&mut self, lane: usize, delta: Value) -> Value {
        let before = self.load_before(lane);
        let sum = self.b.ins().iadd(before, delta);
        // Sums of narrower lanes cannot overflow 64 bits.
        if self.run.limit[lane] != u64::MAX {
            return sum;
        }
        let is_signed = !matches!(
            self.run.codes[lane],
            crate::program::LaneCode::UnsignedDelta
                | crate::program::LaneCode::UnsignedDeltaNullable
        );
        let is_beyond = numbers::has_overflowed(self.b, (before, delta, sum), is_signed);
        self.bail_if(is_beyond);
        sum
    }
}
