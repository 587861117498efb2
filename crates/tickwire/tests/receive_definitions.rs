//! Instrument definitions on a separate feed, and instruments described in a feed file.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{directory, file, tickwire};

fn generate(d: &Path, options: &str) {
    let dir = d.display();
    let run = tickwire(&format!(
        "generate day -n 600 --instruments 4 -o {dir}/day.pcap --write-templates {dir}/t.xml {options}"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
}

fn at_end(arguments: &str) -> Vec<Value> {
    let run = tickwire(&format!("receive {arguments} --show books --at-end"));
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
    run.json_lines()
}

#[test]
fn definitions_tell_symbol_tick_and_expiry() {
    let d = directory("receive-definitions");
    generate(&d, "-a 233.252.3.1 -p 29300");
    let common = format!("-t {0}/t.xml --framing cme --capture {0}/day.pcap", d.display());
    let without = at_end(&format!("{common} -a 233.252.3.1 -p 29300 --snapshots"));
    assert!(without.iter().all(|book| book["tick"].is_null()), "{without:?}");
    let with = at_end(&format!("{common} -a 233.252.3.1 -p 29300 --snapshots --definitions"));
    assert_eq!(with.len(), 4);
    for book in &with {
        let tick = book["tick"].as_str().expect("a price step");
        assert!(tick.parse::<f64>().expect("a decimal") > 0.0, "{book}");
        assert!(book["expiry"].is_string(), "{book}");
    }
    // The same with a feed file, whose instruments are known before any packet arrives.
    let line =
        |group: u8, port: u16| format!("a = {{ group = \"233.252.3.{group}\", port = {port} }}\n");
    let feed = |more: &str| {
        let text = format!(
            "templates = \"t.xml\"\nframing = \"cme\"\n[channels.x]\n{more}\
             [channels.x.lines]\n{}[channels.x.snapshots]\n{}[channels.x.definitions]\n{}",
            line(1, 29_300),
            line(3, 29_302),
            line(4, 29_303)
        );
        file(&d, "feed.toml", text.as_bytes())
    };
    let capture = format!("--capture {}/day.pcap", d.display());
    assert_eq!(at_end(&format!("--feed {} {capture}", feed(""))), with);
    let json = d.join("counters.json");
    let events = tickwire(&format!(
        "receive --feed {} {capture} --show events --json {}",
        feed(""),
        json.display()
    ));
    let definitions: Vec<Value> =
        events.json_lines().into_iter().filter(|event| event["event"] == "definition").collect();
    assert_eq!(definitions.len(), 4, "each once");
    let counters: Value =
        serde_json::from_str(&std::fs::read_to_string(json).expect("a file")).expect("JSON");
    assert!(counters["definitions"].as_u64() > Some(4), "{counters:#}");
    assert_eq!(counters["lines"][2]["line"], "definitions A", "{counters:#}");

    let id = with[0]["instrument"].as_str().expect("a name");
    let known = feed(&format!(
        "instruments = [{{ id = \"{id}\", symbol = \"Known\", tick = \"0.125\" }}]\n"
    ));
    let text = std::fs::read_to_string(&known).expect("a file");
    let without_lines = text.split("[channels.x.definitions]").next().expect("a part");
    let known = file(&d, "known.toml", without_lines.as_bytes());
    let books = at_end(&format!("--feed {known} {capture}"));
    assert_eq!((&books[0]["symbol"], &books[0]["tick"]), (&"Known".into(), &"0.125".into()));
    assert!(books[1]["symbol"].is_null(), "{}", books[1]);
    // Instruments are chosen by this symbol, and by those of the definitions.
    assert_eq!(at_end(&format!("--feed {known} {capture} --instrument Known")), books[..1]);
    let symbol = with[1]["symbol"].as_str().expect("a symbol");
    assert_ne!(symbol, with[1]["instrument"]);
    let chosen = at_end(&format!("--feed {} {capture} --instrument {symbol}", feed("")));
    assert_eq!(chosen, with[1..2]);
}

#[test]
fn silence_of_a_feed_file_makes_books_stale() {
    let d = directory("receive-silence");
    generate(&d, "-a 233.252.4.1 -p 29400 --gap 1ms --silence 200ms..400ms --no-line-b");
    let feed = |silence: &str| {
        let text = format!(
            "templates = \"t.xml\"\nframing = \"cme\"\nrecovery = {{ silence = \"{silence}\" }}\n\
             [channels.x.lines]\na = {{ group = \"233.252.4.1\", port = 29400 }}\n\
             [channels.x.snapshots]\na = {{ group = \"233.252.4.3\", port = 29402 }}\n"
        );
        file(&d, "feed.toml", text.as_bytes())
    };
    let stale = |silence: &str| {
        let capture = d.join("day.pcap");
        let run = tickwire(&format!(
            "receive --feed {} --capture {} --show events",
            feed(silence),
            capture.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        run.json_lines().iter().filter(|event| event["reason"] == "silence").count()
    };
    assert_eq!(stale("10s"), 0);
    assert!(stale("100ms") > 0);
}
