//! Samples to and from the Python package cyclonedds, where it is installed.

mod support;

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{PATIENCE, joined, market_data, next, wire_id};
use tickwire_dds::{MarketData, Participant, Qos, Writer};

/// Python to run where it is not the one on the path.
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

#[test]
fn what_python_echoes_equals_what_was_written() {
    let Some(python) = python() else {
        println!("SKIPPED: no Python with the package cyclonedds; {PYTHON} can name one");
        return;
    };
    let wire = wire_id(0);
    let samples = [market_data(1, 3), market_data(2, 0), MarketData::default(), market_data(3, 40)];
    let mut echo = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python_peer.py"))
        .args([wire.to_string(), samples.len().to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();

    let participant = joined(0, wire);
    let qos = Qos::reliable().keep_last(8).transient_local(8);
    let mut there = participant.writer::<MarketData>("There", &qos).unwrap();
    let mut back = participant.reader::<MarketData>("Back", &qos).unwrap();
    assert!(there.wait_matched(1, PATIENCE).unwrap());
    for sample in &samples {
        there.write(sample).unwrap();
        assert_eq!(next(&mut back), *sample);
    }
    drop(echo.stdin.take());
    assert!(echo.wait().unwrap().success());
}
