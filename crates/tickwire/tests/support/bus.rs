//! Publishers and subscribers as processes, isolated from those of other tests.
#![allow(dead_code, reason = "each test file uses a part")]

use super::support::tickwire;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tickwire_net::multicast::Endpoint;

/// Longest wait for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A directory, a domain and lines that only one test uses.
pub struct Place {
    pub directory: PathBuf,
    pub domain: u32,
    pub a: Endpoint,
    pub b: Endpoint,
}

impl Place {
    pub fn new(test: u32) -> Self {
        let process = std::process::id();
        let directory = std::env::temp_dir().join(format!("tickwire-test-{process}-{test}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        let [high, low] = (process as u16).to_be_bytes();
        let port = 22_000 + 2 * test as u16;
        let line = |port| Endpoint::loopback(Ipv4Addr::new(239, 253, high, low), port);
        Self {
            directory,
            // Below the domains of `distribution_market.rs`.
            domain: 101 + process.wrapping_mul(13).wrapping_add(test) % 64,
            a: line(port),
            b: line(port + 1),
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a feed and its templates to files and returns their paths.
    pub fn feed(&self, feed: &str, options: &str) -> (PathBuf, PathBuf) {
        let (packets, templates) = (self.file("feed.bin"), self.file("feed.xml"));
        let run = tickwire(&format!(
            "generate {feed} {options} -o {} --write-templates {}",
            packets.display(),
            templates.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        (packets, templates)
    }

    pub fn subscribe(&self, options: &str) -> Process {
        let domain = self.domain;
        let process = Process::start(&format!("subscribe --domain {domain} {options}"));
        process.wait_line("Subscribed");
        process
    }

    /// Starts a subscriber whose log goes to a file.
    pub fn subscribe_logging(&self, log: &Path, options: &str) -> Process {
        let log = std::fs::File::create(log).expect("a file");
        let command = format!("subscribe --domain {} {options}", self.domain);
        let process = Process::start_logging(&command, log.into());
        process.wait_line("Subscribed");
        process
    }

    pub fn publish_lines(&self, templates: &Path, options: &str) -> Process {
        let (a, b) = (self.a, self.b);
        let process = Process::start(&format!(
            "publish -t {} --domain {} --reset packet -a {} -p {} --group-b {} --port-b {} {options}",
            templates.display(),
            self.domain,
            a.group,
            a.port,
            b.group,
            b.port
        ));
        process.wait_line("Listening");
        process.wait_line("Listening");
        process
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A process that is killed if the test ends first.
pub struct Process {
    pub child: Child,
    pub lines: Receiver<String>,
}

impl Process {
    pub fn start(arguments: &str) -> Self {
        Self::start_logging(arguments, Stdio::inherit())
    }

    pub fn start_logging(arguments: &str, log: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the command starts");
        let (send, lines) = channel();
        let output = child.stdout.take().expect("piped");
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Self { child, lines }
    }

    pub fn wait_line(&self, start: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).expect("the line comes");
            if line.starts_with(start) {
                return;
            }
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Interrupts the process as Ctrl-C does.
    pub fn interrupt(&self) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits for the end of the process and returns its exit status.
    pub fn finish(mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code().expect("not killed");
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns a counter of the report of a publisher or subscriber, which exists only after it was stopped. A test that
/// needs a count earlier uses the output of the other side.
pub fn sum(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap_or_else(|| panic!("{name} in {report:#}"))
}
