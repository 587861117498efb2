//! Differences of two fields and of their operators.

use super::{SetComparison, id_text, name_text};
use crate::template::model::{
    EntryKey, EntryPart, Enumeration, FieldInstruction, FieldType, Instruction, Operator, Operators,
};
use crate::template::xml::{dictionary_text, value_text};

/// Names of an operator's properties.
pub(super) struct FieldWords {
    operator: &'static str,
    initial: &'static str,
    entry: &'static str,
}

const WHOLE: FieldWords =
    FieldWords { operator: "operator", initial: "initial value", entry: "dictionary entry" };
const EXPONENT: FieldWords = FieldWords {
    operator: "operator of the exponent",
    initial: "initial value of the exponent",
    entry: "dictionary entry of the exponent",
};
const MANTISSA: FieldWords = FieldWords {
    operator: "operator of the mantissa",
    initial: "initial value of the mantissa",
    entry: "dictionary entry of the mantissa",
};
pub(super) const LENGTH: FieldWords = FieldWords {
    operator: "operator of the length",
    initial: "initial value of the length",
    entry: "dictionary entry of the length",
};

/// Returns a short description of an instruction that was added or removed.
pub(super) fn describe(instruction: &Instruction) -> String {
    match instruction {
        Instruction::Field(field) => format!(
            "{} {}, operator {}",
            field.presence.name(),
            field.field_type.name(),
            operators_text(&field.operators)
        ),
        Instruction::Group(group) => format!(
            "{} {} of {} instructions",
            group.presence.name(),
            group.kind(),
            group.instructions.len()
        ),
        Instruction::StaticRef(..) => "static template reference".to_owned(),
        Instruction::DynamicRef(_) => "dynamic template reference".to_owned(),
    }
}

fn operators_text(operators: &Operators) -> String {
    match operators {
        Operators::Whole(operator) => operator.kind.name().to_owned(),
        Operators::Parts { exponent, mantissa } => {
            format!("exponent {} and mantissa {}", exponent.kind.name(), mantissa.kind.name())
        }
    }
}

impl SetComparison<'_> {
    pub(super) fn fields(&mut self, old: &FieldInstruction, new: &FieldInstruction) {
        self.property("name", name_text(&old.name), name_text(&new.name));
        self.property("id", id_text(old.id), id_text(new.id));
        self.property("presence", old.presence.name().into(), new.presence.name().into());
        self.property("type", type_text(&old.field_type), type_text(&new.field_type));
        self.property("elements", elements(&old.field_type), elements(&new.field_type));
        let types = Some((&old.field_type, &new.field_type));
        match (&old.operators, &new.operators) {
            (Operators::Whole(old), Operators::Whole(new)) => {
                self.operator(&WHOLE, (old, new), types);
            }
            (
                Operators::Parts { exponent, mantissa },
                Operators::Parts { exponent: new_exponent, mantissa: new_mantissa },
            ) => {
                self.operator(&EXPONENT, (exponent, new_exponent), None);
                self.operator(&MANTISSA, (mantissa, new_mantissa), None);
            }
            (old, new) => self.property("operator", operators_text(old), operators_text(new)),
        }
        self.attributes(&old.attributes, &new.attributes);
    }

    /// Compares two operators. Without types, both are of plain integers.
    pub(super) fn operator(
        &mut self,
        words: &FieldWords,
        (old, new): (&Operator, &Operator),
        types: Option<(&FieldType, &FieldType)>,
    ) {
        self.property(words.operator, old.kind.name().into(), new.kind.name().into());
        let plain = &FieldType::Int(crate::template::Width::W64);
        let (old_type, new_type) = types.unwrap_or((plain, plain));
        if old.initial != new.initial {
            let text = |operator: &Operator, field_type: &FieldType| match &operator.initial {
                Some(value) => format!("\"{}\"", value_text(value, field_type)),
                None => "none".to_owned(),
            };
            self.property(words.initial, text(old, old_type), text(new, new_type));
        }
        if old.kind.uses_dictionary() && new.kind.uses_dictionary() {
            self.property(words.entry, entry_text(&old.entry), entry_text(&new.entry));
        }
    }
}

fn type_text(field_type: &FieldType) -> String {
    match field_type {
        FieldType::Timestamp(timestamp) => {
            format!("timestamp in {}s from {}", timestamp.unit.name(), timestamp.epoch.name())
        }
        other => other.name().to_owned(),
    }
}

fn elements(field_type: &FieldType) -> String {
    let (FieldType::Enum(enumeration) | FieldType::Set(enumeration)) = field_type else {
        return "none".to_owned();
    };
    let Enumeration { elements, .. } = &**enumeration;
    let texts: Vec<String> = elements
        .iter()
        .map(|element| match &*element.id {
            "" => format!("{}={}", element.name, element.value),
            id => format!("{}({id})={}", element.name, element.value),
        })
        .collect();
    texts.join(" ")
}

fn entry_text(entry: &EntryKey) -> String {
    use crate::template::model::DictionaryScope::{Template, Type};
    let part = match entry.part {
        EntryPart::Whole => String::new(),
        part => format!(" ({})", part.name()),
    };
    let scope = match &entry.dictionary {
        Template(name) | Type(Some(name)) => format!(" of {}", name_text(name)),
        _ => String::new(),
    };
    let dictionary = dictionary_text(&entry.dictionary);
    format!("{}{part} in dictionary {dictionary}{scope}", name_text(&entry.key))
}
