//! Reports every step of a decoding as it happens, for people who inspect bytes.

use super::Decoder;
use super::engine::DecoderEngine;
use super::sink::{RecordSink, TraceStep};
use crate::ResetPolicy;
use crate::dictionary::{DictionaryEntries, EntryState, Word, short_bytes};
use crate::error::{FastError, FastErrorKind};
use crate::program::{FieldRef, Op, OpCode, Program, SegmentLayout, Storage, WireType};
use crate::template::{Decimal, OperatorKind, Value};
use crate::wire::WireReader;
use std::ops::Range;

/// One step of a decoding. Ranges are offsets in the bytes given to [`Decoder::trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// A presence map was read.
    PresenceMap {
        /// Its bytes.
        bytes: Range<usize>,
        /// The group or sequence it belongs to; `None` for a message.
        owner: Option<FieldRef>,
    },
    /// The template is known.
    Template {
        /// The bytes of the template id; empty if it is the one of the message before.
        bytes: Range<usize>,
        /// Index of the template.
        template: usize,
        /// True if the template's reset attribute reset the dictionaries.
        reset: bool,
    },
    /// A field, or a part of one, was decoded.
    Field(TracedField),
    /// A group begins.
    BeginGroup(FieldRef),
    /// The group ends.
    EndGroup(FieldRef),
    /// A sequence with this many entries begins.
    BeginSequence(FieldRef, u32),
    /// The entry with this index begins.
    BeginEntry(FieldRef, u32),
    /// The entry ends.
    EndEntry(FieldRef),
    /// The sequence ends.
    EndSequence(FieldRef),
    /// The message, or the message of a dynamic reference, ends.
    EndMessage,
}

/// The decoded part of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedPart {
    /// The whole field.
    Whole,
    /// The exponent of a decimal.
    Exponent,
    /// The mantissa of a decimal; the value is the whole decimal.
    Mantissa,
    /// The length of a sequence.
    Length,
    /// The presence of an optional group.
    Group,
}

/// A field that was decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedField {
    /// The field.
    pub field: FieldRef,
    /// Which part of it.
    pub part: TracedPart,
    /// Its bytes; empty if it is not in the stream.
    pub bytes: Range<usize>,
    /// Its operator.
    pub operator: OperatorKind,
    /// Its presence-map bit, if it has one.
    pub map_bit: Option<MapBit>,
    /// Its value; `None` if it is absent.
    pub value: Option<Value>,
    /// Its dictionary entry before and after, if its operator uses one.
    pub entry: Option<(PreviousValue, PreviousValue)>,
}

/// A bit of a presence map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapBit {
    /// Index in the map, from 0.
    pub index: u32,
    /// True if the bit is set.
    pub set: bool,
}

/// State of a dictionary entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviousValue {
    /// Never written since the last reset.
    Undefined,
    /// Written without a value.
    Empty,
    /// Has a value.
    Assigned(Value),
}

impl PreviousValue {
    fn of(dictionary: &DictionaryEntries, op: &Op) -> Self {
        match dictionary.state(op.entry) {
            EntryState::Undefined => Self::Undefined,
            EntryState::Empty => Self::Empty,
            EntryState::Assigned => Self::Assigned(match op.wire {
                WireType::UInt => Value::UInt(dictionary.integer(op.entry)),
                WireType::Int => Value::Int(dictionary.integer(op.entry) as i64),
                WireType::Decimal => {
                    let (mantissa, exponent) = dictionary.decimal(op.entry);
                    Value::Decimal(Decimal { mantissa, exponent })
                }
                _ => Value::Bytes(dictionary.bytes(op.entry).into()),
            }),
        }
    }
}

impl Decoder {
    /// Decodes the message at the start of `input`, reports every step, and returns its length in
    /// bytes.
    ///
    /// To include mandatory constants, compile the program with
    /// [`CompileOptions::constants`](crate::CompileOptions). For diagnosis, not for speed: it
    /// allocates at each step.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); the steps before the failure have been reported.
    pub fn trace(
        &mut self,
        input: &[u8],
        mut tell: impl FnMut(TraceEvent),
    ) -> Result<usize, FastError> {
        self.settle();
        self.prepare(input)?;
        let sink = Tracing {
            program: &self.program,
            input,
            tell: &mut tell,
            maps: Vec::new(),
            value: None,
            absent: false,
            start: 0,
            before: None,
        };
        let mut engine = DecoderEngine::<_, false> {
            program: &self.program,
            reader: WireReader::new(input, self.options.conformance, &mut self.findings),
            dictionary: &mut self.dictionary,
            sink,
            limits: &self.options.limits,
            text: &mut self.text,
            obey_reset: self.options.reset != ResetPolicy::Never,
            runs: false,
            vectors: &mut self.vectors,
            entries_left: self.options.limits.entries_total_max,
            text_left: self.options.limits.message_bytes_max,
            nesting: 0,
            depth: 0,
            owed: 0,
        };
        match engine.message() {
            Ok(_) => Ok(engine.reader.position()),
            Err(error) => Err(self.fail(error)),
        }
    }
}

/// A presence map being read.
#[derive(Default)]
struct MapState {
    bytes: Range<usize>,
    next: u32,
}

/// Turns the engine's steps into trace events. Stores nothing.
struct Tracing<'t> {
    program: &'t Program,
    input: &'t [u8],
    tell: &'t mut dyn FnMut(TraceEvent),
    /// Maps of the message, and of its open groups and entries.
    maps: Vec<MapState>,
    value: Option<Value>,
    absent: bool,
    /// Offset at which the current step began.
    start: usize,
    before: Option<PreviousValue>,
}

impl Tracing<'_> {
    /// Consumes the next bit of the innermost map.
    fn take_bit(&mut self) -> Option<MapBit> {
        let map = self.maps.last_mut()?;
        let index = map.next;
        map.next += 1;
        let byte = self.input[map.bytes.clone()].get(index as usize / 7);
        let set = byte.is_some_and(|byte| byte >> (6 - index % 7) & 1 != 0);
        Some(MapBit { index, set })
    }

    fn map(&mut self, start: usize, position: usize, owner: Option<u32>) {
        let bytes = start..position;
        let state = MapState { bytes: bytes.clone(), next: 0 };
        match (owner, self.maps.last_mut()) {
            (Some(_), Some(last)) => *last = state,
            _ => self.maps.push(state),
        }
        (self.tell)(TraceEvent::PresenceMap { bytes, owner: owner.map(FieldRef) });
    }

    fn before(&mut self, op: &Op, position: usize, dictionary: &DictionaryEntries) {
        if is_silent(op) {
            return;
        }
        self.start = position;
        self.value = None;
        self.absent = false;
        self.before = op.rule.uses_dictionary().then(|| PreviousValue::of(dictionary, op));
        if op.code == OpCode::GroupOptional {
            let map_bit = self.take_bit();
            self.tell_field(op, TracedPart::Group, position, map_bit, None);
        }
    }

    fn after(
        &mut self,
        op: &Op,
        (exponent, count): (i32, Option<u64>),
        position: usize,
        dictionary: &DictionaryEntries,
    ) {
        let part = match op.code {
            _ if is_silent(op) => return,
            OpCode::GroupOptional => return,
            OpCode::Exponent | OpCode::ExponentDefault | OpCode::ExponentDefaultOptional => {
                self.value = (!self.absent).then_some(Value::Int(exponent.into()));
                TracedPart::Exponent
            }
            OpCode::Mantissa | OpCode::MantissaDelta => TracedPart::Mantissa,
            OpCode::Length | OpCode::LengthNone => {
                self.value = count.map(Value::UInt);
                TracedPart::Length
            }
            _ => TracedPart::Whole,
        };
        let map_bit = if op.rule.has_map_bit() { self.take_bit() } else { None };
        let before = self.before.take();
        let entry = before.map(|before| (before, PreviousValue::of(dictionary, op)));
        self.tell_field(op, part, position, map_bit, entry);
    }

    fn tell_field(
        &mut self,
        op: &Op,
        part: TracedPart,
        position: usize,
        map_bit: Option<MapBit>,
        entry: Option<(PreviousValue, PreviousValue)>,
    ) {
        (self.tell)(TraceEvent::Field(TracedField {
            field: FieldRef(op.field),
            part,
            bytes: self.start..position,
            operator: op.operator,
            map_bit,
            value: self.value.take(),
            entry,
        }));
    }
}

/// True for operations that are not fields, or whose parts are reported instead.
fn is_silent(op: &Op) -> bool {
    matches!(
        op.code,
        OpCode::NextPresenceWord
            | OpCode::CheckEntryType
            | OpCode::Sequence
            | OpCode::Group
            | OpCode::DynamicRef
    )
}

impl RecordSink for Tracing<'_> {
    const TRACE: bool = true;

    fn trace(&mut self, step: TraceStep<'_>, position: usize, dictionary: &DictionaryEntries) {
        match step {
            TraceStep::Map { start, field } => self.map(start, position, field),
            TraceStep::Template { start, template, reset } => {
                self.take_bit();
                let bytes = start..position;
                let template = template as usize;
                (self.tell)(TraceEvent::Template { bytes, template, reset });
            }
            TraceStep::Before(op) => self.before(op, position, dictionary),
            TraceStep::After { op, exponent, count } => {
                self.after(op, (exponent, count), position, dictionary);
            }
        }
    }

    fn begin_message(&mut self, _segment: &SegmentLayout) -> Result<usize, FastErrorKind> {
        Ok(0)
    }

    fn end_message(&mut self) {
        self.maps.pop();
        (self.tell)(TraceEvent::EndMessage);
    }

    fn integer(&mut self, _base: usize, op: &Op, value: u64) {
        self.value = Some(match op.wire {
            WireType::Int => Value::Int(value as i64),
            _ => Value::UInt(value),
        });
    }

    fn decimal(&mut self, _base: usize, _op: &Op, mantissa: i64, exponent: i32) {
        self.value = Some(Value::Decimal(Decimal { mantissa, exponent }));
    }

    fn short_text(&mut self, _base: usize, _op: &Op, word: Word) {
        self.value = Some(Value::Bytes(short_bytes(&word).unwrap_or_default().into()));
    }

    fn text(&mut self, _base: usize, _op: &Op, bytes: &[u8]) -> Result<(), FastErrorKind> {
        self.value = Some(Value::Bytes(bytes.into()));
        Ok(())
    }

    fn constant(&mut self, _base: usize, op: &Op) {
        let layout = &self.program.fields[op.field as usize];
        if let Storage::Constant(value) | Storage::OptionalConstant(value) = &layout.storage {
            self.value = Some(value.clone());
        }
    }

    fn absent(&mut self, _op: &Op) {
        self.absent = true;
    }

    fn presence(&mut self, _at: usize, _word: u64) {}

    fn begin_group(&mut self, op: &Op) {
        self.maps.push(MapState::default());
        (self.tell)(TraceEvent::BeginGroup(FieldRef(op.field)));
    }

    fn end_group(&mut self, op: &Op) {
        self.maps.pop();
        (self.tell)(TraceEvent::EndGroup(FieldRef(op.field)));
    }

    fn begin_sequence(
        &mut self,
        _base: usize,
        op: &Op,
        count: u32,
        _entry: &SegmentLayout,
    ) -> Result<(usize, usize), FastErrorKind> {
        (self.tell)(TraceEvent::BeginSequence(FieldRef(op.field), count));
        Ok((0, 0))
    }

    fn begin_entry(&mut self, op: &Op, index: u32) {
        self.maps.push(MapState::default());
        (self.tell)(TraceEvent::BeginEntry(FieldRef(op.field), index));
    }

    fn end_entry(&mut self, op: &Op) {
        self.maps.pop();
        (self.tell)(TraceEvent::EndEntry(FieldRef(op.field)));
    }

    fn end_sequence(&mut self, op: &Op) {
        (self.tell)(TraceEvent::EndSequence(FieldRef(op.field)));
    }

    fn dynamic(&mut self, _base: usize, _op: &Op, _template: u32, _place: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, TemplateSet};
    use std::sync::Arc;

    fn events(xml: &str, bytes: &[u8]) -> (Vec<TraceEvent>, Result<usize, FastError>) {
        let options = CompileOptions { constants: true, ..CompileOptions::default() };
        let set = TemplateSet::parse(xml).unwrap();
        let program = Program::compile_with(set, &options).unwrap();
        let mut events = Vec::new();
        let outcome = Decoder::new(Arc::new(program)).trace(bytes, |event| events.push(event));
        (events, outcome)
    }

    fn fields(events: &[TraceEvent]) -> Vec<&TracedField> {
        let mut fields = Vec::new();
        for event in events {
            if let TraceEvent::Field(field) = event {
                fields.push(field);
            }
        }
        fields
    }

    #[test]
    fn bits_bytes_and_entries_of_each_field_are_told() {
        let xml = r#"<templates><template name="T" id="1">
            <string name="c"><constant value="X"/></string>
            <uInt32 name="a"><copy/></uInt32>
            <decimal name="d" presence="optional"><exponent><default/></exponent><mantissa><delta/></mantissa></decimal>
            <string name="s"><copy value="ABCDEFGH"/></string>
          </template></templates>"#;
        let (events, outcome) = events(xml, &[0b1110_0000, 0x81, 0x85]);
        assert_eq!(outcome, Ok(3));
        let fields = fields(&events);
        assert_eq!(fields.len(), 4);
        assert_eq!(fields[0].value, Some(Value::Bytes(b"X"[..].into())));
        assert_eq!(fields[1].bytes, 2..3);
        assert_eq!(fields[1].map_bit, Some(MapBit { index: 1, set: true }));
        let assigned = PreviousValue::Assigned(Value::UInt(5));
        assert_eq!(fields[1].entry, Some((PreviousValue::Undefined, assigned)));
        assert_eq!((fields[2].part, &fields[2].value), (TracedPart::Exponent, &None));
        assert_eq!(fields[3].map_bit, Some(MapBit { index: 3, set: false }));
        assert_eq!(fields[3].value, Some(Value::Bytes(b"ABCDEFGH"[..].into())));
        assert_eq!(events.last(), Some(&TraceEvent::EndMessage));
    }

    #[test]
    fn decimals_are_told_whole_or_in_parts() {
        let xml = r#"<templates><template name="T" id="1">
            <decimal name="whole"/>
            <decimal name="parts"><exponent><copy/></exponent><mantissa><delta/></mantissa></decimal>
          </template></templates>"#;
        let (events, outcome) = events(xml, &[0xe0, 0x81, 0xfe, 0x01, 0x96, 0xfd, 0x87]);
        assert_eq!(outcome, Ok(7));
        let told: Vec<_> =
            fields(&events).iter().map(|field| (field.part, field.value.clone())).collect();
        let whole = Value::Decimal(Decimal { mantissa: 150, exponent: -2 });
        assert_eq!(told[0], (TracedPart::Whole, Some(whole)));
        assert_eq!(told[1], (TracedPart::Exponent, Some(Value::Int(-3))));
        let parts = Value::Decimal(Decimal { mantissa: 7, exponent: -3 });
        assert_eq!(told[2], (TracedPart::Mantissa, Some(parts)));
    }

    #[test]
    fn maps_of_groups_and_entries_count_their_own_bits() {
        let xml = r#"<templates><template name="T" id="1">
            <group name="g" presence="optional"><uInt32 name="a"><copy/></uInt32></group>
            <sequence name="s"><uInt32 name="b"><copy/></uInt32></sequence>
            <uInt32 name="z"><copy/></uInt32>
          </template></templates>"#;
        let bytes = [0b1111_0000, 0x81, 0xc0, 0x82, 0x82, 0xc0, 0x83, 0x80, 0x84];
        let (events, outcome) = events(xml, &bytes);
        assert_eq!(outcome, Ok(9));
        let sequences: Vec<_> = events
            .iter()
            .filter(|event| {
                matches!(event, TraceEvent::BeginSequence(..) | TraceEvent::EndSequence(_))
            })
            .collect();
        assert!(
            matches!(
                sequences.as_slice(),
                [TraceEvent::BeginSequence(begun, 2), TraceEvent::EndSequence(ended)] if begun == ended
            ),
            "{sequences:?}"
        );
        let bits: Vec<_> = fields(&events)
            .iter()
            .map(|field| (field.part, field.map_bit.map(|bit| (bit.index, bit.set))))
            .collect();
        assert_eq!(
            bits,
            [
                (TracedPart::Group, Some((1, true))),
                (TracedPart::Whole, Some((0, true))),
                (TracedPart::Length, None),
                (TracedPart::Whole, Some((0, true))),
                (TracedPart::Whole, Some((0, false))),
                (TracedPart::Whole, Some((2, true))),
            ]
        );
    }

    #[test]
    fn steps_before_a_failure_are_told() {
        let xml = r#"<templates><template name="T" id="1">
            <uInt32 name="a"/><uInt32 name="b"><copy/></uInt32></template></templates>"#;
        let (events, outcome) = events(xml, &[0xc0, 0x81, 0x85]);
        assert_eq!(outcome.unwrap_err().kind(), FastErrorKind::NoInitialValue);
        assert_eq!(fields(&events).len(), 1);
    }
}
