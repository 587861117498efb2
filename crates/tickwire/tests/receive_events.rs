//! Events and kinds of books that `tickwire receive` shows.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::{directory, file, tickwire};

fn generate(d: &Path, options: &str) -> String {
    let dir = d.display();
    let run = tickwire(&format!(
        "generate day -n 800 --instruments 3 -a 233.252.5.1 -p 29500 -o {dir}/day.pcap \
         --write-templates {dir}/t.xml {options}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    format!(
        "-t {dir}/t.xml --framing cme -a 233.252.5.1 -p 29500 --line-b --snapshots \
         --capture {dir}/day.pcap"
    )
}

fn show(arguments: &str) -> Vec<Value> {
    let run = tickwire(&format!("receive {arguments}"));
    assert!(run.status < 2, "{arguments}: {}", run.err);
    run.json_lines()
}

fn events<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn lines_that_differ_are_events_with_their_reasons() {
    let d = directory("events-lines");
    let arguments = generate(&d, "--seed 2 --wrong-line 100ms..300ms");
    let all = show(&format!("{arguments} --show events"));
    let differing = events(&all, "differing");
    assert!(!differing.is_empty());
    assert!(differing.iter().all(|event| event["seq_num"].is_u64() && event["time"].is_u64()));
    let excluded = events(&all, "excluded");
    assert!(!excluded.is_empty());
    for event in excluded {
        let expected = ["event", "time", "instrument", "line", "reason"];
        let members: Vec<&String> = event.as_object().expect("an object").keys().collect();
        assert_eq!(members, expected);
        assert!(["A", "B"].contains(&event["line"].as_str().expect("a line")), "{event}");
    }
    assert!(!events(&all, "resumed").is_empty());
}

#[test]
fn silence_begins_and_ends_with_events_and_books_say_why() {
    let d = directory("events-silence");
    generate(&d, "--silence 200ms..400ms,200ms..400ms");
    let text = "templates = \"t.xml\"\nframing = \"cme\"\nrecovery = { silence = \"100ms\" }\n\
                [channels.x.lines]\na = { group = \"233.252.5.1\", port = 29500 }\n\
                b = { group = \"233.252.5.2\", port = 29501 }\n\
                [channels.x.snapshots]\na = { group = \"233.252.5.3\", port = 29502 }\n";
    let feed = file(&d, "feed.toml", text.as_bytes());
    let all = show(&format!("--feed {feed} --capture {}/day.pcap --show events", d.display()));
    let (silent, heard) = (events(&all, "silent"), events(&all, "heard"));
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert!(silent[0]["since"].as_u64() <= silent[0]["time"].as_u64());
    assert_eq!(heard.len(), 1, "{heard:?}");
    let stale = events(&all, "stale");
    assert!(stale.iter().any(|event| event["reason"] == "silence"), "{stale:?}");
}

#[test]
fn a_silent_line_and_its_return_are_events_and_logged() {
    let d = directory("events-line-silence");
    let arguments = generate(&d, "--silence 200ms..400ms,never");
    let run = tickwire(&format!("receive {arguments} --heartbeat-interval 50ms --show events"));
    assert_eq!(run.status, 0, "{}", run.err);
    let all = run.json_lines();
    let (silent, heard) = (events(&all, "line_silent"), events(&all, "line_heard"));
    assert_eq!((silent.len(), heard.len()), (1, 1), "{silent:?} {heard:?}");
    let members: Vec<&String> = silent[0].as_object().expect("an object").keys().collect();
    assert_eq!(members, ["event", "time", "instrument", "line", "since"]);
    assert_eq!((&silent[0]["line"], &heard[0]["line"]), (&"A".into(), &"A".into()));
    let ns = |event: &Value, member: &str| event[member].as_u64().expect("a time");
    let (since, told, again) =
        (ns(silent[0], "since"), ns(silent[0], "time"), ns(heard[0], "time"));
    assert!(since + 100_000_000 <= told && told < again, "{since} {told} {again}");
    for text in ["line A is silent: ", "line A sends again"] {
        assert!(run.err.contains(text), "{}", run.err);
    }
    // A line B on which nothing arrives, because its port is wrong.
    let other_port = format!("{arguments} --port-b 29509 --heartbeat-interval 50ms --show events");
    let run = tickwire(&format!("receive {other_port}"));
    let all = run.json_lines();
    assert_eq!(events(&all, "line_silent")[0]["since"], Value::Null);
    assert!(run.err.contains("line B has sent nothing"), "{}", run.err);
}

#[test]
fn consolidated_books_add_up_outright_and_implied_ones() {
    let d = directory("events-consolidated");
    let arguments = generate(&d, "--implied");
    let at_end = |options: &str| show(&format!("{arguments} {options} --show books --at-end"));
    let kinds = |books: &[Value]| {
        let kinds = books.iter().map(|book| book["kind"].as_str().expect("a kind").to_owned());
        kinds.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(kinds(&at_end("")), ["outright"]);
    assert_eq!(kinds(&at_end("--implied")), ["implied", "outright"]);
    assert_eq!(kinds(&at_end("--consolidated")), ["consolidated", "outright"]);
    let all = at_end("--implied --consolidated");
    assert_eq!(all.len(), 9, "three instruments of three kinds");
    let best = |book: &Value, side: &str| -> BTreeMap<String, f64> {
        let levels = book[side].as_array().expect("levels").iter();
        let level = |level: &Value| {
            let text = |index: usize| level[index].as_str().expect("text").to_owned();
            (text(0), text(1).parse().expect("a size"))
        };
        levels.map(level).collect()
    };
    for books in all.chunks(3) {
        let [outright, implied, both] = books else { panic!("{books:?}") };
        assert_eq!(both["kind"], "consolidated");
        assert_eq!(outright["instrument"], both["instrument"]);
        for side in ["bids", "offers"] {
            let mut expected = best(outright, side);
            for (price, size) in best(implied, side) {
                *expected.entry(price).or_default() += size;
            }
            assert_eq!(best(both, side), expected, "{side} of {both}");
        }
    }
    let live = show(&format!("{arguments} --consolidated --show books"));
    let both: Vec<&Value> = live.iter().filter(|book| book["kind"] == "consolidated").collect();
    assert_eq!(both.last().map(|book| &book["state"]), Some(&"fresh".into()));
    for pair in both.windows(2) {
        assert_ne!(pair[0], pair[1], "each change once");
    }
}

#[test]
fn a_feed_without_trades_is_told_from_one_of_other_instruments() {
    let told = |options: &str, shown: &str| {
        let d = directory("events-trades");
        let arguments = generate(&d, &format!("{options} --force"));
        let run = tickwire(&format!("receive {arguments} --show trades -q {shown}"));
        assert!(run.status < 2, "{}", run.err);
        (run.out.lines().count(), run.err)
    };
    let (rows, err) = told("--no-trades", "");
    assert_eq!(rows, 0);
    assert!(err.contains("--show trades: no message has a trade (MDEntryType 2)"), "{err}");
    let (rows, err) = told("", "--instrument 99");
    assert_eq!(rows, 0);
    assert!(err.contains("none of the instruments of --instrument"), "{err}");
    let (rows, err) = told("", "");
    assert!(rows > 0);
    assert!(!err.contains("--show trades"), "{err}");
}
