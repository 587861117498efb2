//! Compiles a template set to a [`Program`].

use super::Program;
use super::codes::{whole_code, wire_type};
use super::expanded::{
    Body, DEPTH_MAX, ExpandedField, ExpandedSet, ExpandedTemplate, FieldKind, Operation,
    check_operations,
};
use super::layout::{FieldLayout, FieldRef, SegmentLayout, SegmentRef, Storage, TemplateLayout};
use super::op::{Initial, Op, OpCode, WireType};
use super::projection::Projection;
use super::{order, outgoing, quick, runs, view};
use crate::dictionary::inline_word;
use crate::options::setters;
use crate::template::{
    FieldType, OperatorKind, OperatorRule, SilentValue, StreamContent, TemplateSet, Value, Width,
};
use std::collections::HashMap;
use std::fmt;

/// Presence bits per presence word; the last bit belongs to unwanted fields.
const PLACES_PER_WORD: u32 = 63;
const SCRATCH_BIT: u8 = 63;

/// Options of the compiler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileOptions {
    /// Fields to store, by name, by path (`MDEntries/MDEntryPx`) or by id; `None` stores all.
    /// Naming a group or sequence includes all its fields. Other fields are decoded to keep the
    /// dictionaries correct, but cannot be read; sequences without a wanted field are not stored.
    pub fields: Option<Vec<String>>,
    /// Also show mandatory constants to visitors and in traces. Default false.
    pub constants: bool,
    /// Most operations after expanding references. Default 4,194,304.
    pub operations_max: usize,
    /// Most bytes of the engines' decoding tables, which grow with the segments of the expanded
    /// set. Default 256 MiB.
    pub table_bytes_max: usize,
}

setters!(CompileOptions {
    fields: Option<Vec<String>>,
    constants: bool,
    operations_max: usize,
    table_bytes_max: usize,
});

impl Default for CompileOptions {
    fn default() -> Self {
        Self { fields: None, constants: false, operations_max: 1 << 22, table_bytes_max: 256 << 20 }
    }
}

/// Why a template set could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileError {
    /// More operations than [`CompileOptions::operations_max`].
    TooManyOperations {
        /// The limit.
        operations_max: usize,
    },
    /// The tables would take more bytes than [`CompileOptions::table_bytes_max`].
    TablesTooLarge {
        /// Template whose tables exceed the limit.
        template: String,
        /// The limit.
        table_bytes_max: usize,
    },
    /// Groups, sequences and references nest too deep.
    NestingTooDeep {
        /// The template.
        template: String,
    },
    /// The projection names a field that no template has.
    UnknownField {
        /// The name as specified.
        field: String,
    },
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyOperations { operations_max } => write!(
                f,
                "the template set expands to more than {operations_max} operations; \
                 look for references that multiply, or raise operations_max"
            ),
            Self::TablesTooLarge { template, table_bytes_max } => write!(
                f,
                "template \"{template}\": with its tables the set takes more than {table_bytes_max} bytes; \
                 look for references that multiply, or raise table_bytes_max"
            ),
            Self::NestingTooDeep { template } => write!(
                f,
                "template \"{template}\": groups, sequences and references nest deeper than {DEPTH_MAX}"
            ),
            Self::UnknownField { field } => write!(
                f,
                "no template has a field \"{field}\"; give a name, a path such as \
                 MDEntries/MDEntryPx, or a field id (`tickwire templates show` lists them)"
            ),
        }
    }
}

impl std::error::Error for CompileError {}

pub(super) fn compile(set: TemplateSet, options: &CompileOptions) -> Result<Program, CompileError> {
    let expanded = ExpandedSet::of(&set, options)?;
    let mut compiler = ProgramCompiler::new(&expanded, options);
    for template in &expanded.templates {
        compiler.template(template);
    }
    check_operations(compiler.code.len(), options.operations_max)?;
    compiler.projection.check()?;
    let ProgramCompiler { mut code, initials, mut segments, fields, templates, .. } = compiler;
    let mut text_of_entry = expanded.entries.text_buffers();
    drop(expanded);
    let budget = &mut Budget { set: &set, bytes_max: options.table_bytes_max, bytes: 0 };
    let mut runs = runs::find(&code, &initials, &mut segments, &fields, budget)?;
    order::order(&mut code, &segments, &mut runs, &mut text_of_entry);
    #[cfg(vectors)]
    super::plan::make(&mut runs, &segments);
    let quick = quick::find(&code, &segments, &runs, &templates);
    let outgoing = outgoing::find(&code, &segments, &runs, &quick, &templates);
    let views = view::make(&fields, &segments);
    let mut program = Program {
        code,
        initials,
        views,
        segments,
        runs,
        quick,
        outgoing,
        fields,
        templates,
        text_of_entry,
        complete: options.fields.is_none(),
        #[cfg(machine_code)]
        machine_code: Default::default(),
        shows_constants: options.constants,
        dense_ids: Vec::new(),
        sparse_ids: HashMap::new(),
        set,
    };
    program.index_ids();
    Ok(program)
}

/// Remaining bytes for the tables of a program.
pub(super) struct Budget<'s> {
    set: &'s TemplateSet,
    bytes_max: usize,
    bytes: usize,
}

impl Budget<'_> {
    /// Counts table bytes of a segment of this template.
    ///
    /// # Errors
    /// [`CompileError::TablesTooLarge`] if they exceed the limit.
    pub(super) fn take(&mut self, template: u32, bytes: usize) -> Result<(), CompileError> {
        self.bytes += bytes;
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let template = self.set.templates()[template as usize].name.to_string();
        Err(CompileError::TablesTooLarge { template, table_bytes_max: self.bytes_max })
    }
}

/// Words of the record under construction.
#[derive(Default)]
struct RecordWords {
    words: u32,
    scratch: Option<u32>,
}

impl RecordWords {
    fn allocate(&mut self, words: u32) -> u32 {
        self.words += words;
        self.words - words
    }

    /// Returns the slot of a value; unwanted ones share the scratch slot.
    fn slot(&mut self, wanted: bool) -> u32 {
        if wanted {
            return self.allocate(1);
        }
        let slot = self.scratch.unwrap_or_else(|| self.allocate(2));
        self.scratch = Some(slot);
        slot
    }
}

/// A segment under construction. Field numbers are relative to its first field until it is closed.
struct SegmentOps<'r> {
    record: &'r mut RecordWords,
    /// True if all its fields are wanted.
    wanted: bool,
    ops: Vec<Op>,
    fields: Vec<FieldLayout>,
    children: Vec<(SegmentRef, u32)>,
    map_bits: u32,
    /// True if some field is in the stream regardless of the presence map.
    takes_bytes: bool,
    /// Presence bits assigned so far: one per slot of a field, so that bits and slots of
    /// neighbouring fields stay aligned.
    places: u32,
    presence_word: u32,
}

impl<'r> SegmentOps<'r> {
    fn new(record: &'r mut RecordWords, wanted: bool) -> Self {
        Self {
            record,
            wanted,
            ops: Vec::new(),
            fields: Vec::new(),
            children: Vec::new(),
            map_bits: 0,
            takes_bytes: false,
            places: 0,
            presence_word: 0,
        }
    }

    /// Assigns presence word and bit to a stored field.
    fn presence(&mut self, stored: bool, slots: u32) -> (u32, u8) {
        if !stored {
            return (0, SCRATCH_BIT);
        }
        let place = self.places;
        self.places += slots;
        let word = place / PLACES_PER_WORD;
        if word > self.presence_word {
            self.ops.push(plain_op(OpCode::NextPresenceWord));
            self.presence_word = word;
        }
        (word, (place % PLACES_PER_WORD) as u8)
    }

    /// Adds the layout of a field, and returns its operation without a code.
    fn add(&mut self, field: &ExpandedField<'_>, storage: Storage, presence: (u32, u8)) -> Op {
        let op = Op {
            optional: field.is_optional,
            discard: storage == Storage::Discarded,
            bit: presence.1,
            field: self.fields.len() as u32,
            ..plain_op(OpCode::Text)
        };
        self.fields.push(FieldLayout {
            name: field.name.clone(),
            id: field.id,
            optional: field.is_optional,
            field_type: field.field_type().cloned(),
            storage,
            segment: SegmentRef(0),
            presence,
        });
        op
    }
}

struct ProgramCompiler<'s> {
    expanded: &'s ExpandedSet<'s>,
    options: &'s CompileOptions,
    code: Vec<Op>,
    initials: Vec<Initial>,
    segments: Vec<SegmentLayout>,
    fields: Vec<FieldLayout>,
    templates: Vec<TemplateLayout>,
    projection: Projection<'s>,
    path: Vec<String>,
}

impl<'s> ProgramCompiler<'s> {
    fn new(expanded: &'s ExpandedSet<'s>, options: &'s CompileOptions) -> Self {
        Self {
            expanded,
            options,
            code: Vec::new(),
            initials: vec![Initial::default()],
            segments: Vec::new(),
            fields: Vec::new(),
            templates: Vec::new(),
            projection: Projection::of(options.fields.as_deref()),
            path: Vec::new(),
        }
    }

    fn template(&mut self, ExpandedTemplate { template, body }: &ExpandedTemplate<'_>) {
        let mut record = RecordWords::default();
        let all = self.projection.is_complete();
        self.segment(body, &mut record, all);
        self.segments[body.segment.index()].record_words = record.words;
        self.templates.push(TemplateLayout {
            name: template.name.clone(),
            id: template.id,
            reset: template.reset,
            segment: body.segment,
        });
    }

    fn segment(&mut self, body: &Body<'_>, record: &mut RecordWords, wanted: bool) {
        let places: u32 = body.fields.iter().map(slots).sum();
        let presence_at = record.allocate(places.div_ceil(PLACES_PER_WORD).max(1));
        let mut to = SegmentOps::new(record, wanted);
        for field in &body.fields {
            self.field(&mut to, field);
        }
        let first_field = self.fields.len() as u32;
        let first_op = self.code.len() as u32;
        self.segments.push(SegmentLayout {
            ops: first_op..first_op + to.ops.len() as u32,
            fields: first_field..first_field + to.fields.len() as u32,
            map_bits: to.map_bits,
            entry_bytes_min: u32::from(to.takes_bytes || to.map_bits > 0),
            presence_at,
            record_words: 0,
            parent: None,
            template: self.templates.len() as u32,
            run: None,
        });
        for (child, field) in to.children {
            self.segments[child.index()].parent = Some(FieldRef(first_field + field));
        }
        self.code.extend(to.ops.into_iter().map(|op| Op { field: op.field + first_field, ..op }));
        let segment = body.segment;
        self.fields.extend(to.fields.into_iter().map(|field| FieldLayout { segment, ..field }));
    }

    fn field(&mut self, to: &mut SegmentOps<'_>, field: &ExpandedField<'_>) {
        match &field.kind {
            FieldKind::Scalar { field_type, operation } => {
                let constant = operation.initial.filter(|_| operation.rule.is_constant());
                let base = self.scalar(to, field, constant);
                if !field.is_fixed_constant() || self.options.constants {
                    let (wire, width) = wire_type(field_type);
                    let op = self.operation(to, Op { wire, width, ..base }, operation);
                    to.ops.push(Op { code: whole_code(&op), ..op });
                }
            }
            FieldKind::Parts { exponent, mantissa } => {
                let base = self.scalar(to, field, None);
                self.parts(to, base, exponent, mantissa);
            }
            FieldKind::Group(body) => self.group(to, field, body, None),
            FieldKind::Sequence { length, entry, .. } => self.group(to, field, entry, Some(length)),
            FieldKind::Dynamic => {
                let presence = to.presence(to.wanted, 1);
                let slot = to.record.slot(to.wanted);
                let storage = if to.wanted { Storage::Dynamic(slot) } else { Storage::Discarded };
                let base = to.add(field, storage, presence);
                to.ops.push(Op { code: OpCode::DynamicRef, slot, ..base });
                to.takes_bytes = true;
            }
        }
    }

    /// Adds the layout of a scalar field, and returns its operation without a code.
    fn scalar(
        &mut self,
        to: &mut SegmentOps<'_>,
        field: &ExpandedField<'_>,
        constant: Option<&Value>,
    ) -> Op {
        let wanted = self.projection.wants(&self.path, field.name, field.id) || to.wanted;
        let is_stored = constant.is_none() || field.is_optional;
        // Unwanted fields get bits too: a record is decoded as a whole.
        let presence = to.presence(is_stored, slots(field));
        let slot = if is_stored { to.record.allocate(slots(field)) } else { 0 };
        let storage = match constant {
            _ if !wanted => Storage::Discarded,
            Some(value) if field.is_optional => Storage::OptionalConstant(value.clone()),
            Some(value) => Storage::Constant(value.clone()),
            None => Storage::Slot(slot),
        };
        Op { slot, ..to.add(field, storage, presence) }
    }

    fn parts(
        &mut self,
        to: &mut SegmentOps<'_>,
        base: Op,
        exponent: &Operation<'_>,
        mantissa: &Operation<'_>,
    ) {
        let base = Op { wire: WireType::Int, ..base };
        let op = self.operation(to, Op { width: Width::W32, ..base }, exponent);
        let code = match (op.rule.stream, op.rule.silent) {
            (StreamContent::Value, SilentValue::Initial | SilentValue::Absent) => match op.optional
            {
                true => OpCode::ExponentDefaultOptional,
                false => OpCode::ExponentDefault,
            },
            _ => OpCode::Exponent,
        };
        let exponent_at = to.ops.len();
        to.ops.push(Op { code, ..op });

        let base = Op { width: Width::W64, optional: false, ..base };
        let op = self.operation(to, base, mantissa);
        let code = match (op.rule.stream, op.rule.silent) {
            (StreamContent::Delta, SilentValue::Never) => OpCode::MantissaDelta,
            _ => OpCode::Mantissa,
        };
        to.ops.push(Op { code, ..op });
        to.ops[exponent_at].aux = (to.ops.len() - exponent_at - 1) as u32;
    }

    /// Completes `base` with an operator's entry and initial value, counts its presence-map bit,
    /// and inserts a type check before it if fields of several types share its entry.
    fn operation(&mut self, to: &mut SegmentOps<'_>, base: Op, operation: &Operation<'_>) -> Op {
        let entry = operation.entry.unwrap_or(0);
        let initial = self.initial(operation.initial);
        let Operation { kind: operator, rule, .. } = *operation;
        let op = Op { operator, rule, entry, initial, ..base };
        if let Some(tag) = self.expanded.checked_tag(operation) {
            to.ops.push(Op { code: OpCode::CheckEntryType, aux: u32::from(tag), ..op });
        }
        to.takes_bytes |= op.rule.takes_bytes();
        to.map_bits += u32::from(op.rule.has_map_bit());
        op
    }

    fn initial(&mut self, value: Option<&Value>) -> u32 {
        let Some(value) = value else { return 0 };
        let mut initial = Initial { given: true, ..Initial::default() };
        match value {
            Value::UInt(value) => initial.word = *value,
            Value::Int(value) => initial.word = *value as u64,
            Value::Decimal(value) => {
                initial.word = value.mantissa as u64;
                initial.exponent = value.exponent;
            }
            Value::Bytes(bytes) => {
                initial.short = inline_word(bytes);
                initial.bytes = bytes.clone();
            }
        }
        self.initials.push(initial);
        self.initials.len() as u32 - 1
    }

    /// Compiles a group, or with a length a sequence. Entries of a sequence are records of their own;
    /// a group is part of the record around it.
    fn group(
        &mut self,
        to: &mut SegmentOps<'_>,
        field: &ExpandedField<'_>,
        body: &Body<'_>,
        length: Option<&Operation<'_>>,
    ) {
        let wanted_inside = self.projection.wants(&self.path, field.name, field.id) || to.wanted;
        self.path.push(field.name.local.to_string());
        let mut entry = RecordWords::default();
        let inner = if length.is_some() { &mut entry } else { &mut *to.record };
        self.segment(body, inner, wanted_inside);
        self.path.pop();
        let segment = body.segment;
        let stored = wanted_inside || self.stores_any(segment);
        let presence = to.presence(stored, 1);
        to.children.push((segment, to.fields.len() as u32));
        let slot = if length.is_some() { to.record.slot(stored) } else { 0 };
        let storage = match length {
            _ if !stored => Storage::Discarded,
            None => Storage::Group(segment),
            Some(_) => Storage::Sequence { slot, segment },
        };
        let op = Op { slot, ..to.add(field, storage, presence) };
        let Some(length) = length else {
            to.map_bits += u32::from(op.optional);
            let code = if op.optional { OpCode::GroupOptional } else { OpCode::Group };
            to.ops.push(Op { code, aux: segment.0, ..op });
            return;
        };
        self.segments[segment.index()].record_words = entry.words;
        let op = Op { width: Width::W32, ..op };
        let length = self.operation(to, op, length);
        let is_plain = length.rule == OperatorRule::PLAIN && !length.optional;
        let code = if is_plain { OpCode::LengthNone } else { OpCode::Length };
        to.ops.push(Op { code, ..length });
        to.ops.push(Op { code: OpCode::Sequence, aux: segment.0, ..op });
    }

    fn stores_any(&self, segment: SegmentRef) -> bool {
        let fields = self.segments[segment.index()].fields.clone();
        self.fields[fields.start as usize..fields.end as usize].iter().any(|field| {
            match field.storage {
                Storage::Discarded => false,
                Storage::Group(group) => self.stores_any(group),
                _ => true,
            }
        })
    }
}

/// Returns the number of slots of a field, of which each has a presence bit.
fn slots(field: &ExpandedField<'_>) -> u32 {
    if field.field_type() == Some(&FieldType::Decimal) { 2 } else { 1 }
}

fn plain_op(code: OpCode) -> Op {
    Op {
        code,
        operator: OperatorKind::None,
        rule: OperatorRule::PLAIN,
        wire: WireType::UInt,
        width: Width::W64,
        optional: false,
        discard: false,
        bit: SCRATCH_BIT,
        slot: 0,
        entry: 0,
        field: 0,
        aux: 0,
        initial: 0,
    }
}
