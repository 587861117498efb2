//! Executes a compiled program over bytes. The reference engine: decodes everything and reports all
//! errors.

use super::integer::{Signed, Unsigned, WireInteger};
use super::sink::{RecordSink, TraceStep};
use super::vectors::VectorEngine;
use crate::dictionary::{DictionaryEntries, EntryState};
use crate::error::{FastError, FastErrorKind};
use crate::limits::Limits;
use crate::program::{
    FieldRef, Initial, Op, OpCode, Program, SegmentLayout, WireType, is_valid_exponent,
};
use crate::template::{StreamContent, TemplateId};
use crate::wire::{Map, PresenceMap, WORD_BITS, WideMap, WireReader};

/// Execution of a program over one message.
pub(crate) struct DecoderEngine<'e, S, const JOURNAL: bool> {
    pub(super) program: &'e Program,
    pub(super) reader: WireReader<'e>,
    pub(super) dictionary: &'e mut DictionaryEntries,
    pub(super) sink: S,
    pub(super) limits: &'e Limits,
    /// Buffer to assemble a string.
    pub(super) text: &'e mut Vec<u8>,
    pub(super) obey_reset: bool,
    /// True if runs may be decoded as a unit.
    pub(super) runs: bool,
    pub(super) vectors: &'e mut VectorEngine,
    pub(super) entries_left: u32,
    /// Remaining bytes of long strings that the message may have.
    pub(super) text_left: usize,
    /// Number of enclosing dynamic references.
    pub(super) nesting: u32,
    /// Number of enclosing groups, sequences and dynamic references.
    pub(super) depth: u32,
    /// Streams only: least number of bytes of the entries that follow, in all enclosing sequences.
    pub(super) owed: usize,
}

/// Decoding of a segment's run as a unit: still to be tried, or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    Tried,
    /// Tried and failed: left to the operations.
    Refused,
}

/// Result of decoding a field.
type FieldDecoded = Result<(), FastErrorKind>;

impl<'e, S: RecordSink, const JOURNAL: bool> DecoderEngine<'e, S, JOURNAL> {
    #[inline(always)]
    pub(super) fn initial(&self, op: &Op) -> &'e Initial {
        &self.program.initials[op.initial as usize]
    }

    /// Reports a step to a sink that traces; compiles to nothing for others.
    #[inline(always)]
    fn trace(&mut self, step: TraceStep<'_>) {
        if S::TRACE {
            let position = self.reader.position();
            self.sink.trace(step, position, self.dictionary);
        }
    }

    /// Decodes one message: presence map, template id, fields. Returns the index of its template
    /// and the base of its record.
    ///
    /// Spec: FAST 1.1 §10.3.
    pub(crate) fn message(&mut self) -> Result<(u32, usize), FastError> {
        let start = self.reader.position();
        let outside = |kind| FastError::new(kind, start);
        let mut map = self.reader.presence_map().map_err(outside)?;
        self.trace(TraceStep::Map { start, field: None });
        let id_start = self.reader.position();
        let index = self.template(map.take())?;
        let program = self.program;
        let template = &program.templates[index as usize];
        let reset = template.reset && self.obey_reset;
        if reset {
            self.dictionary.reset_values();
        }
        self.trace(TraceStep::Template { start: id_start, template: index, reset });
        let segment = &program.segments[template.segment.index()];
        let base = self.sink.begin_message(segment).map_err(outside)?;
        // A one-word map drops the template id's bit here; a wider map counts it itself.
        if segment.map_bits < WORD_BITS {
            self.fields(segment, &mut map, base, Runs::Tried)?;
            self.reader.finish_map(&map).map_err(outside)?;
        } else {
            let mut map = WideMap::after_first(map);
            self.fields(segment, &mut map, base, Runs::Tried)?;
            self.reader.finish_map(&map.rest()).map_err(outside)?;
        }
        self.sink.end_message();
        Ok((index, base))
    }

    /// The template id is a copy field of the global dictionary.
    fn template(&mut self, in_stream: bool) -> Result<u32, FastError> {
        let start = self.reader.position();
        let outside = |kind| FastError::new(kind, start);
        if !in_stream {
            return self.dictionary.last_template().ok_or(outside(FastErrorKind::NoInitialValue));
        }
        let id = self.reader.unsigned().map_err(outside)?;
        let id = u32::try_from(id).map_err(|_| outside(FastErrorKind::IntegerRange))?;
        let index = self.program.template_index(TemplateId(id));
        let index = index.ok_or(outside(FastErrorKind::UnknownTemplate).with_detail(id))? as u32;
        self.dictionary.set_last_template(index);
        Ok(index)
    }

    /// Decodes a group or sequence entry: its presence map, if it has one, and its fields.
    pub(super) fn segment(
        &mut self,
        segment: &'e SegmentLayout,
        field: u32,
        base: usize,
        runs: Runs,
    ) -> Result<(), FastError> {
        self.enter(field)?;
        self.segment_inside(segment, field, base, runs)?;
        self.depth -= 1;
        Ok(())
    }

    /// Enters a nested level. The depth is not restored on errors, because they end the message.
    fn enter(&mut self, field: u32) -> Result<(), FastError> {
        if self.depth >= Limits::DEPTH_MAX {
            let position = self.reader.position();
            let error = FastError::at(FastErrorKind::NestingTooDeep, FieldRef(field), position);
            return Err(error.with_detail(Limits::DEPTH_MAX));
        }
        self.depth += 1;
        Ok(())
    }

    fn segment_inside(
        &mut self,
        segment: &'e SegmentLayout,
        field: u32,
        base: usize,
        runs: Runs,
    ) -> Result<(), FastError> {
        if !segment.has_map() {
            return self.fields(segment, &mut PresenceMap::default(), base, runs);
        }
        let start = self.reader.position();
        let here = |kind| FastError::at(kind, FieldRef(field), start);
        let mut map = self.reader.presence_map().map_err(here)?;
        self.trace(TraceStep::Map { start, field: Some(field) });
        if segment.map_bits <= WORD_BITS {
            self.fields(segment, &mut map, base, runs)?;
            self.reader.finish_map(&map).map_err(here)
        } else {
            let mut map = WideMap::new(map);
            self.fields(segment, &mut map, base, runs)?;
            self.reader.finish_map(&map.rest()).map_err(here)
        }
    }

    fn fields<M: Map>(
        &mut self,
        segment: &'e SegmentLayout,
        whole_map: &mut M,
        base: usize,
        runs: Runs,
    ) -> Result<(), FastError> {
        // A local copy whose address is never taken stays in registers.
        let mut bits = *whole_map;
        let map = &mut bits;
        let ops = &self.program.code[segment.ops.start as usize..segment.ops.end as usize];
        let mut presence_at = base + segment.presence_at as usize;
        let mut present = u64::MAX;
        let mut exponent = 0i32;
        let mut count = None;
        let mut ops = ops.iter();
        if let Some(index) = segment.run {
            let word = match runs {
                Runs::Tried if !S::TRACE && self.runs => self.leading_run(index, map, base),
                _ => None,
            };
            if let Some(word) = word {
                present = word;
                let run = &self.program.runs[index as usize];
                ops = ops.as_slice().get(run.ops as usize..).unwrap_or_default().iter();
            }
        }
        while let Some(op) = ops.next() {
            let start = self.reader.position();
            self.trace(TraceStep::Before(op));
            // Each arm stores its value itself: one arm for all would add a jump to every field.
            macro_rules! integer {
                ($decoded:expr) => {{
                    let value = $decoded;
                    self.integer(op, base, &mut present, value)
                }};
            }
            macro_rules! stored {
                ($decoded:expr) => {{
                    let outcome = $decoded;
                    self.stored(op, &mut present, outcome)
                }};
            }
            macro_rules! exponent {
                ($decoded:expr) => {{
                    let value = $decoded;
                    self.exponent(op, &mut present, &mut ops, &mut exponent, value)
                }};
            }
            let outcome: FieldDecoded = match op.code {
                OpCode::UIntNone => integer!(self.none::<Unsigned, false>(op)),
                OpCode::UIntNoneOptional => integer!(self.none::<Unsigned, true>(op)),
                OpCode::UIntDefault => integer!(self.default::<Unsigned, false>(op, map)),
                OpCode::UIntDefaultOptional => integer!(self.default::<Unsigned, true>(op, map)),
                OpCode::UIntCopy => integer!(self.copy::<Unsigned, false>(op, map)),
                OpCode::UIntCopyOptional => integer!(self.copy::<Unsigned, true>(op, map)),
                OpCode::UIntIncrement => integer!(self.increment::<Unsigned, false>(op, map)),
                OpCode::UIntIncrementOptional => {
                    integer!(self.increment::<Unsigned, true>(op, map))
                }
                OpCode::UIntDelta => integer!(self.delta::<Unsigned, false>(op)),
                OpCode::UIntDeltaOptional => integer!(self.delta::<Unsigned, true>(op)),
                OpCode::IntNone => integer!(self.none::<Signed, false>(op)),
                OpCode::IntNoneOptional => integer!(self.none::<Signed, true>(op)),
                OpCode::IntDelta => integer!(self.delta::<Signed, false>(op)),
                OpCode::IntDeltaOptional => integer!(self.delta::<Signed, true>(op)),
                OpCode::Integer => integer!(match op.wire {
                    WireType::UInt => self.any_integer::<Unsigned, M>(op, map),
                    _ => self.any_integer::<Signed, M>(op, map),
                }),
                OpCode::AsciiNone => stored!(self.ascii_none::<false>(op, base)),
                OpCode::AsciiNoneOptional => stored!(self.ascii_none::<true>(op, base)),
                OpCode::AsciiDefault => stored!(self.ascii_default::<false>(op, map, base)),
                OpCode::AsciiDefaultOptional => stored!(self.ascii_default::<true>(op, map, base)),
                OpCode::AsciiCopy => stored!(self.ascii_copy::<false>(op, map, base)),
                OpCode::AsciiCopyOptional => stored!(self.ascii_copy::<true>(op, map, base)),
                OpCode::Text => {
                    let mut rest = *map;
                    let outcome = self.any_text(op, &mut rest, base);
                    *map = rest;
                    self.stored(op, &mut present, outcome)
                }
                OpCode::Decimal => {
                    let mut rest = *map;
                    let value = self.scaled(op, &mut rest);
                    *map = rest;
                    self.decimal(op, base, &mut present, value)
                }
                OpCode::ExponentDefault => exponent!(self.default::<Signed, false>(op, map)),
                OpCode::ExponentDefaultOptional => exponent!(self.default::<Signed, true>(op, map)),
                OpCode::Exponent => exponent!(self.any_integer::<Signed, M>(op, map)),
                OpCode::MantissaDelta => self.delta::<Signed, false>(op).map(|value| {
                    self.sink.decimal(base, op, value.unwrap_or_default() as i64, exponent);
                }),
                OpCode::Mantissa => self.any_integer::<Signed, M>(op, map).map(|value| {
                    self.sink.decimal(base, op, value.unwrap_or_default() as i64, exponent);
                }),
                OpCode::Constant => {
                    self.sink.constant(base, op);
                    Ok(())
                }
                OpCode::ConstantOptional => {
                    let outcome = Ok(map.take());
                    if outcome == Ok(true) {
                        self.sink.constant(base, op);
                    }
                    self.stored(op, &mut present, outcome)
                }
                OpCode::LengthNone => self.none::<Unsigned, false>(op).map(|value| count = value),
                OpCode::Length => {
                    self.any_integer::<Unsigned, M>(op, map).map(|value| count = value)
                }
                OpCode::Sequence => match count.take() {
                    Some(entries) => {
                        self.sequence(op, base, entries as u32, start)?;
                        Ok(())
                    }
                    None => self.stored(op, &mut present, Ok(false)),
                },
                OpCode::Group => {
                    self.group(op, base)?;
                    Ok(())
                }
                OpCode::GroupOptional => match map.take() {
                    true => {
                        self.group(op, base)?;
                        Ok(())
                    }
                    false => self.stored(op, &mut present, Ok(false)),
                },
                OpCode::DynamicRef => {
                    self.dynamic(op, base, start)?;
                    Ok(())
                }
                OpCode::NextPresenceWord => {
                    self.sink.presence(presence_at, present);
                    presence_at += 1;
                    present = u64::MAX;
                    Ok(())
                }
                OpCode::CheckEntryType => self.check_entry_type(op, map.peek()),
            };
            if let Err(kind) = outcome {
                return Err(FastError::at(kind, FieldRef(op.field), start));
            }
            self.trace(TraceStep::After { op, exponent, count });
        }
        self.sink.presence(presence_at, present);
        *whole_map = bits;
        Ok(())
    }

    #[inline(always)]
    fn any_integer<T: WireInteger, M: Map>(
        &mut self,
        op: &Op,
        map: &mut M,
    ) -> Result<Option<u64>, FastErrorKind> {
        let mut rest = *map;
        let value = self.any::<T>(op, &mut rest);
        *map = rest;
        value
    }

    #[inline(always)]
    fn integer(
        &mut self,
        op: &Op,
        base: usize,
        present: &mut u64,
        value: Result<Option<u64>, FastErrorKind>,
    ) -> FieldDecoded {
        match value? {
            Some(value) => self.sink.integer(base, op, value),
            None => self.absent(op, present),
        }
        Ok(())
    }

    #[inline(always)]
    fn decimal(
        &mut self,
        op: &Op,
        base: usize,
        present: &mut u64,
        value: Result<Option<(i64, i32)>, FastErrorKind>,
    ) -> FieldDecoded {
        match value? {
            Some((mantissa, exponent)) => self.sink.decimal(base, op, mantissa, exponent),
            None => self.absent(op, present),
        }
        Ok(())
    }

    /// Keeps an exponent for the mantissa that follows; skips the mantissa if it is absent.
    #[inline(always)]
    fn exponent(
        &mut self,
        op: &Op,
        present: &mut u64,
        ops: &mut std::slice::Iter<'e, Op>,
        exponent: &mut i32,
        value: Result<Option<u64>, FastErrorKind>,
    ) -> FieldDecoded {
        match value? {
            Some(value) => {
                *exponent = self.check_exponent(value as i64)?;
                if !is_valid_exponent(i64::from(*exponent)) && op.rule.uses_dictionary() {
                    self.dictionary.set_unfit::<JOURNAL>(op.entry);
                }
            }
            None => {
                self.absent(op, present);
                *ops = ops.as_slice().get(op.aux as usize..).unwrap_or_default().iter();
            }
        }
        Ok(())
    }

    /// Marks a field absent if it stored no value.
    #[inline(always)]
    fn stored(
        &mut self,
        op: &Op,
        present: &mut u64,
        stored: Result<bool, FastErrorKind>,
    ) -> FieldDecoded {
        if !stored? {
            self.absent(op, present);
        }
        Ok(())
    }

    #[inline(always)]
    fn absent(&mut self, op: &Op, present: &mut u64) {
        *present &= !(1 << op.bit);
        self.sink.absent(op);
    }

    /// Empties the entry of an optional field that has neither a value in the stream, nor a previous one,
    /// nor an initial one.
    ///
    /// # Errors
    /// D5, D6 or D7 for a mandatory field.
    pub(super) fn without_value(&mut self, op: &Op, state: EntryState) -> FieldDecoded {
        if op.optional {
            self.dictionary.set_empty::<JOURNAL>(op.entry);
            return Ok(());
        }
        Err(match (op.rule.stream, state) {
            (StreamContent::Tail, EntryState::Empty) => FastErrorKind::SubtractionLength,
            (StreamContent::Tail, _) | (_, EntryState::Empty) => FastErrorKind::EmptyPreviousValue,
            _ => FastErrorKind::NoInitialValue,
        })
    }

    fn group(&mut self, op: &Op, base: usize) -> Result<(), FastError> {
        let segment = &self.program.segments[op.aux as usize];
        self.sink.begin_group(op);
        self.segment(segment, op.field, base, Runs::Tried)?;
        self.sink.end_group(op);
        Ok(())
    }

    fn sequence(
        &mut self,
        op: &Op,
        base: usize,
        count: u32,
        start: usize,
    ) -> Result<(), FastError> {
        let here = |kind| FastError::at(kind, FieldRef(op.field), start);
        let segment = &self.program.segments[op.aux as usize];
        let too_many = count > self.limits.entries_max || count > self.entries_left;
        // A count that exceeds the remaining bytes fails inside an entry, which reports a better
        // error. But waiting for more of a stream, and entries without bytes, must be limited here.
        let room = match segment.entry_bytes_min {
            0 => count,
            _ => count
                .min(u32::try_from(self.reader.remaining()).unwrap_or(u32::MAX).saturating_add(1)),
        };
        if too_many && (JOURNAL || room == count) {
            return Err(here(FastErrorKind::TooManyEntries).with_detail(count));
        }
        self.entries_left = self.entries_left.saturating_sub(count);
        let (first, step) = self.sink.begin_sequence(base, op, room, segment).map_err(here)?;
        let is_whole = |run: &u32| !S::TRACE && self.runs && self.program.runs[*run as usize].whole;
        if let Some(run) = segment.run.filter(is_whole) {
            return self.entries(op, segment, run, (first, step), count);
        }
        for index in 0..count {
            self.sink.begin_entry(op, index);
            let base = first + index as usize * step;
            self.entry(segment, op.field, base, Runs::Tried, count - index - 1)?;
            self.sink.end_entry(op);
        }
        self.sink.end_sequence(op);
        Ok(())
    }

    /// Decodes an entry of a sequence; `left` entries follow it.
    pub(super) fn entry(
        &mut self,
        segment: &'e SegmentLayout,
        field: u32,
        base: usize,
        runs: Runs,
        left: u32,
    ) -> Result<(), FastError> {
        let owed = if JOURNAL { left as usize * segment.entry_bytes_min as usize } else { 0 };
        // On errors it stays as it is: the caller learns how many bytes are missing.
        self.owed += owed;
        self.segment(segment, field, base, runs)?;
        self.owed -= owed;
        Ok(())
    }

    fn dynamic(&mut self, op: &Op, base: usize, start: usize) -> Result<(), FastError> {
        if self.nesting >= self.limits.nesting_max {
            let error = FastError::at(FastErrorKind::NestingTooDeep, FieldRef(op.field), start);
            return Err(error.with_detail(self.limits.nesting_max));
        }
        self.enter(op.field)?;
        self.nesting += 1;
        let (template, place) = self.message()?;
        self.nesting -= 1;
        self.depth -= 1;
        self.sink.dynamic(base, op, template, place);
        Ok(())
    }

    /// Checks the type of the entry's value (D4) for the next field.
    #[cold]
    fn check_entry_type(&mut self, op: &Op, in_stream: bool) -> FieldDecoded {
        let replaces = op.rule.replaces_previous_value() && in_stream;
        let tag = op.aux as u8;
        if !replaces
            && self.dictionary.state(op.entry) != EntryState::Undefined
            && self.dictionary.tag(op.entry) != tag
        {
            return Err(FastErrorKind::PreviousValueType);
        }
        self.dictionary.set_tag::<JOURNAL>(op.entry, tag);
        Ok(())
    }
}
