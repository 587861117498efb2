//! The FIX session acceptance suite against `tickwire fix acceptance`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tickwire_testing::{Need, shared, skip};

/// The acceptor, killed when dropped.
struct Acceptor(Child);

impl Drop for Acceptor {
    fn drop(&mut self) {
        // Fails if it has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the acceptor on a free port; returns it with the port.
fn start() -> (Acceptor, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["fix", "acceptance", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit_once(':').expect("an address").1.to_owned();
    (Acceptor(child), port)
}

/// Runs the cases of the suite whose names match; returns the numbers of passed, failed and skipped cases.
fn play(fix: &Path, only: &str) -> Vec<u32> {
    let (_acceptor, port) = start();
    let output = Command::new("python3")
        .arg(fix.join("at_runner.py"))
        .args(["127.0.0.1", &port, "--only", only])
        .args(["fix42", "fix44", "fix50sp2", "validate"].map(|folder| fix.join("at").join(folder)))
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let total = text.lines().find(|line| line.starts_with("total")).expect("a total");
    total.split_whitespace().skip(1).map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn every_case_of_the_suite_passes() {
    let Some(fix) = shared("fix") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return skip(Need::Programs, "python3, which plays the acceptance suite, is not there");
    }
    // Case 6 waits half a minute for test requests, so it runs in parallel with the others.
    let long = std::thread::spawn({
        let fix = fix.clone();
        move || play(&fix, "^6_")
    });
    assert_eq!(play(&fix, "^(?!6_)"), [175, 0, 0]);
    assert_eq!(long.join().expect("played"), [3, 0, 0]);
}
