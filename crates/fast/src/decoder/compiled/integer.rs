//! Code for integers in the stream: one branch per length for short integers, then all bytes of a
//! word at once.

use super::flow::CodeFlow;
use super::lane::HEAD;
use super::numbers::{self, STOP};
use crate::template::Width;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

/// Lengths up to this many bytes are distinguished by branches; longer integers are read as a word.
const BRANCHES: u32 = 4;
/// Most bytes of an integer; the code bails out at ten bytes.
pub(super) const INTEGER_BYTES: usize = 9;

/// Range of an integer: values are valid if `value + bias` is at most `limit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub bias: u64,
    pub limit: u64,
}

impl Range {
    pub(super) const ALL: Self = Self { bias: 0, limit: u64::MAX };

    /// Returns the range of a type as encoded. Nullable types have one more value, for NULL.
    pub(super) fn of(is_signed: bool, width: Width, is_nullable: bool) -> Self {
        let bits = width as u32;
        if bits == u64::BITS {
            return Self::ALL;
        }
        let limit = (1 << bits) - 1 + u64::from(is_nullable);
        Self { bias: if is_signed { 1 << (bits - 1) } else { 0 }, limit }
    }

    /// True if every integer of this many bytes is in the range.
    pub(super) fn has_all(self, is_signed: bool, bytes: u32) -> bool {
        let magnitude = 1u64 << (7 * bytes - u32::from(is_signed));
        match is_signed {
            true => {
                self.limit == u64::MAX
                    || self.bias >= magnitude && self.limit - self.bias >= magnitude - 1
            }
            false => self.limit >= magnitude - 1,
        }
    }

    /// Bails out unless the value is in the range.
    pub(super) fn check<'f>(self, emitter: &mut impl CodeFlow<'f>, value: Value) {
        if let Some(is_beyond) = numbers::is_beyond(emitter.builder(), value, self.bias, self.limit)
        {
            emitter.bail_if(is_beyond);
        }
    }

    /// Emits a value plus a delta of at most 63 bits, and the range check of the sum.
    pub(super) fn sum<'f>(
        self,
        emitter: &mut impl CodeFlow<'f>,
        (base, delta): (Value, Value),
        is_signed: bool,
    ) -> Value {
        let sum = emitter.builder().ins().iadd(base, delta);
        if self.limit != u64::MAX {
            // Sums of narrower values cannot overflow 64 bits.
            self.check(emitter, sum);
            return sum;
        }
        let is_beyond = numbers::has_overflowed(emitter.builder(), (base, delta, sum), is_signed);
        emitter.bail_if(is_beyond);
        sum
    }
}

/// Length of a field, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireLength {
    Known(i64),
    Counted(Value),
}

/// An integer to read from the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamInteger {
    pub position: Value,
    pub is_signed: bool,
    /// Target of the jump on NULL, whose byte is not consumed yet; `None` if the integer is not nullable.
    pub null: Option<Block>,
    /// True if integers of eight bytes have a branch: times mostly have that length.
    pub is_often_eight: bool,
}

impl StreamInteger {
    /// Reads an integer in its shortest form, of at most nine bytes. The one-byte case falls through;
    /// longer ones are in cold blocks. `arm` ends the branch of each length: it is given the number,
    /// the most bytes that it has, and its length.
    pub(super) fn read<'f, E: CodeFlow<'f>>(
        self,
        e: &mut E,
        arm: &mut impl FnMut(&mut E, Value, u32, WireLength),
    ) {
        let first = self.byte(e, 0);
        let is_last = e.builder().ins().band_imm(first, STOP);
        let (one, more) = (e.block(), e.block_aside());
        e.branch(is_last, one, more);

        e.builder().switch_to_block(one);
        let number = numbers::groups(e.builder(), None, first, self.is_signed);
        if let Some(null) = self.null {
            let plain = e.block();
            e.branch(number, plain, null);
            e.builder().switch_to_block(plain);
        }
        arm(e, number, 1, WireLength::Known(1));

        let was_aside = e.set_aside(true);
        e.builder().switch_to_block(more);
        self.longer(e, first, arm);
        e.set_aside(was_aside);
    }

    fn byte<'f>(self, e: &mut impl CodeFlow<'f>, at: i32) -> Value {
        e.builder().ins().uload8(types::I64, HEAD, self.position, at)
    }

    /// Emits integers of more than one byte.
    fn longer<'f, E: CodeFlow<'f>>(
        self,
        e: &mut E,
        first: Value,
        arm: &mut impl FnMut(&mut E, Value, u32, WireLength),
    ) {
        // Only the last byte has a stop bit to remove.
        let mut so_far = match self.is_signed {
            true => numbers::groups(e.builder(), None, first, true),
            false => first,
        };
        if !self.is_signed {
            let is_overlong = e.builder().ins().icmp_imm(IntCC::Equal, first, 0);
            e.bail_if(is_overlong);
        }
        for len in 2..=BRANCHES {
            let byte = self.byte(e, len as i32 - 1);
            if len == 2 && self.is_signed {
                // Bails out if two bytes encode a value that fits one.
                let both = numbers::groups(e.builder(), Some(so_far), byte, true);
                let biased = e.builder().ins().iadd_imm(both, 64);
                let is_overlong = e.builder().ins().icmp_imm(IntCC::UnsignedLessThan, biased, 128);
                e.bail_if(is_overlong);
            }
            let is_last = e.builder().ins().band_imm(byte, STOP);
            let (this, longer) = (e.block(), e.block());
            e.branch(is_last, this, longer);
            e.builder().switch_to_block(this);
            let number = numbers::groups(e.builder(), Some(so_far), byte, self.is_signed);
            arm(e, number, len, WireLength::Known(i64::from(len)));
            e.builder().switch_to_block(longer);
            let high = e.builder().ins().ishl_imm(so_far, 7);
            so_far = e.builder().ins().bor(high, byte);
        }
        self.word(e, arm);
    }

    /// Emits integers of five to nine bytes.
    fn word<'f, E: CodeFlow<'f>>(
        self,
        e: &mut E,
        arm: &mut impl FnMut(&mut E, Value, u32, WireLength),
    ) {
        let bytes = e.builder().ins().load(types::I64, HEAD, self.position, 0);
        let stops = numbers::stops(e.builder(), bytes);
        let (within, nine) = (e.block(), e.block());
        if self.is_often_eight {
            // The constant length makes the next field's position available at once.
            let (eight, other) = (e.block(), e.block());
            let is_last_only = e.builder().ins().icmp_imm(IntCC::Equal, stops, i64::MIN);
            e.branch(is_last_only, eight, other);
            e.builder().switch_to_block(eight);
            let number = numbers::eight_bytes(e.builder(), bytes, self.is_signed);
            arm(e, number, 8, WireLength::Known(8));
            e.builder().switch_to_block(other);
        }
        let join = e.block();
        let [number, len] = [(); 2].map(|()| e.builder().append_block_param(join, types::I64));
        e.branch(stops, within, nine);

        e.builder().switch_to_block(within);
        let read = numbers::within_word(e.builder(), bytes, stops, self.is_signed);
        e.builder().ins().jump(join, &read.map(BlockArg::Value));

        e.builder().switch_to_block(nine);
        let last = self.byte(e, 8);
        let is_longer = e.builder().ins().icmp_imm(IntCC::UnsignedLessThan, last, STOP);
        e.bail_if(is_longer);
        let of_nine = numbers::nine_bytes(e.builder(), bytes, last, self.is_signed);
        let nine_bytes = e.builder().ins().iconst(types::I64, INTEGER_BYTES as i64);
        e.builder().ins().jump(join, &[of_nine, nine_bytes].map(BlockArg::Value));

        e.builder().switch_to_block(join);
        arm(e, number, INTEGER_BYTES as u32, WireLength::Counted(len));
    }
}
