//! The steps of decoding as rows of text.

use std::ops::Range;
use tickwire_fast::template::{FieldType, Instruction, Operator, Operators, Value};
use tickwire_fast::{
    FieldRef, MapBit, PreviousValue, Program, TraceEvent, TracedField, TracedPart,
};
use tickwire_text::outline::Outline;
use tickwire_text::words;

/// Most rows of a message; the others are counted.
const ROWS_MAX: usize = 20_000;
/// Most characters of a value, or of a dictionary entry before or after.
const TEXT_MAX: usize = 2000;

/// One line of an explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplanationRow {
    /// Nesting depth in groups and sequences.
    pub depth: usize,
    /// Its bytes in the packet; empty if it has none.
    pub bytes: Range<usize>,
    /// Name of the field, or a heading.
    pub name: String,
    /// True if `name` is not the name of a field.
    pub is_heading: bool,
    /// Type.
    pub kind: String,
    /// Operator and initial value.
    pub operator: String,
    /// Presence-map bit: its index and whether it is set.
    pub bit: String,
    /// Value.
    pub value: String,
    /// Dictionary entry, before and after.
    pub dictionary: String,
    /// For a presence map, the purpose of each of its bits.
    pub map_bits: Option<Vec<String>>,
    /// True if the entry changed.
    pub changes_dictionary: bool,
}

impl ExplanationRow {
    /// Returns the name, indented by depth.
    pub fn indented_name(&self) -> String {
        format!("{}{}", "  ".repeat(self.depth), self.name)
    }
}

/// Converts events to rows.
pub struct ExplanationRows<'p> {
    program: &'p Program,
    outline: &'p Outline<'p>,
    /// Offset in the packet of the bytes given to the decoder.
    base: usize,
    depth: usize,
    rows: Vec<ExplanationRow>,
    /// Rows beyond [`ROWS_MAX`].
    omitted: u64,
    /// For each presence map, the index of its row and the purposes of the bits used so far.
    maps: Vec<(usize, Vec<String>)>,
    open_maps: Vec<Option<usize>>,
}

impl<'p> ExplanationRows<'p> {
    /// Creates an empty list of rows, for a message at `base` in the packet.
    pub fn new(program: &'p Program, outline: &'p Outline<'p>, base: usize) -> Self {
        Self {
            program,
            outline,
            base,
            depth: 0,
            rows: Vec::new(),
            omitted: 0,
            maps: Vec::new(),
            open_maps: Vec::new(),
        }
    }

    /// Returns the rows, and the number of omitted ones.
    pub fn finish(mut self) -> (Vec<ExplanationRow>, u64) {
        for (row, bits) in self.maps {
            self.rows[row].map_bits = Some(bits);
        }
        (self.rows, self.omitted)
    }

    /// Handles the next event.
    pub fn event(&mut self, event: &TraceEvent) {
        match event {
            TraceEvent::PresenceMap { bytes, owner } => self.map(bytes, *owner),
            TraceEvent::Template { bytes, template, reset } => {
                self.template(bytes, *template, *reset);
            }
            TraceEvent::Field(field) => self.field(field),
            TraceEvent::BeginGroup(field) => self.begin_group(*field),
            TraceEvent::BeginEntry(field, index) => {
                self.heading(format!("{}[{index}]", self.name(*field)));
                self.begin();
            }
            TraceEvent::EndGroup(_) | TraceEvent::EndEntry(_) => self.end(),
            TraceEvent::EndMessage => {
                self.open_maps.pop();
            }
            _ => {}
        }
    }

    /// The row of an optional group's presence serves as its heading.
    fn begin_group(&mut self, field: FieldRef) {
        if !self.program.field(field).optional {
            self.heading(self.name(field));
        }
        self.begin();
    }

    fn begin(&mut self) {
        self.depth += 1;
        self.open_maps.push(None);
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.open_maps.pop();
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX
    }

    fn push(&mut self, row: ExplanationRow) {
        match self.is_full() {
            true => self.omitted += 1,
            false => self.rows.push(row),
        }
    }

    fn heading(&mut self, name: String) {
        let depth = self.depth;
        self.push(ExplanationRow { depth, name, is_heading: true, ..ExplanationRow::default() });
    }

    fn range(&self, bytes: &Range<usize>) -> Range<usize> {
        self.base + bytes.start..self.base + bytes.end
    }

    fn map(&mut self, bytes: &Range<usize>, owner: Option<FieldRef>) {
        let map = (!self.is_full()).then_some(self.maps.len());
        if map.is_some() {
            self.maps.push((self.rows.len(), Vec::new()));
        }
        match (owner, self.open_maps.last_mut()) {
            (Some(_), Some(open)) => *open = map,
            _ => self.open_maps.push(map),
        }
        let depth = self.depth;
        let name = "presence map".to_owned();
        let bytes = self.range(bytes);
        self.push(ExplanationRow {
            depth,
            bytes,
            name,
            is_heading: true,
            ..ExplanationRow::default()
        });
    }

    fn template(&mut self, bytes: &Range<usize>, template: usize, reset: bool) {
        let layout = &self.program.templates()[template];
        let in_stream = !bytes.is_empty();
        self.use_bit(MapBit { index: 0, set: in_stream }, "template id");
        let id = layout.id.map(|id| id.to_string()).unwrap_or_default();
        let from = if in_stream { "" } else { ", as in the message before" };
        let emptied = if reset { "; dictionaries emptied" } else { "" };
        self.push(ExplanationRow {
            depth: self.depth,
            bytes: self.range(bytes),
            name: "template id".to_owned(),
            is_heading: true,
            kind: "uInt32".to_owned(),
            operator: "copy".to_owned(),
            bit: bit_text(MapBit { index: 0, set: in_stream }),
            value: format!("{id} {}{from}{emptied}", layout.name),
            ..ExplanationRow::default()
        });
    }

    /// Records the purpose of a bit in the row of the innermost map.
    fn use_bit(&mut self, bit: MapBit, name: &str) {
        if let Some(&Some(map)) = self.open_maps.last()
            && !self.is_full()
        {
            self.maps[map].1.push(format!("{}={name}", u8::from(bit.set)));
        }
    }

    fn field(&mut self, traced: &TracedField) {
        if self.is_full() {
            self.omitted += 1;
            return;
        }
        let name = self.part_name(traced);
        if let Some(bit) = traced.map_bit {
            self.use_bit(bit, &name);
        }
        let operator = self.operator(traced);
        let mut row = ExplanationRow {
            depth: self.depth,
            bytes: self.range(&traced.bytes),
            kind: self.kind(traced),
            operator: operator.map(words::operator).unwrap_or_default(),
            bit: traced.map_bit.map(bit_text).unwrap_or_default(),
            value: self.value(traced),
            name,
            ..ExplanationRow::default()
        };
        if let (Some((before, after)), Some(operator)) = (&traced.entry, operator) {
            row.changes_dictionary = before != after;
            let change = match before == after {
                true => format!("{} unchanged", previous_text(after)),
                false => format!("{} -> {}", previous_text(before), previous_text(after)),
            };
            row.dictionary = format!("{}: {change}", words::entry(&operator.entry));
        }
        self.push(row);
    }

    fn name(&self, field: FieldRef) -> String {
        self.program.field(field).name.to_string()
    }

    fn part_name(&self, traced: &TracedField) -> String {
        let name = self.name(traced.field);
        match (traced.part, self.outline.instruction(traced.field)) {
            (TracedPart::Exponent, _) => format!("{name}.exponent"),
            (TracedPart::Mantissa, _) => format!("{name}.mantissa"),
            (TracedPart::Length, Some(Instruction::Group(group))) => {
                let length = group.length.as_ref().and_then(|length| length.name.as_ref());
                length.map_or(format!("{name}.length"), |length| length.to_string())
            }
            _ => name,
        }
    }

    fn operator(&self, traced: &TracedField) -> Option<&'p Operator> {
        match (traced.part, self.outline.instruction(traced.field)?) {
            (TracedPart::Length, Instruction::Group(group)) => {
                group.length.as_ref().map(|length| &length.operator)
            }
            (part, Instruction::Field(field)) => match (&field.operators, part) {
                (Operators::Whole(operator), _) => Some(operator),
                (Operators::Parts { exponent, .. }, TracedPart::Exponent) => Some(exponent),
                (Operators::Parts { mantissa, .. }, _) => Some(mantissa),
            },
            _ => None,
        }
    }

    fn kind(&self, traced: &TracedField) -> String {
        let layout = self.program.field(traced.field);
        let mut kind = match traced.part {
            TracedPart::Exponent => "int32".to_owned(),
            TracedPart::Mantissa => "int64".to_owned(),
            TracedPart::Length => "length".to_owned(),
            TracedPart::Group => "group".to_owned(),
            TracedPart::Whole => {
                layout.field_type.as_ref().map(words::field_type).unwrap_or_default()
            }
        };
        if layout.optional && traced.part != TracedPart::Mantissa {
            kind.push('?');
        }
        kind
    }

    fn value(&self, traced: &TracedField) -> String {
        let Some(value) = &traced.value else {
            let is_there =
                traced.part == TracedPart::Group && traced.map_bit.is_some_and(|b| b.set);
            return if is_there { "present".to_owned() } else { "absent".to_owned() };
        };
        let text = shortened(words::value(value));
        match (&self.program.field(traced.field).field_type, value) {
            (Some(FieldType::Enum(enumeration)), Value::UInt(number)) => {
                let element = enumeration.elements.iter().find(|e| e.value == *number);
                element.map_or(text.clone(), |element| format!("{text} = {}", element.name))
            }
            (Some(FieldType::Set(enumeration)), Value::UInt(bits)) => {
                let names = enumeration.elements.iter().filter(|e| bits & e.value != 0);
                let names: Vec<&str> = names.map(|element| &*element.name).collect();
                format!("{text} = {{{}}}", names.join(", "))
            }
            _ => text,
        }
    }
}

fn bit_text(bit: MapBit) -> String {
    format!("{}:{}", bit.index, u8::from(bit.set))
}

fn previous_text(previous: &PreviousValue) -> String {
    match previous {
        PreviousValue::Undefined => "undefined".to_owned(),
        PreviousValue::Empty => "empty".to_owned(),
        PreviousValue::Assigned(value) => shortened(words::value(value)),
    }
}

/// Returns at most [`TEXT_MAX`] characters of a text, and the number of omitted ones.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(TEXT_MAX) {
        let more = text[end..].chars().count();
        text.truncate(end);
        text.push_str(&format!(".. and {more} more"));
        text.shrink_to_fit();
    }
    text
}
