//! What integer operators do to values: increments and deltas, by width.

use super::cursor::fits_signed;
use super::max;

/// The next value of an unsigned type with this largest value; past it comes 0.
#[inline(always)]
pub fn next_unsigned<const MAX: u64>(value: u64) -> u64 {
    value.wrapping_add(1) & MAX
}

/// The next value of a signed type of `BITS` bits; past the largest comes the smallest.
#[inline(always)]
pub fn next_signed<const BITS: u32>(value: u64) -> u64 {
    let shift = 64 - BITS;
    ((value.wrapping_add(1) << shift) as i64 >> shift) as u64
}

/// A base plus a delta, if the sum is an unsigned value of at most `MAX`.
#[inline(always)]
pub fn add_unsigned<const MAX: u64>(base: u64, delta: i64) -> Option<u64> {
    if MAX <= max::U32 {
        // Whatever wraps around is far above the largest value.
        let sum = base.wrapping_add_signed(delta);
        return (sum <= MAX).then_some(sum);
    }
    base.checked_add_signed(delta).filter(|&sum| sum <= MAX)
}

/// A base plus a delta, if the sum is a signed value of `BITS` bits.
#[inline(always)]
pub fn add_signed<const BITS: u32>(base: u64, delta: i64) -> Option<u64> {
    if BITS <= 32 {
        // Whatever wraps around is far from any value.
        let sum = (base as i64).wrapping_add(delta);
        return fits_signed::<BITS>(sum).then_some(sum as u64);
    }
    let sum = (base as i64).checked_add(delta)?;
    fits_signed::<BITS>(sum).then_some(sum as u64)
}
