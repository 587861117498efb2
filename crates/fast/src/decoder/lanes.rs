//! Portable decoder of runs (consecutive plain fields).

use super::engine::{DecoderEngine, Runs};
use super::sink::RecordSink;
use super::vectors;
use crate::dictionary::{INLINE_MAX, LaneState, LaneWords, Word};
use crate::error::FastError;
use crate::limits::Limits;
use crate::program::{LANES_MAX, LaneCode, LaneRun, Op, SegmentLayout, lanes_of};
use crate::wire::Map;

const STOP: u8 = 0x80;
/// Most bytes of a presence map that this module reads.
const MAP_BYTES_MAX: usize = 9;

/// Position of a run's records in memory.
pub(super) struct RecordPlace<'s> {
    pub(super) words: &'s mut [Word],
    /// First word of the record.
    pub(super) base: usize,
    /// Words from record to record.
    pub(super) step: usize,
    /// Presence word, relative to the base.
    pub(super) presence_at: u32,
}

/// Position after the decoded bytes, and the state of the lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunProgress {
    pub(super) position: usize,
    pub(super) state: LaneState,
}

/// Returns the presence word of a record with these lanes. Fields after the run count as present
/// until they are found absent.
#[inline(always)]
pub(super) fn presence_word(run: &LaneRun, present: u32) -> u64 {
    u64::MAX << run.count | u64::from(present)
}

/// Reads a presence map in its shortest form; returns its bits, the first at the top, and its end.
#[inline(always)]
pub(super) fn presence_map(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(start)?;
    let bits = u64::from(first) << 57;
    if first & STOP != 0 {
        return Some((bits, start + 1));
    }
    let second = *bytes.get(start + 1)?;
    let bits = bits | u64::from(second & !STOP) << 50;
    if second & STOP != 0 {
        return (second != STOP).then_some((bits, start + 2));
    }
    let third = *bytes.get(start + 2)?;
    let bits = bits | u64::from(third & !STOP) << 43;
    if third & STOP != 0 {
        return (third != STOP).then_some((bits, start + 3));
    }
    long_presence_map(bits, bytes, start)
}

fn long_presence_map(mut bits: u64, bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    for (index, &byte) in bytes.get(start..)?.iter().enumerate().take(MAP_BYTES_MAX).skip(3) {
        bits |= u64::from(byte & !STOP) << (57 - 7 * index);
        if byte & STOP != 0 {
            // Overlong: only the operations decide whether it is an error.
            return (byte != STOP).then_some((bits, start + index + 1));
        }
    }
    None
}

/// Decodes entries until all are done or one needs the operations; returns the number decoded.
pub(super) fn entries(
    run: &LaneRun,
    bytes: &[u8],
    place: RecordPlace<'_>,
    lanes: &LaneWords,
    progress: &mut RunProgress,
    count: u32,
) -> u32 {
    match run.words {
        8 => entries_of::<8>(run, bytes, place, lanes, progress, count),
        16 => entries_of::<16>(run, bytes, place, lanes, progress, count),
        _ => entries_of::<LANES_MAX>(run, bytes, place, lanes, progress, count),
    }
}

fn entries_of<const N: usize>(
    run: &LaneRun,
    bytes: &[u8],
    place: RecordPlace<'_>,
    lanes: &LaneWords,
    progress: &mut RunProgress,
    count: u32,
) -> u32 {
    let RecordPlace { words, mut base, step, presence_at } = place;
    let RunProgress { mut position, mut state } = *progress;
    let mut done = 0;
    while done < count {
        let map = match run.map_bits {
            0 => Some((0, position)),
            _ => presence_map(bytes, position),
        };
        let Some((bits, start)) = map else { break };
        // Bits that the run does not use: the operations report them.
        if bits & (u64::MAX >> run.map_bits) != 0 {
            break;
        }
        let at = base + run.first_slot as usize;
        let Some((old, new)) = words.split_at_mut_checked(at) else { break };
        let before = match done {
            0 => lanes.first_chunk(),
            _ => old.get(at - step..).and_then(|old| old.first_chunk()),
        };
        let (Some(before), Some(out)) = (before, new.first_chunk_mut()) else { break };
        let mut carried = state.carried();
        position = match record::<N>(run, bytes, start, bits, &mut carried, before, out) {
            Some(position) => position,
            None => break,
        };
        state = state.after(carried);
        if let Some(word) = old.get_mut(base + presence_at as usize) {
            *word = presence_word(run, carried).to_le_bytes();
        }
        base += step;
        done += 1;
    }
    *progress = RunProgress { position, state };
    done
}

/// Decodes one record, given its presence map, to the start of `out`.
#[inline]
pub(super) fn single(
    run: &LaneRun,
    bytes: &[u8],
    bits: u64,
    lanes: &LaneWords,
    out: &mut [Word],
    progress: &mut RunProgress,
) -> Option<()> {
    match run.words {
        8 => single_of::<8>(run, bytes, bits, lanes, out, progress),
        16 => single_of::<16>(run, bytes, bits, lanes, out, progress),
        _ => single_of::<LANES_MAX>(run, bytes, bits, lanes, out, progress),
    }
}

fn single_of<const N: usize>(
    run: &LaneRun,
    bytes: &[u8],
    bits: u64,
    lanes: &LaneWords,
    out: &mut [Word],
    progress: &mut RunProgress,
) -> Option<()> {
    let (before, out) = (lanes.first_chunk()?, out.first_chunk_mut()?);
    let mut carried = progress.state.carried();
    progress.position =
        record::<N>(run, bytes, progress.position, bits, &mut carried, before, out)?;
    progress.state = progress.state.after(carried);
    Some(())
}

/// Decodes the fields of a run from `position` on into `out`; returns their end, or `None` if the
/// operations must decode the record. `bits` are those of the presence map, `before` is the
/// previous record and `carried` says which of its lanes are present; on return, which of this
/// record's.
#[inline(always)]
fn record<const N: usize>(
    run: &LaneRun,
    bytes: &[u8],
    position: usize,
    bits: u64,
    carried: &mut u32,
    before: &[Word; N],
    out: &mut [Word; N],
) -> Option<usize> {
    let map = run.lookup(bits);
    let unread = !map.stream();
    let silent = unread & (run.given | run.carried & *carried) | map.present();
    let mut present = map.stream() | silent;
    for lane in lanes_of::<N>(silent | unread & run.deltas) {
        let value = (u64::from_le_bytes(before[lane]) & run.keep[lane]).wrapping_add(run.add[lane]);
        out[lane] = value.to_le_bytes();
    }
    for lane in lanes_of::<N>(run.increments & silent) {
        if !run.takes(lane, u64::from_le_bytes(out[lane])) {
            return None;
        }
    }
    let mut at = position;
    let mut left = map.stream();
    while left != 0 {
        let lane = left.trailing_zeros() as usize % N;
        left &= left - 1;
        let first = *bytes.get(at)?;
        at += 1;
        let value = match run.codes[lane] {
            LaneCode::Unsigned if first & STOP != 0 => {
                out[lane] = u64::from(first & !STOP).to_le_bytes();
                continue;
            }
            LaneCode::Unsigned => unsigned(bytes, &mut at, first)?,
            LaneCode::UnsignedNullable if first & STOP != 0 => {
                match first & !STOP {
                    0 => present &= !(1 << lane),
                    value => out[lane] = u64::from(value - 1).to_le_bytes(),
                }
                continue;
            }
            LaneCode::UnsignedNullable => unsigned(bytes, &mut at, first)?.wrapping_sub(1),
            LaneCode::Signed => signed(bytes, &mut at, first)? as u64,
            LaneCode::SignedNullable => match signed(bytes, &mut at, first)? {
                0 => {
                    present &= !(1 << lane);
                    continue;
                }
                value => without_null(value) as u64,
            },
            LaneCode::ExponentNullable => match signed(bytes, &mut at, first)? {
                0 => {
                    // The mantissa in the next lane keeps its value if it is a delta.
                    left &= !(2 << lane);
                    present &= !(3 << lane);
                    let mantissa = (lane + 1) % N;
                    out[mantissa] = before[mantissa];
                    continue;
                }
                value => without_null(value) as u64,
            },
            LaneCode::UnsignedDelta => {
                let delta = signed(bytes, &mut at, first)?;
                u64::from_le_bytes(before[lane]).checked_add_signed(delta)?
            }
            LaneCode::UnsignedDeltaNullable => match signed(bytes, &mut at, first)? {
                0 => {
                    present &= !(1 << lane);
                    out[lane] = before[lane];
                    continue;
                }
                delta => {
                    u64::from_le_bytes(before[lane]).checked_add_signed(without_null(delta))?
                }
            },
            LaneCode::SignedDelta => {
                let delta = signed(bytes, &mut at, first)?;
                i64::from_le_bytes(before[lane]).checked_add(delta)? as u64
            }
            LaneCode::SignedDeltaNullable => match signed(bytes, &mut at, first)? {
                0 => {
                    present &= !(1 << lane);
                    out[lane] = before[lane];
                    continue;
                }
                delta => i64::from_le_bytes(before[lane]).checked_add(without_null(delta))? as u64,
            },
            LaneCode::AsciiNullable if first == STOP => {
                present &= !(1 << lane);
                continue;
            }
            LaneCode::Ascii | LaneCode::AsciiNullable => {
                out[lane] = ascii(bytes, &mut at, first)?;
                continue;
            }
            LaneCode::Constant => return None,
        };
        out[lane] = value.to_le_bytes();
        if !run.takes(lane, value) {
            return None;
        }
    }
    if present & run.required != run.required {
        return None;
    }
    *carried = present;
    Some(at)
}

/// Converts a nullable number that is not NULL to its value.
#[inline(always)]
fn without_null(value: i64) -> i64 {
    value - i64::from(value > 0)
}

/// Reads an unsigned integer in its shortest form, of two to nine bytes.
#[inline(always)]
fn unsigned(bytes: &[u8], at: &mut usize, first: u8) -> Option<u64> {
    let second = *bytes.get(*at)?;
    *at += 1;
    if first == 0 {
        return None;
    }
    let value = u64::from(first) << 7 | u64::from(second & !STOP);
    if second & STOP != 0 {
        return Some(value);
    }
    rest_of_integer(bytes, at, value)
}

/// Reads an unsigned integer in its shortest form, of at most nine bytes.
#[inline(always)]
pub(super) fn unsigned_at(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    match first & STOP {
        0 => unsigned(bytes, at, first),
        _ => Some(u64::from(first & !STOP)),
    }
}

/// Reads a signed integer in its shortest form, of at most 63 bits.
#[cfg(machine_code)]
pub(super) fn signed_at(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    signed(bytes, at, first)
}

/// As `signed`, after the first byte was consumed.
#[inline(always)]
fn signed(bytes: &[u8], at: &mut usize, first: u8) -> Option<i64> {
    let value = i64::from((first << 1) as i8 >> 1);
    if first & STOP != 0 {
        return Some(value);
    }
    let second = *bytes.get(*at)?;
    *at += 1;
    if (first == 0 || first == 0x7f) && (first ^ second) & 0x40 == 0 {
        return None;
    }
    let value = value << 7 | i64::from(second & !STOP);
    if second & STOP != 0 {
        return Some(value);
    }
    rest_of_integer(bytes, at, value as u64).map(|value| value as i64)
}

/// Reads the third to ninth byte.
#[inline(always)]
fn rest_of_integer(bytes: &[u8], at: &mut usize, mut value: u64) -> Option<u64> {
    for (index, &byte) in bytes.get(*at..)?.iter().enumerate().take(7) {
        value = value << 7 | u64::from(byte & !STOP);
        if byte & STOP != 0 {
            *at += index + 1;
            return Some(value);
        }
    }
    None
}

/// Reads a string that fits a word and does not begin with a zero byte.
#[inline(always)]
fn ascii(bytes: &[u8], at: &mut usize, first: u8) -> Option<Word> {
    if first & !STOP == 0 {
        return None;
    }
    if first & STOP != 0 {
        return Some([first & !STOP, 0, 0, 0, 0, 0, 0, 1]);
    }
    let mut word = [first, 0, 0, 0, 0, 0, 0, 0];
    let rest = bytes.get(*at..)?;
    for (index, &byte) in rest.iter().enumerate().take(INLINE_MAX - 1) {
        word[index + 1] = byte & !STOP;
        if byte & STOP != 0 {
            *at += index + 1;
            word[7] = index as u8 + 2;
            return Some(word);
        }
    }
    None
}

/// Writes the lanes of a run that have an entry to the words of these entries.
#[inline]
pub(super) fn keep(run: &LaneRun, words: &mut LaneWords, lanes: &[Word]) {
    if run.is_alone {
        return match run.words {
            8 => copy::<8>(words, lanes),
            16 => copy::<16>(words, lanes),
            _ => copy::<LANES_MAX>(words, lanes),
        };
    }
    let count = run.kept.trailing_ones() as usize;
    if let (Some(words), Some(lanes), 0) =
        (words.get_mut(..count), lanes.get(..count), run.kept & (run.kept.wrapping_add(1)))
    {
        return words.copy_from_slice(lanes);
    }
    for lane in lanes_of::<LANES_MAX>(run.kept) {
        let Some(&word) = lanes.get(lane) else { return };
        words[lane] = word;
    }
}

#[inline(always)]
fn copy<const N: usize>(words: &mut LaneWords, lanes: &[Word]) {
    if let (Some(words), Some(lanes)) = (words.first_chunk_mut::<N>(), lanes.first_chunk()) {
        *words = *lanes;
    }
}

impl<'e, S: RecordSink, const JOURNAL: bool> DecoderEngine<'e, S, JOURNAL> {
    /// Decodes the run at the start of a segment. Returns the presence word, or `None` if the
    /// operations must decode it; nothing has changed then.
    #[inline]
    pub(super) fn leading_run(
        &mut self,
        index: u32,
        map: &mut impl Map,
        base: usize,
    ) -> Option<u64> {
        let bits = map.bits()?;
        let run = self.program.runs.get(index as usize)?;
        let (state, lanes) = self.dictionary.lanes::<JOURNAL>(run)?;
        let (bytes, position) = (self.reader.bytes(), self.reader.position());
        let out = self.sink.words().get_mut(base + run.first_slot as usize..)?;
        let mut progress = RunProgress { position, state };
        single(run, bytes, bits, lanes, out, &mut progress)?;
        self.dictionary.set_lanes(self.vectors.wide, run, out, state, progress.state);
        self.reader.set_position(progress.position);
        map.skip(run.map_bits);
        Some(presence_word(run, progress.state.carried()))
    }

    /// Decodes the entries of a sequence whose fields are a run.
    pub(super) fn entries(
        &mut self,
        op: &Op,
        segment: &'e SegmentLayout,
        run: u32,
        place: (usize, usize),
        count: u32,
    ) -> Result<(), FastError> {
        let (first, step) = place;
        let mut index = 0;
        while index < count {
            let base = first + index as usize * step;
            // The SIMD engine is tried once per sequence: entries it rejects are decoded again.
            let may_vectors = index == 0;
            let left = count - index;
            index += self.plain_entries(segment, run, (base, step), left, may_vectors).unwrap_or(0);
            if index < count {
                let base = first + index as usize * step;
                self.entry(segment, op.field, base, Runs::Refused, count - index - 1)?;
                index += 1;
            }
        }
        Ok(())
    }

    /// Decodes entries until one needs the operations; returns the number decoded.
    fn plain_entries(
        &mut self,
        segment: &SegmentLayout,
        index: u32,
        (base, step): (usize, usize),
        count: u32,
        may_vectors: bool,
    ) -> Option<u32> {
        if self.depth >= Limits::DEPTH_MAX {
            return None;
        }
        let run = self.program.runs.get(index as usize)?;
        let (state, lanes) = self.dictionary.lanes::<JOURNAL>(run)?;
        let mut progress = RunProgress { position: self.reader.position(), state };
        let words = self.sink.words();
        let place = RecordPlace { words, base, step, presence_at: segment.presence_at };
        let done = vectors::entries(
            self.vectors,
            run,
            self.reader.bytes(),
            place,
            lanes,
            &mut progress,
            count,
            may_vectors,
        );
        if done > 0 {
            let last = base + (done as usize - 1) * step + run.first_slot as usize;
            let lanes = self.sink.words().get(last..)?;
            self.dictionary.set_lanes(self.vectors.wide, run, lanes, state, progress.state);
            self.reader.set_position(progress.position);
        }
        Some(done)
    }
}
