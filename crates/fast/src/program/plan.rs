//! Runs as constants for engines of 512-bit vectors: eight lanes a vector, a word each.

use super::runs::{LANES_MAX, LaneCode, Run};

/// Lanes of a vector.
pub(crate) const LANES: usize = 8;
/// Fewer lanes are read faster one by one.
const LANES_MIN: usize = 5;
/// Most vectors of a run.
pub(crate) const VECTORS_MAX: usize = LANES_MAX / LANES;
/// Index of a byte that is zero in every byte vector that is looked up.
const NONE: u8 = 63;

/// The bytes of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Bytes(pub [u8; 64]);

/// The words of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Words(pub [u64; LANES]);

/// Bytes by lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LaneBytes(pub [u8; LANES_MAX]);

/// The constants of one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorPlan {
    /// For each byte the lane whose field it is gathered from,
    pub spread: Bytes,
    /// and where, from the field's first byte for text, from its last for integers.
    pub offset: Bytes,
    /// Puts the shift count of each lane into its word.
    pub counts: Bytes,
    /// Puts the length of text into the last byte of its word.
    pub lengths: Bytes,
    /// Masks of whole words.
    pub text: Words,
    pub signed: Words,
    pub delta: Words,
    /// Lanes for which zero is a value.
    pub zero: Words,
    pub keep: Words,
    /// Lanes with a dictionary entry.
    pub kept: Words,
    /// 1 where NULL shifts positive values up.
    pub nullable: Words,
    pub add: Words,
    /// A value is in range if it has no bit in common with `beyond` after `bias` is added.
    pub bias: Words,
    pub beyond: Words,
}

/// The constants of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub vectors: [VectorPlan; VECTORS_MAX],
    /// Vectors in use.
    pub count: usize,
    pub text: LaneBytes,
    /// First entry in the table of shift counts.
    pub table: LaneBytes,
    /// Lane sets.
    pub signed: u32,
    pub exponents: u32,
}

impl Plan {
    /// The plan of a run; runs of fewer lanes than a vector has do not pay.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        if (run.count as usize) < LANES_MIN {
            return None;
        }
        let lanes = run.count as usize;
        let is = |lane: usize, of: fn(LaneCode) -> bool| lane < lanes && of(run.codes[lane]);
        let set = |of: fn(LaneCode) -> bool| {
            (0..lanes).filter(|&lane| of(run.codes[lane])).fold(0, |set, lane| set | 1 << lane)
        };
        let mut text = LaneBytes([0; LANES_MAX]);
        let mut table = LaneBytes([0; LANES_MAX]);
        for lane in (0..lanes).filter(|&lane| is(lane, is_text)) {
            text.0[lane] = 0xff;
            table.0[lane] = 16;
        }
        Some(Self {
            vectors: std::array::from_fn(|vector| VectorPlan::of(run, vector * LANES)),
            count: lanes.div_ceil(LANES),
            text,
            table,
            signed: set(is_signed),
            exponents: set(|code| code == LaneCode::ExponentNullable),
        })
    }
}

impl VectorPlan {
    fn of(run: &Run, first: usize) -> Self {
        let is = |lane: usize, of: fn(LaneCode) -> bool| {
            first + lane < run.count as usize && of(run.codes[first + lane])
        };
        let bytes = |of: &dyn Fn(usize, usize) -> u8| {
            Bytes(std::array::from_fn(|byte| of(byte / LANES, byte % LANES)))
        };
        let mask = |of: fn(LaneCode) -> bool| {
            Words(std::array::from_fn(|lane| if is(lane, of) { u64::MAX } else { 0 }))
        };
        let ranges: [(u64, u64); LANES] = std::array::from_fn(|lane| range(run, first + lane));
        let index = |lane: usize| (first + lane) as u8;
        Self {
            spread: bytes(&|lane, _| index(lane)),
            offset: bytes(&|lane, byte| match is(lane, is_text) {
                true => byte as u8 + 1,
                false => (byte as u8).wrapping_neg(),
            }),
            counts: bytes(&|lane, byte| if byte == 0 { index(lane) } else { NONE }),
            lengths: bytes(&|lane, byte| match byte == LANES - 1 && is(lane, is_text) {
                true => index(lane),
                false => NONE,
            }),
            text: mask(is_text),
            signed: mask(is_signed),
            delta: mask(is_delta),
            zero: mask(has_zero),
            keep: Words(std::array::from_fn(|lane| run.keep[first + lane])),
            kept: Words(std::array::from_fn(|lane| match run.kept >> (first + lane) & 1 {
                0 => 0,
                _ => u64::MAX,
            })),
            nullable: Words(std::array::from_fn(|lane| u64::from(is(lane, is_nullable)))),
            add: Words(std::array::from_fn(|lane| run.add[first + lane])),
            bias: Words(ranges.map(|(bias, _)| bias)),
            beyond: Words(ranges.map(|(_, beyond)| beyond)),
        }
    }
}

fn is_text(code: LaneCode) -> bool {
    matches!(code, LaneCode::Ascii | LaneCode::AsciiNullable)
}

fn is_delta(code: LaneCode) -> bool {
    use LaneCode::*;
    matches!(code, UnsignedDelta | UnsignedDeltaNullable | SignedDelta | SignedDeltaNullable)
}

/// Whether the sign is in the stream.
fn is_signed(code: LaneCode) -> bool {
    use LaneCode::*;
    is_delta(code) || matches!(code, Signed | SignedNullable | ExponentNullable)
}

fn is_nullable(code: LaneCode) -> bool {
    use LaneCode::*;
    matches!(
        code,
        UnsignedNullable
            | SignedNullable
            | ExponentNullable
            | UnsignedDeltaNullable
            | SignedDeltaNullable
    )
}

/// Whether zero in the stream is a value. Empty text is left to others.
fn has_zero(code: LaneCode) -> bool {
    !is_nullable(code) && !is_text(code)
}

/// What is added to a value, and the bits it then may not have. Narrower than the lane's range
/// where that has no such form, and for sums that might go round.
fn range(run: &Run, lane: usize) -> (u64, u64) {
    use LaneCode::*;
    if lane >= run.count as usize {
        return (0, 0);
    }
    match (run.codes[lane], run.limit[lane]) {
        (SignedDelta | SignedDeltaNullable, u64::MAX) => (1 << 62, 1 << 63),
        (UnsignedDelta | UnsignedDeltaNullable, u64::MAX) => (0, 3 << 62),
        (_, limit) if limit & (limit.wrapping_add(1)) == 0 => (run.bias[lane], !limit),
        // Exponents.
        _ => (32, !63),
    }
}
