//! The dictionaries that come with the product, for sessions.

use crate::failure::Failure;
use std::sync::Arc;
use tickwire_fix::Dictionary;
use tickwire_fix::dictionary::shipped as texts;
use tickwire_fix_session::{ApplVersion, BeginString, Dictionaries};

/// Returns the dictionaries of a version; for FIXT those of all application versions from FIX 5.0.
pub fn shipped(version: BeginString) -> Result<Dictionaries, Failure> {
    let (session, application): (&str, &[(ApplVersion, &str)]) = match version {
        BeginString::Fix40 => (texts::FIX40, &[]),
        BeginString::Fix41 => (texts::FIX41, &[]),
        BeginString::Fix42 => (texts::FIX42, &[]),
        BeginString::Fix43 => (texts::FIX43, &[]),
        BeginString::Fix44 => (texts::FIX44, &[]),
        BeginString::Fixt11 => (
            texts::FIXT11,
            &[
                (ApplVersion::Fix50, texts::FIX50),
                (ApplVersion::Fix50Sp1, texts::FIX50SP1),
                (ApplVersion::Fix50Sp2, texts::FIX50SP2),
            ],
        ),
    };
    let application = application
        .iter()
        .map(|(version, text)| Ok((*version, parsed(text)?)))
        .collect::<Result<_, Failure>>()?;
    Ok(Dictionaries { session: parsed(session)?, application })
}

fn parsed(text: &str) -> Result<Arc<Dictionary>, Failure> {
    let dictionary = Dictionary::parse_quickfix(text)
        .map_err(|problems| Failure::Data(format!("dictionary: {problems}")))?;
    Ok(Arc::new(dictionary))
}
