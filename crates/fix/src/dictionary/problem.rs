//! Problems of a dictionary file, described for the people who maintain it.

use std::fmt;

/// All problems of a file, in the order of their lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<DictionaryProblem>);

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryProblem {
    /// Line of the file, from 1.
    pub line: u32,
    /// The kind of problem.
    pub what: DictionaryProblemKind,
}

/// The kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DictionaryProblemKind {
    /// An attribute has an invalid value.
    AttributeValue {
        /// The attribute.
        attribute: &'static str,
        /// Its value.
        value: String,
        /// Description of valid values.
        expected: &'static str,
    },
    /// A component contains itself.
    ComponentCycle(String),
    /// Two definitions of the same name, number or type.
    Duplicate {
        /// Kind of thing: field, component, message.
        kind: &'static str,
        /// Its name, number or type.
        name: String,
    },
    /// A group has no fields.
    EmptyGroup(String),
    /// An attribute is missing.
    MissingAttribute {
        /// The element.
        element: String,
        /// The attribute.
        attribute: &'static str,
    },
    /// The top element is not `fix`, or not `repository`.
    Root(String),
    /// More members, groups or nested levels than this library supports.
    TooLarge,
    /// An element that is not expected at its position.
    UnexpectedElement(String),
    /// A component that is used but not defined.
    UnknownComponent(String),
    /// A field that is used but not defined.
    UnknownField(String),
    /// A group that is used but not defined.
    UnknownGroup(String),
    /// The type of a field is neither a datatype nor a list of values.
    UnknownType(String),
    /// Not well-formed XML.
    Xml(String),
}

impl fmt::Display for DictionaryProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match &self.what {
            DictionaryProblemKind::AttributeValue { attribute, value, expected } => {
                write!(out, "{attribute}='{value}': expected {expected}")
            }
            DictionaryProblemKind::ComponentCycle(name) => {
                write!(out, "component '{name}' contains itself: remove the reference back to it")
            }
            DictionaryProblemKind::Duplicate { kind, name } => {
                write!(out, "{kind} '{name}' is defined twice: remove one definition")
            }
            DictionaryProblemKind::EmptyGroup(name) => {
                write!(out, "group '{name}' has no fields: its first field begins each entry")
            }
            DictionaryProblemKind::MissingAttribute { element, attribute } => {
                write!(out, "<{element}> lacks the attribute '{attribute}'")
            }
            DictionaryProblemKind::Root(name) => write!(
                out,
                "the top element is <{name}>: expected <fix> of a QuickFIX dictionary or <repository> of \
                 FIX Orchestra"
            ),
            DictionaryProblemKind::TooLarge => {
                write!(out, "too many members, groups or nested levels")
            }
            DictionaryProblemKind::UnexpectedElement(name) => {
                write!(out, "<{name}> has no meaning here")
            }
            DictionaryProblemKind::UnknownComponent(name) => {
                write!(out, "component '{name}' is not defined: add it to <components>")
            }
            DictionaryProblemKind::UnknownField(name) => {
                write!(out, "field '{name}' is not defined: add it to <fields>")
            }
            DictionaryProblemKind::UnknownGroup(name) => {
                write!(out, "group '{name}' is not defined: add it to <groups>")
            }
            DictionaryProblemKind::UnknownType(name) => {
                write!(out, "type '{name}' is not defined: add it to <datatypes> or <codeSets>")
            }
            DictionaryProblemKind::Xml(text) => write!(out, "not well-formed XML: {text}"),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            problem.fmt(out)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
