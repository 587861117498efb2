//! What the reader's tests share.

use crate::template::model::{Field, Instruction, Operator, OperatorKind, Operators, Template};
use crate::template::set::TemplateSet;

/// Reads a file that has no errors.
pub(super) fn set(xml: &str) -> TemplateSet {
    TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Reads one template with the instructions given.
pub(super) fn body(instructions: &str) -> Template {
    set(&wrap(instructions)).templates()[0].clone()
}

/// The first field of the instructions given.
pub(super) fn field(instructions: &str) -> Field {
    let Some(Instruction::Field(field)) = body(instructions).instructions.first().cloned() else {
        panic!("the first instruction is not a field");
    };
    field
}

/// The operator of a field that has one for the whole.
pub(super) fn operator(instructions: &str) -> Operator {
    match field(instructions).operators {
        Operators::Whole(operator) => operator,
        Operators::Parts { .. } => panic!("the field has operators on its parts"),
    }
}

pub(super) fn wrap(instructions: &str) -> String {
    format!("<templates><template name=\"T\" id=\"1\">{instructions}</template></templates>")
}

/// The codes of all errors in a file, `-` for limits.
pub(super) fn codes(xml: &str) -> Vec<&'static str> {
    match TemplateSet::parse(xml) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            errors.errors.iter().map(|error| error.code.map_or("-", |code| code.as_str())).collect()
        }
    }
}

/// The codes of all errors in the instructions of one template.
pub(super) fn body_codes(instructions: &str) -> Vec<&'static str> {
    codes(&wrap(instructions))
}

/// The kinds of operators of the fields of a template.
pub(super) fn kinds(template: &Template) -> Vec<OperatorKind> {
    let kind = |instruction: &Instruction| match instruction {
        Instruction::Field(Field { operators: Operators::Whole(operator), .. }) => {
            Some(operator.kind)
        }
        _ => None,
    };
    template.instructions.iter().filter_map(kind).collect()
}
