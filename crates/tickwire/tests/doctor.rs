//! `tickwire doctor` with directories of files that stand for machines.

mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::{directory, file, tickwire};

const HALT_POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
const DEFERRED: &str = "proc/sys/net/core/skb_defer_max";

/// Writes a machine whose idle CPUs halt at once, with a network card.
fn machine(root: &Path) {
    for (path, text) in [
        ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
        ("sys/devices/system/cpu/cpuidle/current_governor", "haltpoll"),
        (HALT_POLL, "0"),
        (DEFERRED, "64"),
        ("sys/class/net/eth0/device/uevent", ""),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "3"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, format!("{text}\n")).expect("written");
    }
}

fn findings(root: &Path) -> Vec<Value> {
    let run = tickwire(&format!("doctor --root {} --json -", root.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    report["findings"].as_array().expect("findings").clone()
}

fn finding<'f>(findings: &'f [Value], name: &str) -> &'f Value {
    let found = findings.iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {findings:#?}"))
}

#[test]
fn findings_follow_the_settings_of_the_machine() {
    let root = directory("doctor");
    machine(&root);
    let before = findings(&root);
    for name in ["idle CPUs", "packets freed by another CPU", "eth0: packet steering (RPS)"] {
        let finding = finding(&before, name);
        assert_eq!(finding["verdict"], "costs", "{finding:#}");
        let has_text = |member: &str| finding[member].as_str().is_some_and(|text| !text.is_empty());
        assert!(has_text("found") && has_text("cost") && has_text("change"), "{finding:#}");
    }
    assert_eq!(finding(&before, "clock source")["verdict"], "unknown");
    std::fs::write(root.join(HALT_POLL), "200000\n").expect("written");
    std::fs::write(root.join(DEFERRED), "0\n").expect("written");
    let after = findings(&root);
    for name in ["idle CPUs", "packets freed by another CPU"] {
        let finding = finding(&after, name);
        assert_eq!((&finding["verdict"], &finding["change"]), (&json!("good"), &json!("")));
    }
}

/// Writes the JSON to a file and the text to standard output. The text names all findings, and how
/// to change those that cost latency.
#[test]
fn the_text_has_the_findings_of_the_json() {
    let root = directory("doctor-text");
    machine(&root);
    let report: PathBuf = root.join("findings.json");
    let run = tickwire(&format!("doctor --root {} --json {}", root.display(), report.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    let report: Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let all = report["findings"].as_array().expect("findings");
    assert!(all.len() > 10, "{all:#?}");
    for finding in all {
        let text = |member: &str| finding[member].as_str().expect("text");
        assert!(run.out.contains(text("name")), "{}", run.out);
        if finding["verdict"] == "costs" {
            let change = format!("Change: {}", text("change"));
            assert!(run.out.contains(text("cost")) && run.out.contains(&change), "{}", run.out);
        }
    }
}

#[test]
fn a_directory_without_a_machine_is_an_error() {
    let root = directory("doctor-empty");
    file(&root, "other", b"");
    let run = tickwire(&format!("doctor --root {} --json -", root.display()));
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("has neither proc nor sys"), "{}", run.err);
}
