//! SIMD loop over records; the previous record stays in registers.

use super::{WideCall, WideEnd};
use crate::dictionary::Word;
use crate::program::{BLOCK, LaneBytes, LanePlan, Narrow, VectorBytes, VectorPlan};
use std::arch::x86_64::*;
use std::ptr::null;

/// Ternary-logic code of `a ? b : c`, bitwise.
const SELECT: i32 = 0xca;
/// Ternary-logic code of `a | b & c`, bitwise.
const OR_AND: i32 = 0xf8;
/// GFNI matrix that copies bit 6 to seven bits.
const BIT_6: i64 = 0x4040_4040_4040_4000;
/// Bytes per vector.
const WINDOW: usize = 64;

static IOTA: VectorBytes = iota(0);
static NEXT: VectorBytes = iota(1);

const fn iota(first: u8) -> VectorBytes {
    let mut bytes = [0; 64];
    let mut index = 0;
    while index < 64 {
        bytes[index] = index as u8 + first;
        index += 1;
    }
    VectorBytes(bytes)
}

/// Errors accumulated over the records: any set bit means rejection.
#[derive(Clone, Copy)]
struct Doubts {
    /// Lane checks and the length of the record.
    scalar: u64,
    /// Results of the map tables; only the last bit counts.
    maps: u64,
    /// Values out of range, and previous values that narrow lanes cannot hold.
    range: __m512i,
    /// Excess length of fields in bytes, by lane.
    length: __m256i,
}

impl Doubts {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(range: __m512i) -> Self {
        Self { scalar: 0, maps: 0, range, length: _mm256_setzero_si256() }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn are_some(&self) -> bool {
        self.scalar | self.maps >> 63 != 0
            || _mm256_testz_si256(self.length, self.length) == 0
            || _mm512_test_epi64_mask(self.range, self.range) != 0
    }
}

/// Field positions of a record. They depend only on the record's own bytes.
#[derive(Clone, Copy)]
struct FieldPositions {
    /// The record's bytes as groups of 7 bits; the first group of a signed field is sign-extended.
    groups: __m512i,
    /// By lane: the last byte of an integer, or the byte before text; zero for lanes not in the
    /// stream.
    anchors: __m256i,
    lengths: __m256i,
    /// Result of the presence map: lanes in the stream in the low bits, above them the other
    /// present lanes.
    map: u64,
    /// Redundant first bytes of integers.
    overlong: u64,
    /// Length of the record in bytes; 0 if it does not end in the window.
    len: usize,
}

/// The last record.
pub(super) struct Last {
    /// Position after its last byte.
    pub position: *const u8,
    /// Lanes present in it, and in any record.
    pub present: u32,
    pub assigned: u32,
}

/// A [`WideKernel`](super::WideKernel) for records of `N` vectors of lanes, which are `B` blocks of words.
///
/// # Safety
/// As [`WideKernel`](super::WideKernel), and the CPU has the features.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe extern "sysv64" fn entries<const N: usize, const B: usize>(
    plan: &LanePlan,
    call: &mut WideCall,
    position: *const u8,
    mut out: *mut Word,
    count: u64,
    carried: u64,
) -> WideEnd {
    let carried = carried as u32;
    // SAFETY: as many words as there are lanes, or none.
    let before = unsafe { packed::<N, B>(plan, call.before, carried) };
    let put = |plan: &LanePlan, lanes: &[__m512i; N], present: u32| {
        // SAFETY: `out` points to a record with `B` blocks and a presence word.
        unsafe {
            store::<N, B>(plan, lanes, out);
            let word = out.byte_offset(plan.to_presence);
            *word = (plan.beyond_run | u64::from(present)).to_le_bytes();
        }
        out = out.wrapping_byte_add(plan.step);
    };
    // SAFETY: from the position to the end bytes can be read.
    match unsafe { records(plan, position, call.end, count, before, carried, put) } {
        Some(last) => WideEnd {
            end: last.position,
            lanes: u64::from(last.present) | u64::from(last.assigned) << 32,
        },
        None => {
            call.is_declined = 1;
            WideEnd { end: null(), lanes: 0 }
        }
    }
}

/// Decodes `left` records and passes the lanes of each, and the set of present lanes, to `put`.
/// `None` if any record needs another engine; `put` may have been called by then. `before` holds
/// the previous lanes, of which `carried` are present, and their errors.
///
/// # Safety
/// The bytes from the position to the end are readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn records<const N: usize>(
    plan: &LanePlan,
    mut position: *const u8,
    end: *const u8,
    mut left: u64,
    before: ([__m512i; N], __m512i),
    mut carried: u32,
    mut put: impl FnMut(&LanePlan, &[__m512i; N], u32),
) -> Option<Last> {
    let (mut lanes, lost) = before;
    let mut doubts = Doubts::new(lost);
    let mut assigned = 0;
    // SAFETY: from the position to the end bytes can be read.
    let mut next = unsafe { fields(plan, position, end) };
    while left > 0 {
        let plan = in_place(plan);
        let this = next;
        if this.len == 0 {
            doubts.scalar = 1;
            break;
        }
        position = position.wrapping_add(this.len);
        left -= 1;
        if left > 0 {
            // Locate the next record before the rest of this one is decoded, so that nothing waits
            // for its position.
            // SAFETY: the record is within the readable bytes.
            next = unsafe { fields(plan, position, end) };
        }
        let stream = this.map as u32;
        let nulls = record::<N>(plan, &this, &mut lanes, &mut doubts) & stream & plan.nullable;
        let silent = (plan.given | plan.carried & carried) & !stream;
        let present = silent | (this.map >> 32) as u32 | stream & !nulls;
        doubts.maps |= this.map;
        doubts.scalar |= this.overlong | u64::from(nulls & plan.refused | plan.required & !present);
        put(plan, &lanes, present);
        carried = present;
        assigned |= present;
    }
    (!doubts.are_some()).then_some(Last { position, present: carried, assigned })
}

/// Finds the field positions of the record at a position.
///
/// # Safety
/// From the position to the end bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
unsafe fn fields(plan: &LanePlan, position: *const u8, end: *const u8) -> FieldPositions {
    // SAFETY: as above.
    let (window, head) = unsafe { window(position, end) };
    let stops = _mm512_movepi8_mask(window);
    let map = presence_map(plan, head);
    let stream = map as u32;
    // Stop bit 0 ends the presence map; the next ones end the fields.
    let last = _pdep_u64(1 << stream.count_ones(), stops);
    let len = WINDOW - last.leading_zeros() as usize;

    // Field k begins after stop bit k and ends with stop bit k + 1.
    let list = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(stops, load(&IOTA)));
    let shifted = _mm256_permutexvar_epi8(_mm512_castsi512_si256(load(&NEXT)), list);
    let fronts = _mm256_maskz_expand_epi8(stream, list);
    let ends = _mm256_maskz_expand_epi8(stream, shifted);
    let lengths = _mm256_sub_epi8(ends, fronts);
    let anchors = _mm256_ternarylogic_epi64::<SELECT>(load_lanes(&plan.text), fronts, ends);

    let starts = (stops & last.wrapping_sub(1)) << 1;
    let signed = _pdep_u64(u64::from(_pext_u32(plan.signed, stream)), starts);
    let groups = _mm512_and_si512(window, _mm512_set1_epi8(0x7f));
    let doubled = _mm512_add_epi8(window, window);
    let top = _mm512_set1_epi8(i8::MIN);
    let negative = _mm512_ternarylogic_epi64::<OR_AND>(groups, doubled, top);
    let groups = _mm512_mask_mov_epi8(groups, signed, negative);
    // A first byte that only repeats the sign of the next one.
    let next = _mm512_permutexvar_epi8(load(&NEXT), window);
    let sign = _mm512_maskz_gf2p8affine_epi64_epi8::<0>(signed, next, _mm512_set1_epi64(BIT_6));
    let overlong = _mm512_cmpeq_epi8_mask(window, sign) & starts;
    FieldPositions { groups, anchors, lengths, map, overlong, len }
}

/// Looks up an entry's presence map.
#[inline]
fn presence_map(plan: &LanePlan, head: u32) -> u64 {
    const STOPS: u32 = 0x0080_8080;
    const NOT_PLAIN: u64 = 1 << 63;
    let stops = head & STOPS;
    let bytes = head & (stops ^ stops.wrapping_sub(1));
    let [first, second, third, _] = bytes.to_le_bytes().map(usize::from);
    let map = plan.maps[0][first] | plan.maps[1][second] | plan.maps[2][third];
    if stops == 0 { NOT_PLAIN } else { map }
}

/// Decodes the fields of a record over the previous one; returns the lanes whose value is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn record<const N: usize>(
    plan: &LanePlan,
    fields: &FieldPositions,
    before: &mut [__m512i; N],
    doubts: &mut Doubts,
) -> u32 {
    let too_long = _mm256_subs_epu8(fields.lengths, load_lanes(&plan.longest));
    doubts.length = _mm256_or_si256(doubts.length, too_long);
    // Indexes above the lanes are not used.
    let anchors = _mm512_castsi256_si512(fields.anchors);
    let lengths = _mm512_castsi256_si512(fields.lengths);
    let mut nulls = 0;
    for ((vector, now), plan) in before.iter_mut().enumerate().zip(&plan.vectors) {
        let stream = fields.map as u32 >> (16 * vector);
        let silent = _mm512_and_si512(*now, load_narrow(&plan.keep));
        let silent = _mm512_add_epi32(silent, load_narrow(&plan.add));
        // Often none of the last fields is in the stream.
        if vector > 0 && stream == 0 {
            *now = silent;
        } else {
            let (value, is_null) = values(plan, anchors, lengths, fields.groups);
            let addend = _mm512_and_si512(*now, load_narrow(&plan.delta));
            *now = _mm512_mask_add_epi32(silent, stream as __mmask16, value, addend);
            nulls |= u32::from(is_null) << (16 * vector);
        }
        let biased = _mm512_add_epi32(*now, load_narrow(&plan.bias));
        let beyond = load_narrow(&plan.beyond);
        doubts.range = _mm512_ternarylogic_epi64::<OR_AND>(doubts.range, biased, beyond);
    }
    nulls
}

/// Returns the transmitted values by lane, and the lanes whose value is zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn values(
    plan: &VectorPlan,
    anchors: __m512i,
    lengths: __m512i,
    groups: __m512i,
) -> (__m512i, __mmask16) {
    let index = _mm512_permutexvar_epi8(load(&plan.spread), anchors);
    let index = _mm512_add_epi8(index, load(&plan.offset));
    let length = _mm512_permutexvar_epi8(load(&plan.spread), lengths);
    let is_in_field = _mm512_cmplt_epu8_mask(load(&plan.order), length);
    let length = _mm512_and_si512(length, load(&plan.length));
    let raw = _mm512_mask_permutexvar_epi8(length, is_in_field, index, groups);
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001u16 as i16), raw);
    let number = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
    let value = _mm512_ternarylogic_epi64::<SELECT>(load_narrow(&plan.text), raw, number);
    let is_null = _mm512_testn_epi32_mask(value, load_narrow(&plan.value));
    let positive = _mm512_max_epi32(value, _mm512_setzero_si512());
    let null = _mm512_min_epi32(positive, load_narrow(&plan.nullable));
    (_mm512_sub_epi32(value, null), is_null)
}

/// Expands lanes to the words of a record.
///
/// # Safety
/// There are `B` blocks of words at `out`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
unsafe fn store<const N: usize, const B: usize>(
    plan: &LanePlan,
    lanes: &[__m512i; N],
    out: *mut Word,
) {
    let mut block = 0;
    for (lanes, plan) in lanes.iter().zip(&plan.vectors) {
        let signs = _mm512_srai_epi32::<31>(*lanes);
        let signs = _mm512_and_si512(signs, load_narrow(&plan.signed));
        for bytes in &plan.out {
            if block < B {
                let words = _mm512_permutex2var_epi8(*lanes, load(bytes), signs);
                // SAFETY: one of `B` blocks; the store needs no alignment.
                unsafe { _mm512_storeu_si512(out.wrapping_add(block * BLOCK).cast(), words) };
                block += 1;
            }
        }
    }
}

/// Returns the lanes before the first record, with errors for values that are not narrow or whose
/// sums might overflow.
///
/// # Safety
/// There are `B` blocks of words at `words`, unless it is null and the plan has fresh lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
unsafe fn packed<const N: usize, const B: usize>(
    plan: &LanePlan,
    words: *const Word,
    carried: u32,
) -> ([__m512i; N], __m512i) {
    let zero = _mm512_setzero_si512();
    let mut lanes = [zero; N];
    if words.is_null() {
        return (fresh(plan), zero);
    }
    // Other lanes hold undefined data.
    let known = plan.kept & (carried | plan.deltas);
    let mut blocks = [zero; 4];
    for (block, at) in blocks.iter_mut().zip(0..B) {
        // SAFETY: one of `B` blocks; the load needs no alignment.
        *block = unsafe {
            let words = words.wrapping_add(at * BLOCK).cast();
            _mm512_maskz_loadu_epi64((known >> (BLOCK * at)) as __mmask8, words)
        };
    }
    let mut lost = zero;
    for ((vector, lanes), plan) in lanes.iter_mut().enumerate().zip(&plan.vectors) {
        let (low, high) = (blocks[2 * vector], blocks[2 * vector + 1]);
        *lanes = _mm512_permutex2var_epi8(low, load(&plan.pack), high);
        let biased = _mm512_add_epi32(*lanes, load_narrow(&plan.bias));
        lost = _mm512_ternarylogic_epi64::<OR_AND>(lost, biased, load_narrow(&plan.beyond));
        let signs = _mm512_srai_epi32::<31>(*lanes);
        let signs = _mm512_and_si512(signs, load_narrow(&plan.signed));
        for (bytes, words) in plan.out.iter().zip([low, high]) {
            let again = _mm512_permutex2var_epi8(*lanes, load(bytes), signs);
            lost = _mm512_or_si512(lost, _mm512_xor_si512(again, words));
        }
    }
    (lanes, lost)
}

/// Returns the lanes for undefined entries; the plan has them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn fresh<const N: usize>(plan: &LanePlan) -> [__m512i; N] {
    let mut lanes = [_mm512_setzero_si512(); N];
    for (lanes, fresh) in lanes.iter_mut().zip(plan.fresh.iter().flatten()) {
        *lanes = load_narrow(fresh);
    }
    lanes
}

/// Returns up to 64 bytes from a position on, with zeros after the end, and the first four of them.
///
/// # Safety
/// From the position to the end bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
unsafe fn window(position: *const u8, end: *const u8) -> (__m512i, u32) {
    let there = (end as usize).wrapping_sub(position as usize);
    if there >= WINDOW {
        // SAFETY: there are 64 bytes; the loads need no alignment.
        return unsafe {
            (_mm512_loadu_si512(position.cast()), position.cast::<u32>().read_unaligned())
        };
    }
    let mask = _bzhi_u64(u64::MAX, there as u32);
    // SAFETY: the mask has a bit for each byte up to the end, and bytes without a bit are not read.
    let window = unsafe { _mm512_maskz_loadu_epi8(mask, position.cast()) };
    (window, _mm_cvtsi128_si32(_mm512_castsi512_si128(window)) as u32)
}

/// Returns the same plan, hidden from the optimizer. Otherwise the compiler would copy all its
/// constants to the stack before the first record.
#[inline]
#[allow(clippy::pointers_in_nomem_asm_block)] // The asm block is empty.
fn in_place(plan: &LanePlan) -> &LanePlan {
    let mut plan = std::ptr::from_ref(plan);
    // SAFETY: the asm block is empty.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) plan, options(nomem, nostack, preserves_flags))
    };
    // SAFETY: the pointer was created from the reference.
    unsafe { &*plan }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &VectorBytes) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_narrow(lanes: &Narrow) -> __m512i {
    // SAFETY: 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(lanes.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load_lanes(bytes: &LaneBytes) -> __m256i {
    // SAFETY: 32 bytes, aligned to 32.
    unsafe { _mm256_load_si256(bytes.0.as_ptr().cast()) }
}
