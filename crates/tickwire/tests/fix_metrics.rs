//! What server and client of FIX sessions publish while they trade.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long something may take to be seen, on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A process ended with the test, and the lines that it prints on both outputs.
struct Process {
    child: Child,
    lines: Receiver<String>,
    /// What was printed so far: lines of the two outputs come in any order, so that a line waited for may be
    /// among those that came before another.
    printed: Vec<String>,
}

impl Process {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args(["--log", "info", "fix"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("piped")),
            Box::new(child.stderr.take().expect("piped")),
        ];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                // Nobody listens when the test is over.
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        Self { child, lines, printed: Vec::new() }
    }

    /// Waits for a line that holds `text` and returns what follows it, up to a `/` or the end.
    fn after(&mut self, text: &str) -> String {
        let end = Instant::now() + TIME_MAX;
        loop {
            let found = self.printed.iter().find_map(|line| line.split_once(text));
            if let Some((_, rest)) = found {
                return rest.split('/').next().unwrap_or_default().trim().to_owned();
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| {
                panic!("'{text}' was not printed: {:?}", self.printed);
            });
            self.printed.push(line);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the metrics at an address until all lines are there; returns the whole text.
fn wait_for(address: &str, wanted: &[&str]) -> String {
    let begun = Instant::now();
    loop {
        let mut stream = TcpStream::connect(address).expect("served");
        write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        if wanted.iter().all(|line| text.contains(&format!("\n{line}\n"))) {
            return text;
        }
        assert!(begun.elapsed() < TIME_MAX, "{wanted:?} are not in\n{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the number of a line.
fn number(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("{} "));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} in\n{text}"))
}

#[test]
fn server_and_client_publish_sessions_messages_and_times() {
    let mut server = Process::start(&["server", "--port", "0", "--metrics", "0"]);
    let served = server.after("metrics at http://");
    let address = server.after("listening on ");
    let mut client = Process::start(&["client", &address, "--metrics", "0"]);
    let asked = client.after("metrics at http://");
    let sessions = ["tickwire_fix_sessions{} 1", "tickwire_fix_logged_on_sessions{} 1"];
    wait_for(&asked, &sessions);
    let mut menu = client.child.stdin.take().expect("piped");
    writeln!(menu, "N 300").expect("the menu listens");

    // The Logon and the orders; no resend, nothing refused, nothing waiting at the end.
    let quiet = [
        "tickwire_fix_logons_total{} 1",
        "tickwire_fix_resent_messages_total{} 0",
        "tickwire_fix_resend_requests_total{} 0",
        "tickwire_fix_rejected_messages_total{} 0",
        "tickwire_fix_refused_messages_total{} 0",
        "tickwire_fix_garbled_messages_total{} 0",
        "tickwire_fix_duplicate_messages_total{} 0",
        "tickwire_fix_queued_messages{} 0",
    ];
    let answered =
        ["tickwire_fix_delivered_messages_total{} 300", "tickwire_fix_answer_seconds_count{} 300"];
    let text = wait_for(&served, &[&sessions[..], &quiet, &answered].concat());
    let sent = number(&text, "tickwire_fix_sent_messages_total");
    assert!(
        sent > 300.0 && number(&text, "tickwire_fix_received_messages_total") >= 301.0,
        "{text}"
    );
    assert!(number(&text, "tickwire_fix_answer_seconds_sum") > 0.0, "{text}");
    let round_trips = ["tickwire_fix_round_trip_seconds_count{} 300"];
    let text = wait_for(&asked, &[&sessions[..], &quiet, &round_trips].concat());
    assert!(number(&text, "tickwire_fix_delivered_messages_total") > 300.0, "{text}");
    assert!(number(&text, "tickwire_fix_sent_messages_total") >= 301.0, "{text}");
}
