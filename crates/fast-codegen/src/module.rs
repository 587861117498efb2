//! A module as a whole: its structs, its dictionary entries, and its text.

use crate::lanes::Laned;
use crate::names::{NameScope, camel, snake, upper};
use crate::shape::{
    Root, StructMember, StructShape, field_bits, is_text, map_mode, member_scope, takes_bytes,
};
use crate::{GenerateError, GenerateOptions};
use std::collections::HashMap;
use tickwire_fast::Program;
use tickwire_fast::rt::ValueKind;
use tickwire_fast::rt::expanded::{
    Body, ExpandedField, ExpandedSet, FieldKind, Operation, Projection,
};

/// A dictionary entry of the module.
#[derive(Debug)]
pub(crate) struct EntrySlot {
    /// Name of its constant.
    pub(crate) name: String,
    /// Its first word in the state.
    pub(crate) word: usize,
    /// Kinds of its values, by type tag.
    pub(crate) kinds: Vec<(u8, ValueKind)>,
    /// Its text buffer, if some of its values are strings.
    pub(crate) text: Option<usize>,
    /// Its type tag in the state, if fields of several types share it.
    pub(crate) tag: Option<usize>,
}

/// A module under construction.
#[derive(Debug)]
pub(crate) struct Module<'p> {
    pub(crate) program: &'p Program,
    pub(crate) expanded: &'p ExpandedSet<'p>,
    pub(crate) shapes: Vec<StructShape<'p>>,
    pub(crate) slots: Vec<EntrySlot>,
    /// Slot of each entry of the set.
    slot_of: HashMap<u32, usize>,
    pub(crate) words: usize,
    pub(crate) texts: usize,
    pub(crate) tags: usize,
    pub(crate) is_complete: bool,
    /// Sequences decoded in lanes, by their number.
    pub(crate) laned: Vec<Laned>,
}

/// Type names that generated structs must not use.
const TAKEN_TYPES: &str = "Bits Box Charset Clone CodingContext CpuKernel Debug Decimal \
    DecodeSegment Decoder Default EncodeSegment Encoder EntryFacts EntryList Err FastError \
    FieldValue Fresh InputCursor K LaneKind LaneSegment LaneValues Message Messages ModuleValue \
    None Ok Option OutputCursor P Past Record Reference Result Self Some State StateSlot \
    TemplateFacts Templates TextValue Unknown ValueKind Visit Warm";

impl<'p> Module<'p> {
    pub(crate) fn of(
        program: &'p Program,
        expanded: &'p ExpandedSet<'p>,
        options: &GenerateOptions,
    ) -> Result<Self, GenerateError> {
        let mut projection = Projection::of(options.fields.as_deref());
        let is_complete = projection.is_complete();
        let mut module = Self {
            program,
            expanded,
            shapes: Vec::new(),
            slots: Vec::new(),
            slot_of: HashMap::new(),
            words: 0,
            texts: 0,
            tags: 0,
            is_complete,
            laned: Vec::new(),
        };
        module.number_entries()?;
        let mut types = NameScope::with(TAKEN_TYPES);
        let mut idents = NameScope::with("current message");
        for (index, template) in expanded.templates.iter().enumerate() {
            let Some(id) = template.template.id else {
                // A template that is only referenced: its fields are part of other templates. The
                // projection may name them.
                continue;
            };
            let name = types.claim_type(&camel(&template.template.name.local));
            let root = Root {
                template: index,
                number: module.roots().count(),
                id,
                ident: idents.claim(&snake(&name), |_| Vec::new()),
                is_dynamic: template.body.is_dynamic(),
                reset: template.template.reset,
                depth: template.body.depth(),
            };
            let mut shaping = Shaping {
                module: &mut module,
                projection: &mut projection,
                types: &mut types,
                path: Vec::new(),
            };
            let doc = format!("Template `{}`, id {id}.", template.template.name);
            shaping.shape(&template.body, Some(root), name, doc, is_complete, 0);
        }
        projection.check().map_err(GenerateError::Compile)?;
        module.laned = module.find_laned();
        if module.roots().next().is_none() {
            return Err(GenerateError::NoTemplateId);
        }
        Ok(module)
    }

    /// Returns the shapes of templates, by template number.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (&StructShape<'p>, &Root)> {
        self.shapes.iter().filter_map(|shape| Some((shape, shape.root.as_ref()?)))
    }

    /// Assigns a slot to every entry. Entries of templates with an id come first, so that the
    /// entries of a template are adjacent.
    fn number_entries(&mut self) -> Result<(), GenerateError> {
        let mut names = NameScope::default();
        let templates = self.expanded.templates.iter();
        let (with_id, without): (Vec<_>, Vec<_>) =
            templates.partition(|template| template.template.id.is_some());
        for template in with_id.into_iter().chain(without) {
            self.entries_of(&template.body, &mut names);
        }
        if self.slots.len() > usize::from(u16::MAX) {
            return Err(GenerateError::TooManyEntries { entries: self.slots.len() });
        }
        for slot in &mut self.slots {
            let has = |kind| slot.kinds.iter().any(|(_, of)| *of == kind);
            slot.word = self.words;
            self.words += if has(ValueKind::Scaled) { 2 } else { 1 };
            if has(ValueKind::Text) {
                slot.text = Some(self.texts);
                self.texts += 1;
            }
            if slot.kinds.len() > 1 {
                slot.tag = Some(self.tags);
                self.tags += 1;
            }
        }
        Ok(())
    }

    fn entries_of(&mut self, body: &Body<'p>, names: &mut NameScope) {
        for field in &body.fields {
            let parts: &[&str] = match &field.kind {
                FieldKind::Parts { .. } => &["_EXPONENT", "_MANTISSA"],
                FieldKind::Sequence { .. } => &["_LENGTH"],
                _ => &[""],
            };
            for (operation, part) in field.operations().zip(parts) {
                self.entry(operation, &format!("{}{part}", upper(&field.name.local)), names);
            }
            if let Some(body) = field.body() {
                self.entries_of(body, names);
            }
        }
    }

    fn entry(&mut self, operation: &Operation<'_>, name: &str, names: &mut NameScope) {
        let Some(entry) = operation.entry else { return };
        let tag = self.expanded.checked_tag(operation).unwrap_or(0);
        let next = self.slots.len();
        let index = *self.slot_of.entry(entry).or_insert(next);
        if index == next {
            self.slots.push(EntrySlot {
                name: names.claim(&format!("SLOT_{name}"), |_| Vec::new()),
                word: 0,
                kinds: Vec::new(),
                text: None,
                tag: None,
            });
        }
        let kinds = &mut self.slots[index].kinds;
        if !kinds.iter().any(|(of, _)| *of == tag) {
            kinds.push((tag, operation.values()));
        }
    }

    /// Returns the slot number of an operation.
    pub(crate) fn slot_index(&self, operation: &Operation<'_>) -> Option<usize> {
        operation.entry.and_then(|entry| self.slot_of_entry(entry))
    }

    /// Returns the slot number of an entry of the set.
    pub(crate) fn slot_of_entry(&self, entry: u32) -> Option<usize> {
        self.slot_of.get(&entry).copied()
    }

    /// Returns the slot name of an operation.
    pub(crate) fn slot(&self, operation: &Operation<'_>) -> &str {
        self.slot_index(operation).map_or("", |index| &self.slots[index].name)
    }

    /// Returns the type of the module's state.
    pub(crate) fn state_type(&self) -> String {
        format!("rt::ModuleState<{}, {}, {}>", self.words, self.slots.len(), self.tags)
    }
}

/// Turns segments into structs.
struct Shaping<'m, 'p, 'o> {
    module: &'m mut Module<'p>,
    projection: &'m mut Projection<'o>,
    types: &'m mut NameScope,
    path: Vec<String>,
}

impl<'p> Shaping<'_, 'p, '_> {
    fn shape(
        &mut self,
        body: &'p Body<'p>,
        root: Option<Root>,
        name: String,
        doc: String,
        is_wanted: bool,
        depth: u32,
    ) -> usize {
        let mut map_bits = u32::from(root.is_some());
        let (mut members, mut presence) = (Vec::new(), 0);
        let mut scope = member_scope();
        for (index, field) in body.fields.iter().enumerate() {
            let mut member = self.member(field, index, &name, is_wanted, depth, &mut scope);
            member.bit = map_bits;
            map_bits += field_bits(field);
            if member.is_stored && field.is_optional {
                member.presence = Some(presence);
                presence += 1;
            }
            members.push(member);
        }
        let has_text = |member: &StructMember<'_>| {
            is_text(member.plan)
                || member.child.is_some_and(|child| self.module.shapes[child].has_text)
        };
        let shape = StructShape {
            is_stored: root.is_some() || members.iter().any(|member| member.is_stored),
            takes_bytes: map_bits > 0 || body.fields.iter().any(takes_bytes),
            has_text: members.iter().any(has_text),
            mode: map_mode(body, map_bits),
            name,
            doc,
            body,
            members,
            root,
            map_bits,
            presence,
            depth,
        };
        self.module.shapes.push(shape);
        self.module.shapes.len() - 1
    }

    fn member(
        &mut self,
        field: &'p ExpandedField<'p>,
        index: usize,
        parent: &str,
        is_wanted: bool,
        depth: u32,
        scope: &mut NameScope,
    ) -> StructMember<'p> {
        let is_wanted = is_wanted
            || !matches!(field.kind, FieldKind::Dynamic)
                && self.projection.wants(&self.path, field.name, field.id);
        let name = match field.kind {
            FieldKind::Dynamic => "dynamic".to_owned(),
            _ => snake(&field.name.local),
        };
        let ident =
            scope.claim(&name, |name| vec![format!("set_{name}"), name.to_ascii_uppercase()]);
        let child = field.body().map(|body| {
            self.path.push(field.name.local.to_string());
            let name = self.types.claim_type(&format!("{parent}{}", camel(&field.name.local)));
            let doc = match field.kind {
                FieldKind::Group(_) => format!("Group `{}`.", field.name),
                _ => format!("An entry of sequence `{}`.", field.name),
            };
            let child = self.shape(body, None, name, doc, is_wanted, depth + 1);
            self.path.pop();
            child
        });
        let is_stored = match child {
            Some(child) => is_wanted || self.module.shapes[child].is_stored,
            // The content of a reference is always stored: it must be decoded into something.
            None if matches!(field.kind, FieldKind::Dynamic) => true,
            None => is_wanted && !field.is_fixed_constant(),
        };
        if let (Some(child), true) = (child, is_stored) {
            self.module.shapes[child].is_stored = true;
        }
        StructMember { plan: field, index, ident, presence: None, is_stored, bit: 0, child }
    }
}
