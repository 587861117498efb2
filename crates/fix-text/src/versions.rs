//! Dictionaries for reading a message.

use crate::names::Names;
use std::sync::{Arc, OnceLock};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, Message, Tag};

/// The dictionaries: those that the user has named, or the shipped ones, parsed on demand.
#[derive(Debug, Default)]
pub struct Versions {
    named: Option<NamedDictionaries>,
    built_in: [OnceLock<Dictionary>; shipped::ALL.len()],
    /// For unknown versions.
    empty: OnceLock<Dictionary>,
}

/// Dictionaries that replace the shipped ones.
#[derive(Debug)]
struct NamedDictionaries {
    session: Arc<Dictionary>,
    /// Application messages by ApplVerID.
    by_version: Vec<(Vec<u8>, Arc<Dictionary>)>,
    /// For messages that name no version.
    application: Arc<Dictionary>,
}

impl Versions {
    /// Uses `application` for every message, with header, trailer and session messages of
    /// `session`. Without `session` these come from `application`, or from FIXT 1.1 if
    /// `application` has no header.
    pub fn named(application: Dictionary, session: Option<Dictionary>) -> Self {
        let application = Arc::new(application);
        let session = match session {
            Some(session) => Arc::new(session),
            None if application.header().is_empty() => Arc::new(parsed(&shipped::FIXT11)),
            None => application.clone(),
        };
        Self::by_version(session, Vec::new(), application)
    }

    /// Uses `session` for header, trailer and session messages. Application messages that name a
    /// version use its dictionary in `by_version` (by ApplVerID), else the shipped one; other
    /// messages use `application`, as do all if `by_version` is empty.
    pub fn by_version(
        session: Arc<Dictionary>,
        by_version: Vec<(Vec<u8>, Arc<Dictionary>)>,
        application: Arc<Dictionary>,
    ) -> Self {
        Self {
            named: Some(NamedDictionaries { session, by_version, application }),
            ..Self::default()
        }
    }

    /// Returns the names for a message; empty for an unknown version.
    pub fn names(&self, message: &Message<'_, '_>) -> Names<'_> {
        self.names_of(message.begin_string(), version_of(message))
    }

    /// Returns the names for a BeginString and, with FIXT, the value of ApplVerID or
    /// DefaultApplVerID; empty for an unknown version.
    pub fn names_of(&self, begin_string: &[u8], application: Option<&[u8]>) -> Names<'_> {
        let found = self.of_version(begin_string, application);
        let (session, application) = found.unwrap_or_else(|| {
            let empty = self.empty.get_or_init(|| parsed("<fix major='0' minor='0'/>"));
            (empty, empty)
        });
        Names { session, application }
    }

    /// Returns the dictionaries of session and application for a message; `None` for an unknown
    /// version.
    pub fn of(&self, message: &Message<'_, '_>) -> Option<(&Dictionary, &Dictionary)> {
        self.of_version(message.begin_string(), version_of(message))
    }

    /// Returns the dictionaries of session and application for a BeginString and, with FIXT, the
    /// value of ApplVerID or DefaultApplVerID, which defaults to FIX 5.0 SP2. `None` for an unknown
    /// version.
    pub fn of_version(
        &self,
        begin_string: &[u8],
        application: Option<&[u8]>,
    ) -> Option<(&Dictionary, &Dictionary)> {
        if let Some(named) = &self.named {
            let asked = application.filter(|_| !named.by_version.is_empty());
            let Some(asked) = asked else { return Some((&named.session, &named.application)) };
            let found = named.by_version.iter().find(|(version, _)| version == asked);
            let found = match found {
                Some((_, found)) => found,
                None => self.built_in(shipped_name(Some(asked)))?,
            };
            return Some((&named.session, found));
        }
        if begin_string != b"FIXT.1.1" {
            let name = String::from_utf8_lossy(begin_string).replace('.', "");
            let found = self.built_in(&name)?;
            return Some((found, found));
        }
        Some((self.built_in("FIXT11")?, self.built_in(shipped_name(application))?))
    }

    fn built_in(&self, name: &str) -> Option<&Dictionary> {
        let index = shipped::ALL.iter().position(|(known, _)| *known == name)?;
        Some(self.built_in[index].get_or_init(|| parsed(shipped::ALL[index].1)))
    }
}

/// Returns the name of the shipped dictionary of an ApplVerID.
fn shipped_name(version: Option<&[u8]>) -> &'static str {
    match version {
        Some(b"2") => "FIX40",
        Some(b"3") => "FIX41",
        Some(b"4") => "FIX42",
        Some(b"5") => "FIX43",
        Some(b"6") => "FIX44",
        Some(b"7") => "FIX50",
        Some(b"8") => "FIX50SP1",
        _ => "FIX50SP2",
    }
}

/// Returns ApplVerID, else DefaultApplVerID.
fn version_of<'b>(message: &Message<'b, '_>) -> Option<&'b [u8]> {
    let field = message.field(Tag(1128)).or_else(|| message.field(Tag(1137)));
    field.map(|field| field.value)
}

/// Parses a dictionary of the product, whose tests parse it too.
fn parsed(text: &str) -> Dictionary {
    Dictionary::parse_quickfix(text).expect("a right dictionary")
}
