//! Exports captures to a directory, several at a time.

use super::capture::{CaptureFileState, Exported};
use super::manifest::{Again, Manifest};
use super::names::text_of;
use super::table_files::{InDirectory, TableTarget};
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use tickwire_arrow::{Encoders, FileFormat, PartitionKey};
use tickwire_feed::counted;

/// Output directory and its settings.
pub struct ExportDirectory<'a> {
    pub path: &'a Path,
    pub format: FileFormat,
    /// Partition keys of the rows.
    pub partition: Vec<PartitionKey>,
    pub again: Again,
    pub threads: usize,
    pub quiet: bool,
}

/// Output on the terminal during an export.
pub struct ExportTerminal {
    /// Progress of all captures.
    pub progress: Progress,
    /// True if only errors are printed.
    pub quiet: bool,
}

/// Exports a capture to a target.
pub type Export<'j> =
    dyn Fn(&Path, TableTarget, &ExportTerminal) -> Result<Exported, Failure> + Sync + 'j;

impl ExportTerminal {
    /// Prints the progress of these captures, unless `quiet`.
    pub fn new(captures: &[&Path], quiet: bool) -> Self {
        let progress = if quiet { Progress::none() } else { Progress::of_all(captures) };
        Self { progress, quiet }
    }
}

impl ExportDirectory<'_> {
    /// Exports captures. If one fails, the others are still exported.
    pub fn export(
        &self,
        export_one: &Export<'_>,
        captures: &[PathBuf],
        settings: Value,
        report: impl Fn(&Exported),
    ) -> Result<Outcome, Failure> {
        let names = distinct_names(captures)?;
        std::fs::create_dir_all(self.path)
            .map_err(|error| Failure::file("create", self.path.display(), &error))?;
        let mut manifest = Manifest::open(self.path, settings, self.again)?;
        let mut outcome = Outcome::Clean;
        let mut left = Vec::new();
        for (capture, name) in captures.iter().zip(names) {
            let state = CaptureFileState::of(capture)?;
            manifest.check_place(&state, capture)?;
            match manifest.errors_of(capture, &state).filter(|_| self.again == Again::Resume) {
                Some(0) => {}
                Some(errors) => {
                    tell!(
                        "{}: exported before, with {}",
                        capture.display(),
                        counted(errors, "error")
                    );
                    outcome = Outcome::Flawed;
                }
                None => left.push((capture.as_path(), name)),
            }
        }
        let mut failures = Vec::new();
        // True while --port and --address exclude all packets of each capture.
        let mut is_none_selected = left.len() == captures.len();
        self.each(export_one, &left, |capture, exported| {
            let noted = exported.and_then(|exported| {
                manifest.add(capture, &exported)?;
                Ok(exported)
            });
            match noted {
                Ok(exported) => {
                    report(&exported);
                    is_none_selected &= exported.is_none_selected;
                    if exported.is_flawed {
                        outcome = Outcome::Flawed;
                    }
                }
                Err(failure) => failures.push((capture.to_owned(), failure)),
            }
        });
        if is_none_selected {
            outcome = Outcome::Flawed;
        }
        if failures.is_empty() {
            return Ok(outcome);
        }
        // In the order of the captures, whichever thread was done first. The status is 2 if any file cannot be
        // read or written.
        failures.sort_by_key(|(capture, _)| captures.iter().position(|other| other == capture));
        let worst = failures.iter().position(|(_, failure)| matches!(failure, Failure::Usage(_)));
        let (_, worst) = failures.remove(worst.unwrap_or_default());
        for (capture, failure) in failures {
            if let Some(text) = failure.text() {
                tell!("{}: not exported: {text}", capture.display());
            }
        }
        Err(worst)
    }

    /// Exports captures on several threads and passes on each result when it is ready.
    fn each(
        &self,
        export_one: &Export<'_>,
        left: &[(&Path, String)],
        mut done: impl FnMut(&Path, Result<Exported, Failure>),
    ) {
        let captures: Vec<&Path> = left.iter().map(|(capture, _)| *capture).collect();
        let terminal = ExportTerminal::new(&captures, self.quiet);
        // Threads without a capture of their own encode columns and compute digests.
        let exporting = self.threads.min(left.len());
        let encoders = Encoders::new(self.threads - exporting);
        let next = AtomicUsize::new(0);
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..exporting {
                let (sender, next, terminal, encoders) =
                    (sender.clone(), &next, &terminal, &encoders);
                scope.spawn(move || {
                    while let Some((capture, name)) = left.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let target = TableTarget::Directory(InDirectory {
                            directory: self.path.to_owned(),
                            name: name.clone(),
                            format: self.format,
                            // An interrupted run may have left files that the manifest does not list.
                            replaces: self.again != Again::Refused,
                            partition: self.partition.clone(),
                            encoders: encoders.clone(),
                        });
                        let exported = export_one(capture, target, terminal);
                        if sender.send((*capture, exported)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (capture, exported) in results {
                done(capture, exported);
            }
        });
    }
}

/// Names of the files of each capture: the file names of the captures, without their directories.
fn distinct_names(captures: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for path in captures {
        let name = path.file_name().map(text_of);
        let name =
            name.ok_or_else(|| Failure::Usage(format!("{}: name a capture file", path.display())))?;
        if names.contains(&name) {
            return Err(Failure::Usage(format!(
                "two captures are named {name}, so their output files would have the same name: export them to separate directories"
            )));
        }
        names.push(name);
    }
    for name in &names {
        // Files of a partition that has several files.
        let parted = |other: &&String| {
            let part = name.strip_prefix(other.as_str()).and_then(|end| end.strip_prefix(".part"));
            part.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if let Some(other) = names.iter().find(parted) {
            return Err(Failure::Usage(format!(
                "output files of {name} could have the names of further files of {other}: export them to separate directories"
            )));
        }
    }
    Ok(names)
}
