//! Measures the memory of a publisher while it streams. A separate test program, because it measures its whole
//! process.

mod support;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use support::{PATIENCE, market_data, patient, two_participants};
use tickwire_dds::{MarketData, Participant, ReceivedSample};

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap()
}

#[test]
fn a_writer_that_keeps_last_values_holds_no_more_the_longer_it_streams() {
    const SECURITIES: u32 = 2_000;
    let [publisher, subscriber] = two_participants(0);
    let qos = patient().keep_last(1024).transient_local(1);
    let mut writer = publisher.writer::<MarketData>("MarketData", &qos).unwrap();
    let mut reader = subscriber.reader::<MarketData>("MarketData", &qos).unwrap();
    assert!(writer.wait_matched(1, PATIENCE).unwrap());
    let mut received = ReceivedSample::default();
    let mut stream = |time: Duration| {
        let until = Instant::now() + time;
        for number in (0..SECURITIES).cycle() {
            writer.write(&market_data(number, 2)).unwrap();
            while reader.take(&mut received).unwrap() {}
            thread::sleep(Duration::from_micros(20));
            if number == 0 && Instant::now() > until {
                return;
            }
        }
    };
    stream(Duration::from_secs(2));
    let before = resident_bytes();
    stream(Duration::from_secs(6));
    let after = resident_bytes();
    assert!(after < before + before / 10, "{before} bytes, and then {after}");
}
