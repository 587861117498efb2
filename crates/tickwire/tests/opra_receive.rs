//! `tickwire opra receive`: prints lines from sockets like `opra decode` prints their captures.

mod support;

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use support::{directory, tickwire};
use tickwire_net::multicast::{Endpoint, Sender, SenderOptions};

/// A group that only this process and this side use.
fn group(side: u8) -> Ipv4Addr {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    Ipv4Addr::new(239, 200 + side, high, low)
}

/// A running command, listening.
struct Receiving {
    child: Child,
    stderr: BufReader<ChildStderr>,
    log: String,
}

impl Receiving {
    fn start(arguments: &str, sockets: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["opra", "receive", "--log", "info"])
            .args(arguments.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut log = String::new();
        for _ in 0..sockets {
            let listening = log.matches(" on 127.0.0.1").count();
            while log.matches(" on 127.0.0.1").count() == listening {
                assert!(stderr.read_line(&mut log).expect("readable") > 0, "it ended: {log}");
            }
        }
        Self { child, stderr, log }
    }

    /// Waits for the end and returns status, output and log.
    fn finish(mut self) -> (i32, String, String) {
        let mut out = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("UTF-8");
        self.stderr.read_to_string(&mut self.log).expect("UTF-8");
        let status = self.child.wait().expect("it ends");
        (status.code().unwrap_or(-1), out, std::mem::take(&mut self.log))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // It may still run if a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn generate(path: &Path, seed: u64) {
    let run =
        tickwire(&format!("opra generate -o {} --messages 2000 --seed {seed}", path.display()));
    assert_eq!(run.status, 0, "{}", run.err);
}

/// A line of `opra decode` without its leading position.
fn without_place(line: &str) -> String {
    let (_, fields) = line.split_once("\"cat\": ").expect("a category");
    format!("{{\"cat\": {fields}")
}

/// The output of `opra decode` for a trace.
fn decoded(path: &Path) -> Vec<String> {
    let run = tickwire(&format!("opra decode {} -q", path.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    run.out.lines().map(without_place).collect()
}

#[test]
fn two_lines_with_lossy_sides_are_printed_whole_and_recorded() {
    let directory = directory("opra-receive");
    let records = directory.join("records");
    // Files of an earlier run.
    let _ = std::fs::remove_dir_all(&records);
    let (a, b) = (group(0), group(1));
    let receiving = Receiving::start(
        &format!(
            "-a {a} --group-b {b} --lines 2 --first-port-a 24101 --first-port-b 24201 --hold 5s \
             --idle 1500ms --record {}",
            records.display()
        ),
        4,
    );
    let mut expected = Vec::new();
    for line in 0..2_u16 {
        let trace = directory.join(format!("trace-{line}"));
        generate(&trace, u64::from(line) + 1);
        expected.push(decoded(&trace));
        let run = tickwire(&format!(
            "multicast -f {} -a {a} -p {} --group-b {b} --port-b {} -s 100 --loss 5,0 --duplicate 5 \
             --json -",
            trace.display(),
            24_101 + line,
            24_201 + line
        ));
        assert_eq!(run.status, 0, "{}", run.err);
    }
    let (status, out, log) = receiving.finish();
    assert_eq!(status, 0, "{log}");
    // The packets of one OPRA line arrived after those of the other.
    let printed: Vec<&str> = out.lines().collect();
    assert_eq!(printed, expected.concat().iter().map(String::as_str).collect::<Vec<_>>());
    assert!(log.contains("; 0 gaps of 0 messages"), "{log}");
    assert!(log.contains(" 4000 messages; 0 errors, 0 warnings"), "{log}");

    let record = records.join("record-000001.pcapng");
    let replayed = tickwire(&format!(
        "opra decode {} --lines 2 --first-port-a 24101 --first-port-b 24201 --hold 5s -q",
        record.display()
    ));
    assert_eq!(replayed.status, 0, "{}", replayed.err);
    let replayed: Vec<String> = replayed.out.lines().map(without_place).collect();
    assert!(replayed.iter().eq(out.lines()));
}

#[test]
fn gaps_are_told_and_packets_that_cannot_be_decoded_are_status_1() {
    let directory = directory("opra-receive-bad");
    let trace = directory.join("trace");
    generate(&trace, 7);
    let whole = std::fs::read(&trace).expect("readable");
    let mut packets = Vec::new();
    let mut rest = &whole[..];
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let (packet, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
        packets.push(packet.to_vec());
        rest = behind;
    }
    for (port, bad, expected) in [(24_301, false, 0), (24_302, true, 1)] {
        let a = group(0);
        let arguments = format!("-a {a} --first-port-a {port} --hold 20ms --idle 1s");
        let receiving = Receiving::start(&arguments, 1);
        let endpoint = Endpoint::loopback(a, port);
        let sender = Sender::open(endpoint, SenderOptions::default()).expect("opened");
        for (index, packet) in packets.iter().enumerate().take(20) {
            match index {
                10 => continue,
                15 if bad => sender.send(&packet[..packet.len() - 8]).expect("sent"),
                _ => sender.send(packet).expect("sent"),
            }
        }
        let (status, out, log) = receiving.finish();
        assert_eq!(status, expected, "{log}");
        assert!(log.contains("are missing on both sides"), "{log}");
        assert!(log.contains("; 1 gap of ") && out.lines().count() > 50, "{log}");
        assert!(!bad || log.contains(" 1 error"), "{log}");
    }
}

#[test]
fn mistakes_are_told() {
    let run = tickwire("opra receive -a 239.1.1.1 --lines 2 --first-port-a 65535");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("line 2 has no port: 65535 is too high"), "{}", run.err);
}

#[test]
fn best_prices_trades_and_events_of_series_are_shown() {
    let directory = directory("opra-receive-show");
    let trace = directory.join("trace");
    generate(&trace, 3);
    let messages: Vec<serde_json::Value> =
        decoded(&trace).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of_category = |code: &str| messages.iter().filter(|message| message["cat"] == code).count();
    let (quotes, sales) = (of_category("k"), of_category("a"));
    assert!(quotes > 100 && sales > 0, "{quotes} quotes, {sales} sales: {}", messages[0]);
    let a = group(0);
    let arguments =
        format!("-a {a} --first-port-a 24401 --idle 1s --show bbo,trades,events --format jsonl");
    let refused = tickwire(&format!("opra receive {arguments}"));
    assert_eq!(refused.status, 2, "market events have one form: {}", refused.err);
    let arguments = arguments.replace(" --format jsonl", "");
    let receiving = Receiving::start(&arguments, 1);
    let run =
        tickwire(&format!("multicast -f {} -a {a} -p 24401 -s 50us --json -", trace.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    let (status, out, log) = receiving.finish();
    assert_eq!(status, 0, "{log}");
    let lines: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!(of("trade"), sales);
    let prices: Vec<_> = lines.iter().filter(|line| line["event"].is_null()).collect();
    assert!(!prices.is_empty() && prices.len() <= quotes, "{} of {quotes}", prices.len());
    let expected = ["time", "instrument", "state", "reason", "kind", "bid", "offer"];
    for line in &prices {
        let members: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(members, expected);
        assert!(line["time"].as_u64() > Some(1_000_000_000_000_000_000), "{line}");
        assert_eq!(line["state"] == "fresh", line["reason"].is_null(), "{line}");
    }
    // The same output from the capture, whose packets have no times.
    let captured =
        tickwire(&format!("opra decode {} --show bbo,trades,events -q", trace.display()));
    assert_eq!(captured.status, 0, "{}", captured.err);
    let without_time = |mut line: serde_json::Value| {
        line.as_object_mut().expect("an object").remove("time");
        line
    };
    let captured: Vec<_> = captured.json_lines().into_iter().map(without_time).collect();
    assert_eq!(captured, lines.iter().cloned().map(without_time).collect::<Vec<_>>());
    let fresh = prices.iter().filter(|line| line["state"] == "fresh").count();
    assert!(of("fresh") > 0 && fresh >= of("fresh"), "{fresh} of {}", of("fresh"));
}

#[test]
fn counters_of_lines_are_served_while_it_runs() {
    let directory = directory("opra-metrics");
    let trace = directory.join("trace");
    generate(&trace, 7);
    let a = group(5);
    let out = directory.join("out.jsonl");
    let arguments = format!(
        "-a {a} --lines 2 --first-port-a 24501 --metrics 0 --idle 30s --messages 4000 --force -o {}",
        out.display()
    );
    let mut receiving = Receiving::start(&arguments, 2);
    let address = loop {
        if let Some((_, rest)) = receiving.log.split_once("metrics at http://") {
            break rest.split('/').next().expect("an address").to_owned();
        }
        assert!(receiving.stderr.read_line(&mut receiving.log).expect("readable") > 0);
    };
    let send = |port: u16| {
        let trace = trace.display();
        let run = tickwire(&format!("multicast -f {trace} -a {a} -p {port} -s 100 --json -"));
        assert_eq!(run.status, 0, "{}", run.err);
    };
    send(24501);
    let wanted = [
        "tickwire_opra_decoded_messages_total{channel=\"1\"} 2000\n",
        "tickwire_opra_decoded_messages_total{channel=\"2\"} 0\n",
        "tickwire_opra_failed_packets_total{channel=\"1\"} 0\n",
        "tickwire_opra_unnumbered_packets_total{channel=\"1\"} 0\n",
        "tickwire_opra_rejected_packets_total{channel=\"2\"} 0\n",
        "tickwire_feed_declared_gaps_total{channel=\"1\"} 0\n",
        "tickwire_feed_line_age_seconds{channel=\"2\",feed=\"incremental\",line=\"a\"} ",
        "tickwire_net_clock_steps_total{} ",
    ];
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut stream = TcpStream::connect(&address).expect("served");
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        if wanted.iter().all(|line| text.contains(line)) {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
    }
    // The second line delivers the last message before the end.
    send(24502);
    assert_eq!(receiving.finish().0, 0);
}

/// A row or a sample of best prices, without its time: instrument, why stale, bid and offer.
fn best_prices(row: &Value) -> [Value; 4] {
    ["instrument", "reason", "bid", "offer"].map(|name| row[name].clone())
}

#[test]
fn best_prices_trades_and_status_are_published() {
    let directory = directory("opra-publish");
    let trace = directory.join("trace");
    generate(&trace, 3);
    let channels = format!("/dev/shm/tickwire-opra-{}", std::process::id());
    let at = format!("--transport shm --shm-directory {channels}");
    let subscriber = subscribe(&at);
    let a = group(6);
    // It listens once the subscriber is connected.
    let receiving = Receiving::start(
        &format!(
            "-a {a} --first-port-a 24601 --idle 1s --hold 1ms --show bbo,trades --publish --source-name opra \
             --subscribers 1 --patience 30s {at}"
        ),
        1,
    );
    let run = tickwire(&format!(
        "multicast -f {} -a {a} -p 24601 -s 50us --loss 5 --json -",
        trace.display()
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let (status, out, log) = receiving.finish();
    assert_eq!(status, 0, "{log}");
    let received = subscriber.wait_with_output().expect("it ends");
    let _ = std::fs::remove_dir_all(&channels);
    assert!(received.status.success(), "nothing is lost: {received:?}");
    let received = String::from_utf8(received.stdout).expect("UTF-8");
    let stale = assert_published(&out, &received);
    assert!(stale > 0, "packets were lost");
    for sample in received.lines() {
        let sample: Value = serde_json::from_str(sample).expect("JSON");
        assert!(sample["time"].as_u64() > Some(1_000_000_000_000_000_000), "{sample}");
    }
}

#[test]
fn an_output_into_which_nothing_would_be_written_is_refused() {
    let directory = directory("opra-publish-output");
    let (trace, out) = (directory.join("trace.pcap"), directory.join("out"));
    generate(&trace, 1);
    let run = tickwire(&format!("opra decode {} --publish -o {}", trace.display(), out.display()));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("add --show"), "{}", run.err);
    assert!(!out.exists());
}

#[test]
fn captured_lines_are_published() {
    let directory = directory("opra-publish-capture");
    let trace = directory.join("trace.pcap");
    generate(&trace, 3);
    let channels = format!("/dev/shm/tickwire-opra-capture-{}", std::process::id());
    let at = format!("--transport shm --shm-directory {channels}");
    let subscriber = subscribe(&at);
    // Small rings: a capture is published as fast as subscribers read. Their output must be read at the
    // same time, so that they do not block.
    let received = std::thread::spawn(|| subscriber.wait_with_output().expect("it ends"));
    let run = tickwire(&format!(
        "opra decode {} --show bbo,trades --publish --source-name opra --patience 30s {at} --shm-ring 16KiB",
        trace.display()
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("samples published, 0 dropped"), "{}", run.err);
    let received = received.join().expect("no panic");
    let _ = std::fs::remove_dir_all(&channels);
    assert!(received.status.success(), "nothing is lost: {received:?}");
    assert_published(&run.out, &String::from_utf8(received.stdout).expect("UTF-8"));

    let silent =
        tickwire(&format!("opra decode {} --publish --subscribers 0 {at}", trace.display()));
    assert_eq!((silent.status, silent.out.as_str()), (0, ""), "{}", silent.err);
    let refused = tickwire(&format!("opra decode {} --publish --format csv", trace.display()));
    assert_eq!(refused.status, 2, "{}", refused.err);
    let _ = std::fs::remove_dir_all(&channels);
}

/// Starts a subscriber of the topics to which OPRA lines are published.
fn subscribe(at: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["subscribe", "--show", "--no-echo", "--topic", "BookTop,Trade,Status"])
        .args(at.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts")
}

/// Checks that what a subscriber printed is what `--show bbo,trades` printed. Returns the number of stale best prices.
fn assert_published(shown: &str, received: &str) -> usize {
    let parsed = |text: &str| -> (Vec<Value>, Vec<Value>) {
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        rows.partition(|row| row["event"] == "trade")
    };
    let (sales, tops) = parsed(shown);
    let (trades, samples) = parsed(received);
    let is_of_line = |sample: &Value| sample["source"] == "opra" && sample["channel"] == "1";
    assert!(samples.iter().chain(&trades).all(is_of_line));

    // Best prices that equal the previous ones are shown but not published.
    let (mut shown, mut published) = (Vec::new(), Vec::new());
    let mut last = HashMap::new();
    for row in &tops {
        let top = best_prices(row);
        if last.insert(top[0].to_string(), top.clone()).as_ref() != Some(&top) {
            shown.push(top);
        }
    }
    for sample in samples.iter().filter(|sample| sample["topic"] == "BookTop") {
        published.push(best_prices(sample));
    }
    assert_eq!(shown, published);
    let stale = published.iter().filter(|top| top[1] == "gap").count();
    assert!(published.len() > 100, "{}", published.len());
    let sale = |row: &Value| {
        ["instrument", "action", "price", "size", "exchange_time", "time"]
            .map(|name| row[name].clone())
    };
    assert!(sales.len() > 10);
    assert_eq!(
        sales.iter().map(sale).collect::<Vec<_>>(),
        trades.iter().map(sale).collect::<Vec<_>>()
    );
    stale
}
