//! Results of a command.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No errors: status 0.
    Clean,
    /// Errors in the data, already reported: status 1.
    Flawed,
}

impl Outcome {
    /// `Flawed` if there are errors.
    pub fn flawed_if(flawed: bool) -> Self {
        if flawed { Self::Flawed } else { Self::Clean }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Clean => Self::from(0),
            Outcome::Flawed => Self::from(1),
        }
    }
}

/// Reason why a command stopped before its end. The text is for the user and says what to do.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The data are wrong: status 1.
    Data(String),
    /// The reader of the output closed it: no message, status 0.
    OutputClosed,
    /// The command line is wrong, or a file cannot be opened, read or written: status 2.
    Usage(String),
}

impl Failure {
    /// A file that cannot be opened, read or written.
    pub fn file(action: &str, file: impl fmt::Display, error: &io::Error) -> Self {
        Self::Usage(format!("cannot {action} {file}: {error}"))
    }

    /// The text for the user; `None` if there is none.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Data(text) | Self::Usage(text) => Some(text),
            Self::OutputClosed => None,
        }
    }

    /// The exit status.
    pub fn status(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Data(_) => 1,
            Self::OutputClosed => 0,
            Self::Usage(_) => 2,
        })
    }
}

/// Converts an error of writing to the output, so that `?` turns a closed pipe into a quiet end.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Usage(format!("cannot write the output: {error}")),
        }
    }
}
