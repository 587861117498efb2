//! `tickwire receive --show`.

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Run, directory, file, packets_of, shared, tickwire, timed_pcap};

const A: &str = "224.1.2.133:13014";
const B: &str = "224.1.2.134:13015";

fn generate(directory: &Path, what: &str) {
    let d = directory.display();
    let run = tickwire(&format!("generate {what} -o {d}/f.bin --write-templates {d}/f.xml"));
    assert_eq!(run.status, 0, "{}", run.err);
}

/// Runs a command that must exit with status 0.
fn show(arguments: &str) -> Run {
    let run = tickwire(&format!("receive {arguments}"));
    assert_eq!(run.status, 0, "{arguments}: {}", run.err);
    run
}

/// Line A without every third packet, and line B with all packets 100 ns later.
fn two_lines(directory: &Path) -> String {
    let packets = packets_of(&directory.join("f.bin"));
    let mut datagrams = Vec::new();
    for (packet, index) in packets.iter().zip(0_u64..) {
        if index % 3 != 2 {
            datagrams.push((index * 1_000, A, packet.as_slice()));
        }
        datagrams.push((index * 1_000 + 100, B, packet));
    }
    file(directory, "f.pcap", &timed_pcap(datagrams))
}

#[test]
fn messages_are_those_of_decode_with_time_and_line_each_once_and_in_order() {
    for engine in ["automatic", "generated"] {
        let d = directory(&format!("show-messages-{engine}"));
        generate(&d, "cme -n 300 --framing cme");
        let capture = two_lines(&d);
        let d = d.display();
        let shown = show(&format!(
            "-t {d}/f.xml --framing cme --engine {engine} --capture {capture} --line-b --show messages"
        ));
        assert!(shown.err.contains("300 messages in 300 packets"), "{}", shown.err);
        let decoded = tickwire(&format!("decode {d}/f.bin -t {d}/f.xml --framing cme"));
        let (shown, decoded) = (shown.json_lines(), decoded.json_lines());
        assert_eq!((shown.len(), decoded.len()), (300, 300));
        for (index, (shown, decoded)) in shown.iter().zip(&decoded).enumerate() {
            for member in ["t", "n", "msg"] {
                assert_eq!(shown[member], decoded[member], "{index}");
            }
            let (line, delay) = if index % 3 == 2 { ("B", 100) } else { ("A", 0) };
            assert_eq!(shown["line"], line);
            assert_eq!(shown["time"], index as u64 * 1_000 + delay);
        }
    }
}

#[test]
fn messages_have_the_fields_and_instruments_and_forms_asked_for() {
    let d = directory("show-forms");
    generate(&d, "cme -n 200 --framing cme");
    let capture = two_lines(&d);
    let arguments = format!(
        "-t {}/f.xml --framing cme --capture {capture} --line-b --quiet --show messages",
        d.display()
    );
    let all = show(&arguments);
    assert_eq!(all.err, "");
    let all = all.json_lines();
    let id = all[0].pointer("/msg/MDEntries/0/SecurityID").expect("an instrument");
    let name = id.to_string();
    let names = |message: &Value| {
        let entries = message["msg"]["MDEntries"].as_array();
        entries.is_some_and(|entries| entries.iter().any(|entry| entry["SecurityID"] == *id))
    };
    let expected = all.iter().filter(|message| names(message)).count();
    assert!(0 < expected && expected < all.len());
    let one = show(&format!("{arguments} --instrument {name} --fields MDEntries/SecurityID,34"));
    let one = one.json_lines();
    assert_eq!(one.len(), expected);
    let message = one[0]["msg"].as_object().expect("an object");
    assert_eq!(message.keys().collect::<Vec<_>>(), ["MsgSeqNum", "MDEntries"]);
    let entry = message["MDEntries"][0].as_object().expect("an object");
    assert_eq!(entry.keys().collect::<Vec<_>>(), ["SecurityID"]);

    let csv = show(&format!("{arguments} --format csv --fields 34")).out;
    assert!(csv.starts_with("pkt,off,time,line,t,n,entry,MsgSeqNum\n0,5,0,A,"), "{csv}");
    assert_eq!(csv.lines().count(), 201);
    let text = show(&format!("{arguments} --format text --messages 1")).out;
    assert!(text.contains("1970-01-01T00:00:00.000000000Z, line A\n"), "{text}");
    assert_eq!(show(&format!("{arguments} --messages 7")).json_lines().len(), 7);
}

#[test]
fn messages_of_one_line_have_the_places_that_decode_tells() {
    let d = directory("show-places");
    generate(&d, "cme -n 300 --framing cme --messages-per-packet 3");
    let d = d.display();
    let common = format!("-t {d}/f.xml --framing cme");
    let decoded = tickwire(&format!("decode {common} {d}/f.bin --format jsonl"));
    let shown = show(&format!("{common} --capture-line a={d}/f.bin --show messages"));
    assert!(decoded.out.contains("\"pkt\": 99"), "three messages a packet");
    let pairs = decoded.json_lines().into_iter().zip(shown.json_lines());
    for (mut decoded, mut shown) in pairs {
        decoded.as_object_mut().expect("an object").remove("pre");
        for member in ["time", "line"] {
            assert!(shown.as_object_mut().expect("an object").remove(member).is_some());
        }
        assert_eq!(decoded, shown);
    }
    assert_eq!(decoded.out.lines().count(), shown.out.lines().count());
}

#[test]
fn a_reader_that_ends_early_ends_it_quietly() {
    let d = directory("show-pipe");
    generate(&d, "cme -n 20000 --framing cme");
    let d = d.display();
    let arguments =
        format!("-t {d}/f.xml --framing cme --capture-line a={d}/f.bin --show messages");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .arg("receive")
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    reader.read_line(&mut line).expect("a line");
    drop(reader);
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(0), &b""[..]));
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let d = directory("show-mistakes");
    generate(&d, "cme -n 1 --framing cme");
    let d = d.display();
    let arguments = format!("receive -t {d}/f.xml --framing cme --capture-line a={d}/f.bin");
    for (options, expected) in [
        ("--show messages --json -", "name a file for --json"),
        ("--show messages --fields NoSuchField", "--fields: "),
        ("--fields 34", "--show"),
        ("--show nothing", "messages"),
    ] {
        let run = tickwire(&format!("{arguments} {options}"));
        assert_eq!(run.status, 2, "{options}: {}", run.err);
        assert!(run.err.contains(expected), "{options}: {}", run.err);
    }
}

/// Messages of a real line equal those of an independent decoder.
#[test]
fn messages_of_a_real_line_are_those_expected() {
    let Some(line) = shared("corpus/moex_forts/moex_forts_2013.increment_a.bin") else { return };
    let expected = shared("corpus/moex_forts/moex_forts_2013.increment_a.expected.jsonl.gz");
    let Some(expected) = expected else { return };
    let templates = line.with_file_name("templates.xml");
    let shown = show(&format!(
        "-t {} --framing moex-forts --capture-line a={} --show messages --quiet",
        templates.display(),
        line.display()
    ));
    let expected = BufReader::new(flate2::read::GzDecoder::new(
        std::fs::File::open(expected).expect("a file"),
    ));
    let mut shown = shown.out.lines();
    for line in expected.lines() {
        let expected: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let shown: Value = serde_json::from_str(shown.next().expect("a message")).expect("JSON");
        assert_eq!((&shown["t"], &shown["msg"]), (&expected["t"], &expected["msg"]));
    }
    assert_eq!(shown.next(), None);
}

/// Levels of a truth file as `[price, size, orders]`, with prices as plain decimals.
fn true_levels(side: &Value) -> Value {
    let levels = side.as_array().expect("levels").iter().map(|level| {
        let price = &level["price"];
        let (mantissa, exponent) = (price["m"].as_i64(), price["e"].as_i64());
        let price = tickwire_feed::book::Amount {
            mantissa: mantissa.expect("a mantissa"),
            exponent: exponent.expect("an exponent") as i32,
        };
        let size = level["size"].as_i64().expect("a size").to_string();
        serde_json::json!([price.to_string(), size, level["orders"]])
    });
    levels.collect()
}

/// Instruments with their true bids and offers at the end, by name, without those that had no updates.
fn true_books(path: &Path) -> Vec<(String, Value, Value)> {
    let truth = std::fs::read_to_string(path).expect("a file");
    let truth: Value = serde_json::from_str(truth.lines().last().expect("a line")).expect("JSON");
    let books = truth["books"].as_array().expect("books").iter();
    let books = books.filter(|book| book["rpt_seq"] != 0).map(|book| {
        let (bids, offers) = (true_levels(&book["bids"]), true_levels(&book["offers"]));
        (book["security"].to_string(), bids, offers)
    });
    let mut books: Vec<_> = books.collect();
    books.sort_by(|one, other| one.0.cmp(&other.0));
    books
}

#[test]
fn books_at_the_end_are_the_truth_once_each_and_by_name() {
    for (feed, framing, depth) in [("cme", "--framing cme", 10), ("complex", "--reset packet", 5)] {
        let d = directory(&format!("show-truth-{feed}"));
        let generated = if feed == "cme" { framing } else { "" };
        let truth = d.join("truth.jsonl");
        generate(&d, &format!("{feed} -n 3000 {generated} --truth {}", truth.display()));
        let capture = two_lines(&d);
        let d = d.display();
        let arguments =
            format!("-t {d}/f.xml {framing} --capture {capture} --line-b --show books --at-end -q");
        let expected = true_books(&truth);
        let told = show(&format!("{arguments} --depth {depth}")).json_lines();
        let learnt = show(&arguments).json_lines();
        assert_eq!((told.len(), learnt.len()), (expected.len(), expected.len()));
        for ((told, learnt), (name, bids, offers)) in told.iter().zip(&learnt).zip(&expected) {
            assert_eq!((&told["bids"], &told["offers"]), (bids, offers), "{name}");
            for book in [told, learnt] {
                let state = (&book["instrument"], &book["state"], &book["reason"]);
                assert_eq!(state, (&name.as_str().into(), &"fresh".into(), &Value::Null));
                assert_eq!(book["kind"], "outright");
                assert!(book["time"].as_u64().is_some_and(|ns| ns <= 3_000_000), "{book}");
            }
            // If the depth is unknown, levels that were never sent are left out.
            for (side, all) in [("bids", bids), ("offers", offers)] {
                let some = learnt[side].as_array().expect("levels");
                assert!(all.as_array().expect("levels").starts_with(some), "{name}");
            }
        }
    }
}

#[test]
fn books_change_by_change_end_as_they_are_at_the_end() {
    let d = directory("show-books");
    generate(&d, "cme -n 300 --framing cme");
    let capture = two_lines(&d);
    let arguments =
        format!("-t {}/f.xml --framing cme --capture {capture} --line-b -q", d.display());
    let changes = show(&format!("{arguments} --show books")).json_lines();
    let at_end = show(&format!("{arguments} --show books --at-end")).json_lines();
    let times: Vec<u64> = changes.iter().filter_map(|book| book["time"].as_u64()).collect();
    assert!(times.len() == changes.len() && times.is_sorted());
    for book in &at_end {
        let of = |other: &&Value| other["instrument"] == book["instrument"];
        assert_eq!(changes.iter().rfind(of), Some(book));
    }

    let name = at_end[0]["instrument"].as_str().expect("a name");
    let one = show(&format!("{arguments} --show books --instrument {name}")).json_lines();
    let expected: Vec<_> = changes.iter().filter(|book| book["instrument"] == name).collect();
    assert_eq!(one.iter().collect::<Vec<_>>(), expected);

    // Best prices are shown when they change, and equal those of the books.
    let best = show(&format!("{arguments} --show bbo --instrument {name}")).json_lines();
    let of_book = |book: &Value| (book["bids"][0].clone(), book["offers"][0].clone());
    let mut expected: Vec<_> = one.iter().map(of_book).collect();
    expected.dedup();
    let best: Vec<_> =
        best.iter().map(|best| (best["bid"].clone(), best["offer"].clone())).collect();
    assert_eq!(best, expected);

    let csv = show(&format!("{arguments} --show books --at-end --format csv")).out;
    let heading = "time,instrument,state,reason,kind,side,level,price,size,orders\n";
    assert!(csv.starts_with(heading), "{csv}");
    let levels = |side: &str| -> usize {
        at_end.iter().filter_map(|book| book[side].as_array()).map(Vec::len).sum()
    };
    assert_eq!(csv.lines().count(), 1 + levels("bids") + levels("offers"));
    let text = show(&format!("{arguments} --show books --at-end --format text")).out;
    assert_eq!(text.lines().count(), at_end.len());
}

#[test]
fn events_tell_gaps_and_which_books_are_stale_and_why() {
    let d = directory("show-events");
    generate(&d, "cme -n 300 --framing cme");
    let packets = packets_of(&d.join("f.bin"));
    let kept = packets.iter().zip(0_u64..).filter(|(_, index)| *index != 150);
    let kept = kept.map(|(packet, index)| (index * 1_000, A, packet.as_slice()));
    let capture = file(&d, "gap.pcap", &timed_pcap(kept));
    let arguments = format!("-t {}/f.xml --framing cme --capture {capture} -q", d.display());
    let events = show(&format!("{arguments} --show events")).json_lines();
    let gaps: Vec<_> = events.iter().filter(|event| event["event"] == "gap").collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!((&gaps[0]["first"], &gaps[0]["count"]), (&151.into(), &1.into()));
    let stale: Vec<_> = events.iter().filter(|event| event["event"] == "stale").collect();
    assert!(!stale.is_empty());
    assert!(
        stale.iter().all(|event| event["reason"].is_string() && event["instrument"].is_string())
    );

    // Events and books agree on the state of each book.
    let at_end = show(&format!("{arguments} --show books --at-end")).json_lines();
    for book in at_end {
        let of = |event: &&Value| {
            let is_state = event["event"] == "fresh" || event["event"] == "stale";
            is_state && event["instrument"] == book["instrument"]
        };
        let last = events.iter().rfind(of).expect("an event");
        assert_eq!((&last["event"], &last["reason"]), (&book["state"], &book["reason"]));
    }
    let csv = show(&format!("{arguments} --show events --format csv")).out;
    assert!(csv.starts_with("time,event,instrument,kind,reason,line,since,first,count,"), "{csv}");
    assert!(csv.contains(",gap,,,,,,151,1,"), "{csv}");
}

#[test]
fn trades_of_a_real_line_have_price_size_and_time() {
    let Some(line) = shared("corpus/cme_2012/cme_2012_sampleMD.bin") else { return };
    let templates = line.with_file_name("templates.xml");
    let trades = show(&format!(
        "-t {} --framing cme --capture-line a={} --show trades -q",
        templates.display(),
        line.display()
    ));
    let trades = trades.json_lines();
    assert!(trades.len() > 10, "{}", trades.len());
    for trade in &trades {
        assert_eq!(trade["event"], "trade");
        for member in ["instrument", "action", "price", "size"] {
            assert!(trade[member].is_string(), "{trade}");
        }
    }
}
