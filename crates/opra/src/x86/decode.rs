//! The AVX-512 engine: decodes all integers of a message at once.
//!
//! Steps for a message, in one 64-byte register:
//!
//! 1. `movepi8_mask` gives the stop bits; the first stop ends the presence map.
//! 2. Compressing the byte offsets 0 to 63 by the stop mask gives the field ends in wire order.
//!    Expanding them by the presence map moves each end to the byte of its field's slot.
//! 3. The same with the previous stops gives the fields' starts, and a subtraction the lengths.
//! 4. For each row of 16 slots, a byte permutation gathers the last four bytes of each field into a
//!    32-bit lane, two multiply-adds join the groups of seven bits, and a masked store writes the
//!    present fields.
//!
//! No branch depends on the length or the selection of fields.

use std::arch::x86_64::*;

use super::{OpraAvx512, load};
use crate::bottom_up::{
    self, BASE, BottomUpDecoder, LEN_MAX, PADDING_BYTES, PacketJob, Padded, RecordOutcome,
    message_fields,
};
use crate::field::PRESENCE_MAP_BYTES_MAX;
use crate::packet::{PACKET_BYTES_MAX, PacketFrame};
use crate::record::{OpraRecord, lane};
use crate::{Field, OpraError, OpraMessage, OpraSummary};

/// Decodes the messages of a packet.
#[inline]
pub(crate) fn decode(
    _: OpraAvx512,
    decoder: &mut BottomUpDecoder,
    job: PacketJob<'_>,
    visit: impl FnMut(OpraMessage<'_>),
) -> Result<OpraSummary, OpraError> {
    // SAFETY: an `OpraAvx512` is made only where the CPU has every feature of `run`.
    unsafe { run(decoder, job, visit) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn run(
    decoder: &mut BottomUpDecoder,
    job: PacketJob<'_>,
    visit: impl FnMut(OpraMessage<'_>),
) -> Result<OpraSummary, OpraError> {
    bottom_up::run(
        decoder,
        job,
        |padded, frame, state, record| message(padded, frame, &mut state.base, record),
        visit,
    )
}

const SEQ_NUM: usize = Field::SeqNum as usize;
const SYMBOL: usize = Field::Symbol as usize;

/// Maximum length in bytes of a field by slot: four in a 32-bit lane, five for the fields with a
/// 64-bit word.
static LENGTHS_MAX: [u8; 64] = {
    let mut table = [4; 64];
    table[SEQ_NUM] = 5;
    table[SYMBOL] = 5;
    table
};

static IOTA: [u8; 64] = {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        table[index] = index as u8;
        index += 1;
    }
    table
};

/// For each of three rows of 16 lanes: the slot of each byte of the lanes.
static SLOT_OF_BYTE: [[u8; 64]; 3] = {
    let mut table = [[0; 64]; 3];
    let mut index = 0;
    while index < 192 {
        table[index / 64][index % 64] = (index / 4) as u8;
        index += 1;
    }
    table
};

/// Returns the eight bytes of the packet that end at `last` as a number, last byte lowest.
#[inline]
fn word_ending_at(padded: &Padded, last: usize) -> u64 {
    let first = last.wrapping_sub(7) & 0xFFFF;
    padded[first..].first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

const _: () = assert!(PADDING_BYTES >= 64 && size_of::<Padded>() >= PACKET_BYTES_MAX + 64);

/// Decodes the message at `frame` into `record`. `base` holds the fields of the previous message's
/// category and receives those of this one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn message(
    padded: &Padded,
    frame: PacketFrame,
    base: &mut u64,
    record: &mut OpraRecord,
) -> RecordOutcome {
    let PacketFrame { start, end, .. } = frame;
    let len = end - start;
    if len > LEN_MAX {
        return RecordOutcome::Unusual;
    }
    let Some(window) = padded[start & 0xFFFF..].first_chunk::<64>() else {
        return RecordOutcome::Unusual;
    };
    let bytes = load(window);
    let stops = _bzhi_u64(_mm512_movepi8_mask(bytes), len as u32);
    let pmap_last = _tzcnt_u64(stops) as usize;
    // An empty mask has 64 trailing zeros.
    if pmap_last >= PRESENCE_MAP_BYTES_MAX {
        return RecordOutcome::Unusual;
    }
    let present = presence_map(bytes, pmap_last as u32);
    let field_stops = _blsr_u64(stops);
    let last_is_stop = stops >> ((len - 1) & 63) & 1 == 1;
    if field_stops.count_ones() != present.count_ones() || !last_is_stop {
        return RecordOutcome::Unusual;
    }
    let mut category_bits = *base;
    if present & Field::Category.bit() != 0 {
        let code = window[pmap_last + 1];
        if code & 0x80 == 0 {
            return RecordOutcome::Unusual;
        }
        category_bits = BASE[usize::from(code & 0x7F)];
    }

    // Ends and lengths of the fields: compressed into wire order, then expanded to their slots.
    let iota = load(&IOTA);
    let ends = _mm512_maskz_expand_epi8(present, _mm512_maskz_compress_epi8(field_stops, iota));
    let previous = _mm512_maskz_expand_epi8(present, _mm512_maskz_compress_epi8(stops, iota));
    let lengths = _mm512_sub_epi8(ends, previous);
    let overlong = _mm512_cmpgt_epu8_mask(lengths, load(&LENGTHS_MAX));
    if category_bits == 0 || overlong != 0 {
        return RecordOutcome::Unusual;
    }
    *base = category_bits;

    let low_bits = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7F));
    store_row::<0>(low_bits, ends, lengths, present, record);
    store_row::<1>(low_bits, ends, lengths, present, record);
    // Only appendages have slots in the third row.
    if present >> 32 != 0 {
        store_row::<2>(low_bits, ends, lengths, present, record);
    }
    let ends = _mm_cvtsi128_si64(_mm512_castsi512_si128(ends)) as u64;
    let lengths = _mm_cvtsi128_si64(_mm512_castsi512_si128(lengths)) as u64;
    let word = |slot: usize| {
        let last = (ends >> (8 * slot) & 0x3F) as usize;
        let len = lengths >> (8 * slot) & 0xFF;
        let word = _bzhi_u64(word_ending_at(padded, start + last), 8 * len as u32);
        _pext_u64(word, 0x7F7F_7F7F_7F7F_7F7F) | len << 56
    };
    // Selects by mask rather than by branch: the presence of a symbol is hard to predict.
    let keep = (present >> SYMBOL & 1).wrapping_sub(1);
    record.wide[lane::SYMBOL] = record.wide[lane::SYMBOL] & keep | word(SYMBOL) & !keep;
    record.wide[lane::SEQ_NUM] = match present >> SEQ_NUM & 1 {
        0 => record.wide[lane::SEQ_NUM].wrapping_add(1),
        _ => word(SEQ_NUM) & 0x00FF_FFFF_FFFF_FFFF,
    };

    let fields = message_fields(category_bits, record.numbers[Field::Bbo as usize]);
    let defined = record.defined | present;
    let missing = fields & !defined & !Field::Symbol.bit();
    if (present & !fields) | missing != 0 {
        return RecordOutcome::Wrong;
    }
    record.defined = defined;
    record.fields = fields;
    record.changed = present | Field::SeqNum.bit();
    RecordOutcome::Done
}

/// Decodes the presence map that ends at byte `last` of the message: slot n becomes bit n.
#[inline]
#[target_feature(enable = "avx512f,gfni,bmi2")]
fn presence_map(bytes: __m512i, last: u32) -> u64 {
    // An affine transformation with this bit matrix reverses the bits of every byte. The stop bit
    // is then bit 0 of its byte, which the mask `0xFE` drops.
    let matrix = _mm_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let turned = _mm_gf2p8affine_epi64_epi8::<0>(_mm512_castsi512_si128(bytes), matrix);
    let map_bytes = _bzhi_u64(0xFEFE_FEFE_FEFE_FEFE, 8 * (last + 1));
    _pext_u64(_mm_cvtsi128_si64(turned) as u64, map_bytes)
}

/// Stores the present fields of slots `16 * ROW` to `16 * ROW + 15`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn store_row<const ROW: usize>(
    low_bits: __m512i,
    ends: __m512i,
    lengths: __m512i,
    present: u64,
    record: &mut OpraRecord,
) {
    // Byte n of a lane is the n-th byte before the field's last. Bytes beyond the field's length
    // become zero.
    let back = _mm512_set1_epi32(0x0302_0100);
    let slots = load(&SLOT_OF_BYTE[ROW]);
    let positions = _mm512_sub_epi8(_mm512_permutexvar_epi8(slots, ends), back);
    let in_field = _mm512_cmplt_epu8_mask(back, _mm512_permutexvar_epi8(slots, lengths));
    let gathered = _mm512_maskz_permutexvar_epi8(in_field, positions, low_bits);
    // `maddubs` with 1 and 128 joins pairs of bytes to 14 bits; `madd` with 1 and 0x4000 joins
    // pairs of those to 28.
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001_u16 as i16), gathered);
    let values = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
    let row = &mut record.numbers.as_chunks_mut::<16>().0[ROW];
    let is_present = (present >> (16 * ROW)) as __mmask16;
    // SAFETY: `row` is 16 writable numbers of 32 bits; the store needs no alignment.
    unsafe { _mm512_mask_storeu_epi32(row.as_mut_ptr().cast(), is_present, values) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_testing::{Need, skip};

    #[test]
    fn the_vector_engine_decodes_the_messages_of_a_trace_itself() {
        if OpraAvx512::detect().is_none() {
            return skip(Need::Machine, "this CPU has no AVX-512");
        }
        let [done, unusual, wrong] = bottom_up::outcomes(|padded, frame, state, record| {
            // SAFETY: the CPU has every feature of `message`, as has been seen above.
            unsafe { message(padded, frame, &mut state.base, record) }
        });
        assert!(done >= 5000 && unusual + wrong == 0, "{done} {unusual} {wrong}");
    }
}
