//! The dictionary entries of a template set: which operators share one, and of which types.

use crate::template::{EntryKey, FieldType, Instruction, Operator, Operators, TemplateSet, Width};
use std::collections::HashMap;

/// The dictionary entries of a template set, by key, with the types that use them.
#[derive(Default)]
pub(super) struct Entries {
    by_key: HashMap<EntryKey, u32>,
    /// For each entry the types of the fields that use it.
    types: Vec<Vec<u8>>,
}

/// Types that may not share an entry have different tags. 8, 9 and 10 have a text buffer.
pub(super) fn type_tag(field_type: &FieldType) -> u8 {
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

impl Entries {
    pub(super) fn of(set: &TemplateSet) -> Self {
        let mut entries = Self::default();
        for template in set.templates() {
            entries.visit(&template.instructions);
        }
        entries
    }

    fn visit(&mut self, instructions: &[Instruction]) {
        for instruction in instructions {
            match instruction {
                Instruction::Field(field) => match &field.operators {
                    Operators::Whole(operator) => self.add(operator, type_tag(&field.field_type)),
                    Operators::Parts { exponent, mantissa } => {
                        self.add(exponent, type_tag(&FieldType::Int(Width::W32)));
                        self.add(mantissa, type_tag(&FieldType::Int(Width::W64)));
                    }
                },
                Instruction::Group(group) => self.visit(&group.instructions),
                Instruction::Sequence(sequence) => {
                    self.add(&sequence.length.operator, type_tag(&FieldType::UInt(Width::W32)));
                    self.visit(&sequence.instructions);
                }
                Instruction::StaticRef(..) | Instruction::DynamicRef(_) => {}
            }
        }
    }

    fn add(&mut self, operator: &Operator, tag: u8) {
        if !operator.kind.uses_dictionary() {
            return;
        }
        let next = self.types.len() as u32;
        let index = *self.by_key.entry(operator.entry.clone()).or_insert(next);
        if index == next {
            self.types.push(Vec::new());
        }
        let types = &mut self.types[index as usize];
        if !types.contains(&tag) {
            types.push(tag);
        }
    }

    /// The entry of an operator, and whether fields of several types use it.
    pub(super) fn entry(&self, operator: &Operator) -> (u32, bool) {
        match self.by_key.get(&operator.entry) {
            Some(&index) if operator.kind.uses_dictionary() => {
                (index, self.types[index as usize].len() > 1)
            }
            _ => (0, false),
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
