//! `tickwire soak`: runs parts of the toolkit as processes for a long time, with kills and restarts.

mod books;
mod features;
pub mod process;
mod round;

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::units::{TimeSpan, span_in};
use crate::{files, output};
use clap::{Args, Subcommand};
use fastrand::Rng;
use features::Features;
use round::{Round, SoakPlace, Sums};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickwire_net::Stop;

/// Run parts of Tickwire for a long time and check results and memory
#[derive(Debug, Args)]
pub struct SoakArgs {
    #[command(subcommand)]
    what: SoakCommand,
}

#[derive(Debug, Subcommand)]
enum SoakCommand {
    Feed(FeedSoakArgs),
}

/// Send trading days on loopback, receive them, and compare the books
///
/// tickwire multicast sends lines A and B with losses, and snapshots; tickwire receive keeps the
/// books. Each receiver has a different feed: books by level, price or order, implied books, keys,
/// fragments, with or without RptSeq. The days differ in resets, status, empty books and
/// heartbeats. Either process is killed and restarted at random times. Books that are fresh at the
/// end of a day must equal the exchange's. Exit status 1 if one differs or if memory grows.
#[derive(Debug, Args)]
struct FeedSoakArgs {
    /// Time to run; a day that has begun is finished
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = span_in("1s"..="1700h"))]
    time: TimeSpan,
    /// Time to run, in minutes
    #[arg(long, hide = true, value_name = "MINUTES", conflicts_with = "time")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: Option<u64>,
    /// Exit after at most this many days
    #[arg(long, value_name = "COUNT")]
    days: Option<u64>,
    /// Packets per day
    #[arg(short = 'n', long = "packet-count", value_name = "COUNT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    packets: u64,
    /// Random seed of the days, faults and kills
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Write the totals as JSON to this file instead of as text; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Replace the --json file if it exists
    #[arg(long, requires = "json")]
    force: bool,
}

impl FeedSoakArgs {
    fn duration(&self) -> Duration {
        self.minutes.map_or(self.time.duration(), |minutes| Duration::from_secs(minutes * 60))
    }
}

/// Maximum growth of a receiver's memory between its first and its last day.
const GROWTH_BYTES_MAX: u64 = 32 << 20;

/// Runs the command.
pub fn run(args: &SoakArgs) -> Result<Outcome, Failure> {
    let SoakCommand::Feed(args) = &args.what;
    output::check_all(&[args.json.as_deref()], args.force, &[])?;
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    let place = SoakPlace::new()?;
    let mut random = Rng::with_seed(args.seed);
    let mut sums = Sums::default();
    let until = Instant::now() + args.duration();
    let (mut receiver, mut features) = (None, Features::draw(&mut random));
    let days_max = args.days.unwrap_or(u64::MAX);
    while !stop.is_set() && Instant::now() < until && sums.days < days_max {
        if receiver.is_none() {
            features = Features::draw(&mut random);
        }
        let round = Round::prepare(&place, &features, random.u64(..), args.packets)?;
        round.play(&mut receiver, &mut random, &stop, &mut sums)?;
    }
    drop(receiver);
    report(args, &sums)?;
    // A soak that compared no book has shown nothing.
    let is_unknown = sums.fresh + sums.wrong == 0;
    if is_unknown {
        tell!("tickwire: no book was compared: give it more --time, more --days or more packets");
    }
    let is_broken = is_unknown || sums.wrong > 0 || sums.growth_bytes_max > GROWTH_BYTES_MAX;
    Ok(if is_broken { Outcome::Flawed } else { Outcome::Clean })
}

fn report(args: &FeedSoakArgs, sums: &Sums) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        let mut out = files::create(Some(path))?;
        let sums = json!({
            "days": sums.days,
            "packets": sums.packets,
            "kills": { "sender": sums.sender_kills, "receiver": sums.receiver_kills },
            "books": { "fresh": sums.fresh, "stale": sums.stale, "wrong": sums.wrong },
            "resident_bytes_max": sums.resident_bytes_max,
            "growth_bytes_max": sums.growth_bytes_max,
        });
        writeln!(out, "{sums:#}")?;
        out.flush()?;
        if files::is_standard(path) {
            return Ok(());
        }
    }
    let mut out = files::create(None)?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    writeln!(
        out,
        "{} days, {} packets of updates a line; {} senders and {} receivers killed\n\
         {} fresh books are the exchange's, {} are not, {} were stale at the end of a day\n\
         a receiver had {:.1} MiB at most and grew by {:.1} MiB at most",
        sums.days,
        sums.packets,
        sums.sender_kills,
        sums.receiver_kills,
        sums.fresh,
        sums.wrong,
        sums.stale,
        mib(sums.resident_bytes_max),
        mib(sums.growth_bytes_max)
    )?;
    Ok(out.flush()?)
}
