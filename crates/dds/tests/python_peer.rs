//! Exchanges samples with the Python package cyclonedds, if it is installed.

mod support;

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{PATIENCE, joined, market_data, next, patient, quote, wire_id};
use tickwire_dds::{CycloneParticipant, MarketData, Participant, Quote, Sample};
use tickwire_testing::{Need, skip};

/// Environment variable with the path of the Python interpreter to run. Default: the one on the
/// PATH.
const PYTHON: &str = "TICKWIRE_PYTHON";

fn python() -> Option<String> {
    let python = env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let has_package = Command::new(&python)
        .args(["-c", "import cyclonedds"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    has_package.then_some(python)
}

/// Writes samples and compares the echoes with them.
fn crosses<S: Sample>(participant: &CycloneParticipant, samples: &[S]) {
    let qos = patient().keep_last(8).transient_local(8);
    let mut there = participant.writer::<S>(&format!("{}/There", S::TOPIC), &qos).unwrap();
    let mut back = participant.reader::<S>(&format!("{}/Back", S::TOPIC), &qos).unwrap();
    assert!(there.wait_matched(1, PATIENCE).unwrap());
    for sample in samples {
        there.write(sample).unwrap();
        assert_eq!(next(&mut back), *sample);
    }
}

#[test]
fn what_python_echoes_equals_what_was_written() {
    let Some(python) = python() else {
        let why = format_args!("no Python with the package cyclonedds; {PYTHON} can name one");
        return skip(Need::Peers, why);
    };
    let wire = wire_id(0);
    // Characters of one byte, which Python represents as text.
    let ascii = Quote { security_type: b'E', ..quote(u32::MAX) };
    let quotes = [Quote { exchange_id: 0, ..ascii }, ascii];
    let market_data =
        [market_data(1, 3), market_data(2, 0), MarketData::default(), market_data(3, 40)];
    let mut echo = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_peer.py"))
        .args([wire.to_string(), (quotes.len() + market_data.len()).to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let participant = joined(0, wire);
    crosses(&participant, &quotes);
    crosses(&participant, &market_data);
    drop(echo.stdin.take());
    assert!(echo.wait().unwrap().success());
}
