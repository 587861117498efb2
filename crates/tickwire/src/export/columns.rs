//! What is exported, and where to.

use super::capture::{Exported, Job, State, export};
use super::directory::Directory;
use super::manifest::Again;
use super::tables::Target;
use crate::console::tell;
use crate::decode::select;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{
    CaptureArgs, DecoderArgs, FramingArgs, InputArgs, TemplateArgs, with_reset_template,
};
use crate::output;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_arrow::{Decimals, FileFormat, Rows, TableOptions};
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
/// A file that ends in .parquet or .arrow gets the rows of one template of one capture.
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
    /// Replace files that exist; in a directory that was exported to with other templates or options, all that its
    /// manifest has.
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
    args.check_is_no_text()?;
    args.captures.iter().try_for_each(|capture| State::of(capture).map(drop))?;
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
    let selection = select(&program, &args.template)?;
    let job = Job {
        capture: &args.capture,
        decoder: &args.decoder,
        framing,
        table: args.table_options(&program, &framing.to_string()),
        program,
        selection,
    };
    match args.file_format() {
        Some(format) => args.to_file(&job, format),
        None => args.to_directory(&job),
    }
}

impl ExportArgs {
    /// The format of the output if it is a file.
    fn file_format(&self) -> Option<FileFormat> {
        let formats = [FileFormat::Parquet, FileFormat::Arrow];
        let suffix = self.output.extension()?.to_str()?.to_ascii_lowercase();
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
            rows: Rows::Entries,
            metadata: vec![
                ("tickwire.framing".to_owned(), framing.to_owned()),
                ("tickwire.signature_of_set".to_owned(), program.set().signature().to_string()),
            ],
        }
    }

    fn to_file(&self, job: &Job<'_>, format: FileFormat) -> Result<Outcome, Failure> {
        let [capture] = &self.captures[..] else {
            return Err(Failure::Usage(format!(
                "{} has the rows of one capture, as packets are numbered in each: name a directory for several",
                self.output.display()
            )));
        };
        let mut inputs = vec![capture.as_path()];
        inputs.extend(self.templates.paths()?.iter().map(PathBuf::as_path));
        output::check(&self.output, self.force, &inputs)?;
        if self.output.is_dir() {
            return Err(Failure::Usage(format!(
                "{} is a directory: name a file",
                self.output.display()
            )));
        }
        let &[template] = &job.selection.templates(&job.program)[..] else {
            return Err(Failure::Usage(format!(
                "{} has the rows of one template: name it with --template, or name a directory for a table of \
                 each",
                self.output.display()
            )));
        };
        let target = Target::File { path: self.output.clone(), format, template };
        let exported = export(job, capture, target, !self.quiet)?;
        self.report(&exported);
        Ok(Outcome::flawed_if(exported.is_flawed))
    }

    fn to_directory(&self, job: &Job<'_>) -> Result<Outcome, Failure> {
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(THREADS_MAX),
        };
        let format = match self.format {
            ExportFormat::Parquet => FileFormat::Parquet,
            ExportFormat::Arrow => FileFormat::Arrow,
        };
        let again = match (self.resume, self.force) {
            (true, _) => Again::Resume,
            (_, true) => Again::Force,
            _ => Again::Refused,
        };
        let shows_progress = !self.quiet && threads == 1;
        let directory = Directory { path: &self.output, format, again, threads, shows_progress };
        directory.export(job, &self.captures, self.settings(job), |exported| self.report(exported))
    }

    /// What all files of a directory have in common.
    fn settings(&self, job: &Job<'_>) -> Value {
        json!({
            "templates": job.program.set().signature().to_string(),
            "framing": job.framing.to_string(),
            "fields": &self.fields,
            "template": &self.template,
            "decimals": format!("{:?}", self.decimals).to_lowercase(),
            "format": format!("{:?}", self.format).to_lowercase(),
            "port": self.capture.port(),
            "address": self.capture.address().map(|address| address.to_string()),
        })
    }

    fn report(&self, exported: &Exported) {
        if self.quiet && !exported.is_flawed {
            return;
        }
        for (table, rows) in &exported.rows {
            tell!("{}: {rows} rows of {table}", exported.name);
        }
    }
}
