//! A publisher and a subscriber in separate processes; one of them is killed and restarted.

mod support;

use std::collections::BTreeSet;
use std::env;
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::{PATIENCE, SILENCE, joined, market_data, next, patient, quote, wire_id};
use tickwire_dds::{MarketData, Participant, Qos, Quote, ReceivedSample};

const ROLE: &str = "TICKWIRE_DDS_TEST_ROLE";
const WIRE: &str = "TICKWIRE_DDS_TEST_WIRE";
const DONE: u32 = u32::MAX;

/// A second process of this test program that plays `role`, killed if the test ends first.
struct Peer(Child);

impl Peer {
    fn start(role: &str, wire: u32) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "plays_the_other_process"])
            .env(ROLE, role)
            .env(WIRE, wire.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn finish(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Fails if the process has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: the other tests start this program again with a role, and that process runs this
/// function.
#[test]
fn plays_the_other_process() {
    let (Ok(role), Ok(wire)) = (env::var(ROLE), env::var(WIRE)) else {
        println!("nothing to play: no test started this process");
        return;
    };
    let participant = joined(0, wire.parse().unwrap());
    match role.as_str() {
        "echo" => echo(&participant),
        "last-values" => publish_last_values(&participant),
        "market-data" => read_market_data(&participant),
        "live-samples" => read_live_samples(&participant),
        _ => panic!("unknown role {role}"),
    }
}

fn echo(participant: &impl Participant) {
    let qos = patient().keep_last(2048);
    let mut back = participant.writer::<Quote>("Back", &qos).unwrap();
    let mut there = participant.reader::<Quote>("There", &qos).unwrap();
    assert!(back.wait_matched(1, PATIENCE).unwrap());
    loop {
        let sample = next(&mut there);
        back.write(&sample).unwrap();
        if sample.order_id == DONE {
            back.wait_acknowledged(PATIENCE).unwrap();
            return;
        }
    }
}

fn publish_last_values(participant: &impl Participant) {
    let qos = patient().transient_local(1);
    let mut writer = participant.writer::<MarketData>("MarketData", &qos).unwrap();
    for security in 0..20 {
        writer.write(&market_data(security, 2)).unwrap();
    }
    let mut end = participant.reader::<Quote>("End", &patient()).unwrap();
    let mut received = ReceivedSample::default();
    assert!(end.wait(PATIENCE).unwrap() && end.take(&mut received).unwrap());
}

fn read_market_data(participant: &impl Participant) {
    let mut reader = participant.reader::<MarketData>("MarketData", &patient()).unwrap();
    loop {
        next(&mut reader);
    }
}

/// Checks that no sample written after the writer met this reader is missing, and ends like a killed process: no peer
/// is notified, and the next process gets its ports.
fn read_live_samples(participant: &impl Participant) {
    let qos = patient().keep_all(65_536).transient_local(1);
    // After this wait, the participant knows the writer, so the reader matches first and receives
    // heartbeats for other readers.
    thread::sleep(SILENCE);
    let mut reader = participant.reader::<MarketData>("MarketData", &qos).unwrap();
    let mut received = ReceivedSample::default();
    let mut missing: Option<BTreeSet<u64>> = None;
    let until = Instant::now() + PATIENCE;
    while missing.as_ref().is_none_or(|missing| !missing.is_empty()) && Instant::now() < until {
        if !reader.take(&mut received).unwrap() {
            assert!(reader.wait(PATIENCE).unwrap(), "no sample came");
        } else if !received.is_history() {
            let first = received.history_end + 1;
            let missing = missing.get_or_insert_with(|| (first..first + 3_000).collect());
            missing.remove(&received.writer_seq_num);
        }
    }
    assert_eq!(missing, Some(BTreeSet::new()));
    process::exit(0);
}

#[test]
fn what_another_process_echoes_equals_what_was_written() {
    let wire = wire_id(0);
    let peer = Peer::start("echo", wire);
    let participant = joined(1, wire);
    let qos = patient().keep_last(2048);
    let mut there = participant.writer::<Quote>("There", &qos).unwrap();
    let mut back = participant.reader::<Quote>("Back", &qos).unwrap();
    assert!(there.wait_matched(1, PATIENCE).unwrap());
    assert!(back.wait_matched(1, PATIENCE).unwrap());
    let mut samples: Vec<Quote> = (1..1000).map(quote).collect();
    samples.push(Quote { order_id: DONE, ..quote(0) });
    for sample in &samples {
        there.write(sample).unwrap();
    }
    for sample in &samples {
        assert_eq!(next(&mut back), *sample);
    }
    peer.finish();
}

#[test]
fn a_subscriber_gets_last_values_from_a_publisher_killed_and_started_again() {
    let wire = wire_id(1);
    let participant = joined(2, wire);
    let qos = patient().transient_local(1);
    let mut reader = participant.reader::<MarketData>("MarketData", &qos).unwrap();
    let mut killed = Peer::start("last-values", wire);
    for _ in 0..20 {
        next(&mut reader);
    }
    killed.kill();

    let again = Peer::start("last-values", wire);
    let mut values: Vec<MarketData> = (0..20).map(|_| next(&mut reader)).collect();
    values.sort_by_key(|sample| sample.security_id);
    assert_eq!(values, (0..20).map(|security| market_data(security, 2)).collect::<Vec<_>>());

    let mut end = participant.writer::<Quote>("End", &patient()).unwrap();
    assert!(end.wait_matched(1, PATIENCE).unwrap());
    end.write(&quote(0)).unwrap();
    again.finish();
}

#[test]
fn a_writer_that_keeps_last_does_not_wait_for_a_killed_subscriber() {
    let wire = wire_id(2);
    let mut peer = Peer::start("echo", wire);
    let participant = joined(3, wire);
    let qos = Qos::reliable().keep_last(8).max_blocking(Duration::from_millis(1));
    let mut there = participant.writer::<Quote>("There", &qos).unwrap();
    let back = participant.reader::<Quote>("Back", &qos).unwrap();
    assert!(there.wait_matched(1, PATIENCE).unwrap());
    assert!(back.wait_matched(1, PATIENCE).unwrap());
    peer.kill();
    for number in 0..20_000 {
        there.write(&quote(number)).unwrap();
    }
}

#[test]
fn a_late_subscriber_gets_last_values_though_a_killed_one_acknowledged_nothing() {
    const SECURITIES: u32 = 20;
    let wire = wire_id(3);
    let mut killed = Peer::start("market-data", wire);
    let participant = joined(4, wire);
    let qos = patient().keep_last(1024).transient_local(1);
    let mut writer = participant.writer::<MarketData>("MarketData", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    killed.kill();
    for number in 0..20_000 {
        let sample = MarketData { msg_seq_num: number, ..market_data(number % SECURITIES, 1) };
        writer.write(&sample).unwrap();
    }

    let late = joined(5, wire);
    let mut reader = late.reader::<MarketData>("MarketData", &qos).unwrap();
    let numbers: Vec<u32> = (0..SECURITIES).map(|_| next(&mut reader).msg_seq_num).collect();
    assert_eq!(numbers, (20_000 - SECURITIES..20_000).collect::<Vec<_>>());
    assert!(!reader.wait(SILENCE).unwrap(), "more than the last values came");
}

/// The writer continues to send data and heartbeats to the ports of a killed reader. The next
/// reader gets these ports before the writer discovers that reader.
#[test]
fn a_reader_with_the_ports_of_a_killed_one_misses_nothing_that_was_written_since_it_matched() {
    // More samples than a reader has room for while it waits for last values, and far fewer than the writer holds.
    const SECURITIES: u32 = 20;
    const BURST: u32 = 50 * SECURITIES;
    let wire = wire_id(4);
    let participant = joined(6, wire);
    let qos = patient().keep_last(8_192).transient_local(1);
    let mut writer = participant.writer::<MarketData>("MarketData", &qos).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = thread::spawn({
        let is_over = is_over.clone();
        move || {
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                writer.write(&market_data(number % SECURITIES, 1)).unwrap();
                if number % BURST == 0 {
                    thread::sleep(Duration::from_millis(20));
                }
            }
        }
    });
    for _ in 0..20 {
        Peer::start("live-samples", wire).finish();
    }
    is_over.store(true, Ordering::Relaxed);
    writing.join().unwrap();
}
