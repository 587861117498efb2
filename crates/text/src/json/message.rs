//! Builds a message from its JSON form.

use super::{Json, parse_hex};
use std::fmt;
use tickwire_fast::template::{Enumeration, FieldType};
use tickwire_fast::{
    Code, Decimal, FastError, FieldHandle, MessageBuilder, Program, SegmentRef, Storage, TemplateId,
};

/// Name of fields that are dynamic template references.
const DYNAMIC: &str = "#dyn";
/// The member beside such a field with the id of the referenced template.
const DYNAMIC_TEMPLATE: &str = "#dyn.t";

/// The reason why a JSON line is not a message: the field, and the expected value.
#[derive(Clone, Debug)]
pub struct Mismatch {
    path: Vec<String>,
    text: String,
    code: Option<Code>,
    template: Option<String>,
}

impl Mismatch {
    fn new(text: impl Into<String>) -> Self {
        Self { path: Vec::new(), text: text.into(), code: None, template: None }
    }

    fn expected(what: &str, found: &Json) -> Self {
        Self::new(format!("expected {what}, found {}", found.kind()))
    }

    fn with_code(self, code: Option<Code>) -> Self {
        Self { code, ..self }
    }

    fn inside(mut self, name: impl Into<String>) -> Self {
        self.path.push(name.into());
        self
    }

    /// Path of the field, such as `Levels[2]/Price`; `None` if the error concerns no field.
    pub fn field(&self) -> Option<String> {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        (!path.is_empty()).then(|| path.join("/").replace("/[", "["))
    }

    /// The specification's code of the error, if it has one.
    pub const fn code(&self) -> Option<Code> {
        self.code
    }

    /// Name of the message's template; `None` if the line names no template of the program.
    pub fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field() {
            write!(f, "field {field}: ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Mismatch {}

/// Returns an error of the builder as text, without an offset.
pub fn error_text(program: &Program, error: &FastError) -> String {
    let field = error.field().map(|field| format!("field {}: ", program.path(field)));
    let code = error.code().map(|code| format!("{code}: ")).unwrap_or_default();
    format!("{}{code}{}", field.unwrap_or_default(), error.kind().text())
}

/// Begins the message of a JSON line in `builder` and sets its fields. `"t"` is the template's id,
/// or `"n"` its name; `"msg"` has the fields. Members that are missing or `null` become absent
/// fields.
///
/// # Errors
/// [`Mismatch`] if the line is not a message of the builder's program.
pub fn build_message(builder: &mut MessageBuilder, line: &Json) -> Result<(), Mismatch> {
    let program = builder.program().clone();
    let template = template_of(&program, line)?;
    let compiled = &program.templates()[template];
    fill(&program, template, compiled.segment, builder, line)
        .map_err(|error| Mismatch { template: Some(compiled.name.to_string()), ..error })
}

fn fill(
    program: &Program,
    template: usize,
    segment: SegmentRef,
    builder: &mut MessageBuilder,
    line: &Json,
) -> Result<(), Mismatch> {
    let fields = line.member("msg").ok_or(Mismatch::new("\"msg\": expected an object"))?;
    builder
        .begin(template)
        .map_err(|error| Mismatch::new(error_text(program, &error)).with_code(error.code()))?;
    MessageFiller { program, builder }.record(segment, fields)
}

fn template_of(program: &Program, line: &Json) -> Result<usize, Mismatch> {
    if let Some(id) = line.member("t") {
        return template_with_id(program, "t", id);
    }
    let name = line.member("n").and_then(Json::text);
    let name = name.ok_or(Mismatch::new("expected \"t\", a template id, or \"n\", a name"))?;
    let mut found = program.set().all_named(name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (None, _) => Err(Mismatch::new(format!("\"n\": the template file has no \"{name}\""))),
        _ => Err(Mismatch::new(format!(
            "\"n\": several templates are called \"{name}\": give \"t\""
        ))),
    }
}

/// Returns the template whose id is the value of this member.
fn template_with_id(program: &Program, member: &str, id: &Json) -> Result<usize, Mismatch> {
    let number = id.unsigned().and_then(|id| u32::try_from(id).ok());
    let number = number
        .ok_or_else(|| Mismatch::expected(&format!("\"{member}\" to be a template id"), id))?;
    program.template_index(TemplateId(number)).ok_or_else(|| {
        Mismatch::new(format!("\"{member}\": the template file has no template with id {number}"))
    })
}

struct MessageFiller<'f> {
    program: &'f Program,
    builder: &'f mut MessageBuilder,
}

impl MessageFiller<'_> {
    /// Sets the fields of a record. Members may be in any order; several with the same name are in
    /// template order.
    fn record(&mut self, segment: SegmentRef, fields: &Json) -> Result<(), Mismatch> {
        let Json::Object(members) = fields else {
            return Err(Mismatch::expected("an object of fields", fields));
        };
        let mut used = vec![false; self.program.fields_of(segment).len()];
        let mut ids = members.iter().filter(|(name, _)| name == DYNAMIC_TEMPLATE);
        for (name, value) in members {
            if name == DYNAMIC_TEMPLATE {
                continue;
            }
            let index = self.next_field(segment, name, &used).ok_or_else(|| {
                let names = self.program.fields_of(segment).iter().map(|f| f.name.to_string());
                let names: Vec<String> = names.collect();
                Mismatch::new(format!("no such field here; there are {}", names.join(", ")))
                    .inside(name)
            })?;
            used[index] = true;
            let id = if name == DYNAMIC { ids.next().map(|(_, id)| id) } else { None };
            if *value != Json::Null {
                self.field(segment, index, value, id).map_err(|error| error.inside(name))?;
            }
        }
        match ids.next() {
            Some(_) => {
                Err(Mismatch::new(format!("the object has no \"{DYNAMIC}\" to which it belongs"))
                    .inside(DYNAMIC_TEMPLATE))
            }
            None => Ok(()),
        }
    }

    fn next_field(&self, segment: SegmentRef, name: &str, used: &[bool]) -> Option<usize> {
        let fields = self.program.fields_of(segment).iter().zip(used);
        fields.enumerate().find_map(|(index, (field, used))| {
            (!used && &*field.name.local == name).then_some(index)
        })
    }

    /// Sets a field. `template_id` is the referenced template of a dynamic reference, if given.
    fn field(
        &mut self,
        segment: SegmentRef,
        index: usize,
        value: &Json,
        template_id: Option<&Json>,
    ) -> Result<(), Mismatch> {
        let key = FieldHandle { segment, index };
        let program = self.program;
        let field = &program.fields_of(segment)[index];
        match (&field.storage, &field.field_type) {
            (Storage::Group(inner), _) => {
                self.call(|builder| builder.begin_group(key))?;
                self.record(*inner, value)?;
                self.call(MessageBuilder::end)
            }
            (Storage::Sequence { segment: inner, .. }, _) => self.sequence(key, *inner, value),
            (Storage::Dynamic(_), _) => self.dynamic(key, value, template_id),
            (_, Some(field_type)) => self.scalar(key, field_type, value),
            _ => Err(Mismatch::new("the field cannot be set")),
        }
    }

    fn sequence(
        &mut self,
        key: FieldHandle,
        entry: SegmentRef,
        value: &Json,
    ) -> Result<(), Mismatch> {
        let Json::List(entries) = value else {
            return Err(Mismatch::expected("a list of entries", value));
        };
        self.call(|builder| builder.begin_sequence(key, entries.len()))?;
        for (index, fields) in entries.iter().enumerate() {
            self.call(MessageBuilder::begin_entry)?;
            let filled = self.record(entry, fields).and_then(|()| self.call(MessageBuilder::end));
            filled.map_err(|error| error.inside(format!("[{index}]")))?;
        }
        self.call(MessageBuilder::end)
    }

    fn dynamic(
        &mut self,
        key: FieldHandle,
        value: &Json,
        template_id: Option<&Json>,
    ) -> Result<(), Mismatch> {
        let template = match template_id.filter(|id| **id != Json::Null) {
            Some(id) => template_with_id(self.program, DYNAMIC_TEMPLATE, id)?,
            None => self.template_with_fields(value)?,
        };
        let segment = self.program.templates()[template].segment;
        self.call(|builder| builder.begin_dynamic(key, template))?;
        self.record(segment, value)?;
        self.call(MessageBuilder::end)
    }

    /// Finds the template of a reference that does not name it: the one with these fields.
    fn template_with_fields(&self, value: &Json) -> Result<usize, Mismatch> {
        let Json::Object(members) = value else {
            return Err(Mismatch::expected("an object of fields", value));
        };
        let members = || members.iter().filter(|(name, _)| name != DYNAMIC_TEMPLATE);
        let templates = self.program.templates().iter().enumerate();
        let mut fitting = templates.filter(|(_, template)| {
            let fields = self.program.fields_of(template.segment).iter();
            template.id.is_some()
                && fields.map(|field| &*field.name.local).eq(members().map(|(name, _)| &**name))
        });
        match (fitting.next(), fitting.next()) {
            (Some((index, _)), None) => Ok(index),
            _ => Err(Mismatch::new(format!(
                "expected the fields of exactly one template, in its order, or \
                 \"{DYNAMIC_TEMPLATE}\" beside it: a template id"
            ))),
        }
    }

    fn scalar(
        &mut self,
        key: FieldHandle,
        field_type: &FieldType,
        value: &Json,
    ) -> Result<(), Mismatch> {
        match (field_type, value) {
            (FieldType::Ascii | FieldType::Unicode, Json::Text(text)) => {
                self.call(|builder| builder.set_str(key, text))
            }
            (FieldType::ByteVector | FieldType::Ascii | FieldType::Unicode, _) => {
                let wanted = match field_type {
                    FieldType::ByteVector => "{\"hex\": digits}",
                    _ => "a string",
                };
                let digits = value.member("hex").and_then(Json::text);
                let digits = digits.ok_or_else(|| Mismatch::expected(wanted, value))?;
                let bytes = parse_hex(digits).map_err(Mismatch::new)?;
                self.call(|builder| builder.set_bytes(key, &bytes))
            }
            (FieldType::Decimal, _) => {
                let decimal = decimal(value)?;
                self.call(|builder| builder.set_decimal(key, decimal))
            }
            (FieldType::Boolean, Json::Bool(value)) => {
                self.call(|builder| builder.set_u64(key, u64::from(*value)))
            }
            (FieldType::Enum(enumeration), Json::Text(name)) => {
                let value = element_value(enumeration, name)?;
                self.call(|builder| builder.set_u64(key, value))
            }
            (_, Json::Integer(value)) => self.integer(key, *value),
            _ => Err(Mismatch::expected(&format!("an integer ({})", field_type.name()), value)),
        }
    }

    fn integer(&mut self, key: FieldHandle, value: i128) -> Result<(), Mismatch> {
        match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => self.call(|builder| builder.set_u64(key, value)),
            (_, Ok(value)) => self.call(|builder| builder.set_i64(key, value)),
            _ => Err(Mismatch::new(format!("{value} does not fit 64 bits"))),
        }
    }

    fn call(
        &mut self,
        call: impl FnOnce(&mut MessageBuilder) -> Result<(), FastError>,
    ) -> Result<(), Mismatch> {
        call(self.builder).map_err(|error| {
            let code = error.code().map(|code| format!("{code}: ")).unwrap_or_default();
            let missing = (error.kind() == tickwire_fast::FastErrorKind::MissingValue)
                .then(|| error.field().map(|field| format!(" ({})", self.program.path(field))));
            let missing = missing.flatten().unwrap_or_default();
            Mismatch::new(format!("{code}{}{missing}", error.kind().text())).with_code(error.code())
        })
    }
}

fn decimal(value: &Json) -> Result<Decimal, Mismatch> {
    let number = |name: &str| match value.member(name) {
        Some(Json::Integer(number)) => Some(*number),
        _ => None,
    };
    let expected = || Mismatch::expected("{\"m\": mantissa, \"e\": exponent}", value);
    let mantissa = number("m").and_then(|m| i64::try_from(m).ok()).ok_or_else(expected)?;
    let exponent = number("e").and_then(|e| i32::try_from(e).ok()).ok_or_else(expected)?;
    Ok(Decimal { mantissa, exponent })
}

fn element_value(enumeration: &Enumeration, name: &str) -> Result<u64, Mismatch> {
    let named = || enumeration.elements.iter().filter(|element| *element.name == *name);
    match named().next() {
        Some(first) if named().all(|element| element.value == first.value) => Ok(first.value),
        Some(_) => {
            let values: Vec<String> = named().map(|element| element.value.to_string()).collect();
            let values = values.join(", ");
            Err(Mismatch::new(format!(
                "several elements are called \"{name}\": give one of {values}"
            )))
        }
        None => {
            let names: Vec<&str> = enumeration.elements.iter().map(|e| &*e.name).collect();
            Err(Mismatch::new(format!("expected one of {}, found \"{name}\"", names.join(", "))))
        }
    }
}
