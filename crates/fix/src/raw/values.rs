//! Reads the values of a message with known tags, with AVX-512: the positions of sixteen fields are
//! checked together, so that no check per field is left.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::plan::{FieldNumbers, SLOT, TagPlan, ValueTarget, WORDS};
use super::{Avx512, SlotColumn};
use crate::digits::{ZEROS, are_digits};
use crate::reader::Index;

const LANES: usize = 16;

/// A value other than text.
type ValueWords = (u64, u64);

impl Avx512 {
    /// Fills slots by a plan from the field at `start` on; `None` if the message has other tags, or
    /// a value of an unsupported length.
    ///
    /// Returns a bitmap of the plan's numbers and timestamps that must be read by the general path;
    /// their slots hold unspecified values.
    #[inline(always)]
    pub(crate) fn fill<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        self,
        plan: &TagPlan,
        (bytes, index): (&'m [u8], &Index),
        start: usize,
        texts: &mut SlotColumn<&'m [u8], T, TW>,
        values: &mut SlotColumn<ValueWords, V, VW>,
    ) -> Option<u64> {
        if T < plan.text_slots || V < plan.value_slots {
            return None;
        }
        let (text_bits, text_slots) = texts.parts();
        let (value_bits, value_slots) = values.parts();
        let (text_slots, value_slots) = (text_slots.as_mut_ptr(), value_slots.as_mut_ptr());
        // SAFETY: a value of `Avx512` exists only if `detect` found every feature that `fill`
        // enables, and the check above guarantees as many slots as the plan needs.
        let left = unsafe { fill(plan, bytes, index, start, text_slots, value_slots) }?;
        // Exactly the slots of these bits have been written.
        add_bits(text_bits, &plan.text_bits);
        add_bits(value_bits, &plan.value_bits);
        Some(left)
    }
}

/// Adds bits to the presence bits. Loops by index, because the compiler does not always recognize
/// the constant length through an iterator.
#[inline(always)]
const fn add_bits<const W: usize>(present: &mut [u64; W], bits: &[u64; WORDS]) {
    let mut at = 0;
    while at < W && at < WORDS {
        present[at] |= bits[at];
        at += 1;
    }
}

/// The index of a message from a field on; it has at least as many fields as the plan has tags.
#[derive(Clone, Copy)]
struct IndexedFields<'m> {
    bytes: &'m [u8],
    tags: *const u32,
    equals: *const u32,
    ends: *const u32,
}

/// Loads sixteen numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(FieldNumbers(numbers): &FieldNumbers, half: usize) -> __m512i {
    let (lanes, _) = numbers.as_chunks::<LANES>();
    // SAFETY: the reference is valid for 64 bytes and the load has no alignment.
    unsafe { _mm512_loadu_si512(lanes[half % 2].as_ptr().cast()) }
}

/// True if half of the fields have the plan's tags, and values of supported lengths that lie inside
/// the message.
///
/// # Safety
/// The columns must have at least as many fields as the plan has tags.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn are_as_planned(plan: &TagPlan, half: usize, fields: IndexedFields<'_>) -> bool {
    let (tagged, used) = (plan.tagged[half % 2], plan.used[half % 2]);
    // SAFETY: the mask has a bit for each of the plan's tags in this half, and there are as many
    // numbers; others are not read.
    let column = |column: *const u32| unsafe {
        _mm512_maskz_loadu_epi32(tagged, column.wrapping_add(half * LANES).cast())
    };
    let other = _mm512_mask_cmpneq_epu32_mask(tagged, column(fields.tags), load(&plan.tags, half));
    let (equals, ends) = (column(fields.equals), column(fields.ends));
    let bytes_len = _mm512_set1_epi32(fields.bytes.len() as i32);
    let beyond = _mm512_cmpge_epu32_mask(equals, ends) | _mm512_cmpgt_epu32_mask(ends, bytes_len);
    // Excess of the value's length over its minimum.
    let longer = _mm512_sub_epi32(_mm512_sub_epi32(ends, equals), load(&plan.span_min, half));
    let wrong = _mm512_cmpgt_epu32_mask(longer, load(&plan.longer_max, half));
    other | (beyond | wrong) & used == 0
}

/// Does the work of [`Avx512::fill`] except for the presence bits.
///
/// # Safety
/// There must be as many slots of both kinds as the plan needs.
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
)]
unsafe fn fill<'m>(
    plan: &TagPlan,
    bytes: &'m [u8],
    index: &Index,
    start: usize,
    texts: *mut MaybeUninit<&'m [u8]>,
    values: *mut MaybeUninit<ValueWords>,
) -> Option<u64> {
    let len = index.len.min(index.capacity());
    if start > len || len - start < plan.tag_count || bytes.len() > i32::MAX as usize {
        return None;
    }
    let (tags, equals) = (index.tags.as_ptr(), index.equals.as_ptr());
    // SAFETY: there are `tag_count` fields from `start` on, so these are in their columns; the last
    // column has one more before the first field.
    let fields = unsafe {
        let (tags, equals) = (tags.add(start), equals.add(start));
        IndexedFields { bytes, tags, equals, ends: index.ends.as_ptr().add(start + 1) }
    };
    // SAFETY: as above.
    let are_planned = unsafe {
        are_as_planned(plan, 0, fields)
            && (plan.tag_count <= LANES || are_as_planned(plan, 1, fields))
    };
    if !are_planned {
        return None;
    }
    // SAFETY of each target: it refers to a field, and there are at least as many tags; the check
    // above guarantees that its value starts before it ends, inside the message. Its slot is below
    // the number of slots that the plan needs, and there are as many.
    for target in &plan.texts {
        // SAFETY: see above.
        unsafe {
            let (at, len) = fields.value(*target);
            let text = std::slice::from_raw_parts(bytes.as_ptr().add(at), len);
            target.slot(texts).write(MaybeUninit::new(text));
        }
    }
    for target in &plan.chars {
        // SAFETY: see above; and the value has a byte.
        unsafe {
            let (at, _) = fields.value(*target);
            let byte = *bytes.get_unchecked(at);
            target.slot(values).write(MaybeUninit::new((byte.into(), 0)));
        }
    }
    let (mut left, mut bit) = (0, 1);
    for (target, is_integer) in &plan.numbers {
        // SAFETY: see above.
        let ((at, len), slot) = unsafe { (fields.value(*target), target.slot(values)) };
        if bytes.len() < at + 8 {
            return None;
        }
        // SAFETY: eight bytes from there on are in the message.
        let word = unsafe { bytes.as_ptr().add(at).cast::<[u8; 8]>().read() };
        // The last digit is in the highest byte, with zeros before the first.
        let digits = (u64::from_le_bytes(word) ^ ZEROS) << (64_usize.wrapping_sub(8 * len) & 63);
        // Each kind of number writes its slot in a separate branch: a common write would force the
        // values into memory.
        if len.wrapping_sub(1) < 8 && are_digits(digits) {
            // SAFETY: see above.
            unsafe { slot.write(MaybeUninit::new((eight_digits(digits), 0))) };
        } else {
            let (number, places, is_number) = pointed(digits, len);
            // SAFETY: see above.
            unsafe { slot.write(MaybeUninit::new((number, places))) };
            left |= if is_number && !is_integer { 0 } else { bit };
        }
        bit <<= 1;
    }
    for (target, minute) in &plan.moments {
        // SAFETY: see above; and the value has 17 bytes.
        let (whole, len) = unsafe {
            let (at, len) = fields.value(*target);
            (&*bytes.as_ptr().add(at).cast::<[u8; 17]>(), len)
        };
        let (word, other) = minute.second(whole);
        // SAFETY: see above.
        unsafe { target.slot(values).write(MaybeUninit::new((word, 0))) };
        left |= if other | (len as u64 ^ 17) == 0 { 0 } else { bit };
        bit <<= 1;
    }
    Some(left)
}

impl IndexedFields<'_> {
    /// Returns offset and length of a target's value.
    ///
    /// # Safety
    /// It must refer to one of the fields.
    #[inline(always)]
    unsafe fn value(self, ValueTarget { at, .. }: ValueTarget) -> (usize, usize) {
        // SAFETY: the columns have at least as many entries as there are fields.
        let (equal, end) = unsafe { (*self.equals.add(at.into()), *self.ends.add(at.into())) };
        (equal as usize + 1, end.wrapping_sub(equal).wrapping_sub(1) as usize)
    }
}

impl ValueTarget {
    /// Returns the slot.
    ///
    /// # Safety
    /// There must be a slot of this number.
    #[inline(always)]
    unsafe fn slot<T>(self, slots: *mut MaybeUninit<T>) -> *mut MaybeUninit<T> {
        const { assert!(size_of::<T>() == SLOT, "both kinds of slots are two words") };
        // SAFETY: as the caller promises.
        unsafe { slots.byte_add(self.offset.into()) }
    }
}

/// Reads a number of two to eight characters with one point, in the highest bytes of a word with
/// zeros before them. Returns the two words of a [`crate::FixDecimal`], digits and places, and true if
/// it is a valid number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
fn pointed(digits: u64, len: usize) -> (u64, u64, bool) {
    /// A bit that is set in a point and in no digit.
    const BIT: u64 = 0x1010_1010_1010_1010;
    const POINT: u64 = (b'.' ^ b'0') as u64;
    let point = _blsi_u64(digits & BIT);
    let at = point.trailing_zeros() & 56;
    // Moves the digits before the point up by a byte, over the point. A second point remains and is
    // rejected as a non-digit.
    let before = digits & (point >> 4).wrapping_sub(1);
    let moved = digits & (point << 4).wrapping_neg() | before << 8;
    let is_number = digits >> at & 0xFF == POINT && len.wrapping_sub(2) < 7 && are_digits(moved);
    (eight_digits(moved), 7_u64.wrapping_sub((at / 8).into()), is_number)
}

/// Returns the number formed by eight digits, first digit in the lowest byte: joins digits (weights
/// 10 and 1), pairs (100 and 1) and groups of four (10,000 and 1).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn eight_digits(digits: u64) -> u64 {
    let pairs = _mm_maddubs_epi16(_mm_cvtsi64_si128(digits as i64), _mm_set1_epi16(0x010A));
    let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
    let fours = _mm_packus_epi32(fours, fours);
    let eight = _mm_madd_epi16(fours, _mm_set1_epi32(0x0001_2710));
    u64::from(_mm_cvtsi128_si32(eight) as u32)
}

#[cfg(test)]
mod tests {
    use super::super::ValueFormat;
    use super::*;
    use crate::reader::Reader;
    use tickwire_testing::{Need, skip};

    type Outcome<'m> = (Option<u64>, Vec<(usize, &'m [u8])>, Vec<(usize, ValueWords)>);

    /// Fills columns whose first slots are already present.
    fn filled<'m, const T: usize, const TW: usize, const V: usize, const VW: usize>(
        engine: Avx512,
        plan: &TagPlan,
        parts: (&'m [u8], &Index),
    ) -> Outcome<'m> {
        let (mut texts, mut values) =
            (SlotColumn::<&[u8], T, TW>::new(), SlotColumn::<ValueWords, V, VW>::new());
        texts.set(0, b"before");
        values.set(0, (7, 7));
        let left = engine.fill(plan, parts, 0, &mut texts, &mut values);
        let texts = (0..T).filter_map(|slot| Some((slot, texts.at(slot)?))).collect();
        let values = (0..V).filter_map(|slot| Some((slot, values.at(slot)?))).collect();
        (left, texts, values)
    }

    #[test]
    fn decimals_of_up_to_eight_characters_are_read_by_the_plan() {
        let Some(engine) = Avx512::detect() else {
            return skip(Need::Machine, "this CPU has no AVX-512");
        };
        let readings =
            [ValueFormat::Other, ValueFormat::Other, ValueFormat::Other, ValueFormat::Decimal]
                .map(|how| (how, 0));
        let plan = TagPlan::new(&[8, 9, 35, 44], &readings).expect("few fields");
        for text in ["57", "12345678", "298.075", ".5", "5.", "1234.567", ".1234567"] {
            let body = format!("35=0\u{1}44={text}\u{1}");
            let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
            let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
            let mut reader = Reader::new();
            let message = reader.decode(&bytes).expect("well formed");
            let price = message.field_at(3).expect("there").decimal().expect(text);
            let (left, _, values) = filled::<1, 1, 1, 1>(engine, &plan, message.parts());
            assert_eq!((left, values), (Some(0), vec![(0, price.words())]), "{text}");
        }
    }

    #[test]
    fn columns_that_are_too_short_for_a_plan_stay_as_they_are() {
        let Some(engine) = Avx512::detect() else {
            return skip(Need::Machine, "this CPU has no AVX-512");
        };
        let bytes = b"8=FIX.4.2\x019=5\x0135=0\x0110=161\x01";
        let mut reader = Reader::new();
        let message = reader.decode(bytes).expect("well formed");
        let (parts, readings) =
            (message.parts(), [(ValueFormat::Text, 69), (ValueFormat::Integer, 130)]);
        let plan = TagPlan::new(&[8, 9], &readings).expect("few fields");
        let before = (None, vec![(0, &b"before"[..])], vec![(0, (7, 7))]);
        assert_eq!(filled::<69, 2, 131, 3>(engine, &plan, parts), before);
        assert_eq!(filled::<70, 2, 130, 3>(engine, &plan, parts), before);
        let (_, mut texts, mut values) = before;
        texts.push((69, b"FIX.4.2"));
        values.push((130, (5, 0)));
        let after = (Some(0), texts, values);
        assert_eq!(filled::<70, 2, 131, 3>(engine, &plan, parts), after);
        assert_eq!(filled::<300, 5, 300, 5>(engine, &plan, parts), after);
    }
}
