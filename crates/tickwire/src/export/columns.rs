//! Selection and output of an export.

use super::capture::{CaptureFileState, ExportJob, Exported};
use super::directory::{Export, ExportDirectory, ExportTerminal};
use super::manifest::Again;
use super::table_files::TableTarget;
use super::text::TextFile;
use crate::console::tell;
use crate::decode::select;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::fix::{DictionaryArgs, InputSeparator};
use crate::options::{
    CaptureArgs, DecoderArgs, FramingArgs, InputArgs, ResetAtArgs, TemplateArgs,
    with_reset_template,
};
use crate::output;
use crate::packet_range::PacketRange;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickwire_arrow::{
    Decimals, Encoders, FileFormat, PartitionKey, Partitioning, RowUnit, SchemaRef, TableOptions,
    TemplateTable,
};
use tickwire_fast::{CompileOptions, Program};
use tickwire_feed::counted;

/// Maximum number of threads.
const THREADS_MAX: usize = 256;

/// File formats of the option --format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// Parquet, compressed by zstd.
    Parquet,
    /// Arrow's file format (Feather version 2), compressed by zstd.
    Arrow,
}

/// Column types of decimals of the option --decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DecimalColumns {
    /// Decimal128 if the template fixes the exponent, otherwise mantissa and exponent.
    Exact,
    /// The nearest 64-bit floating-point number.
    Float64,
}

/// Write the messages of captures, or of FIX logs, to Parquet or Arrow files, one table per
/// template
///
/// A message has one row per innermost sequence entry with the enclosing fields repeated, or one
/// row if it has no entries. Columns are named by the paths of fields. X.length is the number of
/// entries of the sequence X and X.entry the index of the row's entry. A decimal without a fixed
/// exponent is X.mantissa and X.exponent. The first columns are pkt, off, time, seq_num, source and
/// destination. An absent field is null.
///
/// A directory gets TEMPLATE/CAPTURE.parquet, errors/CAPTURE.parquet with one row per error, and
/// manifest.json with the counts of each capture. Each file is written under a temporary name and
/// renamed when complete. --resume continues an interrupted run: it skips captures that are in the
/// manifest.
///
/// With --partition date,security the files are
/// TEMPLATE/date=2012-02-10/security=20518/CAPTURE.parquet.
///
/// An output file that ends in .parquet or .arrow gets the rows of one template of one capture. One
/// that ends in .csv or .jsonl, also with .gz or .zst, gets the text that decode writes.
///
/// With --fix the inputs are FIX logs or captures of FIX. There is one table per message type, with
/// one row per message and one column per field of the dictionary. Groups are lists. The column
/// other contains the fields that have no column.
///
/// With --opra the captures contain OPRA FAST. There is one table per message category, with one
/// row per message or per entry of an underlying value. Denominators are applied to prices.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Capture files, also .gz or .zst; with --fix also text that contains FIX messages.
    #[arg(value_name = "CAPTURE", required = true)]
    pub(super) captures: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) capture: CaptureArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
    /// The inputs contain FIX messages.
    #[arg(long, conflicts_with_all = ["templates", "FramingArgs", "DecoderArgs", "ResetAtArgs"])]
    fix: bool,
    /// The captures contain OPRA FAST, version 2.0 or 1.03.
    #[arg(long, conflicts_with_all = ["templates", "fix", "FramingArgs", "DecoderArgs", "ResetAtArgs"])]
    opra: bool,
    #[command(flatten)]
    pub(super) dictionary: DictionaryArgs,
    /// With --fix: the field separator, as in fix decode.
    #[arg(long, value_name = "TEXT", default_value = "auto", requires = "fix")]
    pub(super) separator: InputSeparator,
    /// Output directory, or a file that ends in .parquet, .arrow, .csv or .jsonl; the last two also
    /// with .gz or .zst.
    #[arg(short, long, value_name = "DIR|FILE")]
    output: PathBuf,
    /// Partition the tables of a directory by these keys, one subdirectory per value: date (UTC, of
    /// the capture time or of SendingTime), security (SecurityID, else Symbol), or the path, name
    /// or id of a field.
    #[arg(long, value_name = "KEY,..", value_delimiter = ',')]
    pub(super) partition: Vec<String>,
    /// Format of the files in a directory.
    #[arg(long, value_name = "FORMAT", default_value = "parquet")]
    pub(super) format: ExportFormat,
    /// Replace existing files. If a directory was exported with other templates or options,
    /// replaces all files of its manifest.
    #[arg(long)]
    force: bool,
    /// Skip captures that the directory's manifest contains with the same size and modification
    /// time.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Only these fields: names, paths such as MDEntries/MDEntryPx, or ids. A group or sequence
    /// includes all its fields.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    pub(super) fields: Option<Vec<String>>,
    /// Only messages of this template, by name or id; with --fix of this type, by name or MsgType;
    /// with --opra of this category, by table name or code. May be repeated.
    #[arg(long, value_name = "NAME|ID")]
    pub(super) template: Vec<String>,
    /// Write only the messages and errors of these packets, by index from 0: 100..200 (without 200), 100..
    /// or 100. Earlier packets are decoded where dictionaries depend on them.
    #[arg(long, value_name = "FROM..TO", default_value_t = PacketRange::ALL, hide_default_value = true)]
    #[arg(conflicts_with_all = ["fix", "opra"])]
    packets: PacketRange,
    #[command(flatten)]
    sessions: ResetAtArgs,
    /// Column type of decimals.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(super) decimals: DecimalColumns,
    /// Threads; 0 is one per core. Each exports a capture; threads without a capture encode columns of Parquet files
    /// and compute digests.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<Outcome, Failure> {
    args.check_output()?;
    args.captures.iter().try_for_each(|capture| CaptureFileState::of(capture).map(drop))?;
    match (args.fix, args.opra) {
        (true, _) => args.export_fix(),
        (_, true) => args.export_opra(),
        _ => args.export_captures(),
    }
}

impl ExportArgs {
    /// The format of the output if it is a file of columns.
    fn file_format(&self) -> Option<FileFormat> {
        let formats = [FileFormat::Parquet, FileFormat::Arrow];
        let suffix = self.output.extension()?.to_str()?.to_ascii_lowercase();
        formats.into_iter().find(|format| format.suffix() == suffix)
    }

    /// True if the output is one file.
    pub(super) fn is_to_file(&self) -> bool {
        self.file_format().is_some() || TextFile::is_one(&self.output)
    }

    /// Refuses outputs that would surprise the user.
    fn check_output(&self) -> Result<(), Failure> {
        let name = self.output.to_string_lossy();
        let uncompressed = name.trim_end_matches(".zst").trim_end_matches(".gz");
        let is_other_text =
            [".json", ".txt", ".fix", ".log"].iter().any(|end| uncompressed.ends_with(end));
        let refused = |text: &str| Err(Failure::Usage(format!("{name}: {text}")));
        if is_other_text || uncompressed.len() < name.len() && !TextFile::is_one(&self.output) {
            return refused(
                "name a directory, or a file that ends in .parquet, .arrow, .csv or .jsonl",
            );
        }
        if self.is_to_file() && !self.partition.is_empty() {
            return refused("one file has no partitions: name a directory");
        }
        if self.fix && TextFile::is_one(&self.output) {
            return refused(
                "FIX messages as text are written by tickwire fix decode --format jsonl",
            );
        }
        if self.opra && TextFile::is_one(&self.output) {
            return refused("OPRA messages as text are written by tickwire opra decode -o FILE");
        }
        if !self.fix && self.dictionary.named().is_some() {
            return refused("--dictionary and --session are for FIX messages: add --fix");
        }
        if self.fix && self.capture.names_format() {
            return refused(
                "--input-format is for captures of FAST and OPRA: a FIX log or capture is recognised by its first bytes",
            );
        }
        Ok(())
    }

    fn keys(&self) -> Vec<PartitionKey> {
        self.partition.iter().map(|name| PartitionKey::named(name)).collect()
    }

    /// Refuses partition keys by which a table cannot be partitioned, or that no table has.
    pub(super) fn check_keys(&self, schemas: &[SchemaRef]) -> Result<(), Failure> {
        let keys = self.keys();
        let mut is_found = vec![false; keys.len()];
        for schema in schemas {
            let partitioning = Partitioning::new(schema, &keys)
                .map_err(|unfit| Failure::Usage(format!("--partition: {unfit}")))?;
            for (at, is_found) in is_found.iter_mut().enumerate() {
                *is_found |= partitioning.has(at);
            }
        }
        match self.partition.iter().zip(is_found).find(|(_, is_found)| !is_found) {
            Some((name, _)) => Err(Failure::Usage(format!(
                "--partition {name}: no table has this column: give date, security, or the path, name or id of a field"
            ))),
            None => Ok(()),
        }
    }

    fn export_captures(&self) -> Result<Outcome, Failure> {
        let set = self.templates.read()?;
        let framing = match self.framing.is_auto() {
            true => {
                let first = &self.captures[0];
                CaptureFileState::of(first)?;
                let (sample, _) = InputArgs::of(first, &self.capture).sample()?;
                self.framing.find(&sample, &set, &files::name_of(first))?
            }
            false => self.framing.framing()?,
        };
        let set = with_reset_template(set, &framing);
        let options = CompileOptions::default().fields(self.fields.clone());
        let program = Arc::new(files::compile(set, &options)?);
        let selection = select(&program, &self.template)?;
        let job = ExportJob {
            capture: &self.capture,
            decoder: &self.decoder,
            framing,
            checks_values: self.framing.is_auto(),
            table: self.table_options(&program, &framing.to_string()),
            program,
            selection,
            packets: self.packets.clone(),
            reset_at: self.sessions.reset_at.clone(),
        };
        if TextFile::is_one(&self.output) {
            let capture = self.checked_file()?;
            let text = TextFile::create(&self.output)?;
            let is_flawed =
                job.export_text(capture, text, &ExportTerminal::new(&[capture], self.quiet))?;
            return Ok(Outcome::flawed_if(is_flawed));
        }
        let templates = job.selection.templates(&job.program);
        let export = |capture: &Path, target, terminal: &ExportTerminal| {
            job.export(capture, target, terminal)
        };
        if self.is_to_file() {
            return self.to_file("template", templates.len(), &export);
        }
        let schemas = templates.iter().map(|template| {
            TemplateTable::of(&job.program, *template, &job.table).schema().clone()
        });
        self.check_keys(&schemas.collect::<Vec<_>>())?;
        self.to_directory(&export, self.settings_of_captures(&job))
    }

    pub(super) fn decimals(&self) -> Decimals {
        match self.decimals {
            DecimalColumns::Exact => Decimals::Exact,
            DecimalColumns::Float64 => Decimals::Float64,
        }
    }

    fn table_options(&self, program: &Program, framing: &str) -> TableOptions {
        TableOptions {
            decimals: self.decimals(),
            rows: RowUnit::Entries,
            metadata: vec![
                ("tickwire.framing".to_owned(), framing.to_owned()),
                ("tickwire.signature_of_set".to_owned(), program.set().signature().to_string()),
            ],
        }
    }

    /// The single capture for an output that is one file.
    fn checked_file(&self) -> Result<&Path, Failure> {
        let [capture] = &self.captures[..] else {
            return Err(Failure::Usage(format!(
                "{} can hold one capture only, because packets are numbered per capture: name a directory for several",
                self.output.display()
            )));
        };
        let mut inputs = vec![capture.as_path()];
        inputs.extend(self.templates.named().iter().map(PathBuf::as_path));
        output::check(&self.output, self.force, &inputs)?;
        if self.output.is_dir() {
            return Err(Failure::Usage(format!(
                "{} is a directory: name a file",
                self.output.display()
            )));
        }
        Ok(capture)
    }

    pub(super) fn to_file(
        &self,
        table: &str,
        tables: usize,
        export: &Export<'_>,
    ) -> Result<Outcome, Failure> {
        let capture = self.checked_file()?;
        if tables != 1 {
            return Err(Failure::Usage(format!(
                "{} can hold one {table} only: select it with --template, or name a directory for all",
                self.output.display()
            )));
        }
        let format = self.file_format().unwrap_or(FileFormat::Parquet);
        let encoders = Encoders::new(self.threads() - 1);
        let target = TableTarget::File { path: self.output.clone(), format, encoders };
        let exported = export(capture, target, &ExportTerminal::new(&[capture], self.quiet))?;
        self.report(&exported);
        Ok(Outcome::flawed_if(exported.is_flawed || exported.is_none_selected))
    }

    pub(super) fn to_directory(
        &self,
        export: &Export<'_>,
        settings: Value,
    ) -> Result<Outcome, Failure> {
        let format = match self.format {
            ExportFormat::Parquet => FileFormat::Parquet,
            ExportFormat::Arrow => FileFormat::Arrow,
        };
        let again = match (self.resume, self.force) {
            (true, _) => Again::Resume,
            (_, true) => Again::Force,
            _ => Again::Refused,
        };
        let partition = self.keys();
        let (path, threads, quiet) = (&self.output, self.threads(), self.quiet);
        let directory = ExportDirectory { path, format, partition, again, threads, quiet };
        directory.export(export, &self.captures, settings, |exported| self.report(exported))
    }

    /// Number of threads, at least 1.
    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(THREADS_MAX),
        }
    }

    /// Returns the settings that all files of a directory share: these options and `more`.
    pub(super) fn settings(&self, mut more: Value) -> Value {
        more["fields"] = json!(&self.fields);
        more["template"] = json!(&self.template);
        more["partition"] = json!(&self.partition);
        more["decimals"] = format!("{:?}", self.decimals).to_lowercase().into();
        more["format"] = format!("{:?}", self.format).to_lowercase().into();
        more["capture"] = self.capture.settings();
        more
    }

    fn settings_of_captures(&self, job: &ExportJob<'_>) -> Value {
        let mut settings = self.settings(json!({
            "templates": job.program.set().signature().to_string(),
            "framing": job.framing.to_string(),
            "framing_detected": job.checks_values,
            "decoder": self.decoder.settings(),
        }));
        if job.packets != PacketRange::ALL {
            settings["packets"] = job.packets.to_string().into();
        }
        if !job.reset_at.is_empty() {
            settings["reset_at"] = json!(job.reset_at);
        }
        settings
    }

    fn report(&self, exported: &Exported) {
        if self.quiet && !exported.is_flawed {
            return;
        }
        for (table, rows) in &exported.rows {
            tell!("{}: {} of {table}", exported.name, counted(*rows, "row"));
        }
    }
}
