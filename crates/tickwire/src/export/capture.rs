//! Exporting one capture.

use super::digest::InputDigest;
use super::directory::ExportTerminal;
use super::names::text_of;
use super::table_files::{TableFiles, TableTarget};
use super::tables::{CaptureTables, SharedTables};
use super::text::TextFile;
use crate::console::tell;
use crate::decode::{DecodeOutput, DecodeReport, DecodeRun, report_doubt};
use crate::failure::Failure;
use crate::files;
use crate::options::{CaptureArgs, DecoderArgs, InputArgs, reset_policy};
use crate::packet_range::PacketRange;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tickwire_arrow::{LostData, TableOptions};
use tickwire_captures::{CaptureDecoder, CaptureSample, Selection, SequenceGaps};
use tickwire_fast::{Findings, Program};
use tickwire_feed::framing::Framing;
use tickwire_text::MessageWriter;

/// Number of packets, from the first, whose values are checked for plausibility.
const DOUBTED_PACKETS: usize = 200;

/// Settings that all captures share.
pub struct ExportJob<'a> {
    pub capture: &'a CaptureArgs,
    pub decoder: &'a DecoderArgs,
    pub framing: Framing,
    /// True if the framing was detected, so that the bytes of each message must confirm its values.
    pub checks_values: bool,
    pub table: TableOptions,
    pub program: Arc<Program>,
    pub selection: Selection,
    /// The packets whose messages and errors are exported.
    pub packets: PacketRange,
    /// The packets before which dictionaries are reset.
    pub reset_at: Vec<u64>,
}

/// Size and modification time of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFileState {
    path: PathBuf,
    bytes: u64,
    /// Time of the last change, nanoseconds since 1970-01-01 UTC.
    modified_ns: u64,
}

impl CaptureFileState {
    /// Reads the current state of a capture. It must be a regular file: it is read more than once, and its
    /// size is recorded.
    pub fn of(capture: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::file("open", capture.display(), &error);
        let metadata = fs::metadata(capture).map_err(failed)?;
        if !metadata.is_file() {
            return Err(Failure::Usage(format!(
                "{} is not a file: export reads files, tickwire decode reads pipes",
                capture.display()
            )));
        }
        let modified =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ns = modified.and_then(|time| u64::try_from(time.as_nanos()).ok());
        Ok(Self {
            path: fs::canonicalize(capture).map_err(failed)?,
            bytes: metadata.len(),
            modified_ns: modified_ns.unwrap_or_default(),
        })
    }

    /// The state as JSON for the manifest.
    pub fn json(&self) -> Value {
        let Self { path, bytes, modified_ns } = self;
        json!({ "path": text_of(path.as_os_str()), "bytes": bytes, "modified_ns": modified_ns })
    }
}

/// Result of exporting a capture.
pub struct Exported {
    pub name: String,
    pub state: CaptureFileState,
    /// SHA-256 of the capture, in hex.
    pub digest: String,
    /// Number of packets; `None` for FIX, which has none.
    pub packets: Option<u64>,
    pub messages: u64,
    /// Gaps in the sequence numbers of preambles and the numbers missing in them; `None` if the preambles
    /// have no such numbers.
    pub gaps: Option<u64>,
    pub missing: Option<u64>,
    /// Rows of errors.
    pub errors: u64,
    /// Rows by table, in the order in which the tables were begun.
    pub rows: Vec<(String, u64)>,
    /// Files, with their paths relative to the directory.
    pub files: Vec<String>,
    pub is_flawed: bool,
    /// True if --port and --address exclude all packets.
    pub is_none_selected: bool,
}

impl ExportJob<'_> {
    /// Exports a capture.
    pub fn export(
        &self,
        capture: &Path,
        target: TableTarget,
        terminal: &ExportTerminal,
    ) -> Result<Exported, Failure> {
        let state = CaptureFileState::of(capture)?;
        let digest = InputDigest::open(capture, &target)?;
        let is_file = matches!(target, TableTarget::File { .. });
        let files = TableFiles::new(target, self.table.metadata.clone(), digest.known());
        let mut tables = CaptureTables::new(&self.program, &self.table, files);
        if is_file {
            // The file has its columns even if there is no message.
            self.selection
                .templates(&self.program)
                .into_iter()
                .try_for_each(|template| tables.begin(template))?;
        }
        let tables = SharedTables::new(tables);
        let lost = tables.clone();
        let on_lost = Box::new(move |lost_data: &LostData| lost.note_lost(lost_data));
        let output = Box::new(tables.clone());
        let (digest, counts) =
            self.decode(capture, &state, Some(digest), output, Some(on_lost), terminal)?;
        let digest = digest.unwrap_or_default();
        let finished = tables.finish(&digest)?;
        finished.unfit_shown.iter().for_each(|line| tell!("{}: {line}", counts.name));
        if finished.unfit > 0 {
            let unfit = finished.unfit;
            tell!("{}: {unfit} messages have a value that no column can hold", counts.name);
        }
        let written = finished.written;
        Ok(Exported {
            name: counts.name,
            state,
            digest,
            packets: Some(counts.packets),
            messages: counts.messages,
            gaps: counts.gaps.gaps(),
            missing: counts.gaps.missing(),
            is_flawed: counts.is_flawed || finished.unfit > 0,
            is_none_selected: counts.is_none_selected,
            errors: written.errors,
            rows: written.rows,
            files: written.files,
        })
    }

    /// Exports a capture to a text file; the outcome shows whether something was not decoded.
    pub fn export_text(
        &self,
        capture: &Path,
        file: TextFile,
        terminal: &ExportTerminal,
    ) -> Result<bool, Failure> {
        let state = CaptureFileState::of(capture)?;
        let writer = file.writer(&self.program, &self.selection)?;
        let (_, counts) = self.decode(capture, &state, None, writer, None, terminal)?;
        file.publish()?;
        Ok(counts.is_flawed || counts.is_none_selected)
    }

    /// Decodes a capture. Returns its digest, if requested, and the counters.
    fn decode(
        &self,
        capture: &Path,
        state: &CaptureFileState,
        digest: Option<InputDigest>,
        output: Box<dyn MessageWriter>,
        on_lost: Option<Box<LostDataHandler>>,
        terminal: &ExportTerminal,
    ) -> Result<(Option<String>, ExportCounts), Failure> {
        let name = files::name_of(capture);
        let input = InputArgs::of(capture, self.capture);
        let progress = &terminal.progress;
        let reader = match &digest {
            Some(digest) => input.open_from(Box::new(digest.reader()?), progress)?,
            None => input.open(progress)?,
        };
        let options = self.decoder.checked_options(reset_policy(&self.framing), &self.program)?;
        let mut report = DecodeReport::new(&name, progress, options.limits);
        if let Some(on_lost) = on_lost {
            report = report.on_lost(Box::new(move |place, error| {
                on_lost(&LostData {
                    packet: place.map(|place| place.index),
                    file_offset: place.map(|place| place.file_offset),
                    time_ns: place.and_then(|place| place.time_ns),
                    destination: place.and_then(|place| place.destination),
                    error: error.to_owned(),
                });
            }));
        }
        let mut run = DecodeRun {
            output: DecodeOutput::Messages(output),
            selection: self.selection.clone(),
            packets: self.packets.clone(),
            left: u64::MAX,
            report,
            gaps: SequenceGaps::default(),
            sample: CaptureSample::new(DOUBTED_PACKETS),
            findings: Findings::default(),
            timed: false,
        };
        let mut decoder = CaptureDecoder::new(self.program.clone(), options, self.framing);
        decoder = decoder.reset_at(self.reset_at.clone());
        if self.checks_values {
            decoder = decoder.check_values();
        }
        let read = run.decode_all(&mut decoder, reader, &self.framing)?;
        let digest = digest.map(InputDigest::finish).transpose()?;
        // This is an error only if it is true for all captures.
        let none_selected = input.none_selected(&read);
        if let Some(text) = &none_selected {
            run.report.remark(text);
        }
        report_doubt(&mut run.report, &self.program, &self.framing, &run.sample);
        if CaptureFileState::of(capture)? != *state {
            run.report.error(
                "the capture changed while it was read: export it again when it is complete",
            );
        }
        run.finish(terminal.quiet);
        let counts = &run.report.counts;
        let (packets, messages) = (counts.packets, counts.messages);
        let is_flawed = run.report.is_flawed();
        let is_none_selected = none_selected.is_some();
        let (name, gaps) = (name.clone(), run.gaps);
        Ok((digest, ExportCounts { name, packets, messages, gaps, is_flawed, is_none_selected }))
    }
}

/// Receives data that were not decoded.
type LostDataHandler = dyn Fn(&LostData);

/// Counters of decoding.
struct ExportCounts {
    name: String,
    packets: u64,
    messages: u64,
    gaps: SequenceGaps,
    is_flawed: bool,
    is_none_selected: bool,
}
