//! `tickwire publish` and `tickwire subscribe` as processes, some of them killed.
#![cfg(feature = "dds")]

#[path = "support/bus.rs"]
mod bus;
mod support;

use bus::{PATIENCE, Place, Process, json, sum};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::tickwire;
use tickwire_exchange::{Generator, Options};
use tickwire_net::multicast::{Sender, SenderOptions};

/// Time for writers and readers of two processes to match, even on a busy machine.
const MEETING: Duration = Duration::from_secs(4);

fn sent(generator: &mut Generator, count: usize, lines: &[&Sender]) -> u64 {
    let mut messages = 0;
    for _ in 0..count {
        let Some(packet) = generator.next_packet().expect("a packet") else { break };
        messages += packet.messages.len() as u64;
        for line in lines {
            line.send(&packet.bytes).expect("sent");
        }
    }
    messages
}

#[test]
fn every_sample_of_a_file_arrives_once_and_is_echoed() {
    for (test, feed, topics) in
        [(0, "simple", "keyed"), (1, "complex", "keyed"), (2, "complex", "security")]
    {
        let place = Place::new(test);
        let (packets, templates) = place.feed(feed, "-n 3000");
        let (published, received) = (place.file("published.json"), place.file("received.json"));
        let subscriber =
            place.subscribe(&format!("--topics {topics} --json {}", received.display()));
        let publisher = Process::start(&format!(
            "publish -t {} -f {} --reset packet --domain {} --topics {topics} --json {}",
            templates.display(),
            packets.display(),
            place.domain,
            published.display()
        ));
        assert_eq!(publisher.finish(), 0);
        assert_eq!(subscriber.finish(), 0);
        let (published, received) = (json(&published), json(&received));
        assert_eq!(sum(&published, "messages"), 3001);
        assert!(sum(&published, "published") >= 3000);
        assert_eq!(sum(&published, "published"), sum(&received, "received"));
        assert_eq!(published["samples"], received["publishers"][0]["samples"]);
        assert_eq!(sum(&received, "lost"), 0);
        assert_eq!(sum(&received, "duplicates"), 0);
        assert_eq!(sum(&published, "echoes"), sum(&published, "published"));
        assert_eq!(published["ended"], "done");
    }
}

#[test]
fn a_subscriber_outlives_its_publisher_and_hears_the_next_one() {
    let place = Place::new(3);
    let (_, templates) = place.feed("simple", "-n 1");
    let received = place.file("received.json");
    let subscriber = place.subscribe(&format!("--no-echo --json {}", received.display()));
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    let b = Sender::open(place.b, SenderOptions::default()).expect("a sender");

    let first = place.publish_lines(&templates, "--no-echo --subscribers 1");
    let options = Options { messages: 50_000, messages_per_packet_max: 1, ..Options::simple() };
    let mut generator = Generator::new(&options).expect("a generator");
    sent(&mut generator, 500, &[&a, &b]);
    first.kill();

    let published = place.file("published.json");
    let second = place.publish_lines(
        &templates,
        &format!("--no-echo --subscribers 1 --json {}", published.display()),
    );
    let rest = Options { messages: 700, messages_per_packet_max: 1, ..Options::simple() };
    let messages = sent(&mut Generator::new(&rest).expect("a generator"), 701, &[&a, &b]);
    let status = second.finish();
    assert_eq!(status, 0, "{:#}", json(&published));
    assert_eq!(subscriber.finish(), 1, "what the killed one lost is unknown");
    let (published, received) = (json(&published), json(&received));
    assert_eq!(received["lost"], Value::Null, "{received:#}");
    // A writer that is killed before it matches the reader delivers nothing and may be noticed late, so the
    // number of samples from it is unknown.
    let publishers = received["publishers"].as_array().expect("publishers");
    let (done, killed): (Vec<_>, Vec<_>) =
        publishers.iter().partition(|publisher| publisher["ended"] == "done");
    let ([last], [killed]) = (&done[..], &killed[..]) else { panic!("{received:#}") };
    assert_eq!((&killed["ended"], &killed["lost"]), (&Value::Null, &Value::Null), "{received:#}");
    assert_eq!(sum(killed, "duplicates"), 0);
    assert_eq!(sum(&published, "messages"), messages);
    assert_eq!(sum(&published, "first_seq_num"), 1);
    assert_eq!(sum(&published, "gaps"), 0);
    assert_eq!(sum(last, "received"), 700);
    assert_eq!(sum(last, "lost"), 0);
    assert_eq!(sum(last, "duplicates"), 0);
}

#[test]
fn a_publisher_outlives_its_subscriber_and_the_next_one_gets_last_values() {
    let place = Place::new(4);
    let (_, templates) = place.feed("complex", "-n 1");
    let published = place.file("published.json");
    let early = place.subscribe("--no-echo --lease 1s");
    let publisher = place.publish_lines(
        &templates,
        &format!("--no-echo --subscribers 1 --json {}", published.display()),
    );
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    // Far fewer samples per security than a writer keeps: what the late subscriber has not acknowledged is not overwritten.
    let options = Options { messages: 2_000, securities: 200, ..Options::complex() };
    let mut generator = Generator::new(&options).expect("a generator");
    sent(&mut generator, 1_000, &[&a]);
    early.kill();
    sent(&mut generator, 500, &[&a]);

    // Most securities have had market data by now, so there are many last values.
    let received = place.file("received.json");
    let late = place.subscribe(&format!("--no-echo --json {}", received.display()));
    sent(&mut generator, 600, &[&a]);
    let statuses = (publisher.finish(), late.finish());
    let (published, received) = (json(&published), json(&received));
    assert_eq!(statuses, (0, 0), "what was written before it came is not lost: {received:#}");
    assert_eq!(sum(&received, "lost"), 0);
    let (last_values, written) = (sum(&received, "last_values"), sum(&published, "published"));
    assert!(last_values > 0, "{received:#}");
    assert!(sum(&received, "received") < written, "{received:#}");
    // Only live samples are timed.
    let timed = received["latencies"][0]["count"].as_u64().unwrap_or(0);
    assert_eq!(timed + last_values, sum(&received, "received"), "{received:#}");
    assert_eq!(sum(&published, "messages"), 2_001);
    assert_eq!(sum(&published, "dropped"), 0);
    let samples = &received["publishers"][0]["samples"];
    assert!(sum(samples, "MarketData") >= 20, "{received:#}");
    assert_eq!(sum(&received, "duplicates"), 0);
}

/// Sends a feed on both lines, one packet every half millisecond, and Done once `is_over` is set.
fn endless(place: &Place, is_over: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let lines = [place.a, place.b]
        .map(|line| Sender::open(line, SenderOptions::default()).expect("a sender"));
    std::thread::spawn(move || {
        let options =
            Options { messages: 10_000_000, messages_per_packet_max: 1, ..Options::simple() };
        let mut generator = Generator::new(&options).expect("a generator");
        while !is_over.load(Ordering::Relaxed) {
            sent(&mut generator, 1, &[&lines[0], &lines[1]]);
            std::thread::sleep(Duration::from_micros(500));
        }
        let last = Options { messages: 0, ..Options::simple() };
        sent(&mut Generator::new(&last).expect("a generator"), 1, &[&lines[0], &lines[1]]);
    })
}

#[test]
fn killed_at_any_moment_and_started_again_both_sides_find_each_other() {
    let place = Place::new(9);
    let (_, templates) = place.feed("simple", "-n 1");
    let (published, received) = (place.file("published.json"), place.file("received.json"));
    let subscribe =
        || place.subscribe(&format!("--no-echo --lease 1s --json {}", received.display()));
    let publish = || {
        let json = published.display();
        place.publish_lines(
            &templates,
            &format!("--no-echo --subscribers 1 --lease 1s --json {json}"),
        )
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let exchange = endless(&place, is_over.clone());
    let (mut subscriber, mut publisher) = (subscribe(), publish());
    let mut random = fastrand::Rng::new();
    for round in 0..6 {
        // The kill must happen at a random moment.
        std::thread::sleep(Duration::from_millis(random.u64(..256)));
        if round % 2 == 0 {
            publisher.kill();
            publisher = publish();
        } else {
            subscriber.kill();
            subscriber = subscribe();
        }
    }
    is_over.store(true, Ordering::Relaxed);
    exchange.join().expect("sent");
    let status = publisher.finish();
    assert_eq!(status, 0, "{:#}", json(&published));
    assert!(subscriber.finish() <= 1, "1 where it met a killed publisher");
    let (published, received) = (json(&published), json(&received));
    assert_eq!(published["ended"], "done");
    assert_eq!(sum(&published, "dropped"), 0);
    assert_eq!(sum(&received, "duplicates"), 0);
    assert!(sum(&received, "received") > 0, "{received:#}");
    assert_eq!(received["publishers"].as_array().map(Vec::len), Some(1), "{received:#}");
}

#[test]
fn foreign_datagrams_and_wrong_packets_are_counted_and_harm_nothing() {
    let place = Place::new(5);
    let (_, templates) = place.feed("simple", "-n 1");
    let (published, received) = (place.file("published.json"), place.file("received.json"));
    let subscriber = place.subscribe(&format!("--no-echo --json {}", received.display()));
    let publisher = place.publish_lines(
        &templates,
        &format!("--no-echo --subscribers 1 --json {}", published.display()),
    );
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    let b = Sender::open(place.b, SenderOptions::default()).expect("a sender");
    let options = Options { messages: 1_000, messages_per_packet_max: 4, ..Options::simple() };
    let mut generator = Generator::new(&options).expect("a generator");
    let (mut number, mut cut) = (0_u32, 0);
    while let Some(packet) = generator.next_packet().expect("a packet") {
        // Random bytes, and a message of an unknown template.
        let noise: Vec<u8> =
            (0..number % 60).map(|n| (n * 73 + number * 31) as u8 & 0x7f).collect();
        b.send(&noise).expect("sent");
        b.send(&[0xc0, 0xc8, 0x81]).expect("sent");
        // Some packets are truncated in the middle of their last message.
        let is_cut = number % 10 == 5;
        cut += u64::from(is_cut);
        a.send(&packet.bytes[..packet.bytes.len() - usize::from(is_cut)]).expect("sent");
        number += 1;
    }
    assert_eq!(publisher.finish(), 0);
    assert_eq!(subscriber.finish(), 0);
    let (published, received) = (json(&published), json(&received));
    assert_eq!(sum(&received, "lost"), 0);
    assert_eq!(sum(&received, "duplicates"), 0);
    assert_eq!(sum(&published, "published"), 1_000 - cut);
    assert!(sum(&published["lines"][1], "no_seq_num") > u64::from(number), "{published:#}");
    assert!(sum(&published, "faults") >= cut, "{published:#}");
}

#[test]
fn metrics_tell_of_samples_written_and_received() {
    let place = Place::new(10);
    let (packets, templates) = place.feed("simple", "-n 1000");
    let free = || {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        socket.local_addr().expect("an address").port()
    };
    let port = free();
    let _subscriber = place.subscribe(&format!("--stay --metrics {port}"));
    let publisher = Process::start(&format!(
        "publish -t {} -f {} --reset packet --domain {}",
        templates.display(),
        packets.display(),
        place.domain
    ));
    assert_eq!(publisher.finish(), 0);
    let until = Instant::now() + PATIENCE;
    let all = "tickwire_subscribe_received_samples_total{kind=\"Quote\"}";
    let text = loop {
        let text = scrape(port);
        let is_there = text.lines().any(|line| line.starts_with(all) && !line.ends_with(" 0"));
        if is_there && text.contains("tickwire_subscribe_time_seconds_count") {
            break text;
        }
        assert!(Instant::now() < until, "{text}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(text.contains("tickwire_subscribe_duplicate_samples_total{} 0"), "{text}");
    assert!(text.contains("tickwire_process_resident_memory_bytes"), "{text}");
}

/// Returns the metrics that a process serves.
fn scrape(port: u16) -> String {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a server");
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    socket.write_all(request).expect("asked");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("answered");
    text
}

#[test]
fn an_interrupted_publisher_and_subscriber_report_what_they_have() {
    let place = Place::new(6);
    let (_, templates) = place.feed("simple", "-n 1");
    let (published, received) = (place.file("published.json"), place.file("received.json"));
    let mut subscriber = place.subscribe(&format!("--no-echo --json {}", received.display()));
    let publisher = place.publish_lines(
        &templates,
        &format!("--no-echo --subscribers 1 --json {}", published.display()),
    );
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    let options = Options { messages: 300, messages_per_packet_max: 1, ..Options::simple() };
    sent(&mut Generator::new(&options).expect("a generator"), 200, &[&a]);
    std::thread::sleep(Duration::from_millis(500));
    publisher.interrupt();
    publisher.finish();
    let published = json(&published);
    assert_eq!(published["ended"], "stopped");
    assert_eq!(sum(&published, "first_seq_num"), 1);
    std::thread::sleep(Duration::from_millis(800));
    assert!(subscriber.is_running(), "the feed is not done, so another publisher may go on");
    subscriber.interrupt();
    assert_eq!(subscriber.finish(), 0);
    let received = json(&received);
    assert_eq!(received["publishers"][0]["ended"], "stopped", "{received:#}");
    assert_eq!(sum(&received["publishers"][0], "written"), sum(&published, "published"));
    assert_eq!(sum(&received, "lost"), 0);
}

#[test]
fn a_publisher_that_is_gone_is_logged_and_its_loss_is_unknown() {
    let place = Place::new(13);
    let (_, templates) = place.feed("simple", "-n 1");
    let received = place.file("received.json");
    let log = place.file("log");
    let subscriber = place.subscribe_logging(&log, &format!("--json {}", received.display()));
    let publisher = place.publish_lines(&templates, "--subscribers 1 --lease 2s");
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    let options = Options { messages: 300, messages_per_packet_max: 1, ..Options::simple() };
    sent(&mut Generator::new(&options).expect("a generator"), 200, &[&a]);
    // A publisher that ends before the subscriber matches it is not noticed.
    std::thread::sleep(Duration::from_secs(1));
    publisher.kill();
    let until = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&log)
        .expect("a log")
        .contains("disappeared without announcing its end")
    {
        assert!(Instant::now() < until, "it is not logged");
        std::thread::sleep(Duration::from_millis(20));
    }
    subscriber.interrupt();
    assert_eq!(subscriber.finish(), 1);
    let received = json(&received);
    assert_eq!(received["publishers"][0]["ended"], "gone", "{received:#}");
    assert_eq!(received["lost"], Value::Null);
}

#[test]
fn a_subscriber_that_is_stopped_within_the_lease_of_a_killed_publisher_does_not_know_its_loss() {
    let place = Place::new(15);
    let (_, templates) = place.feed("simple", "-n 1");
    let (received, log) = (place.file("received.json"), place.file("log"));
    let subscriber = place.subscribe_logging(&log, &format!("--json {}", received.display()));
    let publisher = place.publish_lines(&templates, "--subscribers 1 --lease 1h");
    let a = Sender::open(place.a, SenderOptions::default()).expect("a sender");
    let options = Options { messages: 300, messages_per_packet_max: 1, ..Options::simple() };
    sent(&mut Generator::new(&options).expect("a generator"), 200, &[&a]);
    std::thread::sleep(Duration::from_secs(1));
    publisher.kill();
    subscriber.interrupt();
    assert_eq!(subscriber.finish(), 1);
    let received = json(&received);
    assert!(sum(&received, "received") > 0, "{received:#}");
    assert_eq!(received["publishers"][0]["ended"], Value::Null, "its lease is not over");
    assert_eq!(received["lost"], Value::Null);
    assert_eq!(sum(&received, "lost_at_least"), 0);
}

#[test]
fn templates_that_do_not_fit_are_told_with_all_their_faults() {
    let place = Place::new(7);
    let (packets, templates) = place.feed("simple", "-n 1");
    let xml = std::fs::read_to_string(&templates).expect("templates");
    let wrong = place.file("wrong.xml");
    std::fs::write(&wrong, xml.replace("\"Volume\"", "\"Size\"")).expect("written");
    let run = tickwire(&format!("publish -t {} -f {}", wrong.display(), packets.display()));
    assert_eq!(run.status, 1);
    for template in ["Quote", "New", "Change"] {
        let told = format!("template {template}: no field Volume; its sample needs one");
        assert!(run.err.contains(&told), "{}", run.err);
    }
    assert!(run.err.contains("wrong.xml"), "{}", run.err);
}

#[test]
fn publish_has_no_options_of_the_snapshots_that_it_does_not_take() {
    let run = tickwire("publish -t x.xml --snapshot-group 239.1.1.1");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("unexpected argument '--snapshot-group'"), "{}", run.err);
}

#[test]
fn a_capture_that_is_not_there_is_told_before_anybody_is_waited_for() {
    let place = Place::new(11);
    let (_, templates) = place.feed("simple", "-n 1");
    let started = Instant::now();
    let options = format!("-f /no/such/file --patience 1h --domain {}", place.domain);
    let run = tickwire(&format!("publish -t {} {options}", templates.display()));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("cannot open /no/such/file"), "{}", run.err);
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn standard_output_is_json_alone_where_the_report_goes_there() {
    let place = Place::new(12);
    let (packets, templates) = place.feed("simple", "-n 10");
    let subscriber = Process::start(&format!("subscribe --domain {} --json -", place.domain));
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --domain {} --json -",
        templates.display(),
        packets.display(),
        place.domain
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let published: Value = serde_json::from_str(&run.out).expect("JSON alone");
    assert_eq!(sum(&published, "published"), 10);
    let text: Vec<String> = subscriber.lines.iter().collect();
    let received: Value = serde_json::from_str(&text.concat()).expect("JSON alone");
    assert_eq!(sum(&received, "received"), 10);
}

#[test]
fn the_empty_builder_decodes_and_publishes_nothing() {
    let place = Place::new(8);
    let (packets, templates) = place.feed("complex", "-n 500");
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet -emptyBuilder",
        templates.display(),
        packets.display()
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("501 messages, 0 samples"), "{}", run.out);
    assert!(run.out.lines().any(|line| line.starts_with("decode ")), "{}", run.out);
    assert!(!run.out.contains("Done token"), "{}", run.out);
}

#[test]
fn a_reception_that_breaks_says_that_it_was_stopped() {
    let place = Place::new(60);
    let (packets, templates) = place.feed("simple", "-n 300");
    let whole = std::fs::read(&packets).expect("the feed");
    std::fs::write(&packets, &whole[..whole.len() - 5]).expect("written");
    let received = place.file("received.json");
    let subscriber = place.subscribe(&format!("--no-echo --json {}", received.display()));
    let run = tickwire(&format!(
        "receive -t {} --capture-line a={} --reset packet -q --publish --domain {}",
        templates.display(),
        packets.display(),
        place.domain
    ));
    assert_ne!(run.status, 0, "the capture is cut: {}{}", run.out, run.err);
    subscriber.interrupt();
    subscriber.finish();
    let report = json(&received);
    assert_eq!(report["publishers"][0]["ended"], "stopped", "{report:#}");
}

#[test]
fn a_publisher_of_other_topics_ends_no_subscriber_and_loses_nothing() {
    let place = Place::new(61);
    let (packets, templates) = place.feed("simple", "-n 300");
    let received = place.file("received.json");
    let options = format!("--no-echo --topic BookTop,Trade --json {}", received.display());
    let mut subscriber = place.subscribe(&options);
    // The feed ends late, because subscribers do not get the totals of a publisher that ends before all its writers
    // and readers have matched. The format is named, because otherwise the publisher joins the domain only after it
    // has detected the format, which here would be at the end of the feed.
    let pipe = place.file("feed.pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let (whole, into) = (std::fs::read(&packets).expect("the feed"), pipe.clone());
    let feed = std::thread::spawn(move || {
        let mut into = File::create(into).expect("the publisher reads");
        let (first, rest) = whole.split_at(whole.len() / 2);
        into.write_all(first).expect("written");
        std::thread::sleep(MEETING);
        into.write_all(rest).expect("written");
    });
    let run = tickwire(&format!(
        "publish -t {} -f {} --input-format u32be --no-echo --subscribers 0 --domain {}",
        templates.display(),
        pipe.display(),
        place.domain
    ));
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    feed.join().expect("the feed was written");
    // Longer than a subscriber waits for samples after the end of its publisher.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(subscriber.is_running());
    subscriber.interrupt();
    let status = subscriber.finish();
    let report = json(&received);
    assert_eq!((status, &report["lost"]), (0, &0.into()), "{report:#}");
}
