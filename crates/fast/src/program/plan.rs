//! Constants of runs for the AVX-512 engine: sixteen lanes of four bytes per vector.
//!
//! A narrow lane holds the low 32 bits of an integer, or a string of up to three characters with
//! its length in the last byte. Other engines decode larger values.

use super::layout::SegmentLayout;
use super::runs::{LANES_MAX, LaneCode, LaneKind, LaneRun, MAP_BYTE_BITS, MAP_BYTES};
use std::sync::Arc;

/// Lanes per vector.
pub(crate) const LANES: usize = 16;
/// Most vectors per run.
pub(crate) const VECTORS_MAX: usize = LANES_MAX / LANES;
/// Words per vector: a record is written in blocks of this size.
pub(crate) const BLOCK: usize = 8;
/// Most bytes of an integer or string on the wire.
const NUMBER_BYTES: u8 = 4;
const TEXT_BYTES: u8 = 3;
/// Greater than any field length: a byte with this value belongs to no field.
const NEVER: u8 = 0xff;

/// The bytes of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct VectorBytes(pub [u8; 64]);

/// The lanes of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Narrow(pub [u32; LANES]);

/// The words of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct BlockWords(pub [u64; BLOCK]);

/// Bytes by lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LaneBytes(pub [u8; LANES_MAX]);

/// The constants of one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorPlan {
    /// For each byte: the lane of its field.
    pub spread: VectorBytes,
    /// For each byte: its offset, from the byte before the field for text, from the last byte for
    /// integers.
    pub offset: VectorBytes,
    /// For each byte: it belongs to the field if the field's length exceeds this.
    pub order: VectorBytes,
    /// Bytes that receive the length of text.
    pub length: VectorBytes,
    /// Mask of text lanes (all bits set).
    pub text: Narrow,
    /// Value bits: any of them is set unless the value is NULL.
    pub value: Narrow,
    /// 1 if the lane is nullable: non-negative values are encoded plus one.
    pub nullable: Narrow,
    pub delta: Narrow,
    pub keep: Narrow,
    pub add: Narrow,
    /// A value is in range if `value + bias` has no bit in common with `beyond`.
    pub bias: Narrow,
    pub beyond: Narrow,
    /// Mask of lanes that are sign-extended to the high half of the word.
    pub signed: Narrow,
    /// Byte indexes that build the record's words, from lanes (below 64) and from sign bytes: two
    /// blocks.
    pub out: [VectorBytes; 2],
    /// Byte indexes that pack two blocks of the record's words into lanes.
    pub pack: VectorBytes,
}

/// Lookup by a presence-map byte: lanes in the stream in the low half, other present lanes in the
/// high half. The last bit marks an unusual map.
pub(crate) type MapTable = [u64; 256];

/// The constants of a run.
#[derive(Clone, Debug)]
pub(crate) struct LanePlan {
    pub vectors: [VectorPlan; VECTORS_MAX],
    /// Bytes from one record to the next.
    pub step: usize,
    /// Bytes from a record's first lane to its presence word; may be negative.
    pub to_presence: isize,
    /// Number of blocks of words in use.
    pub blocks: usize,
    /// One table per byte of the presence map; bytes after its end are looked up as zero.
    pub maps: [MapTable; MAP_BYTES],
    /// Mask of text lanes.
    pub text: LaneBytes,
    /// Maximum number of bytes of each lane on the wire.
    pub longest: LaneBytes,
    /// Mask of lanes that are signed on the wire.
    pub signed: u32,
    /// Mask of nullable lanes: NULL if no value bit is set.
    pub nullable: u32,
    /// Mask of the nullable lanes whose NULL is left to other engines.
    pub refused: u32,
    pub given: u32,
    pub carried: u32,
    pub required: u32,
    pub kept: u32,
    /// Lanes with deltas, kept whether present or not.
    pub deltas: u32,
    /// Presence word without the run's lanes.
    pub beyond_run: u64,
    /// Lane values when all entries are undefined; `None` if a value is not narrow.
    pub fresh: Option<[Narrow; VECTORS_MAX]>,
    /// Mask of lanes that have a value when all entries are undefined.
    pub fresh_carried: u32,
    /// Masks of words whose lane has a dictionary entry, for each block.
    pub kept_words: [BlockWords; LANES_MAX / BLOCK],
}

/// Builds the plans of all runs; record layouts must be final.
pub(super) fn make(runs: &mut [LaneRun], segments: &[SegmentLayout]) {
    for segment in segments {
        if let Some(run) = segment.run.and_then(|run| runs.get_mut(run as usize)) {
            run.plan = LanePlan::of(run, segment).map(Arc::new);
        }
    }
}

impl LanePlan {
    /// Returns the plan of a run; `None` for runs of few lanes, for which SIMD does not pay.
    fn of(run: &LaneRun, segment: &SegmentLayout) -> Option<Self> {
        let lanes = run.count as usize;
        let fits = |lane: usize| run.keep[lane] != 0 || narrow(run, lane, run.add[lane]).is_some();
        if !run.fits_vectors() || !(0..lanes).all(fits) {
            return None;
        }
        let set = |of: fn(LaneCode) -> bool| {
            (0..lanes).filter(|&lane| of(run.codes[lane])).fold(0, |set, lane| set | 1 << lane)
        };
        let by_lane = |of: &dyn Fn(usize) -> u8| LaneBytes(std::array::from_fn(of));
        let text = set(is_text);
        let is_taken_apart = |code| matches!(code, LaneCode::Ascii | LaneCode::ExponentNullable);
        Some(Self {
            vectors: std::array::from_fn(|vector| VectorPlan::of(run, vector * LANES)),
            step: size_of::<u64>() * segment.record_words as usize,
            to_presence: (segment.presence_at as isize - run.first_slot as isize)
                * size_of::<u64>() as isize,
            blocks: lanes.div_ceil(BLOCK),
            maps: std::array::from_fn(|at| map_table(run, at)),
            text: by_lane(&|lane| if text >> lane & 1 != 0 { 0xff } else { 0 }),
            longest: by_lane(&|lane| if text >> lane & 1 != 0 { TEXT_BYTES } else { NUMBER_BYTES }),
            signed: set(is_signed),
            nullable: set(LaneCode::is_nullable_integer) | text,
            refused: set(is_taken_apart),
            given: run.given,
            carried: run.carried,
            required: run.required,
            kept: run.kept,
            deltas: run.deltas,
            beyond_run: u64::MAX << run.count,
            fresh: fresh(run),
            fresh_carried: run.fresh_carried,
            kept_words: std::array::from_fn(|block| {
                BlockWords(std::array::from_fn(|word| {
                    match run.kept >> (BLOCK * block + word) & 1 {
                        0 => 0,
                        _ => u64::MAX,
                    }
                }))
            }),
        })
    }
}

impl VectorPlan {
    fn of(run: &LaneRun, first: usize) -> Self {
        let is = |lane: usize, of: fn(LaneCode) -> bool| {
            first + lane < run.count as usize && of(run.codes[first + lane])
        };
        // Byte vectors from a function of the lane and the byte in it.
        let bytes = |of: &dyn Fn(usize, u8) -> u8| {
            VectorBytes(std::array::from_fn(|byte| of(byte / 4, byte as u8 % 4)))
        };
        let lanes = |of: &dyn Fn(usize) -> u32| Narrow(std::array::from_fn(of));
        let mask =
            |of: fn(LaneCode) -> bool| lanes(&|lane| if is(lane, of) { u32::MAX } else { 0 });
        let is_length = |lane: usize, byte: u8| is(lane, is_text) && byte == TEXT_BYTES;
        let add = |lane: usize| narrow(run, lane, run.add[lane]).unwrap_or_default();
        let ranges: [(u32, u32); LANES] = std::array::from_fn(|lane| range(run, first + lane));
        Self {
            spread: bytes(&|lane, _| (first + lane) as u8),
            offset: bytes(&|lane, byte| match is(lane, is_text) {
                true => byte + 1,
                false => byte.wrapping_neg(),
            }),
            order: bytes(&|lane, byte| if is_length(lane, byte) { NEVER } else { byte }),
            length: bytes(&|lane, byte| if is_length(lane, byte) { 0xff } else { 0 }),
            text: mask(is_text),
            value: lanes(&|lane| if is(lane, is_text) { u32::MAX >> 8 } else { u32::MAX }),
            nullable: lanes(&|lane| u32::from(is(lane, LaneCode::is_nullable_integer))),
            delta: mask(LaneCode::is_delta),
            keep: lanes(&|lane| run.keep[first + lane] as u32),
            add: lanes(&|lane| add(first + lane)),
            bias: Narrow(ranges.map(|(bias, _)| bias)),
            beyond: Narrow(ranges.map(|(_, beyond)| beyond)),
            signed: lanes(&|lane| if has_sign(run, first + lane) { u32::MAX } else { 0 }),
            out: std::array::from_fn(|half| {
                VectorBytes(std::array::from_fn(|byte| {
                    let lane = half * BLOCK + byte / 8;
                    let at = 4 * lane as u8;
                    match (byte as u8 % 8, is(lane, is_text)) {
                        (byte @ 0..3, true) | (byte @ 0..4, false) => at + byte,
                        (7, true) => at + TEXT_BYTES,
                        (byte, _) => 64 + at + byte % 4,
                    }
                }))
            }),
            pack: bytes(&|lane, byte| match is_length(lane, byte) {
                true => 8 * lane as u8 + 7,
                false => 8 * lane as u8 + byte,
            }),
        }
    }
}

/// Returns the lane values when all entries are undefined. Their values must be in range.
fn fresh(run: &LaneRun) -> Option<[Narrow; VECTORS_MAX]> {
    let mut lanes = [Narrow([0; LANES]); VECTORS_MAX];
    for lane in (0..run.count as usize).filter(|lane| run.fresh_carried >> lane & 1 != 0) {
        let value = narrow(run, lane, u64::from_le_bytes(run.fresh[lane]))?;
        let (bias, beyond) = range(run, lane);
        if value.wrapping_add(bias) & beyond != 0 {
            return None;
        }
        lanes[lane / LANES].0[lane % LANES] = value;
    }
    Some(lanes)
}

/// Returns a word as a narrow lane, if it fits.
fn narrow(run: &LaneRun, lane: usize, word: u64) -> Option<u32> {
    let low = word as u32;
    let code = run.codes[lane];
    if is_text(code) {
        let is_short = word >> 24 & u64::from(u32::MAX) == 0;
        return is_short.then_some(low | (word >> 56 << 24) as u32);
    }
    let wide = if has_sign(run, lane) { i64::from(low as i32) as u64 } else { u64::from(low) };
    (wide == word).then_some(low)
}

/// Returns the table for byte number `at` of a presence map.
fn map_table(run: &LaneRun, at: usize) -> MapTable {
    const NOT_PLAIN: u64 = 1 << 63;
    const STOP: usize = 0x80;
    std::array::from_fn(|byte| {
        let is_last_of_all = at + 1 == MAP_BYTES;
        // Overlong, or longer than the tables.
        let is_overlong = at > 0 && byte == STOP;
        let is_too_long = is_last_of_all && (1..STOP).contains(&byte);
        let bits = (byte as u64 & 0x7f) << (57 - MAP_BYTE_BITS * at);
        let has_more = bits & (u64::MAX >> run.map_bits) != 0;
        if is_overlong || is_too_long || has_more {
            return NOT_PLAIN;
        }
        let lanes = run.lookup(bits);
        u64::from(lanes.stream()) | u64::from(lanes.present()) << 32
    })
}

fn is_text(code: LaneCode) -> bool {
    code.kind() == LaneKind::Text
}

/// True if the lane is signed on the wire.
fn is_signed(code: LaneCode) -> bool {
    code.is_delta() || code.kind() == LaneKind::Signed
}

/// True if the value is signed.
fn has_sign(run: &LaneRun, lane: usize) -> bool {
    match run.codes[lane].kind() {
        LaneKind::Constant => (run.add[lane] as i64) < 0,
        kind => kind == LaneKind::Signed,
    }
}

/// Returns the bias, and the bits that a biased value must not have. The range is narrower than the
/// lane's if that cannot be expressed, or to exclude overflow of sums.
fn range(run: &LaneRun, lane: usize) -> (u32, u32) {
    if lane >= run.count as usize {
        return (0, 0);
    }
    let code = run.codes[lane];
    let is_sum = code.is_delta() || run.increments >> lane & 1 != 0;
    match u32::try_from(run.limit[lane]) {
        // Exponents.
        Ok(limit) if limit & (limit.wrapping_add(1)) != 0 => (32, !63),
        Ok(limit) if limit < u32::MAX => (run.bias[lane] as u32, !limit),
        _ if is_sum && has_sign(run, lane) => (1 << 30, 1 << 31),
        _ if is_sum => (0, 1 << 31),
        _ => (0, 0),
    }
}
