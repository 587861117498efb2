//! The built-in dictionaries, for sessions.

use crate::failure::Failure;
use tickwire_fix_session::{BeginString, Dictionaries};

/// Returns the dictionaries of a version; for FIXT those of all application versions from FIX 5.0.
pub fn shipped(version: BeginString) -> Result<Dictionaries, Failure> {
    Dictionaries::shipped(version)
        .map_err(|problems| Failure::Data(format!("dictionary: {problems}")))
}
