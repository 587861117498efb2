//! `tickwire receive` with packets from `tickwire multicast` on loopback.

#[path = "support/receiving.rs"]
mod receiving;
mod support;

use receiving::Receiving;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use support::{directory, shared, tickwire};

/// Long enough for the delays of a busy machine.
const HOLD: &str = "--hold 2s";

/// A group that only this process uses.
fn group(port: u16) -> String {
    format!("-a {} -p {port}", address())
}

fn address() -> Ipv4Addr {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    Ipv4Addr::new(239, 253, high, low)
}

fn run(arguments: &str) -> Value {
    let run = tickwire(arguments);
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
    serde_json::from_str(&run.out).unwrap_or(Value::Null)
}

fn generate(directory: &Path, what: &str) {
    let d = directory.display();
    run(&format!("generate {what} -o {d}/f.bin --write-templates {d}/f.xml"));
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {value}"))
}

#[test]
fn lossy_lines_and_snapshots_give_true_books() {
    lossy_lines_and_snapshots("automatic", 22_000);
}

#[test]
fn generated_code_gives_true_books_of_lossy_lines_and_snapshots() {
    lossy_lines_and_snapshots("generated", 22_004);
}

/// Uses three ports from `port` on.
fn lossy_lines_and_snapshots(engine: &str, port: u16) {
    let d = directory(&format!("receive-cme-{engine}"));
    let snapshots = d.join("s.bin");
    let generated = format!("cme -n 3000 --framing cme --snapshots {}", snapshots.display());
    generate(&d, &generated);
    let (d, snapshots, group) = (d.display(), snapshots.display(), group(port));
    let snapshot_port = port + 2;
    let beside = format!("--snapshot-group {} --snapshot-port {snapshot_port}", address());
    let receiving = Receiving::start(
        &[],
        &format!(
            "-t {d}/f.xml --framing cme {group} --line-b {beside} --first 1 {HOLD} --idle 3s \
             --engine {engine}"
        ),
        3,
    );
    let sent = run(&format!(
        "multicast -f {d}/f.bin {group} --line-b --snapshots {snapshots} {beside} -s 100 --loss 3 \
         --duplicate 5 --reorder 5 --json -"
    ));
    // Snapshots are sent cyclically: one more cycle follows here, after every gap was declared lost.
    run(&format!("multicast -f {snapshots} -a {} -p {snapshot_port} -s 20000 --json -", address()));
    let received = receiving.finish();
    assert_eq!(count(&sent, "/lines/0/taken"), 3000);
    let (messages, missing) = (count(&received, "/messages"), count(&received, "/missing"));
    assert_eq!(messages + missing, 3000, "{received}");
    assert!(missing < 30 && count(&sent, "/lines/0/lost") > 30, "{received}");
    assert_eq!(count(&received, "/undecodable"), 0);
    assert_eq!(count(&received, "/books/mismatches"), 0);
    assert!(count(&received, "/books/verified") > 100, "{received}");
    assert_eq!(count(&received, "/books/fresh"), count(&received, "/books/known"));
    for line in 0..2 {
        let sent = count(&sent, &format!("/lines/{line}/sent"));
        assert_eq!(count(&received, &format!("/lines/{line}/received")), sent);
        assert_eq!(count(&received, &format!("/lines/{line}/late")), 0);
    }
    assert_eq!(received["end"], "idle");
}

#[test]
fn numbers_inside_messages_are_found_and_done_ends_it() {
    for (feed, engine, port) in [
        ("simple", "portable", 22_010),
        ("simple", "generated", 22_012),
        ("complex", "generated", 22_014),
        ("complex", "automatic --tier-up eager", 22_016),
    ] {
        let d = directory(&format!("receive-{feed}-{port}"));
        generate(&d, &format!("{feed} -n 3000"));
        let (d, group) = (d.display(), group(port));
        let arguments = format!("-t {d}/f.xml --reset packet {group} --line-b --first 1 {HOLD}");
        let arguments = format!("{arguments} --engine {engine}");
        let books = if feed == "simple" { "--books none" } else { "--depth 5" };
        let receiving = Receiving::start(&[], &format!("{arguments} {books}"), 2);
        run(&format!(
            "multicast -f {d}/f.bin {group} --line-b -s 100 --reorder 5 --duplicate 5 --delay 0,300us \
             --json -"
        ));
        let received = receiving.finish();
        assert_eq!(count(&received, "/messages"), 3_001, "{received}");
        assert_eq!((count(&received, "/missing"), &received["end"]), (0, &"done".into()));
    }
}

#[test]
fn blocks_in_fixt_messages_are_encoded_sent_and_received() {
    let d = directory("receive-step");
    generate(&d, "simple -n 500");
    let (d, group) = (d.display(), group(22_060));
    let decoded = tickwire(&format!("decode {d}/f.bin -t {d}/f.xml --reset packet"));
    assert_eq!(decoded.status, 0, "{}", decoded.err);
    std::fs::write(format!("{d}/lines.jsonl"), &decoded.out).expect("written");
    run(&format!(
        "encode {d}/lines.jsonl -t {d}/f.xml --framing szse-step --output-format u32be -o {d}/step.bin"
    ));
    let arguments = format!("-t {d}/f.xml --framing szse-step {group} --books none");
    let receiving = Receiving::start(&[], &arguments, 1);
    run(&format!("multicast -f {d}/step.bin {group} -s 100 --json -"));
    let received = receiving.finish();
    assert_eq!(count(&received, "/messages"), 501, "{received}");
    assert_eq!((count(&received, "/missing"), &received["end"]), (0, &"done".into()));
    assert_eq!(count(&received, "/lines/0/malformed"), 0, "{received}");
}

#[test]
fn real_lines_a_and_b_with_their_snapshots() {
    let Some(a) = shared("corpus/moex_forts/moex_forts_2013.increment_a.bin") else { return };
    let templates = a.with_file_name("templates.xml");
    let b = a.with_file_name("moex_forts_2013.increment_b.bin");
    let snapshots = a.with_file_name("moex_forts_2013.snapshot.bin");
    let group = group(22_020);
    let receiving = Receiving::start(
        &[],
        &format!(
            "-t {} --framing moex-forts {group} --line-b --snapshots --depth 5 {HOLD} --idle 3s",
            templates.display()
        ),
        3,
    );
    run(&format!(
        "multicast -f {} --file-b {} --snapshots {} --snapshot-every 1 {group} -s 100 --loss 1 --json -",
        a.display(),
        b.display(),
        snapshots.display()
    ));
    let received = receiving.finish();
    let (packets, missing) = (count(&received, "/packets"), count(&received, "/missing"));
    let all = 490_838 - 482_727 + 1;
    assert!(
        (all - 60..=all).contains(&(packets + missing)),
        "ends lost on A or B alone: {received}"
    );
    assert!(missing < 80 && count(&received, "/books/mismatches") == 0, "{received}");
    assert_eq!((count(&received, "/undecodable"), count(&received, "/books/known")), (0, 11));
}

#[test]
fn metrics_are_served_while_it_runs_and_ctrl_c_ends_it() {
    let d = directory("receive-metrics");
    generate(&d, "cme -n 200 --framing cme");
    let (d, group) = (d.display(), group(22_030));
    let arguments = format!("-t {d}/f.xml --framing cme {group} --metrics 0 --measure-every 1");
    let mut receiving = Receiving::start(&[], &arguments, 1);
    let line = receiving.wait_for("metrics at http://", 1);
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.expect("an address").to_owned();
    run(&format!("multicast -f {d}/f.bin {group} -s 50 --json -"));
    let line = "{feed=\"incremental\",line=\"a\"}";
    let published = [
        format!("tickwire_net_received_packets_total{line} 200\n"),
        format!("tickwire_feed_first_packets_total{line} 200\n"),
        "tickwire_decode_messages_total{} 200\n".to_owned(),
        "tickwire_decode_time_seconds_count{} 200\n".to_owned(),
        format!("tickwire_feed_line_age_seconds{line} "),
        "tickwire_feed_heartbeat_interval_seconds{} 30.0\n".to_owned(),
        format!("tickwire_feed_old_epoch_packets_total{line} 0\n"),
        "tickwire_feed_sequence_resets_total{} 0\n".to_owned(),
        "tickwire_feed_market_events_total{kind=\"trade\"} ".to_owned(),
        "tickwire_book_broken_books_total{} 0\n".to_owned(),
        "tickwire_book_fresh_books{} ".to_owned(),
        "tickwire_book_stale_books{reason=\"no_snapshot\"} ".to_owned(),
        "tickwire_book_stale_books{reason=\"silence\"} 0\n".to_owned(),
        "tickwire_net_clock_steps_total{} ".to_owned(),
        "tickwire_record_lost_datagrams_total{} 0\n".to_owned(),
    ];
    // Metrics are published one at a time, so a scrape may contain the new value of one and the old
    // value of another.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut stream = TcpStream::connect(&address).expect("served");
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        if published.iter().all(|line| text.contains(line)) {
            assert_names_are_standard(&text);
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
    }
    receiving.interrupt();
    assert_eq!(receiving.finish()["end"], "signal");
}

/// Names are snake case and counters end in `_total`, as Prometheus recommends; each has a help text.
fn assert_names_are_standard(text: &str) {
    let is_snake = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a name and a kind");
        assert!(name.starts_with("tickwire_") && is_snake(name), "{name}");
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        let is_total =
            [" ", "{"].iter().any(|next| text.contains(&format!("\n{name}_total{next}")));
        assert_eq!(is_total, kind == "counter", "{name} {kind}");
    }
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let d = directory("receive-mistakes");
    generate(&d, "complex -n 10");
    let bare = br#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    support::file(&d, "bare.xml", bare);
    let d = d.display();
    for (arguments, expected) in [
        (format!("-t {d}/f.xml --seq-num 9999"), "--seq-num: no template has 9999"),
        (format!("-t {d}/bare.xml --line-b"), "without sequence numbers"),
        (format!("-t {d}/f.xml -p 65535 --line-b"), "name one with --port-b"),
        (format!("-t {d}/f.xml --packet-max 65536"), "--packet-max"),
        (format!("-t {d}/f.xml --held-max 2000000"), "--held-max"),
        (format!("-t {d}/f.xml --depth 0"), "--depth"),
        (format!("-t {d}/none.xml"), "cannot open"),
        (format!("-t {d}/bare.xml --engine generated"), "no code is built in for"),
        (format!("-t {d}/f.xml --log nonsense=what"), "--log:"),
        (format!("-t {d}/f.xml --metrics nowhere"), "a port, such as 9100"),
    ] {
        let run = tickwire(&format!("receive {arguments}"));
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    }
    assert_eq!(tickwire("receive -?").status, 0);
}
