//! Wide instructions: the only `unsafe` of this crate.
//!
//! Both engines find delimiters and `=` 64 bytes at a time as bit masks, and sum the bytes on the way.
//! They treat plain messages only: every field is a tag of one to four digits without leading zero, `=`,
//! a value and a delimiter. For anything else `scan` returns `None` and the portable twin decides.
//!
//! The first `=` of each field comes from one addition: adding the bits of field starts to the mask of
//! bytes that are not `=` carries each of them up to the next `=`.
#![allow(unsafe_code)]

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::{Avx2, Avx512};
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::super::index::Index;

    /// An engine that this architecture does not have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) enum Avx2 {}
    pub(in super::super) use Avx2 as Avx512;

    impl Avx2 {
        pub(in super::super) fn detect() -> Option<Self> {
            None
        }

        pub(in super::super) fn scan(self, _: &[u8], _: &mut Index, _: usize) -> Option<u32> {
            match self {}
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::SOH;
    use super::super::index::Index;

    /// Bytes handled at a time.
    const BLOCK: usize = 64;
    const LANES: usize = Index::LANES;

    /// Proof that this machine has AVX2, BMI1, LZCNT and POPCNT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) struct Avx2(());

    /// Proof that this machine has AVX-512 F, BW, CD, VL, VBMI and VBMI2, BMI1 and POPCNT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) struct Avx512(());

    impl Avx2 {
        pub(in super::super) fn detect() -> Option<Self> {
            let found = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            found.then_some(Self(()))
        }

        /// Fills `index`; returns the sum of all bytes, or `None` if the message is not plain.
        #[inline]
        pub(in super::super) fn scan(
            self,
            bytes: &[u8],
            index: &mut Index,
            fields_max: usize,
        ) -> Option<u32> {
            // SAFETY: a value of `Avx2` exists only if `detect` found every feature that
            // `scan_avx2` enables.
            unsafe { scan_avx2(bytes, index, fields_max) }
        }
    }

    impl Avx512 {
        pub(in super::super) fn detect() -> Option<Self> {
            let found = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("popcnt");
            found.then_some(Self(()))
        }

        /// Fills `index`; returns the sum of all bytes, or `None` if the message is not plain.
        #[inline]
        pub(in super::super) fn scan(
            self,
            bytes: &[u8],
            index: &mut Index,
            fields_max: usize,
        ) -> Option<u32> {
            // SAFETY: a value of `Avx512` exists only if `detect` found every feature that
            // `scan_avx512` enables.
            unsafe { scan_avx512(bytes, index, fields_max) }
        }
    }

    /// Carries field starts to the first `=` of each field, from block to block.
    struct Fields {
        /// 1 if a field starts at the first byte of the next block.
        start: u64,
        /// Whether a start has not met its `=` yet.
        open: bool,
    }

    impl Fields {
        const fn new() -> Self {
            Self { start: 1, open: false }
        }

        /// Returns the mask of the first `=` of each field of a block.
        #[inline(always)]
        fn first_equals(&mut self, delimiters: u64, equals: u64) -> u64 {
            let starts = delimiters << 1 | self.start;
            self.start = delimiters >> 63;
            let (sum, carry) = (!equals).overflowing_add(starts);
            let (sum, carry_open) = sum.overflowing_add(u64::from(self.open));
            self.open = carry | carry_open;
            sum & equals
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn load256(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is valid for 32 bytes and the load has no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Returns the masks of delimiters and `=`, and adds the bytes to `sums`.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn masks_avx2(block: &[u8; BLOCK], sums: &mut __m256i) -> (u64, u64) {
        let mut delimiters = 0;
        let mut equals = 0;
        for (half, bytes) in block.as_chunks::<32>().0.iter().enumerate() {
            let bytes = load256(bytes);
            let soh = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(SOH as i8));
            let equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'=' as i8));
            delimiters |= u64::from(_mm256_movemask_epi8(soh) as u32) << (32 * half);
            equals |= u64::from(_mm256_movemask_epi8(equal) as u32) << (32 * half);
            *sums = _mm256_add_epi64(*sums, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
        }
        (delimiters, equals)
    }

    /// Writes the positions of the bits of `mask` to `column` from `len` on; returns the new length.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn positions(mut mask: u64, base: u32, column: &mut [u32], len: usize) -> usize {
        let count = mask.count_ones() as usize;
        let mut at = len;
        while at < len + count {
            // Four at a time whatever the count: one branch for most blocks. What is too much is
            // written over by the next block.
            if let Some(four) = column.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
                for slot in four {
                    *slot = base.wrapping_add(mask.trailing_zeros());
                    mask &= mask.wrapping_sub(1);
                }
            }
            at += 4;
        }
        len + count
    }

    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn scan_avx2(bytes: &[u8], index: &mut Index, fields_max: usize) -> Option<u32> {
        let mut fields = Fields::new();
        let mut sums = _mm256_setzero_si256();
        let (mut ends_len, mut equals_len) = (0, 0);
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let mut base = 0;
        for block in blocks.iter().chain(std::iter::once(&last)) {
            index.reserve(ends_len + BLOCK + LANES);
            let (delimiters, equals) = masks_avx2(block, &mut sums);
            let firsts = fields.first_equals(delimiters, equals);
            ends_len = positions(delimiters, base, &mut index.ends, ends_len);
            equals_len = positions(firsts, base, &mut index.equals, equals_len);
            if ends_len > fields_max || equals_len > ends_len + 1 {
                return None;
            }
            base = base.wrapping_add(BLOCK as u32);
        }
        if ends_len != equals_len {
            return None;
        }
        index.len = ends_len;
        tags_by_words(bytes, index)?;
        let sums: [u64; 4] = store256(sums);
        Some(sums.iter().sum::<u64>() as u32)
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn store256(lanes: __m256i) -> [u64; 4] {
        let mut out = [0; 4];
        // SAFETY: `out` is valid for 32 bytes and the store has no alignment.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lanes) };
        out
    }

    /// Reads every tag as the four bytes before its `=`; `None` if one is not plain.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn tags_by_words(bytes: &[u8], index: &mut Index) -> Option<()> {
        let len = index.len;
        let equals = index.equals.get(..len)?;
        let ends = index.ends.get(..len)?;
        let tags = index.tags.get_mut(..len)?;
        let mut start = 0;
        let mut plain = true;
        for ((tag, equal), end) in tags.iter_mut().zip(equals).zip(ends) {
            let equal = *equal as usize;
            // Only the first tag, which is 8 in whatever is a message, has fewer bytes before its `=`.
            let word = match bytes.get(equal.wrapping_sub(4)..equal) {
                Some(word) => word.try_into().map_or(0, u32::from_le_bytes),
                None if equal == 1 => u32::from(*bytes.first()?) << 24,
                None => return None,
            };
            let digits = word ^ 0x3030_3030;
            let digit_count = equal.wrapping_sub(start);
            let shift = 32_u32.wrapping_sub(8 * digit_count as u32) & 31;
            let digits = digits >> shift << shift;
            let not_digits = (digits.wrapping_add(0x7676_7676) | digits) & 0x8080_8080;
            let leading = digits >> shift & 0xFF;
            plain &= (not_digits == 0) & (leading != 0) & (digit_count.wrapping_sub(1) < 4);
            plain &= equal < *end as usize;
            let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
            *tag = (pairs & 0xFF) * 100 + (pairs >> 16 & 0xFF);
            start = *end as usize + 1;
        }
        (plain && start == bytes.len()).then_some(())
    }

    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn load512(bytes: &[u8; BLOCK]) -> __m512i {
        // SAFETY: the reference is valid for 64 bytes and the load has no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// Loads fewer than 64 bytes; the lanes after them are zero.
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn load_rest(bytes: &[u8]) -> __m512i {
        let mask = (1_u64 << (bytes.len() & 63)).wrapping_sub(1);
        // SAFETY: the mask has a bit for each of at most `bytes.len()` bytes, and lanes whose bit is
        // clear are not read: they cannot fault.
        unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn load_lanes(lanes: &[u32; LANES]) -> __m512i {
        // SAFETY: the reference is valid for 64 bytes and the load has no alignment.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn store_lanes(lanes: __m512i, out: &mut [u32; LANES]) {
        // SAFETY: the reference is valid for 64 bytes and the store has no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), lanes) };
    }

    /// Returns sixteen slots of a column from `at` on.
    #[inline(always)]
    fn lanes_mut(column: &mut [u32], at: usize) -> Option<&mut [u32; LANES]> {
        column.get_mut(at..)?.first_chunk_mut()
    }

    #[inline(always)]
    fn lanes(column: &[u32], at: usize) -> Option<&[u32; LANES]> {
        column.get(at..)?.first_chunk()
    }

    /// Columns being filled, and the block before for tags that lie across two blocks.
    struct Columns<'i> {
        index: &'i mut Index,
        ends_len: usize,
        equals_len: usize,
        before: __m512i,
    }

    impl Columns<'_> {
        /// Adds what the masks of `block`, which begins at `base`, say.
        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
        )]
        fn add(&mut self, block: __m512i, base: u32, delimiters: u64, firsts: u64) -> Option<()> {
            let iota = iota();
            let base = _mm512_set1_epi32(base as i32);
            let count = delimiters.count_ones() as usize;
            let mut positions = _mm512_maskz_compress_epi8(delimiters, iota);
            let mut done = 0;
            loop {
                let low = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(positions));
                let out = lanes_mut(&mut self.index.ends, self.ends_len + done)?;
                store_lanes(_mm512_add_epi32(low, base), out);
                done += LANES;
                if done >= count {
                    break;
                }
                positions = _mm512_alignr_epi64::<2>(positions, positions);
            }
            self.ends_len += count;
            let count = firsts.count_ones() as usize;
            let mut positions = _mm512_maskz_compress_epi8(firsts, iota);
            let mut done = 0;
            loop {
                let low = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(positions));
                let out = lanes_mut(&mut self.index.equals, self.equals_len + done)?;
                store_lanes(_mm512_add_epi32(low, base), out);
                let out = lanes_mut(&mut self.index.tags, self.equals_len + done)?;
                store_lanes(tags_before(low, self.before, block), out);
                done += LANES;
                if done >= count {
                    break;
                }
                positions = _mm512_alignr_epi64::<2>(positions, positions);
            }
            self.equals_len += count;
            self.before = block;
            Some(())
        }
    }

    /// Returns 0 to 63, one a byte.
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
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
        load512(&IOTA)
    }

    /// Returns for sixteen positions of `=` in `block` the number that the digits just before make, of
    /// at most four digits.
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn tags_before(positions: __m512i, before: __m512i, block: __m512i) -> __m512i {
        // Each lane becomes position - 4 + {0, 1, 2, 3} in two blocks of 64: bit 6 chooses the block.
        let spread = _mm512_mullo_epi16(positions, _mm512_set1_epi32(0x0101));
        let spread = _mm512_or_si512(spread, _mm512_slli_epi32::<16>(spread));
        let at = _mm512_add_epi8(spread, _mm512_set1_epi32(0x3F3E_3D3C));
        let text = _mm512_permutex2var_epi8(before, at, block);
        let digits = _mm512_sub_epi8(text, _mm512_set1_epi8(b'0' as i8));
        let others = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
        let others = _mm512_movm_epi8(others);
        let digit_bits = _mm512_lzcnt_epi32(others);
        let shift = _mm512_sub_epi32(_mm512_set1_epi32(32), digit_bits);
        let digits = _mm512_sllv_epi32(_mm512_srlv_epi32(digits, shift), shift);
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064))
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn scan_avx512(bytes: &[u8], index: &mut Index, fields_max: usize) -> Option<u32> {
        let mut fields = Fields::new();
        let mut sums = _mm512_setzero_si512();
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let before = _mm512_setzero_si512();
        let mut columns = Columns { index, ends_len: 0, equals_len: 0, before };
        let mut base = 0_u32;
        for at in 0..=blocks.len() {
            let block = match blocks.get(at) {
                Some(block) => load512(block),
                None => load_rest(rest),
            };
            let delimiters = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(SOH as i8));
            let equals = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(b'=' as i8));
            sums = _mm512_add_epi64(sums, _mm512_sad_epu8(block, _mm512_setzero_si512()));
            let firsts = fields.first_equals(delimiters, equals);
            columns.index.reserve(columns.ends_len + BLOCK + 2 * LANES);
            columns.add(block, base, delimiters, firsts)?;
            if columns.ends_len > fields_max || columns.equals_len > columns.ends_len + 1 {
                return None;
            }
            base = base.wrapping_add(BLOCK as u32);
        }
        let (ends_len, equals_len) = (columns.ends_len, columns.equals_len);
        index.len = ends_len;
        let whole = ends_len == equals_len && bytes.last() == Some(&SOH);
        (whole && is_plain(index)).then(|| _mm512_reduce_add_epi64(sums) as u32)
    }

    /// Whether between each delimiter and the next `=` there are just the digits of the tag.
    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn is_plain(index: &Index) -> bool {
        let len = index.len;
        // All ones: the first field starts just after position -1.
        let mut carried = _mm512_set1_epi32(-1);
        let mut at = 0;
        while at < len {
            let columns =
                (lanes(&index.tags, at), lanes(&index.equals, at), lanes(&index.ends, at));
            let (Some(tags), Some(equals), Some(ends)) = columns else { return false };
            let (tags, equals, ends) = (load_lanes(tags), load_lanes(equals), load_lanes(ends));
            let ends_before = _mm512_alignr_epi32::<15>(ends, carried);
            let digit_count = _mm512_sub_epi32(equals, _mm512_add_epi32(ends_before, one()));
            let over = |limit| _mm512_cmpgt_epu32_mask(tags, _mm512_set1_epi32(limit));
            let mut expected = one();
            expected = _mm512_mask_add_epi32(expected, over(9), expected, one());
            expected = _mm512_mask_add_epi32(expected, over(99), expected, one());
            expected = _mm512_mask_add_epi32(expected, over(999), expected, one());
            let used = ((1_u64 << (len - at).min(LANES)) - 1) as u16;
            let zero = _mm512_testn_epi32_mask(tags, tags);
            let wrong = _mm512_cmpneq_epu32_mask(digit_count, expected);
            let late = _mm512_cmpge_epu32_mask(equals, ends);
            if (zero | wrong | late) & used != 0 {
                return false;
            }
            carried = ends;
            at += LANES;
        }
        true
    }

    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,popcnt"
    )]
    fn one() -> __m512i {
        _mm512_set1_epi32(1)
    }
}
