//! The layout of the JSON objects of a program's records, computed once.

use super::{JsonForm, push_decimal, push_integer, push_string, push_unsigned, push_value};
use crate::Fields;
use crate::literal::Literal;
use crate::source::{FieldAccess, push_plain};
use tickwire_fast::{FieldHandle, FieldValue, Message, Program, Record, SegmentRef, Storage};

/// Writes the records of a program in [`JsonForm::Named`].
pub(crate) struct JsonPlan {
    /// Members `t` and `n` of each template, up to the value of `msg`.
    heads: Vec<Literal>,
    /// Objects by segment; empty for segments that the projection or the selection of fields omits.
    objects: Vec<Object>,
}

/// The layout of a record's object.
#[derive(Default)]
struct Object {
    members: Vec<JsonMember>,
    end: Literal,
}

struct JsonMember {
    /// Text between the previous value and this one: names, and constant members.
    lead: Literal,
    source: FieldAccess,
}

impl JsonPlan {
    /// Creates the plan for all templates of a program.
    pub(crate) fn of(program: &Program, fields: &Fields) -> Self {
        let mut plan = Self { heads: Vec::new(), objects: Vec::new() };
        for template in program.templates() {
            let mut head = b"\"t\": ".to_vec();
            match template.id {
                Some(id) => push_unsigned(&mut head, u64::from(id.0)),
                None => head.extend_from_slice(b"null"),
            }
            head.extend_from_slice(b", \"n\": ");
            push_string(&mut head, &template.name.local);
            head.extend_from_slice(b", \"msg\": ");
            plan.heads.push(Literal::new(&head));
            plan.add(program, template.segment, fields);
        }
        plan
    }

    fn add(&mut self, program: &Program, segment: SegmentRef, fields: &Fields) {
        let mut object = Object::default();
        let mut lead = b"{".to_vec();
        let mut is_first = true;
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            if field.storage == Storage::Discarded || !fields.shows_in(program, segment, index) {
                continue;
            }
            if !is_first {
                lead.extend_from_slice(b", ");
            }
            is_first = false;
            push_string(&mut lead, &field.name.local);
            lead.extend_from_slice(b": ");
            if let (Storage::Constant(_), Some(value)) = (&field.storage, field.constant()) {
                push_value(&mut lead, field, value, JsonForm::Named);
                continue;
            }
            let source = FieldAccess::of(program, FieldHandle { segment, index });
            object.members.push(JsonMember { lead: Literal::new(&lead), source });
            lead.clear();
            if let Storage::Group(inner) | Storage::Sequence { segment: inner, .. } = field.storage
            {
                self.add(program, inner, fields);
            }
        }
        lead.push(b'}');
        object.end = Literal::new(&lead);
        let place = segment.index();
        if self.objects.len() <= place {
            self.objects.resize_with(place + 1, Object::default);
        }
        self.objects[place] = object;
    }

    /// Appends a message as the members `t`, `n` and `msg`.
    pub(crate) fn push_message(&self, out: &mut Vec<u8>, message: &Message) {
        self.heads[message.template_index()].push(out);
        self.push(out, message.root());
    }

    /// Appends a record as an object.
    fn push(&self, out: &mut Vec<u8>, record: Record<'_>) {
        let object = &self.objects[record.segment().index()];
        for JsonMember { lead, source } in &object.members {
            lead.push(out);
            let is_present = match source {
                FieldAccess::UInt(slot) => record.read(slot).map(|value| push_unsigned(out, value)),
                FieldAccess::Int(slot) => record.read(slot).map(|value| push_integer(out, value)),
                FieldAccess::Decimal(slot) => {
                    record.read(slot).map(|value| push_decimal(out, value))
                }
                FieldAccess::Text(slot, index) => record.read(slot).map(|bytes| {
                    self.push_text(out, record, bytes, *index);
                }),
                FieldAccess::Other(index) => {
                    self.push_other(out, record, *index);
                    continue;
                }
            };
            if is_present.is_none() {
                out.extend_from_slice(b"null");
            }
        }
        object.end.push(out);
    }

    #[inline]
    fn push_text(&self, out: &mut Vec<u8>, record: Record<'_>, bytes: &[u8], index: usize) {
        let start = out.len();
        out.push(b'"');
        if push_plain(out, bytes, |byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            out.push(b'"');
        } else {
            out.truncate(start);
            self.push_other(out, record, index);
        }
    }

    fn push_other(&self, out: &mut Vec<u8>, record: Record<'_>, index: usize) {
        match record.value(index) {
            FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => self.push(out, inner),
            FieldValue::Sequence(entries) => {
                out.push(b'[');
                for (index, entry) in entries.iter().enumerate() {
                    if index > 0 {
                        out.extend_from_slice(b", ");
                    }
                    self.push(out, entry);
                }
                out.push(b']');
            }
            value => push_value(out, &record.layouts()[index], value, JsonForm::Named),
        }
    }
}
