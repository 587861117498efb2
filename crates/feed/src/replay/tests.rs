use super::*;
use crate::arbiter::Gap;
use tickwire_fix::{FixMessage, Reader, Tag, Writer};

const SECOND: u64 = 1_000_000_000;

fn options() -> ReplayOptions {
    ReplayOptions {
        username: "user".to_owned(),
        password: "secret".to_owned(),
        messages_max: 10,
        requests_max: 5,
        ..ReplayOptions::default()
    }
}

/// A message of the tests is its number as a u32.
fn number(bytes: &[u8]) -> Option<u64> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?).into())
}

type Client = ReplayClient<fn(&[u8]) -> Option<u64>>;

fn client(options: ReplayOptions) -> Client {
    ReplayClient::new(options, number)
}

fn frame(seq_num: u32) -> Vec<u8> {
    [4_u32.to_be_bytes(), seq_num.to_be_bytes()].concat()
}

fn frames(range: std::ops::RangeInclusive<u32>) -> Vec<u8> {
    range.flat_map(frame).collect()
}

fn fix(msg_type: &str, status: Option<u64>) -> Vec<u8> {
    let mut buffer = vec![0; 512 + Writer::OVERHEAD];
    let mut writer = Writer::new(&mut buffer, "FIXT.1.1", msg_type);
    writer.str(Tag::SENDER_COMP_ID, "REPLAY");
    writer.str(Tag::TARGET_COMP_ID, "CLIENT");
    writer.uint(Tag::MSG_SEQ_NUM, 1);
    if let Some(status) = status {
        writer.uint(Tag(1409), status);
    }
    writer.finish().unwrap().to_vec()
}

fn logout(status: u64) -> Vec<u8> {
    fix("5", Some(status))
}

fn uint(message: &FixMessage<'_, '_>, tag: u32) -> Option<u64> {
    message.field(Tag(tag))?.uint().ok()
}

fn events(client: &mut Client) -> Vec<ReplayEvent> {
    std::iter::from_fn(|| client.poll_event()).collect()
}

fn replayed(events: &[ReplayEvent]) -> Vec<u64> {
    let seq_num = |event: &ReplayEvent| match event {
        ReplayEvent::Replayed { seq_num, .. } => Some(*seq_num),
        _ => None,
    };
    events.iter().filter_map(seq_num).collect()
}

/// Connects and logs on; returns the range that is requested.
fn log_on(client: &mut Client, now_ns: u64) -> (u64, u64) {
    client.handle_connected(now_ns, 0);
    let bytes = client.take_bytes();
    let mut reader = Reader::new();
    let logon = reader.decode(&bytes).unwrap();
    assert_eq!(logon.msg_type(), b"A");
    assert_eq!(logon.field(Tag(553)).unwrap().value, b"user");
    assert_eq!(logon.field(Tag(554)).unwrap().value, b"secret");
    assert_eq!(uint(&logon, 1137), Some(9));
    client.handle_bytes(now_ns, 0, &fix("A", None));
    let bytes = client.take_bytes();
    let request = reader.decode(&bytes).unwrap();
    assert_eq!(request.msg_type(), b"V");
    assert_eq!(uint(&request, 34), Some(2));
    (uint(&request, 1182).unwrap(), uint(&request, 1183).unwrap())
}

#[test]
fn a_gap_is_replayed_in_requests_of_the_servers_size() {
    let mut client = client(options());
    let gap = Gap { first: 100, count: 15 };
    client.request(0, gap).unwrap();
    assert_eq!(events(&mut client), [ReplayEvent::Connect]);
    assert_eq!(log_on(&mut client, 1), (100, 109));
    client.handle_bytes(2, 0, &[frames(100..=109), logout(4)].concat());
    let found = events(&mut client);
    assert_eq!(replayed(&found), (100..=109).collect::<Vec<_>>());
    assert_eq!(found.len(), 10, "the gap is not done");
    // The client logs out, the server closes, and the next connection requests the rest.
    let bytes = client.take_bytes();
    assert_eq!(Reader::new().decode(&bytes).unwrap().msg_type(), b"5");
    client.handle_disconnected(3);
    assert_eq!(events(&mut client), [ReplayEvent::Connect]);
    assert_eq!(log_on(&mut client, 4), (110, 114));
    client.handle_bytes(5, 0, &[frames(110..=114), logout(4)].concat());
    let found = events(&mut client);
    assert_eq!(replayed(&found), (110..=114).collect::<Vec<_>>());
    assert_eq!(found.last(), Some(&ReplayEvent::Done(gap)));
    client.handle_disconnected(6);
    assert_eq!((events(&mut client), client.poll_timeout()), (Vec::new(), None));
    assert_eq!((client.counters().requests, client.counters().replayed), (2, 15));
    assert_eq!(client.requests_left(), 3);
}

#[test]
fn bytes_may_come_one_by_one() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 3 }).unwrap();
    log_on(&mut client, 0);
    for byte in [frames(1..=3), logout(4)].concat() {
        client.handle_bytes(1, 0, &[byte]);
    }
    assert_eq!(replayed(&events(&mut client)), [1, 2, 3]);
}

#[test]
fn a_broken_connection_asks_for_the_rest_after_a_back_off() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 9 }).unwrap();
    log_on(&mut client, 0);
    let mut bytes = frames(1..=4);
    bytes.truncate(bytes.len() - 1);
    client.handle_bytes(1, 0, &bytes);
    events(&mut client);
    client.handle_disconnected(2);
    assert_eq!(events(&mut client), []);
    assert_eq!(client.poll_timeout(), Some(2 + 100_000_000));
    client.handle_timeout(2);
    assert_eq!(events(&mut client), [], "not due");
    client.handle_timeout(2 + 100_000_000);
    assert_eq!(events(&mut client), [ReplayEvent::Connect]);
    assert_eq!(log_on(&mut client, SECOND), (4, 9));
}

#[test]
fn a_server_that_is_silent_or_refuses_connections_is_abandoned_in_the_end() {
    for is_silent in [false, true] {
        let mut client = client(options());
        let gap = Gap { first: 1, count: 9 };
        client.request(0, gap).unwrap();
        let mut now_ns = 0;
        let mut found = Vec::new();
        for _ in 0..100 {
            let new = events(&mut client);
            let connects = new.contains(&ReplayEvent::Connect);
            found.extend(new);
            match connects {
                true if is_silent => client.handle_connected(now_ns, 0),
                true => client.handle_disconnected(now_ns),
                false => {}
            }
            let Some(due_ns) = client.poll_timeout() else { break };
            now_ns = due_ns;
            client.handle_timeout(now_ns);
        }
        found.extend(events(&mut client));
        let reason = match is_silent {
            true => ReplayFailure::Timeout,
            false => ReplayFailure::Disconnected,
        };
        let connects = found.iter().filter(|event| **event == ReplayEvent::Connect).count();
        assert_eq!(connects, 4);
        assert!(found.contains(&ReplayEvent::Abandoned { gap, reason }), "{found:?}");
        assert_eq!(found.last(), Some(&ReplayEvent::Done(gap)));
        // Back-offs of 100, 200 and 400 ms.
        let waited_ns = 700_000_000 + if is_silent { 4 * 5 * SECOND } else { 0 };
        assert_eq!(now_ns, waited_ns);
    }
}

#[test]
fn numbers_that_the_server_leaves_out_are_abandoned() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 9 }).unwrap();
    log_on(&mut client, 0);
    events(&mut client);
    client.handle_bytes(1, 0, &[frames(1..=2), frames(5..=7), logout(4)].concat());
    let reason = ReplayFailure::NotAvailable;
    let found = events(&mut client);
    assert_eq!(replayed(&found), [1, 2, 5, 6, 7]);
    for gap in [Gap { first: 3, count: 2 }, Gap { first: 8, count: 2 }] {
        assert!(found.contains(&ReplayEvent::Abandoned { gap, reason }), "{found:?}");
    }
    assert_eq!(client.counters().abandoned, 4);
}

#[test]
fn a_gap_that_ends_does_not_touch_the_next_one() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 2 }).unwrap();
    client.request(0, Gap { first: 4, count: 2 }).unwrap();
    assert_eq!(log_on(&mut client, 0), (1, 2));
    client.handle_bytes(1, 0, &frames(1..=2));
    client.handle_bytes(1, 0, &logout(4));
    client.handle_disconnected(2);
    assert_eq!(log_on(&mut client, 3), (4, 5));
    client.handle_bytes(4, 0, &frames(4..=5));
    // The server closes without a Logout after it has sent everything.
    client.handle_disconnected(5);
    let found = events(&mut client);
    assert_eq!(replayed(&found), [1, 2, 4, 5]);
    assert_eq!(found.last(), Some(&ReplayEvent::Done(Gap { first: 4, count: 2 })));
    assert_eq!(client.counters().abandoned, 0);
}

#[test]
fn the_limit_of_requests_holds_for_a_day() {
    let mut client = client(ReplayOptions { requests_max: 1, ..options() });
    let gap = |first| Gap { first, count: 1 };
    assert_eq!(
        client.request(0, Gap { first: 1, count: 11 }),
        Err(ReplayFailure::RequestLimit),
        "needs two requests"
    );
    client.request(0, gap(1)).unwrap();
    log_on(&mut client, 0);
    client.handle_bytes(1, 0, &[frame(1), logout(4)].concat());
    client.handle_disconnected(1);
    assert_eq!(client.request(2, gap(2)), Err(ReplayFailure::RequestLimit));
    client.begin_day();
    client.request(3, gap(2)).unwrap();
}

#[test]
fn refusals_have_reasons() {
    for (status, reason, is_for_the_day) in [
        (5, ReplayFailure::Credentials, true),
        (100, ReplayFailure::RequestLimit, true),
        (102, ReplayFailure::NotAvailable, false),
        (103, ReplayFailure::Refused { status: 103 }, false),
    ] {
        let mut client = client(options());
        let gap = Gap { first: 1, count: 2 };
        client.request(0, gap).unwrap();
        log_on(&mut client, 0);
        client.handle_bytes(1, 0, &logout(status));
        client.handle_disconnected(1);
        let found = events(&mut client);
        assert!(found.contains(&ReplayEvent::Abandoned { gap, reason }), "{status}: {found:?}");
        let again = client.request(2, gap);
        assert_eq!(again, if is_for_the_day { Err(reason) } else { Ok(()) });
    }
}

#[test]
fn a_range_that_is_too_long_is_halved() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 10 }).unwrap();
    assert_eq!(log_on(&mut client, 0), (1, 10));
    client.handle_bytes(1, 0, &logout(101));
    client.handle_disconnected(2);
    assert_eq!(log_on(&mut client, 3), (1, 5));
}

#[test]
fn what_is_not_of_the_protocol_ends_the_connection() {
    let bad = [
        b"HTTP/1.1 400\r\n\r\n".to_vec(),
        vec![0, 1, 0, 0, 1],
        vec![0, 0, 0, 0],
        frame(99),
        [frame(2), frame(1)].concat(),
        [frame(1), frame(1)].concat(),
        vec![0, 0, 0, 1, 7],
    ];
    for bytes in bad {
        let mut client = client(options());
        client.request(0, Gap { first: 1, count: 3 }).unwrap();
        log_on(&mut client, 0);
        events(&mut client);
        client.handle_bytes(1, 0, &bytes);
        assert!(events(&mut client).contains(&ReplayEvent::Disconnect), "{bytes:?}");
        assert_eq!(client.counters().failures, 1);
    }
}

#[test]
fn gaps_are_bounded_in_length_and_number() {
    let mut client = client(ReplayOptions { gaps_max: 2, gap_max: 20, ..options() });
    let ask = |client: &mut Client, count| client.request(0, Gap { first: 1, count });
    assert_eq!(ask(&mut client, 21), Err(ReplayFailure::TooLong));
    assert_eq!(ask(&mut client, 1), Ok(()));
    assert_eq!(ask(&mut client, 1), Ok(()));
    assert_eq!(ask(&mut client, 1), Err(ReplayFailure::Busy));
}

#[test]
fn a_new_epoch_forgets_the_gaps() {
    let mut client = client(options());
    client.request(0, Gap { first: 1, count: 9 }).unwrap();
    log_on(&mut client, 0);
    client.handle_bytes(1, 0, &frames(1..=3));
    client.begin_epoch();
    assert_eq!(events(&mut client), [ReplayEvent::Disconnect]);
    client.handle_bytes(2, 0, &frames(4..=5));
    client.handle_disconnected(3);
    assert_eq!((events(&mut client), client.poll_timeout()), (Vec::new(), None));
}

#[test]
fn passwords_are_not_in_debug_output() {
    let client = client(options());
    assert!(!format!("{client:?}").contains("secret"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic_and_memory_is_bounded(
        chunks in proptest::collection::vec(
            proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), 0..20)
    ) {
        let mut client = client(options());
        client.request(0, Gap { first: 1, count: 9 }).unwrap();
        log_on(&mut client, 0);
        for (time, chunk) in chunks.iter().enumerate() {
            client.handle_bytes(time as u64, 0, chunk);
            client.handle_timeout(time as u64);
        }
    }
}
