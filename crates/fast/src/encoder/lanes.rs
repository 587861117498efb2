//! Encodes records of runs: what goes into the stream is settled for all lanes at once, so that the
//! presence map is known before the first field.
//!
//! `None` stands for whatever is not certain to be right this way; the operations then encode the
//! message again, or know the error.

use crate::dictionary::{LaneState, Lanes as Words, Word};
use crate::program::{LANES_MAX, LaneCode, OutgoingRun, Program, Run};
use crate::rt::Output;

/// What a decoder will expect of the next record, lane by lane: the value where nothing is in the
/// stream, and the base of deltas.
trait Expect {
    fn expected(&self, run: &Run, lane: usize) -> u64;

    /// The record is encoded: the next goes on from these lanes of it.
    fn go_on(&mut self, lanes: u32, increments: u32, words: &[Word]);
}

/// The lanes of the dictionary, for a record that is the only one.
struct Kept<'d, const N: usize>(&'d [Word; N]);

impl<const N: usize> Expect for Kept<'_, N> {
    #[inline(always)]
    fn expected(&self, run: &Run, lane: usize) -> u64 {
        let before = u64::from_le_bytes(self.0[lane % N]);
        (before & run.keep[lane % N]).wrapping_add(run.add[lane % N])
    }

    #[inline(always)]
    fn go_on(&mut self, _lanes: u32, _increments: u32, _words: &[Word]) {}
}

/// Lanes for entry after entry: copies, increments already made.
struct Going<'d, const N: usize>(&'d mut [Word; N]);

impl<const N: usize> Expect for Going<'_, N> {
    #[inline(always)]
    fn expected(&self, _run: &Run, lane: usize) -> u64 {
        u64::from_le_bytes(self.0[lane % N])
    }

    #[inline(always)]
    fn go_on(&mut self, lanes: u32, increments: u32, words: &[Word]) {
        let Some(words) = words.first_chunk::<N>() else { return };
        for lane in lanes_of(lanes) {
            self.0[lane % N] = words[lane % N];
        }
        for lane in lanes_of(increments) {
            let next = u64::from_le_bytes(words[lane % N]).wrapping_add(1);
            self.0[lane % N] = next.to_le_bytes();
        }
    }
}

#[inline(always)]
fn first_words<const N: usize>(run: &Run, before: &Words, words: &mut Words) {
    for lane in 0..N {
        let before = u64::from_le_bytes(before[lane]);
        words[lane] = (before & run.keep[lane]).wrapping_add(run.add[lane]).to_le_bytes();
    }
}

/// What is expected of a sequence's entries.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    words: Words,
    state: LaneState,
}

impl Default for Expected {
    fn default() -> Self {
        Self { words: [[0; 8]; LANES_MAX], state: LaneState::default() }
    }
}

impl Expected {
    /// Before the first entry, from the lanes of the dictionary.
    #[inline]
    pub(super) fn begin(&mut self, run: &Run, (state, before): (LaneState, &Words)) {
        self.state = state;
        match run.words {
            8 => first_words::<8>(run, before, &mut self.words),
            16 => first_words::<16>(run, before, &mut self.words),
            _ => first_words::<LANES_MAX>(run, before, &mut self.words),
        }
    }

    /// The lanes for the dictionary, after the last entry.
    #[inline]
    pub(super) fn end(&mut self, run: &Run) -> (LaneState, &Words) {
        for lane in lanes_of(run.increments) {
            let word = &mut self.words[lane % LANES_MAX];
            *word = u64::from_le_bytes(*word).wrapping_sub(1).to_le_bytes();
        }
        (self.state, &self.words)
    }
}

/// The lanes of a set, in order.
#[inline(always)]
fn lanes_of(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = set.trailing_zeros() as usize;
        let some = set != 0;
        set &= set.wrapping_sub(1);
        some.then_some(lane)
    })
}

/// A run as encoders see it.
#[derive(Clone, Copy)]
pub(super) struct Lanes<'p> {
    pub(super) run: &'p Run,
    outgoing: &'p OutgoingRun,
}

/// Up to here lanes are compared side by side, whether or not they are asked for.
const DENSE_LANES_MAX: usize = 16;

/// The entries of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Entries<'m> {
    /// From the first entry on.
    pub(super) words: &'m [Word],
    /// From entry to entry.
    pub(super) step: usize,
    /// Presence word in an entry.
    pub(super) presence_at: usize,
    pub(super) count: usize,
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

impl<'p> Lanes<'p> {
    pub(super) fn of(program: &'p Program, index: u32) -> Option<Self> {
        let outgoing = program.outgoing.runs.get(index as usize)?.as_ref()?;
        Some(Self { run: program.runs.get(index as usize)?, outgoing })
    }

    /// Encodes the record that `words` begin with; `present` is its presence word and `before` what
    /// the dictionary has. Returns where it ends, and the state of the lanes after it.
    #[inline]
    pub(super) fn record(
        self,
        words: &[Word],
        present: u64,
        head: Head,
        before: (LaneState, &Words),
        out: Output<'_>,
    ) -> Option<(usize, LaneState)> {
        match self.run.words {
            8 => self.single_of::<8>(words, present, head, before, out),
            16 => self.single_of::<16>(words, present, head, before, out),
            _ => self.single_of::<LANES_MAX>(words, present, head, before, out),
        }
    }

    fn single_of<const N: usize>(
        self,
        words: &[Word],
        present: u64,
        head: Head,
        (state, before): (LaneState, &Words),
        mut out: Output<'_>,
    ) -> Option<(usize, LaneState)> {
        let mut kept = Kept(before.first_chunk::<N>()?);
        let present = self.present(present)?;
        self.record_of::<N>(words, present, head, &mut kept, state, &mut out)?;
        Some((out.position(), state.after(present)))
    }

    /// Encodes the entries of a sequence. Returns where they end.
    #[inline]
    pub(super) fn entries(
        self,
        entries: Entries<'_>,
        expected: &mut Expected,
        out: Output<'_>,
    ) -> Option<usize> {
        match self.run.words {
            8 => self.entries_of::<8>(entries, expected, out),
            16 => self.entries_of::<16>(entries, expected, out),
            _ => self.entries_of::<LANES_MAX>(entries, expected, out),
        }
    }

    fn entries_of<const N: usize>(
        self,
        entries: Entries<'_>,
        expected: &mut Expected,
        mut out: Output<'_>,
    ) -> Option<usize> {
        let Entries { words, step, presence_at, count } = entries;
        let mut going = Going(expected.words.first_chunk_mut::<N>()?);
        let mut state = expected.state;
        for index in 0..count {
            let record = words.get(index * step..)?;
            let present = self.present(u64::from_le_bytes(*record.get(presence_at)?))?;
            let lanes = record.get(self.run.first_slot as usize..)?;
            self.record_of::<N>(lanes, present, Head::Entry, &mut going, state, &mut out)?;
            state = state.after(present);
        }
        expected.state = state;
        Some(out.position())
    }

    /// The lanes that are present by a presence word, if all are that have to be.
    #[inline(always)]
    fn present(self, word: u64) -> Option<u32> {
        let Self { run, outgoing } = self;
        // The presence bit of a decimal is its exponent's.
        let mantissas = outgoing.exponents << 1;
        let present = word as u32 & outgoing.all & !mantissas;
        let present = present | (present & outgoing.exponents) << 1;
        (present & run.required == run.required).then_some(present)
    }

    #[inline(always)]
    fn record_of<const N: usize>(
        self,
        words: &[Word],
        present: u32,
        head: Head,
        before: &mut impl Expect,
        state: LaneState,
        out: &mut Output<'_>,
    ) -> Option<()> {
        let Self { run, outgoing } = self;
        let words: &[Word; N] = words.first_chunk()?;
        let stream = self.stream(words, present, before, state)?;
        if run.map_bits > 0 || !matches!(head, Head::Entry) {
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
            let base = before.expected(run, lane);
            field(run.codes[lane], u64::from_le_bytes(words[lane]), base, out)?;
        }
        let following = stream & present & outgoing.following;
        before.go_on(following & !run.increments, run.increments & present, words);
        Some(())
    }

    /// The lanes in the stream.
    #[inline(always)]
    fn stream<const N: usize>(
        self,
        words: &[Word; N],
        present: u32,
        before: &impl Expect,
        state: LaneState,
    ) -> Option<u32> {
        let Self { run, outgoing } = self;
        // Behind the largest value of a type an increment goes on at the smallest.
        for lane in lanes_of(run.increments & state.carried()) {
            if !run.takes(lane % N, before.expected(run, lane)) {
                return None;
            }
        }
        let asked = present & (outgoing.mapped | outgoing.fixed);
        let changed = match N {
            ..=DENSE_LANES_MAX => asked & different_of_all(run, words, before),
            _ => different(asked, run, words, before),
        };
        if changed & outgoing.fixed != 0 {
            return None;
        }
        let silent = run.given | run.carried & state.carried();
        let stream = outgoing.always | outgoing.mapped & (present ^ silent | changed);
        let stream = stream & (present | !(outgoing.exponents << 1));
        for lane in lanes_of(stream & present & outgoing.exponents) {
            if !run.takes(lane % N, u64::from_le_bytes(words[lane % N])) {
                return None;
            }
        }
        Some(stream)
    }
}

/// The lanes of a set that differ from what is expected.
#[inline(always)]
fn different<const N: usize>(set: u32, run: &Run, words: &[Word; N], before: &impl Expect) -> u32 {
    let mut different = 0;
    for lane in lanes_of(set) {
        let differs = u64::from_le_bytes(words[lane % N]) != before.expected(run, lane);
        different |= u32::from(differs) << lane;
    }
    different
}

/// The same of all lanes, side by side.
#[inline(always)]
fn different_of_all<const N: usize>(run: &Run, words: &[Word; N], before: &impl Expect) -> u32 {
    let mut flags = [0u8; N];
    for (lane, flag) in flags.iter_mut().enumerate() {
        *flag = u8::from(u64::from_le_bytes(words[lane]) != before.expected(run, lane));
    }
    let mut different = 0;
    for (index, flags) in flags.as_chunks().0.iter().enumerate() {
        // Gathers the lowest bits of eight bytes in the highest byte.
        let bits = u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        different |= (bits as u32) << (8 * index);
    }
    different
}

/// Writes the value of a lane that is present.
#[inline(always)]
fn field(code: LaneCode, value: u64, base: u64, out: &mut Output<'_>) -> Option<()> {
    match code {
        LaneCode::Unsigned => out.unsigned(value),
        LaneCode::UnsignedNullable => out.unsigned_nullable(Some(value)),
        LaneCode::Signed => out.signed(value),
        LaneCode::SignedNullable | LaneCode::ExponentNullable => out.signed_nullable(Some(value)),
        LaneCode::UnsignedDelta => out.unsigned_difference(value, base, false),
        LaneCode::UnsignedDeltaNullable => out.unsigned_difference(value, base, true),
        LaneCode::SignedDelta => out.signed_difference(value, base, false),
        LaneCode::SignedDeltaNullable => out.signed_difference(value, base, true),
        LaneCode::Ascii => out.short_ascii(value, false),
        LaneCode::AsciiNullable => out.short_ascii(value, true),
        LaneCode::Constant => None,
    }
}
