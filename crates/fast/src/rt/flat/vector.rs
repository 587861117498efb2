//! Reads all fields of a flat template at once, in vectors of 512 bits.
//!
//! The mask of stop bits compresses the byte positions into a list of field ends; the presence map
//! expands the list so that each lane holds its own end and the one before. A byte permutation gathers
//! up to four bytes a lane, two multiply-adds join their groups of seven bits, and a masked move puts
//! what was in the stream over the previous values.
//!
//! This module may use `unsafe`: to call functions of a CPU that has been asked for its features, and to
//! load and store vectors.
#![allow(unsafe_code)]

use super::{Flat, FlatLanes, FlatSegment, LANES, LaneWords};
use crate::decoder::vectors::Wide;
use crate::program::Bytes;
use crate::rt::context::Context;
use crate::rt::cursor::Cursor;
use crate::rt::kernel::Kernel;
use std::arch::x86_64::*;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// The position of each byte.
const IOTA: Bytes = positions(1, VECTOR);
/// The lane of each byte,
const LANE: Bytes = positions(4, LANES);
/// and how far in front of its field's last byte it is taken from.
const BACK: Bytes = positions(1, 4);

/// For each byte its position, divided by `width`, of which the rest to `period` is taken.
const fn positions(width: usize, period: usize) -> Bytes {
    let mut table = [0; VECTOR];
    let mut at = 0;
    while at < VECTOR {
        table[at] = (at / width % period) as u8;
        at += 1;
    }
    Bytes(table)
}

/// The lower halves of the words of two vectors.
const LOWER: FlatLanes = {
    let mut table = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        table[lane] = 2 * lane as u32;
        lane += 1;
    }
    FlatLanes(table)
};

impl Wide {
    /// Decodes a message of a flat template; `None`, with nothing changed, where it is declined or not
    /// all entries are assigned. The first field's bit of the map is the one behind the top.
    #[inline(always)]
    pub(super) fn decode_flat<'b, S: FlatSegment, K: Kernel>(
        self,
        at: Cursor<'b, K>,
        map: u64,
        state: &mut S::State,
        out: &mut S::Out,
        x: &mut Context,
    ) -> Option<Cursor<'b, K>> {
        // SAFETY: a value of this type is made only where every feature was found.
        unsafe { decode::<S, K>(at, map, state, out, x) }
    }

    /// Decodes the fields of a flat template from the front of `buffer`, whose previous values are in
    /// `words`, all assigned, and their words to the front of `out`, one behind the other. Returns how many of `room` bytes they
    /// take; `None`, with nothing changed, where they are declined. The map is as above.
    #[inline(always)]
    pub(crate) fn decode_flat_record(
        self,
        flat: &Flat,
        (buffer, room): (&[u8], usize),
        map: u64,
        words: &mut LaneWords,
        out: &mut LaneWords,
    ) -> Option<usize> {
        // SAFETY: as above.
        unsafe { decode_record(flat, buffer, map, words, room, out) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
fn decode<'b, S: FlatSegment, K: Kernel>(
    at: Cursor<'b, K>,
    map: u64,
    state: &mut S::State,
    out: &mut S::Out,
    x: &mut Context,
) -> Option<Cursor<'b, K>> {
    let is_plain = x.is_outermost() && !x.is_noted();
    if !S::is_warm(state) || !is_plain || !x.flat_habit.is_good() {
        return None;
    }
    let (next, room) = (at.ahead.vector()?, x.room(&at)?);
    // SAFETY: 64 bytes; the load needs no alignment.
    let window = unsafe { _mm512_loadu_si512(next.as_ptr().cast()) };
    let message = read(S::FIELDS, window, map, S::words(state)?, room);
    x.flat_habit.learn(message.is_none());
    let message = message?;
    let mut lanes = FlatLanes([0; LANES]);
    // SAFETY: 16 lanes of four bytes, aligned.
    unsafe { _mm512_store_si512(lanes.0.as_mut_ptr().cast(), message.values) };
    S::fill(&lanes.0, out);
    let mut end = at;
    end.ahead.skip(message.len)?;
    Some(end)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn decode_record(
    flat: &Flat,
    buffer: &[u8],
    map: u64,
    words: &mut LaneWords,
    room: usize,
    out: &mut LaneWords,
) -> Option<usize> {
    let there = _bzhi_u64(u64::MAX, buffer.len().min(VECTOR) as u32);
    // SAFETY: the mask has a bit for each byte of the buffer, and bytes without a bit are not read.
    let window = unsafe { _mm512_maskz_loadu_epi8(there, buffer.as_ptr().cast()) };
    let message = read(flat, window, map, words, room)?;
    store(out, widened(_mm512_maskz_compress_epi32(flat.lanes, message.values)));
    Some(message.len)
}

/// A message that was read.
#[derive(Clone, Copy)]
struct Flattened {
    /// Bytes it takes.
    len: usize,
    /// The value of each lane.
    values: __m512i,
}

/// Reads all fields and makes them the previous values; `None`, with nothing changed, if they take more
/// than `room` bytes or something does not fit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn read(
    flat: &Flat,
    window: __m512i,
    map: u64,
    words: &mut LaneWords,
    room: usize,
) -> Option<Flattened> {
    let stops = _mm512_movepi8_mask(window);
    let sent = sent(flat, map);
    let present = _pdep_u32(sent, u32::from(flat.lanes)) as u16;
    let count = present.count_ones();
    let last = _pdep_u64((1 << count) >> 1, stops);
    let len = 64 - last.leading_zeros() as usize;

    // A field ends with its stop bit and begins behind the one before.
    let list = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(stops, bytes_of(&IOTA)));
    let before_first = _mm_cvtsi32_si128(0xff);
    let ends = _mm_maskz_expand_epi8(present, list);
    let fronts =
        _mm_maskz_expand_epi8(present, _mm_or_si128(_mm_bslli_si128::<1>(list), before_first));
    let is_long = _mm_cmpgt_epi8_mask(_mm_sub_epi8(ends, fronts), _mm_set1_epi8(4));
    let of_lane = |bytes| _mm512_permutexvar_epi8(bytes_of(&LANE), _mm512_castsi128_si512(bytes));
    let index = _mm512_sub_epi8(of_lane(ends), bytes_of(&BACK));
    let is_inside = _mm512_cmpgt_epi8_mask(index, of_lane(fronts));
    let groups = _mm512_and_si512(window, _mm512_set1_epi8(0x7f));
    let raw = _mm512_maskz_permutexvar_epi8(is_inside, index, groups);
    // Groups of 7 bits to 14 and 28.
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001_u16 as i16), raw);
    let value = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));

    let before = load(words);
    let lower = _mm512_permutex2var_epi32(before[0], lanes_of(&LOWER), before[1]);
    let silent = _mm512_add_epi32(lower, lanes_of(&flat.add));
    let now = _mm512_mask_mov_epi32(silent, present, value);
    let is_beyond = _mm512_cmpgt_epu32_mask(now, lanes_of(&flat.max));
    let zeros = _mm512_testn_epi8_mask(window, window);
    let is_map_wrong = map & flat.unused != 0;
    let has_overlong = zeros & (stops << 1 | 1) & last.saturating_sub(1) != 0;
    let is_cut = len > room || last == 0 && count > 0;
    if is_beyond | is_long != 0 || has_overlong || is_map_wrong || is_cut {
        return None;
    }
    keep(words, before, now, present | flat.increments);
    Some(Flattened { len, values: now })
}

/// Seven bits, the last first.
const REVERSED: [u8; 128] = {
    let mut table = [0; 128];
    let mut bits = 0;
    while bits < table.len() {
        table[bits] = (bits as u8).reverse_bits() >> 1;
        bits += 1;
    }
    table
};

/// Which fields are in the stream, the first one lowest, and above them the map's bits of no field.
#[inline(always)]
fn sent(flat: &Flat, map: u64) -> u32 {
    let byte = |nth: u32| u32::from(REVERSED[(map >> (57 - 7 * nth) & 0x7f) as usize]);
    let two = byte(0) >> 1 | byte(1) << 6;
    // The map's first bit is the template identifier's.
    if flat.count <= 13 { two } else { two | byte(2) << 13 }
}

/// The words of all lanes, in whole vectors: what was written in parts would have to be waited for.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &LaneWords) -> [__m512i; 2] {
    let at: *const i64 = words.as_ptr().cast();
    // SAFETY: sixteen words of eight bytes; the loads need no alignment.
    unsafe { [_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(LANES / 2).cast())] }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut LaneWords, vectors: [__m512i; 2]) {
    let at: *mut i64 = words.as_mut_ptr().cast();
    // SAFETY: sixteen words of eight bytes; the stores need no alignment.
    unsafe {
        _mm512_storeu_si512(at.cast(), vectors[0]);
        _mm512_storeu_si512(at.add(LANES / 2).cast(), vectors[1]);
    }
}

/// The words of values.
#[inline]
#[target_feature(enable = "avx512f")]
fn widened(lanes: __m512i) -> [__m512i; 2] {
    let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(lanes));
    [low, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(lanes))]
}

/// Makes the lanes that changed the previous values.
#[inline]
#[target_feature(enable = "avx512f")]
fn keep(words: &mut LaneWords, before: [__m512i; 2], now: __m512i, changed: u16) {
    let [low, high] = widened(now);
    let low = _mm512_mask_mov_epi64(before[0], changed as u8, low);
    let high = _mm512_mask_mov_epi64(before[1], (changed >> 8) as u8, high);
    store(words, [low, high]);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bytes_of(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_of(lanes: &FlatLanes) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(lanes.0.as_ptr().cast()) }
}
