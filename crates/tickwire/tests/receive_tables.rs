//! `tickwire receive --show .. --tables`.

#[path = "support/receiving.rs"]
mod receiving;
mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use receiving::Receiving;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::{directory, file, packets_of, shared, tickwire, timed_pcap};

const A: &str = "224.1.2.133:13014";

/// Arguments of a run over a simulated feed in which a packet is missing.
fn feed_with_a_gap(directory: &Path, messages: usize) -> String {
    let d = directory.display();
    let run = tickwire(&format!(
        "generate cme -n {messages} --framing cme -o {d}/f.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let packets = packets_of(&directory.join("f.bin"));
    let kept = packets.iter().zip(0_u64..).filter(|(_, index)| *index != 150);
    let kept = kept.map(|(packet, index)| (index * 1_000, A, packet.as_slice()));
    let capture = file(directory, "gap.pcap", &timed_pcap(kept));
    format!("-t {d}/f.xml --framing cme --capture {capture} -q")
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").build();
    reader.expect("a reader").map(|batch| batch.expect("a batch")).collect()
}

/// The rows of a table, in the types that JSON lines have.
fn rows(path: &Path) -> Vec<Map<String, Value>> {
    let mut rows = Vec::new();
    for batch in batches(path) {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            let columns = schema.fields().iter().zip(batch.columns());
            let members = columns.map(|(field, column)| {
                let value = if column.is_null(row) { Value::Null } else { cell(column, row) };
                (field.name().clone(), value)
            });
            rows.push(members.collect());
        }
    }
    rows
}

fn cell(column: &dyn Array, row: usize) -> Value {
    match column.data_type() {
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        DataType::UInt64 => json!(column.as_primitive::<UInt64Type>().value(row)),
        DataType::Timestamp(..) => {
            json!(column.as_primitive::<TimestampNanosecondType>().value(row))
        }
        DataType::Decimal128(38, 9) => {
            json!(shortest(column.as_primitive::<Decimal128Type>().value(row)))
        }
        other => panic!("{other}"),
    }
}

/// A number in billionths as its shortest text.
fn shortest(billionths: i128) -> String {
    let (whole, behind) = (billionths.abs() / 1_000_000_000, billionths.abs() % 1_000_000_000);
    let sign = if billionths < 0 { "-" } else { "" };
    let text = format!("{sign}{whole}.{behind:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn json_lines(arguments: &str) -> Vec<Value> {
    let run = tickwire(&format!("receive {arguments} --format jsonl"));
    assert!(run.status < 2, "{arguments}: {}", run.err);
    run.json_lines()
}

/// The rows of a book's levels, or of another kind of line.
fn expected(line: &Value, change: usize) -> Vec<Map<String, Value>> {
    let mut head = line.as_object().expect("an object").clone();
    let level = |level: &Value| match level {
        Value::Array(parts) => [parts[0].clone(), parts[1].clone(), parts[2].clone()],
        _ => [Value::Null, Value::Null, Value::Null],
    };
    for side in ["bid", "offer"] {
        if let Some(best) = head.remove(side) {
            for (part, value) in ["price", "size", "orders"].iter().zip(level(&best)) {
                head.insert(format!("{side}_{part}"), value);
            }
        }
    }
    let (Some(bids), Some(offers)) = (head.remove("bids"), head.remove("offers")) else {
        return vec![head];
    };
    for member in ["symbol", "tick", "expiry"] {
        head.remove(member);
    }
    head.insert("change".to_owned(), json!(change));
    let mut rows = Vec::new();
    for (side, levels) in [("bid", bids), ("offer", offers)] {
        for (told, position) in levels.as_array().expect("levels").iter().zip(1..) {
            let mut row = head.clone();
            row.insert("side".to_owned(), json!(side));
            row.insert("level".to_owned(), json!(position));
            for (part, value) in ["price", "size", "orders"].iter().zip(level(told)) {
                row.insert((*part).to_owned(), value);
            }
            rows.push(row);
        }
    }
    if rows.is_empty() { vec![head] } else { rows }
}

/// The tables of each kind must have the same rows as the JSON lines of the same run.
fn tables_equal_lines(d: &Path, arguments: &str) -> [usize; 4] {
    let tables = d.join("tables");
    let kinds = ["trades", "bbo", "books", "events"];
    let run = tickwire(&format!(
        "receive {arguments} --show {} --tables {}",
        kinds.join(","),
        tables.display()
    ));
    assert!(run.status < 2, "{}", run.err);
    assert_eq!(run.out, "");
    kinds.map(|kind| {
        let lines = json_lines(&format!("{arguments} --show {kind}"));
        let expected = lines.iter().enumerate().flat_map(|(index, line)| expected(line, index));
        let told = rows(&tables.join(format!("{kind}.parquet")));
        let mut told = told.iter();
        for expected in expected {
            let told = told.next().unwrap_or_else(|| panic!("{kind} lacks {expected:?}"));
            for (column, value) in told {
                let expected = expected.get(column).unwrap_or(&Value::Null);
                assert_eq!(value, expected, "{kind}, {column}: {told:?}");
            }
            for member in expected.keys() {
                assert!(told.contains_key(member), "{kind} has no column {member}");
            }
        }
        assert_eq!(told.next(), None, "{kind}");
        lines.len()
    })
}

#[test]
fn tables_have_the_rows_of_json_lines() {
    let d = directory("tables-lines");
    let arguments = feed_with_a_gap(&d, 300);
    let [trades, bbo, books, events] = tables_equal_lines(&d, &arguments);
    assert!(trades > 0 && bbo > 10 && books > 100 && events > 0, "{trades} {bbo} {books} {events}");
}

#[test]
fn tables_of_real_lines_have_the_rows_of_json_lines() {
    for (corpus, line, options) in [
        ("cme_2012", "cme_2012_sampleMD.bin", "--framing cme"),
        ("moex_forts", "moex_forts_2013.increment_a.bin", "--framing moex-forts"),
    ] {
        let Some(line) = shared(&format!("corpus/{corpus}/{line}")) else { continue };
        let d = directory(&format!("tables-{corpus}"));
        let templates = line.with_file_name("templates.xml");
        let arguments =
            format!("-t {} {options} --capture-line a={} -q", templates.display(), line.display());
        tables_equal_lines(&d, &arguments);
    }
}

#[test]
fn tables_at_the_end_and_of_one_instrument_are_those_of_json_lines() {
    let d = directory("tables-at-end");
    let arguments = feed_with_a_gap(&d, 300);
    let at_end = json_lines(&format!("{arguments} --show books --at-end"));
    let name = at_end[0]["instrument"].as_str().expect("a name");
    let options = format!("{arguments} --show books --at-end --instrument {name}");
    let tables = d.join("tables");
    let run = tickwire(&format!("receive {options} --tables {}", tables.display()));
    assert!(run.status < 2, "{}", run.err);
    let told = rows(&tables.join("books.parquet"));
    assert_eq!(told.len(), expected(&at_end[0], 0).len());
    assert!(told.iter().all(|row| row["instrument"] == name));
}

#[test]
fn the_same_capture_gives_the_same_bytes() {
    let d = directory("tables-bytes");
    let arguments = feed_with_a_gap(&d, 200);
    let [one, other] = ["one", "other"].map(|name| {
        let tables = d.join(name);
        let run =
            tickwire(&format!("receive {arguments} --show books --tables {}", tables.display()));
        assert!(run.status < 2, "{}", run.err);
        fs::read(tables.join("books.parquet")).expect("a file")
    });
    assert!(one == other);
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let d = directory("tables-mistakes");
    let arguments = feed_with_a_gap(&d, 200);
    let tables = d.join("tables");
    let options = format!("{arguments} --tables {}", tables.display());
    let told = |show: &str| {
        let run = tickwire(&format!("receive {options} {show}"));
        assert_eq!(run.status, 2, "{show}: {}", run.err);
        run.err
    };
    assert!(told("--show messages").contains("tickwire export writes them"));
    assert!(!tables.exists());
    assert!(told("").contains("--show"));
    assert!(told("--show books --format csv").contains("--format"));
    fs::create_dir(&tables).expect("a directory");
    file(&tables, "books.parquet", b"of somebody else");
    assert!(told("--show trades,books").contains("books.parquet exists: name another directory"));
    assert_eq!(names(&tables), ["books.parquet"]);
    assert_eq!(fs::read(tables.join("books.parquet")).expect("a file"), b"of somebody else");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Starts a live reception that writes tables, and waits until its files exist.
fn live(d: &Path) -> (Child, PathBuf) {
    let d = d.display();
    let templates = format!("{d}/f.xml");
    let generated =
        tickwire(&format!("generate cme -n 10 -o {d}/g.bin --write-templates {templates}"));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = port.expect("an address").port();
    let tables = PathBuf::from(format!("{d}/tables"));
    let arguments = format!(
        "receive -t {templates} --framing cme -a 239.255.77.3 -p {port} --interface 127.0.0.1 --show books,trades --tables"
    );
    let child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(arguments.split(' '))
        .arg(&tables)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let until = Instant::now() + Duration::from_secs(20);
    while names(&tables).len() < 2 {
        assert!(Instant::now() < until, "no tables: {:?}", names(&tables));
        thread::sleep(Duration::from_millis(20));
    }
    (child, tables)
}

#[test]
fn a_run_that_is_killed_leaves_no_file_that_is_not_whole() {
    let d = directory("tables-killed");
    let (mut child, tables) = live(&d);
    let arguments = feed_with_a_gap(&directory("tables-killed-feed"), 200);
    let options = format!("receive {arguments} --show books --tables {}", tables.display());
    let second = tickwire(&options);
    assert_eq!(second.status, 2, "{}", second.err);
    let told = ".books.parquet.partial: another process is writing it";
    assert!(second.err.contains(told), "{}", second.err);
    child.kill().expect("killed");
    child.wait().expect("its status");
    assert_eq!(names(&tables), [".books.parquet.partial", ".trades.parquet.partial"]);
    let third = tickwire(&options);
    assert!(third.status < 2, "{}", third.err);
    assert!(!rows(&tables.join("books.parquet")).is_empty());
}

#[test]
fn a_run_that_is_interrupted_leaves_whole_files() {
    let (mut child, tables) = live(&directory("tables-interrupted"));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    let status = child.wait().expect("its status");
    assert!(status.success(), "{status}");
    assert_eq!(names(&tables), ["books.parquet", "trades.parquet"]);
    assert_eq!(rows(&tables.join("books.parquet")).len(), 0);
}

#[test]
fn a_live_run_that_is_killed_keeps_the_rows_of_complete_files() {
    let d = directory("tables-killed-live");
    let tables = d.join("tables");
    let _ = fs::remove_dir_all(&tables);
    let generated = tickwire(&format!(
        "generate cme -n 300 --framing cme --force -o {0}/f.bin --write-templates {0}/f.xml",
        d.display()
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let group = format!("-a 239.253.{high}.{low} -p 25003");
    let receiving = Receiving::start_showing(
        &format!(
            "-t {}/f.xml --framing cme {group} --first 1 --show books --tables {} --tables-rotate-time 100ms",
            d.display(),
            tables.display()
        ),
        1,
    );
    let sent = tickwire(&format!("multicast -f {}/f.bin {group} -s 1000", d.display()));
    assert_eq!(sent.status, 0, "{}", sent.err);
    let until = Instant::now() + Duration::from_secs(60);
    while !tables.join("books.part2.parquet").exists() {
        assert!(Instant::now() < until, "{:?}", names(&tables));
        thread::sleep(Duration::from_millis(20));
    }
    // Dropping the process kills it, as kill -9 does.
    drop(receiving);
    let found = names(&tables);
    let complete: Vec<_> = found.iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(complete[..2], ["books.parquet", "books.part2.parquet"], "{found:?}");
    assert_eq!(found.len(), complete.len() + 1, "{found:?}");
    let rows = |name: &&String| {
        let count = rows(&tables.join(name)).len();
        assert!(count > 0, "{name}");
        count
    };
    let count: usize = complete.iter().map(rows).sum();
    assert!(count > 100, "{count}");
}
