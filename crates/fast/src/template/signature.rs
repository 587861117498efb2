//! Stable signatures: they change if and only if decoding changes.
//!
//! A signature covers names, identifiers, types, presence, operators, initial values, dictionary
//! entries, resets, references and enumeration elements. It does not cover comments, white space,
//! the order of attributes or of templates, spelling of values, vendor attributes, or positions. A
//! static reference is covered by the signature of its template.

use super::model::{
    DictionaryScope, EntryKey, Enumeration, FieldInstruction, FieldType, GroupInstruction,
    Instruction, Length, Name, Operator, Operators, Template, Value,
};
use super::set::TemplateSet;
use crate::value::HexDigits;
use sha2::{Digest, Sha256};
use std::fmt;

/// Part of every signature: a change of the covered properties must change it, and so all
/// signatures.
const FORMAT: &[u8] = b"tickwire templates 1";

/// Identifies the decoding behaviour of a template or a set: SHA-256 of a canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature([u8; 32]);

impl Signature {
    /// Creates a signature from its 32 bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HexDigits(&self.0).fmt(f)
    }
}

impl TemplateSet {
    /// Returns the signature of the whole set; it does not depend on the order of templates.
    pub fn signature(&self) -> Signature {
        let mut signatures = self.signatures();
        signatures.sort_unstable();
        let mut canon = Canon::new(b"set");
        canon.count(signatures.len());
        for signature in signatures {
            canon.hash.update(signature.0);
        }
        canon.finish()
    }

    /// Returns the signature of one template, including those it references statically; `None` if
    /// the index is outside the set.
    pub fn signature_of(&self, index: usize) -> Option<Signature> {
        self.signatures().get(index).copied()
    }

    /// Returns the signatures of all templates, in the order of [`templates`](Self::templates).
    pub fn signatures(&self) -> Vec<Signature> {
        let mut signatures = vec![Signature([0; 32]); self.templates().len()];
        for &index in self.bottom_up() {
            let mut canon = Canon::new(b"template");
            canon.template(&self.templates()[index], &signatures);
            signatures[index] = canon.finish();
        }
        signatures
    }
}

/// Writes the canonical form to the hash. Every item begins with its kind or its length, so
/// different models never have the same form.
struct Canon {
    hash: Sha256,
}

impl Canon {
    fn new(kind: &[u8]) -> Self {
        let mut canon = Self { hash: Sha256::new() };
        canon.bytes(FORMAT);
        canon.bytes(kind);
        canon
    }

    fn finish(self) -> Signature {
        Signature(self.hash.finalize().into())
    }

    fn tag(&mut self, tag: u8) {
        self.hash.update([tag]);
    }

    fn number(&mut self, number: u64) {
        self.hash.update(number.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.hash.update(bytes);
    }

    fn name(&mut self, name: &Name) {
        self.bytes(name.ns.as_bytes());
        self.bytes(name.local.as_bytes());
    }

    fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.tag(0),
            Some(value) => {
                self.tag(1);
                write(self, value);
            }
        }
    }

    fn id(&mut self, id: Option<u32>) {
        self.optional(id, |canon, id| canon.number(id.into()));
    }

    fn template(&mut self, template: &Template, signatures: &[Signature]) {
        self.name(&template.name);
        self.id(template.id.map(|id| id.0));
        self.optional(template.application_type.as_ref(), Self::name);
        self.tag(template.reset.into());
        self.instructions(&template.instructions, signatures);
    }

    fn instructions(&mut self, instructions: &[Instruction], signatures: &[Signature]) {
        self.count(instructions.len());
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => self.field(field),
                Instruction::Group(group) => self.group(group, signatures),
                Instruction::StaticRef(target, _) => {
                    self.tag(b'r');
                    self.hash.update(signatures[*target].0);
                }
                Instruction::DynamicRef(_) => self.tag(b'd'),
            }
        }
    }

    fn field(&mut self, field: &FieldInstruction) {
        self.tag(b'f');
        self.name(&field.name);
        self.id(field.id);
        self.bytes(field.presence.name().as_bytes());
        self.field_type(&field.field_type);
        match &field.operators {
            Operators::Whole(operator) => {
                self.tag(1);
                self.operator(operator);
            }
            Operators::Parts { exponent, mantissa } => {
                self.tag(2);
                self.operator(exponent);
                self.operator(mantissa);
            }
        }
    }

    fn group(&mut self, group: &GroupInstruction, signatures: &[Signature]) {
        self.tag(if group.length.is_some() { b's' } else { b'g' });
        self.name(&group.name);
        self.id(group.id);
        self.bytes(group.presence.name().as_bytes());
        if let Some(length) = &group.length {
            self.length(length);
        }
        self.optional(group.application_type.as_ref(), Self::name);
        self.instructions(&group.instructions, signatures);
    }

    fn length(&mut self, length: &Length) {
        self.optional(length.name.as_ref(), Self::name);
        self.id(length.id);
        self.operator(&length.operator);
    }

    fn field_type(&mut self, field_type: &FieldType) {
        self.bytes(field_type.name().as_bytes());
        match field_type {
            FieldType::Enum(enumeration) | FieldType::Set(enumeration) => {
                self.enumeration(enumeration);
            }
            FieldType::Timestamp(timestamp) => {
                self.bytes(timestamp.unit.name().as_bytes());
                self.bytes(timestamp.epoch.name().as_bytes());
            }
            _ => {}
        }
    }

    fn enumeration(&mut self, enumeration: &Enumeration) {
        self.count(enumeration.elements.len());
        for element in &enumeration.elements {
            self.bytes(element.name.as_bytes());
            self.bytes(element.id.as_bytes());
            self.number(element.value);
        }
    }

    fn operator(&mut self, operator: &Operator) {
        self.bytes(operator.kind.name().as_bytes());
        self.optional(operator.initial.as_ref(), Self::value);
        if operator.kind.uses_dictionary() {
            self.entry(&operator.entry);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::UInt(value) => {
                self.tag(b'u');
                self.number(*value);
            }
            Value::Int(value) => {
                self.tag(b'i');
                self.hash.update(value.to_be_bytes());
            }
            Value::Decimal(decimal) => {
                self.tag(b'd');
                self.hash.update(decimal.mantissa.to_be_bytes());
                self.hash.update(decimal.exponent.to_be_bytes());
            }
            Value::Bytes(bytes) => {
                self.tag(b'b');
                self.bytes(bytes);
            }
        }
    }

    fn entry(&mut self, entry: &EntryKey) {
        match &entry.dictionary {
            DictionaryScope::Global => self.tag(b'g'),
            DictionaryScope::Template(name) => {
                self.tag(b't');
                self.name(name);
            }
            DictionaryScope::Type(name) => {
                self.tag(b'a');
                self.optional(name.as_ref(), Self::name);
            }
            DictionaryScope::Named(name) => {
                self.tag(b'n');
                self.bytes(name.as_bytes());
            }
        }
        self.name(&entry.key);
        self.bytes(entry.part.name().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(xml: &str) -> Signature {
        TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}")).signature()
    }

    const BASE: &str = r#"<templates dictionary="d"><template name="A" id="1">
        <uInt32 id="7" name="a" presence="optional"><copy value="5"/></uInt32>
        <decimal name="p"><exponent><default value="0"/></exponent></decimal>
    </template><template name="B" id="2"><templateRef name="A"/></template></templates>"#;

    #[test]
    fn spelling_order_and_vendor_attributes_do_not_count() {
        let other = r#"<?xml version="1.0"?><templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
            <template id="2" name="B"><templateRef name="A"/></template>
            <!-- comment -->
            <template name="A" id="1" style="x">
              <uInt32 presence="optional" name="a" id="7"><copy dictionary="d" value=" 05 "/></uInt32>
              <decimal name="p" scale="2"><exponent><default value="0"/></exponent><mantissa/></decimal>
            </template></templates>"#;
        assert_eq!(signature(BASE), signature(other));
    }

    #[test]
    fn whatever_changes_decoding_counts() {
        let base = signature(BASE);
        for (old, new) in [
            ("id=\"1\"", "id=\"3\""),
            ("name=\"p\"", "name=\"q\""),
            ("id=\"7\"", "id=\"8\""),
            (" presence=\"optional\"", ""),
            ("<copy value=\"5\"", "<copy value=\"6\""),
            ("<copy value=\"5\"", "<copy"),
            ("<copy value", "<delta value"),
            ("dictionary=\"d\"", "dictionary=\"e\""),
            ("<copy value", "<copy key=\"k\" value"),
            ("<templates ", "<templates ns=\"u\" "),
            ("<template name=\"A\"", "<template reset=\"yes\" name=\"A\""),
            ("<exponent>", "<exponent/><mantissa>"),
        ] {
            let closed = BASE.replace(old, new).replace(
                "<mantissa><default value=\"0\"/></exponent>",
                "<mantissa><default value=\"0\"/></mantissa>",
            );
            assert_ne!(signature(&closed), base, "{old} to {new}");
        }
    }

    #[test]
    fn a_template_changes_with_what_it_refers_to() {
        let old = TemplateSet::parse(BASE).unwrap();
        let new = TemplateSet::parse(&BASE.replace("value=\"5\"", "value=\"6\"")).unwrap();
        assert_ne!(old.signature_of(1), new.signature_of(1));
        assert_eq!(old.signature_of(2), None);
    }
}
