//! Dictionary entries of a template set: which operators share one, and with which types.

use crate::template::{
    DictionaryScope, EntryKey, FieldType, Instruction, Name, Operator, Operators, TemplateSet,
    Width,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// The dictionary entries of a template set, by key, with the types that use them.
#[derive(Default)]
pub(crate) struct EntryNumbers {
    by_key: HashMap<EntryKey, u32>,
    /// For each entry, the types of the fields that use it.
    types: Vec<Vec<u8>>,
}

/// Returns a type's tag. Types with different tags must not share an entry. Tags 8, 9 and 10 have a
/// text buffer.
pub(crate) fn type_tag(field_type: &FieldType) -> u8 {
    let width = |width: Width| (width as u8).trailing_zeros() as u8 - 3;
    match field_type {
        FieldType::UInt(w) => width(*w),
        FieldType::Int(w) => 4 + width(*w),
        FieldType::Timestamp(_) => 7,
        FieldType::Ascii => 8,
        FieldType::Unicode => 9,
        FieldType::ByteVector => 10,
        FieldType::Decimal => 11,
        FieldType::Boolean => 12,
        FieldType::Enum(_) => 13,
        FieldType::Set(_) => 14,
    }
}

impl EntryNumbers {
    pub(crate) fn of(set: &TemplateSet) -> Self {
        let mut entries = Self::default();
        for template in set.templates() {
            entries.visit(set, &template.instructions, template.application_type.as_ref());
        }
        entries
    }

    fn visit(&mut self, set: &TemplateSet, instructions: &[Instruction], around: Option<&Name>) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => match &field.operators {
                    Operators::Whole(operator) => {
                        self.add(operator, around, type_tag(&field.field_type));
                    }
                    Operators::Parts { exponent, mantissa } => {
                        self.add(exponent, around, type_tag(&FieldType::Int(Width::W32)));
                        self.add(mantissa, around, type_tag(&FieldType::Int(Width::W64)));
                    }
                },
                Instruction::Group(group) => {
                    if let Some(length) = &group.length {
                        self.add(&length.operator, around, type_tag(&FieldType::UInt(Width::W32)));
                    }
                    let inside = group.application_type.as_ref().or(around);
                    self.visit(set, &group.instructions, inside);
                }
                Instruction::StaticRef(target, _) => {
                    let target = &set.templates()[*target];
                    let inside = target.application_type.as_ref().or(around);
                    self.visit(set, &target.instructions, inside);
                }
                Instruction::DynamicRef(_) => {}
            }
        }
    }

    fn add(&mut self, operator: &Operator, around: Option<&Name>, tag: u8) {
        if !operator.kind.uses_dictionary() {
            return;
        }
        let next = self.types.len() as u32;
        let index = *self.by_key.entry(key(operator, around).into_owned()).or_insert(next);
        if index == next {
            self.types.push(Vec::new());
        }
        let types = &mut self.types[index as usize];
        if !types.contains(&tag) {
            types.push(tag);
        }
    }

    /// Returns the entry of an operator, and whether fields of several types use it. `around` is
    /// the application type around the operator after references are expanded.
    pub(crate) fn entry(&self, operator: &Operator, around: Option<&Name>) -> (u32, bool) {
        if !operator.kind.uses_dictionary() {
            return (0, false);
        }
        match self.by_key.get(&*key(operator, around)) {
            Some(&index) => (index, self.types[index as usize].len() > 1),
            None => (0, false),
        }
    }

    pub(super) fn text_buffers(&self) -> Vec<u32> {
        let mut next = 0;
        let buffer = |types: &Vec<u8>| {
            if !types.iter().any(|tag| (8..=10).contains(tag)) {
                return u32::MAX;
            }
            next += 1;
            next - 1
        };
        self.types.iter().map(buffer).collect()
    }
}

/// Returns the key of an operator's entry. A referenced template without a type of its own inherits
/// the type around the reference.
///
/// Spec: FAST 1.1 §6.1.
fn key<'o>(operator: &'o Operator, around: Option<&Name>) -> Cow<'o, EntryKey> {
    match (&operator.entry.dictionary, around) {
        (DictionaryScope::Type(None), Some(around)) => Cow::Owned(EntryKey {
            dictionary: DictionaryScope::Type(Some(around.clone())),
            ..operator.entry.clone()
        }),
        _ => Cow::Borrowed(&operator.entry),
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
        let entries = EntryNumbers::of(&set);
        let Instruction::Field(field) = &set.templates()[0].instructions[0] else {
            panic!("no field")
        };
        let Operators::Whole(operator) = &field.operators else { panic!("one operator") };
        let (q, r) = (Name::local("Q"), Name::local("R"));
        assert_ne!(entries.entry(operator, Some(&q)), entries.entry(operator, Some(&r)));
        let Instruction::Field(own) = &set.templates()[3].instructions[0] else {
            panic!("no field")
        };
        let Operators::Whole(own) = &own.operators else { panic!("one operator") };
        assert_eq!(entries.entry(operator, Some(&q)), entries.entry(own, Some(&q)));
    }
}
