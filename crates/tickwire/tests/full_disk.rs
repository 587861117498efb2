//! A disk that fills while an output file is written.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a directory; files may have so many blocks, of 512 or 1,024 bytes.
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
    let commands: [&[&str]; 8] = [
        &decode,
        &packed,
        &receive,
        &["generate", "day", "-n", "300", "-o", "out"],
        &["generate", "day", "-n", "300", "-o", "whole", "--force", "--truth", "out"],
        &["generate", "simple", "--messages", "3000", "-o", "out"],
        &["opra", "generate", "--messages", "3000", "-o", "out"],
        &["templates", "generate", "day.xml", "-o", "out"],
    ];
    for arguments in commands {
        let out = arguments.iter().find(|argument| argument.starts_with("out")).unwrap();
        // Room for the files beside it, where the one in question is short.
        let blocks = if arguments.contains(&"--truth") || arguments.contains(&"receive") {
            "0"
        } else {
            "2"
        };
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
fn a_full_device_is_named() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let directory = support::directory("full_device");
    let arguments = ["generate", "simple", "--messages", "3000", "-o", "/dev/full"];
    let output = run(&directory, "unlimited", &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("/dev/full: No space left on device"), "{errors}");
    assert!(Path::new("/dev/full").exists());
}
