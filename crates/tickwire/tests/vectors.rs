//! `tickwire vectors` on the conformance cases, and on lines that are not cases.

mod support;

use serde_json::Value;
use support::{tickwire, tickwire_with};

#[test]
fn every_conformance_case_comes_out_as_expected() {
    let path = tickwire_testing::vectors("fast.jsonl");
    let run = tickwire(&format!("vectors {}", path.display()));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let cases = tickwire_testing::cases("fast.jsonl");
    assert_eq!(run.out.lines().count(), cases.len());
    for (case, result) in cases.iter().zip(run.json_lines()) {
        assert_eq!(result["name"], case["name"]);
        assert_eq!(result["messages"], case["expect"], "{}", case["name"]);
        assert_eq!(result["error"], case["error"], "{}", case["name"]);
    }
}

const TEMPLATE: &str = r#"<templates><template name=\"T\" id=\"1\"><uInt32 name=\"a\"><copy/></uInt32><string name=\"b\" presence=\"optional\"/></template></templates>"#;

#[test]
fn results_hold_the_messages_before_the_error() {
    let case = format!(
        r#"{{"name": "x", "template_xml": "{TEMPLATE}", "hex": ["e0 81 85 80", "!c0 81 80"]}}"#
    );
    let run = tickwire_with(&["vectors", "-"], case.as_bytes());
    let expected = r#"{"name": "x", "messages": [{"t": "T", "f": {"a": 5}}], "error": "D5"}"#;
    assert_eq!(run.out.trim(), expected);
    assert_eq!(run.status, 0);
}

#[test]
fn a_cut_message_and_a_wrong_template_have_their_names() {
    let cases = [
        format!(r#"{{"name": "cut", "template_xml": "{TEMPLATE}", "hex": ["e081"]}}"#),
        r#"{"name": "static", "template_xml": "<templates", "hex": []}"#.to_owned(),
    ];
    let run = tickwire_with(&["vectors", "-"], cases.join("\n").as_bytes());
    let errors: Vec<Value> = run.json_lines().iter().map(|line| line["error"].clone()).collect();
    assert_eq!(errors, ["truncated", "S1"]);
}

#[test]
fn lines_that_are_no_cases_are_reported_by_number() {
    let run = tickwire_with(&["vectors", "-"], b"{}\nnot json\n");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("standard input:1: \"hex\": expected"), "{}", run.err);
    assert!(run.err.contains("standard input:2: not JSON"), "{}", run.err);
}
