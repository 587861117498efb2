//! `tickwire bench fast`: decoding and encoding of FAST by every engine, on the same bytes in one run.

pub mod corpus;
mod digest;
mod encoding;
pub mod engine;
mod peers;
mod picture;

use super::counted;
use super::report::{ReportArgs, rounded};
use super::timing::{self, TimedOperation};
use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{FramingArgs, TemplateArgs};
use crate::table::{Align, TextTable};
use clap::Args;
use corpus::{Corpus, OwnFraming};
use encoding::{DecodedCorpus, EncoderKind, PassVolume};
use engine::{BenchEngine, CorpusPass};
use peers::PeerInput;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_feed::capture::CaptureFormat;

/// FAST: decode and encode captures and generated feeds with every engine
///
/// Every field of every message is stored; errors are checked. The cases fields and visitor also read
/// every field, by Record::fields and by a visitor.
/// The cases encode-generated and encode-dynamic encode the messages of the first packets, from
/// cache.
#[derive(Debug, Args)]
pub struct FastArgs {
    /// Folder of captures, with one subfolder per feed; .ci/fetch-captures of the source tree fills the default
    #[arg(long, value_name = "FOLDER", default_value = "captures")]
    corpora: PathBuf,
    /// Measure this capture, not the corpora; -t names its templates
    #[arg(short, long, value_name = "FILE", requires = "templates")]
    #[arg(conflicts_with_all = ["corpora", "corpus", "instructions", "peers"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    templates: TemplateArgs,
    /// Format of that capture: u32be, u32le, raw or pcap. Default: detected
    #[arg(long, value_name = "FORMAT", requires = "file")]
    input_format: Option<CaptureFormat>,
    #[command(flatten)]
    framing: FramingArgs,
    /// Only corpora whose name contains NAME; =NAME matches the whole name
    #[arg(long, value_name = "NAME")]
    corpus: Option<String>,
    /// Only engines whose name contains NAME; =NAME matches the whole name
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Also measure other decoders: the folder of their drivers, `peers` in the source tree
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Also decode on this many threads, at least 2, if packets are independent
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// Also count instructions with callgrind, which takes several minutes
    #[arg(long)]
    instructions: bool,
    /// Also write a plot of the times, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Decode everything this many times and exit
    #[arg(long, value_name = "COUNT", hide = true)]
    passes: Option<u64>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Seconds to measure a peer on a corpus: peers with a JIT compiler need the first ones to compile
/// their code.
const PEER_SECONDS: f64 = 3.0;

/// One measured time.
struct FastBenchRow<'c> {
    corpus: &'c Corpus,
    engine: &'static str,
    threads: usize,
    /// Amount decoded or encoded: the whole corpus, or its first messages.
    amount: PassVolume,
    ns_per_message: f64,
    instructions_per_message: Option<f64>,
}

/// Runs `tickwire bench fast`.
pub fn run(args: &FastArgs) -> Result<Outcome, Failure> {
    let mut inputs: Vec<&Path> = args.templates.named().iter().map(PathBuf::as_path).collect();
    inputs.extend(args.file.as_deref());
    args.report.check(args.plot.as_deref(), &inputs)?;
    if args.instructions {
        counted::check_valgrind()?;
    }
    args.check_engine()?;
    let corpora = args.all_corpora()?;
    let decoded = decoded(args, &corpora)?;
    let (labels, mut passes) = prepare(args, &corpora, &decoded)?;
    if let Some(count) = args.passes {
        passes.iter_mut().for_each(|pass| (0..count).for_each(|_| pass()));
        return Ok(Outcome::Clean);
    }
    let messages = labels.iter().map(FastBenchRow::messages_of_a_pass);
    let mut cases: Vec<TimedOperation<'_>> = messages
        .zip(passes)
        .map(|(messages, pass)| TimedOperation::of_many(messages, pass))
        .collect();
    let times = timing::minima(&mut cases, args.report.time);
    let timed = labels.into_iter().zip(times);
    let mut rows: Vec<FastBenchRow<'_>> =
        timed.map(|(row, ns_per_message)| FastBenchRow { ns_per_message, ..row }).collect();
    if args.instructions {
        rows.iter_mut().try_for_each(|row| row.count_instructions(&args.corpora))?;
    }
    if let Some(folder) = &args.peers {
        rows.extend(peer_rows(folder, &corpora, |name| is_wanted(args.engine.as_ref(), name)));
    }
    if rows.is_empty() {
        let why = "nothing was measured: no selected engine decodes the selected feeds";
        return Err(Failure::Data(why.to_owned()));
    }
    rows.sort_by_key(|row| corpora.iter().position(|corpus| corpus.name == row.corpus.name));
    if let Some(path) = &args.plot {
        let mut out = files::create(Some(path))?;
        out.write_all(picture::of(&rows).svg().map_err(Failure::Data)?.as_bytes())?;
        out.flush()?;
    }
    let json: Vec<Value> = rows.iter().map(FastBenchRow::json).collect();
    let heading = match (&args.file, &corpora[..]) {
        (Some(_), [own]) => format!("{}\n\n", own.packets_and_entries()?),
        _ => String::new(),
    };
    args.report.write(&format!("{heading}{}", table(&rows)), &json)?;
    Ok(Outcome::Clean)
}

impl FastArgs {
    /// Returns an error if no engine matches the filter.
    fn check_engine(&self) -> Result<(), Failure> {
        let decoders = BenchEngine::ALL.iter().map(|engine| engine.name());
        let encoders = EncoderKind::ALL.iter().map(|encoding| encoding.name());
        let peers = peers::ALL.iter().filter(|_| self.peers.is_some()).map(|peer| peer.name);
        let names: Vec<&str> = decoders.chain(encoders).chain(peers).collect();
        check_filter("engine", self.engine.as_ref(), &names)
    }

    /// The named capture, or all existing captures that pass the filter.
    fn all_corpora(&self) -> Result<Vec<Corpus>, Failure> {
        match &self.file {
            Some(file) => {
                let own = OwnFraming { args: &self.framing, format: self.input_format };
                Ok(vec![Corpus::of_file(file, self.templates.read()?, &own)?])
            }
            None if self.templates.is_any() => Err(Failure::Usage(
                "--templates are those of a capture: name it with --file".to_owned(),
            )),
            None => {
                check_filter("corpus", self.corpus.as_ref(), &corpus::names())?;
                corpus::all(&self.corpora, |name| is_wanted(self.corpus.as_ref(), name))
            }
        }
    }
}

/// Returns an error that lists the names if none of them matches the filter.
fn check_filter<S: AsRef<str>>(
    option: &str,
    filter: Option<&String>,
    names: &[S],
) -> Result<(), Failure> {
    match filter {
        Some(text) if !names.iter().any(|name| is_wanted(filter, name.as_ref())) => {
            let expected = names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
            Err(Failure::Usage(format!(
                "--{option} {text}: no name matches; expected one of {expected}"
            )))
        }
        _ => Ok(()),
    }
}

/// True if `name` contains the filter's text, or equals it if the filter begins with `=`.
fn is_wanted(filter: Option<&String>, name: &str) -> bool {
    filter.is_none_or(|filter| match filter.strip_prefix('=') {
        Some(exact) => name == exact,
        None => name.contains(filter.as_str()),
    })
}

/// Messages of each corpus to encode; empty if no encoder is selected.
fn decoded<'c>(
    args: &FastArgs,
    corpora: &'c [Corpus],
) -> Result<Vec<Option<DecodedCorpus<'c>>>, Failure> {
    let wanted =
        EncoderKind::ALL.iter().any(|encoding| is_wanted(args.engine.as_ref(), encoding.name()));
    corpora.iter().map(|corpus| wanted.then(|| DecodedCorpus::of(corpus)).transpose()).collect()
}

/// Prepares the measurements: rows that still lack their times, and the work of each.
fn prepare<'c>(
    args: &FastArgs,
    corpora: &'c [Corpus],
    decoded: &'c [Option<DecodedCorpus<'c>>],
) -> Result<(Vec<FastBenchRow<'c>>, Vec<CorpusPass<'c>>), Failure> {
    let (mut rows, mut passes) = (Vec::new(), Vec::new());
    let wanted = |engine: &BenchEngine| is_wanted(args.engine.as_ref(), engine.name());
    for (corpus, decoded) in corpora.iter().zip(decoded) {
        for engine in BenchEngine::ALL.into_iter().filter(wanted) {
            if let Some(pass) = engine.pass(corpus)? {
                rows.push(FastBenchRow::new(corpus, engine.name(), 0.0));
                passes.push(pass);
            }
        }
        for (decoded, encoding) in
            decoded.iter().flat_map(|decoded| EncoderKind::ALL.map(|encoding| (decoded, encoding)))
        {
            if !is_wanted(args.engine.as_ref(), encoding.name()) {
                continue;
            }
            if let Some(pass) = encoding.pass(decoded)? {
                let amount = decoded.amount;
                rows.push(FastBenchRow {
                    amount,
                    ..FastBenchRow::new(corpus, encoding.name(), 0.0)
                });
                passes.push(pass);
            }
        }
        let threads = args.threads.filter(|threads| *threads > 1 && corpus.packets_stand_alone());
        if let Some(threads) = threads {
            let engine = BenchEngine::dynamic(corpus).name();
            rows.push(FastBenchRow { threads, ..FastBenchRow::new(corpus, engine, 0.0) });
            passes.push(engine::on_threads(corpus, threads));
        }
    }
    Ok((rows, passes))
}

/// Times of the peers that can be built, on the corpora that they decode.
fn peer_rows<'c>(
    folder: &Path,
    corpora: &'c [Corpus],
    wanted: impl Fn(&str) -> bool,
) -> Vec<FastBenchRow<'c>> {
    let inputs: Vec<_> =
        corpora.iter().map(|corpus| (corpus, PeerInput::of(corpus, folder))).collect();
    let mut rows = Vec::new();
    for peer in peers::ALL.iter().filter(|peer| wanted(peer.name)) {
        let left_out = |why: &str| tell!("tickwire: {} skipped: {why}", peer.name);
        if let Err(why) = peer.build(folder) {
            left_out(&why);
            continue;
        }
        for (corpus, input) in &inputs {
            let measured = input.as_ref().map_err(String::clone);
            match measured.and_then(|input| peer.measure(folder, input, PEER_SECONDS)) {
                Ok(ns_per_message) => {
                    rows.push(FastBenchRow::new(corpus, peer.name, ns_per_message));
                }
                Err(why) => left_out(&format!("{}: {why}", corpus.name)),
            }
        }
    }
    rows
}

impl<'c> FastBenchRow<'c> {
    fn new(corpus: &'c Corpus, engine: &'static str, ns_per_message: f64) -> Self {
        let Corpus { messages, entries, bytes, .. } = *corpus;
        let amount = PassVolume { messages, entries, bytes };
        Self { corpus, engine, threads: 1, amount, ns_per_message, instructions_per_message: None }
    }

    /// True if callgrind can run the engine: it does not support wide vectors.
    fn is_portable(&self) -> bool {
        self.is_encoder()
            || BenchEngine::ALL.iter().any(|of| of.name() == self.engine && of.is_portable())
    }

    fn messages_of_a_pass(&self) -> u64 {
        let turns = if self.threads > 1 { engine::TURNS_OF_THREADS } else { 1 };
        self.amount.messages * turns
    }

    fn is_encoder(&self) -> bool {
        EncoderKind::ALL.iter().any(|encoding| encoding.name() == self.engine)
    }

    /// Counts instructions unless callgrind cannot run the engine.
    fn count_instructions(&mut self, corpora: &Path) -> Result<(), Failure> {
        if self.threads > 1 || !self.is_portable() {
            return Ok(());
        }
        let corpora = corpora.to_string_lossy();
        let of_pass = counted::instructions_of_a_pass(&[
            "bench",
            "fast",
            "--corpora",
            &corpora,
            "--corpus",
            &format!("={}", self.corpus.name),
            "--engine",
            &format!("={}", self.engine),
        ])?;
        self.instructions_per_message = Some(of_pass / self.messages_of_a_pass() as f64);
        Ok(())
    }

    /// Nanoseconds per entry; `None` if messages have no entries.
    fn ns_per_entry(&self) -> Option<f64> {
        let PassVolume { messages, entries, .. } = self.amount;
        (entries > 0).then(|| self.ns_per_message * messages as f64 / entries as f64)
    }

    fn mb_per_s(&self) -> f64 {
        let nanos = self.ns_per_message * self.amount.messages as f64;
        self.amount.bytes as f64 / nanos * 1e3
    }

    fn json(&self) -> Value {
        json!({
            "corpus": self.corpus.name,
            "engine": self.engine,
            "threads": self.threads,
            "messages": self.amount.messages,
            "entries": self.amount.entries,
            "bytes": self.amount.bytes,
            "ns_per_message": rounded(self.ns_per_message),
            "ns_per_entry": self.ns_per_entry().map(rounded),
            "mb_per_s": rounded(self.mb_per_s()),
            "instructions_per_message": self.instructions_per_message.map(rounded),
        })
    }
}

fn table(rows: &[FastBenchRow<'_>]) -> TextTable {
    let mut table = TextTable::new(&[
        ("corpus", Align::Left),
        ("engine", Align::Left),
        ("threads", Align::Right),
        ("messages", Align::Right),
        ("entries", Align::Right),
        ("ns/message", Align::Right),
        ("ns/entry", Align::Right),
        ("MB/s", Align::Right),
        ("instructions/message", Align::Right),
    ]);
    let mut last = "";
    for row in rows {
        if last != row.corpus.name && !last.is_empty() {
            table.rule();
        }
        last = &row.corpus.name;
        table.row(vec![
            row.corpus.name.clone(),
            row.engine.to_owned(),
            row.threads.to_string(),
            row.amount.messages.to_string(),
            row.amount.entries.to_string(),
            format!("{:.1}", row.ns_per_message),
            row.ns_per_entry().map_or_else(|| "-".to_owned(), |nanos| format!("{nanos:.1}")),
            format!("{:.0}", row.mb_per_s()),
            row.instructions_per_message
                .map_or_else(|| "-".to_owned(), |count| format!("{count:.0}")),
        ]);
    }
    table
}
