//! Emits structs and their accessors.

use crate::integer::IntegerShape;
use crate::module::Module;
use crate::operation::literal;
use crate::shape::{StructMember, StructShape, is_text};
use crate::source::doc;
use tickwire_fast::rt::expanded::{ExpandedField, FieldKind, Operation, OperatorKind};
use tickwire_fast::template::{FieldType, Value};

impl<'p> Module<'p> {
    /// Returns the struct of a shape with its methods.
    pub(crate) fn structs(&self, shape: &StructShape<'p>) -> String {
        let mut text = doc(&shape.doc);
        text.push_str(&format!("#[derive(Clone, Default)]\npub struct {} {{\n", shape.name));
        if shape.presence > 0 {
            text.push_str(&doc("Presence bits of the optional fields, in their order."));
            text.push_str(&format!("present: [u64; {}],\n", shape.presence_words()));
        }
        if shape.root.is_some() && shape.has_text {
            text.push_str(&doc("Strings of more than seven bytes; other bytes may follow."));
            text.push_str("pub arena: Vec<u8>,\n");
        }
        for member in shape.members.iter().filter(|member| member.is_stored) {
            if let Some(kind) = self.member_type(member) {
                text.push_str(&doc(&describe(member.plan)));
                // An absent member holds the value of an earlier message: not public, so that
                // nobody reads it.
                let access = if member.presence.is_some() { "" } else { "pub " };
                text.push_str(&format!("{access}{}: {kind},\n", member.ident));
            }
        }
        text.push_str("}\n");
        let methods = self.methods(shape);
        text.push_str(&format!("impl {} {{\n{methods}}}\n", shape.name));
        text + &debug(shape)
    }

    /// Returns the type of a member; `None` for optional constants, which have only a presence bit.
    fn member_type(&self, member: &StructMember<'p>) -> Option<String> {
        let child = || member.child.map_or("()", |child| &self.shapes[child].name);
        Some(match &member.plan.kind {
            FieldKind::Scalar { operation, .. } if operation.rule.is_constant() => {
                return None;
            }
            FieldKind::Scalar { field_type, .. } => scalar_type(field_type),
            FieldKind::Parts { .. } => "Decimal".to_owned(),
            FieldKind::Group(_) => child().to_owned(),
            FieldKind::Sequence { .. } => format!("EntryList<{}>", child()),
            FieldKind::Dynamic => "Reference<Messages>".to_owned(),
        })
    }

    fn methods(&self, shape: &StructShape<'p>) -> String {
        let mut text = String::new();
        for member in &shape.members {
            text.extend(constant(member));
            text.extend(member.presence.map(|bit| self.accessors(member, bit)));
        }
        if shape.root.is_some() && shape.has_text {
            text.push_str(
                "/// The bytes of a string of this message.
                 pub fn text<'t>(&'t self, text: &'t TextValue) -> &'t [u8] { text.bytes(&self.arena) }
                 /// A string for this message; `None` above 16,777,215 bytes.
                 pub fn new_text(&mut self, bytes: &[u8]) -> Option<TextValue> { TextValue::push(&mut self.arena, bytes) }\n",
            );
        }
        text
    }

    /// Returns the getter and setter of a field that may be absent.
    fn accessors(&self, member: &StructMember<'p>, bit: usize) -> String {
        let (word, bit) = (bit / 64, bit % 64);
        let (ident, name) = (&member.ident, &member.plan.name);
        let placed = match bit {
            0 => "u64::from(present)".to_owned(),
            bit => format!("u64::from(present) << {bit}"),
        };
        let Some(kind) = self.member_type(member) else {
            return format!(
                "{}pub fn {ident}(&self) -> bool {{ self.present[{word}] & (1 << {bit}) != 0 }}\n\
                 {}pub fn set_{ident}(&mut self, present: bool) {{ \
                 self.present[{word}] = self.present[{word}] & !(1 << {bit}) | {placed}; }}\n",
                doc(&format!("Whether the constant `{name}` is present.")),
                doc(&format!("Makes the constant `{name}` present or absent.")),
            );
        };
        let is_copy = member.child.is_none();
        let (result, value) = match is_copy {
            true => (kind.clone(), format!("self.{ident}")),
            false => (format!("&{kind}"), format!("&self.{ident}")),
        };
        let get = format!(
            "{}#[inline]\npub fn {ident}(&self) -> Option<{result}> {{ \
             if self.present[{word}] & (1 << {bit}) != 0 {{ Some({value}) }} else {{ None }} }}\n",
            doc(&format!("`{name}`, if it is present.")),
        );
        let set = match is_copy {
            true => format!(
                "{}#[inline]\npub fn set_{ident}(&mut self, value: Option<{kind}>) {{ match value {{ \
                 Some(value) => {{ self.{ident} = value; self.present[{word}] |= 1 << {bit}; }} \
                 None => self.present[{word}] &= !(1 << {bit}), }} }}\n",
                doc(&format!("Sets `{name}`, or makes it absent.")),
            ),
            false => format!(
                "{}pub fn set_{ident}(&mut self, present: bool) -> &mut {kind} {{ \
                 self.present[{word}] = self.present[{word}] & !(1 << {bit}) | {placed}; \
                 &mut self.{ident} }}\n",
                doc(&format!("Makes `{name}` present or absent, and gives access to it.")),
            ),
        };
        get + &set
    }
}

/// Returns the `Debug` implementation, which prints present fields.
fn debug(shape: &StructShape<'_>) -> String {
    let show = |member: &StructMember<'_>| {
        let value = match member.presence {
            Some(_) => format!("self.{}()", member.ident),
            None => format!("self.{}", member.ident),
        };
        format!(".field({:?}, &{value})", member.ident)
    };
    let fields: String = shape.members.iter().filter(|member| member.is_stored).map(show).collect();
    format!(
        "impl std::fmt::Debug for {name} {{
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{
                f.debug_struct({name:?}){fields}.finish()
            }}
        }}\n",
        name = shape.name
    )
}

/// Returns the Rust type of a scalar.
fn scalar_type(field_type: &FieldType) -> String {
    match field_type {
        FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector => "TextValue".to_owned(),
        FieldType::Decimal => "Decimal".to_owned(),
        _ => IntegerShape::of(field_type).map_or("u64".to_owned(), IntegerShape::rust),
    }
}

/// Returns a constant of the template as an associated constant of the struct; `None` for other
/// fields.
fn constant(member: &StructMember<'_>) -> Option<String> {
    let FieldKind::Scalar { field_type, operation } = &member.plan.kind else { return None };
    let value = operation.initial.filter(|_| operation.rule.is_constant())?;
    let kind = match value {
        Value::Bytes(_) => "&'static [u8]".to_owned(),
        _ => scalar_type(field_type),
    };
    let presence = if member.plan.is_fixed_constant() { "constant" } else { "constant, optional" };
    Some(format!(
        "{}pub const {}: {kind} = {};\n",
        doc(&format!("{}, {presence}.", named(member.plan))),
        member.ident.to_ascii_uppercase(),
        literal(value)
    ))
}

/// Returns a field's name and id.
fn named(field: &ExpandedField<'_>) -> String {
    match field.id {
        Some(id) => format!("`{}` ({id})", field.name),
        None => format!("`{}`", field.name),
    }
}

/// Describes a field: name, id, type, presence and operator.
fn describe(field: &ExpandedField<'_>) -> String {
    let presence = if field.is_optional { "optional" } else { "mandatory" };
    let operator = |operation: &Operation<'_>| match operation.kind {
        OperatorKind::None => String::new(),
        kind => format!(", {}", kind.name()),
    };
    match &field.kind {
        FieldKind::Scalar { field_type, operation } => {
            let mut text = format!(
                "{}: {}, {presence}{}.",
                named(field),
                field_type.name(),
                operator(operation)
            );
            if let FieldType::Enum(elements) | FieldType::Set(elements) = field_type {
                let elements: Vec<String> = elements
                    .elements
                    .iter()
                    .map(|element| format!("{} `{}`", element.value, element.name))
                    .collect();
                text.push_str(&format!(" Values: {}.", elements.join(", ")));
            }
            if is_text(field) {
                text.push_str(" The message's `text` gives its bytes.");
            }
            text
        }
        FieldKind::Parts { exponent, mantissa } => format!(
            "{}: decimal, {presence}; exponent{}; mantissa{}.",
            named(field),
            operator(exponent),
            operator(mantissa)
        ),
        FieldKind::Group(_) => format!("{}: group, {presence}.", named(field)),
        FieldKind::Sequence { length_name, length_id, .. } => {
            let length = length_name.map_or(String::new(), |name| match length_id {
                Some(id) => format!("; its length is `{name}` ({id})"),
                None => format!("; its length is `{name}`"),
            });
            format!("{}: sequence, {presence}{length}.", named(field))
        }
        FieldKind::Dynamic => "A dynamic template reference: a message of any template.".to_owned(),
    }
}
