//! The AVX-512 engine with VBMI2: extracts positions by compression and parses tags sixteen at a
//! time.

use std::arch::x86_64::*;

use super::columns::ColumnPointers;
use super::marks::BlockCarry;
use super::{BLOCK, MessageScan, ScanOutcome, long_tags};
use crate::reader::{Index, SOH, TagFilter};

const LANES: usize = Index::LANES;

/// Proof that this machine has AVX-512 F, BW, CD, VL, VBMI and VBMI2, BMI1, BMI2 and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }

    /// Fills `index`; `None` if the message is not plain or has more than `fields_max` fields.
    #[inline]
    pub(crate) fn scan(
        self,
        bytes: &[u8],
        index: &mut Index,
        fields_max: usize,
        filter: &TagFilter,
    ) -> Option<MessageScan> {
        // SAFETY: a value of `Avx512` exists only if `detect` found every feature that `scan` enables.
        super::with_room(bytes, index, fields_max, |index| unsafe { scan(bytes, index, filter) })
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the reference is valid for 64 bytes and the load has no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Loads fewer than 64 bytes; the remaining lanes are zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_rest(bytes: &[u8]) -> __m512i {
    let mask = (1_u64 << (bytes.len() & 63)).wrapping_sub(1);
    // SAFETY: the mask has a bit for each of at most `bytes.len()` bytes, and lanes whose bit is
    // clear are not read, so they cannot fault.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_lanes(lanes: &[u32; LANES]) -> __m512i {
    // SAFETY: the reference is valid for 64 bytes and the load has no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// Stores sixteen lanes in a column from `at` on.
///
/// # Safety
/// `at + LANES` slots must be in the column.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_lanes(column: *mut u32, at: usize, lanes: __m512i) {
    // SAFETY: as the caller promises; the store has no alignment.
    unsafe { _mm512_storeu_si512(column.add(at).cast(), lanes) };
}

/// Returns the bytes 0 to 63.
#[inline]
#[target_feature(enable = "avx512f")]
fn iota() -> __m512i {
    const IOTA: [u8; BLOCK] = {
        let mut bytes = [0; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            bytes[at] = at as u8;
            at += 1;
        }
        bytes
    };
    load(&IOTA)
}

/// State of one pass over a message.
struct Avx512Pass<'i> {
    columns: ColumnPointers<'i>,
    ends_len: usize,
    equals_len: usize,
    marks: BlockCarry,
    /// The previous block, for tags that cross a block boundary; delimiters before the first block.
    before: __m512i,
    /// Offset of the block, in each lane.
    base: __m512i,
    sums: __m512i,
}

impl Avx512Pass<'_> {
    /// Adds the fields that begin or end in the next block; `None` if the columns are too short.
    ///
    /// Compressing the bytes 0 to 63 by the masks of delimiters and first `=` gives their positions
    /// in order. Each iteration widens sixteen positions to 32 bits and stores them; most blocks
    /// take one iteration.
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
    )]
    fn add(&mut self, block: __m512i) -> Option<()> {
        let delimiters = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(SOH as i8));
        let equals = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(b'=' as i8));
        let sums = _mm512_sad_epu8(block, _mm512_setzero_si512());
        self.sums = _mm512_add_epi64(self.sums, sums);
        let firsts = self.marks.first_equals(delimiters, equals);
        if self.ends_len.max(self.equals_len) + BLOCK + LANES > self.columns.capacity {
            return None;
        }
        let (ends_count, firsts_count) = (delimiters.count_ones(), firsts.count_ones());
        let mut ends = _mm512_maskz_compress_epi8(delimiters, iota());
        let mut firsts = _mm512_maskz_compress_epi8(firsts, iota());
        let mut done = 0;
        loop {
            let (end_at, equal_at) =
                (self.ends_len + done as usize, self.equals_len + done as usize);
            let low_ends = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(ends));
            let low_firsts = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(firsts));
            let text = self.text(low_firsts, block);
            let columns = &self.columns;
            // SAFETY: `done` is at most 48 here, and the check above guarantees 64 and 16 slots
            // after both lengths.
            unsafe {
                store_lanes(columns.ends, end_at + 1, _mm512_add_epi32(low_ends, self.base));
                store_lanes(columns.equals, equal_at, _mm512_add_epi32(low_firsts, self.base));
                store_lanes(columns.tags, equal_at, text);
            }
            done += LANES as u32;
            if done >= ends_count.max(firsts_count) {
                break;
            }
            ends = _mm512_alignr_epi64::<2>(ends, ends);
            firsts = _mm512_alignr_epi64::<2>(firsts, firsts);
        }
        self.ends_len += ends_count as usize;
        self.equals_len += firsts_count as usize;
        self.before = block;
        self.base = _mm512_add_epi32(self.base, _mm512_set1_epi32(BLOCK as i32));
        Some(())
    }

    /// Returns the four bytes before each of sixteen positions of `=` in `block`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn text(&self, positions: __m512i, block: __m512i) -> __m512i {
        // Each lane becomes the four indexes position - 4 to position - 1 into two blocks of 64
        // bytes; bit 6 selects the block.
        let lowest = _mm512_set4_epi32(0x0C0C_0C0C, 0x0808_0808, 0x0404_0404, 0);
        let spread = _mm512_shuffle_epi8(positions, lowest);
        let at = _mm512_add_epi8(spread, _mm512_set1_epi32(0x3F3E_3D3C));
        _mm512_permutex2var_epi8(self.before, at, block)
    }
}

/// Parses the text of the tags; `None` if one is not a valid tag. Returns true if one may be in the
/// filter.
///
/// The steps are those of the AVX2 engine, for sixteen lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn tags(
    columns: &mut ColumnPointers<'_>,
    len: usize,
    bytes: &[u8],
    filter: &TagFilter,
) -> Option<bool> {
    let one = _mm512_set1_epi32(1);
    let words_of_filter = load_lanes(&filter.0);
    let mut data = 0;
    let mut at = 0;
    while at < len {
        // SAFETY: there are at least `LANES` slots after `len`.
        let (text, equals, ends_before) = unsafe {
            let load = |column: *const u32| _mm512_loadu_si512(column.add(at).cast());
            (load(columns.tags), load(columns.equals), load(columns.ends))
        };
        let used = _bzhi_u32(0xFFFF, (len - at).min(LANES) as u32) as __mmask16;
        let digit_count = _mm512_sub_epi32(equals, _mm512_add_epi32(ends_before, one));
        let shift = _mm512_sub_epi32(_mm512_set1_epi32(32), _mm512_slli_epi32::<3>(digit_count));
        let digits = _mm512_sub_epi8(text, _mm512_set1_epi8(b'0' as i8));
        // A digit count outside 1 to 4 gives a shift outside 0 to 31, which yields 0, and 0 is
        // rejected like a leading zero.
        let digits = _mm512_srlv_epi32(digits, shift);
        let leading_zeros = _mm512_mask_testn_epi32_mask(used, digits, _mm512_set1_epi32(0xFF));
        let others = _mm512_subs_epu8(digits, _mm512_set1_epi8(9));
        let odd = leading_zeros | _mm512_mask_test_epi32_mask(used, others, others);
        let digits = _mm512_sllv_epi32(digits, shift);
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        let tags = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
        // SAFETY: as above.
        unsafe { store_lanes(columns.tags, at, tags) };
        if odd != 0 {
            data |= u16::from(long_tags::read(bytes, columns.lanes(), at, odd.into(), filter)?);
        }
        let words = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(tags), words_of_filter);
        let place = _mm512_and_si512(tags, _mm512_set1_epi32(31));
        data |= _mm512_mask_test_epi32_mask(used, words, _mm512_sllv_epi32(one, place));
        at += LANES;
    }
    Some(data != 0)
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
)]
fn scan(bytes: &[u8], index: &mut Index, filter: &TagFilter) -> ScanOutcome {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut pass = Avx512Pass {
        columns: ColumnPointers::new(index),
        ends_len: 0,
        equals_len: 0,
        marks: BlockCarry::new(),
        before: _mm512_set1_epi8(SOH as i8),
        base: _mm512_setzero_si512(),
        sums: _mm512_setzero_si512(),
    };
    for at in 0..=blocks.len() {
        let block = match blocks.get(at) {
            Some(block) => load(block),
            None => load_rest(rest),
        };
        if pass.add(block).is_none() {
            return ScanOutcome::NeedRoom;
        }
    }
    let Avx512Pass { mut columns, ends_len, equals_len, sums, .. } = pass;
    if ends_len != equals_len || bytes.last() != Some(&SOH) {
        return ScanOutcome::Odd;
    }
    let Some(may_hold_data) = tags(&mut columns, ends_len, bytes, filter) else {
        return ScanOutcome::Odd;
    };
    index.len = ends_len;
    let sum = _mm512_reduce_add_epi64(sums) as u32;
    ScanOutcome::Plain(MessageScan { sum, may_hold_data })
}
