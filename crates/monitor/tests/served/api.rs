//! Answers of the API, and whether they match its description.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{
    Answer, TEMPLATES, feed, get, get_with, message, post, send, serve, token, wait, wait_while,
};
use serde_json::{Value, json};
use tickwire_feed::arbiter::{Gap, Line};
use tickwire_host::clock::monotonic_ns;
use tickwire_monitor::{BusDescription, BusFacts, BusRole, MonitorBuilder, endpoints};

pub(crate) fn document() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

/// Resolves a reference of the document.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let all = schema.get("allOf").map_or(schema, |all| &all[0]);
    match all.get("$ref").and_then(Value::as_str) {
        Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
        None => all,
    }
}

/// Compares a value with its schema: types are right, and objects have all their members and no others.
pub(crate) fn check(document: &Value, schema: &Value, value: &Value, place: &str) {
    let schema = resolved(document, schema);
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        if !value.is_null() {
            check(document, &choices[0], value, place);
        }
        return;
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let Some(types) = schema.get("type") else { return };
    let types = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
    let is_number = kind == "integer" && types.contains(&json!("number"));
    assert!(types.contains(&json!(kind)) || is_number, "{place}: {value} is not {types:?}");
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(document, &schema["items"], item, &format!("{place}[{index}]"));
    }
    let Some(object) = value.as_object() else { return };
    if schema.get("properties").or(schema.get("additionalProperties")).is_none() {
        // Any object is valid.
        return;
    }
    if let Some(items) = schema.get("additionalProperties") {
        object
            .iter()
            .for_each(|(name, item)| check(document, items, item, &format!("{place}.{name}")));
        return;
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(object.contains_key(required.as_str().unwrap()), "{place} lacks {required}");
    }
    for (name, item) in object {
        let of = schema["properties"]
            .get(name)
            .unwrap_or_else(|| panic!("{place}.{name} is not described"));
        check(document, of, item, &format!("{place}.{name}"));
    }
}

#[test]
fn the_document_has_the_routes() {
    let document = document();
    let mut paths = document["paths"].as_object().unwrap().clone();
    // The document does not describe routes of other crates that a process also serves, and routes
    // of the page over several processes.
    let is_other =
        |path: &str| path == "/metrics" || path.starts_with("/sessions") || path.starts_with("/p/");
    paths.retain(|path, _| !is_other(path));
    let described: Vec<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
        })
        .collect();
    let routes: Vec<(String, String)> = endpoints()
        .into_iter()
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    assert_eq!(described, routes);
}

/// Returns the parameters of the GET request of a path that are described as arrays.
fn repeated_parameters<'d>(document: &'d Value, path: &str) -> Vec<&'d str> {
    let all = document["paths"][path]["get"]["parameters"].as_array().unwrap();
    let is_array = |of: &&Value| of["schema"]["type"] == "array" && of["explode"] == true;
    all.iter().filter(is_array).map(|of| of["name"].as_str().unwrap()).collect()
}

#[test]
fn parameters_that_may_be_repeated_are_described_as_arrays() {
    let document = document();
    for path in ["/api/v1/summary", "/api/v1/stream"] {
        assert_eq!(repeated_parameters(&document, path), ["channel", "session"], "{path}");
    }
    // Each parameter of a summary is also a parameter of its stream, with the same type.
    let parameters = |path: &str| document["paths"][path]["get"]["parameters"].as_array().unwrap();
    for of_summary in parameters("/api/v1/summary") {
        let mut of_stream = parameters("/api/v1/stream").iter();
        let same = of_stream.find(|of| of["name"] == of_summary["name"]).unwrap();
        assert_eq!(same["schema"], of_summary["schema"], "{of_summary}");
    }
}

#[test]
fn answers_are_as_the_document_says() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    feed.receive(Line::A, 6, &message(6));
    feed.give_up();
    feed.receive(Line::A, 7, &[0xC0, 0x8F]);
    feed.publish();
    wait(address, |state| {
        let channel = &state["channels"][0];
        channel["failed_packets"] == 1 && !channel["second"].is_null()
    });
    let document = document();
    let packet = get(address, "/api/v1/packets").json()["packets"][0]["id"].clone();
    let mut checked = 0;
    for (method, path) in endpoints() {
        let asked = path.replace("{id}", &packet.to_string());
        if method == "post" || path.ends_with("/stream") || path.contains("{instrument}") {
            continue;
        }
        let answer = get(address, &asked);
        assert!(
            answer.status == 200 || path == "/ready",
            "{path}: {} {}",
            answer.status,
            answer.body
        );
        let pointer = path.replace('/', "~1");
        let status = answer.status;
        let pointer =
            format!("/paths/{pointer}/get/responses/{status}/content/application~1json/schema");
        check(&document, document.pointer(&pointer).expect(path), &answer.json(), path);
        checked += 1;
    }
    assert_eq!(checked, endpoints().len() - 3);
    let body = json!({"templates": TEMPLATES, "hex": "c0 81 85"}).to_string();
    let answer = post(address, "/api/v1/explain", "Content-Type: application/json\r\n", &body);
    let schema = &document["components"]["schemas"]["Explanation"];
    check(&document, schema, &answer.json()["explanation"], "explain");
}

/// Compares an answer with the description of its status.
pub(crate) fn check_error(
    document: &Value,
    method: &str,
    path: &str,
    answer: &Answer,
    status: u16,
) {
    assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    let described = &document["paths"][path][method]["responses"][status.to_string()];
    let described = resolved(document, described);
    let schema = &described["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/Error", "{method} {path} {status}");
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    check(document, schema, &answer.json(), &format!("{method} {path} {status}"));
}

#[test]
fn errors_are_as_the_document_says() {
    let (_feed, open) = feed();
    let guarded = serve(MonitorBuilder::new("test", "0"), Some(token("errors")));
    let document = document();
    let address = open.server.address();
    let ask = |address: SocketAddr, method: &str, path: &str, headers: &str| {
        let path = path.replace("{id}", "1").replace("{instrument}", "1");
        let method = method.to_uppercase();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        send(address, head.as_bytes())
    };
    let others = [("get", "/metrics")];
    for (method, path) in endpoints().into_iter().chain(others) {
        let wrong = if method == "get" { "delete" } else { "get" };
        let answer = ask(address, wrong, path, "");
        assert!(answer.head.contains("allow: "), "{}", answer.head);
        check_error(&document, method, path, &answer, 405);
        let origin = "Origin: http://evil.example\r\n";
        check_error(&document, method, path, &ask(address, method, path, origin), 403);
        let answer = ask(guarded.server.address(), method, path, "");
        check_error(&document, method, path, &answer, 401);
    }
    for (path, asked, status) in [
        ("/api/v1/books", "/api/v1/books?limit=x", 400),
        ("/api/v1/books", "/api/v1/books?channel=x", 404),
        ("/api/v1/books/{instrument}", "/api/v1/books/x", 400),
        ("/api/v1/books/{instrument}", "/api/v1/books/1?kind=x", 400),
        ("/api/v1/books/{instrument}", "/api/v1/books/99", 404),
        ("/api/v1/history", "/api/v1/history?seconds=-1", 400),
        ("/api/v1/history", "/api/v1/history?format=x", 400),
        ("/api/v1/history", "/api/v1/history?of=x", 400),
        ("/api/v1/history", "/api/v1/history?of=session&session=x", 404),
        ("/api/v1/packets", "/api/v1/packets?channel=x", 404),
        ("/api/v1/packets", "/api/v1/packets?kind=x", 400),
        ("/api/v1/stream", "/api/v1/stream?of=packets&seq_num=x", 400),
        ("/api/v1/packets/{id}", "/api/v1/packets/x", 400),
        ("/api/v1/packets/{id}", "/api/v1/packets/99999", 404),
        ("/api/v1/stream", "/api/v1/stream?of=x", 400),
        ("/api/v1/stream", "/api/v1/stream?channel=x", 404),
    ] {
        check_error(&document, "get", path, &get(address, asked), status);
    }
    let nowhere = get(address, "/api/v1/nowhere");
    assert!(nowhere.status == 404 && nowhere.json()["error"].is_string(), "{}", nowhere.body);
}

#[test]
fn requests_without_the_right_token_are_counted() {
    let right = token("counted");
    let served = serve(MonitorBuilder::new("test", "0"), Some(right.clone()));
    let address = served.server.address();
    let shown = format!("Authorization: Bearer {}\r\n", right.expose());
    let count = || {
        let text = get_with(address, "/metrics", &shown).body;
        let name = "tickwire_http_unauthorized_requests_total ";
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{text}")).parse::<u64>().unwrap()
    };
    let before = count();
    assert_eq!(get(address, "/api/v1/state").status, 401);
    assert_eq!(get_with(address, "/ready", "Authorization: Bearer x\r\n").status, 401);
    assert!(count() >= before + 2, "{before} {}", count());
}

#[test]
fn health_and_readiness_name_stalled_topics_and_sessions_that_are_down() {
    let mut builder = MonitorBuilder::new("test", "0");
    let tap = builder.set_bus(BusDescription {
        role: BusRole::Publisher,
        transport: "shm".to_owned(),
        topics: vec!["Quote".to_owned()],
    });
    let session = |name: &str, state: &str, is_open: bool| json!({"name": name, "state": state, "enabled": true, "in_schedule": is_open});
    builder.set_fix(Box::new(move || {
        json!({"sessions": [session("UP", "logged_on", true), session("DOWN", "disconnected", true), session("CLOSED", "disconnected", false)]})
    }));
    let served = serve(builder, None);
    let address = served.server.address();
    tap.publish(monotonic_ns(), BusFacts::default());
    assert_eq!(get(address, "/health").status, 200);
    let ready = get(address, "/ready");
    assert_eq!((ready.status, &ready.json()["reasons"]), (503, &json!(["DOWN: not logged on"])));
    // The thread stops publishing.
    let stalled = json!(["publisher: its thread does not run, or a write waits"]);
    wait(address, |state| state["bus"]["status"] == "stalled");
    let health = get(address, "/health");
    assert_eq!((health.status, &health.json()["reasons"]), (503, &stalled));
    assert_eq!(get(address, "/ready").json()["reasons"].as_array().unwrap().len(), 2);
}

#[test]
fn counters_are_the_handlers() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    feed.receive(Line::B, 4, &message(4));
    feed.publish();
    let state = wait(address, |state| state["channels"][0]["delivered_packets"] == 4);
    let channel = &state["channels"][0];
    let lines = &channel["lines"];
    assert_eq!((&channel["messages"], &channel["status"]), (&json!(4), &json!("live")));
    assert_eq!(lines[0]["arbitration"]["first_packets"], 3);
    assert_eq!(lines[1]["arbitration"]["duplicate_packets"], 3);
    assert_eq!(lines[1]["received_packets"], 4);
    assert_eq!(lines[0]["arbitration"]["lost_seq_nums"], 1);
    assert_eq!(channel["next_seq_num"], "5");
    // No packets arrive any more: the lines become silent, and the process says why it is not ready.
    let is_silent = |state: &Value| state["channels"][0]["status"] == "silent";
    let state = wait_while(address, || feed.publish(), is_silent);
    assert_eq!(state["process"]["not_ready"][0], "futures: all lines are silent");
    assert_eq!(get(address, "/ready").status, 503);
    assert_eq!(get(address, "/health").status, 200);
    // Then its handler stops publishing too.
    wait(address, |state| state["channels"][0]["status"] == "stalled");
    assert_eq!(get(address, "/health").status, 503);
}

#[test]
fn a_gap_leads_to_its_packets_explained() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    feed.receive(Line::A, 6, &message(6));
    feed.give_up();
    feed.publish();
    let has_packets = |gap: &Value| !gap["packets"].as_array().unwrap().is_empty();
    let state = wait(address, |state| {
        state["channels"][0]["gaps"].as_array().unwrap().first().is_some_and(has_packets)
    });
    let gap = &state["channels"][0]["gaps"][0];
    assert_eq!(
        (&gap["first"], &gap["count"], &gap["status"]),
        (&json!("4"), &json!(2), &json!("lost"))
    );
    let newest = gap["packets"].as_array().unwrap().last().unwrap();
    let answer = get(address, &format!("/api/v1/packets/{newest}")).json();
    assert_eq!(answer["packet"]["seq_num"], "6");
    let lines = answer["explanation"]["parts"][1]["lines"].as_array().unwrap();
    let field = lines.iter().find(|line| line["cells"][2] == "n").unwrap();
    assert_eq!((&field["cells"][1], &field["cells"][6]), (&json!("86"), &json!("6")));
}

#[test]
fn a_packet_that_failed_is_found_by_its_number() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    feed.receive(Line::A, 4, &[0xC0, 0x8F]);
    feed.receive(Line::B, 4, &message(4));
    feed.receive(Line::A, 5, &message(5));
    feed.publish();
    let has_fault = |event: &Value| event["kind"] == "fault" && !event["packet"].is_null();
    let state = wait(address, |state| {
        state["channels"][0]["events"].as_array().unwrap().iter().any(has_fault)
    });
    let events = state["channels"][0]["events"].as_array().unwrap();
    let id = &events.iter().find(|event| has_fault(event)).unwrap()["packet"];
    let answer = get(address, &format!("/api/v1/packets/{id}")).json();
    assert_eq!(
        (&answer["packet"]["kind"], &answer["packet"]["seq_num"]),
        (&json!("failed"), &json!("4"))
    );
    assert_eq!(answer["explanation"]["is_right"], false);
    let error = answer["explanation"]["parts"][1]["error"].as_str().unwrap();
    assert!(error.contains("D9"), "{error}");
}

#[test]
fn the_packet_of_a_fault_is_that_of_its_line_and_time() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    // Line B delivers 5 first, which is held back until 4 arrives; line A's copy of 5 arrives later.
    feed.receive(Line::B, 5, &[0xC0, 0x8F]);
    feed.receive(Line::A, 5, &[0xC0, 0x8F]);
    feed.receive(Line::A, 4, &message(4));
    feed.publish();
    let is_failed = |state: &Value| state["channels"][0]["failed_packets"] == 1;
    let state = wait(address, is_failed);
    let events = state["channels"][0]["events"].as_array().unwrap();
    let id = &events.iter().find(|event| event["kind"] == "fault").unwrap()["packet"];
    let answer = get(address, &format!("/api/v1/packets/{id}")).json();
    let packet = &answer["packet"];
    assert_eq!((&packet["seq_num"], &packet["line"]), (&json!("5"), &json!("b")), "{packet}");
    assert_eq!(packet["kind"], "failed");
    let packets = get(address, "/api/v1/packets").json();
    let failed = packets["packets"].as_array().unwrap().iter().filter(|of| of["kind"] == "failed");
    assert_eq!(failed.count(), 1);
}

#[test]
fn a_replay_ends_though_its_event_is_dropped() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    let gap = Gap { first: 4, count: 1 };
    feed.tap.gap(gap);
    feed.tap.replay_begun(gap);
    feed.publish();
    wait(address, |state| state["channels"][0]["gaps"][0]["status"] == "replaying");
    (0..200).for_each(|number| feed.tap.silence(number % 2 == 0));
    feed.tap.replay_done(gap);
    feed.publish();
    let state = wait(address, |state| state["channels"][0]["dropped_events"].as_u64() > Some(100));
    wait(address, |state| state["channels"][0]["gaps"][0]["status"] == "filled");
    // Similar events have different ids.
    let events = state["channels"][0]["events"].as_array().unwrap();
    let ids: std::collections::BTreeSet<u64> =
        events.iter().filter_map(|event| event["id"].as_u64()).collect();
    assert_eq!(ids.len(), events.len());
}

#[test]
fn times_are_those_of_the_distribution() {
    let (mut feed, served) = feed();
    let address = served.server.address();
    (1..=1000).for_each(|time_ns| feed.decode_times.record(time_ns));
    feed.publish();
    let is_counted = |state: &Value| state["channels"][0]["latencies"][2]["count"] == 1000;
    let state = wait(address, is_counted);
    let times = &state["channels"][0]["latencies"][2];
    assert_eq!((&times["p50_ns"], &times["max_ns"]), (&json!(500), &json!(1000)));
    let sum: u64 = times["buckets"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    assert_eq!(sum, 1000);
    let history = get(address, "/api/v1/history?seconds=5").json();
    let seconds = history["seconds"].as_array().unwrap();
    let counted: u64 =
        seconds.iter().filter_map(|second| second["decode_time"]["count"].as_u64()).sum();
    assert_eq!(counted, 1000);
    assert_eq!(
        history["bounds_ns"].as_array().unwrap().len() + 1,
        times["buckets"].as_array().unwrap().len()
    );
    let csv = get(address, "/api/v1/history?format=csv");
    assert!(csv.head.contains("text/csv") && csv.body.starts_with("unix_seconds,"), "{}", csv.body);
}

#[test]
fn own_packets_and_captures_are_explained_and_faults_of_them_told() {
    let (_feed, served) = feed();
    let address = served.server.address();
    let explain = |body: Value| {
        post(address, "/api/v1/explain", "Content-Type: application/json\r\n", &body.to_string())
    };
    let answer = explain(json!({"templates": TEMPLATES, "hex": "C0 81 85"}));
    let parts = &answer.json()["explanation"]["parts"];
    assert_eq!(parts[0]["lines"][2]["cells"][6], "5");
    // Two packets, each after its length.
    let capture = "03000000c0818503000000c08186";
    let answer =
        explain(json!({"templates": TEMPLATES, "hex": capture, "is_capture": true, "packet": 1}));
    assert_eq!(answer.json()["explanation"]["hex"], "c08186");
    // With the templates and the framing of a channel.
    let answer = explain(json!({"channel": "futures", "hex": "00 00 00 07 00 c0 81 85"})).json();
    let parts = &answer["explanation"]["parts"];
    assert_eq!(
        (&parts[0]["seq_num"], &parts[1]["lines"][2]["cells"][6]),
        (&json!("7"), &json!("5"))
    );
    assert_eq!(explain(json!({"channel": "x", "hex": "c0"})).status, 404);
    for (body, wanted) in [
        (json!({"templates": "<nonsense", "hex": "c0"}), "templates: "),
        (json!({"templates": TEMPLATES, "hex": "c"}), "hex: "),
        (json!({"templates": TEMPLATES, "hex": "c0", "framing": "no such"}), "framing: "),
        (json!({"templates": TEMPLATES, "hex": "c0", "reset": "sometimes"}), "reset: "),
        (
            json!({"templates": TEMPLATES, "hex": capture, "is_capture": true, "packet": 9}),
            "the capture",
        ),
        (
            json!({"templates": TEMPLATES, "hex": capture, "is_capture": true, "packet": 1_000_000_000}),
            "packet: ",
        ),
    ] {
        let answer = explain(body);
        assert_eq!(answer.status, 422, "{}", answer.body);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn a_handler_never_waits_for_a_monitor_that_does_not_run() {
    let mut builder = tickwire_monitor::MonitorBuilder::new("test", "0.0.0");
    let mut feed = crate::common::Feed::new(&mut builder);
    let begun = std::time::Instant::now();
    for number in 0..10_000 {
        feed.receive(Line::A, (number % 200) as u8, &message(1));
        feed.publish();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let served = crate::common::serve(builder, None);
    feed.publish();
    let dropped = |state: &Value| state["channels"][0]["dropped_events"].as_u64() > Some(1000);
    wait(served.server.address(), dropped);
}
