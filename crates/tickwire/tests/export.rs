//! `tickwire export`: captures as Parquet and Arrow files.

mod support;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{CORPORA, directory, file, fix_message, shared, tickwire, u32be};

const XML: &str = r#"<templates>
<template name="Tick" id="1"><uInt32 name="Price"/></template>
<template name="Other" id="2"><uInt32 name="Size"/></template>
<template name="errors" id="3"><uInt32 name="Size"/></template></templates>"#;
/// Messages of these templates, each with its id.
const TICK: &[u8] = &[0xC0, 0x81, 0x85];
const OTHER: &[u8] = &[0xC0, 0x82, 0x87];
const ERRORS: &[u8] = &[0xC0, 0x83, 0x88];
/// No template has this id.
const UNKNOWN: &[u8] = &[0xC0, 0x8F, 0x87];

fn read(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").build();
    reader.expect("a reader").map(|batch| batch.expect("a batch")).collect()
}

fn manifest(directory: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(directory.join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).expect("JSON")
}

/// Files below a directory, in order.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files_in(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn a_directory_has_a_table_a_template_and_what_was_lost() {
    let d = directory("export_directory");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let first = file(&d, "first.bin", &u32be(&[TICK, &[TICK, OTHER].concat(), UNKNOWN, ERRORS]));
    let second = file(&d, "second.bin", &u32be(&[TICK]));
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let command = format!(
        "export {first} {second} -t {templates} --reset packet -o {} --threads 2",
        out.display()
    );
    let run = tickwire(&command);
    assert_eq!(run.status, 1, "a packet was lost: {}", run.err);
    let names: Vec<String> = files_in(&out)
        .iter()
        .map(|path| path.strip_prefix(&out).expect("below").display().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "Other/first.bin.parquet",
            "Tick/first.bin.parquet",
            "Tick/second.bin.parquet",
            "errors/first.bin.parquet",
            "errors_3/first.bin.parquet",
            "manifest.json",
        ]
    );
    let [ticks] = &read(&out.join("Tick/first.bin.parquet"))[..] else { panic!("one batch") };
    let column = |name: &str| ticks.column_by_name(name).expect("a column").clone();
    assert_eq!(column("Price").as_primitive::<UInt32Type>().values(), &[5, 5]);
    assert_eq!(column("pkt").as_primitive::<UInt64Type>().values(), &[0, 1]);
    let [errors] = &read(&out.join("errors/first.bin.parquet"))[..] else { panic!("one batch") };
    assert_eq!(errors.num_rows(), 1);
    assert_eq!(errors.column(0).as_primitive::<UInt64Type>().values(), &[2]);
    let text =
        errors.column_by_name("error").expect("a column").as_string::<i32>().value(0).to_owned();
    assert!(text.contains("D9"), "{text}");
    assert!(run.err.contains(&text), "printed too: {}", run.err);

    let entry = &manifest(&out)["captures"]["first.bin"];
    assert_eq!(
        (&entry["packets"], &entry["messages"], &entry["errors"]),
        (&4.into(), &4.into(), &1.into())
    );
    assert_eq!(entry["rows"], serde_json::json!({"Tick": 2, "Other": 1, "errors_3": 1}));

    let again = tickwire(&command);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("--resume") && again.err.contains("--force"), "{}", again.err);
}

#[test]
fn a_run_that_goes_on_leaves_out_what_is_there_and_takes_what_changed() {
    let d = directory("export_resume");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let first = file(&d, "first.bin", &u32be(&[TICK]));
    let second = file(&d, "second.bin", &u32be(&[TICK]));
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let export = |captures: &str| {
        tickwire(&format!(
            "export {captures} -t {templates} --reset packet -o {} --resume",
            out.display()
        ))
    };
    assert_eq!(export(&first).status, 0);
    // A file whose rewriting would be noticed.
    let table = out.join("Tick/first.bin.parquet");
    std::fs::write(&table, "marked").expect("written");
    let run = export(&format!("{first} {second}"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(std::fs::read(&table).expect("a file"), b"marked");
    assert_eq!(read(&out.join("Tick/second.bin.parquet"))[0].num_rows(), 1);

    file(&d, "first.bin", &u32be(&[TICK, TICK]));
    assert_eq!(export(&format!("{first} {second}")).status, 0);
    assert_eq!(read(&table)[0].num_rows(), 2);
    assert_eq!(manifest(&out)["captures"]["first.bin"]["rows"]["Tick"], 2);
}

#[test]
fn a_run_that_is_killed_leaves_no_file_that_is_not_whole() {
    let d = directory("export_killed");
    let name = |name: &str| d.join(name).display().to_string();
    let (feed, templates) = (name("f.bin"), name("t.xml"));
    let made =
        tickwire(&format!("generate cme -n 20000 -o {feed} --write-templates {templates} --force"));
    assert_eq!(made.status, 0, "{}", made.err);
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let arguments =
        format!("export {feed} -t {templates} --reset packet -o {} --resume", out.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(arguments.split(' '))
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let partial = out.join("MDIncrementalRefresh/.f.bin.parquet.partial");
    let end = Instant::now() + Duration::from_secs(60);
    while !partial.exists() {
        assert!(Instant::now() < end, "the file is begun");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    let status = child.wait().expect("an end");
    assert!(!status.success(), "it was killed in the middle");
    assert_eq!(files_in(&out), [out.join(".manifest.json.partial"), partial]);

    let run = tickwire(&arguments);
    assert_eq!(run.status, 0, "{}", run.err);
    let rows: usize = read(&out.join("MDIncrementalRefresh/f.bin.parquet"))
        .iter()
        .map(RecordBatch::num_rows)
        .sum();
    let rows_noted = &manifest(&out)["captures"]["f.bin"]["rows"]["MDIncrementalRefresh"];
    assert_eq!(rows_noted, &serde_json::json!(rows));
    assert!(rows > 20_000, "{rows}");
    assert!(files_in(&out).iter().all(|path| !path.display().to_string().ends_with(".partial")));
}

#[test]
fn a_directory_has_one_export_at_a_time() {
    let d = directory("export_two_runs");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir(&out).expect("a directory");
    let lock = File::create(out.join(".manifest.json.partial")).expect("a file");
    lock.try_lock().expect("a lock");
    let capture = file(&d, "a.bin", &u32be(&[TICK]));
    let command = format!("export {capture} -t {templates} --reset packet -o {}", out.display());
    let refused = tickwire(&command);
    assert_eq!(refused.status, 2, "{}", refused.err);
    assert!(refused.err.contains("another process is writing"), "{}", refused.err);
    assert_eq!(files_in(&out), [out.join(".manifest.json.partial")]);
    drop(lock);
    let run = tickwire(&command);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(files_in(&out), [out.join("Tick/a.bin.parquet"), out.join("manifest.json")]);
}

#[test]
fn partitions_may_be_more_than_files_may_be_open() {
    let d = directory("export_many_partitions");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let packets: Vec<[u8; 4]> =
        (0..300_u32).map(|price| [0xC0, 0x81, (price >> 7) as u8, price as u8 | 0x80]).collect();
    let packets: Vec<&[u8]> = packets.iter().map(<[u8; 4]>::as_slice).collect();
    let capture = file(&d, "a.bin", &u32be(&packets));
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let program = env!("CARGO_BIN_EXE_tickwire");
    let command = format!(
        "ulimit -n 64 && exec {program} export {capture} -t {templates} --reset packet -o {} --partition Price",
        out.display()
    );
    let run = Command::new("sh").args(["-c", &command]).output().expect("a process");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(files_in(&out.join("Tick")).len(), 300);
}

#[test]
fn a_key_with_too_many_values_is_refused_before_its_files_are_written() {
    let d = directory("export_too_many_partitions");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let price = |price: u32| {
        let digits = [(price >> 14) as u8, (price >> 7 & 0x7F) as u8, price as u8 & 0x7F | 0x80];
        [&[0xC0, 0x81][..], &digits].concat()
    };
    let packets: Vec<Vec<u8>> = ((1 << 14)..(1 << 14) + 50_001).map(price).collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let capture = file(&d, "a.bin", &u32be(&packets));
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let run = tickwire(&format!(
        "export {capture} -t {templates} --reset packet -o {} --partition Price -q",
        out.display()
    ));
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("50001 files for 50001 rows"), "{}", run.err);
    assert!(!out.join("Tick").exists());
}

#[test]
fn names_that_are_no_text_are_told_apart() {
    let d = directory("export_odd_names");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    for (name, count) in [(&b"a\xFF.bin"[..], 1), (&b"a\xFE.bin"[..], 2), (&b"a=b\n.bin"[..], 3)] {
        let capture = d.join(OsStr::from_bytes(name));
        std::fs::write(&capture, u32be(&vec![TICK; count])).expect("a capture");
        let run = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .arg("export")
            .arg(&capture)
            .args(["--reset", "packet", "--resume", "-t", &templates, "-o"])
            .arg(&out)
            .output()
            .expect("a process");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let captures = manifest(&out)["captures"].clone();
    for (name, count) in [("a\\xFF.bin", 1), ("a\\xFE.bin", 2), ("a=b\n.bin", 3)] {
        assert_eq!(captures[name]["rows"]["Tick"], count, "{captures:#}");
        let path = out.join(format!("Tick/{name}.parquet"));
        assert_eq!(read(&path).iter().map(RecordBatch::num_rows).sum::<usize>(), count);
    }
}

#[test]
fn one_file_has_the_rows_of_one_template() {
    let d = directory("export_file");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let capture = file(&d, "c.bin", &u32be(&[TICK, OTHER]));
    let more = file(&d, "more.bin", &u32be(&[TICK]));
    let out = d.join("ticks.parquet");
    let _ = std::fs::remove_file(&out);
    let export = |more: &str| {
        tickwire(&format!(
            "export {capture} -t {templates} --reset packet -o {} {more}",
            out.display()
        ))
    };
    let run = export("");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("--template"), "{}", run.err);
    assert!(!out.exists());
    let run = export(&format!("{more} --template Tick"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("one capture"), "{}", run.err);
    let run = export("--template Tick");
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(read(&out).iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    let run = export("--template Tick");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("--force"), "{}", run.err);
    let run = export("--template errors --force");
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(
        read(&out).iter().map(RecordBatch::num_rows).sum::<usize>(),
        0,
        "columns without rows"
    );
    for name in ["x.txt", "x.parquet.zst"] {
        let run =
            tickwire(&format!("export {capture} -t {templates} -o {}", d.join(name).display()));
        assert_eq!(run.status, 2);
        assert!(run.err.contains(".parquet, .arrow, .csv or .jsonl"), "{}", run.err);
    }
}

#[test]
fn files_of_a_table_have_the_same_columns() {
    let d = directory("export_settings");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let others = file(&d, "o.xml", XML.replace("Price", "Value").as_bytes());
    let first = file(&d, "first.bin", &u32be(&[TICK]));
    let second = file(&d, "second.bin", &u32be(&[TICK]));
    let out = d.join("out");
    let export = |arguments: &str| {
        tickwire(&format!("export {arguments} --reset packet -o {}", out.display()))
    };
    assert_eq!(export(&format!("{first} -t {templates}")).status, 0);
    for other in [format!("-t {others}"), format!("-t {templates} --format arrow")] {
        let run = export(&format!("{second} {other} --resume"));
        assert_eq!(run.status, 2, "{other}: {}", run.err);
        assert!(run.err.contains("other templates"), "{}", run.err);
    }
    let run = export(&format!("{second} -t {others} --format arrow --force"));
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(files_in(&out), [out.join("Tick/second.bin.arrow"), out.join("manifest.json")]);

    // A capture with the same name in another directory is a different capture.
    std::fs::create_dir_all(d.join("elsewhere")).expect("a directory");
    let elsewhere = file(&d.join("elsewhere"), "second.bin", &u32be(&[TICK, TICK]));
    let run = export(&format!("{elsewhere} -t {others} --format arrow --resume"));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("another capture of this name"), "{}", run.err);
}

#[test]
fn a_capture_that_has_less_than_before_loses_its_files() {
    let d = directory("export_less");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let capture = file(&d, "c.bin", &u32be(&[TICK, OTHER, UNKNOWN]));
    let out = d.join("out");
    let export = || {
        tickwire(&format!(
            "export {capture} -t {templates} --reset packet -o {} --resume",
            out.display()
        ))
    };
    assert_eq!(export().status, 1);
    let again = export();
    assert_eq!(again.status, 1, "it still has errors: {}", again.err);
    assert!(again.err.contains("exported before, with 1 error"), "{}", again.err);
    file(&d, "c.bin", &u32be(&[OTHER]));
    assert_eq!(export().status, 0);
    assert_eq!(files_in(&out), [out.join("Other/c.bin.parquet"), out.join("manifest.json")]);
}

#[test]
fn a_capture_that_fails_keeps_no_other_from_being_exported() {
    let d = directory("export_failing");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let good = file(&d, "good.bin", &u32be(&[TICK]));
    let also = file(&d, "also.bin", &u32be(&[TICK]));
    let out = d.join("out");
    // An empty file is wrong data: status 1. A file that cannot be written is status 2.
    let bad = file(&d, "bad.bin", &[]);
    std::fs::create_dir_all(out.join("Tick")).expect("a directory");
    std::fs::write(out.join("Tick/good.bin.parquet"), "of somebody").expect("written");
    // The status does not depend on the order.
    for captures in [[&good, &bad, &also], [&also, &bad, &good], [&bad, &good, &also]] {
        let _ = std::fs::remove_file(out.join("manifest.json"));
        let _ = std::fs::remove_file(out.join("Tick/also.bin.parquet"));
        let run = tickwire(&format!(
            "export {} {} {} -t {templates} --reset packet -o {} --threads 2",
            captures[0],
            captures[1],
            captures[2],
            out.display()
        ));
        assert_eq!(run.status, 2, "{}", run.err);
        assert!(run.err.contains("good.bin.parquet: it exists"), "{}", run.err);
        assert!(run.err.contains("bad.bin: not exported: "), "{}", run.err);
    }
    assert_eq!(std::fs::read(out.join("Tick/good.bin.parquet")).expect("a file"), b"of somebody");
    assert_eq!(read(&out.join("Tick/also.bin.parquet"))[0].num_rows(), 1);
    assert!(manifest(&out)["captures"].get("also.bin").is_some());
    assert!(manifest(&out)["captures"].get("good.bin").is_none());
    let run = tickwire(&format!("export - -t {templates} -o {}", d.join("none").display()));
    assert_eq!(run.status, 2);
    let run = tickwire(&format!("export /dev/null -t {templates} -o {}", d.join("none").display()));
    assert!(run.err.contains("is not a file"), "{}", run.err);
}

#[test]
fn messages_that_no_column_can_hold_are_told() {
    const TEXT: &str = r#"<templates><template name="T" id="1"><string name="s" charset="unicode"/></template></templates>"#;
    let d = directory("export_unfit");
    let templates = file(&d, "t.xml", TEXT.as_bytes());
    let capture =
        file(&d, "c.bin", &u32be(&[&[0xC0, 0x81, 0x81, 0xFF], &[0xC0, 0x81, 0x81, b'x']]));
    let out = d.join("out");
    let export = |out: &Path| {
        tickwire(&format!(
            "export {capture} -t {templates} --reset packet --conformance lenient -o {}",
            out.display()
        ))
    };
    for out in [out.clone(), d.join("t.parquet")] {
        let run = export(&out);
        assert_eq!(run.status, 1, "{}", run.err);
        assert!(
            run.err
                .contains("packet 0: the message T at offset 0: column s: the string is not UTF-8"),
            "{}",
            run.err
        );
    }
    assert_eq!(read(&out.join("T/c.bin.parquet"))[0].num_rows(), 1);
    assert_eq!(read(&out.join("errors/c.bin.parquet"))[0].num_rows(), 1);
}

/// Two messages per second and a logon, in FIX 4.4.
fn fix_log() -> String {
    let order = |number: u32, symbol: &str, time: &str| {
        fix_message(&format!(
            "35=D|49=A|56=B|34={number}|52={time}|11=c{number}|55={symbol}|54=1|60={time}|38=10|40=2|44=1.25|"
        ))
    };
    let logon = fix_message("35=A|49=A|56=B|34=1|52=20240102-23:59:58|98=0|108=30|");
    [
        logon,
        order(2, "MSFT", "20240102-23:59:59"),
        order(3, "IBM", "20240103-00:00:00"),
        order(4, "MSFT", "20240103-00:00:01"),
    ]
    .join("\n")
}

#[test]
fn a_fix_log_is_a_table_a_message_type_and_loses_nothing() {
    let d = directory("export_fix");
    // A flipped byte, an unknown message type, and a message of another version.
    let other = "8=FIX.4.2|9=48|35=0|49=A|56=B|34=9|52=20240103-00:00:02|10=000|";
    let log = format!("{}\n{}\n{other}\n", fix_log(), fix_log().replacen("c3", "c9", 1));
    let log = file(&d, "orders.log", log.as_bytes());
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let run = tickwire(&format!("export {log} --fix -o {}", out.display()));
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("line 7") && run.err.contains("CheckSum"), "{}", run.err);
    let orders = read(&out.join("NewOrderSingle/orders.log.parquet"));
    let orders = &orders[0];
    assert_eq!(orders.num_rows(), 5, "six, of which one is flipped");
    let ids = orders.column_by_name("ClOrdID").expect("a column").as_string::<i32>();
    assert_eq!(ids.iter().flatten().collect::<Vec<_>>(), ["c2", "c3", "c4", "c2", "c4"]);
    assert!(orders.column_by_name("CheckSum").is_none());
    assert_eq!(read(&out.join("Logon/orders.log.parquet"))[0].num_rows(), 2);
    let errors = &read(&out.join("errors/orders.log.parquet"))[0];
    assert_eq!(errors.num_rows(), 2);
    let manifest = manifest(&out);
    let entry = &manifest["captures"]["orders.log"];
    assert_eq!((&entry["messages"], &entry["errors"]), (&7.into(), &2.into()));
    let sum = Command::new("sha256sum").arg(&log).output().expect("sha256sum").stdout;
    let sum = String::from_utf8(sum).expect("text");
    assert_eq!(Some(entry["sha256"].as_str().expect("text")), sum.split(' ').next());
    let table = File::open(out.join("NewOrderSingle/orders.log.parquet")).expect("a file");
    let table = ParquetRecordBatchReaderBuilder::try_new(table).expect("a Parquet file");
    assert_eq!(table.schema().metadata()["tickwire.input_sha256"], entry["sha256"]);
}

#[test]
fn one_file_has_the_chosen_fields_of_a_fix_message() {
    let d = directory("export_fix_file");
    let log = file(&d, "orders.log", fix_log().as_bytes());
    let out = d.join("orders.parquet");
    let command = format!("export {log} --fix -o {} --force", out.display());
    let several = tickwire(&command);
    assert_eq!(several.status, 2);
    assert!(several.err.contains("--template"), "{}", several.err);
    let run = tickwire(&format!("{command} --template NewOrderSingle --fields Symbol,Price"));
    assert_eq!(run.status, 0, "{}", run.err);
    let rows = &read(&out)[0];
    let names: Vec<&str> =
        rows.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(
        names,
        ["line", "off", "pkt", "time", "source", "destination", "Symbol", "Price", "other"]
    );
    assert_eq!(rows.num_rows(), 3);
    let wrong = tickwire(&format!("{command} --template D --fields Prize"));
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("no field Prize"), "{}", wrong.err);
    let wrong = tickwire(&format!("{command} --template Ordre"));
    assert!(wrong.status == 2 && wrong.err.contains("Ordre"), "{}", wrong.err);
}

#[test]
fn partitions_have_the_rows_of_their_values() {
    let d = directory("export_partitions");
    let log = file(&d, "orders.log", fix_log().as_bytes());
    let out = d.join("out");
    let _ = std::fs::remove_dir_all(&out);
    let command = format!("export {log} --fix -o {} --partition date,security", out.display());
    let run = tickwire(&command);
    assert_eq!(run.status, 0, "{}", run.err);
    let orders = out.join("NewOrderSingle");
    let names: Vec<String> = files_in(&orders)
        .iter()
        .map(|path| path.strip_prefix(&orders).expect("below").display().to_string())
        .collect();
    assert_eq!(
        names,
        [
            "date=2024-01-02/security=MSFT/orders.log.parquet",
            "date=2024-01-03/security=IBM/orders.log.parquet",
            "date=2024-01-03/security=MSFT/orders.log.parquet",
        ]
    );
    for name in &names {
        let rows = &read(&orders.join(name))[0];
        let symbol = rows.column_by_name("Symbol").expect("a column").as_string::<i32>();
        assert_eq!(rows.num_rows(), 1);
        assert!(name.contains(symbol.value(0)), "{name}");
    }
    let files = manifest(&out)["captures"]["orders.log"]["files"].as_array().expect("a list").len();
    assert_eq!(files, 4, "with that of the logon, which has no security");
    // With other partitions the earlier files are removed.
    let again = tickwire(&format!(
        "export {log} --fix -o {} --partition date --template D --force",
        out.display()
    ));
    assert_eq!(again.status, 0, "{}", again.err);
    assert_eq!(files_in(&orders).len(), 2);
}

#[test]
fn keys_of_partitions_that_no_table_has_are_refused_before_anything_is_written() {
    let d = directory("export_no_partition");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let feed = file(&d, "feed.bin", &u32be(&[TICK]));
    let out = d.join("out");
    let refused = |key: &str| {
        let run = tickwire(&format!(
            "export {feed} -t {templates} --reset packet -o {} --partition {key}",
            out.display()
        ));
        assert_eq!(run.status, 2, "{}", run.err);
        assert!(!out.exists());
        run.err
    };
    assert!(refused("Prize").contains("--partition Prize"));
    assert!(refused("Size,Size").contains("two partition keys"));
    let run = tickwire(&format!(
        "export {feed} -t {templates} --reset packet -o {}.parquet --partition Size",
        out.display()
    ));
    assert_eq!(run.status, 2);
    assert!(run.err.contains("name a directory"), "{}", run.err);
}

#[test]
fn text_by_suffix_is_what_decode_writes() {
    let d = directory("export_text");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let feed = file(&d, "feed.bin", &u32be(&[TICK, &[TICK, OTHER].concat()]));
    for name in ["rows.csv", "rows.jsonl", "rows.csv.zst"] {
        let (exported, decoded) = (d.join(name), d.join(format!("decoded.{name}")));
        let common = format!("{feed} -t {templates} --reset packet --force -q");
        let export = tickwire(&format!("export {common} -o {}", exported.display()));
        assert_eq!(export.status, 0, "{}", export.err);
        assert_eq!(tickwire(&format!("decode {common} -o {}", decoded.display())).status, 0);
        let read = |path: &Path| std::fs::read(path).expect("a file");
        assert_eq!(read(&exported), read(&decoded), "{name}");
    }
    let refused = tickwire(&format!("export {feed} -t {templates} -o {}/rows.txt", d.display()));
    assert_eq!(refused.status, 2);
}

#[test]
fn a_range_of_packets_is_what_decode_writes_of_it() {
    let d = directory("export_packets");
    let dir = d.display();
    let run =
        tickwire(&format!("generate complex -n 100 -o {dir}/f.bin --write-templates {dir}/f.xml"));
    assert_eq!(run.status, 0, "{}", run.err);
    let all = tickwire(&format!("decode {dir}/f.bin -t {dir}/f.xml --reset packet -q"));
    let lines = file(&d, "f.jsonl", all.out.as_bytes());
    // Dictionaries that are kept across packets, and dictionaries that are reset in each packet.
    for reset in ["never", "packet"] {
        let run = tickwire(&format!(
            "encode {lines} -t {dir}/f.xml --reset {reset} -o {dir}/{reset}.bin"
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let common =
            format!("{dir}/{reset}.bin -t {dir}/f.xml --reset {reset} -q --packets 40..=49");
        let export = tickwire(&format!("export {common} -o {dir}/{reset}.jsonl"));
        assert_eq!(export.status, 0, "{}", export.err);
        let decode = tickwire(&format!("decode {common}"));
        assert_eq!(decode.out.lines().count(), 10);
        let exported = std::fs::read_to_string(d.join(format!("{reset}.jsonl"))).expect("a file");
        assert_eq!(exported, decode.out, "{reset}");
        let tables = tickwire(&format!("export {common} -o {dir}/{reset}-tables"));
        assert_eq!(tables.status, 0, "{}", tables.err);
        let tables = d.join(format!("{reset}-tables"));
        let manifest = manifest(&tables);
        assert_eq!(manifest["settings"]["packets"], "40..50", "{manifest:#}");
        // The range is one of the settings that all files of a directory share.
        let other = common.replace("40..=49", "50..");
        let run = tickwire(&format!("export {other} -o {} --resume", tables.display()));
        assert_eq!(run.status, 2, "{}", run.err);
    }
    let fix = tickwire(&format!("export {dir}/f.bin --fix -o {dir}/fix --packets 1"));
    assert_eq!(fix.status, 2);
}

#[test]
fn sequence_numbers_of_preambles_are_a_column() {
    let d = directory("export_seq_num");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let numbered = |seq_num: u32| [&seq_num.to_be_bytes()[..], TICK, TICK].concat();
    let packets = [numbered(7), numbered(9), numbered(u32::MAX)];
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let capture = file(&d, "f.bin", &u32be(&packets));
    for (framing, packets, expected) in [
        ("preamble=4,seq=0:4:be", &capture, vec![Some(7), Some(9), Some(u32::MAX.into())]),
        ("preamble=4", &capture, vec![None; 3]),
    ] {
        let out = d.join(format!("{}.parquet", expected[0].unwrap_or(0)));
        let run = tickwire(&format!(
            "export {packets} -t {templates} --framing {framing} --reset packet --template Tick --force -o {}",
            out.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let batches = read(&out);
        let columns = batches.iter().flat_map(|batch| {
            let column = batch.column_by_name("seq_num").expect("a column");
            column.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>()
        });
        let twice: Vec<_> = expected.into_iter().flat_map(|number| [number; 2]).collect();
        assert_eq!(columns.collect::<Vec<_>>(), twice);
    }
}

#[test]
fn the_manifest_has_gaps_of_sequence_numbers() {
    let d = directory("export_gaps");
    let templates = file(&d, "t.xml", XML.as_bytes());
    // A sequence number is recorded even if its packet cannot be decoded.
    let numbered = |seq_num: u32, message: &[u8]| [&seq_num.to_be_bytes()[..], message].concat();
    let packets = [(1, TICK), (2, UNKNOWN), (5, TICK), (4, TICK), (9, TICK)];
    let packets: Vec<Vec<u8>> =
        packets.into_iter().map(|(number, message)| numbered(number, message)).collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let capture = file(&d, "f.bin", &u32be(&packets));
    for (framing, gaps, missing) in
        [("preamble=4,seq=0:4:be", Some(2), Some(4)), ("preamble=4", None, None)]
    {
        let out = d.join("out");
        let _ = std::fs::remove_dir_all(&out);
        let run = tickwire(&format!(
            "export {capture} -t {templates} --framing {framing} --reset packet -o {}",
            out.display()
        ));
        assert_eq!(run.status, 1, "{}", run.err);
        let noted = &manifest(&out)["captures"]["f.bin"];
        assert_eq!(noted["gaps"], serde_json::json!(gaps));
        assert_eq!(noted["missing"], serde_json::json!(missing));
        assert_eq!(noted["errors"], 1);
    }
}

#[test]
fn gaps_outside_the_range_of_packets_do_not_count() {
    let d = directory("export_gaps_of_range");
    let templates = file(&d, "t.xml", XML.as_bytes());
    let numbered = |seq_num: u32| [&seq_num.to_be_bytes()[..], TICK].concat();
    let packets = [1, 3, 4, 6, 7, 9].map(numbered);
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let capture = file(&d, "f.bin", &u32be(&packets));
    // Dictionaries that depend on earlier packets, and dictionaries that are reset in each packet.
    for reset in ["never", "packet"] {
        let out = d.join(reset);
        let run = tickwire(&format!(
            "export {capture} -t {templates} --framing preamble=4,seq=0:4:be --reset {reset} --packets 2..5 -o {}",
            out.display()
        ));
        assert_eq!(run.status, 0, "{}", run.err);
        let noted = &manifest(&out)["captures"]["f.bin"];
        assert_eq!((&noted["gaps"], &noted["missing"]), (&1.into(), &1.into()), "{reset}");
    }
}

#[test]
fn dates_of_partitions_are_those_of_times_of_every_unit() {
    let d = directory("export_date_units");
    let xml = r#"<templates><template name="T" id="1">
        <timestamp name="SendingTime" unit="millisecond"/></template></templates>"#;
    let templates = file(&d, "t.xml", xml.as_bytes());
    // 86,400,000 ms: the start of 1970-01-02.
    let message: &[u8] = &[0xC0, 0x81, 0x29, 0x19, 0x38, 0x80];
    let capture = file(&d, "f.bin", &u32be(&[message]));
    let out = d.join("out");
    let run = tickwire(&format!(
        "export {capture} -t {templates} --reset packet -o {} --partition date",
        out.display()
    ));
    assert_eq!(run.status, 0, "{}", run.err);
    let expected = [out.join("T/date=1970-01-02/f.bin.parquet"), out.join("manifest.json")];
    assert_eq!(files_in(&out), expected);
}

#[test]
fn decimals_are_the_nearest_floating_point_numbers_on_request() {
    let d = directory("export_floats");
    let xml = r#"<templates><template name="Tick" id="1"><decimal name="Px"/>
        <decimal name="Fixed"><exponent><constant value="-2"/></exponent><mantissa/></decimal>
        <decimal name="Last" presence="optional"/></template></templates>"#;
    let templates = file(&d, "t.xml", xml.as_bytes());
    // 1001e-2, 5e0, -7e3 and 3e-1; the mantissa again; absent, absent, absent, 3e-2.
    let packets: [&[u8]; 4] = [
        &[0xC0, 0x81, 0xFE, 0x07, 0xE9, 0x07, 0xE9, 0x80],
        &[0xC0, 0x81, 0x80, 0x85, 0x85, 0x80],
        &[0xC0, 0x81, 0x83, 0xF9, 0xF9, 0x80],
        &[0xC0, 0x81, 0xFF, 0x83, 0x83, 0xFE, 0x83],
    ];
    let capture = file(&d, "c.bin", &u32be(&packets));
    let out = d.join("out.parquet");
    let command =
        format!("export {capture} -t {templates} --decimals float64 -o {}", out.display());
    let run = tickwire(&command);
    assert_eq!(run.status, 0, "{}", run.err);
    let batches = read(&out);
    let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
    let values = |name: &str| -> Vec<Option<f64>> {
        let column = batch.column_by_name(name).expect("a column");
        column.as_primitive::<Float64Type>().iter().collect()
    };
    assert_eq!(values("Px"), [Some(10.01), Some(5.0), Some(-7000.0), Some(0.3)]);
    assert_eq!(values("Fixed"), [Some(10.01), Some(0.05), Some(-0.07), Some(0.03)]);
    assert_eq!(values("Last"), [None, None, None, Some(0.03)]);
}

/// The files of an export with their bytes, and its status.
fn exported(command: &str, out: &Path) -> (i32, Vec<(PathBuf, Vec<u8>)>) {
    let _ = std::fs::remove_dir_all(out);
    let run = tickwire(&format!("{command} -q -o {}", out.display()));
    assert!(run.status < 2, "{command}: {}", run.err);
    let file = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a file");
        (path.strip_prefix(out).expect("below").to_owned(), bytes)
    };
    let files: Vec<_> = files_in(out).into_iter().map(file).collect();
    assert!(files.len() > 1, "{command}");
    (run.status, files)
}

/// A log of messages of several types, with and without groups; some have a wrong CheckSum.
fn mixed_fix_log(count: usize) -> String {
    let message = |number: usize| {
        let time =
            format!("20240102-10:{:02}:{:02}.{:03}", number / 600 % 60, number % 60, number % 999);
        let head = format!("49=A|56=B|34={number}|52={time}|");
        let order = format!("11=c{number}|55=S{}|54=1|60={time}|38={number}|40=2|", number % 7);
        let price = format!("44={}.25|", number % 90);
        match number % 5 {
            0 => fix_message(&format!(
                "35=8|{head}37=o|17={number}|150=0|39=0|{order}151=1|14=0|6=0|"
            )),
            1 => fix_message(&format!("35=D|{head}{order}{price}453=2|448=X|452=3|448=Y|452=1|")),
            2 if number % 50 == 2 => {
                fix_message(&format!("35=D|{head}{order}")).replace("10=", "10=x")
            }
            _ => fix_message(&format!("35=D|{head}{order}{price}")),
        }
    };
    (0..count).map(|number| message(number) + "\n").collect()
}

#[test]
fn threads_change_no_byte() {
    let d = directory("export_threads");
    let name = |name: &str| d.join(name).display().to_string();
    let (feed, templates) = (name("f.bin"), name("t.xml"));
    let generated = tickwire(&format!(
        "generate complex -n 20000 --force -o {feed} --write-templates {templates}"
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let feed = format!("export {feed} -t {templates}");
    let mut commands = vec![
        // Dictionaries that last from packet to packet; otherwise packets do not decode, and errors have many rows.
        format!("{feed} --reset never"),
        format!("{feed} --reset packet"),
        format!("{feed} --reset never --partition date"),
        format!("{feed} --reset never --format arrow"),
    ];
    let trace = name("trace.bin");
    let generated = tickwire(&format!("opra generate --messages 20000 --force -o {trace}"));
    assert_eq!(generated.status, 0, "{}", generated.err);
    commands.push(format!("export --opra {trace}"));
    let log = file(&d, "orders.log", mixed_fix_log(10_500).as_bytes());
    for options in ["", "--partition security", "--format arrow"] {
        commands.push(format!("export --fix {log} {options}"));
    }
    for (capture, folder, framing) in CORPORA {
        let capture = shared(&format!("corpus/{capture}.bin"));
        let templates = shared(&format!("corpus/{folder}/templates.xml"));
        if let (Some(capture), Some(templates)) = (capture, templates) {
            commands.push(format!(
                "export {} -t {} --framing {framing} --input-format u32be",
                capture.display(),
                templates.display()
            ));
        }
    }
    for command in commands {
        let [one, several] = ["1", "4"]
            .map(|threads| exported(&format!("{command} --threads {threads}"), &d.join("out")));
        assert!(one == several, "{command}");
    }
}
