//! The code of integers in the stream: a branch on each length, then a few words at once.

use super::lane::{Body, HEAD};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

const STOP: i64 = 0x80;
/// Bytes that are told apart by branches; longer integers are read as a word.
const BRANCHES: u32 = 4;

/// How an integer is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub signed: bool,
    pub nullable: bool,
    pub delta: bool,
}

/// Bytes of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    Known(i64),
    Counted(Value),
}

impl Body<'_, '_> {
    /// An integer in its shortest form, of at most nine bytes. NULL goes to `absent`, before its byte
    /// is taken. One byte falls through, more are out of the way.
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
        let value = self.groups(None, first, kind.signed);
        if kind.nullable {
            let plain = self.create_block();
            self.b.ins().brif(value, plain, &[], absent, &[]);
            self.b.switch_to_block(plain);
        }
        self.value(lane, kind, value, 1, Length::Known(1), after);

        self.set_aside(true);
        self.b.switch_to_block(more);
        // A byte that is not the last has no stop bit to take away.
        let mut so_far = match kind.signed {
            true => self.groups(None, first, true),
            false => first,
        };
        if !kind.signed {
            let is_overlong = self.b.ins().icmp_imm(IntCC::Equal, first, 0);
            self.bail_if(is_overlong);
        }
        for len in 2..=BRANCHES {
            let byte = self.byte(position, len as i32 - 1);
            if len == 2 && kind.signed {
                // Two bytes for what fits one.
                let both = self.groups(Some(so_far), byte, true);
                let biased = self.b.ins().iadd_imm(both, 64);
                let is_overlong = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, biased, 128);
                self.bail_if(is_overlong);
            }
            let (this, longer) = self.branch_on_stop(byte);
            self.b.switch_to_block(this);
            let value = self.groups(Some(so_far), byte, kind.signed);
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

    /// Seven more bits.
    fn groups(&mut self, so_far: Option<Value>, byte: Value, signed: bool) -> Value {
        match so_far {
            Some(so_far) => {
                let seven = self.b.ins().band_imm(byte, STOP - 1);
                let high = self.b.ins().ishl_imm(so_far, 7);
                self.b.ins().bor(high, seven)
            }
            None if signed => {
                let top = self.b.ins().ishl_imm(byte, 57);
                self.b.ins().sshr_imm(top, 57)
            }
            None => self.b.ins().band_imm(byte, STOP - 1),
        }
    }

    /// Five to nine bytes.
    fn long(&mut self, lane: usize, kind: Kind, position: Value, after: Block) {
        let bytes = self.b.ins().load(types::I64, HEAD, position, 0);
        let stops = self.b.ins().band_imm(bytes, 0x8080_8080_8080_8080u64 as i64);
        let (within, nine) = (self.create_block(), self.create_block());
        if self.run.limit[lane] == u64::MAX {
            self.eight(lane, kind, (bytes, stops), after);
        }
        let join = self.create_block();
        let value = self.b.append_block_param(join, types::I64);
        let len = self.b.append_block_param(join, types::I64);
        self.b.ins().brif(stops, within, &[], nine, &[]);

        self.b.switch_to_block(within);
        let stop = self.b.ins().ctz(stops);
        let count = self.b.ins().iadd_imm(stop, 1);
        let short = self.b.ins().ushr_imm(count, 3);
        let fifty_six = self.b.ins().iconst(types::I64, 63);
        let shift = self.b.ins().isub(fifty_six, stop);
        let reversed = self.b.ins().bswap(bytes);
        let lowered = self.b.ins().ushr(reversed, shift);
        let number = self.join_groups(lowered);
        let number = if kind.signed {
            // Seven of eight bits are left.
            let eighth = self.b.ins().ushr_imm(shift, 3);
            let unused = self.b.ins().isub(shift, eighth);
            let unused = self.b.ins().iadd_imm(unused, 8);
            let top = self.b.ins().ishl(number, unused);
            self.b.ins().sshr(top, unused)
        } else {
            number
        };
        let arguments = [number, short].map(BlockArg::Value);
        self.b.ins().jump(join, &arguments);

        self.b.switch_to_block(nine);
        let last = self.byte(position, 8);
        let is_last = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, last, STOP);
        self.bail_if(is_last);
        let reversed = self.b.ins().bswap(bytes);
        let high = self.join_groups(reversed);
        let number = self.groups(Some(high), last, false);
        let number = if kind.signed {
            let top = self.b.ins().ishl_imm(number, 1);
            self.b.ins().sshr_imm(top, 1)
        } else {
            number
        };
        let nine_bytes = self.b.ins().iconst(types::I64, 9);
        let arguments = [number, nine_bytes].map(BlockArg::Value);
        self.b.ins().jump(join, &arguments);

        self.b.switch_to_block(join);
        self.value(lane, kind, value, 9, Length::Counted(len), after);
    }

    /// Eight bytes, as most times have: where the next field begins does not wait for them.
    fn eight(&mut self, lane: usize, kind: Kind, (bytes, stops): (Value, Value), after: Block) {
        let (eight, other) = (self.create_block(), self.create_block());
        let is_last_only = self.b.ins().icmp_imm(IntCC::Equal, stops, i64::MIN);
        self.b.ins().brif(is_last_only, eight, &[], other, &[]);
        self.b.switch_to_block(eight);
        let reversed = self.b.ins().bswap(bytes);
        let number = self.join_groups(reversed);
        let number = if kind.signed {
            let top = self.b.ins().ishl_imm(number, 8);
            self.b.ins().sshr_imm(top, 8)
        } else {
            number
        };
        self.value(lane, kind, number, 8, Length::Known(8), after);
        self.b.switch_to_block(other);
    }

    /// Joins eight groups of seven bits, the last lowest.
    fn join_groups(&mut self, bytes: Value) -> Value {
        let steps =
            [(0x007f_007f_007f_007fu64, 1), (0x0000_3fff_0000_3fff, 2), (0x0000_0000_0fff_ffff, 4)];
        let mut value = self.b.ins().band_imm(bytes, 0x7f7f_7f7f_7f7f_7f7f);
        for (low, shift) in steps {
            let high = self.b.ins().band_imm(value, !low as i64);
            let high = self.b.ins().ushr_imm(high, shift);
            let low = self.b.ins().band_imm(value, low as i64);
            value = self.b.ins().bor(low, high);
        }
        value
    }

    /// Makes a lane's value of what was read, of at most `len_max` bytes.
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
            let one = match kind.signed {
                false => self.b.ins().iconst(types::I64, 1),
                true => {
                    let positive = self.b.ins().icmp_imm(IntCC::SignedGreaterThan, read, 0);
                    self.b.ins().uextend(types::I64, positive)
                }
            };
            value = self.b.ins().isub(read, one);
        }
        if kind.delta {
            value = self.sum(lane, value);
            self.check_range(lane, value);
        } else if !self.always_fits(lane, kind, len_max) {
            self.check_range(lane, value);
        }
        self.received(lane, value, len, after);
    }

    /// Whether every integer of this length is in the lane's range.
    fn always_fits(&self, lane: usize, kind: Kind, len_max: u32) -> bool {
        let (bias, limit) = (self.run.bias[lane], self.run.limit[lane]);
        let magnitude = 1u64 << (7 * len_max - u32::from(kind.signed));
        match kind.signed {
            true => bias >= magnitude && limit - bias >= magnitude - 1,
            false => limit >= magnitude - 1,
        }
    }

    /// The value before plus a delta of at most 63 bits.
    fn sum(&mut self, lane: usize, delta: Value) -> Value {
        let before = self.load_before(lane);
        let sum = self.b.ins().iadd(before, delta);
        // Narrower lanes have no sum that goes round.
        if self.run.limit[lane] != u64::MAX {
            return sum;
        }
        let is_signed = !matches!(
            self.run.codes[lane],
            crate::program::LaneCode::UnsignedDelta
                | crate::program::LaneCode::UnsignedDeltaNullable
        );
        let is_beyond = if is_signed {
            let changed = self.b.ins().bxor(before, sum);
            let differs = self.b.ins().bxor(delta, sum);
            let both = self.b.ins().band(changed, differs);
            self.b.ins().icmp_imm(IntCC::SignedLessThan, both, 0)
        } else {
            let is_less = self.b.ins().icmp(IntCC::UnsignedLessThan, sum, before);
            let is_negative = self.b.ins().icmp_imm(IntCC::SignedLessThan, delta, 0);
            self.b.ins().bxor(is_less, is_negative)
        };
        self.bail_if(is_beyond);
        sum
    }
}
