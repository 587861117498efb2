//! The AVX2 engine: extracts positions bit by bit and parses tags eight at a time.

use std::arch::x86_64::*;

use super::columns::ColumnPointers;
use super::marks::BlockCarry;
use super::{BLOCK, MessageScan, ScanOutcome, long_tags};
use crate::reader::{Index, SOH, TagFilter};

/// Number of tags per iteration.
const LANES: usize = 8;
/// Number of positions written per iteration.
const SLOTS: usize = 10;

/// Proof that this machine has AVX2, BMI1, LZCNT and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("lzcnt")
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
        // SAFETY: a value of `Avx2` exists only if `detect` found every feature that `scan` enables.
        super::with_room(bytes, index, fields_max, |index| unsafe { scan(bytes, index, filter) })
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference is valid for 32 bytes and the load has no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_lanes(column: &[u32], at: usize) -> Option<__m256i> {
    let lanes: &[u32; LANES] = column.get(at..)?.first_chunk()?;
    // SAFETY: the reference is valid for 32 bytes and the load has no alignment.
    Some(unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_lanes(lanes: __m256i, column: &mut [u32], at: usize) -> Option<()> {
    let out: &mut [u32; LANES] = column.get_mut(at..)?.first_chunk_mut()?;
    // SAFETY: the reference is valid for 32 bytes and the store has no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lanes) };
    Some(())
}

/// Writes the positions of the set bits of `mask`, in order.
///
/// # Safety
/// `out` must have room for `BLOCK + SLOTS` slots.
#[inline]
#[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
unsafe fn positions(mut mask: u64, base: u32, mut out: *mut u32) {
    // Writes ten positions per iteration whatever the count, which takes one branch for most
    // blocks. The next block overwrites the excess slots.
    loop {
        for slot in 0..SLOTS {
            // SAFETY: each earlier iteration had a bit for each of its slots, and there are 64
            // bits: `out` is at most 60 slots after its start, so these ten slots are within the
            // caller's.
            unsafe { out.add(slot).write(base.wrapping_add(mask.trailing_zeros())) };
            mask &= mask.wrapping_sub(1);
        }
        if mask == 0 {
            return;
        }
        // SAFETY: bits are left, so all slots up to there have been written.
        out = unsafe { out.add(SLOTS) };
    }
}

/// 64 zero bytes and 64 bytes of ones: a slice at offset `len` is a mask that keeps the last `len`
/// bytes of a block.
static LAST: [u8; 2 * BLOCK] = {
    let mut bytes = [0; 2 * BLOCK];
    let mut at = BLOCK;
    while at < 2 * BLOCK {
        bytes[at] = 0xFF;
        at += 1;
    }
    bytes
};

/// Positions and sum of one pass over a message.
struct Avx2Pass<'i> {
    columns: ColumnPointers<'i>,
    marks: BlockCarry,
    sums: __m256i,
    ends_len: usize,
    equals_len: usize,
}

impl Avx2Pass<'_> {
    /// Adds the last `len` bytes of `block`, which begins at `base`; `None` if the columns are too
    /// short.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn add(&mut self, block: &[u8; BLOCK], base: u32, len: usize) -> Option<()> {
        if self.ends_len.max(self.equals_len) + BLOCK + SLOTS > self.columns.capacity {
            return None;
        }
        let keep: &[u8; BLOCK] = LAST.get(len & 127..)?.first_chunk()?;
        let (mut delimiters, mut equals) = (0, 0);
        let halves = block.as_chunks::<32>().0.iter().zip(keep.as_chunks::<32>().0);
        for (half, (bytes, keep)) in halves.enumerate() {
            let bytes = _mm256_and_si256(load(bytes), load(keep));
            let soh = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(SOH as i8));
            let equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'=' as i8));
            delimiters |= u64::from(_mm256_movemask_epi8(soh) as u32) << (32 * half);
            equals |= u64::from(_mm256_movemask_epi8(equal) as u32) << (32 * half);
            let sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
            self.sums = _mm256_add_epi64(self.sums, sums);
        }
        let skip = (BLOCK - len) as u32 & 63;
        let (delimiters, base) = (delimiters >> skip, base.wrapping_add(skip));
        let firsts = self.marks.first_equals(delimiters, equals >> skip);
        // SAFETY: the check above guarantees this many slots after both lengths; `ends` has one
        // more.
        unsafe {
            positions(delimiters, base, self.columns.ends.add(self.ends_len + 1));
            positions(firsts, base, self.columns.equals.add(self.equals_len));
        }
        self.ends_len += delimiters.count_ones() as usize;
        self.equals_len += firsts.count_ones() as usize;
        Some(())
    }
}

#[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
fn scan(bytes: &[u8], index: &mut Index, filter: &TagFilter) -> ScanOutcome {
    let (columns, sums) = (ColumnPointers::new(index), _mm256_setzero_si256());
    let mut pass = Avx2Pass { columns, marks: BlockCarry::new(), sums, ends_len: 0, equals_len: 0 };
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // Processes the last 64 bytes again and masks those already seen; a short message is copied.
    let mut short = [0; BLOCK];
    let last = match bytes.last_chunk() {
        Some(last) => last,
        None => {
            short[BLOCK - rest.len()..].copy_from_slice(rest);
            &short
        }
    };
    for at in 0..=blocks.len() {
        let added = match blocks.get(at) {
            Some(block) => (block, at.wrapping_mul(BLOCK) as u32, BLOCK),
            None if rest.is_empty() => break,
            None => (last, (bytes.len() as u32).wrapping_sub(BLOCK as u32), rest.len()),
        };
        if pass.add(added.0, added.1, added.2).is_none() {
            return ScanOutcome::NeedRoom;
        }
    }
    let Avx2Pass { sums, ends_len, equals_len, .. } = pass;
    index.len = ends_len;
    if ends_len != equals_len || bytes.last() != Some(&SOH) {
        return ScanOutcome::Odd;
    }
    let Some(may_hold_data) = tags(bytes, index, filter) else { return ScanOutcome::Odd };
    let mut lanes = [0_u64; 4];
    // SAFETY: `lanes` is valid for 32 bytes and the store has no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums) };
    ScanOutcome::Plain(MessageScan { sum: lanes.iter().sum::<u64>() as u32, may_hold_data })
}

/// Reads every tag from the four bytes before its `=`; `None` if one is not a valid tag. Returns
/// true if one may be in the filter.
///
/// Steps for eight tags: gather the four bytes before each `=`, so that the last digit is in the
/// highest byte; subtract `0`; shift right by `32 - 8 * digits` to drop the bytes before the tag
/// and check the digits; shift back. `maddubs` (weights 10 and 1) and `madd` (weights 100 and 1)
/// turn the four digits into a number.
#[inline]
#[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
fn tags(bytes: &[u8], index: &mut Index, filter: &TagFilter) -> Option<bool> {
    // The first tag has fewer than four bytes before its `=`; the lane of `first` replaces them.
    if !bytes.starts_with(b"8=") {
        return None;
    }
    let len = index.len;
    let halves = (filter.0.get(..8)?, filter.0.get(8..)?);
    let low = load_lanes(halves.0, 0)?;
    let high = load_lanes(halves.1, 0)?;
    let first = _mm256_set1_epi32(i32::from(b'8') << 24);
    let one = _mm256_set1_epi32(1);
    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let (mut data, mut may_hold_data) = (_mm256_setzero_si256(), false);
    for at in (0..len).step_by(LANES) {
        let used = _mm256_cmpgt_epi32(_mm256_set1_epi32((len - at) as i32), lane);
        let starts = _mm256_add_epi32(load_lanes(&index.ends, at)?, one);
        let digit_count = _mm256_sub_epi32(load_lanes(&index.equals, at)?, starts);
        let shift = _mm256_sub_epi32(_mm256_set1_epi32(32), _mm256_slli_epi32::<3>(digit_count));
        let places = _mm256_sub_epi32(load_lanes(&index.equals, at)?, _mm256_set1_epi32(4));
        let inside = _mm256_andnot_si256(_mm256_srai_epi32::<31>(places), used);
        // SAFETY: lanes whose sign in `inside` is clear are not read. In the others a `=` of
        // `bytes` is four bytes after a non-negative position: all four are in `bytes`.
        let words = unsafe {
            _mm256_mask_i32gather_epi32::<1>(first, bytes.as_ptr().cast(), places, inside)
        };
        let digits = _mm256_sub_epi8(words, _mm256_set1_epi8(b'0' as i8));
        // A digit count outside 1 to 4 gives a shift outside 0 to 31, which yields 0, and 0 is
        // rejected like a leading zero.
        let digits = _mm256_srlv_epi32(digits, shift);
        let first_digit = _mm256_and_si256(digits, _mm256_set1_epi32(0xFF));
        let others = _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
        let leading_zero = _mm256_cmpeq_epi32(first_digit, _mm256_setzero_si256());
        let odd = _mm256_and_si256(used, _mm256_or_si256(others, leading_zero));
        let digits = _mm256_sllv_epi32(digits, shift);
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
        let tags = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
        store_lanes(tags, &mut index.tags, at)?;
        if _mm256_testz_si256(odd, odd) == 0 {
            let plain = _mm256_cmpeq_epi32(odd, _mm256_setzero_si256());
            let odd = !_mm256_movemask_ps(_mm256_castsi256_ps(plain)) as u32 & 0xFF;
            let Index { tags, equals, ends, .. } = &mut *index;
            may_hold_data |= long_tags::read(
                bytes,
                long_tags::IndexColumns { tags, equals, ends },
                at,
                odd,
                filter,
            )?;
        }
        // Bits 5 to 8 of the tag select the word of the filter; bit 8, moved to the sign, selects
        // the half.
        let place = _mm256_srli_epi32::<5>(tags);
        let (low, high) =
            (_mm256_permutevar8x32_epi32(low, place), _mm256_permutevar8x32_epi32(high, place));
        let half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(tags));
        let word = _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), half);
        let bit = _mm256_sllv_epi32(one, _mm256_and_si256(tags, _mm256_set1_epi32(31)));
        let hit = _mm256_and_si256(_mm256_castps_si256(word), bit);
        data = _mm256_or_si256(data, _mm256_and_si256(used, hit));
    }
    Some(may_hold_data | (_mm256_testz_si256(data, data) == 0))
}
