//! The replay server behaves as documented.

use super::*;
use tickwire_fix::{Reader, Tag, Writer};

/// An item in the server's byte stream.
#[derive(Debug, PartialEq)]
enum Item {
    Fix { msg_type: String, status: Option<u64> },
    Frame(Vec<u8>),
    Cut,
}

/// Splits the server's bytes as the protocol defines.
fn items(mut bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut framer = tickwire_fix::FixFramer::new(tickwire_fix::FixLimits::default());
    while !bytes.is_empty() {
        if bytes[0] == b'8' {
            let tickwire_fix::FramerStep::Message(fix) = framer.step(bytes) else {
                panic!("a whole FIX message")
            };
            let mut reader = Reader::new();
            let message = reader.decode(fix).expect("a right FIX message");
            let msg_type = String::from_utf8(message.msg_type().to_vec()).unwrap();
            let status = message.field(Tag(1409)).map(|field| field.uint().unwrap());
            items.push(Item::Fix { msg_type, status });
            bytes = &bytes[fix.len()..];
            continue;
        }
        let whole = bytes.split_at_checked(4).and_then(|(len, rest)| {
            let len = u32::from_be_bytes(len.try_into().unwrap()) as usize;
            rest.split_at_checked(len)
        });
        let Some((frame, rest)) = whole else {
            items.push(Item::Cut);
            break;
        };
        items.push(Item::Frame(frame.to_vec()));
        bytes = rest;
    }
    items
}

fn fix(begin: &str, msg_type: &str, fields: &[(u32, &str)]) -> Vec<u8> {
    let mut buffer = vec![0; 1_000];
    let mut writer = Writer::new(&mut buffer, begin, msg_type);
    writer.str(Tag(49), "CLIENT");
    writer.str(Tag(56), "REPLAY");
    writer.uint(Tag(34), 1);
    for (tag, value) in fields {
        writer.str(Tag(*tag), value);
    }
    writer.finish().unwrap().to_vec()
}

fn logon(password: &str) -> Vec<u8> {
    fix("FIX.4.4", "A", &[(98, "0"), (108, "30"), (141, "Y"), (553, "user"), (554, password)])
}

fn request(first: u64, last: u64) -> Vec<u8> {
    fix("FIX.4.4", "V", &[(1182, &first.to_string()), (1183, &last.to_string())])
}

fn status(reason: LogoutReason) -> Item {
    Item::Fix { msg_type: "5".to_owned(), status: Some(reason.code()) }
}

fn logged_on() -> Item {
    Item::Fix { msg_type: "A".to_owned(), status: None }
}

fn server(options: ReplayServerOptions) -> ReplayServer {
    let mut server = ReplayServer::new(options);
    (10..20_u8).for_each(|seq_num| assert!(server.publish(seq_num.into(), &[seq_num; 3])));
    server
}

/// Logs on and sends a request. Returns the server's items, and true if it closed the connection.
fn ask(server: &mut ReplayServer, first: u64, last: u64) -> (Vec<Item>, bool) {
    let mut connection = server.connect();
    let bytes = [logon("password"), request(first, last)].concat();
    // The result must not depend on how the bytes are split.
    bytes.iter().for_each(|byte| connection.handle_bytes(1, server, &[*byte]));
    (items(&connection.take_bytes()), connection.is_closed())
}

#[test]
fn a_range_comes_in_frames_between_logon_and_logout() {
    let mut server = server(ReplayServerOptions::default());
    let frames = |range: std::ops::Range<u8>| range.map(|n| Item::Frame(vec![n; 3]));
    let (items, is_closed) = ask(&mut server, 12, 14);
    let expected: Vec<Item> = std::iter::once(logged_on())
        .chain(frames(12..15))
        .chain([status(LogoutReason::Complete)])
        .collect();
    assert_eq!((items, is_closed), (expected, false));
    // Beyond the last number.
    assert_eq!(ask(&mut server, 18, 400).0.len(), 4);
    let counters = ReplayServerCounters { logons: 2, requests: 2, frames: 5, ..Default::default() };
    assert_eq!(server.counters(), counters);
}

#[test]
fn the_server_closes_after_the_logout_of_the_client() {
    let mut server = server(ReplayServerOptions::default());
    let mut connection = server.connect();
    let bytes = [logon("password"), request(12, 12), fix("FIX.4.4", "5", &[])];
    connection.handle_bytes(1, &mut server, &bytes[..2].concat());
    assert!(!connection.is_closed());
    connection.handle_bytes(2, &mut server, &bytes[2]);
    assert!(connection.is_closed());
}

#[test]
fn the_version_and_names_of_the_client_are_answered() {
    let mut server = server(ReplayServerOptions::default());
    let mut connection = server.connect();
    let fields = [(98, "0"), (108, "7"), (553, "user"), (554, "password"), (1137, "9")];
    connection.handle_bytes(1_500_000_000, &mut server, &fix("FIXT.1.1", "A", &fields));
    let bytes = connection.take_bytes();
    let mut reader = Reader::new();
    let message = reader.decode(&bytes).unwrap();
    let text = |tag| message.field(Tag(tag)).map(|field| field.str().unwrap().to_owned());
    assert_eq!(message.begin_string(), b"FIXT.1.1");
    assert_eq!(text(56).as_deref(), Some("CLIENT"));
    assert_eq!(text(49).as_deref(), Some("REPLAY"));
    assert_eq!(text(108).as_deref(), Some("7"));
    assert_eq!(text(1137).as_deref(), Some("9"));
    assert_eq!(text(52).as_deref(), Some("19700101-00:00:01.500"));
}

#[test]
fn refusals_say_why_and_close() {
    let options = ReplayServerOptions { messages_per_request_max: 5, ..Default::default() };
    let mut server = server(options);
    let mut refused = |bytes: Vec<u8>| {
        let mut connection = server.connect();
        connection.handle_bytes(1, &mut server, &bytes);
        assert!(connection.is_closed());
        items(&connection.take_bytes()).pop().unwrap()
    };
    let asking = |first, last| [logon("password"), request(first, last)].concat();
    assert_eq!(refused(logon("wrong")), status(LogoutReason::Credentials));
    assert_eq!(refused(asking(10, 15)), status(LogoutReason::RangeTooLong));
    assert_eq!(refused(asking(20, 22)), status(LogoutReason::NotAvailable));
    assert_eq!(refused(asking(13, 12)), status(LogoutReason::Malformed));
    assert_eq!(refused(request(10, 11)), status(LogoutReason::Malformed));
    assert_eq!(refused(b"GET / HTTP/1.1".to_vec()), status(LogoutReason::Malformed));
    let no_range = [logon("password"), fix("FIX.4.4", "V", &[(1182, "1")])].concat();
    assert_eq!(refused(no_range), status(LogoutReason::Malformed));
    let mut garbled = logon("password");
    let at = garbled.len() - 2;
    garbled[at] ^= 1;
    assert_eq!(refused(garbled), status(LogoutReason::Malformed));
}

#[test]
fn requests_of_a_day_are_limited() {
    let mut server = server(ReplayServerOptions { requests_per_day_max: 2, ..Default::default() });
    ask(&mut server, 10, 10);
    ask(&mut server, 10, 10);
    assert_eq!(ask(&mut server, 10, 10).0, [logged_on(), status(LogoutReason::RequestLimit)]);
    server.begin_day();
    assert_eq!(ask(&mut server, 10, 10).0.len(), 3);
}

#[test]
fn connections_break_at_any_byte_and_whole_frames_are_good() {
    let options = ReplayServerOptions { disconnect: 1.0, ..Default::default() };
    let mut server = server(options);
    let mut lens = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let (items, is_closed) = ask(&mut server, 10, 19);
        assert!(is_closed);
        let frames = items.iter().filter(|item| matches!(item, Item::Frame(_)));
        for (frame, seq_num) in frames.clone().zip(10_u8..) {
            assert_eq!(*frame, Item::Frame(vec![seq_num; 3]));
        }
        lens.insert((frames.count(), items.last() == Some(&Item::Cut)));
    }
    assert!(lens.len() > 15, "{lens:?}");
    assert_eq!(server.counters().disconnects, 200);
}

#[test]
fn what_is_stored_is_bounded_and_forgotten_with_the_session() {
    let mut server = server(ReplayServerOptions { messages_stored_max: 3, ..Default::default() });
    assert_eq!(server.messages.keys().copied().collect::<Vec<_>>(), [17, 18, 19]);
    assert!(!server.publish(20, &vec![0; FRAME_BYTES_MAX + 1]));
    server.begin_session();
    assert_eq!(ask(&mut server, 17, 19).0[1], status(LogoutReason::NotAvailable));
}
