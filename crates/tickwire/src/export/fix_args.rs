//! Selection and output of an export of FIX messages.

use super::columns::ExportArgs;
use super::digest::sha256_of;
use super::directory::ExportTerminal;
use super::fix::FixJob;
use super::names::message_tables;
use crate::failure::{Failure, Outcome};
use crate::files;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use tickwire_fix::{Reader, Tag};
use tickwire_fix_text::{LogReader, Names, examined};

impl ExportArgs {
    /// Exports FIX logs and captures.
    pub fn export_fix(&self) -> Result<Outcome, Failure> {
        let separator = self.separator.bytes();
        let mut dictionaries = Vec::new();
        let versions = self.dictionary.open_with(|text| dictionaries.push(sha256_of(text)))?;
        let mut application_version = None;
        let (names, begin_string) = match self.dictionary.named() {
            Some(_) => (versions.names_of(b"", None), None),
            None => {
                let (begin_string, version) = self.first_version()?;
                let known = versions.of_version(&begin_string, version.as_deref());
                let Some((session, application)) = known else {
                    return Err(Failure::Usage(format!(
                        "no dictionary of {} is built in: name one with --dictionary",
                        String::from_utf8_lossy(&begin_string)
                    )));
                };
                application_version =
                    version.map(|version| String::from_utf8_lossy(&version).into_owned());
                (Names { session, application }, Some(begin_string))
            }
        };
        let msg_types = match &self.template[..] {
            [] => None,
            wanted => Some(
                wanted.iter().map(|wanted| msg_type(names, wanted)).collect::<Result<_, _>>()?,
            ),
        };
        let digests = ["tickwire.dictionary_sha256", "tickwire.session_sha256"]
            .into_iter()
            .zip(&dictionaries);
        let mut metadata: Vec<(String, String)> =
            digests.map(|(key, digest)| (key.to_owned(), digest.clone())).collect();
        let version = [
            ("tickwire.begin_string", begin_string.as_deref().map(String::from_utf8_lossy)),
            ("tickwire.application_version", application_version.as_deref().map(Into::into)),
        ];
        for (key, value) in version {
            metadata.extend(value.map(|value| (key.to_owned(), value.into_owned())));
        }
        let job = FixJob {
            metadata,
            names,
            tables: message_tables(names),
            begin_string,
            separator,
            capture: &self.capture,
            fields: self.fields.clone(),
            msg_types,
            decimals: self.decimals(),
        };
        let export =
            |log: &Path, target, terminal: &ExportTerminal| job.export(log, target, terminal);
        if self.is_to_file() {
            let count = job.msg_types.as_ref().map_or(0, BTreeSet::len);
            return self.to_file("message type", count, &export);
        }
        let types = [names.session, names.application]
            .into_iter()
            .flat_map(|dictionary| dictionary.messages());
        let mut schemas = Vec::new();
        for message in types {
            schemas.extend(
                job.builder(message.msg_type().as_bytes())?.map(|builder| builder.schema().clone()),
            );
        }
        self.check_keys(&schemas)?;
        let begin_string = job.begin_string.as_deref().map(String::from_utf8_lossy);
        let settings = self.settings(json!({
            "begin_string": begin_string,
            "application_version": application_version,
            "dictionaries": dictionaries,
            "separator": separator.map(String::from_utf8_lossy),
        }));
        self.to_directory(&export, settings)
    }

    /// BeginString and application version of the first message.
    fn first_version(&self) -> Result<(Vec<u8>, Option<Vec<u8>>), Failure> {
        let mut reader = Reader::new();
        for log in &self.captures {
            let (name, input) = (files::name_of(log), files::open_file(log)?);
            let pull = LogReader::new(&name, input, self.separator.bytes(), self.capture.packets());
            let mut pull = pull.map_err(Failure::Usage)?;
            let mut first = None;
            while first.is_none()
                && pull.step(&mut |_, found| {
                    if first.is_none()
                        && let Ok((message, _)) = examined(&mut reader, found)
                    {
                        let version = message.field(Tag(1128)).or_else(|| message.field(Tag(1137)));
                        let version = version.map(|field| field.value.to_vec());
                        first = Some((message.begin_string().to_vec(), version));
                    }
                })
            {}
            if let Some(first) = first {
                return Ok(first);
            }
        }
        Err(Failure::Data(format!(
            "{}: no FIX message found: none begins with 8=FIX",
            files::names_of(&self.captures)
        )))
    }
}

/// The MsgType of a message given by its name or MsgType.
fn msg_type(names: Names<'_>, wanted: &str) -> Result<Vec<u8>, Failure> {
    let known =
        [names.session, names.application].into_iter().flat_map(|dictionary| dictionary.messages());
    let mut found =
        known.filter(|message| message.name() == wanted || message.msg_type() == wanted);
    found.next().map(|message| message.msg_type().as_bytes().to_vec()).ok_or_else(|| {
        Failure::Usage(format!(
            "--template {wanted}: the dictionary has no message of that name or MsgType"
        ))
    })
}
