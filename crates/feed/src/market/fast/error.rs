//! Why a message says nothing that can be used.

use std::error::Error;
use std::fmt;

/// Why a message says nothing that can be used. What it would have said is lost then: tell
/// [`Recovery::handle_gap`](crate::recovery::Recovery::handle_gap) its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarketDataError {
    /// The message was decoded by another program than the adapter was made for.
    OtherProgram,
    /// A field that is needed is absent.
    FieldAbsent {
        /// Its FIX tag.
        tag: u32,
    },
    /// A field has a value that its tag does not have, or is not of a fitting type.
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
            Self::FieldAbsent { tag } => write!(f, "field {tag} is needed and absent"),
            Self::FieldValue { tag } => write!(f, "field {tag} has a value it cannot have"),
        }
    }
}

impl Error for MarketDataError {}
