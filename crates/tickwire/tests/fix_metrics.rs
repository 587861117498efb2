//! Metrics of server and client of FIX sessions while they trade.

#[path = "trading/printing.rs"]
mod printing;

use printing::{Process, TIME_MAX};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads the metrics at an address until all wanted lines are there; returns the whole text.
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

/// Returns the value of a line.
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
    let connected = client.after("connected to ");
    assert!(connected.starts_with("127.0.0.1:"), "{connected}");
    client.after("logged on, heartbeat interval 10 s");
    client.after("300 NewOrderSingle msgs sent, 0 remaining, ");

    // The Logon and the orders; no resend, nothing rejected, nothing queued at the end.
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
