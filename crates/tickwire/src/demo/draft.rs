//! Messages as the demo makes them up, apart from any codec, and the check of what came back.

use tickwire_fast::{Decimal, Error, FieldValue, Message, MessageBuilder, Record, TemplateId};

/// A message to be sent: values in the order of its template's fields, constants too.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Template id.
    pub template: u32,
    /// Values of the fields.
    pub fields: Vec<Value>,
}

/// A value made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Absent,
    /// Scaled number.
    Decimal(i64, i32),
    /// Signed integer.
    Int(i64),
    /// Entries, each with its values.
    Sequence(Vec<Vec<Value>>),
    /// String.
    Text(&'static str),
    /// Unsigned integer.
    UInt(u64),
}

/// Builds the message of a draft.
///
/// # Errors
/// The draft does not fit its template.
pub fn build<'b>(builder: &'b mut MessageBuilder, draft: &Draft) -> Result<&'b Message, Error> {
    builder.begin_id(TemplateId(draft.template))?;
    set_fields(builder, &draft.fields)?;
    builder.finish()
}

fn set_fields(builder: &mut MessageBuilder, values: &[Value]) -> Result<(), Error> {
    for (index, value) in values.iter().enumerate() {
        match value {
            Value::Absent => {}
            Value::Decimal(mantissa, exponent) => {
                let decimal = Decimal { mantissa: *mantissa, exponent: *exponent };
                builder.set_decimal(index, decimal)?;
            }
            Value::Int(value) => builder.set_i64(index, *value)?,
            Value::Sequence(entries) => {
                builder.begin_sequence(index, entries.len())?;
                for entry in entries {
                    builder.begin_entry()?;
                    set_fields(builder, entry)?;
                    builder.end()?;
                }
                builder.end()?;
            }
            Value::Text(text) => builder.set_str(index, text)?,
            Value::UInt(value) => builder.set_u64(index, *value)?,
        }
    }
    Ok(())
}

/// The path of the first field whose value is not the draft's; `None` if all are.
pub fn difference(message: &Message, draft: &Draft) -> Option<String> {
    if message.template_id() != Some(TemplateId(draft.template)) {
        return Some("template id".to_owned());
    }
    differing_field(message.root(), &draft.fields)
}

fn differing_field(record: Record<'_>, values: &[Value]) -> Option<String> {
    if record.layouts().len() != values.len() {
        return Some("number of fields".to_owned());
    }
    record.fields().zip(values).find_map(|((field, got), sent)| {
        let inside = match (got, sent) {
            (FieldValue::Sequence(got), Value::Sequence(sent)) if got.len() == sent.len() => {
                let mut entries = got.iter().zip(sent);
                entries.find_map(|(got, sent)| differing_field(got, sent))?
            }
            (got, sent) if is_same(got, sent) => return None,
            _ => String::new(),
        };
        Some(format!("{}/{inside}", field.name).trim_end_matches('/').to_owned())
    })
}

fn is_same(got: FieldValue<'_>, sent: &Value) -> bool {
    match (got, sent) {
        (FieldValue::Absent, Value::Absent) => true,
        (FieldValue::UInt(got), Value::UInt(sent)) => got == *sent,
        (FieldValue::Int(got), Value::Int(sent)) => got == *sent,
        (FieldValue::Decimal(got), Value::Decimal(mantissa, exponent)) => {
            (got.mantissa, got.exponent) == (*mantissa, *exponent)
        }
        (FieldValue::Ascii(got), Value::Text(sent)) => got == sent.as_bytes(),
        _ => false,
    }
}
