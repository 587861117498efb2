//! Kills `tickwire export` and `receive --tables`, or fills their disk, at each stage of writing their files.
//!
//! A preloaded library counts writes, syncs and renames. At one of these calls it kills the process, or it reports a
//! full disk from then on.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use support::{directory, file, packets_of, tickwire, timed_pcap, u32be};

const XML: &str = r#"<templates>
<template name="Tick" id="1"><uInt32 name="Price"/></template>
<template name="Other" id="2"><uInt32 name="SecurityID" id="48"/></template></templates>"#;
/// A message with a template id that does not exist, which gives a row in the table of errors.
const UNKNOWN: &[u8] = &[0xC0, 0x8F, 0x87];

/// Returns the path of the library, which is compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/faults.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults.so");
        let arguments = ["-shared", "-fPIC", "-O1", "-o"];
        // Compile with the linker that Rust programs use.
        let compiled = Command::new("cc").args(arguments).arg(&library).arg(source).output();
        let compiled = compiled.expect("cc runs");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        library
    })
}

/// A command whose output is a file or a directory.
struct Case {
    /// Working directory, which contains the inputs.
    directory: PathBuf,
    /// Command line with `OUT` in place of the output.
    command: String,
    /// Name of the output.
    out: &'static str,
    /// Option that continues an interrupted run; `None` if the command needs an empty output.
    again: Option<&'static str>,
}

/// Content of a file. A manifest lists captures in the order in which they were completed.
#[derive(PartialEq)]
enum Content {
    Bytes(Vec<u8>),
    Manifest(Value),
}

impl Content {
    fn of(path: &Path) -> Self {
        let bytes = fs::read(path).expect("a file");
        match path.ends_with("manifest.json") {
            true => Self::Manifest(serde_json::from_slice(&bytes).expect("a whole manifest")),
            false => Self::Bytes(bytes),
        }
    }
}

/// Returns the complete files below a path, or the file at the path. Leaves out incomplete ones.
fn whole(path: &Path) -> BTreeMap<PathBuf, Content> {
    let mut found = BTreeMap::new();
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            found.extend(whole(&entry.expect("an entry").path()));
        }
    } else if path.is_file() && !is_unfinished(path) {
        found.insert(path.to_owned(), Content::of(path));
    }
    found
}

/// pyarrow and Spark skip such names when they read a directory.
fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

impl Case {
    fn new(name: &str, command: &str, out: &'static str, again: Option<&'static str>) -> Self {
        let directory = directory(&format!("faults_{name}"));
        Self { directory, command: command.to_owned(), out, again }
    }

    fn run(&self, more: &str, environment: &[(&str, &str)]) -> Output {
        let command = self.command.replace("OUT", self.out);
        Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .current_dir(&self.directory)
            .args(command.split_whitespace().chain(more.split_whitespace()))
            .env("LD_PRELOAD", library())
            .envs(environment.iter().copied())
            .output()
            .expect("the command runs")
    }

    fn out(&self) -> PathBuf {
        self.directory.join(self.out)
    }

    fn clear(&self) {
        let out = self.out();
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_file(&out);
    }

    /// Interrupts the command at every stage of writing its files.
    fn check(&self) {
        let log = self.directory.join("calls.log");
        let reference = self.run("", &[("FAULT_LOG", log.to_str().expect("UTF-8"))]);
        let status = reference.status.code();
        assert!(status < Some(2), "{}: {}", self.command, text(&reference));
        let expected = whole(&self.out());
        assert!(!expected.is_empty(), "{}", self.command);
        for (call, count) in counts(&log) {
            // If there are many calls, interrupt only at some of them.
            let stages = BTreeSet::from([1, 2, count / 2, count]);
            for at in stages.range(1..=count) {
                for fault in ["kill", "full"] {
                    self.clear();
                    let stage = format!("{}: {fault} at {call} {at} of {count}", self.command);
                    self.end_at(&call, *at, fault, &stage, &expected);
                    if self.again.is_none() {
                        self.clear();
                    }
                    let again = self.run(self.again.unwrap_or_default(), &[]);
                    assert_eq!(again.status.code(), status, "{stage}: {}", text(&again));
                    assert!(whole(&self.out()) == expected, "{stage}: other files after all");
                }
            }
        }
    }

    /// Interrupts the command at one stage and checks that every file with its final name is complete.
    fn end_at(
        &self,
        call: &str,
        at: usize,
        fault: &str,
        stage: &str,
        expected: &BTreeMap<PathBuf, Content>,
    ) {
        let at = at.to_string();
        let ended = self.run("", &[("FAULT", fault), ("FAULT_CALL", call), ("FAULT_AT", &at)]);
        for (path, content) in whole(&self.out()) {
            // The manifest may contain only the first of two captures.
            let is_whole = matches!(content, Content::Manifest(_))
                || expected.get(&path).is_some_and(|expected| *expected == content);
            assert!(is_whole, "{stage}: {} is not whole", path.display());
        }
        if fault == "kill" {
            assert_eq!(ended.status.code(), None, "{stage}: {}", text(&ended));
            return;
        }
        let told = text(&ended);
        assert_eq!(ended.status.code(), Some(2), "{stage}: {told}");
        assert!(
            told.contains("No space left on device") && told.contains(self.out),
            "{stage}: {told}"
        );
        assert!(!has_unfinished(&self.out()), "{stage}: leaves a file that nobody needs");
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns true if an incomplete file is left, which for a single output is in the same directory.
fn has_unfinished(out: &Path) -> bool {
    let name = out.file_name().expect("a name").display();
    let partial = out.with_file_name(format!(".{name}.partial"));
    let below = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| is_unfinished(&path) || has_unfinished(&path))
    };
    partial.exists() || out.is_dir() && below(out)
}

/// Returns the number of calls of each kind.
fn counts(log: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(log).expect("calls").lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["fsync", "rename", "write"]);
    counts
}

/// Creates two captures with three tables each, including the table of errors.
fn captures(case: &Case) {
    file(&case.directory, "t.xml", XML.as_bytes());
    let mut random = random(7);
    let packets: Vec<Vec<u8>> = (0..2_000)
        .map(|index| match index % 50 {
            0 => UNKNOWN.to_vec(),
            1..10 => vec![0xC0, 0x82, 0x81 + (index % 3) as u8],
            _ => [&[0xC0, 0x81][..], &random().to_be_bytes().map(|byte| byte & 0x7F), &[0x80]]
                .concat(),
        })
        .collect();
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    file(&case.directory, "a.bin", &u32be(&packets));
    file(&case.directory, "b.bin", &u32be(&packets[..100]));
}

/// Pseudo-random numbers of 28 bits.
fn random(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 4
    }
}

#[test]
fn directories() {
    for (name, more) in [
        ("parquet", ""),
        ("threads", "--threads 3"),
        ("arrow", "--format arrow"),
        ("partitions", "--partition security"),
    ] {
        let command = format!("export a.bin b.bin -t t.xml --reset packet -q -o OUT {more}");
        let case = Case::new(name, &command, "out", Some("--resume"));
        captures(&case);
        case.check();
    }
}

#[test]
fn single_files() {
    for (name, out) in [
        ("one_parquet", "ticks.parquet"),
        ("one_arrow", "ticks.arrow"),
        ("csv", "ticks.csv"),
        ("csv_zst", "ticks.csv.zst"),
        ("jsonl", "ticks.jsonl"),
        ("jsonl_gz", "ticks.jsonl.gz"),
    ] {
        let command = "export a.bin -t t.xml --reset packet -q --template Tick -o OUT";
        let case = Case::new(name, command, out, Some("--force"));
        captures(&case);
        case.check();
    }
}

#[test]
fn fix_logs() {
    let case = Case::new("fix", "export --fix orders.log -q -o OUT", "out", Some("--resume"));
    let message = |fields: String| {
        let body = fields.replace('|', "\x01");
        let head = format!("8=FIX.4.4\x019={}\x01", body.len());
        let sum: u32 = head.bytes().chain(body.bytes()).map(u32::from).sum();
        format!("{head}{body}10={:03}\x01\n", sum % 256)
    };
    let time = "20240102-23:59:58";
    let mut log = message(format!("35=A|49=A|56=B|34=1|52={time}|98=0|108=30|"));
    for number in 2..500 {
        log += &message(format!(
            "35=D|49=A|56=B|34={number}|52={time}|11=c{number}|55=MSFT|54=1|60={time}|38=10|40=2|44=1.25|"
        ));
    }
    // A flipped byte, which gives a row in the table of errors.
    let log = log.replacen("c99", "d99", 1);
    file(&case.directory, "orders.log", log.as_bytes());
    case.check();
}

#[test]
fn opra() {
    let case = Case::new("opra", "export --opra trace.bin -q -o OUT", "out", Some("--resume"));
    let trace = case.directory.join("trace.bin");
    let generated = tickwire(&format!("opra generate --messages 3000 -o {}", trace.display()));
    assert_eq!(generated.status, 0, "{}", generated.err);
    case.check();
}

#[test]
fn tables_of_the_handler() {
    let command = "receive -t f.xml --framing cme --capture f.pcap -q --show books,trades,events --tables OUT";
    let case = Case::new("tables", command, "tables", None);
    let d = case.directory.display();
    let generated = tickwire(&format!(
        "generate cme -n 200 --framing cme -o {d}/f.bin --write-templates {d}/f.xml"
    ));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let packets = packets_of(&case.directory.join("f.bin"));
    let packets = packets.iter().zip(0_u64..);
    let packets =
        packets.map(|(packet, index)| (index * 1_000, "224.1.2.133:13014", packet.as_slice()));
    file(&case.directory, "f.pcap", &timed_pcap(packets));
    case.check();
}
