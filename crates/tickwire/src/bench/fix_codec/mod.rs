//! `tickwire bench fix`: the FIX codec on the order and the execution report of hftest.

mod by_hand;
mod peers;

use super::report::{ReportArgs, rounded};
use super::timing::{self, TimedOperation};
use crate::failure::{Failure, Outcome};
use crate::table::{Align, TextTable};
use clap::Args;
use serde_json::json;
use std::hint::black_box;
use std::path::PathBuf;
use tickwire_fix::dictionary::shipped;
use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::{Dictionary, FixMessage, Reader, ReaderEngine, Validator};
use tickwire_fix_messages::fix42::{ExecutionReport, Header, NewOrderSingle};

/// FIX: encode, parse, read typed and validate an order and an execution report
///
/// parse finds all fields and verifies BodyLength and CheckSum. typed also decodes every field of
/// header and body to its type; generated-alike remembers the tag order of earlier messages.
/// validate checks a parsed message against the dictionary.
#[derive(Debug, Args)]
pub struct FixCodecArgs {
    /// Also measure other engines: the folder of their drivers, `peers/fix` in the source tree
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

/// Labels of a measured time.
#[derive(Clone, Copy, PartialEq, Eq)]
struct MeasurementLabel {
    operation: &'static str,
    message: &'static str,
    engine: &'static str,
}

const ORDER: &str = "NewOrderSingle";
const REPORT: &str = "ExecutionReport";

/// The messages without BeginString, BodyLength and CheckSum, with `|` as the delimiter. They have the fields
/// and lengths of hftest's messages.
const MESSAGES: [(&str, &str); 2] = [
    (
        ORDER,
        "35=D|49=CLIENT1|56=MARKET1|34=499650|52=20260105-11:20:43|11=own509647-500000|21=1|55=XYZ|\
         54=1|60=20260105-11:20:14|38=57|40=2|44=298.075|59=4|",
    ),
    (
        REPORT,
        "35=8|49=MARKET1|56=CLIENT1|34=1962926|52=20260105-11:22:07|37=own499647|11=own509647-500000|\
         17=own499647|20=0|150=0|39=0|55=XYZ|54=1|38=57|40=2|44=298.07|59=4|29=4|151=57|14=0|6=0|\
         60=20260105-11:20:14|113=Y|21=1|",
    ),
];

/// Published figures: engine, operation, message, messages, microseconds.
const PUBLISHED: [(&str, &str, &str, u64, f64); 4] = [
    ("client", "encode", ORDER, 150_001, 185_837.0),
    ("client", "decode", REPORT, 588_567, 2_295_686.0),
    ("server", "encode", REPORT, 588_567, 907_882.0),
    ("server", "decode", ORDER, 150_001, 539_200.0),
];

fn framed(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
    bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
    bytes
}

/// Cases with their labels.
#[derive(Default)]
struct Cases<'c> {
    labels: Vec<MeasurementLabel>,
    cases: Vec<TimedOperation<'c>>,
}

impl<'c> Cases<'c> {
    fn add(
        &mut self,
        operation: &'static str,
        message: &'static str,
        engine: &'static str,
        run: impl FnMut() + 'c,
    ) {
        self.labels.push(MeasurementLabel { operation, message, engine });
        self.cases.push(TimedOperation::new(run));
    }

    fn parse_and_typed(&mut self, name: &'static str, bytes: &'c [u8]) {
        for engine in ReaderEngine::available() {
            let mut reader = Reader::new().engine(engine);
            self.add("parse", name, engine.name(), move || {
                black_box(reader.decode(black_box(bytes)).is_ok_and(|found| found.len() > 2));
            });
        }
        let mut reader = Reader::new();
        self.add("typed", name, "generated", move || {
            let Ok(message) = reader.decode(black_box(bytes)) else { return };
            if name == ORDER {
                typed::<NewOrderSingle<'_>>(&message);
            } else {
                typed::<ExecutionReport<'_>>(&message);
            }
        });
        let mut reader = Reader::new();
        let (mut headers, mut bodies) = (Shapes::default(), Shapes::default());
        self.add("typed", name, "generated-alike", move || {
            let Ok(message) = reader.decode(black_box(bytes)) else { return };
            let shapes = [&mut headers, &mut bodies];
            if name == ORDER {
                typed_alike::<NewOrderSingle<'_>>(&message, shapes);
            } else {
                typed_alike::<ExecutionReport<'_>>(&message, shapes);
            }
        });
    }
}

/// Decodes every field of header and body to its type, in place.
#[inline(always)]
fn typed<'m, M: TypedFields<'m>>(message: &FixMessage<'m, '_>) {
    let (mut header, mut body) = (Room::<Header<'m>>::default(), Room::<M>::default());
    let Ok((header, start)) = header.decode(message, BODY_START) else { return };
    black_box(&*header);
    if let Ok((body, _)) = body.decode(message, start) {
        black_box(&*body);
    }
}

/// Does the same for a stream of messages that have the same tags in the same order.
#[inline(always)]
fn typed_alike<'m, M: TypedFields<'m>>(
    message: &FixMessage<'m, '_>,
    [headers, bodies]: [&mut Shapes; 2],
) {
    let (mut header, mut body) = (Room::<Header<'m>>::default(), Room::<M>::default());
    let Ok((header, start)) = header.decode_alike(headers, message, BODY_START) else { return };
    black_box(&*header);
    if let Ok((body, _)) = body.decode_alike(bodies, message, start) {
        black_box(&*body);
    }
}

/// Checks that the measured work is done: every message decodes, validates and encodes to the same
/// bytes.
fn checked(bytes: &[u8], again: &[u8], dictionary: &Dictionary) -> Result<(), Failure> {
    let mut reader = Reader::new();
    let message = reader.decode(bytes).map_err(|error| Failure::Data(error.to_string()))?;
    let valid = Validator::default().validate(&message, dictionary);
    valid.map_err(|error| Failure::Data(error.to_string()))?;
    if again != bytes {
        return Err(Failure::Data("a message is not encoded as it was decoded".to_owned()));
    }
    Ok(())
}

/// Runs `tickwire bench fix`.
pub fn run(args: &FixCodecArgs) -> Result<Outcome, Failure> {
    args.report.check(None, &[])?;
    let data = |error: tickwire_fix::FixError| Failure::Data(error.to_string());
    let [order_bytes, report_bytes] = MESSAGES.map(|(_, body)| framed(body));
    let dictionary = Dictionary::parse_quickfix(&shipped::FIX42);
    let dictionary = dictionary.map_err(|problems| Failure::Data(problems.to_string()))?;
    let (mut order_reader, mut report_reader) = (Reader::new(), Reader::new());
    let order_message = order_reader.decode(&order_bytes).map_err(data)?;
    let report_message = report_reader.decode(&report_bytes).map_err(data)?;
    let (order_header, _) = Header::decode(&order_message).map_err(data)?;
    let (report_header, _) = Header::decode(&report_message).map_err(data)?;
    let order = NewOrderSingle::decode(&order_message).map_err(data)?;
    let report = ExecutionReport::decode(&report_message).map_err(data)?;
    let (mut order_out, mut report_out) = ([0; 512], [0; 512]);
    checked(&order_bytes, order.encode(&order_header, &mut order_out).map_err(data)?, &dictionary)?;
    let again = report.encode(&report_header, &mut report_out).map_err(data)?;
    checked(&report_bytes, again, &dictionary)?;

    let (mut order_by_hand, mut report_by_hand) = ([0; 512], [0; 512]);

    let mut all = Cases::default();
    all.add("encode", ORDER, "generated", || {
        let encoded = black_box(&order).encode(black_box(&order_header), &mut order_out);
        black_box(encoded.is_ok());
    });
    all.add("encode", REPORT, "generated", || {
        let encoded = black_box(&report).encode(black_box(&report_header), &mut report_out);
        black_box(encoded.is_ok());
    });
    let again = by_hand::order(&order, &order_header, &mut order_by_hand).map_err(data)?;
    checked(&order_bytes, again, &dictionary)?;
    let again = by_hand::report(&report, &report_header, &mut report_by_hand).map_err(data)?;
    checked(&report_bytes, again, &dictionary)?;
    all.add("encode", ORDER, "writer", || {
        let (order, header) = (black_box(&order), black_box(&order_header));
        black_box(by_hand::order(order, header, &mut order_by_hand).is_ok());
    });
    all.add("encode", REPORT, "writer", || {
        let (report, header) = (black_box(&report), black_box(&report_header));
        black_box(by_hand::report(report, header, &mut report_by_hand).is_ok());
    });
    all.parse_and_typed(ORDER, &order_bytes);
    all.parse_and_typed(REPORT, &report_bytes);
    for (name, message) in [(ORDER, order_message), (REPORT, report_message)] {
        let mut validator = Validator::default();
        let dictionary = &dictionary;
        all.add("validate", name, "portable", move || {
            black_box(validator.validate(black_box(&message), dictionary).is_ok());
        });
    }
    let Cases { mut labels, mut cases } = all;
    let mut times = timing::minima(&mut cases, args.report.time);
    if let Some(folder) = &args.peers {
        for peer in peers::measure(folder, &[(ORDER, &order_bytes), (REPORT, &report_bytes)]) {
            labels.push(peer.0);
            times.push(peer.1);
        }
    }
    let tables = format!("{}\n{}", operations(&labels, &times), beside_published(&labels, &times));
    let rows = labels.iter().zip(&times).map(
        |(MeasurementLabel { operation, message, engine }, nanos)| {
            json!({
                "operation": operation,
                "message": message,
                "engine": engine,
                "ns_per_message": rounded(*nanos),
            })
        },
    );
    args.report.write(&tables, &rows.collect::<Vec<_>>())?;
    Ok(Outcome::Clean)
}

fn operations(labels: &[MeasurementLabel], times: &[f64]) -> TextTable {
    let mut table = TextTable::new(&[
        ("operation", Align::Left),
        ("message", Align::Left),
        ("engine", Align::Left),
        ("ns/message", Align::Right),
    ]);
    for (MeasurementLabel { operation, message, engine }, nanos) in labels.iter().zip(times) {
        let cells = [*operation, message, engine].map(str::to_owned);
        table.row([&cells[..], &[format!("{nanos:.1}")]].concat());
    }
    table
}

/// Returns the published figures beside ours for the same number of messages. The published figures are
/// from another machine.
fn beside_published(labels: &[MeasurementLabel], times: &[f64]) -> TextTable {
    let mut table = TextTable::new(&[
        ("mode", Align::Left),
        ("operation", Align::Left),
        ("messages", Align::Right),
        ("µs, published", Align::Right),
        ("µs", Align::Right),
        ("msgs/µs, published", Align::Right),
        ("msgs/µs", Align::Right),
        ("µs/msg, published", Align::Right),
        ("µs/msg", Align::Right),
        ("times", Align::Right),
    ]);
    for (mode, name, message, count, published) in PUBLISHED {
        let operation = if name == "decode" { "typed" } else { name };
        let wanted = MeasurementLabel { operation, message, engine: "generated" };
        let Some(at) = labels.iter().position(|label| *label == wanted) else { continue };
        let messages = count as f64;
        let own = times[at] * messages / 1000.0;
        let (published_each, own_each) = (published / messages, own / messages);
        table.row(vec![
            mode.to_owned(),
            name.to_owned(),
            count.to_string(),
            format!("{published:.0}"),
            format!("{own:.0}"),
            format!("{:.2}", 1.0 / published_each),
            format!("{:.2}", 1.0 / own_each),
            format!("{published_each:.3}"),
            format!("{own_each:.3}"),
            format!("{:.1}x", published_each / own_each),
        ]);
    }
    table
}
