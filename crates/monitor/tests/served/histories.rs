//! The history of FIX sessions, topics and sent lines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::api::{check, document};
use crate::common::{get, serve};
use serde_json::{Value, json};
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{BusDescription, BusFacts, BusRole, MonitorBuilder, SentFacts, TopicFacts};
use tickwire_telemetry::metrics::Distribution;

#[test]
fn sessions_and_topics_have_a_history() {
    let mut builder = MonitorBuilder::new("test", "0");
    let tap = builder.set_bus(BusDescription {
        role: BusRole::Publisher,
        transport: "shm".to_owned(),
        topics: vec!["Quote".to_owned()],
    });
    let received = AtomicU64::new(0);
    builder.set_fix(Box::new(move || {
        let received = received.fetch_add(1, Ordering::Relaxed);
        let counters = json!({"received": received, "sent": 0, "resent": 0, "rejected": 0});
        json!({"sessions": [{"name": "S", "state": "logged_on", "next_sender": 7, "counters": counters}]})
    }));
    let served = serve(builder, None);
    let address = served.server.address();
    let topic = |samples| TopicFacts { samples, matched: 2, backlog: Some(3) };
    tap.publish(monotonic_ns(), BusFacts { topics: vec![topic(10)], ..BusFacts::default() });
    let history = |query: &str| get(address, &format!("/api/v1/history?{query}"));
    let until = |query: &str, is_so: &dyn Fn(&[Value]) -> bool| {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let answer = history(query);
            let seconds = answer.json()["seconds"].as_array().cloned().unwrap_or_default();
            if is_so(&seconds) {
                return seconds;
            }
            assert!(Instant::now() < end, "{}", answer.body);
            thread::sleep(Duration::from_millis(50));
        }
    };
    until("of=topics", &|seconds| !seconds.is_empty());
    tap.publish(monotonic_ns(), BusFacts { topics: vec![topic(35)], ..BusFacts::default() });
    let quote = |second: &Value| second["topics"][0].clone();
    let samples = |second: &Value| quote(second)["samples"].as_u64().unwrap();
    let seconds = until("of=topics", &|all| all.iter().map(samples).sum::<u64>() == 25);
    let last = quote(seconds.last().unwrap());
    assert_eq!((&last["matched"], &last["backlog_samples"]), (&json!(2), &json!(3)));
    let document = document();
    let pointer = "/paths/~1api~1v1~1history/get/responses/200/content/application~1json/schema";
    let schemas = &document.pointer(pointer).unwrap()["oneOf"];
    check(&document, &schemas[2], &history("of=topics").json(), "topics");
    let csv = history("of=topics&format=csv");
    assert!(csv.head.contains("text/csv") && csv.body.contains(",Quote_backlog\n"), "{}", csv.body);
    let seconds = until("of=session&session=S", &|seconds| seconds.len() > 1);
    assert_eq!(
        (&seconds[1]["is_logged_on"], &seconds[1]["next_sender"]),
        (&json!(true), &json!(7))
    );
    assert!(seconds[1]["received"].as_u64() > Some(0), "{seconds:?}");
    check(&document, &schemas[1], &history("of=session&session=S").json(), "session");
    let csv = history("of=session&session=S&seconds=1&format=csv");
    assert_eq!(csv.body.lines().count(), 2, "{}", csv.body);
}

#[test]
fn sent_lines_have_a_history() {
    let mut builder = MonitorBuilder::new("test", "0");
    let lines = vec![("A".to_owned(), "239.1.1.1:5000".to_owned())];
    let tap = builder.set_sender(lines, Distribution::default());
    let served = serve(builder, None);
    let address = served.server.address();
    let facts = SentFacts { packets: 30, bytes: 300, lost: 2, ..SentFacts::default() };
    tap.publish(monotonic_ns(), vec![facts]);
    let end = Instant::now() + Duration::from_secs(10);
    let sums = |answer: &Value| {
        let seconds = answer["seconds"].as_array().cloned().unwrap_or_default();
        let sum = |name: &str| {
            seconds.iter().map(|second| second["lines"][0][name].as_u64().unwrap()).sum::<u64>()
        };
        ["packets", "bytes", "lost", "no_room"].map(sum)
    };
    let mut answer = Value::Null;
    while sums(&answer) != [30, 300, 2, 0] {
        assert!(Instant::now() < end, "{answer:#}");
        thread::sleep(Duration::from_millis(50));
        answer = get(address, "/api/v1/history?of=sent").json();
    }
    assert_eq!(answer["lines"], json!(["A"]));
    let document = document();
    let pointer = "/paths/~1api~1v1~1history/get/responses/200/content/application~1json/schema";
    check(&document, &document.pointer(pointer).unwrap()["oneOf"][3], &answer, "sent");
    let csv = get(address, "/api/v1/history?of=sent&format=csv&seconds=1");
    assert!(csv.body.starts_with("unix_seconds,A_packets,A_bytes,"), "{}", csv.body);
    // A process that sends nothing has no history of sent lines.
    let other = serve(MonitorBuilder::new("test", "0"), None);
    assert_eq!(get(other.server.address(), "/api/v1/history?of=sent").status, 404);
}
