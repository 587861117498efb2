//! Encoder tables of runs, in addition to those that decoders use.

use super::layout::{SegmentLayout, TemplateLayout};
use super::op::Op;
use super::quick::Quick;
use super::runs::LaneRun;

/// Most presence-map bits, the template id's included, that an encoder keeps in one word.
const MAP_BITS_MAX: u32 = 56;
/// Lanes per table.
const TABLE_LANES: usize = 8;

/// Quick templates that are also encoded as a whole; one element per template.
#[derive(Debug)]
pub(crate) struct OutgoingRuns {
    pub templates: Vec<Option<OutgoingTemplate>>,
    /// By run.
    pub runs: Vec<Option<OutgoingRun>>,
}

/// Encoding data of such a template, in addition to its [`Quick`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingTemplate {
    pub id: u32,
    /// Presence bit of the sequence at the end, in the presence word.
    pub sequence: u64,
}

/// Encoding data of a run. Lane sets are bit masks.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutgoingRun {
    /// All lanes.
    pub all: u32,
    /// Lanes without a presence-map bit: sent whenever their field is.
    pub always: u32,
    /// Lanes whose presence-map bit says whether they are sent.
    pub mapped: u32,
    /// Optional constants: their presence-map bit is their presence.
    pub flags: u32,
    /// Mandatory constants: never sent; other values cannot be encoded.
    pub fixed: u32,
    /// The exponents of decimals; the next lane is the mantissa.
    pub exponents: u32,
    /// Presence-map bits of each set of eight lanes; the map's first bit is at the top.
    pub tables: Vec<[u64; 1 << TABLE_LANES]>,
}

pub(super) fn find(
    code: &[Op],
    segments: &[SegmentLayout],
    runs: &[LaneRun],
    quick: &[Option<Quick>],
    templates: &[TemplateLayout],
) -> OutgoingRuns {
    let runs: Vec<_> = runs.iter().map(OutgoingRun::of).collect();
    let is_known = |run: u32| runs[run as usize].is_some();
    let template = |(quick, template): (&Option<Quick>, &TemplateLayout)| {
        let quick = quick.as_ref()?;
        let runs_known = quick.run.is_none_or(is_known)
            && quick.sequence.as_ref().is_none_or(|s| is_known(s.run));
        let sequence = quick.sequence.as_ref().and_then(|_| {
            let ops = &segments[template.segment.index()].ops;
            code[ops.start as usize..ops.end as usize].last().map(|op| 1 << op.bit)
        });
        let id = template.id.filter(|_| runs_known && quick.map_bits < MAP_BITS_MAX)?.0;
        Some(OutgoingTemplate { id, sequence: sequence.unwrap_or(0) })
    };
    OutgoingRuns { templates: quick.iter().zip(templates).map(template).collect(), runs }
}

impl OutgoingRun {
    /// Returns the encoding data; `None` for a run that only the operations encode.
    fn of(run: &LaneRun) -> Option<Self> {
        if run.map_bits >= MAP_BITS_MAX {
            return None;
        }
        let mut lanes = Self {
            tables: vec![[0; 1 << TABLE_LANES]; (run.count as usize).div_ceil(TABLE_LANES)],
            all: u32::MAX >> (u32::BITS - run.count),
            ..Self::default()
        };
        for lane in 0..run.count as usize {
            let (rule, mask) = (run.rules[lane], 1 << lane);
            match (run.map_bit(lane), rule.is_constant()) {
                (Some(_), true) => lanes.flags |= mask,
                (Some(_), false) => lanes.mapped |= mask,
                (None, true) => lanes.fixed |= mask,
                (None, false) => lanes.always |= mask,
            }
            if run.has_exponent(lane) {
                lanes.exponents |= mask;
            }
            if let Some(bit) = run.map_bit(lane) {
                lanes.add_bit(lane, bit);
            }
        }
        Some(lanes)
    }

    fn add_bit(&mut self, lane: usize, bit: u32) {
        let (table, place) = (lane / TABLE_LANES, lane % TABLE_LANES);
        for (set, bits) in self.tables[table].iter_mut().enumerate() {
            *bits |= (set as u64 >> place & 1) << (63 - bit);
        }
    }

    /// Returns the presence map with the bits of these lanes set, its first bit at the top.
    #[inline(always)]
    pub(crate) fn map(&self, mut lanes: u32) -> u64 {
        let mut map = 0;
        for table in &self.tables {
            map |= table[lanes as usize % (1 << TABLE_LANES)];
            lanes >>= TABLE_LANES;
        }
        map
    }
}
