//! Encodes records of runs: what goes into the stream is settled for all lanes at once, so that the
//! presence map is known before the first field.
//!
//! `None` stands for whatever is not certain to be right this way; the operations then encode the
//! message again, or know the error.

use crate::dictionary::{LaneState, Lanes, Word};
use crate::program::{LANES_MAX, LaneCode, OutgoingRun, Run};
use crate::rt::Output;

/// What a decoder will expect of the next record, lane by lane: the value where nothing is in the
/// stream, and the base of deltas.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    words: Lanes,
    state: LaneState,
}

impl Expected {
    /// Before the first record, from the lanes of the dictionary.
    #[inline]
    pub(super) fn of(run: &Run, (state, lanes): (LaneState, &Lanes)) -> Self {
        let mut words = [[0; 8]; LANES_MAX];
        match run.words {
            8 => first_words::<8>(run, lanes, &mut words),
            16 => first_words::<16>(run, lanes, &mut words),
            _ => first_words::<LANES_MAX>(run, lanes, &mut words),
        }
        Self { words, state }
    }

    /// The lanes for the dictionary, after the last record.
    #[inline]
    pub(super) fn into_lanes(mut self, run: &Run) -> (LaneState, Lanes) {
        let mut left = run.increments;
        while left != 0 {
            let word = &mut self.words[left.trailing_zeros() as usize % LANES_MAX];
            *word = u64::from_le_bytes(*word).wrapping_sub(1).to_le_bytes();
            left &= left - 1;
        }
        (self.state, self.words)
    }
}

#[inline(always)]
fn first_words<const N: usize>(run: &Run, lanes: &Lanes, words: &mut Lanes) {
    for lane in 0..N {
        let before = u64::from_le_bytes(lanes[lane]);
        words[lane] = (before & run.keep[lane]).wrapping_add(run.add[lane]).to_le_bytes();
    }
}

/// Encodes the record that `words` begin with. `present` is its presence word; `head` is what its
/// presence map has in front, a bit or none.
#[inline]
pub(super) fn record(
    run: &Run,
    lanes: &OutgoingRun,
    words: &[Word],
    present: u64,
    head: Head,
    expected: &mut Expected,
    out: &mut Output<'_>,
) -> Option<()> {
    match run.words {
        8 => record_of::<8>(run, lanes, words, present, head, expected, out),
        16 => record_of::<16>(run, lanes, words, present, head, expected, out),
        _ => record_of::<LANES_MAX>(run, lanes, words, present, head, expected, out),
    }
}

/// What a record begins with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Head {
    /// An entry has its own bits only.
    Entry,
    /// A message whose template is the one before.
    Known,
    /// A message that names its template.
    Named(u32),
}

/// Writes the presence map of a record, its own bits at the top, and the template id.
#[inline(always)]
pub(super) fn begin(head: Head, map: u64, out: &mut Output<'_>) -> Option<()> {
    match head {
        Head::Entry => out.map(map),
        Head::Known => out.map(map >> 1),
        Head::Named(id) => {
            out.map(map >> 1 | 1 << 63)?;
            out.unsigned(u64::from(id))
        }
    }
}

#[inline(always)]
fn record_of<const N: usize>(
    run: &Run,
    lanes: &OutgoingRun,
    words: &[Word],
    present: u64,
    head: Head,
    expected: &mut Expected,
    out: &mut Output<'_>,
) -> Option<()> {
    let words: &[Word; N] = words.first_chunk()?;
    let Expected { words: expected, state } = expected;
    let expected: &mut [Word; N] = expected.first_chunk_mut()?;
    // The presence bit of a decimal is its exponent's.
    let mantissas = lanes.exponents << 1;
    let present = present as u32 & lanes.all;
    let present = present & !mantissas | (present & lanes.exponents) << 1;
    if present & run.required != run.required {
        return None;
    }
    // Behind the largest value of a type an increment goes on at the smallest.
    let going_on = run.increments & state.carried();
    if !all(going_on, |lane| run.takes(lane, u64::from_le_bytes(expected[lane % N]))) {
        return None;
    }
    let mut changed = 0;
    let mut left = present & (lanes.mapped | lanes.fixed);
    while left != 0 {
        let lane = left.trailing_zeros() as usize % N;
        changed |= u32::from(words[lane] != expected[lane]) << lane;
        left &= left - 1;
    }
    if changed & lanes.fixed != 0 {
        return None;
    }
    let silent = run.given | run.carried & state.carried();
    let stream = lanes.always | lanes.mapped & (present ^ silent | changed);
    let stream = stream & (present | !mantissas);
    if !all(stream & present & lanes.exponents, |lane| {
        run.takes(lane, u64::from_le_bytes(words[lane % N]))
    }) {
        return None;
    }
    if run.map_bits > 0 || !matches!(head, Head::Entry) {
        begin(head, lanes.map(stream & lanes.mapped | present & lanes.flags), out)?;
    }
    let mut left = stream;
    while left != 0 {
        let lane = left.trailing_zeros() as usize % N;
        left &= left - 1;
        if present >> lane & 1 == 0 {
            out.null()?;
            continue;
        }
        let (value, base) = (u64::from_le_bytes(words[lane]), u64::from_le_bytes(expected[lane]));
        match run.codes[lane] {
            LaneCode::Unsigned => out.unsigned(value)?,
            LaneCode::UnsignedNullable => out.unsigned_nullable(Some(value))?,
            LaneCode::Signed => out.signed(value)?,
            LaneCode::SignedNullable | LaneCode::ExponentNullable => {
                out.signed_nullable(Some(value))?;
            }
            LaneCode::UnsignedDelta => out.unsigned_difference(value, base, false)?,
            LaneCode::UnsignedDeltaNullable => out.unsigned_difference(value, base, true)?,
            LaneCode::SignedDelta => out.signed_difference(value, base, false)?,
            LaneCode::SignedDeltaNullable => out.signed_difference(value, base, true)?,
            LaneCode::Ascii => out.short_ascii(value, false)?,
            LaneCode::AsciiNullable => out.short_ascii(value, true)?,
            LaneCode::Constant => return None,
        }
        if lanes.following >> lane & 1 != 0 {
            expected[lane] = words[lane];
        }
    }
    let mut left = run.increments & present;
    while left != 0 {
        let lane = left.trailing_zeros() as usize % N;
        expected[lane] = u64::from_le_bytes(words[lane]).wrapping_add(1).to_le_bytes();
        left &= left - 1;
    }
    *state = state.after(present);
    Some(())
}

/// Whether something holds for all lanes of a set.
#[inline(always)]
fn all(mut set: u32, holds: impl Fn(usize) -> bool) -> bool {
    while set != 0 {
        if !holds(set.trailing_zeros() as usize) {
            return false;
        }
        set &= set - 1;
    }
    true
}
