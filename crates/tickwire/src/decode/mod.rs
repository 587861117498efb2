//! `tickwire decode`: messages of a capture as JSON lines, CSV, FIX text or a table.

mod output;
mod report;
mod run;
mod spread;
mod summary;

pub use output::DecodeOutput;
pub use report::DecodeReport;
pub use run::DecodeRun;
pub use summary::entries_of;

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{
    DecoderArgs, FramingArgs, InputArgs, InputReplay, ResetAtArgs, TemplateArgs, reset_policy,
    with_reset_template,
};
use crate::output::{OutputArgs, compression_of};
use crate::packet_range::PacketRange;
use crate::progress::Progress;
use clap::ValueEnum;
use spread::ParallelDecode;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use summary::TemplateSummary;
use tickwire_captures::{CaptureDecoder, CaptureSample, Selection, SequenceGaps};
use tickwire_fast::{CompileOptions, Findings, Program};
use tickwire_feed::capture::CaptureKind;
use tickwire_feed::framing::Framing;
use tickwire_text::{Csv, CsvColumn, FieldSeparator, Fix, JsonLines, MessageWriter, Plain};

/// Maximum number of threads: more than machines have cores, fewer than a process may start.
const THREADS_MAX: usize = 256;
/// Number of packets, from the first, whose values are checked for plausibility.
const DOUBTED_PACKETS: usize = 200;

/// Output format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// One JSON object per message; absent fields are null.
    Jsonl,
    /// One row per sequence entry; the fields of the message are repeated in each row.
    Csv,
    /// FIX tag=value text, one line per message.
    Fix,
    /// Text for people: a heading per message and one line per entry.
    Text,
    /// Tables of message counts by template and, if there are several, by destination; the decoding speed.
    Summary,
}

impl OutputFormat {
    /// The format that a file name such as `x.csv.zst` stands for.
    fn from_suffix(path: &Path) -> Option<Self> {
        let uncompressed = path.file_stem().map(Path::new);
        let is_compressed = compression_of(path).is_some();
        let name = if is_compressed { uncompressed? } else { path };
        match name.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "jsonl" | "json" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "fix" => Some(Self::Fix),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// True if the suffix of a file name stands for a columnar format.
fn is_of_columns(path: &Path) -> bool {
    let suffix = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    matches!(suffix.as_deref(), Some("parquet" | "arrow" | "arrows" | "ipc" | "feather"))
}

/// Decode the messages of a capture file.
///
/// JSON lines are {"pkt": packet index, "pre": preamble in hex, "off": offset in the packet, "len":
/// bytes, "time": capture time in nanoseconds since 1970, "source": "IP:PORT", "destination":
/// "IP:PORT", "t": template id, "n": template name, "msg": {field: value}}. time and addresses are
/// present only if the file has them. Decimals are {"m": mantissa, "e": exponent}, byte vectors
/// {"hex": ".."}, sequences lists, groups objects, enumerations the name of their element.
///
/// CSV columns are pkt, off, t, n, time, source, destination, entry and then the paths of all
/// fields of the selected templates (--template), each once. A message has one row per innermost
/// sequence entry, with the enclosing fields repeated, or one row if it has no entries; "entry"
/// counts the entries of each sequence from 0. Without --template, rows and columns are those of all
/// templates, also of Reset and Heartbeat. An empty cell is an absent field, "" an empty string;
/// 13331e1 is mantissa 13331 and exponent 1.
///
/// FIX text begins with time=, source= and destination= if the file has them. --entry-index writes
/// entry=0, entry=1 and so on before the entries of a sequence, and entry=1.0 before those of a
/// sequence inside entry 1.
///
/// If a message cannot be decoded, the error is reported and the rest of the packet is skipped, or
/// the rest of the block if headers contain lengths. Decoding continues after the next reset. Errors
/// have the codes of the FAST specification (D5, R9); the page "Errors by code" of the book
/// (docs/errors.md) explains them. Each destination address and port is a separate channel with its
/// own dictionaries, and so is each TCP stream. The last line on standard error counts packets,
/// messages and bytes.
///
/// For logs and captures of FIX sessions (tag=value) use `tickwire fix decode`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("templates", |arg| arg.required(true)))]
pub struct FastDecodeArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
    /// Output format. Default: by the suffix of --output (.jsonl, .csv, .fix, .txt), else jsonl.
    #[arg(long, value_name = "FORMAT")]
    format: Option<OutputFormat>,
    #[command(flatten)]
    output: OutputArgs,
    /// Stop after writing this many messages.
    #[arg(short = 'n', long, visible_alias = "head", value_name = "COUNT")]
    limit: Option<u64>,
    /// Write only the messages of these packets, by index from 0: 100..200 (without 200), 100.. or 100.
    /// Earlier packets are decoded where dictionaries depend on them; their errors are not reported,
    /// except messages that --framing auto refuses.
    #[arg(long, value_name = "FROM..TO", default_value_t = PacketRange::ALL, hide_default_value = true)]
    packets: PacketRange,
    #[command(flatten)]
    sessions: ResetAtArgs,
    /// Write only these fields: names, paths such as MDEntries/MDEntryPx, or ids. A group or
    /// sequence includes all its fields.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// Write only messages of this template, by name or id. May be repeated.
    #[arg(long, value_name = "NAME|ID")]
    template: Vec<String>,
    /// Separate FIX fields by SOH (byte 1), not by |.
    #[arg(long)]
    soh: bool,
    /// Number the entries of sequences in FIX text. The other formats always show entries.
    #[arg(long)]
    entry_index: bool,
    /// Decode on this many threads, at most 256; 0 is one per core. The output order does not
    /// change. If dictionaries are reset in each packet (--reset packet or message), packets are
    /// distributed over all threads, otherwise channels are. Streams, --limit and --format summary
    /// use one thread.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// Print the final counts only if something was not decoded.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &FastDecodeArgs) -> Result<Outcome, Failure> {
    let set = args.templates.read()?;
    let path = args.input.required_path()?;
    let name = files::name_of(path);
    let (framing, replay) = match args.framing.is_auto() {
        true => {
            let (sample, replay) = args.input.sample()?;
            (args.framing.find(&sample, &set, &name)?, replay)
        }
        false => (args.framing.framing()?, InputReplay::default()),
    };
    let set = with_reset_template(set, &framing);
    let options = CompileOptions::default().fields(args.fields.clone());
    let program = Arc::new(files::compile(set, &options)?);
    let options = args.decoder.checked_options(reset_policy(&framing), &program)?;
    let selection = select(&program, &args.template)?;

    let progress = Progress::of(path);
    let mut inputs: Vec<&Path> = args.templates.paths()?.iter().map(PathBuf::as_path).collect();
    inputs.extend(args.input.path());
    args.check_suffix()?;
    let out = args.output.create(&inputs)?;
    let reader = args.input.open_live(&progress, out.clone(), replay)?;
    let threads = args.threads_used();
    if threads > 1 && reader.kind() == CaptureKind::Datagrams {
        let spread =
            ParallelDecode { args, threads, framing, program: &program, selection: &selection };
        return spread.decode_all(reader, out, &progress);
    }
    let mut run = DecodeRun {
        output: args.writer(out, &program, &selection)?,
        selection,
        packets: args.packets.clone(),
        left: args.limit.unwrap_or(u64::MAX),
        report: DecodeReport::new(&name, &progress, options.limits),
        gaps: SequenceGaps::default(),
        sample: CaptureSample::new(DOUBTED_PACKETS),
        findings: Findings::default(),
        timed: args.format() == OutputFormat::Summary,
    };
    let mut decoder = CaptureDecoder::new(program.clone(), options, framing);
    decoder = decoder.reset_at(args.sessions.reset_at.clone());
    if args.framing.is_auto() {
        decoder = decoder.check_values();
    }
    let read = run.decode_all(&mut decoder, reader, &framing)?;
    if let Some(text) = args.input.none_selected(&read) {
        run.report.error(&text);
    }
    report_doubt(&mut run.report, &program, &framing, &run.sample);
    run.finish(args.quiet);
    Ok(Outcome::flawed_if(run.report.is_flawed()))
}

/// The templates of these names or ids; all templates if no name is given.
pub fn select(program: &Program, names: &[String]) -> Result<Selection, Failure> {
    Selection::new(program, names).map_err(|unknown| Failure::Usage(unknown.to_string()))
}

/// Warns if another framing or reset policy fits the values or errors of a channel better.
pub fn report_doubt(
    report: &mut DecodeReport<'_>,
    program: &Program,
    framing: &Framing,
    sample: &CaptureSample,
) {
    for doubt in sample.doubts(program.set(), framing) {
        report.remark(&format!("warning: {doubt}"));
    }
}

impl FastDecodeArgs {
    fn threads_used(&self) -> usize {
        let one_only = self.limit.is_some() || self.format() == OutputFormat::Summary;
        match self.threads {
            _ if one_only => 1,
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(THREADS_MAX),
        }
    }

    /// Refuses an output whose suffix stands for a columnar format, unless a format is given.
    fn check_suffix(&self) -> Result<(), Failure> {
        match self.output.path() {
            Some(path) if self.format.is_none() && is_of_columns(path) => {
                Err(Failure::Usage(format!(
                    "--output {}: decode writes text; use `tickwire export` for this format, or add \
                     --format to write text to a file of this name",
                    path.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// The requested format, else the one that the output's suffix stands for.
    fn format(&self) -> OutputFormat {
        let by_suffix = || OutputFormat::from_suffix(self.output.path()?);
        self.format.or_else(by_suffix).unwrap_or(OutputFormat::Jsonl)
    }

    /// Creates a writer of that format to `out`.
    fn writer(
        &self,
        out: impl Write + 'static,
        program: &Arc<Program>,
        selection: &Selection,
    ) -> Result<DecodeOutput, Failure> {
        let writer: Box<dyn MessageWriter> = match self.format() {
            OutputFormat::Jsonl => Box::new(JsonLines::new(out)),
            OutputFormat::Csv => {
                let templates = selection.templates(program);
                Box::new(Csv::new(out, program, &templates, CsvColumn::CAPTURE)?)
            }
            OutputFormat::Fix => {
                let separator = if self.soh { FieldSeparator::Soh } else { FieldSeparator::Bar };
                let writer = Fix::new(out, program, separator).on_untagged(warn_untagged);
                Box::new(if self.entry_index { writer.entry_index() } else { writer })
            }
            OutputFormat::Text => Box::new(Plain::new(out)),
            OutputFormat::Summary => {
                return Ok(DecodeOutput::Summary(TemplateSummary::new(
                    Box::new(out),
                    program.clone(),
                )));
            }
        };
        Ok(DecodeOutput::Messages(writer))
    }
}

/// Warns once, however many threads write FIX text.
fn warn_untagged(field: &str) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tell!(
            "tickwire: field \"{field}\" has no id in the template file and is omitted, like all fields without an id"
        );
    });
}
