//! `tickwire opra bench`: how long decoding and encoding take on this machine.

mod machine;
mod rates;
mod report;
mod trace;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::InputArgs;
use machine::Machine;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use trace::Trace;

/// Most threads measured.
const THREADS_MAX: u16 = 256;

/// Measure the decoders and the encoder on this machine
///
/// All packets lie in memory; each message is a struct at the end, and nothing of it is optimised
/// away. The decoders run in turn, again and again, and the shortest pass of each counts. Before
/// that their messages are compared. The encoder's time is that of decoding and encoding again,
/// without that of decoding.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Messages to generate, if no file is named
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    messages: u64,
    /// Seed of the generated trace
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Measure with 1 thread, 2 threads and so on up to this many
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(THREADS_MAX)))]
    threads: u16,
    /// How long to go on, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    seconds: u16,
    /// Write the figures there as a JSON list; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<Outcome, Failure> {
    let trace = Trace::load(args)?;
    rates::check(&trace)?;
    let threads: Vec<usize> = (1..=usize::from(args.threads)).collect();
    let mut contestants = rates::contestants(&threads);
    rates::measure(&mut contestants, &trace, Duration::from_secs(args.seconds.into()))?;
    let machine = Machine::look();
    let rows = report::rows(&contestants);

    let mut list = report::json(&rows, &trace, &machine);
    let is_json_out = args.json.as_deref().is_some_and(files::is_standard);
    if !is_json_out {
        let mut out = files::create(None)?;
        writeln!(out, "{}", heading(&trace, &machine))?;
        write!(out, "{}", report::table(&rows, &trace))?;
        out.flush()?;
    }
    if let Some(path) = &args.json {
        let mut out = files::create(Some(path))?;
        let list = serde_json::Value::Array(std::mem::take(&mut list));
        writeln!(out, "{list:#}")?;
        out.flush()?;
    }
    Ok(Outcome::Clean)
}

fn heading(trace: &Trace, machine: &Machine) -> String {
    format!(
        "{}: {} messages in {} packets, {} bytes\n{}, core clock {:.2} GHz, commit {}\n",
        trace.name,
        trace.messages,
        trace.packets.len(),
        trace.bytes,
        machine.cpu,
        machine.clock_ghz,
        machine.commit,
    )
}
