//! Clients that are hostile, or only slow.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{Feed, TEMPLATES, feed, get, get_with, message, post, send, serve, token};
use flate2::bufread::GzDecoder;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use tickwire_feed::arbiter::Line;
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{BusDescription, BusFacts, BusRole, MonitorBuilder};

#[test]
fn a_name_that_points_here_is_not_answered() {
    let (_feed, served) = feed();
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1"] {
        // The page has the first state in it.
        for path in ["/", "/api/v1/state", "/api/v1/gaps", "/api/v1/events"] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let status = send(served.server.address(), request.as_bytes()).status;
            assert_eq!(status, 403, "{host} {path}");
        }
    }
}

#[test]
fn pages_of_other_sites_are_not_answered() {
    let (_feed, served) = feed();
    let address = served.server.address();
    for headers in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://localhost:1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        for path in ["/api/v1/state", "/api/v1/stream", "/metrics", "/health"] {
            assert_eq!(get_with(address, path, headers).status, 403, "{path} {headers}");
        }
        let body = json!({"templates": TEMPLATES, "hex": "c08185"}).to_string();
        let headers = format!("{headers}Content-Type: application/json\r\n");
        assert_eq!(post(address, "/api/v1/explain", &headers, &body).status, 403, "{headers}");
    }
    // A link from another site opens the page, and the page then requests its data itself.
    let (own, other) =
        (get(address, "/"), get_with(address, "/", "Sec-Fetch-Site: cross-site\r\n"));
    let has_data = |page: &str| page.contains("delivered_packets");
    assert_eq!((own.status, has_data(&own.body)), (200, true));
    assert_eq!((other.status, has_data(&other.body)), (200, false));
    assert_eq!(get_with(address, "/api/v1/state", "Origin: http://localhost\r\n").status, 200);
    assert_eq!(get_with(address, "/api/v1/state", "Sec-Fetch-Site: same-origin\r\n").status, 200);
    // Content types that a form of another site can send without a preflight request.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let headers = format!("Content-Type: {kind}\r\n");
        assert_eq!(post(address, "/api/v1/explain", &headers, "{}").status, 415, "{kind}");
    }
    let answer = get(address, "/api/v1/state");
    assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
    let page = get(address, "/");
    for wanted in ["frame-ancestors 'none'", "script-src 'self'", "nosniff", "no-referrer"] {
        assert!(page.head.contains(wanted), "{wanted}: {}", page.head);
    }
}

#[test]
fn no_path_leads_out_of_the_page() {
    let (_feed, served) = feed();
    let address = served.server.address();
    for path in [
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/%2fetc%2fpasswd",
        "/assets//etc/passwd",
        "/assets/index.html%00.js",
        "/../../etc/passwd",
        "//evil.example/",
        "/assets/",
        "/api/v1/packets/%2e%2e",
        "/api/v1/books/-1",
    ] {
        let answer = get(address, path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains("[package]"), "{path}");
    }
    for name in ["index.html", "page.js", "style.css", "icon.svg", "icon-not-ready.svg"] {
        assert_eq!(get(address, &format!("/assets/{name}")).status, 200, "{name}");
    }
}

#[test]
fn no_name_in_the_state_ends_its_element_in_the_page() {
    let mut builder = MonitorBuilder::new("test", "0");
    let name = "</script><script>alert(1)</script>";
    let panel = json!({"sessions": [{"name": name, "state": "logged_on"}], "unopened": []});
    builder.set_fix(Box::new(move || panel.clone()));
    let served = serve(builder, None);
    let page = get(served.server.address(), "/").body;
    let json = page.split_once("id=\"first\">").unwrap().1.split_once("</script>").unwrap().0;
    let first: Value = serde_json::from_str(json).unwrap();
    assert_eq!(first["sessions"][0]["name"], name);
}

#[test]
fn a_token_is_not_guessed_or_left_out() {
    let token = token("guessed");
    let served = serve(MonitorBuilder::new("test", "0"), Some(token.clone()));
    let address = served.server.address();
    let right = token.expose().to_owned();
    let almost = format!("{}0", &right[..right.len() - 1]);
    let guesses = ["", "Bearer ", "Bearer x", "Basic eDp4"].map(str::to_owned);
    let longer = format!("Bearer {right}0");
    for guess in guesses.into_iter().chain([format!("Bearer {almost}"), longer]) {
        if guess == format!("Bearer {right}") {
            continue;
        }
        let header = format!("Authorization: {guess}\r\n");
        for path in ["/api/v1/state", "/api/v1/stream", "/api/v1/history", "/metrics", "/build"] {
            let answer = get_with(address, path, &header);
            assert_eq!(answer.status, 401, "{path} {guess}");
            assert!(!answer.body.contains(&right));
        }
    }
    assert_eq!(get(address, &format!("/api/v1/state?token={right}")).status, 401);
    let header = format!("Authorization: Bearer {right}\r\n");
    assert_eq!(get_with(address, "/api/v1/state", &header).status, 200);
    // The page's files contain no data, and a browser needs them to ask for the token.
    let page = get(address, "/");
    assert_eq!((page.status, page.body.contains("uptime_ms")), (200, false));
}

#[test]
fn heads_and_bodies_are_bounded() {
    let (_feed, served) = feed();
    let address = served.server.address();
    let many: String = (0..5000).map(|number| format!("X-{number}: y\r\n")).collect();
    let answer = get_with(address, "/api/v1/state", &many);
    assert!(answer.status == 431 || answer.status == 0, "{}", answer.status);
    let long = format!("X: {}\r\n", "y".repeat(4 << 20));
    let answer = get_with(address, "/api/v1/state", &long);
    assert!(answer.status == 431 || answer.status == 0, "{}", answer.status);
    let answer = get(address, &format!("/api/v1/books?search={}", "y".repeat(200_000)));
    assert!((400..500).contains(&answer.status) || answer.status == 0, "{}", answer.status);
    let request = "POST /api/v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                   Content-Length: 99999999999\r\n\r\n{";
    let answer = send(address, request.as_bytes());
    assert_eq!(answer.status, 413, "{}", answer.body);
    assert_eq!(get(address, "/api/v1/state").status, 200);
}

#[test]
fn templates_that_would_grow_without_bound_are_refused() {
    let (_feed, served) = feed();
    let entities: String =
        (1..20).map(|at| format!("<!ENTITY e{at} \"&e{};&e{};\">", at - 1, at - 1)).collect();
    let bomb =
        format!("<!DOCTYPE x [<!ENTITY e0 \"aaaaaaaa\">{entities}]><templates>&e19;</templates>");
    let body = json!({"templates": bomb, "hex": "c08185"}).to_string();
    let begun = Instant::now();
    let headers = "Content-Type: application/json\r\n";
    let answer = post(served.server.address(), "/api/v1/explain", headers, &body);
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn bodies_of_many_clients_are_bounded_together() {
    let (_feed, served) = feed();
    let address = served.server.address();
    // Each client announces 20 MiB and sends it slowly.
    let open = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST /api/v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{{",
            20 << 20
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut large: Vec<_> = (0..8).map(open).collect();
    let begun = Instant::now();
    std::thread::sleep(Duration::from_millis(200));
    // A small request does not have to wait.
    let body = json!({"templates": TEMPLATES, "hex": "c08185"}).to_string();
    let answer = post(address, "/api/v1/explain", "Content-Type: application/json\r\n", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // Two bodies are read until they take too long; the others are refused.
    let mut statuses: Vec<String> = large
        .iter_mut()
        .map(|stream| {
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line.split(' ').nth(1).unwrap_or_default().to_owned()
        })
        .collect();
    statuses.sort();
    assert_eq!(statuses, ["408", "408", "503", "503", "503", "503", "503", "503"]);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Opens a stream and returns a reader after the head of the answer.
fn stream(address: SocketAddr, of: &str) -> BufReader<TcpStream> {
    stream_over(TcpStream::connect(address).unwrap(), of)
}

/// Connects with the smallest receive buffer that the kernel allows.
fn slow_connection(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(1).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

fn stream_over(stream: TcpStream, of: &str) -> BufReader<TcpStream> {
    answer_to(stream, &format!("GET /api/v1/stream?of={of} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

/// Sends a request and returns a reader after the head of the answer.
fn answer_to(mut stream: TcpStream, request: &str) -> BufReader<TcpStream> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0);
    }
    reader
}

/// Returns the data of the next event.
fn next_event(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

/// Topics with long names: a state has some 230 bytes for each.
fn large_topics(count: usize) -> BusDescription {
    let topics = (0..count).map(|number| format!("{number:0150}")).collect();
    BusDescription { role: BusRole::Publisher, transport: "shm".to_owned(), topics }
}

#[test]
fn a_slow_reader_keeps_nobody_waiting_and_ends_at_the_newest_state() {
    let mut builder = MonitorBuilder::new("test", "0");
    // A state has almost 2 MiB.
    let tap = builder.set_bus(large_topics(8_000));
    let mut feed = Feed::new(&mut builder);
    let served = serve(builder, None);
    let address = served.server.address();
    tap.publish(monotonic_ns(), BusFacts::default());
    let mut slow = stream_over(slow_connection(address), "state");
    let first = next_event(&mut slow)["version"].as_u64().unwrap();
    let (mut quick, mut quick_bytes) = (stream(address, "state"), 0);
    // The quick reader takes far more than the kernel's buffers of a connection hold (at most 6 MiB and 4 MiB). If
    // publications waited for the slow reader, they would not end while it is connected, because it continues to read
    // only after this.
    for number in 0..20_u8 {
        feed.receive(Line::A, number.wrapping_add(4), &message(1));
        feed.publish();
        quick_bytes += next_event(&mut quick).to_string().len();
    }
    assert!(quick_bytes > 24 << 20, "{quick_bytes}");
    // First come the events that the kernel has buffered, then the newest state, without the states
    // between.
    let newest = get(address, "/api/v1/state").json()["version"].as_u64().unwrap();
    let (mut seen, mut events) = (first, 0);
    while seen < newest {
        let version = next_event(&mut slow)["version"].as_u64().unwrap();
        assert!(version > seen);
        (seen, events) = (version, events + 1);
    }
    assert!(events <= 10, "{events} events waited for the slow reader; the quick one got 20");
}

#[test]
fn a_slow_reader_of_a_compressed_stream_gets_few_old_states() {
    const EVENTS: usize = 40;
    let mut builder = MonitorBuilder::new("test", "0");
    // Compressed, a state has some 3 KB: all events would fit into the kernel's buffer of the connection.
    let tap = builder.set_bus(large_topics(300));
    let mut feed = Feed::new(&mut builder);
    let served = serve(builder, None);
    let address = served.server.address();
    tap.publish(monotonic_ns(), BusFacts::default());
    // HTTP/1.0: without chunks.
    let request = "GET /api/v1/stream HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n";
    let slow = answer_to(slow_connection(address), request);
    let mut slow = BufReader::new(GzDecoder::new(slow));
    let mut seen = next_event(&mut slow)["version"].as_u64().unwrap();
    let mut quick = stream(address, "state");
    for number in 0..EVENTS {
        feed.receive(Line::A, number as u8 + 4, &message(1));
        feed.publish();
        next_event(&mut quick);
    }
    let newest = get(address, "/api/v1/state").json()["version"].as_u64().unwrap();
    let mut events = 0;
    while seen < newest {
        let version = next_event(&mut slow)["version"].as_u64().unwrap();
        assert!(version > seen);
        (seen, events) = (version, events + 1);
    }
    assert!(events <= EVENTS / 3, "{events} of {EVENTS} events waited for the slow reader");
}

#[test]
fn fifty_streams_are_served_at_once_with_others_beside() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    let mut streams: Vec<_> = (0..50).map(|_| stream(address, "state")).collect();
    feed.publish();
    for reader in &mut streams {
        next_event(reader);
    }
    let begun = Instant::now();
    assert_eq!(get(address, "/api/v1/state").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    feed.receive(Line::A, 4, &message(4));
    feed.publish();
    for reader in &mut streams {
        while next_event(reader)["channels"][0]["delivered_packets"] != 4 {}
    }
}

#[test]
fn a_client_that_says_nothing_or_half_a_request_is_let_go() {
    let (_feed, served) = feed();
    let address = served.server.address();
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET /api/v1/state HTTP/1.1\r\nHost: local").unwrap();
    half.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    let _ = half.read_to_end(&mut rest);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(get(address, "/api/v1/state").status, 200);
}
