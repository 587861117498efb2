//! Encodes messages of integers and a symbol row by row with 512-bit vectors.
//!
//! Steps for a row of values:
//!
//! 1. A multishift puts the groups of seven bits of each value into bytes, highest group first.
//! 2. A byte is needed if it is the value's last byte, or if its group or a higher one is not zero.
//!    `smeared` answers that for all groups at once: each group is the OR of itself and all higher
//!    groups.
//! 3. The stop bit is added to the last bytes, and a compression removes the bytes that are not
//!    needed.

use std::arch::x86_64::*;

use super::OpraAvx512;
use crate::Field;
use crate::encoder::flat::{FlatValues, ROOM_BYTES};

/// Slots 0 to 7 have lanes of 64 bits, because sequence number and symbol may have five bytes.
/// Slots 8 to 23 and 24 to 39 have lanes of 32 bits. No other slot holds an integer outside groups.
const SLOTS: u32 = 40;

/// Bits of a 32-bit lane that do not fit four bytes on the wire.
const HIGH_BITS: i32 = 0xF000_0000_u32 as i32;

/// Returns a mask of the lanes in which two rows of values differ. Slots from 48 on hold no
/// numbers.
#[inline]
pub(crate) fn differing(_: OpraAvx512, left: &[u32; 64], right: &[u32; 64]) -> u64 {
    // SAFETY: an `OpraAvx512` is made only where the CPU has every feature of the function.
    unsafe { differing_rows(left, right) }
}

/// Writes presence map and fields of a message; `numbers` holds its 32-bit values. Returns the
/// length, or `None` if one of them needs five bytes or has no lane.
#[inline]
pub(crate) fn write(
    _: OpraAvx512,
    room: &mut [u8; ROOM_BYTES],
    numbers: &[u32; 64],
    values: FlatValues,
    sent: u64,
) -> Option<usize> {
    // SAFETY: an `OpraAvx512` is made only where the CPU has every feature of the function.
    unsafe { write_rows(room, numbers, values, sent) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_row(numbers: &[u32; 64], first: usize) -> __m512i {
    match numbers.get(first..).and_then(|row| row.first_chunk::<16>()) {
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        Some(row) => unsafe { _mm512_loadu_si512(row.as_ptr().cast()) },
        None => _mm512_setzero_si512(),
    }
}

#[target_feature(enable = "avx512f")]
fn differing_rows(left: &[u32; 64], right: &[u32; 64]) -> u64 {
    let row = |first| {
        let (left, right) = (load_row(left, first), load_row(right, first));
        u64::from(_mm512_cmpneq_epu32_mask(left, right)) << first
    };
    row(0) | row(16) | row(32)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn write_rows(
    room: &mut [u8; ROOM_BYTES],
    numbers: &[u32; 64],
    values: FlatValues,
    sent: u64,
) -> Option<usize> {
    let (low, middle, high) =
        (sent as __mmask8, (sent >> 8) as __mmask16, (sent >> 24) as __mmask16);
    let (middle_row, high_row) = (load_row(numbers, 8), load_row(numbers, 24));
    let is_too_high =
        |row, sent| _mm512_mask_test_epi32_mask(sent, row, _mm512_set1_epi32(HIGH_BITS));
    let too_high = is_too_high(middle_row, middle) | is_too_high(high_row, high);
    if sent >> SLOTS != 0 || too_high != 0 {
        return None;
    }
    let mut offset = write_presence_map(room, sent);

    let row = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(load_row(numbers, 0)));
    let symbol = _mm512_set1_epi64(values.symbol as i64);
    let row = _mm512_mask_mov_epi64(row, Field::Symbol.bit() as __mmask8, symbol);
    let seq_num = _mm512_set1_epi64(values.seq_num as i64);
    let row = _mm512_mask_mov_epi64(row, Field::SeqNum.bit() as __mmask8, seq_num);
    let row = _mm512_maskz_mov_epi64(low, row);
    let smeared = _mm512_or_si512(row, _mm512_srli_epi64::<7>(row));
    let smeared = _mm512_or_si512(smeared, _mm512_srli_epi64::<14>(smeared));
    let smeared = _mm512_or_si512(smeared, _mm512_srli_epi64::<28>(smeared));
    // Byte n of a lane gets the seven bits from bit 7 * (7 - n) on.
    let shifts = _mm512_set1_epi64(0x0007_0E15_1C23_2A31);
    let lasts = _pdep_u64(low.into(), 0x8080_8080_8080_8080);
    offset += write_row(room, offset, shifts, row, smeared, lasts);

    // Byte n of each 32-bit half gets the seven bits of that half from bit 7 * (3 - n) on.
    let shifts = _mm512_set1_epi64(0x2027_2E35_0007_0E15);
    for (row, sent) in [(middle_row, middle), (high_row, high)] {
        let row = _mm512_maskz_mov_epi32(sent, row);
        let smeared = _mm512_or_si512(row, _mm512_srli_epi32::<7>(row));
        let smeared = _mm512_or_si512(smeared, _mm512_srli_epi32::<14>(smeared));
        let lasts = _pdep_u64(sent.into(), 0x8888_8888_8888_8888);
        offset += write_row(room, offset, shifts, row, smeared, lasts);
    }
    Some(offset)
}

/// Writes the values of a row, zero for those not sent, and returns the number of bytes. In
/// `smeared` each group of seven bits contains the bits of all higher groups; `lasts` marks the
/// last byte of each value sent.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn write_row(
    room: &mut [u8; ROOM_BYTES],
    offset: usize,
    shifts: __m512i,
    row: __m512i,
    smeared: __m512i,
    lasts: u64,
) -> usize {
    let low_bits = _mm512_set1_epi8(0x7F);
    let is_needed = _mm512_test_epi8_mask(_mm512_multishift_epi64_epi8(shifts, smeared), low_bits);
    let is_needed = is_needed | lasts;
    let groups = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, row), low_bits);
    let stop = _mm512_set1_epi8(0x80_u8 as i8);
    let bytes = _mm512_mask_add_epi8(groups, lasts, groups, stop);
    let packed = _mm512_maskz_compress_epi8(is_needed, bytes);
    if let Some(room) = room.get_mut(offset..).and_then(|room| room.first_chunk_mut::<64>()) {
        // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), packed) };
    }
    is_needed.count_ones() as usize
}

/// Writes the presence map of `slots` and returns its length.
#[inline]
#[target_feature(enable = "avx512f,gfni,bmi2,lzcnt")]
fn write_presence_map(room: &mut [u8; ROOM_BYTES], slots: u64) -> usize {
    let len = (63 - (slots | 1).leading_zeros() as usize) / 7 + 1;
    // Puts seven slots into the upper bits of each byte; an affine transformation with this matrix
    // then reverses the bits of every byte.
    let groups = _pdep_u64(slots, 0xFEFE_FEFE_FEFE_FEFE);
    let matrix = _mm_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let turned = _mm_gf2p8affine_epi64_epi8::<0>(_mm_cvtsi64_si128(groups as i64), matrix);
    let word = _mm_cvtsi128_si64(turned) as u64 | 0x80 << (8 * (len - 1));
    if let Some(room) = room.first_chunk_mut::<8>() {
        *room = word.to_le_bytes();
    }
    len
}
