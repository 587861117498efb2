//! Errors of a run: a packet does not match its grammar, or an action failed.

use std::borrow::Cow;
use std::fmt;

use crate::host::{ActionError, ActionId};

/// The reason why a run stopped: offset in the packet, statement of the grammar, and kind.
///
/// Holds only numbers; [`describe`](Self::describe) adds the text of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunError {
    /// Offset in the packet. For a pattern: the first byte that does not fit, or the length of the
    /// input if bytes are missing. For a count or an action: the offset at which its bytes begin.
    pub offset: usize,
    /// Index into the program's statements.
    pub statement: u32,
    /// Line of the statement in the grammar, from 1.
    pub line: u32,
    /// Kind of error.
    pub kind: RunErrorKind,
}

/// The kind of a [`RunError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// The host's action failed.
    ActionFailed {
        /// The action.
        action: ActionId,
        /// The host's code.
        error: ActionError,
    },
    /// A count is negative after its adjustment.
    CountBelowZero,
    /// A count exceeds the bytes left.
    CountPastEnd {
        /// The count, in bytes.
        count: u64,
    },
    /// A count does not fit 64 bits.
    CountRange,
    /// More than [`EMPTY_ROUNDS_MAX`](crate::rt::EMPTY_ROUNDS_MAX) rounds of `REPEAT` consumed no
    /// byte.
    EmptyRounds,
    /// A decimal count does not begin with a digit.
    CountSyntax,
    /// The packet ends before a byte that the statement needs.
    InputEnded,
    /// The byte at the offset does not fit the statement.
    Mismatch,
    /// The number selects no case.
    NoCase,
    /// A stream must buffer more than its limit.
    StreamTooLong {
        /// The limit in bytes.
        bytes_max: u64,
    },
    /// Bytes of the count are left, and no statement of its body matches the next one.
    NotUsedUp,
    /// The statement needs bytes beyond the innermost count.
    PastCount,
}

const _: () = assert!(size_of::<RunError>() <= 32, "errors travel by value");

/// One statement of a grammar, for errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    /// Name of the included file; `None` for the grammar itself.
    pub file: Option<Cow<'static, str>>,
    /// Line in the grammar, from 1.
    pub line: u32,
    /// The statement as written, without indentation and comment.
    pub text: Cow<'static, str>,
}

impl StatementText {
    /// Creates the text of a statement, in a constant.
    pub const fn borrowed(line: u32, text: &'static str) -> Self {
        Self { file: None, line, text: Cow::Borrowed(text) }
    }

    /// Creates the text of a statement of an included file, in a constant.
    pub const fn included(file: &'static str, line: u32, text: &'static str) -> Self {
        Self { file: Some(Cow::Borrowed(file)), line, text: Cow::Borrowed(text) }
    }
}

impl RunError {
    /// Describes the error in a sentence, with the statement as written.
    ///
    /// `statements` belong to the program that ran: `GrammarProgram::statements`, or `STATEMENTS` of
    /// generated source.
    pub fn describe(&self, statements: &[StatementText]) -> String {
        let statement = statements.get(self.statement as usize);
        let text = statement.map_or("?", |s| &s.text);
        let file = statement.and_then(|s| s.file.as_deref()).unwrap_or("grammar");
        format!("offset {}, {file} line {}: `{text}`: {}", self.offset, self.line, self.kind)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}, grammar line {}: {}", self.offset, self.line, self.kind)
    }
}

impl fmt::Display for RunErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ActionFailed { action, error } => {
                write!(f, "action {} failed with code {}", action.0, error.0)
            }
            Self::CountPastEnd { count } => {
                write!(f, "the count says {count} bytes, but fewer are left")
            }
            Self::CountBelowZero => f.write_str("the count is below zero after its adjustment"),
            Self::CountRange => f.write_str("the count does not fit 64 bits"),
            Self::EmptyRounds => write!(
                f,
                "more than {} rounds consumed no byte, the limit of a run",
                crate::rt::EMPTY_ROUNDS_MAX
            ),
            Self::NoCase => f.write_str("no case has this number, and there is no DEFAULT"),
            Self::StreamTooLong { bytes_max } => {
                write!(f, "more than {bytes_max} bytes must be buffered, the limit of the stream")
            }
            Self::CountSyntax => f.write_str("expected a decimal count, found no digit"),
            Self::InputEnded => f.write_str("the packet ends where a byte is needed"),
            Self::Mismatch => f.write_str("the byte there does not fit"),
            Self::NotUsedUp => f.write_str(
                "bytes are left in the count, and nothing in its body matches the next one",
            ),
            Self::PastCount => f.write_str("needs bytes beyond the end of the enclosing count"),
        }
    }
}

impl std::error::Error for RunError {}
