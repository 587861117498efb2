//! Commands that write files: none is replaced without --force, and an input never.

mod support;

use support::{directory, file, templates, tickwire};

const PRECIOUS: &[u8] = b"precious";

#[test]
fn an_output_that_exists_is_replaced_with_force_alone() {
    let directory = directory("outputs_exist");
    let [complex, existing] = [templates("complex"), file(&directory, "existing.bin", PRECIOUS)];
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    let own = file(&directory, "t.xml", xml.as_bytes());
    let lines = file(&directory, "lines.jsonl", b"{\"t\": 1, \"msg\": {\"a\": 5}}\n");
    let configuration = concat!(env!("CARGO_MANIFEST_DIR"), "/../feed-config/testdata/cme.xml");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --messages 50 -o {trace}")).status, 0);
    let quotes = directory.join("quotes.jsonl").display().to_string();
    assert_eq!(tickwire(&format!("opra decode {trace} -o {quotes}")).status, 0);
    let free = directory.join("free").display().to_string();
    for command in [
        format!("encode {lines} -t {own} -o {existing}"),
        format!("templates generate {complex} -o {existing}"),
        format!("feed import {configuration} -o {existing}"),
        format!("opra generate --messages 50 -o {existing}"),
        format!("opra decode {trace} -o {existing}"),
        format!("opra encode {quotes} -o {existing}"),
        format!("generate day --packets 20 -o {free} --truth {existing}"),
        format!("generate day --packets 20 -o {existing}"),
    ] {
        std::fs::write(&existing, PRECIOUS).expect("written");
        let run = tickwire(&command);
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("replace it with --force"), "{command}: {}", run.err);
        assert_eq!(std::fs::read(&existing).expect("a file"), PRECIOUS, "{command}");
        assert!(!std::fs::exists(&free).expect("looked"), "{command}");
        let run = tickwire(&format!("{command} --force"));
        assert_eq!(run.status, 0, "{command}: {}", run.err);
        assert_ne!(std::fs::read(&existing).expect("a file"), PRECIOUS, "{command}");
        let _ = std::fs::remove_file(&free);
    }
}

#[test]
fn an_input_is_never_replaced() {
    let directory = directory("outputs_input");
    let xml = r#"<templates><template name="T" id="1"><uInt32 name="a"/></template></templates>"#;
    let own = file(&directory, "t.xml", xml.as_bytes());
    let lines = file(&directory, "lines.jsonl", b"{\"t\": 1, \"msg\": {\"a\": 5}}\n");
    let trace = directory.join("trace.bin").display().to_string();
    assert_eq!(tickwire(&format!("opra generate --messages 50 -o {trace}")).status, 0);
    let quotes = directory.join("quotes.jsonl").display().to_string();
    assert_eq!(tickwire(&format!("opra decode {trace} -o {quotes}")).status, 0);
    for (command, input) in [
        (format!("encode {lines} -t {own} -o {lines}"), &lines),
        (format!("encode {lines} -t {own} -o {own}"), &own),
        (format!("templates generate {own} -o {own}"), &own),
        (format!("feed import {own} -o {own}"), &own),
        (format!("opra decode {trace} -o {trace}"), &trace),
        (format!("opra encode {quotes} -o {quotes}"), &quotes),
    ] {
        let before = std::fs::read(input).expect("a file");
        let run = tickwire(&format!("{command} --force"));
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("is the input"), "{command}: {}", run.err);
        assert_eq!(&std::fs::read(input).expect("a file"), &before, "{command}");
    }
}

#[test]
fn two_outputs_of_one_name_are_refused() {
    let directory = directory("outputs_twice");
    let name = directory.join("x").display().to_string();
    for command in [
        format!("generate cme -n 20 -o {name} --snapshots {name}"),
        format!("generate day --packets 20 -o {name} --truth {name}"),
    ] {
        let run = tickwire(&command);
        assert_eq!(run.status, 2, "{command}: {}", run.err);
        assert!(run.err.contains("two outputs"), "{command}: {}", run.err);
        assert!(!std::fs::exists(&name).expect("looked"), "{command}");
    }
}
