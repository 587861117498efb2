//! Compressed answers and streams.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use flate2::{Decompress, FlushDecompress};
use tickwire_feed::arbiter::Line;
use tickwire_monitor::{FleetProcess, MonitorTarget, fleet_routes};
use tickwire_telemetry::http::HttpServer;
use tickwire_telemetry::metrics::Metrics;

use crate::common::{feed, get, message};

/// Requests a path with gzip; HTTP/1.0 gets the body without chunks.
fn ask(address: SocketAddr, method: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let request =
        format!("{method} {path} HTTP/1.0\r\nAccept-Encoding: br;q=1.0, gzip;q=0.8\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Splits the head of an answer from what follows.
fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase(), &bytes[at + 4..]))
}

fn read(mut stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

fn gunzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn pages_answers_and_histories_are_compressed_for_clients_that_accept_it() {
    let (_feed, served) = feed();
    let address = served.server.address();
    let target = MonitorTarget { address, token: None, tls: None, process: None };
    let processes = vec![FleetProcess { name: "one".to_owned(), target }];
    let routes = fleet_routes(processes, None, Metrics::new().routes());
    let fleet = HttpServer::serve("0".parse().unwrap(), routes).unwrap();
    // A history of some seconds is long enough.
    let begun = Instant::now();
    while get(address, "/api/v1/history").body.len() < 3000 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(100));
    }
    for (address, path, whole) in [
        (address, "/assets/index.html", "/assets/index.html"),
        (address, "/assets/page.js", "/assets/page.js"),
        (address, "/api/v1/openapi.json", "/api/v1/openapi.json"),
        (fleet.address(), "/p/one/api/v1/openapi.json", "/p/one/api/v1/openapi.json"),
        (fleet.address(), "/assets/page.js", "/assets/page.js"),
    ] {
        let bytes = read(ask(address, "GET", path));
        let (head, body) = split(&bytes).unwrap();
        assert!(
            head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"),
            "{path}: {head}"
        );
        let plain = get(address, whole);
        assert!(!plain.head.contains("content-encoding"), "{}", plain.head);
        assert!(
            body.len() * 3 < plain.body.len() * 2,
            "{path}: {} of {}",
            body.len(),
            plain.body.len()
        );
        assert_eq!(gunzipped(body), plain.body, "{path}");
    }
    // The page contains the first state, so it differs each time.
    let bytes = read(ask(address, "GET", "/"));
    let (head, body) = split(&bytes).unwrap();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(gunzipped(body).contains("\"delivered_packets\":3"));
    for path in ["/api/v1/state", "/api/v1/history"] {
        let bytes = read(ask(fleet.address(), "GET", &format!("/p/one{path}")));
        let (head, body) = split(&bytes).unwrap();
        assert!(head.contains("content-encoding: gzip"), "{head}");
        assert!(gunzipped(body).starts_with('{'));
    }
    // A short answer is not compressed, and the answer to HEAD has no body.
    let bytes = read(ask(address, "GET", "/health"));
    assert!(!split(&bytes).unwrap().0.contains("content-encoding"));
    let bytes = read(ask(address, "HEAD", "/"));
    assert_eq!(split(&bytes).unwrap().1.len(), 0);
}

/// Reads a compressed stream until its text has `wanted`; returns the time that this took.
fn read_until(stream: &mut TcpStream, received: &mut Vec<u8>, wanted: &str) -> Duration {
    let (begun, mut buffer) = (Instant::now(), [0; 4096]);
    loop {
        if let Some((head, body)) = split(received) {
            assert!(head.contains("content-encoding: gzip"), "{head}");
            let mut text = Vec::with_capacity(4 << 20);
            // Without the ten bytes of the head of gzip.
            if let Some(body) = body.get(10..) {
                let mut decoder = Decompress::new(false);
                decoder.decompress_vec(body, &mut text, FlushDecompress::Sync).unwrap();
            }
            if String::from_utf8(text).unwrap().contains(wanted) {
                return begun.elapsed();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{wanted} did not come");
        if let Ok(len) = stream.read(&mut buffer) {
            received.extend_from_slice(&buffer[..len]);
        }
    }
}

#[test]
fn each_event_of_a_compressed_stream_can_be_read_when_it_comes() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    let mut stream = ask(address, "GET", "/api/v1/stream?of=state");
    let mut received = Vec::new();
    read_until(&mut stream, &mut received, "\"delivered_packets\":3");
    let end = "\"delivered_packets\":4";
    feed.receive(Line::A, 4, &message(4));
    feed.publish();
    let taken = read_until(&mut stream, &mut received, end);
    assert!(taken < Duration::from_secs(3), "an event came after {taken:?}");
}
