//! Finding sessions by their names in administration paths.

mod peers;

use peers::{engine, initiator_config, quick};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tickwire_fix_session::MemoryStore;
use tickwire_telemetry::http::{BearerToken, HttpServer};

#[test]
fn a_session_is_found_by_its_name_however_it_is_encoded() {
    let mut engine = engine();
    let address = "127.0.0.1:1".parse().expect("an address");
    for (sender, target) in
        [("I", "ONE-X"), ("A", "B-C"), ("A-B", "C"), ("50%", "A"), ("A-Z", "C"), ("A%2dZ", "C")]
    {
        let mut config = initiator_config(sender);
        config.id.target_comp_id = target.to_owned();
        let store = Box::new(MemoryStore::new());
        engine.add_initiator(config, store, quick(address)).expect("added");
    }
    let token = BearerToken::random().expect("made");
    let shown = token.expose().to_owned();
    let routes = engine.handle().admin_routes(token);
    let server = HttpServer::serve("0".parse().expect("a port"), routes).expect("served");
    let served = server.address();
    let mut ask = |name: &str| {
        let mut stream = TcpStream::connect(served).expect("served");
        write!(
            stream,
            "GET /sessions/{name} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {shown}\r\n\
             Connection: close\r\n\r\n"
        )
        .expect("asked");
        stream.set_read_timeout(Some(Duration::from_millis(1))).expect("set");
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            engine.turn(Duration::from_millis(1)).expect("a turn");
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => bytes.extend_from_slice(&buffer[..len]),
                Err(_) => {}
            }
        }
        let text = String::from_utf8(bytes).expect("text");
        let status: u16 = text.split(' ').nth(1).expect("a status").parse().expect("a number");
        let body = text.split("\r\n\r\n").nth(1).expect("a body");
        let found: serde_json::Value = serde_json::from_str(body).expect("an object");
        (status, found["name"].as_str().unwrap_or_default().to_owned())
    };
    for (written, name) in [
        ("FIX.4.4-I-ONE%2dX", "FIX.4.4-I-ONE%2dX"),
        ("FIX.4.4-I-ONE%2DX", "FIX.4.4-I-ONE%2dX"),
        ("FIX.4.4-I-ONE%252dX", "FIX.4.4-I-ONE%2dX"),
        ("FIX.4.4-I-ONE-X", "FIX.4.4-I-ONE%2dX"),
        ("FIX.4.4-A-B%2dC", "FIX.4.4-A-B%2dC"),
        ("FIX.4.4-A%2dB-C", "FIX.4.4-A%2dB-C"),
        ("FIX.4.4-50%25-A", "FIX.4.4-50%25-A"),
        ("FIX.4.4-A%2dZ-C", "FIX.4.4-A%2dZ-C"),
        ("FIX.4.4-A%252dZ-C", "FIX.4.4-A%252dZ-C"),
    ] {
        assert_eq!(ask(written), (200, name.to_owned()), "{written}");
    }
    assert_eq!(ask("FIX.4.4-A-B-C").0, 409, "two are called so");
    assert_eq!(ask("FIX.4.4-A-B").0, 404);
}
