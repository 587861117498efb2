//! `tickwire subscribe --record`: the files have every sample that was published, with its values.

#[path = "support/bus.rs"]
mod bus;
mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use bus::{PATIENCE, Place};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};
use support::tickwire;

/// Members of all order messages that are numbers in the templates and in the samples.
const NUMBERS: [&str; 4] = ["SequenceNumber", "Timestamp", "OrderId", "SecurityId"];

/// Publishes a feed over shared memory to a recorder, and returns the decoded messages.
fn record(place: &Place, feed: &str, directory: &Path, rows_max: u32) -> Vec<Value> {
    let (packets, templates) = place.feed(feed, "-n 2000");
    let channels = format!("/dev/shm/tickwire-test-{}-record-{feed}", std::process::id());
    let at = format!("--transport shm --shm-directory {channels} --no-echo");
    let (packets, templates) = (packets.display(), templates.display());
    let recorder =
        place.subscribe(&format!("{at} --record {} --record-rows {rows_max}", directory.display()));
    let run = tickwire(&format!(
        "publish -t {templates} -f {packets} --reset packet --subscribers 1 --domain {} {at}",
        place.domain
    ));
    let recorded = recorder.finish();
    let _ = fs::remove_dir_all(&channels);
    assert_eq!((run.status, recorded), (0, 0), "{}{}", run.out, run.err);
    let decoded = tickwire(&format!("decode {packets} -t {templates} --reset packet -q"));
    decoded.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The batches of a topic's files, and the number of files.
fn batches(topic: &Path) -> (Vec<RecordBatch>, usize) {
    let mut files: Vec<_> =
        fs::read_dir(topic).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let of_file = |path: &std::path::PathBuf| {
        let file = File::open(path).expect("readable");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build();
        reader.expect("a reader").map(|batch| batch.expect("a batch")).collect::<Vec<_>>()
    };
    (files.iter().flat_map(of_file).collect(), files.len())
}

fn number(batch: &RecordBatch, column: &str, row: usize) -> u64 {
    let column = batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
    column.as_primitive::<UInt64Type>().value(row)
}

#[test]
fn recorded_samples_have_the_values_of_the_messages() {
    let place = Place::new(90);
    let directory = place.file("recorded");
    let messages = record(&place, "simple", &directory, 300);
    let mut recorded = 0;
    for topic in ["Quote", "New", "Change", "Remove"] {
        let of_topic = |message: &&Value| message["n"] == topic;
        let expected: Vec<[u64; 4]> = messages
            .iter()
            .filter(of_topic)
            .map(|message| NUMBERS.map(|name| message["msg"][name].as_u64().expect("a number")))
            .collect();
        let (batches, files) = batches(&directory.join(topic));
        let rows = batches.iter().flat_map(|batch| {
            (0..batch.num_rows()).map(|row| NUMBERS.map(|name| number(batch, name, row)))
        });
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{topic}");
        assert_eq!(files, expected.len().div_ceil(300), "{topic}");
        recorded += expected.len();
    }
    assert_eq!(recorded, 2000);
}

#[test]
fn an_entry_of_a_sequence_is_a_row() {
    let place = Place::new(91);
    let directory = place.file("recorded");
    let messages = record(&place, "complex", &directory, 100_000);
    let sequences = messages.iter().flat_map(|message| {
        let members = message["msg"].as_object().expect("members").values();
        members.filter_map(Value::as_array).map(Vec::len)
    });
    let expected: usize = sequences.sum();
    let mut entries = 0;
    for topic in fs::read_dir(&directory).expect("a directory") {
        for batch in batches(&topic.expect("an entry").path()).0 {
            let schema = batch.schema();
            let index = schema.fields().iter().position(|field| field.name().ends_with("_index"));
            let index = batch.column(index.expect("a sequence"));
            entries += index.len() - index.null_count();
        }
    }
    assert!(expected > 1000, "{expected}");
    assert_eq!(entries, expected);
}

/// A topic with few samples: its files are complete by age, so a killed recorder loses only the last file, and the
/// next recorder keeps the incomplete file.
#[test]
fn a_killed_recorder_keeps_all_but_the_last_files() {
    let place = Place::new(95);
    let channels = format!("/dev/shm/tickwire-test-{}-record-killed", std::process::id());
    let at = format!("--transport shm --shm-directory {channels} --no-echo");
    let directory = place.file("recorded");
    let log = place.file("log");
    let record = |options: &str| {
        place.subscribe_logging(
            &log,
            &format!("{at} --stay --record {} {options}", directory.display()),
        )
    };
    let (packets, templates) = place.feed("simple", "-n 100");
    let publish = || {
        let run = tickwire(&format!(
            "publish -t {} -f {} --reset packet --subscribers 1 --domain {} {at}",
            templates.display(),
            packets.display(),
            place.domain
        ));
        assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    };
    let files = |ending: &str| {
        let files = fs::read_dir(directory.join("Quote")).into_iter().flatten();
        let names =
            files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
        let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
        names.sort();
        names
    };
    let wait = |ending: &str, count: usize| {
        let until = Instant::now() + PATIENCE;
        while files(ending).len() < count {
            assert!(Instant::now() < until, "{:?}", files(""));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let by_age = record("--record-time 1s");
    publish();
    wait(".parquet", 1);
    by_age.kill();
    // More than one file if the machine stopped the recorder for a while.
    let complete = files(".parquet");
    for partial in files(".partial") {
        fs::remove_file(directory.join("Quote").join(partial)).expect("removed");
    }
    let killed = record("");
    publish();
    wait(".partial", 1);
    killed.kill();
    let [partial] = &files(".partial")[..] else { panic!("{:?}", files("")) };
    let next = record("");
    publish();
    next.interrupt();
    next.finish();
    let _ = fs::remove_dir_all(&channels);
    assert_eq!(files(".parquet").len(), complete.len() + 1, "{:?}", files(""));
    assert_eq!(files(".partial"), [partial.as_str()]);
    let log = fs::read_to_string(&log).expect("a log");
    assert!(log.contains(&format!("{partial}: kept")), "{log}");
}

#[test]
fn a_time_without_a_recording_is_an_error() {
    let run = tickwire("subscribe --record-time 1m --topic Nothing");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(run.err.contains("--record <DIRECTORY>"), "{}", run.err);
}

/// The samples are still counted and reported, the error names the file, and no incomplete file is
/// left.
#[test]
fn a_recording_that_finds_no_room_is_an_error_that_names_the_file() {
    let place = Place::new(94);
    let (packets, templates) = place.feed("simple", "-n 60000");
    let channels = format!("/dev/shm/tickwire-test-{}-record-full", std::process::id());
    let domain = place.domain;
    let at = format!("--transport shm --shm-directory {channels} --no-echo --domain {domain}");
    let recorded = place.file("recorded");
    // 16 or 32 KiB: room for the positions of readers, but not for the recording.
    let limited = r#"trap '' XFSZ; ulimit -f 32; exec "$@""#;
    let recorder = std::process::Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_tickwire"), "subscribe", "--record"])
        .arg(&recorded)
        .args(at.split(' '))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let run = tickwire(&format!(
        "publish -t {} -f {} --reset packet --subscribers 1 {at}",
        templates.display(),
        packets.display()
    ));
    let recorder = recorder.wait_with_output().expect("it ends");
    let _ = fs::remove_dir_all(&channels);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let [out, err] =
        [recorder.stdout, recorder.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(recorder.status.code(), Some(2), "{out}{err}");
    assert!(out.contains("60000 samples") && out.contains("Nothing was lost."), "{out}");
    assert!(err.contains("000000.parquet: File too large"), "{err}");
    let topics = fs::read_dir(&recorded).into_iter().flatten();
    let files = topics.flat_map(|topic| fs::read_dir(topic.unwrap().path()).unwrap());
    assert_eq!(files.count(), 0, "no half of a file");
}
