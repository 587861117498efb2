//! Which dictionaries a message is read with.

use std::sync::OnceLock;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::{Dictionary, Message, Tag};

/// Dictionaries: two that the user has named, or those that come with the product, parsed when they are wanted.
#[derive(Debug, Default)]
pub struct Versions {
    /// Session and application, where the user has named them.
    named: Option<(Dictionary, Dictionary)>,
    built_in: [OnceLock<Dictionary>; shipped::ALL.len()],
}

impl Versions {
    /// Takes these for every message.
    pub fn named(session: Dictionary, application: Dictionary) -> Self {
        Self { named: Some((session, application)), built_in: Default::default() }
    }

    /// Returns the dictionaries of session and application for a message; `None` for a version that is not
    /// known.
    pub fn of(&self, message: &Message<'_, '_>) -> Option<(&Dictionary, &Dictionary)> {
        let version = message.field(Tag(1128)).or_else(|| message.field(Tag(1137)));
        self.of_version(message.begin_string(), version.map(|field| field.value))
    }

    /// Returns the dictionaries of session and application for a BeginString and, with FIXT, the value of
    /// ApplVerID or DefaultApplVerID, FIX 5.0 SP2 unless given; `None` for a version that is not known.
    pub fn of_version(
        &self,
        begin_string: &[u8],
        application: Option<&[u8]>,
    ) -> Option<(&Dictionary, &Dictionary)> {
        if let Some((session, application)) = &self.named {
            return Some((session, application));
        }
        if begin_string != b"FIXT.1.1" {
            let name = String::from_utf8_lossy(begin_string).replace('.', "");
            let found = self.built_in(&name)?;
            return Some((found, found));
        }
        let application = match application {
            Some(b"2") => "FIX40",
            Some(b"3") => "FIX41",
            Some(b"4") => "FIX42",
            Some(b"5") => "FIX43",
            Some(b"6") => "FIX44",
            Some(b"7") => "FIX50",
            Some(b"8") => "FIX50SP1",
            _ => "FIX50SP2",
        };
        Some((self.built_in("FIXT11")?, self.built_in(application)?))
    }

    fn built_in(&self, name: &str) -> Option<&Dictionary> {
        let index = shipped::ALL.iter().position(|(known, _)| *known == name)?;
        if let Some(found) = self.built_in[index].get() {
            return Some(found);
        }
        let parsed = Dictionary::parse_quickfix(shipped::ALL[index].1).ok()?;
        Some(self.built_in[index].get_or_init(|| parsed))
    }
}
