//! The expanded form of a template set: static references are replaced by the fields of their
//! templates, and dictionary entries are numbered. Programs are compiled and modules are generated
//! from it.

use super::compile::{CompileError, CompileOptions};
use super::entries::{EntryNumbers, ValueKind, type_tag};
use super::layout::SegmentRef;
use crate::template::{
    FieldInstruction, FieldType, GroupInstruction, Instruction, Name, Operator, OperatorKind,
    OperatorRule, Operators, Presence, Template, TemplateSet, Value, Width,
};
use std::sync::LazyLock;

/// Limit of the nesting of groups, sequences and references.
pub(super) const DEPTH_MAX: u32 = 128;

/// Name of dynamic references.
static DYNAMIC: LazyLock<Name> = LazyLock::new(|| Name::local("#dyn"));

/// A template set with references expanded.
#[derive(Debug)]
pub struct ExpandedSet<'s> {
    /// Templates in the order of the set.
    pub templates: Vec<ExpandedTemplate<'s>>,
    pub(super) entries: EntryNumbers<'s>,
}

/// A template.
#[derive(Debug)]
pub struct ExpandedTemplate<'s> {
    /// The template.
    pub template: &'s Template,
    /// Its fields.
    pub body: Body<'s>,
}

/// The fields of a template, group or sequence entry.
#[derive(Debug)]
pub struct Body<'s> {
    /// Fields in template order; their indexes are those of
    /// [`Record::value`](crate::Record::value).
    pub fields: Vec<ExpandedField<'s>>,
    /// Segment of the program. Segments are numbered in the order in which they end.
    pub segment: SegmentRef,
}

/// A field.
#[derive(Debug)]
pub struct ExpandedField<'s> {
    /// Name; `#dyn` for a dynamic reference.
    pub name: &'s Name,
    /// Field id.
    pub id: Option<u32>,
    /// True if it may be absent.
    pub is_optional: bool,
    /// Kind of field.
    pub kind: FieldKind<'s>,
}

/// Kind of a field.
#[derive(Debug)]
pub enum FieldKind<'s> {
    /// A scalar with one operator.
    Scalar {
        /// Its type.
        field_type: &'s FieldType,
        /// Its operator.
        operation: Operation<'s>,
    },
    /// A decimal with parts.
    Parts {
        /// Operator of the exponent.
        exponent: Operation<'s>,
        /// Operator of the mantissa.
        mantissa: Operation<'s>,
    },
    /// A group.
    Group(Body<'s>),
    /// A sequence.
    Sequence {
        /// Name of the length, if it has one.
        length_name: Option<&'s Name>,
        /// Id of the length, if it has one.
        length_id: Option<u32>,
        /// Operator of the length.
        length: Operation<'s>,
        /// Fields of an entry.
        entry: Body<'s>,
    },
    /// A dynamic template reference.
    Dynamic,
}

/// An operator with its dictionary entry.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'s> {
    /// Which operator.
    pub kind: OperatorKind,
    /// Its rule.
    pub rule: OperatorRule,
    /// Initial value.
    pub initial: Option<&'s Value>,
    /// Dictionary entry, for operators that have one.
    pub entry: Option<u32>,
    /// The type's tag.
    pub tag: u8,
}

impl<'s> ExpandedSet<'s> {
    /// Expands a set.
    ///
    /// # Errors
    /// [`CompileError`] if it has more operations than the options allow, or nests too deep.
    pub fn of(set: &'s TemplateSet, options: &CompileOptions) -> Result<Self, CompileError> {
        let mut expansion = Expansion {
            set,
            operations_max: options.operations_max,
            operations: 0,
            segments: 0,
            entries: EntryNumbers::default(),
        };
        let expand = |template| expansion.template(template);
        let templates = set.templates().iter().map(expand).collect::<Result<_, _>>()?;
        Ok(Self { templates, entries: expansion.entries })
    }

    /// Returns the tag of an operation's type if fields of several types share its entry, so that
    /// D4 must be checked.
    pub fn checked_tag(&self, operation: &Operation<'_>) -> Option<u8> {
        let is_mixed = operation.entry.is_some_and(|entry| self.entries.is_mixed(entry));
        is_mixed.then_some(operation.tag)
    }
}

impl Operation<'_> {
    /// Returns the kind of its previous values.
    pub fn values(&self) -> ValueKind {
        ValueKind::of_tag(self.tag)
    }
}

impl Body<'_> {
    /// Passes every operator to `each`, in template order.
    pub fn for_each(&self, each: &mut dyn FnMut(&Operation<'_>)) {
        for field in &self.fields {
            field.operations().for_each(&mut *each);
            if let Some(body) = field.body() {
                body.for_each(each);
            }
        }
    }

    /// True if there is a dynamic reference at any level.
    pub fn is_dynamic(&self) -> bool {
        self.fields.iter().any(|field| {
            matches!(field.kind, FieldKind::Dynamic) || field.body().is_some_and(Self::is_dynamic)
        })
    }

    /// Returns the nesting depth of groups and sequences.
    pub fn depth(&self) -> u32 {
        let depth = |field: &ExpandedField<'_>| match (&field.kind, field.body()) {
            (_, Some(body)) => 1 + body.depth(),
            (FieldKind::Dynamic, None) => 1,
            _ => 0,
        };
        self.fields.iter().map(depth).max().unwrap_or(0)
    }
}

impl<'s> ExpandedField<'s> {
    /// Returns its own operators, without those of the fields inside it.
    pub fn operations(&self) -> impl Iterator<Item = &Operation<'s>> {
        let (first, second) = match &self.kind {
            FieldKind::Scalar { operation, .. } => (Some(operation), None),
            FieldKind::Parts { exponent, mantissa } => (Some(exponent), Some(mantissa)),
            FieldKind::Sequence { length, .. } => (Some(length), None),
            FieldKind::Group(_) | FieldKind::Dynamic => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Returns the fields of a group or of a sequence entry.
    pub fn body(&self) -> Option<&Body<'s>> {
        match &self.kind {
            FieldKind::Group(body) | FieldKind::Sequence { entry: body, .. } => Some(body),
            _ => None,
        }
    }

    /// Returns the type of a scalar field.
    pub fn field_type(&self) -> Option<&FieldType> {
        match &self.kind {
            FieldKind::Scalar { field_type, .. } => Some(field_type),
            FieldKind::Parts { .. } => Some(&FieldType::Decimal),
            _ => None,
        }
    }

    /// True if it is a mandatory constant, which is not transmitted.
    pub fn is_fixed_constant(&self) -> bool {
        matches!(&self.kind, FieldKind::Scalar { operation, .. }
            if operation.rule.is_constant() && !self.is_optional)
    }
}

/// A set that is being expanded.
struct Expansion<'s> {
    set: &'s TemplateSet,
    operations_max: usize,
    /// Number of operations so far, at least: one per field.
    operations: usize,
    /// Number of segments so far.
    segments: u32,
    entries: EntryNumbers<'s>,
}

/// Where instructions are expanded.
#[derive(Clone, Copy)]
struct Place<'s> {
    /// The template that is expanded.
    template: &'s Template,
    /// The application type around them. A group or a referenced template without a type of its own
    /// inherits it.
    application_type: Option<&'s Name>,
    /// Number of groups, sequences and references around them.
    depth: u32,
}

impl<'s> Place<'s> {
    /// Returns the place inside a group, sequence or reference.
    fn inside(self, application_type: &'s Option<Name>) -> Self {
        let application_type = application_type.as_ref().or(self.application_type);
        Self { application_type, depth: self.depth + 1, ..self }
    }
}

impl<'s> Expansion<'s> {
    fn template(&mut self, template: &'s Template) -> Result<ExpandedTemplate<'s>, CompileError> {
        let application_type = template.application_type.as_ref();
        let body =
            self.body(&template.instructions, Place { template, application_type, depth: 0 })?;
        Ok(ExpandedTemplate { template, body })
    }

    fn body(
        &mut self,
        instructions: &'s [Instruction],
        place: Place<'s>,
    ) -> Result<Body<'s>, CompileError> {
        let mut fields = Vec::new();
        self.fields(&mut fields, instructions, place)?;
        self.segments += 1;
        Ok(Body { fields, segment: SegmentRef(self.segments - 1) })
    }

    fn fields(
        &mut self,
        to: &mut Vec<ExpandedField<'s>>,
        instructions: &'s [Instruction],
        place: Place<'s>,
    ) -> Result<(), CompileError> {
        if place.depth > DEPTH_MAX {
            let template = place.template.name.to_string();
            return Err(CompileError::NestingTooDeep { template });
        }
        for instruction in instructions {
            let field = match instruction {
                Instruction::Field(field) => self.scalar(field, place),
                Instruction::Group(group) => self.group(group, place)?,
                Instruction::StaticRef(target, _) => {
                    let target = &self.set.templates()[*target];
                    let inside = place.inside(&target.application_type);
                    self.fields(to, &target.instructions, inside)?;
                    continue;
                }
                Instruction::DynamicRef(_) => ExpandedField {
                    name: &DYNAMIC,
                    id: None,
                    is_optional: false,
                    kind: FieldKind::Dynamic,
                },
            };
            self.operations += usize::from(!field.is_fixed_constant());
            check_operations(self.operations, self.operations_max)?;
            to.push(field);
        }
        Ok(())
    }

    fn scalar(&mut self, field: &'s FieldInstruction, place: Place<'s>) -> ExpandedField<'s> {
        let is_optional = field.presence == Presence::Optional;
        let mut operation =
            |operator, of, is_optional| self.operation(operator, of, is_optional, place);
        let kind = match &field.operators {
            Operators::Whole(operator) => FieldKind::Scalar {
                field_type: &field.field_type,
                operation: operation(operator, &field.field_type, is_optional),
            },
            Operators::Parts { exponent, mantissa } => FieldKind::Parts {
                exponent: operation(exponent, &FieldType::Int(Width::W32), is_optional),
                mantissa: operation(mantissa, &FieldType::Int(Width::W64), false),
            },
        };
        ExpandedField { name: &field.name, id: field.id, is_optional, kind }
    }

    fn group(
        &mut self,
        group: &'s GroupInstruction,
        place: Place<'s>,
    ) -> Result<ExpandedField<'s>, CompileError> {
        let is_optional = group.presence == Presence::Optional;
        let length = group.length.as_ref().map(|of| {
            (of, self.operation(&of.operator, &FieldType::UInt(Width::W32), is_optional, place))
        });
        let body = self.body(&group.instructions, place.inside(&group.application_type))?;
        let kind = match length {
            None => FieldKind::Group(body),
            Some((of, length)) => FieldKind::Sequence {
                length_name: of.name.as_ref(),
                length_id: of.id,
                length,
                entry: body,
            },
        };
        Ok(ExpandedField { name: &group.name, id: group.id, is_optional, kind })
    }

    fn operation(
        &mut self,
        operator: &'s Operator,
        field_type: &FieldType,
        is_optional: bool,
        place: Place<'s>,
    ) -> Operation<'s> {
        let tag = type_tag(field_type);
        let initial = operator.initial.as_ref();
        let rule = operator.kind.rule(is_optional, initial.is_some());
        let number = || self.entries.number(operator, place.application_type, tag);
        let entry = rule.uses_dictionary().then(number);
        Operation { kind: operator.kind, rule, initial, entry, tag }
    }
}

/// Checks a number of operations.
///
/// # Errors
/// [`CompileError::TooManyOperations`] above the limit.
pub(super) fn check_operations(count: usize, operations_max: usize) -> Result<(), CompileError> {
    match count > operations_max {
        true => Err(CompileError::TooManyOperations { operations_max }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referenced_template_takes_the_type_around_the_reference() {
        let xml = r#"<templates dictionary="type">
            <template name="H"><uInt32 name="a"><copy/></uInt32></template>
            <template name="A" id="1"><typeRef name="Q"/><templateRef name="H"/></template>
            <template name="B" id="2"><typeRef name="R"/><templateRef name="H"/></template>
            <template name="C" id="3"><typeRef name="Q"/><uInt32 name="a"><copy/></uInt32></template>
            </templates>"#;
        let set = TemplateSet::parse(xml).expect("valid");
        let expanded = ExpandedSet::of(&set, &CompileOptions::default()).expect("small");
        let entry = |template: usize| {
            let mut entries = Vec::new();
            expanded.templates[template].body.for_each(&mut |of| entries.extend(of.entry));
            entries
        };
        let [own, q, r, c] = [0, 1, 2, 3].map(entry);
        assert!(own.len() == 1 && own != q && own != r && q != r);
        assert_eq!(q, c);
    }

    /// A template of one group, and `levels` templates that reference the one before twice.
    fn doubling(levels: usize) -> TemplateSet {
        let mut xml = "<templates><template name='t0'><group name='g'><int8 name='c'><constant \
            value='1'/></int8><int8 name='a'/></group></template>"
            .to_owned();
        for level in 1..=levels {
            let reference = format!("<templateRef name='t{}'/>", level - 1);
            xml += &format!("<template name='t{level}'>{reference}{reference}</template>");
        }
        TemplateSet::parse(&(xml + "</templates>")).expect("valid")
    }

    #[test]
    fn expansion_ends_at_the_limit_of_operations() {
        // The group occurs 1 + 2 + 4 + 8 + 16 times, with two operations; the constant is none.
        let set = doubling(4);
        let options = CompileOptions::default().operations_max(62);
        assert!(ExpandedSet::of(&set, &options).is_ok());
        let error = ExpandedSet::of(&set, &options.operations_max(61)).expect_err("one more");
        assert_eq!(error, CompileError::TooManyOperations { operations_max: 61 });
    }
}
