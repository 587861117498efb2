//! Arithmetic of integer operators: increments and deltas, by width.

use super::cursor::fits_signed;

/// Returns the value of a copy from the previous one: the same.
#[inline(always)]
pub fn same(value: u64) -> u64 {
    value
}

/// Returns the value after `value` in an unsigned type with this maximum; wraps to 0.
#[inline(always)]
pub fn next_unsigned<const MAX: u64>(value: u64) -> u64 {
    value.wrapping_add(1) & MAX
}

/// Returns the value after `value` in a signed type of `BITS` bits; wraps to the minimum.
#[inline(always)]
pub fn next_signed<const BITS: u32>(value: u64) -> u64 {
    let shift = 64 - BITS;
    ((value.wrapping_add(1) << shift) as i64 >> shift) as u64
}

/// Returns a base plus a delta, if the sum is at most `MAX`.
#[inline(always)]
pub fn add_unsigned<const MAX: u64>(base: u64, delta: i64) -> Option<u64> {
    if MAX <= u32::MAX as u64 {
        // A wrapped sum is far above any `MAX` below 64 bits.
        let sum = base.wrapping_add_signed(delta);
        return (sum <= MAX).then_some(sum);
    }
    base.checked_add_signed(delta).filter(|&sum| sum <= MAX)
}

/// Returns a base plus a delta, if the sum fits a signed type of `BITS` bits.
#[inline(always)]
pub fn add_signed<const BITS: u32>(base: u64, delta: i64) -> Option<u64> {
    if BITS <= 32 {
        // A wrapped sum is outside any narrower type.
        let sum = (base as i64).wrapping_add(delta);
        return fits_signed::<BITS>(sum).then_some(sum as u64);
    }
    let sum = (base as i64).checked_add(delta)?;
    fits_signed::<BITS>(sum).then_some(sum as u64)
}
