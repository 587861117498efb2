//! Closed standard streams, and streams to a full disk: commands end quietly or with an error, and never
//! panic.

mod support;

use std::fs::File;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::directory;

/// A device on which every write fails with "no space left".
const FULL: &str = "/dev/full";
/// Time limit for a command to end.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn full_device() -> Stdio {
    File::create(FULL).expect("Linux").into()
}

/// Waits for a command to end by itself.
fn ended(mut child: Child, command: &str) -> Output {
    let begun = Instant::now();
    while child.try_wait().expect("can be waited for").is_none() {
        if begun.elapsed() > TIME_MAX {
            child.kill().expect("is mine to kill");
            panic!("{command} does not end");
        }
        sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("ends")
}

/// Runs `tickwire` with these streams and one menu line as input; returns its status and standard error.
fn run(command: &str, stdout: Stdio, stderr: Stdio) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(command.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("piped");
    // A command that reads no input may have ended.
    let _ = std::io::Write::write_all(&mut input, b"?\n");
    drop(input);
    let output = ended(child, command);
    let status = output.status.code().unwrap_or_else(|| panic!("{command}: killed by a signal"));
    (status, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Commands that print while they run, with files in a directory and their own domain of the bus.
fn commands(name: &str, domain: u32) -> Vec<String> {
    let directory = directory(name);
    let packets = directory.join("packets.bin").display().to_string();
    let made = run(&format!("generate simple -n 50 -o {packets}"), Stdio::null(), Stdio::piped());
    assert_eq!(made.0, 0, "{}", made.1);
    vec![
        format!("multicast -f {packets} -p 23998 --rate 100000"),
        "fix soak --time 1s --sessions 1 --rate 10".to_owned(),
        "fix client 127.0.0.1:9 --reliable --reconnect 10ms --store ".to_owned()
            + &directory.join("store").display().to_string(),
        "soak feed --days 1 -n 100".to_owned(),
        format!(
            "publish -f {packets} -t {} --reset packet --domain {domain} --subscribers 0 --no-echo",
            support::templates("simple")
        ),
        format!("subscribe --domain {domain} --end-with-input"),
    ]
}

#[test]
fn commands_end_quietly_where_nobody_reads_what_they_print() {
    for command in commands("closed_pipes", 231) {
        let (status, told) = run(&command, closed_pipe(), Stdio::piped());
        assert_eq!(status, 0, "{command}: {told}");
        assert!(!told.contains("tickwire: "), "{command}: {told}");
    }
}

#[test]
fn standard_output_that_finds_no_room_is_an_error() {
    for command in commands("full_outputs", 232) {
        let (status, told) = run(&command, full_device(), Stdio::piped());
        assert_eq!(status, 2, "{command}: {told}");
        assert!(told.contains("cannot write the output: No space left"), "{command}: {told}");
    }
}

#[test]
fn remarks_and_logs_that_find_no_room_change_no_status() {
    let logging = "fix client 127.0.0.1:9 --orders 1";
    let remarking = "decode nosuch -t nosuch";
    for (command, status) in [(logging, 1), (remarking, 2)] {
        assert_eq!(run(command, Stdio::null(), full_device()).0, status, "{command}");
        assert_eq!(run(command, Stdio::null(), closed_pipe()).0, status, "{command}");
    }
}
