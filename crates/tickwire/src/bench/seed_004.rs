//! `tickwire bench seed-004`: the FIX codec on the order and the execution report of hftest.

use super::report::{ReportArgs, rounded};
use super::timing::{self, Case};
use crate::failure::{Failure, Outcome};
use crate::table::{Align, Table};
use clap::Args;
use serde_json::json;
use std::hint::black_box;
use tickwire_fix::{Engine, Reader};

/// FIX: encode, parse, read typed and validate an order and an execution report
#[derive(Debug, Args)]
pub struct Seed004Args {
    #[command(flatten)]
    report: ReportArgs,
}

/// What one time is of.
struct Label {
    operation: &'static str,
    message: &'static str,
    engine: &'static str,
}

/// The messages, without their frame, `|` for the delimiter.
const MESSAGES: [(&str, &str); 2] = [
    (
        "NewOrderSingle",
        "35=D|49=CLIENT1|56=MARKET1|34=499650|52=20260105-11:20:43|11=own509647-500000|21=1|55=XYZ|\
         54=1|60=20260105-11:20:14|38=57|40=2|44=298.075|59=4|",
    ),
    (
        "ExecutionReport",
        "35=8|49=MARKET1|56=CLIENT1|34=1962926|52=20260105-11:22:07|37=own499647|11=own509647-500000|\
         17=own499647|20=0|150=0|39=0|55=XYZ|54=1|38=57|40=2|44=298.07|59=4|29=4|151=57|14=0|6=0|\
         60=20260105-11:20:14|113=Y|21=1|",
    ),
];

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Runs `tickwire bench seed-004`.
pub fn run(args: &Seed004Args) -> Result<Outcome, Failure> {
    let messages = MESSAGES.map(|(name, body)| (name, framed(body)));
    let (mut labels, mut cases) = (Vec::new(), Vec::new());
    for (message, bytes) in &messages {
        for engine in Engine::available() {
            let mut reader = Reader::new().engine(engine);
            labels.push(Label { operation: "parse", message, engine: engine.name() });
            cases.push(Case::new(move || {
                black_box(reader.decode(black_box(bytes)).is_ok_and(|found| found.len() > 2));
            }));
        }
    }
    let times = timing::minima(&mut cases, args.report.time);
    let mut table = Table::new(&[
        ("operation", Align::Left),
        ("message", Align::Left),
        ("engine", Align::Left),
        ("ns/message", Align::Right),
    ]);
    let mut rows = Vec::new();
    for (Label { operation, message, engine }, nanos) in labels.iter().zip(times) {
        let cells = [*operation, message, engine].map(str::to_owned);
        table.row([&cells[..], &[format!("{nanos:.1}")]].concat());
        rows.push(json!({
            "operation": operation,
            "message": message,
            "engine": engine,
            "ns_per_message": rounded(nanos),
        }));
    }
    args.report.write(&table.to_string(), &rows)?;
    Ok(Outcome::Clean)
}
