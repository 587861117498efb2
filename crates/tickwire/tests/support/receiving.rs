//! A `tickwire receive` that runs beside a test.
#![allow(dead_code, reason = "each test file uses a part")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

/// The command, listening.
pub struct Receiving {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it has logged so far.
    log: String,
}

impl Receiving {
    /// Starts `tickwire receive` with `prefix` before it, as `ip netns exec`, and waits until it
    /// listens to so many lines.
    pub fn start(prefix: &[&str], arguments: &str, lines: usize) -> Self {
        let tickwire = env!("CARGO_BIN_EXE_tickwire");
        let arguments = arguments.split_whitespace();
        let common = ["--log", "info", "--json", "-"];
        let words: Vec<&str> = prefix
            .iter()
            .copied()
            .chain([tickwire, "receive"])
            .chain(arguments)
            .chain(common)
            .collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut receiving = Self { child, stderr, log: String::new() };
        receiving.wait_for(" on ", lines);
        receiving
    }

    /// Reads the log until so many lines contain a text, and returns the last.
    pub fn wait_for(&mut self, text: &str, lines: usize) -> String {
        let mut last = String::new();
        for _ in 0..lines {
            loop {
                last.clear();
                let len = self.stderr.read_line(&mut last).expect("readable");
                assert!(len > 0, "it ended: {}", self.log);
                self.log.push_str(&last);
                if last.contains(text) {
                    break;
                }
            }
        }
        last
    }

    /// Interrupts it as Ctrl-C does.
    pub fn interrupt(&self) {
        let status = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end and returns the counters.
    pub fn finish(mut self) -> Value {
        let mut out = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("UTF-8");
        self.stderr.read_to_string(&mut self.log).expect("UTF-8");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{}", self.log);
        serde_json::from_str(&out).expect("JSON")
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // Where a test failed it may still run.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
