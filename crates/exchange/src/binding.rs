//! Matches the fields of drafts with those of a template set, by name.
//!
//! A user's template set may have other template numbers, types, operators and constants, and may
//! omit fields. It must not have a mandatory field that the exchange does not know.

use crate::draft::{DraftValue, MessageDraft};
use crate::error::ExchangeError;
use std::sync::Arc;
use tickwire_fast::{
    Decimal, FieldLayout, FieldValue, Message, MessageBuilder, Program, Record, SegmentRef, Storage,
};

/// The target of each value of a draft.
#[derive(Clone, Debug)]
struct FieldTargets {
    /// Index in the user's segment, by index in the draft; `None` if the user's template omits the
    /// field or has its own constant.
    targets: Vec<Option<usize>>,
    /// Fields of a sequence's entries or of a group, by index in the draft.
    inner: Vec<Option<FieldTargets>>,
    seq_num_at: Option<usize>,
}

#[derive(Clone, Debug)]
struct BoundTemplate {
    name: String,
    index: usize,
    fields: FieldTargets,
}

/// Builds messages of a program from drafts, and compares decoded messages with them.
#[derive(Clone, Debug)]
pub struct Binding {
    program: Arc<Program>,
    templates: Vec<BoundTemplate>,
}

/// FIX tag of MsgSeqNum.
const MSG_SEQ_NUM: u32 = 34;

impl Binding {
    /// Finds every template and field of the exchange's program `own` in `program`.
    ///
    /// # Errors
    /// [`ExchangeError::TemplateMissing`] and [`ExchangeError::FieldUnknown`].
    pub(crate) fn new(own: &Arc<Program>, program: Arc<Program>) -> Result<Self, ExchangeError> {
        let is_own = Arc::ptr_eq(own, &program);
        let templates = own.templates().iter().map(|template| {
            let name = template.name.local.to_string();
            let found = program.templates().iter().position(|other| *other.name.local == *name);
            let index =
                found.ok_or_else(|| ExchangeError::TemplateMissing { template: name.clone() })?;
            let target = program.templates()[index].segment;
            let fields = bind(own, template.segment, &program, target, is_own)
                .map_err(|field| ExchangeError::FieldUnknown { template: name.clone(), field })?;
            Ok(BoundTemplate { name, index, fields })
        });
        let templates = templates.collect::<Result<_, ExchangeError>>()?;
        Ok(Self { program, templates })
    }

    /// Returns the program whose messages are built.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn template(&self, draft: &MessageDraft) -> Option<&BoundTemplate> {
        self.templates.iter().find(|template| template.name == draft.template)
    }

    /// Returns the index of MsgSeqNum (34) in a draft.
    pub(crate) fn seq_num_at(&self, draft: &MessageDraft) -> Option<usize> {
        self.template(draft)?.fields.seq_num_at
    }

    /// Builds the message of a draft.
    ///
    /// # Errors
    /// A value does not fit its field.
    pub fn build<'b>(
        &self,
        builder: &'b mut MessageBuilder,
        draft: &MessageDraft,
    ) -> Result<&'b Message, tickwire_fast::FastError> {
        if let Some(template) = self.template(draft) {
            builder.begin(template.index)?;
            set_fields(builder, &template.fields, &draft.fields)?;
        }
        builder.finish()
    }

    /// Returns the path of the first field whose value differs from the draft's; `None` if all are
    /// equal.
    pub fn difference(&self, message: &Message, draft: &MessageDraft) -> Option<String> {
        match self.template(draft) {
            Some(template) if template.index == message.template_index() => {
                differing_field(message.root(), &template.fields, &draft.fields)
            }
            _ => Some("template".to_owned()),
        }
    }
}

/// Binds the fields of one segment. The error is the path of an unknown field.
fn bind(
    own: &Program,
    segment: SegmentRef,
    program: &Program,
    target: SegmentRef,
    is_own: bool,
) -> Result<FieldTargets, String> {
    let targets = program.fields_of(target);
    let fields = own.fields_of(segment);
    let unknown = |field: &&FieldLayout| {
        let is_known = fields.iter().any(|own| own.name.local == field.name.local);
        !is_known && !field.optional && !matches!(field.storage, Storage::Constant(_))
    };
    if let Some(field) = targets.iter().find(unknown) {
        return Err(field.name.local.to_string());
    }
    let mut bound = FieldTargets { targets: Vec::new(), inner: Vec::new(), seq_num_at: None };
    for (index, field) in fields.iter().enumerate() {
        let position = targets.iter().position(|other| other.name.local == field.name.local);
        let other = position.map(|position| &targets[position]);
        let is_foreign_constant =
            !is_own && other.is_some_and(|other| matches!(other.storage, Storage::Constant(_)));
        let inner = match (&field.storage, other.map(|other| &other.storage)) {
            (Storage::Sequence { segment, .. }, Some(Storage::Sequence { segment: other, .. }))
            | (Storage::Group(segment), Some(Storage::Group(other))) => {
                let inner = bind(own, *segment, program, *other, is_own);
                Some(inner.map_err(|path| format!("{}/{path}", field.name.local))?)
            }
            _ => None,
        };
        bound.targets.push(position.filter(|_| !is_foreign_constant));
        bound.inner.push(inner);
        if field.id == Some(MSG_SEQ_NUM) {
            bound.seq_num_at = Some(index);
        }
    }
    Ok(bound)
}

fn set_fields(
    builder: &mut MessageBuilder,
    fields: &FieldTargets,
    values: &[DraftValue],
) -> Result<(), tickwire_fast::FastError> {
    for ((value, target), inner) in values.iter().zip(&fields.targets).zip(&fields.inner) {
        let Some(index) = *target else { continue };
        match value {
            DraftValue::Absent => {}
            DraftValue::Bytes(bytes) => builder.set_bytes(index, bytes)?,
            DraftValue::Decimal(mantissa, exponent) => {
                let decimal = Decimal { mantissa: *mantissa, exponent: *exponent };
                builder.set_decimal(index, decimal)?;
            }
            DraftValue::Group(values) => {
                builder.begin_group(index)?;
                if let Some(inner) = inner {
                    set_fields(builder, inner, values)?;
                }
                builder.end()?;
            }
            DraftValue::Int(value) => builder.set_i64(index, *value)?,
            DraftValue::Name(name) => builder.set_str(index, name)?,
            DraftValue::Sequence(entries) => {
                builder.begin_sequence(index, entries.len())?;
                for entry in entries {
                    builder.begin_entry()?;
                    if let Some(inner) = inner {
                        set_fields(builder, inner, entry)?;
                    }
                    builder.end()?;
                }
                builder.end()?;
            }
            DraftValue::Text(text) => builder.set_str(index, text)?,
            DraftValue::UInt(value) => builder.set_u64(index, *value)?,
        }
    }
    Ok(())
}

fn differing_field(
    record: Record<'_>,
    fields: &FieldTargets,
    values: &[DraftValue],
) -> Option<String> {
    let bound = values.iter().zip(&fields.targets).zip(&fields.inner);
    for ((sent, target), inner) in bound {
        let Some(index) = *target else { continue };
        let inside = match (record.value(index), sent, inner) {
            (FieldValue::Sequence(got), DraftValue::Sequence(sent), Some(inner))
                if got.len() == sent.len() =>
            {
                let mut entries = got.iter().zip(sent);
                let differing =
                    |(got, sent): (Record<'_>, &Vec<DraftValue>)| differing_field(got, inner, sent);
                match entries.find_map(differing) {
                    None => continue,
                    Some(inside) => format!("/{inside}"),
                }
            }
            (FieldValue::Group(got), DraftValue::Group(sent), Some(inner)) => {
                match differing_field(got, inner, sent) {
                    None => continue,
                    Some(inside) => format!("/{inside}"),
                }
            }
            (got, sent, _) if is_same(got, sent) => continue,
            _ => String::new(),
        };
        return Some(format!("{}{inside}", record.layouts()[index].name));
    }
    None
}

fn is_same(got: FieldValue<'_>, sent: &DraftValue) -> bool {
    match (got, sent) {
        (FieldValue::Absent, DraftValue::Absent) => true,
        (FieldValue::Bytes(got), DraftValue::Bytes(sent)) => *got == **sent,
        (FieldValue::UInt(got), DraftValue::UInt(sent)) => got == *sent,
        (FieldValue::Int(got), DraftValue::Int(sent)) => got == *sent,
        (FieldValue::UInt(got), DraftValue::Int(sent)) => i64::try_from(got) == Ok(*sent),
        (FieldValue::Int(got), DraftValue::UInt(sent)) => u64::try_from(got) == Ok(*sent),
        (FieldValue::Decimal(got), DraftValue::Decimal(mantissa, exponent)) => {
            (got.mantissa, got.exponent) == (*mantissa, *exponent)
        }
        (FieldValue::Ascii(got) | FieldValue::Unicode(got), DraftValue::Text(sent)) => {
            got == sent.as_bytes()
        }
        (FieldValue::Ascii(got) | FieldValue::Unicode(got), DraftValue::Name(sent)) => {
            got == sent.as_bytes()
        }
        _ => false,
    }
}
