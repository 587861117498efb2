//! `tickwire export --fix`: captures, compressed logs, settings that are compared, names of tables.

mod support;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use support::{directory, file, fix_message, tcp_pcap, tickwire};

fn order(number: usize) -> String {
    let time = "20240102-23:59:59";
    fix_message(&format!(
        "35=D|49=A|56=B|34={number}|52={time}|11=c{number}|55=MSFT|54=1|60={time}|38=10|40=2|44=1.25|"
    ))
}

fn log(count: usize) -> String {
    (1..=count).map(|number| order(number) + "\n").collect()
}

fn read(path: &Path) -> RecordBatch {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let mut batches = reader.build().expect("a reader").map(|batch| batch.expect("a batch"));
    let batch = batches.next().expect("rows");
    assert!(batches.next().is_none(), "one batch");
    batch
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).expect("a column").as_string::<i32>();
    column.iter().flatten().map(str::to_owned).collect()
}

/// Metadata of a table.
fn metadata(path: &Path) -> Vec<(String, String)> {
    let file = File::open(path).expect("a file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let mut found: Vec<_> = reader.schema().metadata().clone().into_iter().collect();
    found.sort();
    found
}

fn manifest(directory: &Path) -> Value {
    let text = fs::read_to_string(directory.join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).expect("JSON")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn a_capture_that_is_cut_keeps_the_messages_before_the_cut() {
    let d = directory("export_fix_cut");
    let payloads = [order(1), order(2), order(3)];
    let segments: Vec<_> = payloads.iter().map(|text| (9001, text.as_bytes())).collect();
    let mut capture = tcp_pcap(&segments);
    capture.truncate(capture.len() - 3);
    let capture = file(&d, "x.pcap", &capture);
    let out = d.join("out");
    let run = tickwire(&format!("export --fix {capture} -o {}", out.display()));
    assert_eq!(run.status, 1, "{}", run.err);
    let orders = read(&out.join("NewOrderSingle/x.pcap.parquet"));
    assert_eq!(texts(&orders, "ClOrdID"), ["c1", "c2"]);
    assert_eq!(texts(&orders, "source"), ["10.0.0.1:40000"; 2]);
    assert_eq!(texts(&orders, "destination"), ["10.0.0.2:9001"; 2]);
    let errors = texts(&read(&out.join("errors/x.pcap.parquet")), "error");
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(error.contains("end of the file: the rest of the file cannot be read: "), "{error}");
    assert!(run.err.contains(error), "{}", run.err);
    let noted = &manifest(&out)["captures"]["x.pcap"];
    assert_eq!((&noted["messages"], &noted["errors"]), (&2.into(), &1.into()));
    // fix decode prints them, too.
    let decoded = tickwire(&format!("fix decode {capture} --format jsonl"));
    assert_eq!((decoded.status, decoded.out.lines().count()), (1, 2), "{}", decoded.err);
}

#[test]
fn a_compressed_log_that_is_cut_keeps_the_messages_before_the_cut() {
    let d = directory("export_fix_cut_log");
    let mut compressed = gzip(log(100).as_bytes());
    compressed.truncate(compressed.len() - 12);
    let log = file(&d, "x.log.gz", &compressed);
    let out = d.join("out");
    let run = tickwire(&format!("export --fix {log} -o {}", out.display()));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(read(&out.join("NewOrderSingle/x.log.gz.parquet")).num_rows() >= 90);
    let errors = texts(&read(&out.join("errors/x.log.gz.parquet")), "error");
    assert!(errors.iter().any(|error| error.contains("cannot be read")), "{errors:?}");
}

#[test]
fn compressed_logs_have_the_rows_of_the_plain_one() {
    let d = directory("export_fix_compressed");
    for (name, separator) in [("pipe", "|"), ("caret", "^A"), ("other", "~~")] {
        let text = log(3).replace('\x01', separator);
        let option = if name == "other" { "--separator ~~" } else { "" };
        let mut expected = None;
        for (suffix, bytes) in
            [("log", text.clone().into_bytes()), ("log.gz", gzip(text.as_bytes()))]
        {
            let log = file(&d, &format!("{name}.{suffix}"), &bytes);
            let out = d.join(format!("{name}.{suffix}.parquet"));
            let run =
                tickwire(&format!("export --fix {log} -o {} --template D {option}", out.display()));
            assert_eq!(run.status, 0, "{name}.{suffix}: {}", run.err);
            let rows = read(&out);
            let lines = rows.column_by_name("line").expect("a column").as_primitive::<UInt64Type>();
            assert_eq!(lines.values(), &[1, 2, 3]);
            let columns = rows.columns().to_vec();
            assert_eq!(
                *expected.get_or_insert_with(|| columns.clone()),
                columns,
                "{name}.{suffix}"
            );
        }
    }
}

#[test]
fn captures_are_filtered_by_port_and_address() {
    let d = directory("export_fix_port");
    let payloads = [order(1), order(2), order(3)];
    let segments = [(9001, &payloads[0]), (9002, &payloads[1]), (9001, &payloads[2])];
    let segments = segments.map(|(port, text)| (port, text.as_bytes()));
    let capture = file(&d, "x.pcap", &tcp_pcap(&segments));
    let text = file(&d, "x.log", log(1).as_bytes());
    let out = d.join("out");
    let export = |arguments: &str| {
        tickwire(&format!("export --fix {arguments} --force -o {}", out.display()))
    };
    for (option, expected) in [
        ("--port 9001", &["c1", "c3"][..]),
        ("--port 9002 --address 10.0.0.2", &["c2"]),
        ("", &["c1", "c2", "c3"]),
    ] {
        let run = export(&format!("{capture} {option}"));
        assert_eq!(run.status, 0, "{}", run.err);
        let orders = read(&out.join("NewOrderSingle/x.pcap.parquet"));
        assert_eq!(texts(&orders, "ClOrdID"), expected, "{option}");
    }
    let none = export(&format!("{capture} -d FIX44 --port 9009"));
    assert_eq!(none.status, 1, "{}", none.err);
    assert!(none.err.contains("no packet is sent to port 9009"), "{}", none.err);
    let refused = export(&format!("{text} --port 9001"));
    assert_eq!(refused.status, 2, "{}", refused.err);
    assert!(refused.err.contains("a text log has no addresses"), "{}", refused.err);
}

#[test]
fn options_without_an_effect_are_refused() {
    let d = directory("export_fix_options");
    let log = file(&d, "x.log", log(1).as_bytes());
    let out = d.join("out");
    let refused = |arguments: &str, named: &str| {
        let run = tickwire(&format!("export {log} {arguments} -o {}", out.display()));
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains(named), "{arguments}: {}", run.err);
        assert!(!out.exists(), "{arguments}");
    };
    for kind in ["--fix", "--opra"] {
        for option in [
            "--framing cme",
            "--reset packet",
            "--hfix 2",
            "--conformance lenient",
            "--string-max 9B",
        ] {
            let named = option.split(' ').next().unwrap_or_default();
            refused(&format!("{kind} {option}"), named);
        }
    }
    refused("--fix --input-format pcap", "--input-format");
    refused("--fix --session FIXT11", "--dictionary");
}

/// A dictionary with one message of these fields.
fn dictionary(fields: &[&str]) -> String {
    let numbered = fields.iter().zip(5001..);
    let defined = numbered
        .map(|(name, tag)| format!("<field number='{tag}' name='{name}' type='STRING'/>"))
        .collect::<String>();
    let used = fields
        .iter()
        .map(|name| format!("<field name='{name}' required='N'/>"))
        .collect::<String>();
    format!(
        "<fix major='4' minor='4'><header/><trailer/><components/>\
         <messages><message name='Order' msgtype='D' msgcat='app'>{used}</message></messages>\
         <fields>{defined}</fields></fix>"
    )
}

#[test]
fn a_run_is_resumed_only_with_settings_that_give_the_same_content() {
    let d = directory("export_fix_settings");
    let first = file(&d, "a.log", log(1).as_bytes());
    let second = file(&d, "b.log", log(1).as_bytes());
    let path = file(&d, "d.xml", dictionary(&["One"]).as_bytes());
    let out = d.join("out");
    let export = |arguments: &str| {
        tickwire(&format!("export --fix {arguments} --resume -o {}", out.display()))
    };
    let run = export(&format!("{first} -d {path}"));
    assert_eq!(run.status, 0, "{}", run.err);
    let other = |arguments: &str| {
        let run = export(arguments);
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        assert!(run.err.contains("other templates, dictionaries"), "{}", run.err);
    };
    other(&format!("{first} {second} -d {path} --separator soh"));
    other(&format!("{first} {second} -d {path} --session FIXT11"));
    other(&format!("{first} {second}"));
    // The same name, but other content.
    fs::write(&path, dictionary(&["One", "Two"])).expect("written");
    other(&format!("{first} {second} -d {path}"));
    // The same content under another name.
    let moved = file(&d, "moved.xml", dictionary(&["One"]).as_bytes());
    let run = export(&format!("{first} {second} -d {moved}"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(read(&out.join("Order/b.log.parquet")).num_rows(), 1);
    // A file that somebody deleted is written again.
    fs::remove_file(out.join("Order/a.log.parquet")).expect("removed");
    let run = export(&format!("{first} {second} -d {moved}"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(read(&out.join("Order/a.log.parquet")).num_rows(), 1);
    // Written by another version.
    let text = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    let version = format!("\"tickwire\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    let older = text.replace(&version, "\"tickwire\": \"0.0.1\"");
    fs::write(out.join("manifest.json"), older).expect("written");
    other(&format!("{first} {second} -d {moved}"));
}

#[test]
fn tables_are_below_the_directory_whatever_their_messages_are_named() {
    let d = directory("export_fix_names");
    let messages = [("../x", "D"), ("Twice", "U1"), ("Twice", "U2"), ("errors", "U3")].map(
        |(name, msg_type)| format!("<message name='{name}' msgtype='{msg_type}' msgcat='app'/>"),
    );
    let xml = format!(
        "<fix major='4' minor='4'><header/><trailer/><components/><messages>{}</messages><fields/></fix>",
        messages.concat()
    );
    let dictionary = file(&d, "d.xml", xml.as_bytes());
    let text: String =
        ["D", "U1", "U2", "U3"].map(|id| fix_message(&format!("35={id}|34=1|")) + "\n").concat();
    let log = file(&d, "a.log", text.as_bytes());
    let out = d.join("out");
    let run = tickwire(&format!("export --fix {log} -d {dictionary} -o {}", out.display()));
    assert_eq!(run.status, 0, "{}", run.err);
    for table in ["_.._x", "Twice_U1", "Twice_U2", "errors_U3"] {
        assert_eq!(read(&out.join(table).join("a.log.parquet")).num_rows(), 1, "{table}");
    }
    assert!(!d.join("x").exists());
}

#[test]
fn tables_name_their_input_and_dictionary() {
    let d = directory("export_fix_metadata");
    let text = log(1) + "8=FIX.4.4|9=5|35=0|10=000|\n";
    let log = file(&d, "a.log", text.as_bytes());
    let own = file(&d, "d.xml", dictionary(&["One"]).as_bytes());
    for (options, table, keys) in [
        ("", "NewOrderSingle", &["begin_string", "input_sha256", "msg_type", "version"][..]),
        ("", "errors", &["begin_string", "input_sha256", "version"]),
        ("-d OWN", "Order", &["dictionary_sha256", "input_sha256", "msg_type", "version"]),
        (
            "-d OWN --session FIXT11",
            "errors",
            &["dictionary_sha256", "input_sha256", "session_sha256", "version"],
        ),
    ] {
        let (out, options) = (d.join("out"), options.replace("OWN", &own));
        let run = tickwire(&format!("export --fix {log} {options} --force -o {}", out.display()));
        assert_eq!(run.status, 1, "{}", run.err);
        let found = metadata(&out.join(table).join("a.log.parquet"));
        let found: Vec<&str> =
            found.iter().map(|(key, _)| key.trim_start_matches("tickwire.")).collect();
        assert_eq!(found, keys, "{table} {options}");
    }
}
