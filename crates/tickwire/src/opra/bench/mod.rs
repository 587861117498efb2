//! `tickwire opra bench`: measures decoding and encoding on this machine.

mod analysis;
mod machine;
mod plot;
mod rates;
mod report;
mod trace;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::InputArgs;
use crate::output;
use crate::units::{TimeSpan, span_in};
use machine::MachineProperties;
use std::io::Write;
use std::path::{Path, PathBuf};
use trace::Trace;

/// Most threads measured.
const THREADS_MAX: u16 = 256;

/// Measure the decoders and the encoder on this machine
///
/// All packets are in memory. Each message is stored in a struct, and the compiler cannot remove
/// any of the work. First the messages of the decoders are compared. Then the decoders run
/// alternately, and the shortest pass of each is reported. The encoder's time is the time of
/// decoding and re-encoding minus that of decoding.
#[derive(Debug, clap::Args)]
pub struct OpraBenchArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Messages to generate if no file is given
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    messages: u64,
    /// Random seed of the generated trace
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Measure with 1 to this many threads
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(THREADS_MAX)))]
    threads: u16,
    /// Time to measure, for all cases together
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span_in("0"..="24h"))]
    time: TimeSpan,
    /// Write the figures to this file as a JSON list; with - to standard output, without the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also analyse the cost: building blocks, grammar and actions separately, latency. Counts
    /// instructions if valgrind is installed
    #[arg(long)]
    analysis: bool,
    /// Do not count instructions, which takes a minute
    #[arg(long, requires = "analysis")]
    no_instructions: bool,
    /// Write a plot of the times by decoder and by threads, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replace output files that exist
    #[arg(long)]
    force: bool,
    /// Run one building block and exit
    #[arg(long, value_name = "NAME", hide = true, requires = "passes")]
    block: Option<String>,
    /// Number of runs
    #[arg(long, value_name = "COUNT", hide = true)]
    passes: Option<u64>,
}

/// Runs the command.
pub fn run(args: &OpraBenchArgs) -> Result<Outcome, Failure> {
    if let (Some(name), Some(passes)) = (&args.block, args.passes) {
        analysis::run_block(name, passes)?;
        return Ok(Outcome::Clean);
    }
    let inputs: Vec<&Path> = args.input.path().into_iter().collect();
    output::check_all(&[args.json.as_deref(), args.plot.as_deref()], args.force, &inputs)?;
    let trace = Trace::load(args)?;
    rates::check(&trace)?;
    let threads: Vec<usize> = (1..=usize::from(args.threads)).collect();
    let mut contestants = rates::contestants(&threads);
    let time = args.time.duration();
    rates::measure(&mut contestants, &trace, time)?;
    let machine = MachineProperties::look();
    let rows = report::rows(&contestants);
    let mut text = format!("{}\n{}", heading(&trace, &machine), report::table(&rows, &trace));
    let mut list = report::json(&rows, &trace, &machine);
    if args.analysis {
        let analysis = analysis::analyse(&trace, &machine, time, !args.no_instructions)?;
        text.push_str(&analysis.text);
        list.extend(analysis.objects);
    }
    if let Some(path) = &args.plot {
        let picture = plot::of(&rows, &trace)
            .svg()
            .map_err(|error| Failure::Data(format!("cannot draw the times: {error}")))?;
        write_to(Some(path), picture.as_bytes())?;
    }
    if let Some(path) = &args.json {
        let lines: Vec<String> = list.iter().map(|object| format!("  {object}")).collect();
        write_to(Some(path), format!("[\n{}\n]\n", lines.join(",\n")).as_bytes())?;
    }
    if !args.json.as_deref().is_some_and(files::is_standard) {
        write_to(None, text.as_bytes())?;
    }
    Ok(Outcome::Clean)
}

fn write_to(path: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let mut out = files::create(path)?;
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

fn heading(trace: &Trace, machine: &MachineProperties) -> String {
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
