//! `tickwire subscribe`: samples from the bus, counted, timed and echoed.

mod ends;
mod ledger;
mod metrics;
mod report;

use crate::distribution::{DdsArgs, Kind, Latencies, Role, Stations, dds_failure};
use crate::failure::{Failure, Outcome};
use crate::options::MetricsArgs;
use crate::output;
use ends::Ends;
use ledger::{History, Ledger};
use metrics::SubscribeMetrics;
use report::Report;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickwire_dds::CycloneParticipant;
use tickwire_net::{Stop, affinity};

/// Longest sleep of the loop.
const TICK: Duration = Duration::from_millis(20);
/// How long to wait for samples behind the publisher's word that it has ended.
const QUIET: Duration = Duration::from_millis(500);

/// Take samples from DDS, echo them to the publisher and print how long they took.
///
/// Takes orders (Quote, New, Change, Remove) and market data (MarketData, QuoteRequest) until a publisher
/// says that its feed is done. Publishers may come and go meanwhile. Exit status 1: samples were lost, or it is
/// unknown how many. It is unknown after a publisher that was killed or is still running at the end, because a
/// publisher says only when it ends how many samples it wrote. With --best-effort, samples missing before the
/// first one may have been lost or written before this command started.
#[derive(Debug, clap::Args)]
pub struct SubscribeArgs {
    /// Do not echo samples; name it on both sides.
    #[arg(long, alias = "noecho")]
    no_echo: bool,
    /// Ask for samples again and again instead of waiting: quicker, and a CPU busy.
    #[arg(long)]
    spin: bool,
    /// Go on when a publisher says that its feed is done.
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    dds: DdsArgs,
    /// Run on this CPU alone, counted from 0.
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,
    #[command(flatten)]
    metrics: MetricsArgs,
    /// Write counters and times to this file as JSON; - is standard output, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Replace the file of the report if it exists.
    #[arg(long, requires = "json")]
    force: bool,
    #[command(flatten)]
    parent: crate::distribution::ParentArgs,
}

impl SubscribeArgs {
    fn history(&self) -> History {
        match (self.dds.is_best_effort(), self.dds.has_last_values()) {
            (true, _) => History::BestEffort,
            (false, true) => History::LastValues,
            (false, false) => History::None,
        }
    }
}

/// The metrics of this command before it runs.
#[cfg(test)]
pub fn metrics() -> SubscribeMetrics {
    SubscribeMetrics::new()
}

/// Runs the command.
pub fn run(args: &SubscribeArgs) -> Result<Outcome, Failure> {
    output::check_all(&[args.json.as_deref()], args.force, &[])?;
    let stop = crate::distribution::stop_on_signals(&args.parent)?;
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))?;
    }
    let metrics = SubscribeMetrics::new();
    let exporter = args.metrics.serve(metrics.all())?;
    let participant = args.dds.join()?;
    let subscription = Subscription::new(&participant, args, metrics, stop);
    let mut subscription = subscription.map_err(|error| dds_failure(&error))?;
    crate::distribution::say(args.json.as_deref(), "Subscribed; waiting for samples.")?;
    let report = subscription.run().map_err(|error| dds_failure(&error))?;
    report.write(args.json.as_deref())?;
    drop(exporter);
    Ok(Outcome::flawed_if(report.is_flawed()))
}

struct Subscription<'a> {
    args: &'a SubscribeArgs,
    stop: Stop,
    stations: Stations,
    ends: Ends,
    ledger: Ledger,
    latencies: Latencies,
    metrics: SubscribeMetrics,
}

impl<'a> Subscription<'a> {
    fn new(
        participant: &CycloneParticipant,
        args: &'a SubscribeArgs,
        metrics: SubscribeMetrics,
        stop: Stop,
    ) -> Result<Self, tickwire_dds::Error> {
        let role = Role::Samples { echo: !args.no_echo };
        Ok(Self {
            stop,
            stations: Stations::new(participant, &args.dds, &Kind::ALL, role)?,
            ends: Ends::new(participant, &args.dds)?,
            ledger: Ledger::new(args.history()),
            latencies: Latencies::default(),
            metrics,
            args,
        })
    }

    fn run(&mut self) -> Result<Report, tickwire_dds::Error> {
        let row = self.latencies.add("one way, shared clock");
        let (mut first, mut last) = (None, Instant::now());
        loop {
            let Self { stations, ledger, latencies, .. } = self;
            let take = |arrival: &_| take(arrival, ledger, latencies, row);
            let count = match self.args.spin {
                true => stations.poll(take)?,
                false => stations.receive(TICK, take)?,
            };
            if count > 0 {
                last = Instant::now();
                first.get_or_insert(last);
            } else {
                self.ends.take(&mut self.ledger)?;
            }
            self.ends.watch(&mut self.ledger)?;
            self.metrics.publish(&self.ledger, &self.latencies);
            let is_over =
                self.ledger.is_complete() || (self.ledger.has_end() && last.elapsed() > QUIET);
            if self.stop.is_set() || (is_over && !self.args.stay && count == 0) {
                break;
            }
        }
        let elapsed = first.map_or(Duration::ZERO, |first| last - first);
        Report::of(&self.ledger, &self.stations, &self.latencies, elapsed, self.stop.is_set())
    }
}

fn take(
    arrival: &crate::distribution::Arrival,
    ledger: &mut Ledger,
    latencies: &mut Latencies,
    row: usize,
) {
    if let Some(age_ns) = arrival.age_ns() {
        latencies.record(row, age_ns);
    }
    ledger.count(arrival);
}
