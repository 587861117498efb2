//! Compiles a template set to a [`Program`].

use super::Program;
use super::codes::{whole_code, wire_type};
use super::entries::{EntryNumbers, type_tag};
use super::layout::{FieldLayout, FieldRef, SegmentLayout, SegmentRef, Storage, TemplateLayout};
use super::op::{Initial, Op, OpCode, WireType};
use super::projection::Projection;
use super::{homes, outgoing, quick, runs, view};
use crate::dictionary::inline_word;
use crate::options::setters;
use crate::template::{
    FieldInstruction, FieldType, GroupInstruction, Instruction, Length, Name, Operator,
    OperatorKind, Operators, Presence, TemplateSet, Value, Width,
};
use std::collections::HashMap;
use std::fmt;

/// Presence bits per presence word; the last bit belongs to unwanted fields.
const PLACES_PER_WORD: u32 = 63;
const SCRATCH_BIT: u8 = 63;
const DEPTH_MAX: u32 = 128;

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
    let mut compiler = ProgramCompiler::new(&set, options);
    for index in 0..set.templates().len() {
        compiler.template(index)?;
    }
    compiler.projection.check()?;
    let ProgramCompiler { code, initials, mut segments, fields, templates, entries, .. } = compiler;
    let budget = &mut Budget { set: &set, bytes_max: options.table_bytes_max, bytes: 0 };
    let mut runs = runs::find(&code, &initials, &mut segments, &fields, budget)?;
    let homes = homes::assign(&code, &segments, &mut runs);
    #[cfg(vectors)]
    super::plan::make(&mut runs, &segments);
    let quick = quick::find(&code, &segments, &runs, &templates);
    let outgoing = outgoing::find(&code, &segments, &runs, &quick, &templates);
    let text_of_entry = entries.text_buffers();
    let views = view::make(&fields, &segments);
    let mut program = Program {
        code,
        initials,
        views,
        segments,
        runs,
        homes,
        quick,
        outgoing,
        fields,
        templates,
        entry_count: text_of_entry.len() as u32,
        text_count: text_of_entry.iter().filter(|&&text| text != u32::MAX).count() as u32,
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
struct RecordWords {
    words: u32,
    scratch: Option<u32>,
}

impl RecordWords {
    fn allocate(&mut self, words: u32) -> u32 {
        self.words += words;
        self.words - words
    }
}

/// A segment under construction. Field numbers are relative to its first field until it is closed.
#[derive(Default)]
struct SegmentOps {
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

struct ProgramCompiler<'s> {
    set: &'s TemplateSet,
    options: &'s CompileOptions,
    entries: EntryNumbers,
    code: Vec<Op>,
    initials: Vec<Initial>,
    segments: Vec<SegmentLayout>,
    fields: Vec<FieldLayout>,
    templates: Vec<TemplateLayout>,
    projection: Projection<'s>,
    path: Vec<String>,
    /// Application type at the current position.
    around: Option<&'s Name>,
}

impl<'s> ProgramCompiler<'s> {
    fn new(set: &'s TemplateSet, options: &'s CompileOptions) -> Self {
        Self {
            set,
            options,
            entries: EntryNumbers::of(set),
            code: Vec::new(),
            initials: vec![Initial::default()],
            segments: Vec::new(),
            fields: Vec::new(),
            templates: Vec::new(),
            projection: Projection::of(options.fields.as_deref()),
            path: Vec::new(),
            around: None,
        }
    }

    fn template(&mut self, index: usize) -> Result<(), CompileError> {
        let template = &self.set.templates()[index];
        let mut record = RecordWords { words: 0, scratch: None };
        let all = self.projection.is_complete();
        self.around = template.application_type.as_ref();
        let segment = self.segment(&template.instructions, index, &mut record, all, 0)?;
        self.segments[segment.index()].record_words = record.words;
        self.templates.push(TemplateLayout {
            name: template.name.clone(),
            id: template.id,
            reset: template.reset,
            segment,
        });
        Ok(())
    }

    fn segment(
        &mut self,
        instructions: &'s [Instruction],
        template: usize,
        record: &mut RecordWords,
        wanted: bool,
        depth: u32,
    ) -> Result<SegmentRef, CompileError> {
        let mut body = SegmentOps::default();
        let presence_words =
            self.count(instructions, template, depth)?.div_ceil(PLACES_PER_WORD).max(1);
        let presence_at = record.allocate(presence_words);
        self.body(&mut body, instructions, template, record, wanted, depth)?;

        let segment = SegmentRef(self.segments.len() as u32);
        let first_field = self.fields.len() as u32;
        let first_op = self.code.len() as u32;
        self.segments.push(SegmentLayout {
            ops: first_op..first_op + body.ops.len() as u32,
            fields: first_field..first_field + body.fields.len() as u32,
            map_bits: body.map_bits,
            entry_bytes_min: u32::from(body.takes_bytes || body.map_bits > 0),
            presence_at,
            record_words: 0,
            parent: None,
            template: template as u32,
            run: None,
        });
        for (child, field) in body.children {
            self.segments[child.index()].parent = Some(FieldRef(first_field + field));
        }
        self.code.extend(body.ops.into_iter().map(|op| Op { field: op.field + first_field, ..op }));
        self.fields.extend(body.fields.into_iter().map(|field| FieldLayout { segment, ..field }));
        if self.code.len() > self.options.operations_max {
            let operations_max = self.options.operations_max;
            return Err(CompileError::TooManyOperations { operations_max });
        }
        Ok(segment)
    }

    /// Returns the most presence bits of a segment, with references expanded.
    fn count(
        &self,
        instructions: &[Instruction],
        template: usize,
        depth: u32,
    ) -> Result<u32, CompileError> {
        self.check_depth(template, depth)?;
        let mut count = 0u32;
        for instruction in instructions {
            count += match instruction {
                Instruction::StaticRef(target, _) => {
                    self.count(&self.set.templates()[*target].instructions, template, depth + 1)?
                }
                Instruction::Field(field) => slots(&field.field_type),
                _ => 1,
            };
            if count as usize > self.options.operations_max {
                let operations_max = self.options.operations_max;
                return Err(CompileError::TooManyOperations { operations_max });
            }
        }
        Ok(count)
    }

    fn check_depth(&self, template: usize, depth: u32) -> Result<(), CompileError> {
        if depth > DEPTH_MAX {
            let template = self.set.templates()[template].name.to_string();
            return Err(CompileError::NestingTooDeep { template });
        }
        Ok(())
    }

    fn body(
        &mut self,
        body: &mut SegmentOps,
        instructions: &'s [Instruction],
        template: usize,
        record: &mut RecordWords,
        wanted: bool,
        depth: u32,
    ) -> Result<(), CompileError> {
        self.check_depth(template, depth)?;
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => self.field(body, field, record, wanted),
                Instruction::Group(group) => {
                    self.group(body, group, template, record, wanted, depth)?;
                }
                Instruction::StaticRef(target, _) => {
                    let target = &self.set.templates()[*target];
                    let outer = self.enter_type(target.application_type.as_ref());
                    self.body(body, &target.instructions, template, record, wanted, depth + 1)?;
                    self.around = outer;
                }
                Instruction::DynamicRef(_) => self.dynamic(body, record, wanted),
            }
        }
        Ok(())
    }

    /// Sets the application type for the following instructions; returns the previous one.
    fn enter_type(&mut self, inner: Option<&'s Name>) -> Option<&'s Name> {
        let outer = self.around;
        self.around = inner.or(outer);
        outer
    }

    /// Assigns presence word and bit to a stored field.
    fn presence(&self, body: &mut SegmentOps, wanted: bool, slots: u32) -> (u32, u8) {
        if !wanted {
            return (0, SCRATCH_BIT);
        }
        let place = body.places;
        body.places += slots;
        let word = place / PLACES_PER_WORD;
        if word > body.presence_word {
            body.ops.push(plain_op(OpCode::NextPresenceWord));
            body.presence_word = word;
        }
        (word, (place % PLACES_PER_WORD) as u8)
    }

    fn slot(&self, record: &mut RecordWords, wanted: bool, words: u32) -> u32 {
        if wanted {
            return record.allocate(words);
        }
        match record.scratch {
            Some(slot) => slot,
            None => {
                let slot = record.allocate(2);
                record.scratch = Some(slot);
                slot
            }
        }
    }

    fn field(
        &mut self,
        body: &mut SegmentOps,
        field: &'s FieldInstruction,
        record: &mut RecordWords,
        wanted: bool,
    ) {
        let wanted = self.projection.wants(&self.path, &field.name, field.id) || wanted;
        let optional = field.presence == Presence::Optional;
        let index = body.fields.len() as u32;
        let constant = match &field.operators {
            Operators::Whole(Operator { kind: OperatorKind::Constant, initial, .. }) => {
                initial.clone()
            }
            _ => None,
        };
        let is_stored = constant.is_none() || optional;
        let words = slots(&field.field_type);
        // Unwanted fields get bits too: a record is decoded as a whole.
        let presence = self.presence(body, is_stored, words);
        let storage = match (&constant, optional) {
            _ if !wanted => Storage::Discarded,
            (Some(value), false) => Storage::Constant(value.clone()),
            (Some(value), true) => Storage::OptionalConstant(value.clone()),
            (None, _) => Storage::Slot(0),
        };
        let slot = if is_stored { record.allocate(words) } else { 0 };
        let storage = if storage == Storage::Slot(0) { Storage::Slot(slot) } else { storage };
        body.fields.push(FieldLayout {
            name: field.name.clone(),
            id: field.id,
            optional,
            field_type: Some(field.field_type.clone()),
            storage,
            segment: SegmentRef(0),
            presence,
        });
        let base = Op {
            optional,
            discard: !wanted,
            bit: presence.1,
            slot,
            field: index,
            ..plain_op(OpCode::Text)
        };
        match &field.operators {
            Operators::Whole(operator) => self.whole(body, base, &field.field_type, operator),
            Operators::Parts { exponent, mantissa } => self.parts(body, base, exponent, mantissa),
        }
    }

    fn whole(
        &mut self,
        body: &mut SegmentOps,
        base: Op,
        field_type: &FieldType,
        operator: &Operator,
    ) {
        if operator.kind == OperatorKind::Constant && !base.optional && !self.options.constants {
            return;
        }
        let (wire, width) = wire_type(field_type);
        let base = Op { wire, width, ..base };
        let op = self.operator(body, base, operator, type_tag(field_type));
        body.ops.push(Op { code: whole_code(&op), ..op });
    }

    fn parts(&mut self, body: &mut SegmentOps, base: Op, exponent: &Operator, mantissa: &Operator) {
        let base = Op { wire: WireType::Int, ..base };
        let tag = type_tag(&FieldType::Int(Width::W32));
        let op = self.operator(body, Op { width: Width::W32, ..base }, exponent, tag);
        let code = match (op.operator, op.optional) {
            (OperatorKind::Default, false) => OpCode::ExponentDefault,
            (OperatorKind::Default, true) => OpCode::ExponentDefaultOptional,
            _ => OpCode::Exponent,
        };
        let exponent_at = body.ops.len();
        body.ops.push(Op { code, ..op });

        let base = Op { width: Width::W64, optional: false, ..base };
        let tag = type_tag(&FieldType::Int(Width::W64));
        let op = self.operator(body, base, mantissa, tag);
        let code = if op.operator == OperatorKind::Delta {
            OpCode::MantissaDelta
        } else {
            OpCode::Mantissa
        };
        body.ops.push(Op { code, ..op });
        body.ops[exponent_at].aux = (body.ops.len() - exponent_at - 1) as u32;
    }

    /// Completes `base` with an operator's entry and initial value, counts its presence-map bit,
    /// and inserts a type check before it if fields of several types share its entry.
    fn operator(&mut self, body: &mut SegmentOps, base: Op, operator: &Operator, tag: u8) -> Op {
        let (entry, mixed) = self.entries.entry(operator, self.around);
        let initial = self.initial(operator.initial.as_ref());
        let op = Op { operator: operator.kind, entry, initial, ..base };
        if mixed {
            body.ops.push(Op { code: OpCode::CheckEntryType, aux: u32::from(tag), ..op });
        }
        body.takes_bytes |= operator.kind.is_always_in_stream();
        body.map_bits += u32::from(operator.kind.has_map_bit(op.optional));
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

    /// Compiles a group or sequence. Entries of a sequence are records of their own; a group is
    /// part of the record around it.
    fn group(
        &mut self,
        body: &mut SegmentOps,
        group: &'s GroupInstruction,
        template: usize,
        record: &mut RecordWords,
        wanted: bool,
        depth: u32,
    ) -> Result<(), CompileError> {
        let wanted_inside = self.projection.wants(&self.path, &group.name, group.id) || wanted;
        let outer = self.enter_type(group.application_type.as_ref());
        self.path.push(group.name.local.to_string());
        let mut entry = RecordWords { words: 0, scratch: None };
        let inner = if group.length.is_some() { &mut entry } else { &mut *record };
        let segment =
            self.segment(&group.instructions, template, inner, wanted_inside, depth + 1)?;
        self.around = outer;
        self.path.pop();
        let stored = wanted_inside || self.stores_any(segment);
        let optional = group.presence == Presence::Optional;
        let presence = self.presence(body, stored, 1);
        let field = body.fields.len() as u32;
        body.children.push((segment, field));
        let op =
            Op { optional, discard: !stored, bit: presence.1, field, ..plain_op(OpCode::Group) };
        let storage = match &group.length {
            None => {
                body.map_bits += u32::from(optional);
                let code = if optional { OpCode::GroupOptional } else { OpCode::Group };
                body.ops.push(Op { code, aux: segment.0, ..op });
                Storage::Group(segment)
            }
            Some(length) => {
                self.segments[segment.index()].record_words = entry.words;
                let slot = self.slot(record, stored, 1);
                let op = Op { wire: WireType::UInt, width: Width::W32, slot, ..op };
                self.length(body, length, op);
                body.ops.push(Op { code: OpCode::Sequence, aux: segment.0, ..op });
                Storage::Sequence { slot, segment }
            }
        };
        body.fields.push(FieldLayout {
            name: group.name.clone(),
            id: group.id,
            optional,
            field_type: None,
            storage: if stored { storage } else { Storage::Discarded },
            segment: SegmentRef(0),
            presence,
        });
        Ok(())
    }

    fn length(&mut self, body: &mut SegmentOps, length: &'s Length, base: Op) {
        let tag = type_tag(&FieldType::UInt(Width::W32));
        let op = self.operator(body, base, &length.operator, tag);
        let code = match (op.operator, op.optional) {
            (OperatorKind::None, false) => OpCode::LengthNone,
            _ => OpCode::Length,
        };
        body.ops.push(Op { code, ..op });
    }

    fn dynamic(&mut self, body: &mut SegmentOps, record: &mut RecordWords, wanted: bool) {
        let presence = self.presence(body, wanted, 1);
        let slot = self.slot(record, wanted, 1);
        let field = body.fields.len() as u32;
        body.fields.push(FieldLayout {
            name: Name::local("#dyn"),
            id: None,
            optional: false,
            field_type: None,
            storage: if wanted { Storage::Dynamic(slot) } else { Storage::Discarded },
            segment: SegmentRef(0),
            presence,
        });
        body.ops.push(Op {
            discard: !wanted,
            bit: presence.1,
            slot,
            field,
            ..plain_op(OpCode::DynamicRef)
        });
        body.takes_bytes = true;
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

/// Returns the number of slots of a scalar field.
fn slots(field_type: &FieldType) -> u32 {
    if *field_type == FieldType::Decimal { 2 } else { 1 }
}

fn plain_op(code: OpCode) -> Op {
    Op {
        code,
        operator: OperatorKind::None,
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
