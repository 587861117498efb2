//! Summaries of processes with many channels and sessions.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::api::{check, document};
use crate::common::{Feed, Served, get, message, serve, wait};
use serde_json::{Value, json};
use tickwire_feed::arbiter::Line;
use tickwire_monitor::MonitorBuilder;

/// Most bytes a second that a client gets of a process with many channels or sessions.
const BYTES_PER_SECOND: f64 = 150_000.0;
const MEASURED: Duration = Duration::from_secs(4);
/// Events to wait for, however long a slow machine takes.
const EVENTS_MIN: usize = 4;
const PUBLISH: Duration = Duration::from_millis(100);

/// Returns a session with the largest numbers of messages and events that the command shows.
fn session(number: usize, state: &str) -> Value {
    let counters = json!({"received": number, "delivered": 0, "sent": 0, "resent": 0, "rejected": 0, "refused": 0, "garbled": 0, "resend_requests": 0, "duplicates": 0, "logons": 1});
    let event = json!({"id": 1, "at_ms": 5, "kind": "logon", "text": "logged on"});
    json!({
        "name": format!("FIX.4.4-EXCHANGE-CLIENT{number}"), "begin_string": "FIX.4.4", "sender_comp_id": "EXCHANGE",
        "target_comp_id": format!("CLIENT{number}"), "qualifier": "", "role": "acceptor", "enabled": true, "state": state, "peer": null,
        "in_schedule": number != 3, "next_sender": 12_345, "next_target": 23_456, "numbers_since_ns": 0, "queued": 0, "counters": counters,
        "received_per_second": 0.5, "sent_per_second": 1.5, "refused_connections": {}, "events": vec![event; 16], "messages": [],
    })
}

/// Returns feeds and sessions of a process, and its monitor.
fn process(channels: usize, sessions: usize) -> (Vec<Feed>, Served) {
    let mut builder = MonitorBuilder::new("test", "0");
    let feeds =
        (0..channels).map(|at| Feed::named(&mut builder, &format!("channel-{at}"))).collect();
    builder.set_fix(Box::new(move || {
        // The schedule of session 3 is closed.
        let state = |at| if at == 1 || at == 3 { "disconnected" } else { "logged_on" };
        let sessions: Vec<Value> = (0..sessions).map(|at| session(at, state(at))).collect();
        json!({"sessions": sessions, "refused_connections": {}})
    }));
    (feeds, serve(builder, None))
}

fn names(of: &Value) -> Vec<&str> {
    of.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// Checks that a summary has the members that the OpenAPI document describes.
fn check_summary(summary: &Value) {
    let document = document();
    let schema = &document["components"]["schemas"];
    // Sessions of this test lack some members.
    for of in summary["channels"].as_array().unwrap() {
        check(&document, &schema["ChannelSummary"], of, "channel");
    }
    for of in summary["sessions"].as_array().unwrap() {
        check(&document, &schema["SessionSummary"], of, "session");
    }
}

#[test]
fn few_channels_and_sessions_have_details_and_of_many_those_that_are_requested() {
    let (_feeds, served) = process(4, 4);
    let whole = get(served.server.address(), "/api/v1/summary").json();
    check_summary(&whole);
    assert_eq!(names(&whole["channels"]).len(), 4);
    assert_eq!(names(&whole["state"]["channels"]), names(&whole["channels"]));
    assert_eq!(names(&whole["state"]["fix"]["sessions"]), names(&whole["sessions"]));

    let (_feeds, served) = process(5, 6);
    let address = served.server.address();
    let short = get(address, "/api/v1/summary").json();
    check_summary(&short);
    assert_eq!((names(&short["channels"]).len(), names(&short["sessions"]).len()), (5, 6));
    let state = &short["state"];
    assert_eq!((&state["channels"], &state["fix"]["sessions"]), (&json!([]), &json!([])));
    assert_eq!(short["sessions"][1]["is_ready"], false);
    assert_eq!(short["sessions"][2]["is_ready"], true);
    assert_eq!(short["sessions"][3]["is_ready"], true, "its schedule is closed");
    // Sessions without details are among the reasons too.
    let whole = get(address, "/api/v1/state").json();
    assert_eq!(state["process"]["not_ready"], whole["process"]["not_ready"]);

    let query = "channel=channel-3&channel=gone&channel=channel-1&session=FIX.4.4-EXCHANGE-CLIENT5";
    let some = get(address, &format!("/api/v1/summary?{query}")).json();
    assert_eq!(names(&some["state"]["channels"]), ["channel-1", "channel-3"]);
    assert_eq!(names(&some["state"]["fix"]["sessions"]), ["FIX.4.4-EXCHANGE-CLIENT5"]);
    // At most 4 have details.
    let many: Vec<String> =
        (0..6).map(|at| format!("session=FIX.4.4-EXCHANGE-CLIENT{at}")).collect();
    let some = get(address, &format!("/api/v1/summary?{}", many.join("&"))).json();
    assert_eq!(names(&some["state"]["fix"]["sessions"]).len(), 4);
}

#[test]
fn sessions_are_requested_only_for_answers_that_have_them() {
    let requested = Arc::new(AtomicUsize::new(0));
    let mut builder = MonitorBuilder::new("test", "0");
    let counted = requested.clone();
    builder.set_fix(Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        json!({"sessions": [session(0, "logged_on")], "refused_connections": {}})
    }));
    let served = serve(builder, None);
    let address = served.server.address();
    let (begun, before) = (Instant::now(), requested.load(Ordering::Relaxed));
    for _ in 0..20 {
        assert_eq!(get(address, "/build").status, 200);
        assert_eq!(get(address, "/health").status, 200);
    }
    // Streams of one version share their data. A version lasts at least 20 ms.
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /api/v1/stream?of=summary HTTP/1.0\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
    }
    let requested = requested.load(Ordering::Relaxed) - before;
    // The history requests the sessions once per second.
    let seconds = begun.elapsed().as_secs() as usize + 1;
    // The ages alone cause four versions per second, and each open stream requests each version.
    let versions = begun.elapsed().as_millis() as usize / 250 + 2;
    assert!(requested <= seconds + versions, "{requested} in {:?}", begun.elapsed());
}

#[test]
fn unknown_and_repeated_names_take_no_place_of_details() {
    let (_feeds, served) = process(5, 5);
    let address = served.server.address();
    let unknown: String =
        (0..100).map(|at| format!("channel=gone-{at}&session=gone-{at}&")).collect();
    let repeated = "channel=channel-2&session=FIX.4.4-EXCHANGE-CLIENT2&".repeat(5);
    let last = "channel=channel-4&session=FIX.4.4-EXCHANGE-CLIENT4";
    let state =
        get(address, &format!("/api/v1/summary?{unknown}{repeated}{last}")).json()["state"].take();
    assert_eq!(names(&state["channels"]), ["channel-2", "channel-4"]);
    let sessions = ["FIX.4.4-EXCHANGE-CLIENT2", "FIX.4.4-EXCHANGE-CLIENT4"];
    assert_eq!(names(&state["fix"]["sessions"]), sessions);
}

#[test]
fn a_channel_in_short_has_the_losses_of_its_lines_and_its_gaps() {
    let (mut feeds, served) = process(1, 0);
    let address = served.server.address();
    let feed = &mut feeds[0];
    feed.receive(Line::A, 1, &message(1));
    feed.receive(Line::B, 1, &message(1));
    feed.publish();
    let waiting = |state: &Value| state["channels"][0]["second"].is_null();
    wait(address, |state| !waiting(state));
    // Line B loses 5 of 10, and 12 and 13 are lost on both lines.
    for number in (2..=11).chain([14]) {
        feed.receive(Line::A, number, &message(number));
        if number > 6 {
            feed.receive(Line::B, number, &message(number));
        }
    }
    feed.give_up();
    feed.publish();
    wait(address, |state| state["channels"][0]["declared_gaps"] == 1);
    // The second with the gap has ended; the summary still counts its losses.
    let second = |state: &Value| state["channels"][0]["second"]["t"].as_u64();
    let of_gap = second(&get(address, "/api/v1/state").json());
    wait(address, |state| second(state) > of_gap);
    let summary = get(address, "/api/v1/summary").json();
    check_summary(&summary);
    let channel = &summary["channels"][0];
    assert_eq!((&channel["status"], &channel["recent_gaps"]), (&json!("live"), &json!(1)));
    let of = |at: usize| {
        let line = &channel["lines"][at];
        (line["line"].clone(), line["lost_percent"].as_f64().unwrap())
    };
    assert_eq!(of(0).0, "a");
    assert!((10.0..20.0).contains(&of(0).1), "{channel:#}");
    assert!((50.0..60.0).contains(&of(1).1), "{channel:#}");
}

/// Reads a stream for at least a minimum time and a minimum number of events. Returns the bytes per second and the
/// number of events.
fn measured(address: SocketAddr, query: &str) -> (f64, usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let request = format!("GET /api/v1/stream?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let begun = Instant::now();
    let (mut text, mut events) = (Vec::new(), 0);
    let mut buffer = [0; 65_536];
    while begun.elapsed() < MEASURED || events < EVENTS_MIN {
        match stream.read(&mut buffer) {
            Ok(0) => panic!("the stream has ended"),
            Ok(len) => text.extend_from_slice(&buffer[..len]),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
            }
        }
        events = String::from_utf8_lossy(&text).matches("event: summary\n").count();
    }
    (text.len() as f64 / begun.elapsed().as_secs_f64(), events)
}

#[test]
fn a_client_of_many_channels_or_sessions_gets_few_bytes() {
    for (channels, sessions, query) in [
        (24, 0, "of=summary"),
        (24, 0, "of=summary&channel=channel-7"),
        (0, 200, "of=summary&session=FIX.4.4-EXCHANGE-CLIENT7"),
    ] {
        let (mut feeds, served) = process(channels, sessions);
        let address = served.server.address();
        let (end, is_over) = channel::<()>();
        let (bytes, events) = thread::scope(|scope| {
            // Ends the thread also if this one panics.
            let _end = end;
            scope.spawn(move || {
                let mut number = 0;
                while is_over.recv_timeout(PUBLISH) == Err(RecvTimeoutError::Timeout) {
                    number = number % 100 + 1;
                    for feed in &mut feeds {
                        feed.receive(Line::A, number, &message(number));
                        feed.publish();
                    }
                }
            });
            measured(address, query)
        });
        println!(
            "{channels} channels, {sessions} sessions: {bytes:.0} bytes a second in {events} events"
        );
        assert!(bytes < BYTES_PER_SECOND, "{query}: {bytes} bytes a second");
    }
}
