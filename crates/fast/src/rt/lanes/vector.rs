//! The sequences of a module, with the SIMD plans for their entries.

use super::shapes::EntryShapes;
use super::{LaneSegment, LaneValues, SequenceFacts};
use crate::EngineUnderTest;
use crate::decoder::vectors::Habit;
use crate::decoder::wide::{FilledLanes, Wide};
use crate::program::{LanePlan, Program, Storage};
use crate::rt::context::CodingContext;
use crate::rt::cursor::{InputCursor, seldom};
use crate::rt::kernel::CpuKernel;
use std::sync::Arc;

/// With fewer entries, decoding field by field is faster.
const ENTRIES_MIN: usize = 2;
/// Every 251st sequence is sampled. Not a power of two, so that periodic sequences are all sampled.
const PERIOD: u32 = 251;

/// Data for SIMD decoding of a module's sequences.
#[derive(Clone, Debug, Default)]
pub(in crate::rt) struct Sequences {
    /// Sequences until the next sample.
    left: u32,
    /// Bit per sequence number: whether SIMD decodes the entries.
    chosen: u64,
    /// By sequence number; `None` if the program's lanes differ from the module's.
    plans: Vec<Option<LanedSequence>>,
    /// True if SIMD is used regardless of the samples.
    are_forced: bool,
    /// Lanes of the last entry.
    last: LaneValues,
}

#[derive(Clone, Debug)]
struct LanedSequence {
    plan: Arc<LanePlan>,
    shapes: EntryShapes,
    habit: Habit,
}

impl Sequences {
    /// Returns the sequences of a module for a program. `template` maps the module's template
    /// numbers to indexes in the set.
    pub(in crate::rt) fn of(
        facts: &[SequenceFacts],
        program: &Program,
        engine: EngineUnderTest,
        template: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let plan = |facts: &SequenceFacts| {
            let template = program.templates().get(template(facts.template)?)?;
            let field = program.fields_of(template.segment).get(facts.field)?;
            let Storage::Sequence { segment, .. } = field.storage else { return None };
            let run = program.runs.get(program.segment(segment).run? as usize)?;
            // A module from another generator version may number lanes differently.
            let is_same = run.whole && run.kinds().eq(facts.lanes.iter().copied());
            let plan = run.plan.clone().filter(|plan| is_same && plan.fresh.is_some())?;
            Some(LanedSequence { plan, shapes: EntryShapes::default(), habit: Habit::default() })
        };
        let are_forced = engine == EngineUnderTest::Vectors;
        let chosen = if are_forced { u64::MAX } else { 0 };
        let plans = facts.iter().map(plan).collect();
        Self { left: 0, chosen, plans, are_forced, last: LaneValues::default() }
    }

    /// Samples the entries at the front of the rest of a packet.
    #[cold]
    #[inline(never)]
    fn look(&mut self, number: usize, bytes: &[u8]) {
        self.left = PERIOD;
        let Some(Some(sequence)) = self.plans.get_mut(number) else { return };
        let are_unforeseen = sequence.shapes.look(bytes) || self.are_forced;
        let bit = 1 << number;
        self.chosen = if are_unforeseen { self.chosen | bit } else { self.chosen & !bit };
    }
}

/// As [`InputCursor::decode_entries`].
#[inline(always)]
pub(super) fn decode<'b, S: LaneSegment, K: CpuKernel>(
    at: &InputCursor<'b, K>,
    entries: &mut [S::Out],
    state: &mut S::State,
    x: &mut CodingContext,
) -> Option<InputCursor<'b, K>> {
    if entries.len() < ENTRIES_MIN {
        return None;
    }
    if x.sequences.left == 0 {
        let room = x.room(at)?;
        x.sequences.look(S::SEQUENCE, at.ahead.rest().get(..room)?);
    }
    x.sequences.left -= 1;
    if x.sequences.chosen >> S::SEQUENCE & 1 == 0 {
        return None;
    }
    seldom();
    let len = read::<S>(at.ahead.rest(), entries, state, x.wide?, &mut x.sequences);
    let mut end = *at;
    end.ahead.skip(len?)?;
    Some(end)
}

/// Decodes entries from the front of `bytes`, which may extend past the packet; returns the number
/// of bytes used.
#[inline(never)]
fn read<S: LaneSegment>(
    bytes: &[u8],
    entries: &mut [S::Out],
    state: &mut S::State,
    wide: Wide,
    sequences: &mut Sequences,
) -> Option<usize> {
    let Sequences { plans, last, .. } = sequences;
    let LanedSequence { plan, habit, .. } = plans.get_mut(S::SEQUENCE)?.as_mut()?;
    if !habit.is_good() {
        return None;
    }
    let filled = wide.fill::<S>(plan, bytes, entries, last);
    let is_whole = |end: &FilledLanes| end.present & S::CARRIED == S::CARRIED;
    let filled = filled.filter(is_whole);
    habit.learn(filled.is_none());
    let FilledLanes { len, assigned, .. } = filled?;
    S::keep(last, assigned, state);
    Some(len)
}
