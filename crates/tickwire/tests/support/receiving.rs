//! A `tickwire receive` that runs during a test.
#![allow(dead_code, reason = "each test file uses a part")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

/// The command, listening.
pub struct Receiving {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Thread that reads standard output, so that the pipe never fills.
    stdout: Option<JoinHandle<String>>,
    /// Log so far.
    log: String,
}

impl Receiving {
    /// Starts `tickwire receive` with `prefix` before it, such as `ip netns exec`, and waits until it listens
    /// to this many lines.
    pub fn start(prefix: &[&str], arguments: &str, lines: usize) -> Self {
        Self::start_with(prefix, arguments, &["--json", "-"], lines)
    }

    /// Starts it with an output other than the counters.
    pub fn start_showing(arguments: &str, lines: usize) -> Self {
        Self::start_with(&[], arguments, &["--quiet"], lines)
    }

    fn start_with(prefix: &[&str], arguments: &str, more: &[&str], lines: usize) -> Self {
        let tickwire = env!("CARGO_BIN_EXE_tickwire");
        let arguments = arguments.split_whitespace();
        let common = ["--log", "info"].iter().chain(more).copied();
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
        let mut out = child.stdout.take().expect("piped");
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).expect("UTF-8");
            text
        });
        let mut receiving = Self { child, stderr, stdout: Some(stdout), log: String::new() };
        receiving.wait_for(" on ", lines);
        receiving
    }

    /// Reads the log until this many lines contain `text`, and returns the last one.
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
    pub fn finish(self) -> Value {
        serde_json::from_str(&self.finish_output()).expect("JSON")
    }

    /// Waits for its end and returns its output.
    pub fn finish_output(mut self) -> String {
        let out = self.stdout.take().expect("it has not ended").join().expect("read");
        self.stderr.read_to_string(&mut self.log).expect("UTF-8");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{}", self.log);
        out
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // It may still run if a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
