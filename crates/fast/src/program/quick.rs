//! Quick templates: those that consist of runs, with at most one sequence of plain fields, at the
//! end.

use super::layout::{SegmentLayout, TemplateLayout};
use super::op::{Op, OpCode};
use super::runs::LaneRun;

/// Decoding data of a quick template.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick {
    /// The run of the template's own fields; `None` if it begins with the sequence.
    pub run: Option<u32>,
    /// Presence-map bits, without the template id's.
    pub map_bits: u32,
    pub presence_at: u32,
    pub record_words: u32,
    /// The template's own reset attribute.
    pub reset: bool,
    /// True if its runs have dictionary entries.
    pub has_entries: bool,
    pub sequence: Option<QuickSequence>,
}

/// The sequence at the end, its length mandatory and without an operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickSequence {
    /// Slot of number and position of the entries.
    pub slot: u32,
    pub segment: u32,
    pub run: u32,
    /// Words per entry.
    pub step: u32,
}

/// Finds the quick templates; one element per template.
pub(super) fn find(
    code: &[Op],
    segments: &[SegmentLayout],
    runs: &[LaneRun],
    templates: &[TemplateLayout],
) -> Vec<Option<Quick>> {
    templates.iter().map(|template| quick(code, segments, runs, template)).collect()
}

fn quick(
    code: &[Op],
    segments: &[SegmentLayout],
    runs: &[LaneRun],
    template: &TemplateLayout,
) -> Option<Quick> {
    let segment = &segments[template.segment.index()];
    let run = segment.run.map(|run| &runs[run as usize]);
    let in_run = run.map_or(0, |run| run.ops);
    let rest = &code[(segment.ops.start + in_run) as usize..segment.ops.end as usize];
    let sequence = match rest {
        [] => None,
        [length, sequence] if length.code == OpCode::LengthNone && !length.discard => {
            Some(plain_sequence(segments, runs, run, sequence)?)
        }
        _ => return None,
    };
    let map_bits = run.map_or(0, |run| run.map_bits);
    // The template id has one more bit.
    if map_bits != segment.map_bits || map_bits > 62 {
        return None;
    }
    let has_entries = |run: &LaneRun| run.kept != 0;
    Some(Quick {
        has_entries: run.is_some_and(has_entries)
            || sequence.is_some_and(|s: QuickSequence| has_entries(&runs[s.run as usize])),
        run: segment.run,
        map_bits,
        presence_at: segment.presence_at,
        record_words: segment.record_words,
        reset: template.reset,
        sequence,
    })
}

fn plain_sequence(
    segments: &[SegmentLayout],
    runs: &[LaneRun],
    outer: Option<&LaneRun>,
    op: &Op,
) -> Option<QuickSequence> {
    let segment = segments.get(op.aux as usize).filter(|_| op.code == OpCode::Sequence)?;
    let index = segment.run?;
    let run = &runs[index as usize];
    let hands_on = outer.is_some_and(|outer| share_entries(outer, run));
    let is_plain = run.whole && !hands_on && segment.entry_bytes_min > 0;
    is_plain.then_some(QuickSequence {
        slot: op.slot,
        segment: op.aux,
        run: index,
        step: segment.record_words,
    })
}

/// True if the runs share an entry: the inner one's previous values then come from the message's own fields.
fn share_entries(outer: &LaneRun, inner: &LaneRun) -> bool {
    let is_inner = |entry| inner.entries.iter().any(|lane| lane.entry == entry);
    outer.entries.iter().any(|lane| is_inner(lane.entry))
}
