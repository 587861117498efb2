//! Exports FIX logs and captures of FIX: one table per message type.

use super::capture::{CaptureFileState, Exported};
use super::digest::InputDigest;
use super::directory::ExportTerminal;
use super::table_files::{BATCH_ROWS, ExportTotals, TableFiles, TableTarget};
use crate::failure::Failure;
use crate::files;
use crate::options::{CaptureArgs, InputArgs};
use crate::progress::Progress;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use tickwire_arrow::fix::{FixBatchBuilder, LogPlace, MessageTable};
use tickwire_arrow::{Decimals, LostData};
use tickwire_fix::{FixMessage, Reader, Tag};
use tickwire_fix_text::{
    FRAME_TAGS, FindingPlace, FoundAt, FoundMessage, LogReader, Names, examined,
};

/// Maximum bytes of messages per batch.
const BATCH_BYTES: usize = 64 << 20;
/// Number of errors that are printed one by one.
const SHOWN_MAX: u64 = 20;

/// Settings that all logs share.
pub struct FixJob<'d> {
    /// Dictionaries for every message.
    pub names: Names<'d>,
    /// Names of the tables by MsgType.
    pub tables: HashMap<Vec<u8>, String>,
    /// BeginString that every message must have, unless the dictionary was named.
    pub begin_string: Option<Vec<u8>>,
    pub separator: Option<&'d [u8]>,
    /// The packets of captures that are read.
    pub capture: &'d CaptureArgs,
    /// Columns by field name; by default all fields of the dictionary.
    pub fields: Option<Vec<String>>,
    /// Values of MsgType that are exported; all by default.
    pub msg_types: Option<BTreeSet<Vec<u8>>>,
    pub decimals: Decimals,
    /// Metadata of every table: the dictionaries.
    pub metadata: Vec<(String, String)>,
}

impl FixJob<'_> {
    /// The builder of the rows of a message type; `None` if the dictionary does not have the type.
    pub fn builder(&self, msg_type: &[u8]) -> Result<Option<FixBatchBuilder>, Failure> {
        let tags = self.fields.as_ref().map(|fields| self.names.tags_named(msg_type, fields));
        let tags = tags.transpose().map_err(Failure::Usage)?;
        let wanted = |tag: Tag| match &tags {
            Some(tags) => tags.contains(&tag.0),
            None => !FRAME_TAGS.contains(&tag.0),
        };
        let Names { session, application } = self.names;
        let (decimals, wanted) = (self.decimals, &wanted);
        let table = MessageTable { session, application, msg_type, decimals, wanted };
        Ok(FixBatchBuilder::new(&table).ok())
    }

    /// Exports a log or capture.
    pub fn export(
        &self,
        log: &Path,
        target: TableTarget,
        terminal: &ExportTerminal,
    ) -> Result<Exported, Failure> {
        let name = files::name_of(log);
        let state = CaptureFileState::of(log)?;
        let progress = &terminal.progress;
        let digest = InputDigest::open(log, &target)?;
        let mut tables = FixTables {
            job: self,
            name: &name,
            progress,
            files: TableFiles::new(target, self.metadata.clone(), digest.known()),
            types: Vec::new(),
            index_of: HashMap::new(),
            last: 0,
            messages: 0,
            flawed: 0,
            failed: None,
        };
        let input = tables.progress.watch(digest.reader()?);
        let pull = LogReader::new(&name, input, self.separator, self.capture.packets());
        let mut pull = pull.map_err(Failure::Data)?;
        if pull.statistics().is_none() {
            self.capture.check_addressed(&name, "a text log has no addresses")?;
        }
        // The file of a single type has its columns even if there is no message.
        if let (TableTarget::File { .. }, Some(types)) = (tables.files.target(), &self.msg_types) {
            types.iter().try_for_each(|msg_type| tables.begin(msg_type).map(drop))?;
        }
        let mut reader = Reader::new();
        while pull.step(&mut |place, found| tables.take(&mut reader, &place, found)) {
            if let Some(failed) = tables.failed.take() {
                return Err(failed);
            }
        }
        let input = InputArgs::of(log, self.capture);
        let none_selected = pull.statistics().and_then(|read| input.none_selected(read));
        if let Some(text) = &none_selected {
            tables.progress.print(&format!("{name}: {text}"));
        }
        let digest = digest.finish()?;
        if CaptureFileState::of(log)? != state {
            tables.lose(
                &FindingPlace::default(),
                "the log changed while it was read: export it again when it is complete",
            );
        }
        let (messages, flawed) = (tables.messages, tables.flawed);
        if flawed > SHOWN_MAX {
            tables
                .progress
                .print(&format!("{name}: {flawed} errors, of which {SHOWN_MAX} are shown"));
        }
        let written = tables.finish(&digest)?;
        Ok(Exported {
            name,
            state,
            digest,
            packets: None,
            messages,
            gaps: None,
            missing: None,
            is_flawed: flawed > 0,
            is_none_selected: none_selected.is_some(),
            errors: written.errors,
            rows: written.rows,
            files: written.files,
        })
    }
}

/// The tables of one log.
struct FixTables<'j> {
    job: &'j FixJob<'j>,
    name: &'j str,
    progress: &'j Progress,
    files: TableFiles,
    /// The types of messages so far.
    types: Vec<TypeTable>,
    index_of: HashMap<Vec<u8>, usize>,
    /// Index of the last message's type.
    last: usize,
    messages: u64,
    flawed: u64,
    failed: Option<Failure>,
}

/// A message type and its table; `None` if the dictionary does not have the type.
struct TypeTable {
    msg_type: Vec<u8>,
    open: Option<OpenTypeTable>,
}

struct OpenTypeTable {
    builder: FixBatchBuilder,
    table: usize,
}

impl FixTables<'_> {
    fn take(&mut self, reader: &mut Reader, place: &FindingPlace<'_>, found: FoundMessage<'_>) {
        if self.failed.is_some() {
            return;
        }
        // A correct message needs no report.
        if let FoundMessage::Message { bytes, notes: [], is_completed: false } = found
            && let Ok(message) = reader.decode(bytes)
        {
            self.push(place, &message);
        } else {
            match examined(reader, found) {
                Ok((message, wrong)) if wrong.is_empty() => self.push(place, &message),
                Ok((_, wrong)) => self.lose(place, &wrong.join("; ")),
                Err(text) => self.lose(place, &text),
            }
        }
    }

    fn push(&mut self, place: &FindingPlace<'_>, message: &FixMessage<'_, '_>) {
        self.messages += 1;
        let msg_type = message.msg_type();
        if self.job.msg_types.as_ref().is_some_and(|types| !types.contains(msg_type)) {
            return;
        }
        if let Some(expected) = &self.job.begin_string
            && message.begin_string() != expected
        {
            let (found, expected) = (
                String::from_utf8_lossy(message.begin_string()),
                String::from_utf8_lossy(expected),
            );
            let text = format!(
                "a message of {found} among those of {expected}: name a --dictionary that defines both"
            );
            return self.lose(place, &text);
        }
        if let Err(failure) = self.push_row(place, message) {
            self.failed.get_or_insert(failure);
        }
    }

    fn push_row(
        &mut self,
        place: &FindingPlace<'_>,
        message: &FixMessage<'_, '_>,
    ) -> Result<(), Failure> {
        let msg_type = message.msg_type();
        // Most messages have the type of the one before.
        if self.types.get(self.last).is_none_or(|table| table.msg_type != msg_type) {
            self.last = match self.index_of.get(msg_type) {
                Some(index) => *index,
                None => self.begin(msg_type)?,
            };
        }
        let Some(open) = &mut self.types[self.last].open else {
            let msg_type = String::from_utf8_lossy(msg_type);
            self.lose(place, &format!("the dictionary has no message with MsgType {msg_type}"));
            return Ok(());
        };
        let FoundAt { line, offset, packet, time_ns, source, destination } = place.at;
        let place = LogPlace { line, offset, packet, time_ns, source, destination };
        open.builder.push(&place, message);
        if open.builder.rows() >= BATCH_ROWS || open.builder.bytes() >= BATCH_BYTES {
            open.write_batch(&mut self.files)?;
        }
        Ok(())
    }

    /// Begins the table of a type and returns its index.
    fn begin(&mut self, msg_type: &[u8]) -> Result<usize, Failure> {
        let mut open = None;
        if let Some(builder) = self.job.builder(msg_type)? {
            let name = self.job.tables.get(msg_type).map_or("", String::as_str);
            let table = self.files.begin(name, builder.schema())?;
            open = Some(OpenTypeTable { builder, table });
        }
        let index = self.types.len();
        self.types.push(TypeTable { msg_type: msg_type.to_vec(), open });
        self.index_of.insert(msg_type.to_vec(), index);
        Ok(index)
    }

    fn lose(&mut self, place: &FindingPlace<'_>, why: &str) {
        self.flawed += 1;
        let error = format!("{place}: {why}");
        if self.flawed <= SHOWN_MAX {
            self.progress.print(&format!("{}: {error}", self.name));
        }
        let FoundAt { offset, packet, time_ns, destination, .. } = place.at;
        let lost = LostData { packet, file_offset: offset, time_ns, error, destination };
        if let Err(error) = self.files.add_error(&lost) {
            self.failed.get_or_insert(error.into());
        }
    }

    fn finish(&mut self, digest: &str) -> Result<ExportTotals, Failure> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        for open in self.types.iter_mut().filter_map(|table| table.open.as_mut()) {
            open.write_batch(&mut self.files)?;
        }
        self.files.finish(digest)
    }
}

impl OpenTypeTable {
    fn write_batch(&mut self, files: &mut TableFiles) -> io::Result<()> {
        let batch = self.builder.take_batch().map_err(io::Error::other)?;
        files.write(self.table, &batch)
    }
}
