//! Errors of the generator.

use std::fmt;

use tickwire_fix::rt::Layout;

/// The reason why nothing was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixCodegenError {
    /// The dictionary has no message with this name or type.
    UnknownMessage(String),
    /// The dictionary has no header: FIX 5.0 takes it from the dictionary of FIXT 1.1.
    NoHeader,
    /// The header, message or group with this name has more fields, or larger tags, than a table of
    /// places can hold: see `Layout` of `tickwire_fix::rt`.
    TooLarge(String),
    /// A file could not be read or written, or is not a dictionary; the text names it.
    File(String),
}

impl fmt::Display for FixCodegenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMessage(name) => {
                write!(out, "no message '{name}' in the dictionary: give a name or a MsgType")
            }
            Self::NoHeader => write!(
                out,
                "the dictionary has no header: give the session's dictionary (FIXT11.xml) too"
            ),
            Self::TooLarge(name) => write!(
                out,
                "{name} has too many fields, or tags above {}: remove unused fields",
                Layout::TAG_MAX
            ),
            Self::File(text) => out.write_str(text),
        }
    }
}

impl std::error::Error for FixCodegenError {}
