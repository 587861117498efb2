//! Dictionaries for reading a message.

use crate::names::Names;
use std::sync::{Arc, LazyLock, OnceLock};
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, FixMessage, Tag};

/// The shipped dictionaries, shared by all `Versions`.
static BUILT_IN: [OnceLock<Dictionary>; shipped::ALL.len()] =
    [const { OnceLock::new() }; shipped::ALL.len()];

/// The dictionary for unknown versions.
static EMPTY: LazyLock<Dictionary> = LazyLock::new(|| parsed("<fix major='0' minor='0'/>"));

/// The dictionaries: those that the user has named, or the shipped ones, parsed on demand.
#[derive(Debug, Default)]
pub struct Versions {
    named: Option<NamedDictionaries>,
}

/// Dictionaries that replace the shipped ones.
#[derive(Debug)]
struct NamedDictionaries {
    session: Arc<Dictionary>,
    application: NamedApplications,
}

/// Dictionaries of application messages.
#[derive(Debug)]
enum NamedApplications {
    /// One for all messages.
    One(Arc<Dictionary>),
    ByVersion {
        /// By ApplVerID.
        dictionaries: Vec<(Vec<u8>, Arc<Dictionary>)>,
        /// ApplVerID of messages that name none.
        default: Option<Vec<u8>>,
    },
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
        Self::one(session, application)
    }

    /// Uses `session` for header, trailer and session messages, and `application` for all others.
    pub fn one(session: Arc<Dictionary>, application: Arc<Dictionary>) -> Self {
        let application = NamedApplications::One(application);
        Self { named: Some(NamedDictionaries { session, application }) }
    }

    /// Uses `session` for header, trailer and session messages. Application messages use the
    /// dictionary of their ApplVerID, or of `default` if they name none; FIX Latest (10) uses that of
    /// FIX 5.0 SP2 (9). Versions without a dictionary use the shipped one.
    pub fn by_version(
        session: Arc<Dictionary>,
        dictionaries: Vec<(Vec<u8>, Arc<Dictionary>)>,
        default: Option<Vec<u8>>,
    ) -> Self {
        let application = NamedApplications::ByVersion { dictionaries, default };
        Self { named: Some(NamedDictionaries { session, application }) }
    }

    /// Returns the names for a message; empty for an unknown version.
    pub fn names(&self, message: &FixMessage<'_, '_>) -> Names<'_> {
        self.names_of(message.begin_string(), version_of(message))
    }

    /// Returns the names for a BeginString and, with FIXT, the value of ApplVerID or
    /// DefaultApplVerID; empty for an unknown version.
    pub fn names_of(&self, begin_string: &[u8], application: Option<&[u8]>) -> Names<'_> {
        let found = self.of_version(begin_string, application);
        let (session, application) = found.unwrap_or((&EMPTY, &EMPTY));
        Names { session, application }
    }

    /// Returns the dictionaries of session and application for a message; `None` for an unknown
    /// version.
    pub fn of(&self, message: &FixMessage<'_, '_>) -> Option<(&Dictionary, &Dictionary)> {
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
            return Some((&named.session, named.application.of_version(application)?));
        }
        if begin_string != b"FIXT.1.1" {
            let name = String::from_utf8_lossy(begin_string).replace('.', "");
            let found = built_in(&name)?;
            return Some((found, found));
        }
        Some((built_in("FIXT11")?, built_in(shipped_name(application))?))
    }
}

impl NamedApplications {
    /// Returns the dictionary of an ApplVerID.
    fn of_version(&self, asked: Option<&[u8]>) -> Option<&Dictionary> {
        let (dictionaries, default) = match self {
            Self::One(dictionary) => return Some(dictionary),
            Self::ByVersion { dictionaries, default } => (dictionaries, default),
        };
        let wanted = match asked.or(default.as_deref()) {
            Some(b"10") => Some(&b"9"[..]),
            wanted => wanted,
        };
        let found = dictionaries.iter().find(|(version, _)| Some(&version[..]) == wanted);
        found.map(|(_, found)| &**found).or_else(|| built_in(shipped_name(wanted)))
    }
}

/// Returns the shipped dictionary with this name.
fn built_in(name: &str) -> Option<&'static Dictionary> {
    let index = shipped::ALL.iter().position(|(known, _)| *known == name)?;
    Some(BUILT_IN[index].get_or_init(|| parsed(shipped::ALL[index].1)))
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
fn version_of<'b>(message: &FixMessage<'b, '_>) -> Option<&'b [u8]> {
    let field = message.field(Tag(1128)).or_else(|| message.field(Tag(1137)));
    field.map(|field| field.value)
}

/// Parses a dictionary of the product, whose tests parse it too.
fn parsed(text: &str) -> Dictionary {
    Dictionary::parse_quickfix(text).expect("a right dictionary")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(name: &str) -> Arc<Dictionary> {
        let xml = format!(
            "<fix major='5' minor='0'><header/><trailer/><components/><messages/>\
             <fields><field number='5001' name='{name}' type='INT'/></fields></fix>"
        );
        Arc::new(parsed(&xml))
    }

    #[test]
    fn messages_use_the_dictionary_of_their_version() {
        let dictionaries = vec![(b"7".to_vec(), own("Seven")), (b"9".to_vec(), own("Nine"))];
        let versions = |default: Option<&str>| {
            let default = default.map(|version| version.as_bytes().to_vec());
            Versions::by_version(own("Session"), dictionaries.clone(), default)
        };
        for (default, asked, name) in [
            (Some("9"), None, Some("Nine")),
            (Some("10"), None, Some("Nine")),
            (Some("7"), None, Some("Seven")),
            (Some("7"), Some("9"), Some("Nine")),
            (Some("7"), Some("10"), Some("Nine")),
            (Some("9"), Some("7"), Some("Seven")),
            // The shipped dictionaries.
            (Some("6"), None, None),
            (None, None, None),
            (Some("9"), Some("6"), None),
        ] {
            let versions = versions(default);
            let asked = asked.map(str::as_bytes);
            let (_, found) = versions.of_version(b"FIXT.1.1", asked).expect("a dictionary");
            let found = found.field(Tag(5001)).map(|field| field.name());
            assert_eq!(found, name, "{default:?} {asked:?}");
        }
    }

    #[test]
    fn shipped_dictionaries_are_shared() {
        let [first, second] = [Versions::default(), Versions::default()];
        let [first, second] = [&first, &second].map(|versions| versions.names_of(b"FIX.4.4", None));
        assert!(std::ptr::eq(first.application, second.application));
    }
}
