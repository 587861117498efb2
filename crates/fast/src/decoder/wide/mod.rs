//! The engine of 512-bit vectors: all fields of a record are taken at once.
//!
//! A record's bytes lie in one vector. The mask of its stop bits compresses the byte positions into
//! a list of field ends; the presence map expands that list so that each lane holds its own end and
//! length. Byte permutations then gather up to eight bytes a lane, two multiply-adds join their groups
//! of seven bits, and a masked move puts what was in the stream over the record before, which stays
//! in registers. Nothing depends on how long a field is or which ones there are.
//!
//! What does not fit (more bytes than a lane or a vector has, NULL exponents) and what is not certain
//! to be right (values out of range, encodings longer than needed, the end of the bytes) is declined,
//! record by record, and left to the portable engine.
//!
//! This module may use `unsafe`: to call functions of a CPU that has been asked for its features, and to
//! load and store vectors.
#![allow(unsafe_code)]

use super::lanes::{Place, Progress, presence_word};
use crate::dictionary::{Lanes, Word};
use crate::program::{Bytes, LANES, LaneBytes, MapLanes, Plan, Run, VECTORS_MAX, Words};
use std::arch::x86_64::*;

/// Proof that this CPU has every instruction the engine uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide(());

/// The longest presence map, in bytes.
const MAP_BYTES_MAX: u32 = 8;
/// Shift count of lanes that are not in the stream.
const ABSENT: i64 = 64;

static IOTA: Bytes = iota(0);
static NEXT: Bytes = iota(1);

/// Shift counts that leave a field's bits at the top of its word: 16 entries for the lengths of
/// integers, 16 for those of text. A count with its top bit set says that the field is too long.
static COUNTS: LaneBytes = {
    let mut table = [0xff; 32];
    table[0] = ABSENT as u8;
    table[16] = ABSENT as u8;
    let mut len = 1;
    while len <= 8 {
        table[len] = 64 - 7 * len as u8;
        if len <= 7 {
            table[16 + len] = 64 - 8 * len as u8;
        }
        len += 1;
    }
    LaneBytes(table)
};

const fn iota(first: u8) -> Bytes {
    let mut bytes = [0; 64];
    let mut index = 0;
    while index < 64 {
        bytes[index] = index as u8 + first;
        index += 1;
    }
    Bytes(bytes)
}

impl Wide {
    /// Finds out whether this CPU has every instruction the engine uses.
    pub(crate) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        is_there.then_some(Self(()))
    }

    /// As [`lanes::entries`](super::lanes::entries), for runs with a presence map: decodes entries
    /// until one is declined and returns how many there were.
    #[inline]
    pub(super) fn entries(
        self,
        run: &Run,
        bytes: &[u8],
        place: Place<'_>,
        lanes: &Lanes,
        progress: &mut Progress,
        count: u32,
    ) -> u32 {
        let Some(plan) = run.plan.as_deref() else { return 0 };
        // SAFETY: `detect` makes the only values of this type, where it found every feature.
        unsafe {
            match plan.count {
                1 => entries::<1>(run, plan, bytes, place, lanes, progress, count),
                2 => entries::<2>(run, plan, bytes, place, lanes, progress, count),
                3 => entries::<3>(run, plan, bytes, place, lanes, progress, count),
                _ => entries::<VECTORS_MAX>(run, plan, bytes, place, lanes, progress, count),
            }
        }
    }

    /// Puts the lanes of a run that have an entry to where they are kept, in whole vectors: loads of
    /// vectors wait for narrower stores to the same place.
    #[inline]
    pub(crate) fn keep(self, run: &Run, plan: &Plan, home: &mut Lanes, lanes: &[Word]) {
        // SAFETY: as above.
        unsafe {
            match plan.count {
                1 => keep::<1>(run, plan, home, lanes),
                2 => keep::<2>(run, plan, home, lanes),
                3 => keep::<3>(run, plan, home, lanes),
                _ => keep::<VECTORS_MAX>(run, plan, home, lanes),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn entries<const N: usize>(
    run: &Run,
    plan: &Plan,
    bytes: &[u8],
    place: Place<'_>,
    lanes: &Lanes,
    progress: &mut Progress,
    count: u32,
) -> u32 {
    let Place { words, mut base, step, presence_at } = place;
    let Progress { mut position, mut state } = *progress;
    let mut before = load_lanes::<N>(lanes);
    let mut done = 0;
    if !are_in_range(plan, &before) {
        return 0;
    }
    while done < count {
        let Some(window) = window(bytes, position) else { break };
        let stops = _mm512_movepi8_mask(window);
        let Some(map) = entry_map::<N>(run, window, stops) else { break };
        let record = record(run, in_place(plan), window, stops, map, state.carried(), &before);
        if record.len == 0 {
            break;
        }
        let at = base + run.first_slot as usize;
        let Some(out) = words.get_mut(at..at + N * LANES) else { break };
        store(out, &record.lanes);
        let Some(word) = words.get_mut(base + presence_at as usize) else { break };
        *word = presence_word(run, record.present).to_le_bytes();
        before = record.lanes;
        state = state.after(record.present);
        position += record.len;
        base += step;
        done += 1;
    }
    *progress = Progress { position, state };
    done
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn keep<const N: usize>(run: &Run, plan: &Plan, home: &mut Lanes, lanes: &[Word]) {
    let (Some(lanes), Some(home)) = (lanes.first_chunk(), home.get_mut(..N * LANES)) else {
        return;
    };
    let mut merged = load_lanes::<N>(lanes);
    if run.is_alone {
        return store(home, &merged);
    }
    let there = load_words::<N>(home);
    for ((lanes, there), plan) in merged.iter_mut().zip(there).zip(&plan.vectors) {
        *lanes = _mm512_ternarylogic_epi64::<SELECT>(words_of(&plan.kept), *lanes, there);
    }
    store(home, &merged);
}

/// A record as decoded.
struct Record<const N: usize> {
    lanes: [__m512i; N],
    present: u32,
    /// Bytes from the start of the window; 0 if the record is declined.
    len: usize,
}

/// What an entry's presence map says. One for each caller, so that it is compiled into it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn entry_map<const N: usize>(run: &Run, window: __m512i, stops: u64) -> Option<MapLanes> {
    let last = stops.trailing_zeros();
    if last >= MAP_BYTES_MAX {
        return None;
    }
    let head = _mm_cvtsi128_si64(_mm512_castsi512_si128(window)) as u64;
    let bytes = _bzhi_u64(head, 8 * last + 8);
    let bits = _pext_u64(bytes.swap_bytes(), 0x7f7f_7f7f_7f7f_7f7f) << 8;
    let is_overlong = last > 0 && bytes >> (8 * last) == 0x80;
    let has_more = bits & (u64::MAX >> run.map_bits) != 0;
    if is_overlong || has_more {
        return None;
    }
    Some(run.lookup(bits))
}

/// Decodes the fields of a record, or declines it. `stops` are the stop bits of the window, the
/// lowest of them in front of the first field.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn record<const N: usize>(
    run: &Run,
    plan: &Plan,
    window: __m512i,
    stops: u64,
    map: MapLanes,
    carried: u32,
    before: &[__m512i; N],
) -> Record<N> {
    let declined = Record { lanes: *before, present: 0, len: 0 };
    // The stop bit of the last field: none if there is no field or the window is too short.
    let fields = stops & stops.wrapping_sub(1);
    let last = _pdep_u64((1 << map.stream().count_ones()) >> 1, fields);
    if last == 0 || is_overlong(plan, window, stops, last, map.stream()) {
        return declined;
    }

    // Field k lies behind stop bit k and ends with stop bit k + 1.
    let list = _mm512_maskz_compress_epi8(stops, bytes_of(&IOTA));
    let shifted = _mm512_permutexvar_epi8(bytes_of(&NEXT), list);
    let fronts = _mm256_maskz_expand_epi8(map.stream(), _mm512_castsi512_si256(list));
    let ends = _mm256_maskz_expand_epi8(map.stream(), _mm512_castsi512_si256(shifted));
    let lengths = _mm256_sub_epi8(ends, fronts);
    let place =
        _mm256_or_si256(_mm256_min_epu8(lengths, _mm256_set1_epi8(15)), lane_bytes_of(&plan.table));
    let counts = _mm256_permutexvar_epi8(place, lane_bytes_of(&COUNTS));
    let text = lane_bytes_of(&plan.text);
    let anchors = _mm256_ternarylogic_epi64::<SELECT>(text, fronts, ends);
    let anchors = _mm512_zextsi256_si512(anchors);
    let lengths = _mm512_zextsi256_si512(lengths);
    let wide_counts = _mm512_zextsi256_si512(counts);

    let mut valid = 0;
    let mut beyond = _mm512_setzero_si512();
    let mut now = *before;
    for ((vector, now), plan) in now.iter_mut().enumerate().zip(&plan.vectors) {
        let before = *now;
        // The field's bytes, the last group lowest; text as it stands.
        let spread = _mm512_permutexvar_epi8(bytes_of(&plan.spread), anchors);
        let index = _mm512_add_epi8(spread, bytes_of(&plan.offset));
        let raw = _mm512_permutexvar_epi8(index, window);
        let raw = _mm512_and_si512(raw, _mm512_set1_epi8(0x7f));
        // Groups of 7 bits to 14, 28 and 56.
        let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001u16 as i16), raw);
        let halves = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
        let low = _mm512_set1_epi64(0x0fff_ffff);
        let number =
            _mm512_ternarylogic_epi64::<SELECT>(low, halves, _mm512_srli_epi64::<4>(halves));
        let word = _mm512_ternarylogic_epi64::<SELECT>(words_of(&plan.text), raw, number);
        // What lies before the field goes out at the top.
        let count = _mm512_permutexvar_epi8(bytes_of(&plan.counts), wide_counts);
        let top = _mm512_sllv_epi64(word, count);
        let value = _mm512_ternarylogic_epi64::<SELECT>(
            words_of(&plan.signed),
            _mm512_srav_epi64(top, count),
            _mm512_srlv_epi64(top, count),
        );
        let is_there = _mm512_cmpneq_epi64_mask(count, _mm512_set1_epi64(ABSENT));
        let not_null = _mm512_or_si512(value, words_of(&plan.zero));
        let is_valid = _mm512_mask_test_epi64_mask(is_there, not_null, not_null);
        let positive = _mm512_max_epi64(value, _mm512_setzero_si512());
        let value = _mm512_sub_epi64(value, _mm512_min_epi64(positive, words_of(&plan.nullable)));
        let length = _mm512_permutexvar_epi8(bytes_of(&plan.lengths), lengths);
        let value = _mm512_or_si512(value, length);
        let value = _mm512_add_epi64(value, _mm512_and_si512(before, words_of(&plan.delta)));
        let silent = _mm512_and_si512(before, words_of(&plan.keep));
        let silent = _mm512_add_epi64(silent, words_of(&plan.add));
        *now = _mm512_mask_mov_epi64(silent, is_valid, value);
        let biased = _mm512_add_epi64(*now, words_of(&plan.bias));
        beyond = _mm512_ternarylogic_epi64::<OR_AND>(beyond, biased, words_of(&plan.beyond));
        valid |= u32::from(is_valid) << (vector * LANES);
    }
    let silent = !map.stream() & (run.given | run.carried & carried) | map.present();
    let present = valid | silent;
    let is_declined = _mm512_test_epi64_mask(beyond, beyond) != 0
        || _mm256_movepi8_mask(counts) != 0
        || present & run.required != run.required
        || map.stream() & !valid & plan.exponents != 0;
    if is_declined {
        return declined;
    }
    Record { lanes: now, present, len: last.trailing_zeros() as usize + 1 }
}

/// `a ? b : c`, bit by bit.
const SELECT: i32 = 0xca;
/// `a | b & c`, bit by bit.
const OR_AND: i32 = 0xf8;
/// Makes seven bits of bit 6.
const BIT_6: i64 = 0x4040_4040_4040_4000;

/// Whether some field has a first byte it does not need. `last` is the stop bit of the last field.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn is_overlong(plan: &Plan, window: __m512i, stops: u64, last: u64, stream: u32) -> bool {
    let next = _mm512_permutexvar_epi8(bytes_of(&NEXT), window);
    let sign = _mm512_gf2p8affine_epi64_epi8::<0>(next, _mm512_set1_epi64(BIT_6));
    let only_sign = _mm512_cmpeq_epi8_mask(window, sign);
    let only_zero = _mm512_testn_epi8_mask(window, window);
    let starts = (stops & last.wrapping_sub(1)) << 1;
    let signed = _pdep_u64(u64::from(_pext_u32(plan.signed, stream)), starts);
    starts & (only_sign & signed | only_zero & !signed) != 0
}

/// Whether sums with these previous values can be told to be in range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn are_in_range<const N: usize>(plan: &Plan, lanes: &[__m512i; N]) -> bool {
    let mut beyond = _mm512_setzero_si512();
    for (lanes, plan) in lanes.iter().zip(&plan.vectors) {
        let biased = _mm512_add_epi64(*lanes, words_of(&plan.bias));
        let outside = _mm512_and_si512(biased, words_of(&plan.delta));
        beyond = _mm512_ternarylogic_epi64::<OR_AND>(beyond, outside, words_of(&plan.beyond));
    }
    _mm512_test_epi64_mask(beyond, beyond) == 0
}

/// The same plan again. The compiler does not see that it is, and takes its constants where they
/// are; otherwise it would copy them all to the stack in front of the first record.
#[inline]
#[allow(clippy::pointers_in_nomem_asm_block)] // The text has no instruction.
fn in_place(plan: &Plan) -> &Plan {
    let mut plan = std::ptr::from_ref(plan);
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) plan, options(nomem, nostack, preserves_flags))
    };
    // SAFETY: it is the pointer that was made of the reference.
    unsafe { &*plan }
}

/// Up to 64 bytes from a position on, zeros behind the end.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn window(bytes: &[u8], position: usize) -> Option<__m512i> {
    let rest = bytes.get(position..)?;
    if let Some(chunk) = rest.first_chunk::<64>() {
        // SAFETY: the chunk has 64 bytes; the load needs no alignment.
        return Some(unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) });
    }
    let mask = (1u64 << rest.len()) - 1;
    // SAFETY: the mask has a bit for each byte of `rest`, which are fewer than 64, and bytes without
    // a bit are not read.
    Some(unsafe { _mm512_maskz_loadu_epi8(mask, rest.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_lanes<const N: usize>(lanes: &Lanes) -> [__m512i; N] {
    load_words(lanes)
}

/// Vectors of the first words; zeros where there are none.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_words<const N: usize>(words: &[Word]) -> [__m512i; N] {
    let mut lanes = [_mm512_setzero_si512(); N];
    let (chunks, _) = words.as_chunks::<LANES>();
    for (lanes, chunk) in lanes.iter_mut().zip(chunks) {
        // SAFETY: eight words of eight bytes; the load needs no alignment.
        *lanes = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
    }
    lanes
}

/// Writes vectors to as many words.
#[inline]
#[target_feature(enable = "avx512f")]
fn store<const N: usize>(out: &mut [Word], lanes: &[__m512i; N]) {
    let (chunks, _) = out.as_chunks_mut::<LANES>();
    for (chunk, lanes) in chunks.iter_mut().zip(lanes) {
        // SAFETY: eight words of eight bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), *lanes) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn bytes_of(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn words_of(words: &Words) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(words.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn lane_bytes_of(bytes: &LaneBytes) -> __m256i {
    // SAFETY: 32 bytes, aligned to 32.
    unsafe { _mm256_load_si256(bytes.0.as_ptr().cast()) }
}
