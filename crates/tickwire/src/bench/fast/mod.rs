//! `tickwire bench fast`: decoding of FAST by every engine, on the same bytes in one run.

pub mod corpus;
pub mod engine;
mod peers;

use super::callgrind;
use super::plot::Bars;
use super::report::{ReportArgs, rounded};
use super::timing::{self, Case};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::table::{Align, Table};
use clap::Args;
use corpus::Corpus;
use engine::Engine;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// FAST: decode captures and feeds made up here with every engine
///
/// Every field of every message is stored, or handed to a visitor that uses it; errors are checked.
#[derive(Debug, Args)]
pub struct FastArgs {
    /// Folder of captures, one folder in it for each feed
    #[arg(long, value_name = "FOLDER", default_value = "../shared/corpus")]
    corpora: PathBuf,
    /// Only corpora whose name contains this
    #[arg(long, value_name = "NAME")]
    corpus: Option<String>,
    /// Only engines whose name contains this
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Also measure other decoders: the folder of their programs, `peers` in the source tree
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Also count instructions, by callgrind: minutes
    #[arg(long)]
    instructions: bool,
    /// Also draw the times, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Decode everything so many times, and nothing else
    #[arg(long, value_name = "COUNT", hide = true)]
    passes: Option<u64>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Seconds to measure a peer on a corpus: a virtual machine needs some to compile its code.
const PEER_SECONDS: f64 = 3.0;

/// One time.
struct Row<'c> {
    corpus: &'c Corpus,
    engine: &'static str,
    ns_per_message: f64,
    instructions_per_message: Option<f64>,
}

/// Runs `tickwire bench fast`.
pub fn run(args: &FastArgs) -> Result<Outcome, Failure> {
    if args.instructions && !callgrind::is_available() {
        return Err(Failure::Usage("valgrind is not installed: it counts instructions".to_owned()));
    }
    let wanted = |filter: &Option<String>, name: &str| {
        filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    };
    let corpora = corpus::all(&args.corpora, |name| wanted(&args.corpus, name))?;
    let (mut labels, mut passes) = (Vec::new(), Vec::new());
    for corpus in &corpora {
        for engine in Engine::ALL.into_iter().filter(|engine| wanted(&args.engine, engine.name())) {
            if let Some(pass) = engine.pass(corpus)? {
                labels.push((corpus, engine));
                passes.push(pass);
            }
        }
    }
    if let Some(count) = args.passes {
        passes.iter_mut().for_each(|pass| (0..count).for_each(|_| pass()));
        return Ok(Outcome::Clean);
    }
    let messages = labels.iter().map(|(corpus, _)| corpus.messages);
    let mut cases: Vec<Case<'_>> =
        messages.zip(passes).map(|(messages, pass)| Case::of_many(messages, pass)).collect();
    let times = timing::minima(&mut cases, args.report.time);
    let mut rows: Vec<Row<'_>> = labels
        .into_iter()
        .zip(times)
        .map(|((corpus, engine), ns_per_message)| Row::new(corpus, engine.name(), ns_per_message))
        .collect();
    if args.instructions {
        rows.iter_mut().try_for_each(|row| row.count_instructions(&args.corpora))?;
    }
    if let Some(folder) = &args.peers {
        rows.extend(peer_rows(folder, &corpora, |name| wanted(&args.engine, name)));
        rows.sort_by_key(|row| corpora.iter().position(|corpus| corpus.name == row.corpus.name));
    }
    if let Some(path) = &args.plot {
        let mut out = files::create(Some(path))?;
        out.write_all(picture(&rows).svg().map_err(Failure::Data)?.as_bytes())?;
        out.flush()?;
    }
    let json: Vec<Value> = rows.iter().map(Row::json).collect();
    args.report.write(&table(&rows).to_string(), &json)?;
    Ok(Outcome::Clean)
}

/// Times of the peers that can be built, on the corpora that they decode.
fn peer_rows<'c>(
    folder: &Path,
    corpora: &'c [Corpus],
    wanted: impl Fn(&str) -> bool,
) -> Vec<Row<'c>> {
    let mut rows = Vec::new();
    for peer in peers::ALL.iter().filter(|peer| wanted(peer.name)) {
        let left_out = |why: &str| anstream::eprintln!("tickwire: {} left out: {why}", peer.name);
        if let Err(why) = peer.build(folder) {
            left_out(&why);
            continue;
        }
        for corpus in corpora.iter().filter(|corpus| corpus.source.is_some()) {
            match peer.measure(folder, corpus, PEER_SECONDS) {
                Ok(ns_per_message) => {
                    rows.push(Row::new(corpus, peer.name, ns_per_message));
                }
                Err(why) => left_out(&format!("{}: {why}", corpus.name)),
            }
        }
    }
    rows
}

impl<'c> Row<'c> {
    fn new(corpus: &'c Corpus, engine: &'static str, ns_per_message: f64) -> Self {
        Self { corpus, engine, ns_per_message, instructions_per_message: None }
    }

    /// Counts instructions, unless the engine is one that callgrind cannot run.
    fn count_instructions(&mut self, corpora: &Path) -> Result<(), Failure> {
        if !Engine::ALL.iter().any(|engine| engine.name() == self.engine && engine.is_portable()) {
            return Ok(());
        }
        let corpora = corpora.to_string_lossy();
        let of_pass = callgrind::instructions_of_a_pass(&[
            "bench",
            "fast",
            "--corpora",
            &corpora,
            "--corpus",
            &self.corpus.name,
            "--engine",
            self.engine,
        ])?;
        self.instructions_per_message = Some(of_pass / self.corpus.messages as f64);
        Ok(())
    }

    /// Nanoseconds an entry; nothing where messages have none.
    fn ns_per_entry(&self) -> Option<f64> {
        let Corpus { messages, entries, .. } = *self.corpus;
        (entries > 0).then(|| self.ns_per_message * messages as f64 / entries as f64)
    }

    fn mb_per_s(&self) -> f64 {
        let nanos = self.ns_per_message * self.corpus.messages as f64;
        self.corpus.bytes as f64 / nanos * 1e3
    }

    fn json(&self) -> Value {
        json!({
            "corpus": self.corpus.name,
            "engine": self.engine,
            "messages": self.corpus.messages,
            "entries": self.corpus.entries,
            "bytes": self.corpus.bytes,
            "ns_per_message": rounded(self.ns_per_message),
            "ns_per_entry": self.ns_per_entry().map(rounded),
            "mb_per_s": rounded(self.mb_per_s()),
            "instructions_per_message": self.instructions_per_message.map(rounded),
        })
    }
}

fn picture(rows: &[Row<'_>]) -> Bars {
    let mut groups: Vec<(String, Vec<(String, f64)>)> = Vec::new();
    for row in rows {
        let bar = (row.engine.to_owned(), row.ns_per_message);
        match groups.last_mut() {
            Some((name, bars)) if *name == row.corpus.name => bars.push(bar),
            _ => groups.push((row.corpus.name.clone(), vec![bar])),
        }
    }
    Bars {
        title: "FAST: time to decode a message, one thread".to_owned(),
        axis: "nanoseconds a message, less is better".to_owned(),
        groups,
    }
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(&[
        ("corpus", Align::Left),
        ("engine", Align::Left),
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
            row.corpus.messages.to_string(),
            row.corpus.entries.to_string(),
            format!("{:.1}", row.ns_per_message),
            row.ns_per_entry().map_or_else(|| "-".to_owned(), |nanos| format!("{nanos:.1}")),
            format!("{:.0}", row.mb_per_s()),
            row.instructions_per_message
                .map_or_else(|| "-".to_owned(), |count| format!("{count:.0}")),
        ]);
    }
    table
}
