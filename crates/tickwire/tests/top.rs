//! `tickwire top` in a terminal.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use tickwire_testing::{Need, skip};

#[test]
fn it_starts_in_a_terminal_and_ends_with_q() {
    let program = env!("CARGO_BIN_EXE_tickwire");
    // A port at which nothing listens.
    let command = format!("stty rows 40 cols 120; {program} top 127.0.0.1:1");
    let started = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return skip(Need::Programs, "`script` of util-linux is not installed");
    };
    let mut keys = child.stdin.take().expect("piped");
    let typed = std::thread::spawn(move || {
        // Keys that come before the terminal is in raw mode are read afterwards.
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(250));
            if keys.write_all(b"q").and_then(|()| keys.flush()).is_err() {
                break;
            }
        }
    });
    let output = child.wait_with_output().expect("it ends");
    typed.join().expect("the keys");
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {screen}", output.status);
    assert!(screen.contains("127.0.0.1:1"), "{screen}");
}
