//! Runs: the plain fields at the start of a segment, in a form that is decoded as a unit.
//!
//! Most fields of most templates are integers, short strings and decimals whose operators need at
//! most a previous value. A run of them is decoded in two steps. First, tables indexed by the
//! presence map say which fields are in the stream; all others are computed from the previous
//! record, by one expression without branches. Then the fields in the stream are read, one after
//! the other.
//!
//! A lane is one word of the record: a field has one lane, a decimal two (exponent, then mantissa).
//! Lanes are in wire order; lane `i` has slot `first_slot + i` and presence bit `i`.
//!
//! For anything unusual (values outside the type, overlong encodings, long strings, the end of the
//! bytes) the run is abandoned; the operations decode the same fields again and report the errors.

use super::compile::{Budget, CompileError};
use super::layout::{FieldLayout, SegmentLayout, Storage};
use super::op::{Initial, Op, OpCode, WireType};
use crate::template::{OperatorRule, SilentValue, StreamContent, Width};
use std::collections::HashSet;
use std::sync::Arc;

/// Most lanes of a run.
pub(crate) const LANES_MAX: usize = 32;
/// With fewer lanes, reading one by one is faster than SIMD.
const VECTOR_LANES_MIN: u32 = 5;
/// Most lanes for SIMD: one less than [`LANES_MAX`], because the last bit of a lane set marks an
/// unusual presence map.
const VECTOR_LANES_MAX: u32 = LANES_MAX as u32 - 1;
/// Presence-map bytes that the SIMD engine looks up, and their bits.
pub(crate) const MAP_BYTES: usize = 3;
pub(crate) const MAP_BYTE_BITS: usize = 7;
/// Presence-map bits per table.
const TABLE_BITS: usize = 8;

/// Bias and limit of exponents, which range from -63 to 63.
const EXPONENT: (u64, u64) = (63, 126);

/// True if a decimal can have this exponent.
#[inline(always)]
pub(crate) fn is_valid_exponent(value: i64) -> bool {
    (value as u64).wrapping_add(EXPONENT.0) <= EXPONENT.1
}

/// Encoding of a lane in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LaneCode {
    Unsigned,
    UnsignedNullable,
    Signed,
    SignedNullable,
    /// If it is NULL, the mantissa in the next lane is not in the stream.
    ExponentNullable,
    UnsignedDelta,
    UnsignedDeltaNullable,
    SignedDelta,
    SignedDeltaNullable,
    Ascii,
    AsciiNullable,
    /// Never in the stream.
    #[default]
    Constant,
}

/// Kind of a lane's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// An integer without sign.
    Unsigned,
    /// An integer with a sign, or a part of a decimal.
    Signed,
    /// An ascii string.
    Text,
    /// A constant from the template.
    Constant,
}

impl LaneCode {
    pub(crate) fn kind(self) -> LaneKind {
        use LaneCode::*;
        match self {
            Unsigned | UnsignedNullable | UnsignedDelta | UnsignedDeltaNullable => {
                LaneKind::Unsigned
            }
            Signed | SignedNullable | ExponentNullable | SignedDelta | SignedDeltaNullable => {
                LaneKind::Signed
            }
            Ascii | AsciiNullable => LaneKind::Text,
            Constant => LaneKind::Constant,
        }
    }

    /// True if the lane is a delta in the stream, which has a sign.
    #[cfg(vectors)]
    pub(super) fn is_delta(self) -> bool {
        use LaneCode::*;
        matches!(self, UnsignedDelta | UnsignedDeltaNullable | SignedDelta | SignedDeltaNullable)
    }

    /// True if the lane is an integer in the stream that can be NULL.
    #[cfg(vectors)]
    pub(super) fn is_nullable_integer(self) -> bool {
        use LaneCode::*;
        let is_delta = matches!(self, UnsignedDeltaNullable | SignedDeltaNullable);
        is_delta || matches!(self, UnsignedNullable | SignedNullable | ExponentNullable)
    }
}

/// A lane with a dictionary entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneEntry {
    pub lane: u8,
    pub entry: u32,
    /// A delta only adds to its entry; copy and increment take the value over.
    pub delta: bool,
    /// The previous value may be invalid for the lane: an exponent that a lenient decoder accepted.
    pub checked: bool,
}

/// Effect of presence-map bits on lanes: two sets in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct MapLanes(u64);

impl MapLanes {
    fn new(stream: u32, present: u32) -> Self {
        Self(u64::from(stream) | u64::from(present) << 32)
    }

    /// Returns the lanes in the stream.
    #[inline(always)]
    pub(crate) fn stream(self) -> u32 {
        self.0 as u32
    }

    /// Returns the lanes that are present without being in the stream.
    #[inline(always)]
    pub(crate) fn present(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Returns the lanes of a set, in order; all are below `N`.
#[inline(always)]
pub(crate) fn lanes_of<const N: usize>(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = set.trailing_zeros() as usize % N;
        let some = set != 0;
        set &= set.wrapping_sub(1);
        some.then_some(lane)
    })
}

/// The lanes for each value of eight presence-map bits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneTable([MapLanes; 1 << TABLE_BITS]);

impl Default for LaneTable {
    fn default() -> Self {
        Self([MapLanes::default(); 1 << TABLE_BITS])
    }
}

/// A run of plain fields. Lane sets are bit masks.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneRun {
    /// Number of operations in the run, the first of its segment.
    pub ops: u32,
    /// True if these are all operations of the segment.
    pub whole: bool,
    /// Slot of the first lane.
    pub first_slot: u32,
    /// Number of presence-map bits that the run uses.
    pub map_bits: u32,
    /// Number of lanes.
    pub count: u32,
    /// Words of a record for the lanes: 8, 16 or 32.
    pub words: u32,
    pub rules: [OperatorRule; LANES_MAX],
    pub codes: [LaneCode; LANES_MAX],
    /// A value is in range if `value + bias` is at most `limit`, both unsigned.
    pub bias: [u64; LANES_MAX],
    pub limit: [u64; LANES_MAX],
    /// Lanes that are always in the stream.
    pub always: u32,
    /// Lanes that are present if not in the stream.
    pub given: u32,
    /// Lanes (copy and increment) that, if not in the stream, are present if they were in the
    /// previous record.
    pub carried: u32,
    /// Lanes that are never absent.
    pub required: u32,
    pub increments: u32,
    pub deltas: u32,
    /// One table per eight bits of the presence map.
    pub tables: [Arc<LaneTable>; 3],
    pub more_tables: Vec<Arc<LaneTable>>,
    /// The value of a lane that is not in the stream is `before & keep + add`.
    pub keep: [u64; LANES_MAX],
    pub add: [u64; LANES_MAX],
    pub entries: Vec<LaneEntry>,
    /// Lanes with a dictionary entry.
    pub kept: u32,
    /// Lane values when all entries are undefined, and the lanes among them that have a value.
    pub fresh: [[u8; 8]; LANES_MAX],
    pub fresh_carried: u32,
    /// Index of the run in the program.
    pub index: u32,
    /// Entry of the first lane, if those of the others follow in the order of lanes
    /// ([`order`](super::order)).
    pub first_entry: Option<u32>,
    /// True if no other run uses these entries.
    pub is_alone: bool,
    /// For each lane its bit, if it has an entry.
    pub entry_bits: [u32; LANES_MAX],
    /// Constants for the SIMD engine.
    #[cfg(vectors)]
    pub plan: Option<std::sync::Arc<super::plan::LanePlan>>,
}

impl LaneRun {
    /// True if a value is in the range of a lane.
    #[inline(always)]
    pub(crate) fn takes(&self, lane: usize, value: u64) -> bool {
        value.wrapping_add(self.bias[lane]) <= self.limit[lane]
    }

    /// True if a lane is the exponent of a decimal; the next one is its mantissa.
    pub(super) fn has_exponent(&self, lane: usize) -> bool {
        self.limit[lane] == EXPONENT.1
    }

    /// Returns the memory of the run in bytes, without the shared tables.
    fn bytes(&self) -> usize {
        #[cfg(vectors)]
        let plan = if self.fits_vectors() { size_of::<super::plan::LanePlan>() } else { 0 };
        #[cfg(not(vectors))]
        let plan = 0;
        // A number for each entry of the range, in the table of text buffers.
        let range = LANES_MAX * size_of::<u32>();
        size_of::<Self>() + plan + range + self.entries.capacity() * size_of::<LaneEntry>()
    }

    /// Returns a lane's own presence-map bit, if it has one. A mantissa without one depends on its exponent.
    pub(crate) fn map_bit(&self, lane: usize) -> Option<u32> {
        let bits_before = self.rules[..lane].iter().filter(|rule| rule.has_map_bit()).count();
        self.rules[lane].has_map_bit().then_some(bits_before as u32)
    }

    /// True if the SIMD engine supports the number of lanes.
    pub(crate) fn fits_vectors(&self) -> bool {
        (VECTOR_LANES_MIN..=VECTOR_LANES_MAX).contains(&self.count)
            && (1..=MAP_BYTES * MAP_BYTE_BITS).contains(&(self.map_bits as usize))
    }

    /// Returns the kinds of the lanes, in order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = LaneKind> {
        self.codes.iter().take(self.count as usize).map(|code| code.kind())
    }

    /// Looks up the presence map; `bits` has the run's first bit at the top.
    #[inline(always)]
    pub(crate) fn lookup(&self, mut bits: u64) -> MapLanes {
        let mut lanes = u64::from(self.always);
        for table in &self.tables {
            lanes |= table.0[(bits >> (64 - TABLE_BITS)) as usize].0;
            bits <<= TABLE_BITS;
        }
        if !self.more_tables.is_empty() {
            lanes |= self.lookup_more(bits);
        }
        MapLanes(lanes)
    }

    #[cold]
    fn lookup_more(&self, mut bits: u64) -> u64 {
        let mut lanes = 0;
        for table in &self.more_tables {
            lanes |= table.0[(bits >> (64 - TABLE_BITS)) as usize].0;
            bits <<= TABLE_BITS;
        }
        lanes
    }
}

/// Finds the run at the start of each segment, records it there, and reserves space for its lanes.
pub(super) fn find(
    code: &[Op],
    initials: &[Initial],
    segments: &mut [SegmentLayout],
    fields: &[FieldLayout],
    budget: &mut Budget<'_>,
) -> Result<Vec<LaneRun>, CompileError> {
    let (mut runs, mut tables) = (Vec::new(), LaneTables::default());
    for index in 0..segments.len() {
        let parent = segments[index].parent.map(|parent| &fields[parent.index()].storage);
        if parent == Some(&Storage::Discarded) {
            continue;
        }
        let ops = &code[segments[index].ops.start as usize..segments[index].ops.end as usize];
        let tables_before = tables.0.len();
        let run = Finder::new(ops, initials).run(&mut tables);
        let Some(mut run) = run else { continue };
        run.index = runs.len() as u32;
        let new_tables = (tables.0.len() - tables_before) * size_of::<LaneTable>();
        budget.take(segments[index].template, run.bytes() + new_tables)?;
        let owner = owner_of_record(segments, fields, index);
        let end = run.first_slot + run.words;
        segments[owner].record_words = segments[owner].record_words.max(end);
        segments[index].run = Some(run.index);
        runs.push(run);
    }
    Ok(runs)
}

/// The tables of all runs; equal tables are shared. References that are expanded repeatedly have
/// equal runs.
#[derive(Default)]
struct LaneTables(HashSet<Arc<LaneTable>>);

impl LaneTables {
    fn shared(&mut self, table: LaneTable) -> Arc<LaneTable> {
        if let Some(known) = self.0.get(&table) {
            return Arc::clone(known);
        }
        let table = Arc::new(table);
        self.0.insert(Arc::clone(&table));
        table
    }
}

/// Returns the segment whose record contains the fields of this one: itself, or the parent of a
/// group.
fn owner_of_record(segments: &[SegmentLayout], fields: &[FieldLayout], mut index: usize) -> usize {
    while let (0, Some(parent)) = (segments[index].record_words, segments[index].parent) {
        index = fields[parent.index()].segment.index();
    }
    index
}

/// Builds a run from the operations at the start of a segment.
struct Finder<'p> {
    ops: &'p [Op],
    initials: &'p [Initial],
    run: LaneRun,
    /// Effect of each presence-map bit when it is set.
    bits: Vec<MapLanes>,
}

/// A lane to be added.
struct RunDraft<'o> {
    op: &'o Op,
    code: LaneCode,
    bias: u64,
    limit: u64,
    required: bool,
}

impl<'p> Finder<'p> {
    fn new(ops: &'p [Op], initials: &'p [Initial]) -> Self {
        let run = LaneRun { limit: [u64::MAX; LANES_MAX], ..LaneRun::default() };
        Self { ops, initials, run, bits: Vec::new() }
    }

    fn run(mut self, tables: &mut LaneTables) -> Option<LaneRun> {
        let mut at = 0;
        while let Some(taken) = self.ops.get(at).and_then(|op| self.take(op, self.ops.get(at + 1)))
        {
            at += taken;
        }
        let run = &mut self.run;
        if run.count == 0 {
            return None;
        }
        run.ops = at as u32;
        run.words = run.count.next_power_of_two().max(8);
        run.whole = at == self.ops.len();
        run.map_bits = self.bits.len() as u32;
        let mut found = self.bits.chunks(TABLE_BITS).map(table);
        run.tables = std::array::from_fn(|_| tables.shared(found.next().unwrap_or_default()));
        run.more_tables = found.map(|table| tables.shared(table)).collect();
        Some(self.run)
    }

    /// Adds the lanes of an operation and returns the number of operations used.
    fn take(&mut self, op: &'p Op, next: Option<&'p Op>) -> Option<usize> {
        if op.code == OpCode::Constant {
            return Some(1);
        }
        let parts = next.filter(|_| is_exponent(op));
        if !has_lane(op) || parts.is_some_and(|mantissa| !has_lane(mantissa)) {
            return None;
        }
        let slots = if is_decimal(op) { 2 } else { 1 };
        let lane = self.run.count as usize;
        if usize::from(op.bit) != lane || lane + slots > LANES_MAX {
            return None;
        }
        match lane {
            0 => self.run.first_slot = op.slot,
            _ if op.slot as usize != self.run.first_slot as usize + lane => return None,
            _ => {}
        }
        match op.code {
            _ if is_exponent(op) => {
                let mantissa =
                    next.filter(|op| matches!(op.code, OpCode::Mantissa | OpCode::MantissaDelta))?;
                self.parts(op, mantissa).map(|()| 2)
            }
            OpCode::Decimal => self.whole_decimal(op).map(|()| 1),
            OpCode::ConstantOptional => self.optional_constant(op).map(|()| 1),
            OpCode::Mantissa
            | OpCode::MantissaDelta
            | OpCode::Constant
            | OpCode::Length
            | OpCode::LengthNone
            | OpCode::Sequence
            | OpCode::Group
            | OpCode::GroupOptional
            | OpCode::DynamicRef
            | OpCode::NextPresenceWord
            | OpCode::CheckEntryType => None,
            _ => {
                let (bias, limit) = range(op)?;
                let code = lane_code(op)?;
                self.add(RunDraft { op, code, bias, limit, required: !op.optional }).map(|()| 1)
            }
        }
    }

    /// Adds a decimal with separate operators for exponent and mantissa.
    fn parts(&mut self, exponent: &'p Op, mantissa: &'p Op) -> Option<()> {
        let lane = self.run.count as usize;
        let initial = &self.initials[exponent.initial as usize];
        // Exponents given by the template are checked here, once.
        if initial.given && !(-63..=63).contains(&(initial.word as i64)) {
            return None;
        }
        let code = match exponent.optional {
            true if exponent.rule.is_constant() || uses_entry(exponent) => return None,
            true => LaneCode::ExponentNullable,
            false => lane_code(exponent)?,
        };
        let required = !exponent.optional;
        // Only the template may determine whether the mantissa has a bit.
        if !required && (mantissa.rule.has_map_bit() || mantissa.rule.is_constant()) {
            return None;
        }
        if shares_entry(&self.run, exponent)
            || shares_entry(&self.run, mantissa)
            || (uses_entry(exponent) && uses_entry(mantissa) && exponent.entry == mantissa.entry)
        {
            return None;
        }
        let mantissa_code = lane_code(mantissa)?;
        let (bias, limit) = range(mantissa)?;
        self.add(RunDraft { op: exponent, code, bias: EXPONENT.0, limit: EXPONENT.1, required })?;
        self.add(RunDraft { op: mantissa, code: mantissa_code, bias, limit, required })?;
        // The mantissa is absent if the exponent is.
        if exponent.rule.silent == SilentValue::Absent {
            self.run.always &= !(2 << lane);
            let bit = self.bits.last_mut()?;
            bit.0 |= 2 << lane;
        }
        Some(())
    }

    /// Adds a decimal whose exponent and mantissa are both in the stream, unless it is NULL.
    fn whole_decimal(&mut self, op: &'p Op) -> Option<()> {
        if op.rule != OperatorRule::PLAIN {
            return None;
        }
        let code = if op.optional { LaneCode::ExponentNullable } else { LaneCode::Signed };
        let required = !op.optional;
        self.add(RunDraft { op, code, bias: EXPONENT.0, limit: EXPONENT.1, required })?;
        self.add(RunDraft { op, code: LaneCode::Signed, bias: 0, limit: u64::MAX, required })
    }

    fn optional_constant(&mut self, op: &'p Op) -> Option<()> {
        if op.wire == WireType::Decimal {
            return None;
        }
        let draft =
            RunDraft { op, code: LaneCode::Constant, bias: 0, limit: u64::MAX, required: false };
        self.add(draft)
    }

    fn add(&mut self, draft: RunDraft<'p>) -> Option<()> {
        let RunDraft { op, code, bias, limit, required } = draft;
        let initial = &self.initials[op.initial as usize];
        let text = op.wire == WireType::Ascii;
        let word = match initial.short {
            Some(word) => u64::from_le_bytes(word),
            None if text && initial.given => return None,
            None => initial.word,
        };
        if shares_entry(&self.run, op) {
            return None;
        }
        let run = &mut self.run;
        let lane = run.count as usize;
        let mask = 1u32 << lane;
        let (is_constant, is_delta) =
            (op.rule.is_constant(), op.rule.stream == StreamContent::Delta);
        if op.rule.has_map_bit() {
            let set = if is_constant { MapLanes::new(0, mask) } else { MapLanes::new(mask, 0) };
            self.bits.push(set);
        }
        let (keep, add) = match op.rule.silent {
            SilentValue::Never if is_constant => {
                run.given |= mask;
                (0, word)
            }
            SilentValue::Never => {
                run.always |= mask;
                (if is_delta { u64::MAX } else { 0 }, 0)
            }
            SilentValue::Absent => (0, word),
            SilentValue::Initial => {
                run.given |= mask;
                (0, word)
            }
            SilentValue::Previous => (u64::MAX, 0),
            SilentValue::Next => {
                run.increments |= mask;
                (u64::MAX, 1)
            }
        };
        run.carried |= if op.rule.derives_from_previous() { mask } else { 0 };
        run.deltas |= if is_delta { mask } else { 0 };
        if uses_entry(op) {
            let undefined = match op.rule.silent {
                SilentValue::Never => Some(word),
                SilentValue::Absent | SilentValue::Initial | SilentValue::Previous => {
                    initial.given.then_some(word)
                }
                // The first increment must yield the initial value itself.
                SilentValue::Next => initial.given.then_some(word.wrapping_sub(1)),
            };
            let (entry, checked) = (op.entry, limit == EXPONENT.1);
            run.entries.push(LaneEntry { lane: lane as u8, entry, delta: is_delta, checked });
            run.kept |= mask;
            if let Some(word) = undefined {
                run.fresh[lane] = word.to_le_bytes();
                run.fresh_carried |= mask;
            }
        }
        run.required |= if required { mask } else { 0 };
        run.keep[lane] = keep;
        run.add[lane] = add;
        run.rules[lane] = op.rule;
        run.codes[lane] = code;
        run.bias[lane] = bias;
        run.limit[lane] = limit;
        run.count += 1;
        Some(())
    }
}

fn table(bits: &[MapLanes]) -> LaneTable {
    let mut table = LaneTable::default();
    for (index, entry) in table.0.iter_mut().enumerate() {
        for (place, bit) in bits.iter().enumerate() {
            if index >> (TABLE_BITS - 1 - place) & 1 != 0 {
                entry.0 |= bit.0;
            }
        }
    }
    table
}

/// True if a lane can compute an operator; others end a run.
fn has_lane(op: &Op) -> bool {
    use SilentValue as V;
    let is_computed = match op.rule.silent {
        V::Never | V::Absent | V::Initial | V::Previous | V::Next => true,
    };
    let is_read = match op.rule.stream {
        StreamContent::Constant | StreamContent::Value => true,
        StreamContent::Delta => op.rule.silent == V::Never,
        StreamContent::Tail => false,
    };
    is_computed && is_read
}

fn is_exponent(op: &Op) -> bool {
    matches!(op.code, OpCode::Exponent | OpCode::ExponentDefault | OpCode::ExponentDefaultOptional)
}

fn is_decimal(op: &Op) -> bool {
    op.wire == WireType::Decimal || is_exponent(op)
}

fn uses_entry(op: &Op) -> bool {
    op.rule.uses_dictionary()
}

/// True if a lane of the run already uses the operation's entry. Lanes are computed in parallel, so
/// one cannot pass its value to another.
fn shares_entry(run: &LaneRun, op: &Op) -> bool {
    uses_entry(op) && run.entries.iter().any(|known| known.entry == op.entry)
}

/// Returns the range of an operation's type, as bias and limit.
fn range(op: &Op) -> Option<(u64, u64)> {
    let bits = op.width as u32;
    let limit = u64::MAX >> (64 - bits);
    match op.wire {
        WireType::UInt => Some((0, limit)),
        WireType::Int if op.width == Width::W64 => Some((0, u64::MAX)),
        WireType::Int => Some((1 << (bits - 1), limit)),
        WireType::Ascii => Some((0, u64::MAX)),
        _ => None,
    }
}

fn lane_code(op: &Op) -> Option<LaneCode> {
    let delta = op.rule.stream == StreamContent::Delta;
    Some(match (op.wire, delta, op.optional) {
        _ if op.rule.is_constant() => LaneCode::Constant,
        (WireType::UInt, false, false) => LaneCode::Unsigned,
        (WireType::UInt, false, true) => LaneCode::UnsignedNullable,
        (WireType::Int, false, false) => LaneCode::Signed,
        (WireType::Int, false, true) => LaneCode::SignedNullable,
        (WireType::UInt, true, false) => LaneCode::UnsignedDelta,
        (WireType::UInt, true, true) => LaneCode::UnsignedDeltaNullable,
        (WireType::Int, true, false) => LaneCode::SignedDelta,
        (WireType::Int, true, true) => LaneCode::SignedDeltaNullable,
        (WireType::Ascii, false, false) => LaneCode::Ascii,
        (WireType::Ascii, false, true) => LaneCode::AsciiNullable,
        _ => return None,
    })
}
