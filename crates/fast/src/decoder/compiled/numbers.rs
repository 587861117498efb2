//! Code shared by runs and trees: integers and short strings from bytes, range checks, sums.
//!
//! The functions emit straight-line code at the current position; callers emit the branches.

use crate::dictionary::LENGTH_SHIFT;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The stop bit.
pub(super) const STOP: i64 = 0x80;
/// The stop bits of eight bytes.
const STOPS: i64 = 0x8080_8080_8080_8080_u64 as i64;
/// The data bits of eight bytes.
const GROUPS: i64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Returns the stop bits of the eight bytes of a word.
pub(super) fn stops(b: &mut FunctionBuilder<'_>, bytes: Value) -> Value {
    b.ins().band_imm(bytes, STOPS)
}

/// Appends the seven data bits of a byte to a number; without a number, returns the byte's data
/// bits, sign-extended if signed.
pub(super) fn groups(
    b: &mut FunctionBuilder<'_>,
    so_far: Option<Value>,
    byte: Value,
    is_signed: bool,
) -> Value {
    match so_far {
        Some(so_far) => {
            let seven = b.ins().band_imm(byte, STOP - 1);
            let high = b.ins().ishl_imm(so_far, 7);
            b.ins().bor(high, seven)
        }
        None if is_signed => extended(b, byte, 57),
        None => b.ins().band_imm(byte, STOP - 1),
    }
}

/// Sign-extends a number whose top `unused` bits are not used.
pub(super) fn extended(b: &mut FunctionBuilder<'_>, number: Value, unused: i64) -> Value {
    let top = b.ins().ishl_imm(number, unused);
    b.ins().sshr_imm(top, unused)
}

/// Joins eight groups of seven bits, the last in the lowest bits: pairs of bytes, then of 16-bit
/// and 32-bit units.
fn join_groups(b: &mut FunctionBuilder<'_>, bytes: Value) -> Value {
    let steps =
        [(0x007f_007f_007f_007fu64, 1), (0x0000_3fff_0000_3fff, 2), (0x0000_0000_0fff_ffff, 4)];
    let mut value = b.ins().band_imm(bytes, GROUPS);
    for (low, shift) in steps {
        let high = b.ins().band_imm(value, !low as i64);
        let high = b.ins().ushr_imm(high, shift);
        let low = b.ins().band_imm(value, low as i64);
        value = b.ins().bor(low, high);
    }
    value
}

/// Returns the integer at the start of a word, of at most eight bytes, and its length; `stops` has
/// at least one bit set.
pub(super) fn within_word(
    b: &mut FunctionBuilder<'_>,
    bytes: Value,
    stops: Value,
    is_signed: bool,
) -> [Value; 2] {
    let stop = b.ins().ctz(stops);
    let count = b.ins().iadd_imm(stop, 1);
    let len = b.ins().ushr_imm(count, 3);
    let top_bit = b.ins().iconst(types::I64, 63);
    let shift = b.ins().isub(top_bit, stop);
    let reversed = b.ins().bswap(bytes);
    let lowered = b.ins().ushr(reversed, shift);
    let number = join_groups(b, lowered);
    if !is_signed {
        return [number, len];
    }
    // Seven of each eight bits are data.
    let eighth = b.ins().ushr_imm(shift, 3);
    let unused = b.ins().isub(shift, eighth);
    let unused = b.ins().iadd_imm(unused, 8);
    let top = b.ins().ishl(number, unused);
    [b.ins().sshr(top, unused), len]
}

/// Returns the integer of eight bytes.
pub(super) fn eight_bytes(b: &mut FunctionBuilder<'_>, bytes: Value, is_signed: bool) -> Value {
    let reversed = b.ins().bswap(bytes);
    let number = join_groups(b, reversed);
    if is_signed { extended(b, number, 8) } else { number }
}

/// Returns the integer of nine bytes; `last` is the ninth.
pub(super) fn nine_bytes(
    b: &mut FunctionBuilder<'_>,
    bytes: Value,
    last: Value,
    is_signed: bool,
) -> Value {
    let reversed = b.ins().bswap(bytes);
    let high = join_groups(b, reversed);
    let number = groups(b, Some(high), last, false);
    if is_signed { extended(b, number, 1) } else { number }
}

/// Returns the value of a nullable integer: NULL is 0, so non-negative values are encoded plus one.
pub(super) fn without_null(b: &mut FunctionBuilder<'_>, number: Value, is_signed: bool) -> Value {
    let one = match is_signed {
        false => b.ins().iconst(types::I64, 1),
        true => {
            let is_positive = b.ins().icmp_imm(IntCC::SignedGreaterThan, number, 0);
            b.ins().uextend(types::I64, is_positive)
        }
    };
    b.ins().isub(number, one)
}

/// Returns a condition that is nonzero if `value + bias` exceeds `limit`; `None` if no value can.
pub(super) fn is_beyond(
    b: &mut FunctionBuilder<'_>,
    value: Value,
    bias: u64,
    limit: u64,
) -> Option<Value> {
    if limit == u64::MAX {
        return None;
    }
    let biased = match bias {
        0 => value,
        bias => b.ins().iadd_imm(value, bias as i64),
    };
    Some(match limit & (limit + 1) {
        0 => b.ins().ushr_imm(biased, i64::from(limit.count_ones())),
        _ => b.ins().icmp_imm(IntCC::UnsignedGreaterThan, biased, limit as i64),
    })
}

/// Returns a condition that is nonzero if `sum`, of `base` and a signed delta, overflowed 64 bits.
pub(super) fn has_overflowed(
    b: &mut FunctionBuilder<'_>,
    (base, delta, sum): (Value, Value, Value),
    is_signed: bool,
) -> Value {
    if is_signed {
        let changed = b.ins().bxor(base, sum);
        let differs = b.ins().bxor(delta, sum);
        let both = b.ins().band(changed, differs);
        b.ins().icmp_imm(IntCC::SignedLessThan, both, 0)
    } else {
        let is_less = b.ins().icmp(IntCC::UnsignedLessThan, sum, base);
        let is_negative = b.ins().icmp_imm(IntCC::SignedLessThan, delta, 0);
        b.ins().bxor(is_less, is_negative)
    }
}

/// Returns the word of a string of at most seven bytes, and its length; `stops` has a bit set among
/// the first seven bytes.
pub(super) fn short_text(b: &mut FunctionBuilder<'_>, bytes: Value, stops: Value) -> [Value; 2] {
    // Bits below the stop bit: eight per byte.
    let below = b.ins().iadd_imm(stops, -1);
    let up_to_stop = b.ins().bxor(stops, below);
    let text = b.ins().band(bytes, up_to_stop);
    let text = b.ins().band_imm(text, GROUPS);
    let stop = b.ins().ctz(stops);
    let count = b.ins().iadd_imm(stop, 1);
    let len = b.ins().ushr_imm(count, 3);
    let top = b.ins().ishl_imm(len, i64::from(LENGTH_SHIFT));
    [b.ins().bor(text, top), len]
}
