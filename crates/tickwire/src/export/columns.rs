//! What is exported, and where to.

use super::capture::{Exported, Job, export};
use super::manifest::Manifest;
use super::tables::Target;
use crate::decode::Selection;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{
    CaptureArgs, DecoderArgs, FramingArgs, InputArgs, TemplateArgs, with_reset_template,
};
use crate::output;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use tickwire_arrow::{Decimals, FileFormat, TableOptions};
use tickwire_fast::{CompileOptions, Program};

/// Threads used at most.
const THREADS_MAX: usize = 256;

/// File formats, as options name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Parquet, compressed by zstd.
    Parquet,
    /// Arrow's file format (Feather version 2), compressed by zstd.
    Arrow,
}

/// Columns of decimals, as options name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DecimalColumns {
    /// Decimal128 where the template fixes the exponent, otherwise mantissa and exponent.
    Exact,
    /// The nearest 64-bit floating-point number.
    Float64,
}

/// Write the messages of captures to Parquet or Arrow files, a table a template.
///
/// A message is a row for each innermost sequence entry with the fields around it repeated, or one row if it
/// has no entries. Columns are named by the paths of fields; X.length counts the entries of the sequence X and
/// X.entry tells which one the row is of; a decimal whose exponent the template does not fix is X.mantissa and
/// X.exponent. Before them stand pkt, off, time, source, destination and line. An absent field is null.
///
/// A directory gets TEMPLATE/CAPTURE.parquet, errors/CAPTURE.parquet with a row for all that was not decoded,
/// and manifest.json with the counts of each capture. Files appear whole: each is written beside its place
/// and renamed. A run that was ended goes on with --resume, which leaves out captures that the manifest has.
///
/// A file that ends in .parquet or .arrow gets the rows of one template, of all captures in the order named.
#[derive(Debug, clap::Args)]
#[command(mut_arg("templates", |arg| arg.required(true)))]
pub struct ExportArgs {
    /// Capture files, also .gz or .zst.
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
    /// Directory, or a file that ends in .parquet or .arrow.
    #[arg(short, long, value_name = "DIR|FILE")]
    output: PathBuf,
    /// Format of the files in a directory.
    #[arg(long, value_name = "FORMAT", default_value = "parquet")]
    format: ExportFormat,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    /// Leave out captures that the directory's manifest has with the same size and time of change.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Only these fields: names, paths such as MDEntries/MDEntryPx, or ids; a group or sequence brings all in
    /// it.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// Only messages of this template, by name or id; may be repeated.
    #[arg(long, value_name = "NAME|ID")]
    template: Vec<String>,
    /// How decimals become columns.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    decimals: DecimalColumns,
    /// Export so many captures of a directory at a time, 0 for one a core.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<Outcome, Failure> {
    let set = args.templates.read()?;
    let framing = match args.framing.is_auto() {
        true => {
            let first = &args.captures[0];
            let (sample, _) = InputArgs::of(first, &args.capture).sample()?;
            args.framing.find(sample.packets(), &set, &files::name_of(first))?
        }
        false => args.framing.framing()?,
    };
    let set = with_reset_template(set, &framing);
    let options = CompileOptions { fields: args.fields.clone(), ..CompileOptions::default() };
    let program = Arc::new(files::compile(set, &options)?);
    let selection = Selection::new(&program, &args.template)?;
    let job = Job {
        capture: &args.capture,
        decoder: &args.decoder,
        framing,
        table: args.table_options(&program, &framing.to_string()),
        program,
        selection,
    };
    args.check_is_no_text()?;
    match args.file_format() {
        Some(format) => args.to_file(&job, format),
        None => args.to_directory(&job),
    }
}

impl ExportArgs {
    /// The format of the output if it is a file.
    fn file_format(&self) -> Option<FileFormat> {
        let formats = [FileFormat::Parquet, FileFormat::Arrow];
        let suffix = self.output.extension()?.to_str()?;
        formats.into_iter().find(|format| format.suffix() == suffix)
    }

    /// Refuses names of text files: none would expect a directory of that name.
    fn check_is_no_text(&self) -> Result<(), Failure> {
        let name = self.output.to_string_lossy();
        let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
        let is_text = [".csv", ".json", ".jsonl", ".ndjson", ".txt", ".fix"]
            .iter()
            .any(|end| name.ends_with(end));
        match is_text {
            true => Err(Failure::Usage(format!(
                "{}: text is written by tickwire decode -o FILE; name a directory, or a file that ends in .parquet \
                 or .arrow",
                self.output.display()
            ))),
            false => Ok(()),
        }
    }

    fn table_options(&self, program: &Program, framing: &str) -> TableOptions {
        TableOptions {
            decimals: match self.decimals {
                DecimalColumns::Exact => Decimals::Exact,
                DecimalColumns::Float64 => Decimals::Float64,
            },
            metadata: vec![
                ("tickwire.framing".to_owned(), framing.to_owned()),
                ("tickwire.signature_of_set".to_owned(), program.set().signature().to_string()),
            ],
        }
    }

    fn inputs(&self) -> Result<Vec<&Path>, Failure> {
        let captures = self.captures.iter().map(PathBuf::as_path);
        Ok(captures.chain(self.templates.paths()?.iter().map(PathBuf::as_path)).collect())
    }

    fn to_file(&self, job: &Job<'_>, format: FileFormat) -> Result<Outcome, Failure> {
        output::check(&self.output, self.force, &self.inputs()?)?;
        let &[template] = &job.selection.templates(&job.program)[..] else {
            return Err(Failure::Usage(format!(
                "{} has the rows of one template: name it with --template, or name a directory for a table of \
                 each",
                self.output.display()
            )));
        };
        let target = Target::File { path: self.output.clone(), format, template };
        let exported = export(job, &self.captures, target, !self.quiet)?;
        self.report(&exported);
        Ok(Outcome::flawed_if(exported.is_flawed))
    }

    fn to_directory(&self, job: &Job<'_>) -> Result<Outcome, Failure> {
        std::fs::create_dir_all(&self.output)
            .map_err(|error| Failure::file("create", self.output.display(), &error))?;
        let mut manifest = Manifest::open(&self.output, self.resume || self.force)?;
        let names = distinct_names(&self.captures)?;
        let left = self.captures.iter().zip(&names);
        let left: Vec<_> = left.filter(|(path, _)| !(self.resume && manifest.has(path))).collect();
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(THREADS_MAX),
        };
        let format = match self.format {
            ExportFormat::Parquet => FileFormat::Parquet,
            ExportFormat::Arrow => FileFormat::Arrow,
        };
        let next = AtomicUsize::new(0);
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(left.len()) {
                let (sender, next, left) = (sender.clone(), &next, &left);
                scope.spawn(move || {
                    while let Some((path, name)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let directory = self.output.clone();
                        let target = Target::Directory { directory, name: (*name).clone(), format };
                        let captures = std::slice::from_ref(*path);
                        let exported = export(job, captures, target, !self.quiet && threads == 1);
                        if sender.send((*path, exported)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut outcome = Outcome::Clean;
            for (path, exported) in results {
                let noted = exported.and_then(|exported| {
                    manifest.add(path, &exported)?;
                    Ok(exported)
                });
                match noted {
                    Ok(exported) => {
                        self.report(&exported);
                        if exported.is_flawed {
                            outcome = Outcome::Flawed;
                        }
                    }
                    Err(failure) => {
                        // No further capture is begun.
                        next.store(left.len(), Ordering::Relaxed);
                        return Err(failure);
                    }
                }
            }
            Ok(outcome)
        })
    }

    fn report(&self, exported: &Exported) {
        exported.lines.iter().for_each(|line| anstream::eprintln!("{line}"));
        if self.quiet && !exported.is_flawed {
            return;
        }
        for (table, rows) in &exported.rows {
            anstream::eprintln!("{}: {rows} rows of {table}", exported.name);
        }
    }
}

/// Names of the files of each capture: those of the captures without directory.
fn distinct_names(captures: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for path in captures {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name
            .filter(|name| name != "-")
            .ok_or_else(|| Failure::Usage(format!("{}: name a capture file", path.display())))?;
        if names.contains(&name) {
            return Err(Failure::Usage(format!(
                "two captures are called {name}, and so would be their files: export them to two directories"
            )));
        }
        names.push(name);
    }
    Ok(names)
}
