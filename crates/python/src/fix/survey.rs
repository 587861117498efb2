//! Determines which messages and fields a log has.

use crate::fix::log::LogJob;
use crate::signals;
use std::collections::{BTreeMap, BTreeSet};
use tickwire_fix::{FixMessage, Reader, Tag};
use tickwire_fix_text::{FRAME_TAGS, FoundMessage, Names, Versions, examined};

/// Tags below this limit are recorded in an array.
const DENSE_TAGS: usize = 4096;

/// Messages by MsgType.
#[derive(Default)]
pub struct MessageTypeSurvey {
    pub types: BTreeMap<Vec<u8>, SeenFields>,
}

/// Fields of a type's messages.
#[derive(Default)]
pub struct SeenFields {
    pub count: u64,
    dense: Vec<bool>,
    sparse: BTreeSet<u32>,
    /// BeginString and ApplVerID of the first message.
    version: (Vec<u8>, Option<Vec<u8>>),
}

/// The selected columns.
#[derive(Clone)]
pub struct SelectedColumns {
    pub msg_type: Vec<u8>,
    pub version: (Vec<u8>, Option<Vec<u8>>),
    /// Tags of the columns; `None` for all fields of the dictionary.
    pub tags: Option<BTreeSet<u32>>,
}

impl SelectedColumns {
    pub fn names<'v>(&self, versions: &'v Versions) -> Names<'v> {
        versions.names_of(&self.version.0, self.version.1.as_deref())
    }
}

impl MessageTypeSurvey {
    /// Reads a log. Errors are reported later, when rows are read.
    pub fn of(job: &LogJob) -> Result<Self, String> {
        let (mut survey, mut reader) = (Self::default(), Reader::new());
        let mut pull = job.source.open()?;
        while pull.step(&mut |_, found| {
            // A message without notes is valid: no second check.
            if let FoundMessage::Message { bytes, notes: [], is_completed: false } = found
                && let Ok(message) = reader.decode(bytes)
            {
                survey.note(&message);
            } else if let Ok((message, wrong)) = examined(&mut reader, found)
                && (wrong.is_empty() || !job.checks)
            {
                survey.note(&message);
            }
        }) && !signals::is_interrupted()
        {}
        Ok(survey)
    }

    fn note(&mut self, message: &FixMessage<'_, '_>) {
        if let Some(seen) = self.types.get_mut(message.msg_type()) {
            seen.note(message.tags());
        } else {
            let version = [1128, 1137].into_iter().find_map(|tag| message.field(Tag(tag)));
            let version = version.map(|field| field.value.to_vec());
            let version = (message.begin_string().to_vec(), version);
            let dense = vec![false; DENSE_TAGS];
            let mut seen = SeenFields { version, dense, ..SeenFields::default() };
            seen.note(message.tags());
            self.types.insert(message.msg_type().to_vec(), seen);
        }
    }

    /// Selects the columns for a type: those in its messages, the named ones, or all of the dictionary.
    pub fn choose(
        &self,
        versions: &Versions,
        wanted: Option<&str>,
        fields: Option<Vec<String>>,
        all: bool,
    ) -> Result<SelectedColumns, String> {
        let name = |msg_type: &[u8], seen: &SeenFields| {
            let names = versions.names_of(&seen.version.0, seen.version.1.as_deref());
            names.message(msg_type).map(|found| found.name().to_owned())
        };
        let is_wanted = |msg_type: &[u8], seen: &SeenFields| {
            let is_named = |wanted| name(msg_type, seen).is_some_and(|name| name == wanted);
            wanted.is_none_or(|wanted| wanted.as_bytes() == msg_type || is_named(wanted))
        };
        let mut found = self.types.iter().filter(|(msg_type, seen)| is_wanted(msg_type, seen));
        let (msg_type, seen) = match (found.next(), found.next(), wanted) {
            (Some(found), None, _) => found,
            (Some(_), Some(_), _) => {
                let known = self.types.iter().map(|(msg_type, seen)| {
                    let name = name(msg_type, seen).unwrap_or_default();
                    format!("{} {name} ({})", String::from_utf8_lossy(msg_type), seen.count)
                });
                let known: Vec<String> = known.collect();
                return Err(format!(
                    "the log has messages of several types: name one of {}",
                    known.join(", ")
                ));
            }
            (None, _, Some(wanted)) => return Err(format!("the log has no message {wanted}")),
            (None, ..) => return Err("the log has no message".to_owned()),
        };
        let (msg_type, version) = (msg_type.clone(), seen.version.clone());
        let mut chosen = SelectedColumns { msg_type, version, tags: None };
        let names = chosen.names(versions);
        chosen.tags = match fields {
            Some(fields) => Some(names.tags_named(&chosen.msg_type, &fields)?),
            None if all => None,
            None => Some(seen.tags().filter(|tag| !FRAME_TAGS.contains(tag)).collect()),
        };
        Ok(chosen)
    }
}

impl SeenFields {
    fn note(&mut self, tags: &[u32]) {
        self.count += 1;
        for tag in tags {
            match self.dense.get_mut(*tag as usize) {
                Some(is_seen) => *is_seen = true,
                None => drop(self.sparse.insert(*tag)),
            }
        }
    }

    fn tags(&self) -> impl Iterator<Item = u32> {
        let dense = self.dense.iter().zip(0..).filter(|(is_seen, _)| **is_seen);
        dense.map(|(_, tag)| tag).chain(self.sparse.iter().copied())
    }
}
