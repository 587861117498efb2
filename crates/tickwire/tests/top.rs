//! `tickwire top` in a terminal.
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tickwire_testing::{Need, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tickwire");
/// Longest wait for a text on the screen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that is killed when this value is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Fails only if the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `tickwire top` in a terminal of `script`.
struct Terminal {
    child: Killed,
    keys: ChildStdin,
    /// What was written to the screen since the last key.
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    /// Starts the command; `None` if `script` is not installed.
    fn start(address: &str) -> Option<Self> {
        let command = format!("stty rows 40 cols 120; {PROGRAM} top {address}");
        let started = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &command, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.ok()?;
        let (keys, mut out) = (child.stdin.take()?, child.stdout.take()?);
        let shown = Arc::new(Mutex::new(String::new()));
        let written = shown.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = out.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..len]);
                written.lock().expect("no panic").push_str(&text);
            }
        });
        Some(Self { child: Killed(child), keys, shown })
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("no panic").clone()
    }

    /// Presses a key, and waits until the screen shows all these words. Only the changed parts of the
    /// screen are written.
    fn press(&mut self, key: &str, words: &[&str]) {
        let end = Instant::now() + PATIENCE;
        self.shown.lock().expect("no panic").clear();
        // Keys that come before the terminal is in raw mode are read afterwards.
        self.keys.write_all(key.as_bytes()).and_then(|()| self.keys.flush()).expect("a key");
        while !words.iter().all(|word| self.shown().contains(word)) {
            assert!(Instant::now() < end, "no {words:?} after {key:?}: {}", self.shown());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Leaves with `q`.
    fn leave(mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            // Fails if the program has already ended.
            let _ = self.keys.write_all(b"q").and_then(|()| self.keys.flush());
            if let Some(status) = self.child.0.try_wait().expect("a status") {
                return assert!(status.success(), "{status}: {}", self.shown());
            }
            assert!(Instant::now() < end, "it does not end: {}", self.shown());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn it_starts_in_a_terminal_and_ends_with_q() {
    // A port at which nothing listens.
    let Some(mut terminal) = Terminal::start("127.0.0.1:1") else {
        return skip(Need::Programs, "`script` of util-linux is not installed");
    };
    terminal.press("1", &["127.0.0.1:1"]);
    terminal.leave();
}

/// Starts a command with a monitor; returns it and the port.
fn monitored(line: &str) -> (Killed, u16) {
    let mut child = Command::new(PROGRAM)
        .args(line.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let remarks = BufReader::new(child.stderr.take().expect("piped"));
    let child = Killed(child);
    let mut lines = remarks.lines().map(|line| line.expect("text"));
    let line = lines.find(|line| line.contains("monitor at ")).expect("the address");
    // The process must not block on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let (_, rest) = line.rsplit_once(':').expect("a port");
    (child, rest.trim_end_matches('/').parse().expect("a port"))
}

#[test]
fn processes_of_a_monitor_are_listed_opened_and_shown_with_their_history() {
    let folder = support::directory("top-processes");
    let (_subscriber, port) = monitored(&format!(
        "subscribe --transport shm --shm-directory {}/channels --stay --monitor 0",
        folder.display()
    ));
    let config = format!(
        "[[process]]\nname = \"reader\"\naddress = \"127.0.0.1:{port}\"\n[[process]]\nname = \"gone\"\naddress = \"127.0.0.1:1\"\n"
    );
    let config = support::file(&folder, "processes.toml", config.as_bytes());
    let (_monitor, port) = monitored(&format!("monitor --config {config} --monitor 0"));
    let Some(mut terminal) = Terminal::start(&port.to_string()) else {
        return skip(Need::Programs, "`script` of util-linux is not installed");
    };
    terminal.press("1", &["processes", "reader", "gone", "answer"]);
    terminal.press("\r", &["reader:", "subscribe"]);
    terminal.press("5", &["Topics", "joiners"]);
    terminal.press("h", &["missing:", "second,"]);
    // Back to the topics, and to the list.
    terminal.press("h", &["Remove", "BookTop"]);
    terminal.press("\u{1b}", &["gone"]);
    terminal.leave();
}
