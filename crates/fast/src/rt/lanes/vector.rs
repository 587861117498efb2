//! The sequences of a module, with the plans by which the CPU's vectors read their entries.

use super::shapes::Shapes;
use super::{LaneSegment, LaneValues, SequenceFacts};
use crate::EngineUnderTest;
use crate::decoder::vectors::{Filled, Habit, Wide};
use crate::program::{Plan, Program, Storage};
use crate::rt::context::Context;
use crate::rt::cursor::{Cursor, seldom};
use crate::rt::kernel::Kernel;
use std::sync::Arc;

/// Fewer entries are read field by field.
const ENTRIES_MIN: usize = 2;
/// Sequences from one that is looked at to the next: no power of two, or one of several in turn might
/// never be.
const PERIOD: u32 = 251;

/// What it takes to read the entries of a module's sequences.
#[derive(Clone, Debug, Default)]
pub(in crate::rt) struct Sequences {
    /// Sequences to the next that is looked at.
    left: u32,
    /// By number in the module, as bits: whether vectors read the entries.
    chosen: u64,
    /// By number in the module; none where the program's lanes are not the module's.
    plans: Vec<Option<LanedSequence>>,
    /// Whether entries are read by vectors whatever they are like.
    are_forced: bool,
    /// Lanes of the entry that was read last.
    last: LaneValues,
}

#[derive(Clone, Debug)]
struct LanedSequence {
    plan: Arc<Plan>,
    shapes: Shapes,
    habit: Habit,
}

impl Sequences {
    /// The sequences of a module that runs a program. `template` gives the index in the set of a template
    /// of the module.
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
            // A module that another version of the generator made may number lanes otherwise.
            let is_same = run.whole && run.kinds().eq(facts.lanes.iter().copied());
            let plan = run.plan.clone().filter(|plan| is_same && plan.fresh.is_some())?;
            Some(LanedSequence { plan, shapes: Shapes::default(), habit: Habit::default() })
        };
        let are_forced = engine == EngineUnderTest::Vectors;
        let chosen = if are_forced { u64::MAX } else { 0 };
        let plans = facts.iter().map(plan).collect();
        Self { left: 0, chosen, plans, are_forced, last: LaneValues::default() }
    }

    /// Looks at the entries at the front of what is left of a packet.
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

/// As [`Cursor::decode_entries`].
#[inline(always)]
pub(super) fn decode<'b, S: LaneSegment, K: Kernel>(
    at: &Cursor<'b, K>,
    entries: &mut [S::Out],
    state: &mut S::State,
    x: &mut Context,
) -> Option<Cursor<'b, K>> {
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

/// Reads entries from the front of `bytes`, which may go on behind the packet; returns how many they take.
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
    let is_whole = |end: &Filled| end.present & S::CARRIED == S::CARRIED;
    let filled = filled.filter(is_whole);
    habit.learn(filled.is_none());
    let Filled { len, assigned, .. } = filled?;
    S::keep(last, assigned, state);
    Some(len)
}
