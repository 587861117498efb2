//! A template set in the form for code generation: references expanded, dictionary entries
//! numbered.

use crate::program::{EntryNumbers, LaneKind, Program, SegmentRef, Storage, type_tag};
use crate::template::{
    FieldInstruction, FieldType, GroupInstruction, Instruction, Length, Name, Operator, Operators,
    Presence, Template, TemplateSet, Value, Width,
};

pub use crate::program::Projection;
pub use crate::template::OperatorKind;

/// The plan of a whole set.
#[derive(Debug)]
pub struct ModulePlan<'p> {
    /// Templates in the order of the set.
    pub templates: Vec<TemplatePlan<'p>>,
    /// Number of dictionary entries.
    pub entry_count: usize,
}

/// A template.
#[derive(Debug)]
pub struct TemplatePlan<'p> {
    /// The template.
    pub template: &'p Template,
    /// Its fields.
    pub body: Body<'p>,
}

/// The fields of a template, group or sequence entry.
#[derive(Debug)]
pub struct Body<'p> {
    /// Fields in template order; their indexes are those of
    /// [`Record::value`](crate::Record::value).
    pub fields: Vec<FieldPlan<'p>>,
    /// Kinds of the lanes of its fields (decimals have two, mandatory constants none), if SIMD
    /// supports all fields and their number.
    pub lanes: Option<Vec<LaneKind>>,
}

/// A field.
#[derive(Debug)]
pub struct FieldPlan<'p> {
    /// Name; `#dyn` for a dynamic reference.
    pub name: Name,
    /// Field id.
    pub id: Option<u32>,
    /// True if it may be absent.
    pub is_optional: bool,
    /// Kind of field.
    pub kind: FieldKind<'p>,
}

/// Kind of a field.
#[derive(Debug)]
pub enum FieldKind<'p> {
    /// A scalar with one operator.
    Scalar {
        /// Its type.
        field_type: &'p FieldType,
        /// Its operator.
        operation: Operation<'p>,
    },
    /// A decimal with parts.
    Parts {
        /// Operator of the exponent.
        exponent: Operation<'p>,
        /// Operator of the mantissa.
        mantissa: Operation<'p>,
    },
    /// A group.
    Group(Body<'p>),
    /// A sequence.
    Sequence {
        /// Name of the length, if it has one.
        length_name: Option<&'p Name>,
        /// Id of the length, if it has one.
        length_id: Option<u32>,
        /// Operator of the length.
        length: Operation<'p>,
        /// Fields of an entry.
        entry: Body<'p>,
    },
    /// A dynamic template reference.
    Dynamic,
}

/// An operator with its dictionary entry.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'p> {
    /// Which operator.
    pub kind: OperatorKind,
    /// Initial value.
    pub initial: Option<&'p Value>,
    /// Dictionary entry, for operators that have one.
    pub entry: Option<u32>,
    /// The type's tag, if fields of several types share the entry, so that D4 must be checked.
    pub checked_tag: Option<u8>,
    /// The type's tag.
    pub tag: u8,
}

impl<'p> ModulePlan<'p> {
    /// Returns the plan of a compiled set.
    pub fn of(program: &'p Program) -> Self {
        let set = program.set();
        let entries = EntryNumbers::of(set);
        let mut planner = ModulePlanner { program, set, entries: &entries, around: None };
        let templates = set.templates().iter().zip(program.templates());
        let templates = templates
            .map(|(template, layout)| {
                planner.around = template.application_type.as_ref();
                let body = planner.body(&template.instructions, layout.segment);
                TemplatePlan { template, body }
            })
            .collect();
        Self { templates, entry_count: program.entry_count() }
    }

    /// Returns the entries of a template's operators in template order, and whether several types
    /// share them.
    pub fn entries_of(&self, template: usize) -> Vec<(u32, bool)> {
        let mut entries = Vec::new();
        if let Some(template) = self.templates.get(template) {
            template.body.for_each(&mut |operation| {
                entries
                    .extend(operation.entry.map(|entry| (entry, operation.checked_tag.is_some())));
            });
        }
        entries
    }

    /// True if a template has a dynamic reference at any level.
    pub fn is_dynamic(&self, template: usize) -> bool {
        self.templates.get(template).is_some_and(|template| template.body.is_dynamic())
    }
}

impl Body<'_> {
    /// Passes every operator to `each`, in template order.
    pub fn for_each(&self, each: &mut dyn FnMut(&Operation<'_>)) {
        for field in &self.fields {
            match &field.kind {
                FieldKind::Scalar { operation, .. } => each(operation),
                FieldKind::Parts { exponent, mantissa } => {
                    each(exponent);
                    each(mantissa);
                }
                FieldKind::Group(body) => body.for_each(each),
                FieldKind::Sequence { length, entry, .. } => {
                    each(length);
                    entry.for_each(each);
                }
                FieldKind::Dynamic => {}
            }
        }
    }

    /// True if there is a dynamic reference at any level.
    pub fn is_dynamic(&self) -> bool {
        self.fields.iter().any(|field| match &field.kind {
            FieldKind::Dynamic => true,
            FieldKind::Group(body) | FieldKind::Sequence { entry: body, .. } => body.is_dynamic(),
            _ => false,
        })
    }

    /// Returns the nesting depth of groups and sequences.
    pub fn depth(&self) -> u32 {
        let depth = |field: &FieldPlan<'_>| match &field.kind {
            FieldKind::Group(body) | FieldKind::Sequence { entry: body, .. } => 1 + body.depth(),
            FieldKind::Dynamic => 1,
            _ => 0,
        };
        self.fields.iter().map(depth).max().unwrap_or(0)
    }
}

struct ModulePlanner<'p, 'e> {
    program: &'p Program,
    set: &'p TemplateSet,
    entries: &'e EntryNumbers,
    around: Option<&'p Name>,
}

impl<'p> ModulePlanner<'p, '_> {
    fn body(&mut self, instructions: &'p [Instruction], segment: SegmentRef) -> Body<'p> {
        let mut fields = Vec::new();
        self.fields(instructions, segment, &mut fields);
        let run = self.program.segment(segment).run;
        let run = run
            .and_then(|run| self.program.runs.get(run as usize))
            .filter(|run| run.whole && run.fits_vectors());
        Body { fields, lanes: run.map(|run| run.kinds().collect()) }
    }

    fn fields(
        &mut self,
        instructions: &'p [Instruction],
        segment: SegmentRef,
        to: &mut Vec<FieldPlan<'p>>,
    ) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => to.push(self.field(field)),
                Instruction::Group(group) => {
                    let inner = self.inner(segment, to.len());
                    to.push(self.group(group, inner));
                }
                Instruction::StaticRef(target, _) => {
                    let target = &self.set.templates()[*target];
                    let outer = self.enter_type(target.application_type.as_ref());
                    self.fields(&target.instructions, segment, to);
                    self.around = outer;
                }
                Instruction::DynamicRef(_) => to.push(FieldPlan {
                    name: Name::local("#dyn"),
                    id: None,
                    is_optional: false,
                    kind: FieldKind::Dynamic,
                }),
            }
        }
    }

    /// Returns the segment of a group or sequence field.
    fn inner(&self, segment: SegmentRef, index: usize) -> SegmentRef {
        match self.program.fields_of(segment).get(index).map(|field| &field.storage) {
            Some(Storage::Group(inner) | Storage::Sequence { segment: inner, .. }) => *inner,
            _ => segment,
        }
    }

    fn enter_type(&mut self, inner: Option<&'p Name>) -> Option<&'p Name> {
        let outer = self.around;
        self.around = inner.or(outer);
        outer
    }

    fn operation(&self, operator: &'p Operator, field_type: &FieldType) -> Operation<'p> {
        let tag = type_tag(field_type);
        let (entry, is_mixed) = self.entries.entry(operator, self.around);
        let entry = operator.kind.uses_dictionary().then_some(entry);
        Operation {
            kind: operator.kind,
            initial: operator.initial.as_ref(),
            entry,
            checked_tag: is_mixed.then_some(tag),
            tag,
        }
    }

    fn field(&self, field: &'p FieldInstruction) -> FieldPlan<'p> {
        let kind = match &field.operators {
            Operators::Whole(operator) => FieldKind::Scalar {
                field_type: &field.field_type,
                operation: self.operation(operator, &field.field_type),
            },
            Operators::Parts { exponent, mantissa } => FieldKind::Parts {
                exponent: self.operation(exponent, &FieldType::Int(Width::W32)),
                mantissa: self.operation(mantissa, &FieldType::Int(Width::W64)),
            },
        };
        FieldPlan {
            name: field.name.clone(),
            id: field.id,
            is_optional: field.presence == Presence::Optional,
            kind,
        }
    }

    fn group(&mut self, group: &'p GroupInstruction, segment: SegmentRef) -> FieldPlan<'p> {
        let outer = self.enter_type(group.application_type.as_ref());
        let body = self.body(&group.instructions, segment);
        self.around = outer;
        let kind = match &group.length {
            None => FieldKind::Group(body),
            Some(Length { name, id, operator }) => FieldKind::Sequence {
                length_name: name.as_ref(),
                length_id: *id,
                length: self.operation(operator, &FieldType::UInt(Width::W32)),
                entry: body,
            },
        };
        FieldPlan {
            name: group.name.clone(),
            id: group.id,
            is_optional: group.presence == Presence::Optional,
            kind,
        }
    }
}
