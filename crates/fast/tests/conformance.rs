//! Conformance cases, decoded strictly by every engine.

mod support;

use serde_json::{Value as Json, json};
use std::sync::Arc;
use support::{ENGINES, vector_json};
use tickwire_fast::{
    Decoder, DecoderOptions, EngineUnderTest, FastErrorKind, Program, TemplateSet,
};
use tickwire_testing::{FastCase, fast_cases};

/// Returns the messages of a case and the code of the error that ended it.
fn run(case: &FastCase, engine: EngineUnderTest) -> (Vec<Json>, Json) {
    let set = match TemplateSet::parse(&case.template_xml) {
        Ok(set) => set,
        Err(errors) => return (Vec::new(), json!(errors.errors[0].code.map(|code| code.as_str()))),
    };
    let options = DecoderOptions::default().engine_under_test(engine);
    let mut decoder = Decoder::with_options(Arc::new(Program::compile(set).unwrap()), options);
    let mut messages = Vec::new();
    for buffer in &case.buffers {
        if buffer.has_reset {
            decoder.reset();
        }
        let mut rest = &buffer.bytes[..];
        while !rest.is_empty() {
            match decoder.decode(rest) {
                Ok(decoded) => {
                    messages.push(vector_json(decoded.message));
                    rest = &rest[decoded.len..];
                }
                Err(error) if error.kind() == FastErrorKind::Truncated => {
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
    let cases = fast_cases();
    let mut failures = Vec::new();
    for case in &cases {
        for engine in ENGINES {
            let (messages, error) = run(case, engine);
            if Json::Array(messages.clone()) != case.expect || error != case.error {
                failures.push(format!(
                    "{} by {engine:?}: got {} {error}, expected {} {}",
                    case.name,
                    Json::Array(messages),
                    case.expect,
                    case.error
                ));
            }
        }
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {}:\n{}", cases.len(), failures.join("\n"));
}
