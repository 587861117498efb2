//! `tickwire grammar`, with the tutorial's first grammar.

use std::path::PathBuf;
use std::process::{Command, Output};

const WORDS: &str = "LOOP\n  PUSH\n  MATCH \"[^;]+\"\n  EXECUTE word\n  MATCH \";\"\nENDLOOP\n";

/// A folder of its own with a grammar and a packet in it.
fn folder(name: &str, grammar: &str, packet: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("words.dsp"), grammar).expect("writable");
    std::fs::write(folder.join("words.bin"), packet).expect("writable");
    folder
}

fn grammar(folder: &PathBuf, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    command.current_dir(folder).arg("grammar").args(arguments).output().expect("runs")
}

#[test]
fn the_tutorials_first_grammar_is_checked_shown_run_and_generated() {
    let folder = folder("grammar_words", WORDS, b"bid;offer;");
    let checked = grammar(&folder, &["check", "words.dsp"]);
    assert_eq!(checked.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout),
        "words.dsp: 5 statements, actions: word\n"
    );
    let run = grammar(&folder, &["run", "words.dsp", "words.bin"]);
    assert_eq!(run.status.code(), Some(0));
    let lines = "       0  word  626964  \"bid\"\n       4  word  6f66666572  \"offer\"\n";
    assert_eq!(String::from_utf8_lossy(&run.stdout), lines);
    let dot = grammar(&folder, &["show", "--dot", "words.dsp"]);
    assert!(String::from_utf8_lossy(&dot.stdout).starts_with("digraph"));
    let generated = grammar(&folder, &["generate", "words.dsp"]);
    assert!(String::from_utf8_lossy(&generated.stdout).contains("pub fn run"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let folder = folder("grammar_wrong", "MATCH \"(\"\nFROB\n", b"bid");
    let checked = grammar(&folder, &["check", "words.dsp"]);
    assert_eq!(checked.status.code(), Some(1));
    let text = String::from_utf8_lossy(&checked.stderr);
    assert!(text.contains("words.dsp:1:8: ") && text.contains("words.dsp:2:1: "), "{text}");

    let folder = folder_of_a_short_packet();
    let run = grammar(&folder, &["run", "words.dsp", "words.bin"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&run.stdout).contains("bid"));
}

fn folder_of_a_short_packet() -> PathBuf {
    folder("grammar_short", WORDS, b"bid;off")
}
