//! A disk that fills while an output file is written.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tickwire_testing::{Need, skip};

/// An exchange's configuration to import.
const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../feed-config/testdata/cme.xml");

/// Runs the program in a directory with files limited to this many blocks, of 512 or 1,024 bytes.
fn run(directory: &Path, blocks_max: &str, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_tickwire");
    let limited = r#"trap '' XFSZ; ulimit -f "$0"; exec "$@""#;
    let mut command = Command::new("sh");
    command.current_dir(directory).args(["-c", limited, blocks_max, program]).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_file_that_finds_no_room_is_named_and_not_left_behind() {
    let directory = &support::directory("full_disk");
    let inputs = ["generate", "day", "-n", "300", "-o", "day.pcap", "--write-templates", "day.xml"];
    assert!(run(directory, "unlimited", &inputs).status.success());
    let capture = ["-t", "day.xml", "--framing", "cme"];
    let decode = [&["decode", "-f", "day.pcap", "-o", "out"][..], &capture].concat();
    let packed = [&["decode", "-f", "day.pcap", "-o", "out.zst"][..], &capture].concat();
    let receive = [&["receive", "--capture", "day.pcap", "--json", "out"][..], &capture].concat();
    let lines = [&["decode", "-f", "day.pcap", "-o", "day.jsonl"][..], &capture].concat();
    assert!(run(directory, "unlimited", &lines).status.success());
    let trace = ["opra", "generate", "--messages", "50", "-o", "trace.bin"];
    assert!(run(directory, "unlimited", &trace).status.success());
    let simple =
        ["generate", "simple", "-n", "50", "-o", "simple.bin", "--write-templates", "simple.xml"];
    assert!(run(directory, "unlimited", &simple).status.success());
    let encode = [&["encode", "day.jsonl", "-o", "out"][..], &capture].concat();
    let packets =
        [&["encode", "day.jsonl", "--output-format", "pcap", "-o", "out"][..], &capture].concat();
    let export = |out| {
        let arguments = ["export", "day.pcap", "--template", "MDIncrementalRefresh", "-o", out];
        [&arguments[..], &capture].concat()
    };
    let exports = ["out.parquet", "out.arrow", "out.csv", "out.jsonl.zst"].map(export);
    let mut commands: Vec<&[&str]> = vec![
        &decode,
        &packed,
        &receive,
        &encode,
        &packets,
        #[cfg(feature = "bench")]
        &["opra", "bench", "trace.bin", "--time", "0", "--threads", "1", "--plot", "out.svg"],
        &["feed", "import", CONFIGURATION, "-o", "out"],
        &["multicast", "-f", "day.pcap", "-p", "13014", "--rate", "100000", "--json", "out"],
        &["soak", "feed", "--days", "0", "--json", "out"],
        // Without DDS this command uses shared memory, whose files reach the limit before the
        // output does.
        #[cfg(feature = "dds")]
        &["publish", "-f", "simple.bin", "-t", "simple.xml", "--empty-builder", "--json", "out"],
        &["generate", "day", "-n", "300", "-o", "out"],
        &["generate", "day", "-n", "300", "-o", "whole", "--force", "--truth", "out"],
        &["generate", "simple", "--messages", "3000", "-o", "out"],
        &["opra", "generate", "--messages", "3000", "-o", "out"],
        &["templates", "generate", "day.xml", "-o", "out"],
    ];
    if cfg!(feature = "columns") {
        commands.extend(exports.iter().map(Vec::as_slice));
    }
    // These commands have a short output, or also write other files, so the limit for the output is
    // zero blocks.
    let short = ["--truth", "receive", "import", "multicast", "soak", "bench", "publish"];
    for arguments in commands {
        let out = arguments.iter().find(|argument| argument.starts_with("out")).unwrap();
        let blocks = if arguments.iter().any(|word| short.contains(word)) { "0" } else { "2" };
        let output = run(directory, blocks, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        let is_named = errors.contains(&format!("{out}: ")) || errors.contains("whole: ");
        assert!(is_named && errors.contains("too large"), "{arguments:?}: {errors}");
        assert!(!directory.join(out).exists(), "{arguments:?} leaves a part of {out}");
        let _ = fs::remove_file(directory.join("whole"));
    }
}

#[test]
fn feeds_that_are_saved_are_whole_or_not_there() {
    let directory = &support::directory("full_save");
    let arguments = ["demo", "--messages", "2000", "--live-messages", "0", "--save", "feeds"];
    // Enough room for the templates but not for the packets.
    let output = run(directory, "8", &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("feeds/simple.bin: File too large"), "{errors}");
    assert!(!directory.join("feeds/simple.bin").exists());
}

#[test]
fn a_soak_whose_files_find_no_room_is_an_error() {
    let directory = &support::directory("full_soak");
    let output = run(directory, "8", &["soak", "feed", "--days", "1", "-n", "300"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("updates.pcap: File too large"), "{errors}");
}

#[test]
fn a_full_device_is_named() {
    if !Path::new("/dev/full").exists() {
        return skip(Need::Machine, "there is no /dev/full");
    }
    let directory = support::directory("full_device");
    let arguments = ["generate", "simple", "--messages", "3000", "-o", "/dev/full"];
    let output = run(&directory, "unlimited", &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("/dev/full: No space left on device"), "{errors}");
    assert!(Path::new("/dev/full").exists());
}
