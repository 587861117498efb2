//! Exporting one capture.

use super::tables::{SharedTables, Tables, Target};
use crate::decode::{Output, Report, Run};
use crate::failure::Failure;
use crate::files;
use crate::options::{CaptureArgs, DecoderArgs, InputArgs, reset_policy};
use crate::progress::Progress;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tickwire_arrow::{LostData, TableOptions};
use tickwire_captures::{CaptureDecoder, Sample, Selection};
use tickwire_fast::{Findings, Program};
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::doubt;

/// First packets whose values are judged.
const DOUBTED_PACKETS: usize = 200;

/// What all captures have in common.
pub struct Job<'a> {
    pub capture: &'a CaptureArgs,
    pub decoder: &'a DecoderArgs,
    pub framing: Framing,
    pub table: TableOptions,
    pub program: Arc<Program>,
    pub selection: Selection,
}

/// What changes when a capture does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    path: PathBuf,
    bytes: u64,
    /// The last change, nanoseconds since 1970-01-01 UTC.
    modified_ns: u64,
}

impl State {
    /// Of a capture as it is now. It must be a file: it is read more than once, and its size is noted.
    pub fn of(capture: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::file("open", capture.display(), &error);
        let metadata = fs::metadata(capture).map_err(failed)?;
        if !metadata.is_file() {
            return Err(Failure::Usage(format!(
                "{} is no file: export reads files, tickwire decode takes what comes through a pipe",
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

    /// As the manifest has it.
    pub fn json(&self) -> Value {
        let Self { path, bytes, modified_ns } = self;
        json!({ "path": path.to_string_lossy(), "bytes": bytes, "modified_ns": modified_ns })
    }
}

/// What came of a capture.
pub struct Exported {
    pub name: String,
    pub state: State,
    pub packets: u64,
    pub messages: u64,
    /// Rows of errors.
    pub errors: u64,
    /// By table, in the order in which they began.
    pub rows: Vec<(String, u64)>,
    /// Files, with the path below the directory.
    pub files: Vec<String>,
    pub is_flawed: bool,
}

/// Exports a capture.
pub fn export(
    job: &Job<'_>,
    capture: &Path,
    target: Target,
    shows_progress: bool,
) -> Result<Exported, Failure> {
    let tables = SharedTables::new(Tables::new(&job.program, &job.table, target));
    let name = files::name_of(capture);
    let state = State::of(capture)?;
    let input = InputArgs::of(capture, job.capture);
    let progress = if shows_progress { Progress::of(capture) } else { Progress::none() };
    let reader = input.open(&progress)?;
    let options = job.decoder.checked_options(reset_policy(&job.framing), &job.program)?;
    let lost = tables.clone();
    let report =
        Report::new(&name, &progress, options.limits).on_lost(Box::new(move |place, error| {
            lost.note_lost(&LostData {
                packet: place.map(|place| place.index),
                file_offset: place.map(|place| place.file_offset),
                time_ns: place.and_then(|place| place.time_ns),
                destination: place.and_then(|place| place.destination),
                error: error.to_owned(),
            });
        }));
    let mut run = Run {
        output: Output::Messages(Box::new(tables.clone())),
        selection: job.selection.clone(),
        left: u64::MAX,
        report,
        sample: Sample::new(DOUBTED_PACKETS),
        findings: Findings::default(),
        timed: false,
    };
    let mut decoder = CaptureDecoder::new(job.program.clone(), options, job.framing);
    run.decode_all(&mut decoder, reader)?;
    if let Some(doubt) = doubt(run.sample.packets(), job.program.set(), &job.framing) {
        run.report.remark(&format!("warning: {doubt}"));
    }
    if State::of(capture)? != state {
        run.report.error("the capture changed while it was read: export it again when it is whole");
    }
    run.finish(!shows_progress);
    let finished = tables.finish()?;
    finished.unfit_shown.iter().for_each(|line| run.report.remark(line));
    if finished.unfit > 0 {
        let unfit = finished.unfit;
        run.report.remark(&format!("{unfit} messages have a value that no column can hold"));
    }
    Ok(Exported {
        packets: run.report.counts.packets,
        messages: run.report.counts.messages,
        is_flawed: run.report.is_flawed() || finished.unfit > 0,
        errors: finished.errors,
        rows: finished.rows,
        files: finished.files,
        state,
        name: name.clone(),
    })
}
