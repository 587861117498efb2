//! Shared functions of the reader's tests.

use crate::template::model::{
    FieldInstruction, Instruction, Operator, OperatorKind, Operators, Template,
};
use crate::template::set::TemplateSet;

/// Reads a file that has no errors.
pub(super) fn set(xml: &str) -> TemplateSet {
    TemplateSet::parse(xml).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Reads one template with these instructions.
pub(super) fn body(instructions: &str) -> Template {
    set(&wrap(instructions)).templates()[0].clone()
}

/// Returns the first field of these instructions.
pub(super) fn field(instructions: &str) -> FieldInstruction {
    let Some(Instruction::Field(field)) = body(instructions).instructions.first().cloned() else {
        panic!("the first instruction is not a field");
    };
    field
}

/// Returns the operator of a field with one operator.
pub(super) fn operator(instructions: &str) -> Operator {
    match field(instructions).operators {
        Operators::Whole(operator) => operator,
        Operators::Parts { .. } => panic!("the field has operators on its parts"),
    }
}

pub(super) fn wrap(instructions: &str) -> String {
    format!("<templates><template name=\"T\" id=\"1\">{instructions}</template></templates>")
}

/// Returns the codes of all errors in a file, `-` for limits.
pub(super) fn codes(xml: &str) -> Vec<&'static str> {
    match TemplateSet::parse(xml) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            errors.errors.iter().map(|error| error.code.map_or("-", |code| code.as_str())).collect()
        }
    }
}

/// Returns the codes of all errors in the instructions of one template.
pub(super) fn body_codes(instructions: &str) -> Vec<&'static str> {
    codes(&wrap(instructions))
}

/// Returns the operators of a template's fields.
pub(super) fn kinds(template: &Template) -> Vec<OperatorKind> {
    let kind = |instruction: &Instruction| match instruction {
        Instruction::Field(FieldInstruction { operators: Operators::Whole(operator), .. }) => {
            Some(operator.kind)
        }
        _ => None,
    };
    template.instructions.iter().filter_map(kind).collect()
}
