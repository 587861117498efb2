//! `tickwire bench cme-day`: a day of incremental refreshes, as the "Faster FAST Decoder" articles
//! measured it.
//!
//! Their capture is not available. Ours is generated with the same mean of 4.83 entries per packet and the
//! same maximum of 116.

use super::fast::corpus::Corpus;
use super::fast::engine::BenchEngine;
use super::report::{ReportArgs, rounded};
use super::timing::{self, TimedOperation};
use crate::failure::{Failure, Outcome};
use crate::table::{Align, TextTable};
use clap::Args;
use serde_json::json;
use tickwire_exchange::{CmeShape, Options};

/// CME: incremental refreshes, packets and entries, with and without order books
#[derive(Debug, Args)]
pub struct CmeDayArgs {
    /// Packets to generate
    #[arg(short = 'n', long = "packet-count", value_name = "COUNT", default_value_t = 100_000)]
    packets: u64,
    #[command(flatten)]
    report: ReportArgs,
}

/// Published figures: program, microseconds per packet, microseconds per entry.
const PUBLISHED: [(&str, f64, f64); 2] = [
    ("published, 3.3 GHz Xeon", 0.344_773, 0.071_411),
    // The same file in 9.5 instead of 11.797371 seconds.
    ("published, a rival, 3.3 GHz Core i7", 0.277_6, 0.057_5),
];

/// Runs `tickwire bench cme-day`.
pub fn run(args: &CmeDayArgs) -> Result<Outcome, Failure> {
    args.report.check(None, &[])?;
    let options = Options { messages: args.packets, ..Options::cme(CmeShape::Average) };
    let corpus = Corpus::make_up("made/cme", &options)?;
    let (mut labels, mut cases) = (Vec::new(), Vec::new());
    let mut add = |label: &str, pass| {
        labels.push(label.to_owned());
        cases.push(TimedOperation::of_many(corpus.messages, pass));
    };
    for engine in BenchEngine::ALL {
        if let Some(pass) = engine.pass(&corpus)? {
            add(engine.name(), pass);
        }
    }
    let times = timing::minima(&mut cases, args.report.time);

    let entries_a_packet = corpus.entries as f64 / corpus.messages as f64;
    let mut table = TextTable::new(&[
        ("decoder", Align::Left),
        ("us/packet", Align::Right),
        ("us/entry", Align::Right),
        ("ns/entry", Align::Right),
    ]);
    let mut row = |label: &str, packet: f64, entry: f64| {
        let nanos = format!("{:.1}", entry * 1e3);
        table.row(vec![label.to_owned(), format!("{packet:.6}"), format!("{entry:.6}"), nanos]);
    };
    for (label, packet, entry) in PUBLISHED {
        row(label, packet, entry);
    }
    let mut rows = Vec::new();
    for (label, nanos) in labels.iter().zip(&times) {
        let (packet, entry) = (nanos / 1e3, nanos / 1e3 / entries_a_packet);
        row(label, packet, entry);
        rows.push(json!({
            "engine": label,
            "packets": corpus.messages,
            "entries": corpus.entries,
            "us_per_packet": rounded(packet * 1e3) / 1e3,
            "ns_per_entry": rounded(entry * 1e3),
        }));
    }
    let text =
        format!("{}; published: 34217764/165204011/116.\n\n{table}", corpus.packets_and_entries()?);
    args.report.write(&text, &rows)?;
    Ok(Outcome::Clean)
}
