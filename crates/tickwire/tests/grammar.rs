//! `tickwire grammar`. The test `book` follows the tutorial.

use std::path::PathBuf;
use std::process::{Command, Output};

const WORDS: &str = "LOOP\n  PUSH\n  MATCH \"[^;]+\"\n  EXECUTE word\n  MATCH \";\"\nENDLOOP\n";

/// Creates a folder with a grammar and a packet.
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

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn values_are_read_as_asked_for_and_bytes_that_are_no_number_are_an_error() {
    let text = "PUSH\nMATCH \"..\"\nEXECUTE length\nWHILECNT VALUE\nMATCH \".\"\nENDWHILECNT\nPUSH\nMATCH \".*\"\nEXECUTE rest\n";
    let folder = folder("grammar_values", text, b"03abcde");
    let rest = |how: &str| {
        let value = format!("length={how}");
        let run = grammar(&folder, &["run", "words.dsp", "words.bin", "--value", &value]);
        (out(&run), String::from_utf8_lossy(&run.stderr).into_owned(), run.status.code())
    };
    let (lines, _, status) = rest("decimal");
    assert_eq!(
        lines,
        concat!(
            "{\"offset\": 0, \"name\": \"length\", \"hex\": \"3033\", \"text\": \"03\", \"value\": 3}\n",
            "{\"offset\": 5, \"name\": \"rest\", \"hex\": \"6465\", \"text\": \"de\"}\n",
        )
    );
    assert_eq!(status, Some(0));
    assert!(rest("be").1.contains("the count says 12339 bytes"), "{}", rest("be").1);
    assert!(rest("le").1.contains("the count says 13104 bytes"), "{}", rest("le").1);
    assert_eq!(rest("hex").2, Some(2));
    let other = grammar(&folder, &["run", "words.dsp", "words.bin", "--value", "size=be"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("there are length, rest"));
    std::fs::write(folder.join("words.bin"), "xyabc").expect("writable");
    assert!(rest("decimal").1.contains("`length` are not a number"), "{}", rest("decimal").1);
}

#[test]
fn files_are_included_from_beside_the_grammar_and_nowhere_else() {
    let folder = folder("grammar_includes", "INCLUDE \"more.dsp\"\nCALL word\n", b"bid");
    std::fs::write(folder.join("more.dsp"), "BLOCK word\nMATCH \"bid\"\nEXECUTE word\nENDBLOCK\n")
        .expect("writable");
    let run = grammar(&folder, &["run", "words.dsp", "words.bin"]);
    assert!(out(&run).contains("\"name\": \"word\""), "{run:?}");
    std::fs::write(folder.join("more.dsp"), "BLOCK word\nMATCH \"bid\"\nEXECUTE\nENDBLOCK\n")
        .expect("writable");
    let check = grammar(&folder, &["check", "words.dsp"]);
    let text = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(text.contains("more.dsp:3:8: EXECUTE needs the name"), "{text}");
    for name in ["../grammar_words/words.dsp", "/etc/passwd"] {
        std::fs::write(folder.join("words.dsp"), format!("INCLUDE \"{name}\"\n"))
            .expect("writable");
        let check = grammar(&folder, &["check", "words.dsp"]);
        assert!(
            String::from_utf8_lossy(&check.stderr).contains("it is not in the grammar's directory")
        );
    }
}

#[test]
fn a_stream_and_the_stages_of_the_compiler_are_shown() {
    let folder = folder("grammar_stream", WORDS, b"bid;offer;");
    let packet = grammar(&folder, &["run", "words.dsp", "words.bin"]);
    let stream = grammar(&folder, &["run", "words.dsp", "words.bin", "--stream"]);
    assert_eq!((out(&stream), stream.status.code()), (out(&packet), Some(0)));
    let stages = out(&grammar(&folder, &["show", "--stages", "words.dsp"]));
    for text in
        ["\"[^;]+\"", "simplified", "NFA ", "DFA ", "smallest    2 states", "one automaton: 6"]
    {
        assert!(stages.contains(text), "{text} in {stages}");
    }
}

#[test]
fn a_grammar_may_end_where_its_stream_does() {
    let folder = folder("grammar_stream_end", "READ u8 a\n", b"A");
    let run = grammar(&folder, &["run", "words.dsp", "words.bin", "--stream"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::write(folder.join("words.bin"), b"AB").expect("written");
    let run = grammar(&folder, &["run", "words.dsp", "words.bin", "--stream"]);
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("ends at offset 1, before the end of the stream"), "{err}");
}

fn folder_of_a_short_packet() -> PathBuf {
    folder("grammar_short", WORDS, b"bid;off")
}
