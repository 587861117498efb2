//! `tickwire decode`: messages of a capture as JSON lines, CSV, FIX text or a table.

pub mod output;
mod place;
mod report;
mod run;
mod selection;
mod spread;
mod streams;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{DecoderArgs, FramingArgs, InputArgs, reset_policy, with_reset_template};
use crate::progress::Progress;
use clap::ValueEnum;
use output::{Csv, Fix, JsonLines, Output, Summary};
use report::Report;
use run::Run;
use selection::Selection;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tickwire_fast::{CompileOptions, Program};
use tickwire_feed::capture::Kind;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// One JSON object a message; absent fields are null.
    Jsonl,
    /// One row a sequence entry; the message's own fields are repeated on each.
    Csv,
    /// FIX tag=value text, one line a message.
    Fix,
    /// A table of counts by template, and the speed.
    Summary,
}

/// Decode the messages of a capture file.
///
/// JSON lines are {"pkt": packet index, "pre": preamble in hex, "off": offset in the packet, "len":
/// bytes, "t": template id, "n": template name, "msg": {field: value}}. Decimals are {"m": mantissa,
/// "e": exponent}, byte vectors {"hex": ".."}, sequences lists, groups objects, enumerations the
/// name of their element.
///
/// CSV columns are pkt, off, t, n and then the paths of all fields of the selected templates
/// (--template), each once. A message gives one row for each innermost sequence entry, with the
/// fields around it repeated, or one row if it has no entries. An empty cell is an absent field, ""
/// an empty string; 13331e1 is mantissa 13331 and exponent 1.
///
/// A packet that cannot be decoded is reported and given up from there, or to the end of the block
/// where headers tell lengths; decoding goes on after the next reset. Datagrams to each address and
/// port are a channel of their own, with its own dictionaries, and so is each TCP stream. The last
/// line on standard error counts packets, messages and bytes.
#[derive(Debug, clap::Args)]
pub struct DecodeArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Template file of the feed (FAST 1.1 or 1.2 XML).
    #[arg(short, long, value_name = "FILE")]
    templates: PathBuf,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    decoder: DecoderArgs,
    /// How to write messages.
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: OutputFormat,
    /// Where to write; standard output unless given.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stop after this many messages written.
    #[arg(short = 'n', long, visible_alias = "head", value_name = "COUNT")]
    limit: Option<u64>,
    /// Write only these fields: names, paths such as MDEntries/MDEntryPx, or ids; a group or
    /// sequence brings all in it.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    fields: Option<Vec<String>>,
    /// Write only messages of this template, by name or id; may be repeated.
    #[arg(long, value_name = "NAME|ID")]
    template: Vec<String>,
    /// Separate FIX fields by SOH (byte 1) instead of |.
    #[arg(long)]
    soh: bool,
    /// Decode on this many threads, 0 for one a core; the order of the output stays. Packets go to
    /// any thread where dictionaries are emptied at each (--reset packet or message), otherwise the
    /// packets of a channel to one. Streams, --limit and --format summary use one.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// Do not print the counts at the end unless something was given up.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: &DecodeArgs) -> Result<Outcome, Failure> {
    let framing = args.framing.framing()?;
    let set = with_reset_template(files::read_templates(&args.templates)?, &framing);
    let options = CompileOptions { fields: args.fields.clone(), ..CompileOptions::default() };
    let program = Arc::new(files::compile(set, &options)?);
    let selection = Selection::new(&program, &args.template)?;

    let path = args.input.required_path()?;
    let progress = Progress::of(path);
    let reader = args.input.open(&progress)?;
    let name = files::name_of(path);
    let threads = args.threads_used();
    if threads > 1 && reader.kind() == Kind::Datagrams {
        return spread::decode_all(args, threads, framing, &program, &selection, reader, &progress);
    }
    let out = files::create(args.output.as_deref())?;
    let mut run = Run {
        output: args.output(out, &program, &selection)?,
        options: args.decoder.options(reset_policy(&framing)),
        framing,
        selection,
        left: args.limit.unwrap_or(u64::MAX),
        report: Report::new(&name, &progress),
        timed: args.format == OutputFormat::Summary,
        program,
    };
    run.decode_all(reader, args.quiet)?;
    Ok(Outcome::flawed_if(run.report.is_flawed()))
}

impl DecodeArgs {
    fn threads_used(&self) -> usize {
        let one_only = self.limit.is_some() || self.format == OutputFormat::Summary;
        match self.threads {
            _ if one_only => 1,
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// The format asked for, written to `out`.
    fn output(
        &self,
        out: impl Write + 'static,
        program: &Arc<Program>,
        selection: &Selection,
    ) -> Result<Box<dyn Output>, Failure> {
        Ok(match self.format {
            OutputFormat::Jsonl => Box::new(JsonLines::new(out)),
            OutputFormat::Csv => Box::new(Csv::new(out, program, &selection.templates(program))?),
            OutputFormat::Fix => Box::new(Fix::new(out, program, self.soh)),
            OutputFormat::Summary => Box::new(Summary::new(out, program.clone())),
        })
    }
}
