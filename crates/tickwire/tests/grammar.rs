//! `tickwire grammar`, and the tutorial as a reader follows it.

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

/// The blocks of a text between fences, with the last line before each and what stands behind the
/// opening fence.
fn blocks(text: &str) -> Vec<(String, String, String)> {
    let (mut blocks, mut before) = (Vec::new(), "");
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| *line != "```");
            let block: String = inside.map(|line| line.to_owned() + "\n").collect();
            blocks.push((before.to_owned(), kind.to_owned(), block));
        } else if !line.is_empty() {
            before = line;
        }
    }
    blocks
}

/// Commands, each with what is to be printed, of a block in which they stand behind `$`.
fn commands(block: &str) -> Vec<(&str, &str)> {
    let steps = block.strip_prefix("$ ").expect("a command comes first").split("\n$ ");
    steps.map(|step| step.split_once('\n').unwrap_or((step, ""))).collect()
}

#[test]
fn the_tutorial_can_be_followed_word_for_word() {
    let tutorial = include_str!("../../../docs/grammar-tutorial.md");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("grammar_tutorial");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tickwire"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().into_iter().map(PathBuf::from);
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).expect("a path");
    let mut run = 0;
    for (before, kind, block) in blocks(tutorial) {
        let name = before.strip_prefix("Save ").and_then(|before| before.split('`').nth(1));
        if let (Some(name), "text") = (name, &*kind) {
            std::fs::write(folder.join(name), &block).expect("writable");
        }
        let steps = if kind == "console" { commands(&block) } else { Vec::new() };
        for (command, expected) in steps {
            let mut shell = Command::new("sh");
            let shell = shell.current_dir(&folder).env("PATH", &path);
            let output = shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).output();
            let output = output.expect("a shell runs").stdout;
            assert_eq!(
                String::from_utf8_lossy(&output).trim_end(),
                expected.trim_end(),
                "{command}"
            );
            run += 1;
        }
    }
    assert_eq!(run, 11, "every command was found");
    let generated = std::fs::read_to_string(folder.join("words.rs")).expect("generated");
    assert!(generated.contains("pub fn run"));
}

#[test]
fn the_automaton_is_shown_as_a_graph_too() {
    let folder = folder("grammar_words", WORDS, b"bid;offer;");
    let dot = grammar(&folder, &["show", "--dot", "words.dsp"]);
    assert!(String::from_utf8_lossy(&dot.stdout).starts_with("digraph"));
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
    let text = String::from_utf8_lossy(&run.stderr);
    assert!(text.contains("words.bin: offset 7, grammar line 5: "), "{text}");
}

fn folder_of_a_short_packet() -> PathBuf {
    folder("grammar_short", WORDS, b"bid;off")
}
