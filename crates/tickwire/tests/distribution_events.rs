//! Publishes a simulated trading day: subscribers have the status and the definitions that `receive --show` prints.

#[path = "support/bus.rs"]
mod bus;
mod support;

use bus::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use support::tickwire;

/// Returns what `receive --show` prints of an event that `subscribe --show` printed.
fn as_event(sample: &Value) -> Value {
    let mut event = sample.clone();
    let members = event.as_object_mut().expect("an object");
    for name in ["topic", "source", "seq_num", "sending_time", "taken", "may_cross"] {
        assert!(members.remove(name).is_some() || name == "may_cross", "{sample} has no {name}");
    }
    event
}

/// An event by its members' names.
type Members = BTreeMap<String, Value>;

/// Sorted, because samples with different keys may change places.
fn sorted(events: impl Iterator<Item = Value>) -> Vec<String> {
    let by_name = |event| serde_json::from_value::<Members>(event).expect("an object");
    let mut all: Vec<String> = events.map(|event| format!("{:?}", by_name(event))).collect();
    all.sort_unstable();
    all
}

#[test]
fn status_and_definitions_are_those_that_receive_shows() {
    let transports: &[&str] = if cfg!(feature = "dds") { &["shm", "dds"] } else { &["shm"] };
    for (transport, test) in transports.iter().zip(92..) {
        let place = Place::new(test);
        let (day, templates) = (place.file("day.pcap"), place.file("day.xml"));
        let run = tickwire(&format!(
            "generate day --status -n 1500 -o {} --write-templates {}",
            day.display(),
            templates.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let received = format!(
            "receive -t {} --framing cme --capture {} --line-b --snapshots --definitions -q",
            templates.display(),
            day.display()
        );
        let channels = format!("/dev/shm/tickwire-test-{}-{test}", std::process::id());
        let at = format!("--transport {transport} --shm-directory {channels}");
        let subscriber = std::process::Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(format!("subscribe --show --topic Status,Definition --no-echo {at}").split(' '))
            .args(["--domain", &place.domain.to_string()])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let samples = std::thread::spawn(|| subscriber.wait_with_output().expect("it ends"));
        let run = tickwire(&format!("{received} --publish {at} --domain {}", place.domain));
        assert!(run.err.contains("samples published, 0 dropped"), "{}", run.err);
        let samples = samples.join().expect("no panic");
        let _ = std::fs::remove_dir_all(&channels);
        assert!(samples.status.success(), "nothing is lost: {samples:?}");

        let is_wanted =
            |event: &Value| event["event"] == "status" || event["event"] == "definition";
        let shown = tickwire(&format!("{received} --show events")).json_lines();
        let shown = sorted(shown.into_iter().filter(is_wanted));
        let samples = String::from_utf8(samples.stdout).expect("UTF-8");
        let samples =
            samples.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        assert_eq!(sorted(samples.map(|sample| as_event(&sample))), shown, "{transport}");
        let count = |event: &str| shown.iter().filter(|line| line.contains(event)).count();
        assert!(count("status") > 5 && count("definition") > 5, "{shown:?}");
    }
}
