//! Conformance cases, decoded strictly by every engine.

mod support;

use serde_json::{Value as Json, json};
use std::sync::Arc;
use support::{ENGINES, hex, vector_json};
use tickwire_fast::{Decoder, DecoderOptions, EngineUnderTest, ErrorKind, Program, TemplateSet};
use tickwire_testing::vectors;

/// Returns the messages of a case and the code of the error that ended it.
fn run(case: &Json, engine: EngineUnderTest) -> (Vec<Json>, Json) {
    let set = match TemplateSet::parse(case["template_xml"].as_str().unwrap()) {
        Ok(set) => set,
        Err(errors) => return (Vec::new(), json!(errors.errors[0].code.map(|code| code.as_str()))),
    };
    let options = DecoderOptions::default().engine_under_test(engine);
    let mut decoder = Decoder::with_options(Arc::new(Program::compile(set).unwrap()), options);
    let mut messages = Vec::new();
    for buffer in case["hex"].as_array().unwrap() {
        let buffer = buffer.as_str().unwrap();
        if buffer.starts_with('!') {
            decoder.reset();
        }
        let bytes = hex(buffer.trim_start_matches('!'));
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match decoder.decode(rest) {
                Ok(decoded) => {
                    messages.push(vector_json(decoded.message));
                    rest = &rest[decoded.len..];
                }
                Err(error) if error.kind() == ErrorKind::Truncated => {
                    return (messages, json!("truncated"));
                }
                Err(error) => return (messages, json!(error.code().map(|code| code.as_str()))),
            }
        }
    }
    (messages, Json::Null)
}

#[test]
fn every_case_gives_its_values_and_errors() {
    let path = vectors("fast.jsonl");
    let mut failures = Vec::new();
    let mut count = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        count += 1;
        for engine in ENGINES {
            let (messages, error) = run(&case, engine);
            if Json::Array(messages.clone()) != case["expect"] || error != case["error"] {
                failures.push(format!(
                    "{} by {engine:?}: got {} {error}, expected {} {}",
                    case["name"],
                    Json::Array(messages),
                    case["expect"],
                    case["error"]
                ));
            }
        }
    }
    assert_eq!(count, 301, "conformance cases");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
