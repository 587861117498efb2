//! Exporting one capture.

use super::tables::{SharedTables, Tables, Target};
use crate::decode::{Output, Report, Run, Selection};
use crate::failure::Failure;
use crate::files;
use crate::options::{CaptureArgs, DecoderArgs, InputArgs, Sample, reset_policy};
use crate::progress::Progress;
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_arrow::{LostData, TableOptions};
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

/// What came of a capture, or of several in one file.
pub struct Exported {
    /// Of the capture, the last of several.
    pub name: String,
    pub packets: u64,
    pub messages: u64,
    /// Rows of errors.
    pub errors: u64,
    /// By table, in the order in which they began.
    pub rows: Vec<(String, u64)>,
    pub is_flawed: bool,
    /// What is to be said on standard error.
    pub lines: Vec<String>,
}

/// Exports captures, one after the other, to one target.
pub fn export(
    job: &Job<'_>,
    captures: &[PathBuf],
    target: Target,
    shows_progress: bool,
) -> Result<Exported, Failure> {
    let tables = SharedTables::new(Tables::new(&job.program, &job.table, target));
    let mut exported = Exported {
        name: String::new(),
        packets: 0,
        messages: 0,
        errors: 0,
        rows: Vec::new(),
        is_flawed: false,
        lines: Vec::new(),
    };
    for path in captures {
        exported.name = files::name_of(path);
        let input = InputArgs::of(path, job.capture);
        let progress = if shows_progress { Progress::of(path) } else { Progress::none() };
        let reader = input.open(&progress)?;
        let options = job.decoder.checked_options(reset_policy(&job.framing), &job.program)?;
        let lost = tables.clone();
        let report = Report::new(&exported.name, &progress, options.limits).on_lost(Box::new(
            move |place, error| {
                lost.note_lost(&LostData {
                    packet: place.map(|place| place.index),
                    file_offset: place.map(|place| place.file_offset),
                    time_ns: place.and_then(|place| place.time_ns),
                    destination: place.and_then(|place| place.destination),
                    error: error.to_owned(),
                });
            },
        ));
        let mut run = Run {
            output: Output::Messages(Box::new(tables.clone())),
            options,
            framing: job.framing,
            selection: job.selection.clone(),
            left: u64::MAX,
            report,
            sample: Sample::new(DOUBTED_PACKETS),
            findings: Findings::default(),
            timed: false,
            program: job.program.clone(),
        };
        run.decode_all(reader)?;
        if let Some(doubt) = doubt(run.sample.packets(), job.program.set(), &job.framing) {
            run.report.remark(&format!("warning: {doubt}"));
        }
        run.finish(!shows_progress);
        exported.packets += run.report.counts.packets;
        exported.messages += run.report.counts.messages;
        exported.is_flawed |= run.report.is_flawed();
    }
    let finished = tables.finish()?;
    exported.is_flawed |= finished.unfit > 0;
    exported.errors = finished.errors;
    exported.rows = finished.rows;
    if finished.unfit > 0 {
        let unfit = finished.unfit;
        exported.lines.push(format!(
            "{}: {unfit} messages have a value that no column can hold: the table of errors has them",
            exported.name
        ));
    }
    Ok(exported)
}
