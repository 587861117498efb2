//! `tickwire bench receive`: the cost of a packet by receive method.
//!
//! Packets of a synthetic feed go from one network namespace to another over a virtual cable for each line.
//! The sender runs on CPU 0; the network stack of the receiving end and the receiver share CPU 1, as with a
//! card whose interrupts go to the reader's CPU. Lost packets are those sent minus those received.

mod cable;
mod cpu;
mod feed;
mod receiver;
mod trial;

use crate::console::tell;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::table::{Align, TextTable};
use cable::Cables;
use clap::Args;
use feed::BenchFeed;
use receiver::{PacketWork, ReceiverKind};
use serde_json::{Value, json};
use std::io::Write;
use trial::{RECEIVING_CPU, Sending, TrialSetup};

/// Bounds of the search in packets per second: every receiver manages the first, no sender here reaches the
/// second.
const RATES: [f64; 2] = [50_000.0, 2_000_000.0];
/// Steps of the binary search for the highest rate.
const STEPS: u32 = 7;
/// Trials per rate. It is enough that one of them loses nothing, because other load on the CPU can lose packets that
/// the receiver could have taken.
const TRIALS: u32 = 2;
/// Packets in a drain: fewer than the default receive buffer holds.
const DRAINED: usize = 2_000;

/// Measure the loss-free packet rate and the CPU time per packet of each receive method
///
/// Creates two network namespaces with one virtual cable per line and removes them at the end.
/// Needs root, the command ip and two CPUs: the sender runs on CPU 0, network stack and receiver
/// share CPU 1.
#[derive(Debug, Args)]
pub struct BenchReceiveArgs {
    /// Receive methods to measure. Default: all
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    receivers: Vec<ReceiverKind>,
    /// Messages per packet
    #[arg(long, value_name = "COUNT,..", value_delimiter = ',', default_value = "1,10")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=20))]
    messages: Vec<u16>,
    /// Number of lines
    #[arg(long, value_name = "COUNT,..", value_delimiter = ',', default_value = "1,2")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=2))]
    lines: Vec<u16>,
    /// Packets per trial and line
    #[arg(long = "packet-count", value_name = "COUNT", default_value_t = 200_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(10_000..=5_000_000))]
    packets: u32,
    /// Write the figures as JSON to this file instead of as a table; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<std::path::PathBuf>,
}

/// Results of one receiver.
struct ReceiveBenchRow {
    kind: ReceiverKind,
    application: PacketWork,
    messages: u16,
    lines: u16,
    mean_bytes: usize,
    /// The highest rate without loss, and the trial at that rate; `None` if the lowest rate lost packets.
    highest: Option<trial::TrialOutcome>,
    /// Result for packets that wait in the receiver's queue and are then taken at once.
    drain: trial::TrialOutcome,
}

/// Runs `tickwire bench receive`.
pub fn run(args: &BenchReceiveArgs) -> Result<Outcome, Failure> {
    let kinds = match args.receivers.as_slice() {
        [] => <ReceiverKind as clap::ValueEnum>::value_variants(),
        chosen => chosen,
    };
    let mut rows = Vec::new();
    for &lines in &args.lines {
        let cables = Cables::new(lines.into())?;
        cables.steer(lines.into(), RECEIVING_CPU)?;
        for &messages in &args.messages {
            let feed = BenchFeed::new(args.packets as usize, messages.into(), lines.into())?;
            for &kind in kinds {
                for application in [PacketWork::Bare, PacketWork::Handler] {
                    if application == PacketWork::Handler && !kind.has_handler() {
                        continue;
                    }
                    tell!("{kind}, {application}: {messages} messages per packet, {lines} lines");
                    let case = TrialSetup {
                        cables: &cables,
                        feed: &feed,
                        lines: lines.into(),
                        kind,
                        application,
                    };
                    rows.push(measure(&case, messages, lines)?);
                }
            }
        }
    }
    write(args, &rows)?;
    Ok(Outcome::Clean)
}

fn measure(case: &TrialSetup<'_>, messages: u16, lines: u16) -> Result<ReceiveBenchRow, Failure> {
    let drain = trial::run(case, DRAINED, Sending::Before)?;
    Ok(ReceiveBenchRow {
        kind: case.kind,
        application: case.application,
        messages,
        lines,
        mean_bytes: case.feed.mean_bytes(),
        highest: highest(case)?,
        drain,
    })
}

/// Searches for the highest rate without loss.
fn highest(case: &TrialSetup<'_>) -> Result<Option<trial::TrialOutcome>, Failure> {
    let [mut low, mut high] = RATES;
    let mut best = lossless(case, low)?;
    if best.is_none() {
        return Ok(None);
    }
    for _ in 0..STEPS {
        // Geometric mean: the rate is found to the same relative precision everywhere.
        let middle = (low * high).sqrt();
        match lossless(case, middle)? {
            Some(outcome) => {
                // The sender is the limit: higher rates cannot be tested.
                let is_limit = outcome.rate() < middle * 0.9;
                (low, best) = (middle, Some(outcome));
                if is_limit {
                    break;
                }
            }
            None => high = middle,
        }
    }
    Ok(best)
}

/// Returns the first of [`TRIALS`] trials at this rate that loses no packet; `None` if all lose
/// some.
fn lossless(case: &TrialSetup<'_>, rate: f64) -> Result<Option<trial::TrialOutcome>, Failure> {
    for _ in 0..TRIALS {
        let outcome = trial::run(case, case.feed.packets(), Sending::Paced(rate))?;
        if outcome.lost() == 0 {
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

impl ReceiveBenchRow {
    fn cells(&self) -> Vec<String> {
        let Self { kind, application, messages, lines, mean_bytes, highest, drain } = self;
        let of_highest = |figure: fn(&trial::TrialOutcome) -> String| {
            highest.as_ref().map_or_else(|| "-".to_owned(), figure)
        };
        vec![
            kind.to_string(),
            application.to_string(),
            lines.to_string(),
            messages.to_string(),
            mean_bytes.to_string(),
            of_highest(|trial| format!("{:.2}", trial.rate() / 1e6)),
            of_highest(|trial| machine_ns(trial).0),
            of_highest(|trial| machine_ns(trial).1),
            if drain.lost() == 0 {
                format!("{:.0}", drain.application_ns())
            } else {
                "-".to_owned()
            },
        ]
    }

    fn json(&self) -> Value {
        let Self { kind, application, messages, lines, mean_bytes, highest, drain } = self;
        let trial = |trial: &trial::TrialOutcome| {
            json!({
                "sent": trial.sent,
                "received": trial.received,
                "lost": trial.lost(),
                "packets_per_second": trial.rate(),
                "application_ns": trial.application_ns(),
                "machine_busy_us": trial.machine.0.as_micros() as u64,
                "machine_softirq_us": trial.machine.1.as_micros() as u64,
                "messages": trial.messages,
            })
        };
        json!({
            "receiver": kind.to_string(),
            "application": application.to_string(),
            "lines": lines,
            "messages_per_packet": messages,
            "mean_bytes": mean_bytes,
            "highest": highest.as_ref().map(trial),
            "drain": trial(drain),
        })
    }
}

/// Returns the CPU time of the whole machine per packet, and the part of it in software interrupts, in nanoseconds.
fn machine_ns(trial: &trial::TrialOutcome) -> (String, String) {
    let a_packet = |time: std::time::Duration| {
        format!("{:.0}", time.as_nanos() as f64 / trial.received.max(1) as f64)
    };
    (a_packet(trial.machine.0), a_packet(trial.machine.1))
}

fn write(args: &BenchReceiveArgs, rows: &[ReceiveBenchRow]) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        let to = Some(path.as_path()).filter(|path| *path != "-");
        let mut out = files::create(to)?;
        let rows: Vec<Value> = rows.iter().map(ReceiveBenchRow::json).collect();
        writeln!(out, "{:#}", json!({ "rows": rows }))?;
        out.flush()?;
        if to.is_none() {
            return Ok(());
        }
    }
    let columns = [
        ("receiver", Align::Left),
        ("application", Align::Left),
        ("lines", Align::Right),
        ("messages", Align::Right),
        ("bytes", Align::Right),
        ("M packets/s", Align::Right),
        ("machine ns", Align::Right),
        ("softirq ns", Align::Right),
        ("drain ns", Align::Right),
    ];
    let mut table = TextTable::new(&columns);
    rows.iter().for_each(|row| table.row(row.cells()));
    let mut out = files::create(None)?;
    write!(out, "{table}")?;
    writeln!(
        out,
        "\nM packets/s: highest rate without loss, all lines together. machine: busy CPU time of the whole machine a \
         packet\nat that rate, sender included; softirq: its network stack. drain: CPU time of the receiver's thread a \
         packet,\nof {DRAINED} packets that wait in its queue."
    )?;
    out.flush()?;
    Ok(())
}
