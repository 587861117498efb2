//! Publishes books and events of real captures: subscribers receive what `receive --show` prints.
#![cfg(feature = "dds")]

mod support;

use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use support::tickwire;
use tickwire_exchange::{FeedShape, Generator, Options};
use tickwire_feed::Endian;
use tickwire_feed::book::Amount;
use tickwire_feed::capture::PrefixedWriter;
use tickwire_testing::{Need, skip};

/// Environment variable with the path of the Python interpreter to run. Default: the one on the
/// PATH.
const PYTHON: &str = "TICKWIRE_PYTHON";

/// Captures and the options of each.
const CAPTURES: [(&str, &str); 2] = [
    ("cme_2012/cme_2012_sampleMD.bin", "--framing cme"),
    (
        "moex_forts/moex_forts_2013.increment_a.bin",
        "--framing moex-forts --natural-refresh --starts-empty true",
    ),
];

fn shared(name: &str) -> Option<PathBuf> {
    support::shared(&format!("corpus/{name}"))
}

fn arguments(capture: &Path, options: &str) -> String {
    let templates = capture.with_file_name("templates.xml");
    format!("-t {} {options} --capture-line a={} -q", templates.display(), capture.display())
}

/// Returns a domain that other tests are unlikely to use at the same time. Those of `distribution.rs` are below 165.
fn domain(test: u32) -> u32 {
    165 + std::process::id().wrapping_mul(11).wrapping_add(test) % 64
}

/// A process that is killed if the test ends first. Its output is read while it runs, so that it never waits for the
/// test.
struct Process {
    child: Child,
    text: Option<JoinHandle<String>>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        let mut out = child.stdout.take().expect("piped");
        let text = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).expect("UTF-8");
            text
        });
        Self { child, text: Some(text) }
    }

    /// Waits for its successful end and returns its output.
    fn output(mut self) -> String {
        let text = self.text.take().expect("taken once").join().expect("no panic");
        assert!(self.child.wait().expect("a status").success(), "{text}");
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the best prices and the trades that `receive` shows.
fn shown(arguments: &str) -> [Vec<Value>; 2] {
    ["bbo", "trades"].map(|what| {
        let run = tickwire(&format!("receive {arguments} --show {what}"));
        run.json_lines()
    })
}

/// Converts a level to the format of `receive --show`: price, size and orders.
fn level_of(level: &Value) -> Value {
    let orders = level["orders"].as_u64().filter(|orders| *orders > 0);
    json!([level["price"], level["size"], orders])
}

fn level(sample: &Value, has: &str, of: &str) -> Value {
    if sample[has] == json!(true) { level_of(&sample[of]) } else { Value::Null }
}

fn told(sample: &Value, has: &str, member: &str) -> Value {
    if sample[has] == json!(true) { sample[member].clone() } else { Value::Null }
}

fn or_null(value: &Value) -> Value {
    if *value == json!("") || *value == json!(0) { Value::Null } else { value.clone() }
}

/// Converts a sample as subscribers of other vendors print it to what `subscribe --show` prints, without the time at
/// which it was taken.
fn as_shown(sample: &Value) -> Value {
    let topic = sample["topic"].as_str().expect("a name");
    let reason = or_null(&sample["stale_reason"]);
    let state = if reason.is_null() { "fresh" } else { "stale" };
    let levels = |side: &str| -> Value {
        let levels = sample[side].as_array().expect("levels");
        levels.iter().map(level_of).collect()
    };
    let mut row = match topic {
        "BookTop" => json!({
            "state": state,
            "reason": reason,
            "kind": sample["kind"],
            "bid": level(sample, "has_bid", "bid"),
            "offer": level(sample, "has_offer", "offer"),
        }),
        "Book" => json!({
            "state": state,
            "reason": reason,
            "kind": sample["kind"],
            "bids": levels("bids"),
            "offers": levels("offers"),
        }),
        "Trade" => json!({
            "event": "trade",
            "action": sample["action"],
            "price": told(sample, "has_price", "price"),
            "size": told(sample, "has_size", "size"),
            "exchange_date": or_null(&sample["exchange_date"]),
            "exchange_time": told(sample, "has_exchange_time", "exchange_time"),
            "id": or_null(&sample["id"]),
            "aggressor": or_null(&sample["aggressor"]),
            "conditions": or_null(&sample["conditions"]),
        }),
        "Status" => json!({
            "event": "status",
            "code": sample["code"],
            "may_cross": sample["may_cross"],
        }),
        "Definition" => json!({
            "event": "definition",
            "symbol": or_null(&sample["symbol"]),
            "tick": told(sample, "has_tick", "tick"),
            "expiry": or_null(&sample["expiry"]),
        }),
        other => panic!("{other}"),
    };
    for (name, value) in [
        ("topic", json!(topic)),
        ("time", sample["received_ns"].clone()),
        ("instrument", or_null(&sample["instrument"])),
        ("source", sample["source"].clone()),
        ("channel", or_null(&sample["channel"])),
        ("seq_num", or_null(&sample["seq_num"])),
        ("sending_time", or_null(&sample["sending_time"])),
    ] {
        row[name] = value;
    }
    row
}

/// Returns the members of a row of `subscribe --show` that `receive --show` prints too.
fn as_received(sample: &Value) -> Value {
    let mut row = sample.clone();
    let members = row.as_object_mut().expect("an object");
    for name in ["topic", "source", "channel", "seq_num", "sending_time", "taken"] {
        members.remove(name);
    }
    row
}

/// Removes null members, which one of the sides may omit.
fn without_nulls(row: &Value) -> Value {
    let members = row.as_object().expect("an object").clone();
    Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}

fn assert_same(samples: Vec<Value>, expected: &[Value], what: &str) {
    // Samples with the same key arrive in order; the order between keys is arbitrary.
    let sorted = |rows: &[Value]| {
        let mut rows: Vec<Value> = rows.iter().map(without_nulls).collect();
        rows.sort_by_key(|row| row["instrument"].to_string());
        rows
    };
    let (samples, expected) = (sorted(&samples), sorted(expected));
    assert_eq!(samples.len(), expected.len(), "{what}");
    for (index, (sample, expected)) in samples.iter().zip(&expected).enumerate() {
        assert_eq!(sample, expected, "{what} {index}");
    }
}

fn split(all: Vec<Value>) -> [Vec<Value>; 2] {
    let (trades, tops) = all.into_iter().partition(|row| row["event"] == "trade");
    [tops, trades]
}

/// Checks that a subscriber over shared memory gets what `receive` shows of a feed. Returns the numbers of best prices
/// and trades.
fn published_over_shared_memory(test: u32, arguments: &str) -> [usize; 2] {
    let domain = domain(test);
    let directory = format!("/dev/shm/tickwire-market-{}-{test}", std::process::id());
    let place = format!("--transport shm --domain {domain} --shm-directory {directory}");
    let subscribe = format!("subscribe --show --topic BookTop,Trade --no-echo {place}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    let subscriber = Process::start(command.args(subscribe.split(' ')));
    let run = tickwire(&format!("receive {arguments} --publish {place}"));
    assert!(run.err.contains("samples published, 0 dropped"), "{}", run.err);
    let samples = lines(&subscriber.output());
    let _ = std::fs::remove_dir_all(&directory);
    let [tops, trades] = split(samples.iter().map(as_received).collect());
    let counts = [tops.len(), trades.len()];
    let [bbo, told] = shown(arguments);
    assert_same(tops, &bbo, "best prices");
    assert_same(trades, &told, "trades");
    counts
}

#[test]
fn subscribers_over_shared_memory_have_them_too() {
    for (test, (capture, options)) in (40..).zip(CAPTURES) {
        let Some(capture) = shared(capture) else { continue };
        published_over_shared_memory(test, &arguments(&capture, options));
    }
}

/// Synthetic feeds in the format of exchanges of which there is no capture. T7 is Eurex's technology.
#[test]
fn feeds_in_the_shape_of_t7_and_b3_are_published_too() {
    let shapes = [
        (FeedShape::Bse, "--framing eurex-t7 --seq-num PacketSeqNum"),
        (FeedShape::Mcx, "--framing eurex-t7 --seq-num PacketSeqNum"),
        (FeedShape::B3, "--reset packet"),
    ];
    let directory = std::env::temp_dir().join(format!("tickwire-shapes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("made");
    for (test, (shape, framing)) in (50..).zip(shapes) {
        let options = Options { messages: 2000, ..Options::shaped(shape) };
        let [packets, templates] =
            ["bin", "xml"].map(|kind| directory.join(format!("{test}.{kind}")));
        std::fs::write(&templates, options.feed.templates()).expect("written");
        let file = std::fs::File::create(&packets).expect("made");
        let mut file = PrefixedWriter::new(file, Endian::Big);
        for packet in Generator::new(&options).expect("options of a feed") {
            file.write_packet(&packet.expect("a packet").bytes).expect("written");
        }
        let arguments = format!(
            "-t {} {framing} --starts-empty true --natural-refresh --capture-line a={} -q",
            templates.display(),
            packets.display()
        );
        let [tops, trades] = published_over_shared_memory(test, &arguments);
        assert!(tops > 100 && trades > 10, "{shape:?}: {tops} best prices, {trades} trades");
    }
    let _ = std::fs::remove_dir_all(&directory);
}

#[test]
fn subscribers_have_the_best_prices_and_trades_that_receive_shows() {
    for (test, (capture, options)) in (0..).zip(CAPTURES) {
        let Some(capture) = shared(capture) else { continue };
        let (arguments, domain) = (arguments(&capture, options), domain(test));
        let subscriber = Process::start(
            Command::new(env!("CARGO_BIN_EXE_tickwire"))
                .args(["subscribe", "--show", "--topic", "BookTop,Trade", "--no-echo"])
                .args(["--domain", &domain.to_string()]),
        );
        let run = tickwire(&format!("receive {arguments} --publish --domain {domain}"));
        assert!(run.err.contains("samples published, 0 dropped"), "{}", run.err);
        let samples = lines(&subscriber.output());
        let [tops, trades] = split(samples.iter().map(as_received).collect());
        let [bbo, told] = shown(&arguments);
        assert!(bbo.len() + told.len() > 100, "{} {}", bbo.len(), told.len());
        assert_same(tops, &bbo, "best prices");
        assert_same(trades, &told, "trades");
    }
}

/// Returns a Python that has the package cyclonedds.
fn python() -> Option<String> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let mut check = Command::new(&python);
    let check = check.args(["-c", "import cyclonedds"]).stderr(Stdio::null()).status();
    if !check.is_ok_and(|status| status.success()) {
        skip(Need::Peers, "no Python with the package cyclonedds");
        return None;
    }
    Some(python)
}

/// A reader without a compiled-in type gets the type from the publisher, and receives the values that `decode` prints.
#[test]
fn a_generic_reader_has_the_messages_of_any_template() {
    let Some(python) = python() else { return };
    let Some(capture) = shared("cme_2012/cme_2012_sampleMD.bin") else { return };
    let templates = capture.with_file_name("templates.xml");
    let (templates, file, domain) = (templates.display(), capture.display(), domain(30));
    let decoded = tickwire(&format!("decode -t {templates} --framing cme {file} --format jsonl"));
    let decoded = decoded.json_lines();
    let template = decoded[0]["n"].as_str().expect("a name").to_owned();
    let of_template = decoded.iter().filter(|message| message["n"] == *template);
    let of_template = of_template.map(|message| message["msg"]["MsgSeqNum"].clone());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/generic_peer.py");
    let mut peer = Command::new(&python);
    let peer = Process::start(peer.arg(script).args([&domain.to_string(), &template]));
    let run = tickwire(&format!(
        "publish -t {templates} --framing cme -f {file} --samples templates --no-echo --domain {domain} \
         --history all --patience 30s"
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let samples = lines(&peer.output());
    let samples: Vec<Value> = samples.iter().map(|row| row["MsgSeqNum"].clone()).collect();
    let expected: Vec<Value> = of_template.collect();
    assert!(expected.len() > 10, "{}", expected.len());
    assert_eq!(samples, expected);
}

/// Replaces the decimals of a sample of another vendor's subscriber by text.
fn with_decimals(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(with_decimals).collect(),
        Value::Object(members) => match (members.get("mantissa"), members.get("exponent")) {
            (Some(mantissa), Some(exponent)) => {
                let exponent = exponent.as_i64().expect("a number") as i32;
                let mantissa = mantissa.as_i64().expect("a number");
                json!(Amount { mantissa, exponent }.to_string())
            }
            _ => members.iter().map(|(name, of)| (name.clone(), with_decimals(of))).collect(),
        },
        other => other.clone(),
    }
}

/// A feed that another vendor's subscriber receives: the arguments of `receive`, and the topics that must have samples.
struct VendorFeed {
    name: String,
    arguments: String,
    topics: &'static [&'static str],
}

/// Returns the captures that are there, and a simulated day with trading status and definitions of instruments.
fn vendor_feeds(first_test: u32) -> Vec<VendorFeed> {
    let of_capture = |(capture, options)| {
        let capture = shared(capture)?;
        let (name, arguments) = (capture.display().to_string(), arguments(&capture, options));
        Some(VendorFeed { name, arguments, topics: &["BookTop", "Book"] })
    };
    let mut feeds: Vec<VendorFeed> = CAPTURES.into_iter().filter_map(of_capture).collect();
    let directory = support::directory(&format!("distribution-market-day-{first_test}"));
    let (day, templates) = (directory.join("day.pcap"), directory.join("day.xml"));
    let (day, templates) = (day.display(), templates.display());
    let run =
        tickwire(&format!("generate day --status -n 1500 -o {day} --write-templates {templates}"));
    assert_eq!(run.status, 0, "{}", run.err);
    feeds.push(VendorFeed {
        name: "a simulated day".to_owned(),
        arguments: format!(
            "-t {templates} --framing cme --capture {day} --line-b --snapshots --definitions -q"
        ),
        topics: &["BookTop", "Book", "Status", "Definition"],
    });
    feeds
}

/// Checks that a subscriber of another vendor gets, on all topics, what `subscribe --show` prints in the same run, and
/// the best prices and trades that `receive --show` prints. `start` starts it in a domain.
fn another_vendor_has_them(first_test: u32, start: impl Fn(u32) -> Command) {
    for (test, feed) in (first_test..).zip(vendor_feeds(first_test)) {
        let (arguments, domain) = (&feed.arguments, domain(test));
        let peer = Process::start(&mut start(domain));
        let topics = ["BookTop", "Book", "Trade", "Status", "Definition"];
        let own = Process::start(
            Command::new(env!("CARGO_BIN_EXE_tickwire"))
                .args(["subscribe", "--show", "--no-echo", "--topic", &topics.join(",")])
                .args(["--transport", "dds", "--domain", &domain.to_string()]),
        );
        // The peer needs some time to start.
        let run = tickwire(&format!(
            "receive {arguments} --publish --subscribers 2 --domain {domain} --patience 60s"
        ));
        assert!(run.err.contains("samples published, 0 dropped"), "{}", run.err);
        let samples =
            lines(&peer.output()).into_iter().map(|sample| as_shown(&with_decimals(&sample)));
        let samples: Vec<Value> = samples.collect();
        let mut expected = lines(&own.output());
        for sample in &mut expected {
            sample.as_object_mut().expect("an object").remove("taken");
        }
        for topic in topics {
            let of_topic = |all: &[Value]| {
                let mut all = all.to_vec();
                all.retain(|sample| sample["topic"] == topic);
                all
            };
            let expected = of_topic(&expected);
            eprintln!("{}: {} samples of {topic}", feed.name, expected.len());
            assert!(!expected.is_empty() || !feed.topics.contains(&topic), "{topic}");
            assert_same(of_topic(&samples), &expected, topic);
        }
        let is_shown = |sample: &&Value| sample["topic"] == "BookTop" || sample["topic"] == "Trade";
        let [tops, trades] = split(samples.iter().filter(is_shown).map(as_received).collect());
        let [bbo, told] = shown(arguments);
        assert_same(tops, &bbo, "best prices");
        assert_same(trades, &told, "trades");
    }
}

#[test]
fn a_python_subscriber_has_them_too() {
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/market_peer.py");
    another_vendor_has_them(10, |domain| {
        let mut command = Command::new(&python);
        command.arg(&script).arg(domain.to_string());
        command
    });
}

/// Builds the subscriber of `peers/fastdds`.
fn fast_dds() -> Option<PathBuf> {
    let is_there = |command: &str, arguments: &[&str]| {
        let mut command = Command::new(command);
        let command = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let header = "fastdds/dds/topic/TopicDataType.hpp";
    let include = ["-fsyntax-only", "-x", "c++", "-include", header, "/dev/null"];
    if !is_there("fastddsgen", &["-version"]) || !is_there("c++", &include) {
        let why = "no fastddsgen, no headers of Fast DDS 2 (Debian: fastddsgen, libfastrtps-dev) or no C++ compiler";
        skip(Need::Peers, why);
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/fastdds");
    let status = Command::new("sh").arg(folder.join("build.sh")).status().expect("it starts");
    assert!(status.success(), "the peer does not build");
    Some(folder.join("target/subscriber"))
}

#[test]
fn a_fast_dds_subscriber_has_them_too() {
    let Some(program) = fast_dds() else { return };
    another_vendor_has_them(60, |domain| {
        let mut command = Command::new(&program);
        command.arg(domain.to_string());
        command
    });
}

#[test]
fn any_template_is_published_and_shown() {
    let Some(capture) = shared("cme_2012/cme_2012_sampleMD.bin") else { return };
    let templates = capture.with_file_name("templates.xml");
    let (templates, domain) = (templates.display(), domain(20));
    let subscriber = Process::start(
        Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["subscribe", "--show", "--no-echo", "-t", &templates.to_string()])
            .args(["--domain", &domain.to_string()]),
    );
    let file = capture.display();
    let run = tickwire(&format!(
        "publish -t {templates} --framing cme -f {file} --samples templates --no-echo --domain {domain}"
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let samples = lines(&subscriber.output());
    let decoded = tickwire(&format!("decode -t {templates} --framing cme {file} --format jsonl"));
    assert_eq!(samples.len(), decoded.json_lines().len());
}
