//! The conformance cases in the folder `vectors`.

use crate::hex;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Numbers of cases in the files: a shortened file must not pass.
const COUNTS: [(&str, usize); 2] = [("fast.jsonl", 301), ("opra.jsonl", 44)];

/// Returns the path of a file of conformance cases, one per line: `fast.jsonl` or `opra.jsonl` in
/// this crate's folder `vectors`.
pub fn vectors(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(file)
}

/// Returns the conformance cases of a file as JSON objects.
///
/// # Panics
/// If there is no such file, a line is not JSON, or the number of cases is not the known one.
pub fn cases(file: &str) -> Vec<Value> {
    let path = vectors(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = text
        .lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{file}:{}: {error}", index + 1))
        })
        .collect();
    let (_, expected) = COUNTS.iter().find(|(name, _)| *name == file).expect("a known file");
    assert_eq!(cases.len(), *expected, "conformance cases of {file}");
    cases
}

/// A FAST conformance case.
pub struct FastCase {
    /// The case's name.
    pub name: String,
    /// The template file.
    pub template_xml: String,
    /// The encoded messages, in order.
    pub buffers: Vec<CaseBuffer>,
    /// The messages before the error or the end, as a list.
    pub expect: Value,
    /// The code of the error, `truncated`, or null.
    pub error: Value,
    /// True if the template file itself is the error.
    pub is_static: bool,
}

/// Encoded messages of a case, back to back.
pub struct CaseBuffer {
    /// True if the dictionaries are reset first.
    pub has_reset: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Returns the FAST conformance cases.
///
/// # Panics
/// As [`cases`], and if a case lacks a part.
pub fn fast_cases() -> Vec<FastCase> {
    cases("fast.jsonl").into_iter().map(FastCase::new).collect()
}

impl FastCase {
    fn new(mut case: Value) -> Self {
        let text = |key: &str| case[key].as_str().unwrap_or_else(|| panic!("{key}: {case}")).into();
        let buffer = |buffer: &Value| {
            let buffer = buffer.as_str().expect("hex digits");
            let digits = buffer.strip_prefix('!');
            CaseBuffer { has_reset: digits.is_some(), bytes: hex(digits.unwrap_or(buffer)) }
        };
        Self {
            name: text("name"),
            template_xml: text("template_xml"),
            buffers: case["hex"].as_array().expect("a list").iter().map(buffer).collect(),
            is_static: case["static"].as_bool().expect("true or false"),
            expect: case["expect"].take(),
            error: case["error"].take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_with_a_mark_begins_with_a_reset() {
        let case = r#"{"name": "x", "template_xml": "<templates/>", "hex": ["e081", "!c0 81"],
            "expect": [1], "error": "D5", "static": false}"#;
        let case = FastCase::new(serde_json::from_str(case).unwrap());
        let buffers: Vec<_> =
            case.buffers.iter().map(|buffer| (buffer.has_reset, &buffer.bytes[..])).collect();
        assert_eq!(buffers, [(false, &[0xe0, 0x81][..]), (true, &[0xc0, 0x81])]);
        assert_eq!((case.expect, case.error), (Value::from(vec![1]), "D5".into()));
    }

    #[test]
    fn all_cases_are_there() {
        assert!(fast_cases().iter().any(|case| case.is_static));
        assert!(cases("opra.jsonl").iter().all(|case| case["hex"].is_string()));
    }
}
