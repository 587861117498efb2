//! Encodes records of runs. It decides for all lanes at once which ones are sent, so the presence
//! map is known before the first field.
//!
//! `None` means that a record is unusual; the operations then encode the message again or report
//! the error.

use crate::dictionary::{LaneState, LaneWords as Words, Word};
use crate::program::{LANES_MAX, LaneCode, LaneRun, OutgoingRun, Program, lanes_of};
use crate::rt::{CpuKernel, EncodeSegment, LanePrediction, OutputCursor};

/// The lanes of the previous record. They determine the values that a decoder expects if nothing is
/// sent, and the base of deltas.
#[derive(Clone, Copy)]
struct PreviousLanes<'d, const N: usize>(&'d [Word; N]);

impl<const N: usize> PreviousLanes<'_, N> {
    #[inline(always)]
    fn expected(self, run: &LaneRun, lane: usize) -> u64 {
        let before = u64::from_le_bytes(self.0[lane % N]);
        (before & run.keep[lane % N]).wrapping_add(run.add[lane % N])
    }

    /// Returns the lanes that differ from the expected values.
    #[inline(always)]
    fn differing<K: CpuKernel>(self, run: &LaneRun, words: &[Word; N], kernel: K) -> u32 {
        let (Some(keep), Some(add)) = (run.keep.first_chunk(), run.add.first_chunk()) else {
            return u32::MAX;
        };
        kernel.differing(words, self.0, LanePrediction { keep, add })
    }
}

/// State after some entries of a sequence: the previous values of the next one.
#[derive(Clone, Debug)]
pub(super) struct LastLanes {
    state: LaneState,
    /// The lanes are merged from several entries. The last entry omits deltas; their previous values come
    /// from before it.
    is_merged: bool,
    words: Words,
}

impl Default for LastLanes {
    fn default() -> Self {
        Self { state: LaneState::default(), is_merged: false, words: [[0; 8]; LANES_MAX] }
    }
}

impl LastLanes {
    /// Returns the lanes to store in the dictionary after these entries.
    #[inline(always)]
    pub(super) fn lanes<'m>(
        &'m self,
        run: &LaneRun,
        entries: &OutgoingEntries<'m>,
    ) -> Option<(LaneState, &'m [Word])> {
        let last = entries.count.checked_sub(1)? * entries.step + run.first_slot as usize;
        let words = match self.is_merged {
            true => &self.words,
            false => entries.words.get(last..)?,
        };
        Some((self.state, words))
    }

    /// Merges the lanes that are present in an entry; `before` are the previous lanes.
    fn merge<const N: usize>(&mut self, before: &[Word; N], words: &[Word; N], present: u32) {
        let before = if self.is_merged { None } else { Some(before) };
        self.is_merged = true;
        let Some(merged) = self.words.first_chunk_mut::<N>() else { return };
        for lane in 0..N {
            // Arithmetic on whole words, to get full-width SIMD stores: the next entry loads them.
            let mask = 0u64.wrapping_sub(u64::from(present >> lane & 1));
            let old = u64::from_le_bytes(before.map_or(merged[lane], |before| before[lane]));
            let new = u64::from_le_bytes(words[lane]);
            merged[lane] = (new & mask | old & !mask).to_le_bytes();
        }
    }
}

/// A run with its encoding tables.
#[derive(Clone, Copy)]
pub(super) struct OutgoingLanes<'p> {
    pub(super) run: &'p LaneRun,
    outgoing: &'p OutgoingRun,
}

/// The entries of a sequence.
#[derive(Clone, Copy)]
pub(super) struct OutgoingEntries<'m> {
    /// Words from the first entry on.
    pub(super) words: &'m [Word],
    /// Words from entry to entry.
    pub(super) step: usize,
    /// Index of the presence word in an entry.
    pub(super) presence_at: usize,
    pub(super) count: usize,
}

/// Template id and presence bits before the fields of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordHead {
    /// An entry: only its own presence bits.
    Entry,
    /// A message with the same template as the previous one: no id is sent.
    Known,
    /// A message that sends its template id.
    Named(u32),
}

/// Writes the presence map of a record, its own bits at the top, and the template id.
#[inline(always)]
pub(super) fn begin<K: CpuKernel>(
    head: RecordHead,
    map: u64,
    out: &mut OutputCursor<'_, K>,
) -> Option<()> {
    match head {
        RecordHead::Entry => out.map::<MAP_BITS>(map),
        RecordHead::Known => out.map::<MAP_BITS>(map >> 1),
        RecordHead::Named(id) => {
            out.map::<MAP_BITS>(map >> 1 | 1 << 63)?;
            out.unsigned(u64::from(id))
        }
    }
}

/// Most bits of a map that is written with one store.
const MAP_BITS: u32 = 56;

/// A record to encode against the dictionary: its lanes, from the first on, and its presence word.
pub(super) struct OutgoingRecord<'m> {
    pub(super) lanes: OutgoingLanes<'m>,
    pub(super) words: &'m [Word],
    pub(super) present: u64,
    pub(super) head: RecordHead,
    pub(super) before: (LaneState, &'m Words),
}

impl<'m> OutgoingRecord<'m> {
    /// Encodes the record. Returns the state of the lanes after it.
    #[inline(always)]
    pub(super) fn encode<'o, K: CpuKernel>(
        self,
        out: OutputCursor<'o, K>,
    ) -> Option<(OutputCursor<'o, K>, LaneState)> {
        let mut state = LaneState::default();
        let out = match self.lanes.run.words {
            8 => SingleOf::<8>(self).encode(out, &[], &mut state, &mut ()),
            16 => SingleOf::<16>(self).encode(out, &[], &mut state, &mut ()),
            _ => out.encode(&SingleOf::<LANES_MAX>(self), &[], &mut state, &mut ()),
        };
        Some((out?, state))
    }
}

struct SingleOf<'m, const N: usize>(OutgoingRecord<'m>);

impl<const N: usize> EncodeSegment for SingleOf<'_, N> {
    type State = LaneState;
    type Context = ();

    #[inline(always)]
    fn encode<'o, K: CpuKernel>(
        &self,
        mut out: OutputCursor<'o, K>,
        _: &[u8],
        after: &mut LaneState,
        _: &mut (),
    ) -> Option<OutputCursor<'o, K>> {
        let OutgoingRecord { lanes, words, present, head, before: (state, before) } = self.0;
        let (words, before) = (words.first_chunk()?, PreviousLanes::<N>(before.first_chunk()?));
        let present = lanes.present(present)?;
        lanes.record_of(words, present, head, before, state, &mut out)?;
        *after = state.after(present);
        Some(out)
    }
}

struct EntriesOf<'m, const N: usize> {
    lanes: OutgoingLanes<'m>,
    entries: &'m OutgoingEntries<'m>,
    /// Previous lanes of the first entry.
    first: &'m Words,
}

impl<const N: usize> EncodeSegment for EntriesOf<'_, N> {
    type State = LastLanes;
    type Context = ();

    #[inline(always)]
    fn encode<'o, K: CpuKernel>(
        &self,
        mut out: OutputCursor<'o, K>,
        _: &[u8],
        last: &mut LastLanes,
        _: &mut (),
    ) -> Option<OutputCursor<'o, K>> {
        let &Self { lanes, entries: &OutgoingEntries { words, step, presence_at, count }, first } =
            self;
        let mut previous = first.first_chunk::<N>()?;
        for index in 0..count {
            let record = words.get(index * step..)?;
            let present = lanes.present(u64::from_le_bytes(*record.get(presence_at)?))?;
            let words = record.get(lanes.run.first_slot as usize..)?.first_chunk::<N>()?;
            let before = match last.is_merged {
                true => last.words.first_chunk()?,
                false => previous,
            };
            let before = PreviousLanes(before);
            lanes.record_of(words, present, RecordHead::Entry, before, last.state, &mut out)?;
            last.state = last.state.after(present);
            if lanes.run.deltas & !present == 0 {
                last.is_merged = false;
            } else {
                last.merge(previous, words, present);
            }
            previous = words;
        }
        Some(out)
    }
}

impl<'p> OutgoingLanes<'p> {
    pub(super) fn of(program: &'p Program, index: u32) -> Option<Self> {
        let outgoing = program.outgoing.runs.get(index as usize)?.as_ref()?;
        Some(Self { run: program.runs.get(index as usize)?, outgoing })
    }

    /// Encodes the entries of a sequence; `before` are the dictionary's lanes.
    #[inline(always)]
    pub(super) fn entries<'o, K: CpuKernel>(
        self,
        entries: &OutgoingEntries<'_>,
        (state, first): (LaneState, &Words),
        last: &mut LastLanes,
        out: OutputCursor<'o, K>,
    ) -> Option<OutputCursor<'o, K>> {
        (last.state, last.is_merged) = (state, false);
        let lanes = self;
        match self.run.words {
            8 => out.encode(&EntriesOf::<8> { lanes, entries, first }, &[], last, &mut ()),
            16 => out.encode(&EntriesOf::<16> { lanes, entries, first }, &[], last, &mut ()),
            _ => out.encode(&EntriesOf::<LANES_MAX> { lanes, entries, first }, &[], last, &mut ()),
        }
    }

    /// Returns the lanes that a presence word marks as present, if all mandatory ones are.
    #[inline(always)]
    fn present(self, word: u64) -> Option<u32> {
        let Self { run, outgoing } = self;
        // A decimal's presence bit is that of its exponent.
        let mantissas = outgoing.exponents << 1;
        let present = word as u32 & outgoing.all & !mantissas;
        let present = present | (present & outgoing.exponents) << 1;
        (present & run.required == run.required).then_some(present)
    }

    #[inline(always)]
    fn record_of<const N: usize, K: CpuKernel>(
        self,
        words: &[Word; N],
        present: u32,
        head: RecordHead,
        before: PreviousLanes<'_, N>,
        state: LaneState,
        out: &mut OutputCursor<'_, K>,
    ) -> Option<()> {
        let Self { run, outgoing } = self;
        let stream = self.stream(words, present, before, state, out.kernel())?;
        if run.map_bits > 0 || !matches!(head, RecordHead::Entry) {
            let map = outgoing.map(stream & outgoing.mapped | present & outgoing.flags);
            begin(head, map, out)?;
        }
        let mut left = stream;
        while left != 0 {
            let lane = left.trailing_zeros() as usize % N;
            left &= left - 1;
            if present >> lane & 1 == 0 {
                out.null()?;
                continue;
            }
            let base = || before.expected(run, lane);
            field(run.codes[lane], u64::from_le_bytes(words[lane]), base, out)?;
        }
        Some(())
    }

    /// Returns the lanes to send.
    #[inline(always)]
    fn stream<const N: usize>(
        self,
        words: &[Word; N],
        present: u32,
        before: PreviousLanes<'_, N>,
        state: LaneState,
        kernel: impl CpuKernel,
    ) -> Option<u32> {
        let Self { run, outgoing } = self;
        // An increment of a type's largest value wraps to its smallest.
        for lane in lanes_of::<N>(run.increments & state.carried()) {
            if !run.takes(lane, before.expected(run, lane)) {
                return None;
            }
        }
        let asked = present & (outgoing.mapped | outgoing.fixed);
        let changed = asked & before.differing(run, words, kernel);
        if changed & outgoing.fixed != 0 {
            return None;
        }
        let silent = run.given | run.carried & state.carried();
        let stream = outgoing.always | outgoing.mapped & (present ^ silent | changed);
        let stream = stream & (present | !(outgoing.exponents << 1));
        for lane in lanes_of::<N>(stream & present & outgoing.exponents) {
            if !run.takes(lane, u64::from_le_bytes(words[lane])) {
                return None;
            }
        }
        Some(stream)
    }
}

/// Writes the value of a lane that is present.
#[inline(always)]
fn field<K: CpuKernel>(
    code: LaneCode,
    value: u64,
    base: impl Fn() -> u64,
    out: &mut OutputCursor<'_, K>,
) -> Option<()> {
    match code {
        LaneCode::Unsigned => out.unsigned(value),
        LaneCode::UnsignedNullable => out.unsigned_nullable(value),
        LaneCode::Signed => out.signed(value),
        LaneCode::SignedNullable | LaneCode::ExponentNullable => out.signed_nullable(value),
        LaneCode::UnsignedDelta => out.unsigned_difference(value, base(), false),
        LaneCode::UnsignedDeltaNullable => out.unsigned_difference(value, base(), true),
        LaneCode::SignedDelta => out.signed_difference(value, base(), false),
        LaneCode::SignedDeltaNullable => out.signed_difference(value, base(), true),
        LaneCode::Ascii => out.short_ascii(value, false),
        LaneCode::AsciiNullable => out.short_ascii(value, true),
        LaneCode::Constant => None,
    }
}
