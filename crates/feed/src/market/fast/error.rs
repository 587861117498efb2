//! Errors of interpreting messages.

use std::error::Error;
use std::fmt;

/// Reason why a message cannot be interpreted. Its content is lost: report its number to
/// [`Recovery::handle_gap`](crate::recovery::Recovery::handle_gap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarketDataError {
    /// The message was decoded by another program than the adapter's.
    OtherProgram,
    /// A required field is absent.
    FieldAbsent {
        /// Its FIX tag.
        tag: u32,
    },
    /// A field has a value or a type that its tag does not allow.
    FieldValue {
        /// Its FIX tag.
        tag: u32,
    },
}

impl fmt::Display for MarketDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProgram => {
                f.write_str("the message belongs to another program: make an adapter for that one")
            }
            Self::FieldAbsent { tag } => write!(f, "the required field {tag} is absent"),
            Self::FieldValue { tag } => write!(f, "field {tag} has an invalid value"),
        }
    }
}

impl Error for MarketDataError {}
